"""The checkup of sources: everything that can be wrong with one is really made wrong, and has a fix."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest
from fakes.git_server import GitServer, Repository, make_certificate
from fakes.harbour import FERRY, HARBOUR
from fakes.sources import ADDRESS, Shelf

from bots.doctor.findings import tokens_in
from bots.doctor.settings import Configuration
from bots.doctor.sources import LATE, examine, findings_of
from core.library.sync import Failure
from core.settings import Settings
from core.sources.source import Credential, SourceGuide, SourceThrottled, SourceUnavailable
from core.sources.sources import open_source_store
from core.sources.store import ListedSource, SourceCounts, SourceRecord
from core.storage.storage import open_storage

NOW = 1_700_000_000.0
RECORD = SourceRecord(
    number=1,
    collection="default",
    address=ADDRESS,
    every=3600.0,
    cursor=None,
    listing=1,
    is_listing=False,
    added_at=NOW,
    started_at=NOW,
    synced_at=NOW,
    next_at=NOW + 3600,
    failure="",
)


def told(record=RECORD, now=NOW, items=(), **counts):
    source = ListedSource(record=record, counts=SourceCounts(**counts), failed=items)
    return [(each.state, each.text, each.fix) for each in findings_of(source, None, now)]


def test_a_source_that_is_well_says_what_it_has_and_when_it_was_read():
    ((state, text, fix),) = told(read=12)

    assert (state, fix) == ("ok", "")
    assert text.startswith(f"{ADDRESS} can be read: 12 documents, read on 14 Nov 2023 at ")
    assert text.endswith(", every 1h.")


def test_how_a_sync_went_wrong_is_told_with_what_to_do():
    closed = replace(RECORD, collection="payroll", failure="The wiki was away.")
    unread = replace(RECORD, synced_at=None, every=None, next_at=None)
    items = tuple(Failure(source=f"harbour/{number}.md", reason="is empty") for number in range(3))

    (_, *stopped) = told(closed, read=1)
    never = told(unread)
    (_, *late) = told(now=NOW + 3600 + LATE + 1)
    on_time = told(now=NOW + 3600 + LATE)
    (_, (state, text, fix)) = told(items=items, read=1, failed=5)

    command = f"`footnote ingest {ADDRESS}`"
    assert stopped == [
        (
            "warning",
            f"{ADDRESS}, when it was read last: The wiki was away.",
            f"`footnote ingest {ADDRESS} --collection payroll`",
        )
    ]
    assert never == [("warning", f"{ADDRESS} can be read, and was not yet read to its end.", command)]
    assert [state for state, _, _ in late] == ["warning"]
    assert "should have been read again on " in late[0][1]
    assert "`footnote run`" in late[0][2]
    assert [state for state, _, _ in on_time] == ["ok"]
    assert (state, text) == (
        "warning",
        (
            f"5 documents of {ADDRESS} cannot be read: harbour/0.md (is empty), harbour/1.md (is empty), "
            "harbour/2.md (is empty) and 2 more."
        ),
    )
    assert command in fix


def test_what_a_source_says_of_itself_is_told_and_no_fault():
    limited = replace(RECORD, note="More than 3 addresses were found.")

    assert told(limited)[1:] == [
        ("ok", f"{ADDRESS}, when it was read last: More than 3 addresses were found.", "")
    ]


def test_a_website_is_named_as_it_is_typed():
    unread = replace(RECORD, address="site+https://docs.example/guide", synced_at=None, collection="web")

    ((_, text, fix),) = told(unread)

    assert text == "https://docs.example/guide can be read, and was not yet read to its end."
    assert fix == "`footnote ingest https://docs.example/guide --follow --collection web`"


# What keeps one from being read


@pytest.fixture
def shelf():
    made = Shelf()
    made.write(ferry=FERRY)
    return made


@pytest.fixture
def settings(tmp_path):
    return Settings(data_dir=tmp_path / "data")


def stored(settings, *addresses, synced_at=NOW):
    settings.data_dir.mkdir(exist_ok=True)
    with open_storage(settings) as storage, open_source_store(storage) as store:
        for address in addresses:
            number, _ = store.add("default", address, every=None, now=NOW)
            if synced_at is not None:
                store.finish(number, synced_at)


async def examined(settings, kinds, **more):
    found = await examine(Configuration(settings=settings), kinds=kinds, **more)
    return [(each.state, each.text, each.fix) for each in found]


def guided(shelf, **more):
    guide = SourceGuide(title="A shelf", asks="Its name", example=ADDRESS, address=str, **more)
    return {"shelf": replace(shelf.kinds["shelf"], guide=guide)}


async def test_without_sources_there_is_nothing_to_say_unless_they_are_asked_for(settings, shelf):
    assert await examined(settings, shelf.kinds) == []
    assert await examined(settings, shelf.kinds, is_named=True) == [
        ("failed", "There is no source yet.", "`footnote ingest` asks what to add.")
    ]
    assert not settings.data_dir.exists()


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
async def test_each_source_is_tried_by_itself(tmp_path, shelf, request, kind):
    url = request.getfixturevalue("postgres_url") if kind == "postgresql" else ""
    settings = Settings(data_dir=tmp_path / "data", database_url=url)
    stored(settings, ADDRESS, "lost://attic", "shelf://other")
    shelf.page_faults[0] = SourceUnavailable("The shelf is not there. Put it back.")

    found = await examined(settings, shelf.kinds)

    assert [state for state, _, _ in found] == ["failed", "failed", "ok"]
    assert found[0] == (
        "failed",
        "lost://attic is of a kind that this Footnote does not read.",
        "`footnote forget lost://attic`",
    )
    assert found[1] == ("failed", f"{ADDRESS}: The shelf is not there.", "Put it back.")
    assert found[2][1].startswith("shelf://other can be read: 0 documents, read on ")


async def test_one_that_wants_to_be_asked_later_is_no_failure(settings, shelf):
    stored(settings, ADDRESS)
    shelf.page_faults[0] = SourceThrottled("Later.", retry_after=90)

    ((state, text, _),) = await examined(settings, shelf.kinds)

    assert (state, text) == ("warning", f"{ADDRESS} wants to be asked again in 90 s.")


async def test_a_fault_of_our_own_in_one_is_told_and_the_others_are_looked_at(settings, shelf):
    stored(settings, ADDRESS, "shelf://other")
    shelf.page_faults[0] = KeyError("shelves")

    found = await examined(settings, shelf.kinds)

    assert [state for state, _, _ in found] == ["failed", "ok"]
    assert found[0][1] == f"Footnote has a fault of its own with {ADDRESS} (KeyError)."


@pytest.mark.parametrize("is_needed", [True, False])
async def test_a_credential_that_is_missing_is_named_with_where_it_is_made(settings, shelf, is_needed):
    stored(settings, ADDRESS)
    shelf.page_faults[0] = SourceUnavailable("It does not let us in.")

    def credentials(_address, _settings):
        return [
            Credential(
                setting="SHELF_TOKEN",
                entry="TOKEN",
                made_at="https://shelf.example",
                is_set=False,
                is_needed=is_needed,
            )
        ]

    ((state, text, fix),) = await examined(settings, guided(shelf, credentials=credentials))

    needs = f"{ADDRESS} needs SHELF_TOKEN, which is not set for it."
    assert (state, text) == ("failed", needs if is_needed else f"{ADDRESS}: It does not let us in.")
    assert fix == "Make one at https://shelf.example and put SHELF_TOKEN=TOKEN into .env."
    assert (0 in shelf.page_faults) == is_needed  # it is not asked without one that it needs


async def test_a_file_of_credentials_that_others_may_read_is_refused(settings, shelf, tmp_path):
    stored(settings, ADDRESS)
    key = tmp_path / "key.json"
    key.write_text("{}")
    key.chmod(0o644)

    def credentials(_address, _settings):
        return [
            Credential(
                setting="SHELF_KEY", entry="FILE", made_at="https://shelf.example", is_set=True, file=key
            )
        ]

    found = await examined(settings, guided(shelf, credentials=credentials))

    assert found == [
        ("failed", f"{ADDRESS}: {key} can be read by others on this machine.", f"Run `chmod 600 {key}`.")
    ]


def test_tokens_of_hosts_are_hidden_alone_too():
    settings = Settings(git_tokens={"github.com": "sesame-one", "git.corp.example": "ann:sesame-two"})

    longest, *others = tokens_in(settings)
    assert (longest, set(others)) == ("ann:sesame-two", {"sesame-one", "sesame-two"})


# As it is typed


@pytest.fixture
def wiki(machine):
    made = Repository.made(machine.folder / "wiki")
    made.commit({"ferry.md": FERRY, "harbour.md": HARBOUR, "empty.md": " "})
    return made


async def test_the_command_says_how_each_source_is_and_changes_nothing(machine, wiki):
    assert (await machine.run("ingest", "wiki#", "--every", "1h")).code == 0
    well = await machine.run("doctor", "sources", "--json")
    shutil.rmtree(machine.folder / "wiki")
    away = await machine.run("doctor", "sources", "--json")
    drawn = await machine.run("doctor")

    def of_sources(ran):
        return [each for each in ran.record["checks"] if each["check"] == "sources"]

    address = f"git+file://{machine.folder}/wiki"
    fine, unread = of_sources(well)
    assert (fine["state"], fine["fix"]) == ("ok", None)
    assert fine["finding"].startswith(f"{address} can be read: 2 documents, read on ")
    assert unread["state"] == "warning"
    assert unread["finding"] == f"1 document of {address} cannot be read: wiki/empty.md (is empty)."
    assert f"`footnote ingest {address}`" in unread["fix"]
    assert well.code == 0
    assert {each["check"] for each in well.record["checks"]} == {"settings", "data folder", "sources"}
    gone, _ = of_sources(away)
    assert (gone["state"], away.code) == ("failed", 1)
    assert f"{machine.folder}/wiki is no git repository any more." in gone["finding"]
    assert "✗ sources" in drawn.out


async def test_a_token_that_is_refused_is_told_and_not_shown(machine, tmp_path_factory):
    certificate = make_certificate(tmp_path_factory.mktemp("authority"))
    folder = tmp_path_factory.mktemp("served")
    machine.settings |= {"SSL_CERT_FILE": str(certificate), "PRIVATE_HOSTS": "127.0.0.1"}
    machine.settings |= {"GIT_TOKENS": "127.0.0.1=sesame-of-git"}
    with GitServer(folder, certificate) as server:
        Repository.made(folder / "wiki.git").commit({"ferry.md": FERRY})
        address = server.address("wiki.git")
        assert (await machine.run("ingest", address)).code == 0
        server.token = "another"
        ran = await machine.run("doctor", "sources")

    assert ran.code == 1
    told = " ".join(ran.out.split())
    assert f"{address}: 127.0.0.1 does not let Footnote read" in told
    assert "sesame" not in ran.out + ran.err

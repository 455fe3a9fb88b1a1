"""Who may view a space may read its pages, as far as their own restrictions allow."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from fakes.confluence import RefusedRequest, WikiViewers
from fakes.confluence_author import WikiAuthor, hashes_and_collections
from fakes.confluence_reading import SERVERS, listed, opened, settings_for
from fakes.confluence_servers import FakeCloud, FakeDataCenter
from fakes.source_desk import Clock, open_desk
from fakes.website import own_documents

from core.settings import Settings
from core.sources.confluence.source import groups_of_everybody, open_confluence
from core.sources.source import SourceContext

DAY = 86_400.0


class OldDataCenter(FakeDataCenter):
    """One that has no REST API for the permissions of a space."""

    is_before_9_1 = True


@pytest.fixture(params=["cloud", "data center", "old data center"])
async def wiki(request, certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with {**SERVERS, "old data center": OldDataCenter}[request.param](certificate) as wiki:
        for name in ("ann", "ben", "cleo"):
            wiki.person(name)
        wiki.teams = {"crew": ["712020:ben", "712020:cleo"], "confluence-users": list(wiki.people)}
        yield wiki


@pytest.fixture
async def data_center(certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with FakeDataCenter(certificate) as wiki:
        yield wiki


@pytest.fixture
def desk(tmp_path, data_center):
    settings = Settings(data_dir=tmp_path / "data", private_hosts=("127.0.0.1",))
    with open_desk(settings_for(data_center, settings), Clock()) as desk:
        yield desk


async def readers(wiki, tmp_path, **more) -> tuple[dict[str, frozenset[str] | None], str]:
    """By the titles of pages, and what the operator is told."""
    async with opened(wiki, tmp_path, **more) as source:
        items, note = await listed(source)
    return {item.title: item.readers for item in items}, note


def close(wiki, **named) -> None:
    wiki.viewers["ENG"] = WikiViewers(**{"groups": [], **named})


async def test_a_page_is_for_those_whom_its_space_and_its_restrictions_allow(wiki, tmp_path):
    top = wiki.add("Top")
    wiki.add("Wages", parent=top.id, users=["712020:ann", "712020:ben"])
    wiki.attach(top, "note.md", b"# Note\n\nHere.\n")
    close(wiki, users=["712020:ann"], groups=["crew"])
    wiki.people["712020:dora"] = replace(wiki.people["712020:ann"], id="712020:dora", email="Dora@Acme.org")

    before, _ = await readers(wiki, tmp_path)
    close(wiki, groups=["crew"])
    after, note = await readers(wiki, tmp_path)

    ann, ben, cleo = ("ann@acme.org", "ben@acme.org", "cleo@acme.org")
    assert before == {"Top": {ann, ben, cleo}, "Wages": {ann, ben}, "": {ann, ben, cleo}}
    assert after == {"Top": {ben, cleo}, "Wages": {ben}, "": {ben, cleo}}
    assert note == ""


@pytest.mark.parametrize("named", [{"is_anonymous": True}, {"groups": ["confluence-users", "crew"]}])
async def test_a_space_for_everybody_is_for_all_who_may_read_the_collection(wiki, tmp_path, named):
    wiki.add("Menu")
    close(wiki, users=["712020:ann"], **named)

    assert await readers(wiki, tmp_path) == ({"Menu": None}, "")


async def test_a_group_holds_everybody_only_if_the_operator_says_so(wiki, tmp_path):
    wiki.add("Menu")
    close(wiki, groups=["confluence-users"])

    found, _ = await readers(wiki, tmp_path, confluence_everyone=())
    other, _ = await readers(wiki, tmp_path, confluence_everyone=("crew",))
    close(wiki, groups=["crew"])
    own, _ = await readers(wiki, tmp_path, confluence_everyone=("crew",))

    assert found == other == {"Menu": {"ann@acme.org", "ben@acme.org", "cleo@acme.org"}}
    assert own == {"Menu": None}


def test_the_group_of_everybody_is_called_after_its_site_in_the_cloud():
    assert groups_of_everybody(("confluence-users",), "acme.atlassian.net") == {
        "confluence-users", "confluence-users-acme",
    }  # fmt: skip
    assert groups_of_everybody(("staff",), "acme.atlassian.net") == {"staff"}
    assert groups_of_everybody(("confluence-users",), "wiki.corp.example") == {"confluence-users"}
    assert groups_of_everybody((), "acme.atlassian.net") == frozenset()


async def test_a_space_whose_permissions_are_not_shown_is_for_nobody_and_it_is_said_what_helps(
    wiki, tmp_path
):
    wiki.add("Menu")
    close(wiki, groups=["confluence-users"], is_secret=True)

    found, note = await readers(wiki, tmp_path)
    opened_by_operator = await readers(wiki, tmp_path, confluence_open_spaces=("eng",))
    all_opened = await readers(wiki, tmp_path, confluence_open_spaces=("*",))
    other_opened, _ = await readers(wiki, tmp_path, confluence_open_spaces=("HR",))

    needed = "the scope read:space:confluence" if isinstance(wiki, FakeCloud) else "to administer the space"
    assert found == other_opened == {"Menu": frozenset()}
    assert note.startswith("Who may view the space ENG is not shown to this account, so nobody is answered")
    assert f"The account needs {needed}" in note
    assert "CONFLUENCE_OPEN_SPACES=ENG opens a space" in note
    assert opened_by_operator == all_opened == ({"Menu": None}, "")


async def test_a_space_that_the_operator_opens_keeps_the_restrictions_of_its_pages(wiki, tmp_path):
    wiki.add("Menu")
    wiki.add("Wages", users=["712020:ann"])
    close(wiki, is_secret=True)

    found, _ = await readers(wiki, tmp_path, confluence_open_spaces=("ENG",))

    assert found == {"Menu": None, "Wages": {"ann@acme.org"}}


async def test_a_space_of_whose_viewers_no_address_is_seen_is_for_nobody_and_told(wiki, tmp_path):
    wiki.person("hugo", is_hidden=True)
    wiki.add("Menu")
    close(wiki, users=["712020:hugo"])

    found, note = await readers(wiki, tmp_path)

    assert found == {"Menu": frozenset()}
    assert note.startswith("Of those who may view the space ENG no e-mail address can be seen")
    assert "The e-mail addresses of 1 people or groups that spaces or restrictions name cannot" in note


async def test_other_spaces_do_not_open_one(wiki, tmp_path):
    wiki.add("Menu")
    wiki.add("Plan", space="HR")
    close(wiki, groups=["crew"])

    async with opened(wiki, tmp_path, "") as source:
        items, _ = await listed(source)

    assert {item.title: item.readers for item in items} == {
        "Menu": {"ben@acme.org", "cleo@acme.org"}, "Plan": None,
    }  # fmt: skip


@pytest.mark.parametrize("envelopes", [False, True])
async def test_both_forms_in_which_a_data_center_tells_of_anonymous_visitors_are_understood(
    data_center, tmp_path, envelopes
):
    data_center.has_envelopes = envelopes
    data_center.person("ann")
    data_center.add("Menu")
    close(data_center, users=["712020:ann"])
    closed, _ = await readers(data_center, tmp_path)
    close(data_center, is_anonymous=True)

    assert closed == {"Menu": {"ann@acme.org"}}
    assert await readers(data_center, tmp_path) == ({"Menu": None}, "")


async def test_a_space_stays_closed_where_it_is_not_shown_what_anonymous_visitors_may_do(
    data_center, tmp_path
):
    data_center.person("ann")
    data_center.add("Menu")
    close(data_center, users=["712020:ann"], is_anonymous=True)
    data_center.before = lambda path: (
        data_center.refusals.append(RefusedRequest(500)) if path.endswith("/anonymous") else None
    )

    assert await readers(data_center, tmp_path) == ({"Menu": {"ann@acme.org"}}, "")


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        (["ALL_LICENSED_USERS"], None),
        (["AUTHENTICATED_USERS"], None),
        (["ALL_PRODUCT_ADMINS"], frozenset({"ann@acme.org"})),
        (["ROBOTS_OF_TOMORROW"], frozenset({"ann@acme.org"})),
    ],
)
async def test_classes_of_people_in_the_cloud_open_a_space_if_everybody_belongs_to_them(
    certificate, tmp_path, monkeypatch, classes, expected
):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with FakeCloud(certificate) as cloud:
        cloud.person("ann")
        cloud.person("courier", is_app=True)
        cloud.add("Menu")
        close(cloud, users=["712020:ann", "712020:courier"], classes=classes)

        assert await readers(cloud, tmp_path) == ({"Menu": expected}, "")


async def test_other_viewers_of_a_space_move_its_documents_and_nothing_is_fetched_again(desk, data_center):
    wiki = data_center
    author = WikiAuthor(wiki, own_documents(), hides=False)
    author.begin(6)
    address = wiki.address("/spaces/ENG")
    await desk.syncs.ingest(address, collection="default")

    for _ in range(3):
        author.change_space()
        wiki.forget_counts()
        report = await desk.syncs.ingest(address, collection="default")

        assert report.skipped == len(author.expected())
        found = hashes_and_collections(desk.library)
        assert {place.removeprefix(f"{address}/"): held for place, held in found.items()} == author.hashes()
        assert not [path for path in wiki.asked if re.search(r"/content/\d|/download/", path)]


async def test_people_are_asked_about_once_a_day(wiki, tmp_path):
    crew = [wiki.person(f"sailor{number}").id for number in range(30)]
    wiki.teams["fleet"] = crew
    wiki.add("Menu")
    close(wiki, users=[crew[0]], groups=["fleet"])
    now = [1_700_000_000.0]
    context = SourceContext(
        settings=settings_for(wiki, Settings(private_hosts=("127.0.0.1",))), folder=tmp_path
    )

    async def look() -> tuple[frozenset[str] | None, int]:
        wiki.forget_counts()
        async with open_confluence(wiki.address("/spaces/ENG"), context, now=lambda: now[0]) as source:
            ((item,), _) = await listed(source)
        return item.readers, len([path for path in wiki.asked if path.endswith("/user") or "profile" in path])

    first, asked = await look()
    wiki.people[crew[1]].email = "other@acme.org"
    wiki.teams["fleet"].remove(crew[2])
    second, asked_again = await look()
    now[0] += DAY
    third, asked_next_day = await look()

    everybody = frozenset(f"sailor{number}@acme.org" for number in range(30))
    assert first == everybody
    assert third == everybody - {"sailor1@acme.org", "sailor2@acme.org"} | {"other@acme.org"}
    if isinstance(wiki, FakeCloud):  # lists of members have the addresses with them
        assert second == third
        assert (asked, asked_again, asked_next_day) == (1, 0, 1)
    else:
        assert second == everybody - {"sailor2@acme.org"}
        assert asked >= 30
        assert asked_again == 0
        assert asked_next_day >= 29

"""From a gap that people answered to a change of the document: whose words it has, where it goes, and what becomes of it."""

from __future__ import annotations

import ssl
import subprocess
from contextlib import closing
from dataclasses import replace

import pytest
from fakes.code_hosts import Branches, FakeGitLab
from fakes.git_server import Repository, git, make_certificate
from fakes.scripted import decision, question

from core.answers.answers import open_answers
from core.answers.store import KeptAnswer
from core.bootstrap import open_library
from core.conversation import Answer, Citation, Outcome
from core.gaps import drafts, proposals
from core.gaps.groups import open_gaps
from core.gaps.questions import TimeSpan
from core.settings import Settings
from core.sources.git.proposing import ProposalRefused
from core.sources.sources import SourceSyncs, open_source_store
from core.storage.storage import open_storage
from core.tls import default_tls
from core.traces.log import DAY, open_question_log
from core.traces.trace import Trace

NOON = 1_773_316_800.0  # 12 March 2026, 12:00 UTC
SPAN = TimeSpan(since=NOON - 30 * DAY, until=NOON + DAY)
PAGE = "# Ferries\n\n## Tickets\n\nA ticket for the ferry costs twelve euros.\n\n- Children pay half.\n- Bicycles are free.\n\n## Harbour\n\nThe harbour master sits in the tower.\n"
REPLY = KeptAnswer(
    id="k1a2b3c4", question="Do dogs need a ticket for the ferry?", text="Dogs travel free. They need a leash.",
    author="U1", name="Ann", place="#help", conversation="test/s/help/1", message="m1", url="https://chat.test/m1",
    collection="default", language="en", said_at=NOON, kept_at=NOON, valid_until=0.0,
)  # fmt: skip


class Office:
    """The stores of a team, and what happens there."""

    def __init__(self, settings, library, sources, *, answers, finder, log):
        self.settings, self.library, self.sources = settings, library, sources
        self.answers, self.finder, self.store, self.log = answers, finder, finder.store, log
        self.drafter = drafts.Drafter(library=library, sources=sources, data_dir=settings.data_dir)

    async def teach(self, answer=REPLY, *, turns=("t1", "t2")):
        kept = await self.answers.keep(answer)
        await self.answers.use(kept.id)
        await self.store.mark(turns, "answered", author="Ann", at=NOON, answer=kept.id)

    async def approve(
        self, quotes, *, question="Which tide is best for the ferry?", collections=("default",)
    ):
        citations = tuple(
            Citation(
                number=number,
                title=title,
                location="",
                source=url,
                start=0,
                end=9,
                url=url,
                origin="web",
                quote=quote,
            )
            for number, (quote, title, url) in enumerate(quotes, start=1)
        )
        trace = Trace(question=question, about="q1", collections=collections)
        approved = replace(decision("p1", "approve"), decided_at=NOON)
        answer = Answer(text="High. [1]", citations=citations, grounding="web", composed=False)
        await self.log.record(approved, Outcome(turn_id=approved.id, kind="answered", answer=answer), trace)

    async def drafts(self):
        found = await drafts.gap_answers(SPAN, self.store, self.answers, self.log)
        return [each for answer in found if (each := await self.drafter.draft(answer)) is not None]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """Of 127.0.0.1, and its own authority."""
    return make_certificate(tmp_path_factory.mktemp("authority"))


@pytest.fixture(autouse=True)
def authorities():
    """Those that are trusted in one test are not in another: a process reads them once."""
    default_tls.cache_clear()
    yield
    default_tls.cache_clear()


@pytest.fixture
def settings(tmp_path):
    return Settings(data_dir=tmp_path / "data")


@pytest.fixture
def office(settings):
    with (
        open_storage(settings) as storage,
        closing(open_library(settings, storage)) as library,
        open_answers(storage, library, review_after=180) as answers,
        open_gaps(storage, lambda: None) as finder,
        open_question_log(storage, days=14) as log,
        open_source_store(storage) as sources,
    ):
        answers.now = finder.now = log.now = lambda: NOON
        yield Office(settings, library, sources, answers=answers, finder=finder, log=log)


@pytest.fixture
def folder(tmp_path, office):
    folder = tmp_path / "hand book"
    folder.mkdir()
    (folder / "ferries & täxis.md").write_text(PAGE)
    (folder / "boats.md").write_text("# Boats\n\nThe rowing boats lie at pier two.\n")
    office.library.ingest([folder])
    return folder


async def tell(log, *, id, collections):
    """A question of a gap, and what was read where it was asked."""
    asked = replace(question(REPLY.question, id=id), asked_at=NOON)
    await log.record(asked, Outcome(turn_id=id, kind="no_answer"), Trace(collections=collections))


def apply(patch, folder):
    subprocess.run(["git", "apply", "-"], input=patch.encode(), cwd=folder, check=True)


async def test_the_words_of_a_person_go_into_the_section_that_they_belong_to(office, folder):
    await office.teach()

    (draft,) = await office.drafts()
    apply(draft.patch, draft.root)

    assert draft.section == ("Ferries", "Tickets")
    text = (folder / "ferries & täxis.md").read_text()
    assert text == PAGE.replace("free.\n\n## H", "free.\n- Dogs travel free. They need a leash.\n\n## H")


async def test_a_draft_says_whose_words_it_has_and_how_often_they_were_asked_for(office, folder):
    await office.teach(
        replace(REPLY, text="Dogs travel free, says @everyone. Closes #7.\n\nThey need a `leash`.")
    )

    (draft,) = await office.drafts()
    name, text = proposals.file_of(draft)

    assert name == "do-dogs-need-a-ticket-for-the-ferry-k1a2b3c4.patch"
    assert "asked 2 times: `Do dogs need a ticket for the ferry?`" in text
    assert (
        "[`Ann, in #help, 12 Mar 2026`](<https://chat.test/m1>): `Dogs travel free, says @everyone. Closes #7.`"
        in text
    )
    assert "``  They need a `leash`.  ``".replace("  ", " ") in text
    apply(text, folder)


async def test_quotes_of_an_approved_search_go_in_with_the_page_that_they_are_of(office, folder):
    await office.approve([("The ferry is best at high tide.", "Tides [2026]", "https://tides.example/high")])

    (draft,) = await office.drafts()
    apply(draft.patch, folder)

    text = (folder / "ferries & täxis.md").read_text()
    quote = "> The ferry is best at high tide.\n>\n> — [Tides \\[2026\\]](<https://tides.example/high>)"
    assert quote in text


async def test_that_others_will_read_an_answer_is_said_before_it_goes_into_their_document(office, folder):
    await office.approve([("It is high.", "Tides", "https://t.example")], collections=("default", "board"))
    await tell(office.log, id="t1", collections=("default", "channel-test-s-help"))
    await office.teach(replace(REPLY, collection="channel-test-s-help"))

    of_person, of_web = await office.drafts()

    assert of_person.entry.collection == "default"
    assert (of_person.is_wider, of_web.is_wider) == (True, True)
    warning = (
        "Whoever reads hand book/ferries & täxis.md will read what was said by Ann, in #help, 12 Mar 2026."
    )
    assert warning in proposals.file_of(of_person)[1]
    assert "will read what was asked." in proposals.file_of(of_web)[1]


async def test_an_answer_goes_into_no_document_that_who_asked_does_not_read(office, folder):
    await tell(office.log, id="t1", collections=("board",))
    await office.teach(replace(REPLY, collection="board"))

    (draft,) = await office.drafts()

    assert draft.patch == ""
    assert "No document is near." in proposals.file_of(draft)[1]


@pytest.mark.parametrize(
    "text",
    ["Run {{ secrets.token }} now.", "`{% include 'x' %}` does it.", "<script>alert(1)</script> helps.",
     "See\n.. include:: /etc/passwd", "# A heading\n\nof mine.", '--8<-- "/etc/passwd"', "import Secret from './x'", "Yes.\n\n---\n\nNo."],
)  # fmt: skip
async def test_what_a_website_would_carry_out_is_put_in_by_hand(office, folder, text):
    await office.teach(replace(REPLY, text=text))

    (draft,) = await office.drafts()
    name, content = proposals.file_of(draft)

    assert draft.patch == ""
    assert name.endswith(".md")
    assert "take for markup" in content
    assert "ferries & täxis.md › Ferries › Tickets" in content


async def test_what_is_no_plain_text_takes_no_patch_and_is_named(office, tmp_path):
    (tmp_path / "fares.csv").write_text("who,fare of the ferry ticket\nadults,12\ndogs,unknown\n")
    office.library.ingest([tmp_path / "fares.csv"])
    await office.teach()

    (draft,) = await office.drafts()

    assert draft.patch == ""
    assert "fares.csv is no file of plain text. It belongs into fares.csv" in proposals.file_of(draft)[1]


async def test_a_file_that_is_not_in_utf8_or_gone_is_put_in_by_hand(office, tmp_path):
    file = tmp_path / "ferries.md"
    file.write_bytes(PAGE.replace("twelve", "zwölf").encode("latin-1"))
    office.library.ingest([file])
    await office.teach()
    (unreadable,) = await office.drafts()
    file.unlink()
    (gone,) = await office.drafts()

    assert (unreadable.patch, unreadable.why) == ("", "ferries.md is not in UTF-8.")
    assert (gone.patch, gone.why) == ("", "ferries.md disappeared while it was read.")


async def test_lines_signs_and_the_end_of_a_file_stay_as_they_are(office, tmp_path):
    file = tmp_path / "ferries.md"
    before = b"\xef\xbb\xbf# Ferries\r\n\r\nA ticket for the ferry costs twelve\x0c euros."
    file.write_bytes(before)
    office.library.ingest([file])
    await office.teach()

    (draft,) = await office.drafts()
    apply(draft.patch, tmp_path)

    assert file.read_bytes() == before + b"\r\n\r\nDogs travel free. They need a leash."


async def test_a_file_of_a_repository_is_patched_as_it_was_read(office, tmp_path):
    repository = Repository.made(tmp_path / "docs.git")
    repository.commit({"guide/ferries.md": PAGE, "other.md": "# Other\n\nNothing.\n"})
    syncs = SourceSyncs(library=office.library, store=office.sources, settings=office.settings)
    await syncs.ingest(f"git+file://{tmp_path}/docs.git#guide@main", collection="default")
    await office.teach()

    (draft,) = await office.drafts()
    git(tmp_path, "clone", "-q", str(tmp_path / "docs.git"), str(tmp_path / "copy"))
    apply(draft.patch, tmp_path / "copy")

    assert draft.path == "guide/ferries.md"
    assert proposals.repository_of(draft) is None  # it lies on this disk
    assert "- Dogs travel free." in (tmp_path / "copy" / "guide" / "ferries.md").read_text()


async def test_once_the_document_states_an_answer_it_is_retired_and_its_questions_stay_answered(
    office, folder
):
    await office.teach()
    (draft,) = await office.drafts()
    await office.store.note_draft(proposals.note_of(draft, NOON))
    assert await proposals.retire_stated(office.answers, office.store) == []

    apply(draft.patch.replace("Dogs travel free. They", "Dogs travel *free*. They"), folder)
    office.library.refresh()
    retired = await proposals.retire_stated(office.answers, office.store)

    assert [each.id for each in retired] == [REPLY.id]
    assert (await office.answers.get(REPLY.id)).state == "retired"
    assert [each.change.name for each in await office.answers.versions(REPLY.id)][
        -1
    ] == "hand book/ferries & täxis.md"
    assert {turn: mark.state for turn, mark in (await office.finder.marks()).items()} == {
        "t1": "answered",
        "t2": "answered",
    }
    assert await office.store.drafts() == ()
    assert await office.drafts() == []


async def test_an_answer_that_was_reworded_when_it_was_merged_is_kept(office, folder):
    await office.teach()
    (draft,) = await office.drafts()
    await office.store.note_draft(proposals.note_of(draft, NOON))

    apply(draft.patch.replace("They need a leash", "They need a leash and a muzzle, at all times"), folder)
    office.library.refresh()

    assert await proposals.retire_stated(office.answers, office.store) == []


async def test_what_a_document_states_already_is_not_proposed(office, folder):
    (folder / "boats.md").write_text(
        "# Boats\n\nDogs travel free. They need a\nleash. Do dogs need a ticket for the ferry?\n"
    )
    office.library.refresh()
    await office.teach()

    assert await office.drafts() == []


async def test_a_change_is_proposed_on_the_host_of_its_repository(office, folder, certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    await office.teach()
    (draft,) = await office.drafts()
    newer = PAGE.replace("# Ferries\n", "# Ferries\n\nThis page moved on.\n")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    async with FakeGitLab(Branches(files={"main": {draft.path: newer.encode()}}), tls=context) as host:
        there = replace(draft, root=f"git+{host.url}/acme/handbook")
        settings = replace(office.settings, git_tokens={"127.0.0.1": "sesame"}, private_hosts=("127.0.0.1",))
        page = await proposals.publish(there, settings)

    (pull,) = host.repository.pulls
    assert page == host.page_of(pull)
    assert pull.title == "Answer “Do dogs need a ticket for the ferry?”"
    assert "Every sentence that is added is theirs, word for word." in pull.body
    expected = newer.replace("free.\n\n## H", "free.\n- Dogs travel free. They need a leash.\n\n## H")
    assert host.repository.files[pull.head][draft.path].decode() == expected


async def test_without_a_token_it_says_which_is_needed(office, folder):
    await office.teach()
    (draft,) = await office.drafts()

    with pytest.raises(ProposalRefused, match=r"GIT_TOKENS=git\.acme\.example=TOKEN"):
        await proposals.publish(
            replace(draft, root="git+https://git.acme.example/acme/handbook"), office.settings
        )

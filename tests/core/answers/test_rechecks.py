"""Which answers are found to hold no longer once documents changed, over the real stores of either database."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from fakes.shelf import open_library, write

from core.answers.answers import open_answers
from core.answers.rechecks import AnswerChecks
from core.answers.store import AnswerFilter, KeptAnswer
from core.conversation import Answer, Citation, Conversation, Outcome, Question
from core.settings import Settings
from core.sources.sources import open_source_store
from core.storage.storage import open_storage
from core.traces.log import DAY, open_question_log
from core.traces.trace import Trace
from core.turns.rate_limits import QuietHours

NOON = 1_773_316_800.0  # 12 March 2026, 12:00 UTC
HELP = Conversation(platform="test", space="s", channel="help", thread="1")
FERRY, DOGS = "The ferry to Sark leaves at half past nine.", "Dogs travel free of charge."
OTHER = "The ferry to Sark leaves at eleven."


@dataclass
class Shelf:
    """A library with a folder of documents, and the answers that were posted from it."""

    folder: Path
    library: Any
    log: Any
    answers: Any
    checks: Any = None
    readable: set[str] = field(default_factory=lambda: {"default"})
    posted: dict[str, tuple[Question, Outcome]] = field(default_factory=dict)
    told: list[Any] = field(default_factory=list)
    is_killed: bool = False  #: right after it told

    def sync(self):
        return self.library.refresh()

    async def answer(self, *quotes, turn="q1", source="docs/ferry.md", conversation=HELP):
        citations = tuple(
            Citation(
                number=number, title="Ferry", location="", source=source, quote=quote, start=0, end=len(quote),
                collection="default",
            )
            for number, quote in enumerate(quotes, start=1)
        )  # fmt: skip
        given = Answer(text="[1]", citations=citations, grounding="documents", composed=False)
        question = Question(id=turn, conversation=conversation, author="U1", text="When?", asked_at=NOON)
        outcome = Outcome(kind="answered", turn_id=turn, answer=given)
        self.posted[turn] = question, outcome
        await self.log.record(question, outcome, Trace())
        await self.checks.remember("test")

    async def look(self, most=20):
        """What is told of now."""
        before = len(self.told)
        await self.checks.remember("test")
        for _ in range(2):  # the first finds that documents changed, the second that they change no more
            await self.checks.find_lost(self._tell, most)
        return [(each.question.id, each.finding.lost, each.finding.instead) for each in self.told[before:]]

    async def _tell(self, lost, _route):
        self.told.append(lost)
        if self.is_killed:
            raise KeyboardInterrupt


@pytest.fixture(params=["sqlite", "postgresql"])
def shelf(request, tmp_path):
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else ""
    settings = Settings(data_dir=tmp_path / "data", database_url=url)
    folder = tmp_path / "docs"
    write(folder / "ferry.md", "# Ferry", FERRY, DOGS)
    write(folder / "other.md", "# Other", "Nothing of that stands here.")
    library = open_library(settings)
    library.ingest([folder])
    with ExitStack() as stack:
        storage = stack.enter_context(open_storage(settings))
        log = stack.enter_context(open_question_log(storage, days=14))
        answers = stack.enter_context(open_answers(storage, library, review_after=180))
        sources = stack.enter_context(open_source_store(storage))
        log.now = answers.now = lambda: NOON
        shelf = Shelf(folder, library, log, answers)

        async def readable(_question):
            return frozenset(shelf.readable)

        async def outcomes(turn):
            return shelf.posted[turn][1] if turn in shelf.posted else None

        async def stored(turn):
            return (shelf.posted[turn][0], {}) if turn in shelf.posted else None

        shelf.checks = AnswerChecks(
            log=log, answers=answers, library=library, sources=sources, platforms=frozenset(["test"]),
            keep=90 * DAY, readable=readable, talks=("slack://",), now=lambda: NOON, outcomes=outcomes, stored=stored,
        )  # fmt: skip
        yield shelf
    library.close()


async def test_a_quote_that_was_replaced_is_told_of_once_with_what_stands_there_now(shelf):
    await shelf.answer(FERRY, DOGS)
    still = await shelf.look()
    write(shelf.folder / "ferry.md", "# Ferry", OTHER, DOGS)
    shelf.sync()

    assert still == []
    assert await shelf.look() == [("q1", FERRY, OTHER)]
    assert await shelf.look() == []
    assert shelf.told[0].collection == "default"


async def test_what_is_reworded_moved_or_renamed_stands_and_is_looked_at_where_it_is_then(shelf):
    await shelf.answer(FERRY, DOGS)
    write(shelf.folder / "ferry.md", "# Ferry", "To Sark, the ferry leaves\nat **half past nine**.", DOGS)
    shelf.sync()
    reworded = await shelf.look()
    (shelf.folder / "ferry.md").rename(shelf.folder / "boats.md")
    shelf.sync()
    renamed = await shelf.look()
    write(shelf.folder / "boats.md", "# Ferry", OTHER, DOGS)
    shelf.sync()

    assert (reworded, renamed) == ([], [])
    assert await shelf.look() == [("q1", FERRY, OTHER)]
    assert shelf.told[0].citation.source == "docs/boats.md"


async def test_a_document_that_was_removed_is_gone_and_one_that_cannot_be_read_is_not(shelf):
    await shelf.answer(FERRY)
    (shelf.folder / "ferry.md").write_bytes(b"\0\xff" * 50)
    shelf.sync()
    unreadable = await shelf.look()
    (shelf.folder / "ferry.md").unlink()
    shelf.sync()
    shelf.checks.now = lambda: NOON + 61.0  # the library is as it was: it is looked at once a minute

    assert shelf.library.store.find_named("default", "docs/ferry.md") == []
    assert unreadable == []
    assert await shelf.look() == [("q1", FERRY, "")]


async def test_a_disk_that_is_not_there_takes_nothing_away(shelf):
    await shelf.answer(FERRY)
    shutil.move(shelf.folder, shelf.folder.with_name("away"))
    shelf.sync()
    away = await shelf.look()
    shutil.move(shelf.folder.with_name("away"), shelf.folder)
    shelf.sync()

    assert shelf.library.store.find_named("default", "docs/ferry.md")
    assert (away, await shelf.look()) == ([], [])


async def test_what_changes_between_an_answer_and_the_first_look_is_noticed(shelf):
    write(shelf.folder / "ferry.md", "# Ferry", OTHER)
    shelf.sync()
    await shelf.answer(FERRY)

    assert await shelf.look() == [("q1", FERRY, OTHER)]


async def test_a_document_that_may_not_be_read_there_any_more_is_not_told_of(shelf):
    await shelf.answer(FERRY)
    shelf.readable.clear()
    write(shelf.folder / "ferry.md", "# Ferry", OTHER)
    shelf.sync()

    assert await shelf.look() == []


async def test_forgetting_a_document_or_a_conversation_ends_it(shelf):
    there = replace(HELP, thread="2")
    await shelf.answer(FERRY)
    await shelf.answer(FERRY, turn="q2", conversation=there)
    watched = await shelf.log.list_watched()
    await shelf.log.forget_conversation(there)
    del shelf.posted["q2"]
    await shelf.checks.remember("test")
    left = await shelf.log.list_watched()
    shelf.library.forget("docs/ferry.md")

    assert (watched, left) == ({"q1", "q2"}, {"q1"})
    assert await shelf.log.quoted.of_turn("q1") == []
    assert await shelf.look() == []


async def test_a_process_that_is_killed_after_it_told_tells_again_under_the_same_turn(shelf):
    await shelf.answer(FERRY)
    write(shelf.folder / "ferry.md", "# Ferry", OTHER)
    shelf.sync()
    shelf.is_killed = True
    with pytest.raises(KeyboardInterrupt):
        await shelf.look()
    shelf.is_killed = False

    assert await shelf.look() == [("q1", FERRY, OTHER)]
    assert await shelf.look() == []


async def test_so_many_are_told_of_at_once_and_the_others_later(shelf):
    for turn in ("q1", "q2", "q3"):
        await shelf.answer(FERRY, turn=turn)
    write(shelf.folder / "ferry.md", "# Ferry", OTHER)
    shelf.sync()

    first, then = await shelf.look(most=2), await shelf.look()

    assert {turn for turn, _, _ in first} == {"q3", "q2"}
    assert {turn for turn, _, _ in then} == {"q1"}
    assert await shelf.log.quoted.count_lost(NOON - 1) == 3


async def test_what_was_asked_too_long_ago_is_let_go(shelf):
    await shelf.answer(FERRY)
    shelf.checks = replace(shelf.checks, now=lambda: NOON + 91 * DAY)
    write(shelf.folder / "ferry.md", "# Ferry", OTHER)
    shelf.sync()

    assert await shelf.look() == []
    assert await shelf.log.list_watched() == frozenset()


async def test_kept_answers_of_the_thread_or_with_the_same_words_come_up_for_review_at_once(shelf):
    await shelf.answer(FERRY)
    kept = {
        "a": (HELP.id, "At nine, says Ann."),
        "b": ("test/s/help/9", f"Note: {FERRY}"),
        "c": ("", "No idea."),
    }
    for name, (place, text) in kept.items():
        answer = KeptAnswer(
            id=name, question="When does it leave?", text=text, author="U1", name="Ann", place="", conversation=place,
            message=name, url=None, collection="default", language="en", said_at=NOON, kept_at=NOON, valid_until=0.0,
        )  # fmt: skip
        await shelf.answers.keep(answer)
        await shelf.answers.use(name)
    write(shelf.folder / "ferry.md", "# Ferry", OTHER)
    shelf.sync()
    await shelf.look()

    ids = await shelf.answers.find(AnswerFilter(due_at=shelf.answers.now()))
    due = {each.answer.id: each.disputed_by for each in await shelf.answers.list_answers(ids)}
    assert due == {"a": ("docs/ferry.md",), "b": ("docs/ferry.md",)}
    assert [each.address for each in shelf.library.store.answers()] == ["answer:c"]


async def test_the_answers_that_changed_are_counted_from_a_time_on(shelf):
    await shelf.answer(FERRY)
    write(shelf.folder / "ferry.md", "# Ferry", OTHER)
    shelf.sync()
    await shelf.look()

    assert await shelf.log.quoted.lost_at("q1") == NOON
    assert await shelf.log.quoted.count_lost(NOON - 1) == 1
    assert await shelf.log.quoted.count_lost(NOON + 1) == 0


@pytest.mark.parametrize(
    ("hours", "at", "over"),
    [
        (QuietHours(begin=20, end=8), "12:00", "12:00"),
        (QuietHours(begin=20, end=8), "20:00", "08:00"),
        (QuietHours(begin=20, end=8), "03:30", "08:00"),
        (QuietHours(begin=0, end=8), "08:00", "08:00"),
        (QuietHours(begin=13, end=14), "13:59", "14:00"),
        (QuietHours(begin=20, end=8, zone="Asia/Tokyo"), "12:00", "23:00"),
    ],
)
def test_quiet_hours_are_over_at_their_end(hours, at, over):
    def moment(clock):
        hour, minute = map(int, clock.split(":"))
        return NOON + (hour - 12) * 3600 + minute * 60

    expected = moment(over) + (DAY if over < at else 0)

    assert hours.over_at(moment(at)) == expected

"""A made-up week of a team: what is answered before and after what its experts taught.

The same week is asked twice through the real assistant and its durable queue, on one library, with the offline
reasoner: once with nobody teaching, and once with experts who answer a tenth of what was not answered.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from benchmarks import DATA, Say
from benchmarks.evaluation_sets import open_library, open_model
from benchmarks.serving import PLATFORM, CountingMessenger
from benchmarks.team import HOUR, SETS, Asked, Subject, Team, team
from bots.chat.channels import own_collection
from bots.testing.judging import normalized
from bots.testing.report import Cell, Section, Table
from core.answers.store import KeptAnswer, id_of, kept_ids
from core.bootstrap import Footnote, open_footnote
from core.conversation import Conversation, Outcome, Question, value
from core.library.documents import Readable
from core.library.embedding.embedder import Embedder
from core.library.library import DEFAULT_COLLECTION, Library
from core.settings import Settings
from core.text.language import language_of
from core.turns.queue import prepare_file, queue_url
from core.turns.turns import Turns, open_turns

QUESTIONS, SUBJECTS = 1_500, 900
QUICK_QUESTIONS, QUICK_SUBJECTS, QUICK_SETS = 50, 12, ("clapnq",)
BEGAN = 1_790_553_600.0  # Monday, 28 September 2026, midnight UTC: when the simulated clock begins
TICK = HOUR / 4  # the questions of one come side by side, and experts answer between two
DELAY = HOUR  # from a question that was not answered to an expert's reply
EVERY = 10  # of so many questions that were not answered, experts answer one

WHAT = (
    "200 people ask questions of SQuAD 2, of CLAPNQ and about the FastAPI documentation within a week of a simulated "
    "clock, in a channel for each subject, through the real assistant and its queue without a model. One question of eight has no "
    "answer anywhere, and a third of the documents that answer the others is withheld. Four questions of ten were asked before, by somebody else; one of ten of these in "
    "another channel. Whenever ten more were not answered, an expert gives the reference answer of the set "
    "to the next one that has one, an hour later; it is kept as a person's reply is. The same week without that is "
    "“before”."
)
NOTE = (
    "Right: a footnote leads to a document that answers, with a quote that holds the set's answer where it names one, "
    "or to what was taught about the same question. Wrong: answered, and no footnote does. Said surely: not under "
    "“This may be what you look for”."
)
LIMITS = (
    "Where the sets have no other wording, a question comes back in the same words, which is easier than life. "
    "An impossible question of SQuAD 2 shares most of its words with one that has an answer: without a model the "
    "nearest sentence is often quoted for it. SQuAD 2 gives a name or a number as its answer, so that is all that the "
    "expert says."
)
ROWS = {
    "all": "all",
    "reworded": "asked again in other words, after an expert answered it in that channel",
    "repeated": "the same, in the same words",
    "elsewhere": "asked after that in another channel, which may not read the answer",
    "never": "never taught: documents answer",
    "open": "never taught: no document answers",
}
COLUMNS = (
    "questions", "answered right: before", "after", "answered wrong: before", "after", "of these said surely: before",
    "after",
)  # fmt: skip


@dataclass(slots=True, kw_only=True)
class Lived:
    """What came of a week, each question by its place in it."""

    outcomes: list[Outcome] = field(default_factory=list)
    taught: dict[str, str] = field(default_factory=dict)  #: the subject of each kept answer, by its id
    channels: dict[str, str] = field(default_factory=dict)  #: where it was said
    known: list[frozenset[tuple[str, str]]] = field(
        default_factory=list
    )  #: (subject, channel) before a question


@value
class Verdict:
    """On what one question was shown."""

    is_answered: bool
    is_right: bool = False
    is_sure: bool = False
    kept: tuple[str, ...] = ()  #: ids of the answers that it cites


def run(
    say: Say,
    *,
    data: Path = DATA,
    model: str = "none",
    sets: str = ",".join(SETS),
    questions: int = QUESTIONS,
    subjects: int = SUBJECTS,
    quick: bool = False,
) -> Section:
    embedder = open_model(model, say)
    people = (
        team(data, QUICK_QUESTIONS, QUICK_SUBJECTS, sets=QUICK_SETS)
        if quick
        else team(data, questions, subjects, sets=sets.split(","))
    )
    lived = []
    with tempfile.TemporaryDirectory() as scratch:
        indexed = Path(scratch) / "indexed"
        with closing(open_library(indexed, embedder)) as library:
            people.fill(library, Path(scratch))
        for teaches in (False, True):
            say(f"the week {'with' if teaches else 'without'} experts: {len(people.asked):,} questions")
            folder = Path(scratch) / f"{teaches}"
            shutil.copytree(indexed, folder)
            lived.append(asyncio.run(live(people, folder, embedder, teaches=teaches)))
    return section(people, *lived)


# The week


async def live(people: Team, folder: Path, embedder: Embedder | None, *, teaches: bool) -> Lived:
    """Ask everything, in time order, of the library in this data folder."""
    lived = Lived()
    async with open_footnote(
        Settings(data_dir=folder, web_search="off"), purpose="a made-up week", reads=reads_own,
        embedder=embedder,
    ) as footnote:  # fmt: skip
        messenger, url = CountingMessenger(), queue_url(footnote.settings)
        prepare_file(url)
        async with open_turns(footnote.assistant, {PLATFORM: messenger}, database_url=url) as turns:
            desk = Experts(people=people, footnote=footnote, lived=lived)
            for _, group in groupby(enumerate(people.asked), key=lambda pair: pair[1].at // TICK):
                some = list(group)
                now = BEGAN + some[0][1].at
                footnote.answers.now = footnote.log.now = lambda now=now: now
                if teaches:
                    await desk.answer_due(some[0][1].at)
                lived.known += [frozenset(desk.known)] * len(some)
                lived.outcomes += await _answers(some, turns, messenger)
                desk.note([asked for _, asked in some], lived.outcomes[-len(some) :])
    return lived


async def reads_own(conversation: Conversation, _author: str, _library: Library) -> Readable:
    """A channel reads the team's documents, and what was said in it."""
    return Readable(collections=frozenset({DEFAULT_COLLECTION, own_collection(conversation)}))


async def _answers(
    some: Sequence[tuple[int, Asked]], turns: Turns, messenger: CountingMessenger
) -> list[Outcome]:
    questions = [
        Question(
            id=f"q{number}", conversation=place(asked.channel, f"t{number}"), author=asked.author, text=asked.text,
            asked_at=BEGAN + asked.at,
        )
        for number, asked in some
    ]  # fmt: skip
    for question in questions:
        await turns.accept(question, {})
    await messenger.until(lambda: all(question.id in messenger.outcomes for question in questions))
    return [messenger.outcomes[question.id] for question in questions]


def place(channel: str, thread: str) -> Conversation:
    return Conversation(
        platform=PLATFORM, space="s", channel="".join(filter(str.isalnum, channel)), thread=thread
    )


@dataclass(slots=True, kw_only=True)
class Experts:
    """Those who answer a tenth of what was not answered, with what the sets give as the answer."""

    people: Team
    footnote: Footnote
    lived: Lived
    known: set[tuple[str, str]] = field(default_factory=set)  #: subjects that were taught, and where
    _missed: int = 0  #: questions that were not answered
    _begun: int = 0  #: of them, those that experts answer
    _due: list[tuple[float, Asked]] = field(default_factory=list)  #: replies on their way, and when they come

    def note(self, asked: Sequence[Asked], outcomes: Sequence[Outcome]) -> None:
        """Look at what was shown; a reply to some of it is then on its way."""
        waiting = {(each.subject, each.channel) for _, each in self._due}
        for each, outcome in zip(asked, outcomes, strict=True):
            if outcome.answer is not None and outcome.answer.is_sure:
                continue
            self._missed += 1
            is_new = (each.subject, each.channel) not in self.known | waiting
            if (
                is_new
                and self._begun < self._missed // EVERY
                and self.people.subjects[each.subject].reference
            ):
                self._begun += 1
                self._due.append((each.at + DELAY, each))
                waiting.add((each.subject, each.channel))

    async def answer_due(self, at: float) -> None:
        for when, asked in [due for due in self._due if due[0] <= at]:
            await self._teach(asked, when)
        self._due = [due for due in self._due if due[0] > at]

    async def _teach(self, asked: Asked, at: float) -> None:
        """A reply is kept: written down, shown, and then used."""
        answers, number = self.footnote.answers, len(self.lived.taught)
        conversation = place(asked.channel, f"reply{number}")
        message = f"{conversation.id}/{number}"
        answer = await answers.keep(
            KeptAnswer(
                id=id_of(message), question=asked.text, text=self.people.subjects[asked.subject].reference,
                author="UE", name="Eve", place=f"#{asked.channel}", conversation=conversation.id, message=message,
                url=None, collection=own_collection(conversation), language=language_of(asked.text),
                said_at=BEGAN + at, kept_at=BEGAN + at, valid_until=BEGAN + at,
            )
        )  # fmt: skip
        await answers.use(answer.id)
        await asyncio.to_thread(self.footnote.library.embed_pending)
        self.lived.taught[answer.id] = asked.subject
        self.lived.channels[answer.id] = asked.channel
        self.known.add((asked.subject, asked.channel))


# What came of it


def verdict_on(subject: Subject, outcome: Outcome, taught: Callable[[str], str | None]) -> Verdict:
    """``taught``: the subject of a kept answer, by its id."""
    if outcome.answer is None:
        return Verdict(is_answered=False)
    citations = outcome.answer.citations
    kept = kept_ids(citation.source for citation in citations)
    quoted = [normalized(each.quote) for each in citations if each.source in subject.sources]
    spans = [normalized(span) for span in subject.spans]
    is_right = any(not spans or any(span in quote for span in spans) for quote in quoted)
    return Verdict(
        is_answered=True, is_sure=outcome.answer.is_sure, kept=kept,
        is_right=is_right or any(taught(each) == subject.id for each in kept),
    )  # fmt: skip


def row_of(people: Team, asked: Asked, lived: Lived, known: frozenset[tuple[str, str]]) -> Iterator[str]:
    """The rows of the table that a question counts in."""
    yield "all"
    if (asked.subject, asked.channel) in known:
        yield "reworded" if asked.kind == "reworded" else "repeated"
    elif any(subject == asked.subject for subject, _ in known):
        yield "elsewhere"
    elif asked.subject not in lived.taught.values():
        yield "never" if people.is_answerable(asked.subject) else "open"


def section(people: Team, before: Lived, after: Lived) -> Section:
    verdicts = [
        [
            verdict_on(people.subjects[asked.subject], outcome, lived.taught.get)
            for asked, outcome in zip(people.asked, lived.outcomes, strict=True)
        ]
        for lived in (before, after)
    ]
    counted: dict[str, list[int]] = {row: [] for row in ROWS}
    for number, asked in enumerate(people.asked):
        for row in row_of(people, asked, after, after.known[number]):
            counted[row].append(number)
    rows = [(ROWS[row], *_shares(places, *verdicts)) for row, places in counted.items()]
    figures = {
        f"{row}: {column}": share
        for (row, _), (_, *shares) in zip(ROWS.items(), rows, strict=True)
        for column, share in zip(("questions", "right before", "right after", "wrong before", "wrong after"), shares, strict=False)
        if isinstance(share, int | float)
    }  # fmt: skip
    uses = _uses(people, verdicts[1], after)
    return Section(
        name="week", title="A made-up week", what=WHAT,
        tables=(
            Table(title="Shares of the questions", columns=("questions about", *COLUMNS), rows=tuple(rows), note=NOTE),
            Table(title="What was taught", columns=("what", "count"), rows=tuple(uses.items())),
        ),
        figures={**figures, **uses}, note=LIMITS,
    )  # fmt: skip


def _shares(places: Sequence[int], before: Sequence[Verdict], after: Sequence[Verdict]) -> tuple[Cell, ...]:
    def share(verdicts: Sequence[Verdict], counts: Callable[[Verdict], bool]) -> Cell:
        return round(sum(counts(verdicts[at]) for at in places) / len(places), 4) if places else "–"

    counting: tuple[Callable[[Verdict], bool], ...] = (
        lambda one: one.is_right,
        lambda one: one.is_answered and not one.is_right,
        lambda one: one.is_answered and not one.is_right and one.is_sure,
    )
    return (len(places), *(share(verdicts, counts) for counts in counting for verdicts in (before, after)))


def _uses(people: Team, verdicts: Sequence[Verdict], lived: Lived) -> dict[str, int]:
    cited = [
        (asked, answer)
        for asked, verdict in zip(people.asked, verdicts, strict=True)
        for answer in verdict.kept
    ]
    return {
        "questions not answered, or not surely": sum(not each.is_sure for each in verdicts),
        "answers that experts gave": len(lived.taught),
        "times that one was cited": len(cited),
        "of these for another question": sum(
            lived.taught[answer] != asked.subject for asked, answer in cited
        ),
        "of these in another channel": sum(
            lived.channels[answer] != asked.channel for asked, answer in cited
        ),
    }

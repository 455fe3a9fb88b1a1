"""Groups of questions that were not answered in a span of time, as somebody reads them."""

import asyncio
import logging
import math
import re
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.answers import store as answers
from core.conversation import value
from core.errors import ModelTrouble, SettingsError
from core.gaps import questions as asked
from core.gaps.questions import CloseDocument, GapMark, GapQuestion, GapState, GapStore, TimeSpan
from core.library.embedding.embedder import Embedder
from core.storage.database import AsyncDatabase
from core.storage.storage import Storage
from core.text.terms import comparable, query_terms
from core.traces import log

logger = logging.getLogger(__name__)

ROUGHLY = 200  # questions of a rough report, the newest ones
NAMED_BY = 3  # words that tell a group from others
CLOSEST = 3  # documents of a group
MISSING = 3  # sentences about what is missing

_WORD = re.compile(r"\w[\w'’.-]*\w|\w")


@value
class GapGroup:
    """Questions of a span that mean much the same."""

    name: str  #: the question nearest to all others
    words: tuple[str, ...]  #: that tell it from the other groups
    questions: tuple[GapQuestion, ...]  #: newest first
    people: int
    earlier: tuple[GapQuestion, ...]  #: of the span before
    closest: tuple[CloseDocument, ...]  #: found most often
    missing: tuple[str, ...]  #: as judges and people said it, most often said first
    languages: tuple[str, ...]  #: most frequent first
    reasons: Mapping[str, int]
    mark: GapMark | None = None  #: what was last decided about it; None: nothing
    marks: Mapping[str, GapMark] = field(default_factory=dict)  #: the decisions about its questions, by turn

    @property
    def id(self) -> str:
        """The turn of its oldest question, so that it stays while the group grows."""
        return self.questions[-1].turn

    @property
    def state(self) -> GapState | None:
        return self.mark.state if self.mark else None

    @property
    def since_state(self) -> int:
        """The number of its questions without a decision."""
        return len(self.undecided) if self.mark else 0

    @property
    def undecided(self) -> tuple[GapQuestion, ...]:
        return tuple(each for each in self.questions if each.turn not in self.marks)

    @property
    def is_open(self) -> bool:
        """True if something is left to decide. A subject that was ignored stays so when it is asked about
        later; what was asked before that, and not shown to who ignored it, does not."""
        if self.mark is None or self.mark.state == "asked":
            return True
        is_ignored, decided_at = self.mark.state == "ignored", self.mark.set_at
        return any(not is_ignored or each.asked_at <= decided_at for each in self.undecided)

    @property
    def count(self) -> int:
        return len(self.questions)

    @property
    def before(self) -> int:
        return len(self.earlier)

    @property
    def turns(self) -> tuple[str, ...]:
        return tuple(question.turn for question in self.questions)


def make_groups(
    questions: Sequence[GapQuestion], labels: NDArray[np.int64], likeness: NDArray[np.float32], span: TimeSpan
) -> tuple[GapGroup, ...]:
    """Groups with a question of this span, the largest first. ``questions``: of this span and the last."""
    held = [frozenset(query_terms(each.text, each.language)) for each in questions]
    counts = Counter(term for terms in held for term in terms)
    groups = []
    for label in range(int(labels.max(initial=-1)) + 1):
        members = [int(at) for at in np.flatnonzero(labels == label)]
        now = [at for at in members if questions[at].asked_at >= span.since]
        if now:
            near = likeness[np.ix_(now, members)].sum(axis=1)
            _, _, central = max(zip(near, (questions[at].turn for at in now), now, strict=True))
            shared = Counter(term for at in members for term in held[at])
            words = _telling_words([questions[at] for at in members], shared, counts, len(questions))
            earlier = [questions[at] for at in members if questions[at].asked_at < span.since]
            groups.append(_group([questions[at] for at in now], earlier, questions[central].text, words))
    return tuple(sorted(groups, key=lambda group: (-group.count, -group.questions[0].asked_at, group.id)))


def _group(
    questions: Sequence[GapQuestion], earlier: Sequence[GapQuestion], name: str, words: tuple[str, ...]
) -> GapGroup:
    newest = sorted(questions, key=lambda each: (-each.asked_at, each.turn))
    documents = Counter(document for each in newest for document in each.closest)
    missing = Counter(said for each in newest for said in (each.missing, each.fault) if said)
    return GapGroup(
        name=name, words=words, questions=tuple(newest), people=len({each.author for each in newest}),
        earlier=tuple(earlier),
        closest=tuple(document for document, _ in documents.most_common(CLOSEST)),
        missing=tuple(said for said, _ in missing.most_common(MISSING)),
        languages=tuple(name for name, _ in Counter(each.language for each in newest).most_common()),
        reasons=dict(Counter(each.reason for each in newest).most_common()),
    )  # fmt: skip


def _telling_words(
    members: Sequence[GapQuestion], shared: Mapping[str, int], counts: Mapping[str, int], total: int
) -> tuple[str, ...]:
    """The words, as they are mostly written, that many members have and few other questions."""
    worth = {term: count * math.log((1 + total) / counts[term]) for term, count in shared.items()}
    best = sorted(worth, key=lambda term: (-worth[term], term))[:NAMED_BY]
    written: dict[str, Counter[str]] = {term: Counter() for term in best}
    for each in members:
        for word in _WORD.findall(each.text):
            for term in query_terms(word, each.language):
                if term in written:
                    written[term][word] += 1
    chosen = (max(forms, key=lambda word: (forms[word], word)) for forms in written.values() if forms)
    return tuple(dict.fromkeys(chosen))


def with_decisions(group: GapGroup, marks: Mapping[str, GapMark]) -> GapGroup:
    """The group with the decisions of today."""
    own = {turn: marks[turn] for turn in group.turns if turn in marks}
    return replace(group, mark=state_of((*group.questions, *group.earlier), marks), marks=own)


def state_of(members: Sequence[GapQuestion], marks: Mapping[str, GapMark]) -> GapMark | None:
    """The last decision about questions of a group, however it has grown since. It holds if it was made about
    at least half of the members asked by then: a small group that was ignored hides no large one."""
    decided = [marks[each.turn] for each in members if each.turn in marks]
    if not decided:
        return None
    last = max(decided, key=lambda mark: mark.set_at)
    by_then = [each for each in members if each.asked_at <= last.set_at]
    return last if 2 * len(decided) >= len(by_then) else None


@value
class GapReport:
    """The gaps of a span, for one reader."""

    span: TimeSpan
    groups: tuple[GapGroup, ...]  #: those with most questions first
    closed: int = 0  #: questions whose words this reader may not read: they are in no group
    wordless: int = 0  #: questions whose words are not kept any more
    is_by_meaning: bool = False  #: whether vectors were compared, not words
    is_cut: bool = False  #: whether only the newest were grouped
    #: Whether those in the same words were put together alone, and none before the span; the page says so.
    is_rough: bool = False

    @property
    def open_groups(self) -> tuple[GapGroup, ...]:
        """The groups in which something is left to decide."""
        return tuple(each for each in self.groups if each.is_open)


#: The turns among these questions whose words a reader may read.
MayRead = Callable[[Sequence[GapQuestion]], Awaitable[frozenset[str]]]


async def everything(questions: Sequence[GapQuestion]) -> frozenset[str]:
    """The questions that the operator's terminal may read."""
    return frozenset(each.turn for each in questions)


@dataclass(slots=True, kw_only=True)
class GapFinder:
    """Raises StoreUnavailable when nothing can be read now."""

    questions: AsyncDatabase  #: the store of the log
    answers: AsyncDatabase  #: that of what people taught
    store: GapStore
    embedder: Callable[[], Embedder | None]  #: of the library; None: words alone
    now: Callable[[], float] = time.time
    _vectors: dict[str, NDArray[Any]] = field(default_factory=dict, repr=False)
    _grouping: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def last(self, seconds: float) -> TimeSpan:
        """A period of so many seconds until now."""
        now = self.now()
        return TimeSpan(since=now - seconds, until=now)

    async def report(
        self, span: TimeSpan, may_read: MayRead = everything, *, is_rough: bool = False
    ) -> GapReport:
        """The gaps of a span beside those of the span before, among what may be read. Grouping thousands of
        questions takes seconds, so a thread does it; a rough report takes the newest alone, in milliseconds."""
        both = span if is_rough else TimeSpan(since=span.before.since, until=span.until)
        limit = ROUGHLY if is_rough else asked.GROUPED_QUESTIONS
        found = await asyncio.to_thread(asked.read_gaps, self.questions.database, both, limit=limit)
        allowed = await may_read(found.questions)
        readable = [each for each in found.questions if each.turn in allowed]
        make = _same_words if is_rough else self._group
        groups, is_by_meaning = await asyncio.to_thread(make, readable, span)
        closed = sum(each.turn not in allowed and each.asked_at >= span.since for each in found.questions)
        report = GapReport(
            span=span, groups=groups, closed=closed, wordless=sum(at >= span.since for at in found.wordless),
            is_by_meaning=is_by_meaning, is_cut=found.is_cut, is_rough=is_rough,
        )  # fmt: skip
        return await self.with_decisions(report)

    async def with_decisions(self, report: GapReport) -> GapReport:
        """The report with what is decided by now."""
        marks = await self.marks()
        return replace(report, groups=tuple(with_decisions(each, marks) for each in report.groups))

    async def marks(self) -> dict[str, GapMark]:
        """The decisions that hold: not that a question is answered by what is not used any more."""
        marks = await self.store.marks()
        named = {mark.answer for mark in marks.values()} - {""}
        if not named:
            return marks
        used = await self.answers.call(answers.usable_among, self.answers.database, tuple(named), self.now())
        return {turn: mark for turn, mark in marks.items() if mark.answer in {"", *used}}

    async def holds(self, report: GapReport) -> bool:
        """True if the words of all its questions are kept still."""
        turns = [turn for group in report.groups for turn in group.turns]
        return await asyncio.to_thread(asked.have_words, self.questions.database, turns)

    def _group(self, questions: Sequence[GapQuestion], span: TimeSpan) -> tuple[tuple[GapGroup, ...], bool]:
        """The groups, and whether vectors were compared."""
        from core.gaps import clusters

        if not questions:
            return (), False
        texts = [each.text for each in questions]
        embedder, rows = self.embedder(), None
        if embedder is not None:
            try:
                with self._grouping:  # the vectors are kept for the next time
                    rows = clusters.by_meaning(texts, embedder, self._vectors)
            except (ModelTrouble, SettingsError) as trouble:
                logger.warning("gaps are grouped by words alone: %s", trouble)
        cuts = clusters.BY_WORDS if rows is None else clusters.BY_MEANING
        if rows is None:
            rows = clusters.by_words(texts, [each.language for each in questions])
        if len(questions) >= clusters.FEW:
            near = [dict(each.near) for each in questions]
            rows = clusters.with_documents(rows, near, [each.confidence for each in questions])
        alike = clusters.alike(rows)
        labels = clusters.clusters(alike, cuts)
        return make_groups(questions, labels, alike, span), cuts is clusters.BY_MEANING


def _same_words(questions: Sequence[GapQuestion], span: TimeSpan) -> tuple[tuple[GapGroup, ...], bool]:
    numbers: dict[str, int] = {}
    labels = [numbers.setdefault(comparable(each.text), len(numbers)) for each in questions]
    alike = np.equal.outer(labels, labels).astype(np.float32)
    return make_groups(questions, np.array(labels, dtype=np.int64), alike, span), False


@contextmanager
def open_gaps(storage: Storage, embedder: Callable[[], Embedder | None]) -> Iterator[GapFinder]:
    """Raises SettingsError when a store cannot be used. Any process may have it open beside others."""
    with (
        storage.asynchronous(log.STORE, log.SCHEMA) as questions,
        storage.asynchronous(answers.STORE, answers.SCHEMA) as taught,
        asked.open_gap_store(storage) as gaps,
    ):
        yield GapFinder(questions=questions, answers=taught, store=gaps, embedder=embedder)

"""What was not answered in a span of time: read from the log, grouped, with what was decided about each group."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from core.answers import store as answers
from core.conversation import value
from core.errors import ModelTrouble, SettingsError
from core.gaps.groups import GapGroup
from core.gaps.questions import GapQuestion, TimeSpan, have_words, read_gaps
from core.gaps.store import GapMark, GapStore, open_gap_store
from core.library.embedding.embedder import Embedder
from core.storage.asynchronous import AsyncDatabase
from core.storage.storage import Storage
from core.traces import log

if TYPE_CHECKING:
    from numpy.typing import NDArray

logger = logging.getLogger(__name__)


@value
class GapReport:
    """The gaps of a span, for one reader."""

    span: TimeSpan
    groups: tuple[GapGroup, ...]  #: those with most questions first
    closed: int = 0  #: questions whose words this reader may not read: they are in no group
    wordless: int = 0  #: questions whose words are not kept any more
    is_by_meaning: bool = False  #: whether vectors were compared, not words
    is_cut: bool = False  #: whether only the newest were grouped

    @property
    def open_groups(self) -> tuple[GapGroup, ...]:
        """Those in which something is left to decide."""
        return tuple(each for each in self.groups if each.is_open)


#: The turns among these questions whose words a reader may read.
MayRead = Callable[[Sequence[GapQuestion]], Awaitable[frozenset[str]]]


async def everything(questions: Sequence[GapQuestion]) -> frozenset[str]:
    """What the operator's terminal may read."""
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
        """So many seconds until now."""
        now = self.now()
        return TimeSpan(since=now - seconds, until=now)

    async def report(self, span: TimeSpan, may_read: MayRead = everything) -> GapReport:
        """The gaps of a span, beside those of the span before it. Groups only what may be read.

        Grouping blocks for seconds where there are thousands of questions, so it is done in a thread.
        """
        both = TimeSpan(since=span.before.since, until=span.until)
        found = await asyncio.to_thread(read_gaps, self.questions.database, both)
        allowed = await may_read(found.questions)
        readable = [each for each in found.questions if each.turn in allowed]
        marks = await self.marks()
        groups, is_by_meaning = await asyncio.to_thread(self._group, readable, span, marks)
        closed = sum(each.turn not in allowed and each.asked_at >= span.since for each in found.questions)
        return GapReport(
            span=span, groups=groups, closed=closed, wordless=sum(at >= span.since for at in found.wordless),
            is_by_meaning=is_by_meaning, is_cut=found.is_cut,
        )  # fmt: skip

    async def marks(self) -> dict[str, GapMark]:
        """The decisions that hold: not that a question is answered by what is not used any more."""
        marks = await self.store.marks()
        named = {mark.answer for mark in marks.values()} - {""}
        if not named:
            return marks
        used = await self.answers.call(answers.usable_among, self.answers.database, tuple(named), self.now())
        return {turn: mark for turn, mark in marks.items() if mark.answer in {"", *used}}

    async def holds(self, report: GapReport) -> bool:
        """Whether the words of all its questions are kept still, and nothing else was decided about them since."""
        turns = [turn for group in report.groups for turn in group.turns]
        decided = {turn: mark for group in report.groups for turn, mark in group.marks.items()}
        marks = await self.marks()
        if decided != {turn: marks[turn] for turn in turns if turn in marks}:
            return False
        return await asyncio.to_thread(have_words, self.questions.database, turns)

    def _group(
        self, questions: Sequence[GapQuestion], span: TimeSpan, marks: Mapping[str, GapMark]
    ) -> tuple[tuple[GapGroup, ...], bool]:
        """The groups, and whether vectors were compared."""
        from core.gaps import clusters, likeness
        from core.gaps.groups import make_groups

        if not questions:
            return (), False
        texts = [each.text for each in questions]
        embedder, rows = self.embedder(), None
        if embedder is not None:
            try:
                with self._grouping:  # the vectors are kept for the next time
                    rows = likeness.by_meaning(texts, embedder, self._vectors)
            except (ModelTrouble, SettingsError) as trouble:
                logger.warning("gaps are grouped by words alone: %s", trouble)
        cuts = clusters.BY_WORDS if rows is None else clusters.BY_MEANING
        if rows is None:
            rows = likeness.by_words(texts, [each.language for each in questions])
        if len(questions) >= clusters.FEW:
            near, confidence = (
                [dict(each.near) for each in questions],
                [each.confidence for each in questions],
            )
            rows = likeness.with_documents(rows, near, confidence)
        alike = likeness.alike(rows)
        labels = clusters.clusters(alike, cuts)
        return make_groups(questions, labels, alike, span, marks), cuts is clusters.BY_MEANING


@contextmanager
def open_gaps(storage: Storage, embedder: Callable[[], Embedder | None]) -> Iterator[GapFinder]:
    """Raises SettingsError when a store cannot be used. Any process may have it open beside others."""
    with (
        storage.asynchronous(log.STORE, log.SCHEMA) as questions,
        storage.asynchronous(answers.STORE, answers.SCHEMA) as taught,
        open_gap_store(storage) as gaps,
    ):
        yield GapFinder(questions=questions, answers=taught, store=gaps, embedder=embedder)

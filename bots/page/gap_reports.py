"""Reports of gaps for the page: grouping takes seconds where there are thousands of questions, so it is kept a while."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from math import inf

from core.gaps.groups import GapFinder, GapReport, MayRead

FRESH = 60.0  # seconds for which a report is shown as it is; an older one is shown once more and made anew meanwhile
KEPT = 16  # reports, of different spans and readers
PATIENCE = 0.5  # seconds for which a list waits for its report, before it shows a rough one

ReportKey = tuple[float, frozenset[str] | None]  # seconds, and the collections that the reader may read


@dataclass(slots=True)
class GapReports:
    """Makes a report once for all who may read the same, and adds later decisions to it."""

    finder: GapFinder
    clock: Callable[[], float] = field(default_factory=lambda: asyncio.get_running_loop().time)
    patience: float | None = PATIENCE  #: None: a list waits as long as it takes
    #: When it was made, and with which state of rights it was looked at last.
    _made: OrderedDict[ReportKey, tuple[float, GapReport, Hashable]] = field(default_factory=OrderedDict)
    _making: dict[ReportKey, asyncio.Task[GapReport]] = field(default_factory=dict)

    async def whole(self, key: ReportKey, may_read: MayRead, rights: Hashable = None) -> GapReport:
        """The report of this key, at once if one exists; an old one is made again in the background. ``rights``:
        another value after anything changed that ``may_read`` looks at."""
        kept, is_fresh = await self._kept(key, may_read, rights)
        if not is_fresh:
            making = self._make(key, may_read, rights)
            kept = kept or await asyncio.shield(making)
        assert kept is not None
        return await self.finder.with_decisions(kept)

    async def first(self, key: ReportKey, may_read: MayRead, rights: Hashable = None) -> GapReport:
        """The newest report if it is there soon; else an older one, or a rough one, while it is being made."""
        soon = await self.soon(key, may_read, rights)
        return soon or await self.finder.report(self.finder.last(key[0]), may_read, is_rough=True)

    async def soon(self, key: ReportKey, may_read: MayRead, rights: Hashable = None) -> GapReport | None:
        """The newest report if it is there soon, else an older one; None where there is none yet: it is made meanwhile."""
        kept, is_fresh = await self._kept(key, may_read, rights)
        if not is_fresh:
            making = self._make(key, may_read, rights)
            done, _ = await asyncio.wait([making], timeout=self.patience)
            kept = making.result() if done else kept
        return kept and await self.finder.with_decisions(kept)

    def turn_old(self) -> None:
        """Mark reports as old after a decision, so that new questions are looked for first."""
        self._made = OrderedDict((key, (-inf, *made[1:])) for key, made in self._made.items())

    async def _kept(
        self, key: ReportKey, may_read: MayRead, rights: Hashable
    ) -> tuple[GapReport | None, bool]:
        """The report of this key as far as it may be shown still, and whether it is fresh."""
        if key not in self._made:
            return None, False
        made_at, report, looked_with = self._made[key]
        is_fresh = self.clock() - made_at < FRESH
        # Of an older one, the questions may have been closed to its reader meanwhile; of any, forgotten.
        is_looked_at = is_fresh and rights == looked_with
        questions = [] if is_looked_at else [each for group in report.groups for each in group.questions]
        if await self.finder.holds(report) and len(await may_read(questions)) == len(questions):
            if key in self._made:  # else another visit found meanwhile that something was closed
                self._made[key] = made_at, report, rights
            return report, is_fresh
        self._made.clear()
        return None, False

    def _make(self, key: ReportKey, may_read: MayRead, rights: Hashable) -> asyncio.Task[GapReport]:
        if key not in self._making:
            self._making[key] = asyncio.create_task(self._report(key, may_read, rights))
            # A failure shows at the next visit that waits for it; the loop need not tell of it.
            self._making[key].add_done_callback(lambda made: made.cancelled() or made.exception())
        return self._making[key]

    async def _report(self, key: ReportKey, may_read: MayRead, rights: Hashable) -> GapReport:
        try:
            report = await self.finder.report(self.finder.last(key[0]), may_read)
            self._made[key] = self.clock(), report, rights
            self._made.move_to_end(key)
            while len(self._made) > KEPT:
                self._made.popitem(last=False)
            return report
        finally:
            del self._making[key]

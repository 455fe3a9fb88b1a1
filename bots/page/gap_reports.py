"""Reports of gaps for the page: grouping takes seconds where there are thousands of questions, so it is kept a while."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from core.gaps.groups import GapFinder, GapReport, MayRead

FRESH = 60.0  # seconds for which a report is shown as it is; an older one is shown once more and made anew meanwhile
KEPT = 16  # reports, of different spans and readers

ReportKey = tuple[float, frozenset[str] | None]  # seconds, and the collections that the reader may read


@dataclass(slots=True)
class GapReports:
    """Makes a report once for everybody who may read the same."""

    finder: GapFinder
    clock: Callable[[], float] = field(default_factory=lambda: asyncio.get_running_loop().time)
    _made: OrderedDict[ReportKey, tuple[float, GapReport]] = field(default_factory=OrderedDict)
    _making: dict[ReportKey, asyncio.Task[GapReport]] = field(default_factory=dict)

    async def get(self, key: ReportKey, may_read: MayRead) -> GapReport:
        """At once if there is one of this key; the first time it is waited for."""
        made = self._made.get(key)
        if made is not None and not await self._may_be_shown(*made, may_read):
            self.drop()
            made = None
        if made is not None and self.clock() - made[0] < FRESH:
            return made[1]
        task = self._making.get(key)
        if task is None:
            task = self._making[key] = asyncio.create_task(self._make(key, may_read))
        if made is not None:
            task.add_done_callback(_retrieve)
            return made[1]
        return await asyncio.shield(task)

    async def at_once(self, key: ReportKey, may_read: MayRead) -> GapReport | None:
        """None where none may be shown yet: it is made meanwhile."""
        made = self._made.get(key)
        if made is not None and await self._may_be_shown(*made, may_read):
            return await self.get(key, may_read)
        if key not in self._making:
            self._making[key] = asyncio.create_task(self._make(key, may_read))
            self._making[key].add_done_callback(_retrieve)
        return None

    async def _may_be_shown(self, made_at: float, report: GapReport, may_read: MayRead) -> bool:
        """True if nothing in it was forgotten, or decided since; in an older one, nor closed to its reader."""
        if not await self.finder.holds(report):
            return False
        if self.clock() - made_at < FRESH:
            return True
        questions = [each for group in report.groups for each in group.questions]
        return len(await may_read(questions)) == len(questions)

    async def _make(self, key: ReportKey, may_read: MayRead) -> GapReport:
        try:
            report = await self.finder.report(self.finder.last(key[0]), may_read)
            self._made[key] = self.clock(), report
            self._made.move_to_end(key)
            while len(self._made) > KEPT:
                self._made.popitem(last=False)
            return report
        finally:
            del self._making[key]

    def drop(self) -> None:
        """Something was decided: what was made does not say so."""
        self._made.clear()


def _retrieve(task: asyncio.Task[GapReport]) -> None:
    """The older report was shown; a failure shows at the next visit, which waits for a new one."""
    if not task.cancelled():
        task.exception()

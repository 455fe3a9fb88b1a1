"""Serves the page from the stores of a process, which may be another than the one that answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp.web import RouteDef

from bots.chat.channels import ChannelStore
from bots.page.changes import PageChanges
from bots.page.feedback import FeedbackMarks
from bots.page.gap_reports import GapReports
from bots.page.names import NameLookUps
from bots.page.server import link_at, serving
from bots.page.sessions import PageSessions
from bots.page.settings import PageSettings
from bots.page.site import Probes, Record, ServingProcess, Site
from bots.page.templating import make_templates
from bots.page.threads import PageThreads
from bots.page.views import views
from bots.terminal.operations import Operations
from core.answers.answers import Answers
from core.conversation import Command, Turn
from core.errors import FootnoteError
from core.library.indexing import Phase
from core.library.library import Library
from core.settings import Settings
from core.sources.documents import Sightings
from core.sources.store import SourceStore
from core.storage.database import AsyncDatabase
from core.traces.log import QuestionLog
from core.traces.meters import Gauges, Meters, prometheus
from core.turns.archive import count_unfinished
from core.turns.messenger import ReplyRoute
from core.turns.turns import Turns


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnWork:
    """This process does the work."""

    turns: Turns
    operations: Operations
    meters: Meters
    platforms: Mapping[str, Callable[[], Awaitable[bool]]] = field(
        default_factory=dict
    )  #: by what people call them, whether each is connected

    async def accept(self, turn: Turn | Command, route: ReplyRoute) -> None:
        await self.turns.accept(turn, route)

    async def carry_out(self, name: str, details: Record) -> Record:
        return await self.operations.carry_out(name, details, _Unheard(), is_again=False)

    async def trouble(self) -> str:
        try:
            await asyncio.to_thread(count_unfinished)
        except FootnoteError as fault:
            return str(fault)
        away = [name for name, is_connected in self.platforms.items() if not await is_connected()]
        return " ".join(f"{name} is not connected." for name in away)

    async def gauges(self) -> Gauges:
        return await asyncio.to_thread(self.meters.gauges)


class _Unheard:
    """A sink for what an operation notes while it runs; the page shows its result."""

    def note(self, sentence: str) -> None: ...

    def notify(self, phase: Phase, done: int, total: int) -> None: ...


@asynccontextmanager
async def open_page(
    page: PageSettings,
    settings: Settings,
    *,
    library: Library,
    sources: SourceStore,
    log: QuestionLog,
    answers: Answers,
    gaps: GapReports,
    channels: ChannelStore,
    database: AsyncDatabase,
    work: ServingProcess,
    meters: Meters | None = None,
    routes: Sequence[RouteDef] = (),
) -> AsyncIterator[str]:
    """Serve it; a link for one editor. SettingsError where it cannot listen. ``meters``: of the process that answers. ``routes``:
    of what else is served there.
    """
    sessions = PageSessions(database=database)
    site = Site(
        settings=settings,
        page=page,
        library=library,
        sightings=Sightings(sources=sources, documents=library.store, stale_after=settings.stale_after),
        log=log,
        answers=answers,
        gaps=gaps,
        channels=channels,
        sessions=sessions,
        changes=PageChanges(database=database),
        feedback=FeedbackMarks(database=database),
        threads=PageThreads(database),
        work=work,
        templates=make_templates(views()),
        names=NameLookUps(log.names, lambda said: work.carry_out("note_names", {"said": said})),
        probes=Probes(trouble=_trouble_of(log, work), metrics=_metrics_of(meters) if meters else None),
        meters=meters,
    )
    async with serving(site, routes) as url:
        yield link_at(page, url, await sessions.make_link("editor"))


def _metrics_of(meters: Meters) -> Callable[[], Awaitable[str]]:
    async def metrics() -> str:
        return await asyncio.to_thread(prometheus, meters)

    return metrics


def _trouble_of(log: QuestionLog, work: ServingProcess) -> Callable[[], Awaitable[str]]:
    async def trouble() -> str:
        """Why the stores cannot be read now, or questions are not answered."""
        try:
            await log.database.rows("SELECT 1")
        except FootnoteError as fault:
            return str(fault)
        return await work.trouble()

    return trouble


def link_told(link: str) -> str:
    """The lines on the terminal of who serves the page."""
    return f"The page lets one browser in, once, within 15 minutes: {link}"

"""The parts that all views of the page share: views, requests of a session, and the names of
people and channels, which are read from the store, and looked up by the bot where none is known.
"""

import asyncio
import logging
import zlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from time import monotonic
from typing import Any, Generic, Protocol, TypeVar
from urllib.parse import parse_qsl, urlencode

from aiohttp import web
from jinja2 import Environment

from bots.chat.channels import ChannelStore
from bots.page.gap_reports import GapReports
from bots.page.sessions import PageChanges, PageSession, PageSessions
from bots.page.settings import PageSettings
from bots.page.threads import PAGE, PageThreads, collections_of
from bots.terminal.session import TERMINAL
from core.answers.answers import Answers
from core.conversation import Command, Conversation, Turn, value
from core.errors import FootnoteError
from core.library.library import Library
from core.priority import BackgroundTasks
from core.settings import Settings
from core.sources.documents import Sightings
from core.traces.figures import day_of
from core.traces.log import QuestionLog
from core.traces.meters import Gauges, Meters
from core.traces.names import KnownNames, ShownNames
from core.turns.messenger import ReplyRoute

logger = logging.getLogger(__name__)

RANGES = (1, 7, 30, 90)  # days
USUAL_RANGE = 7
#: What a page says after a change, by what its address says of it.
DONE = {
    "saved": "It is saved.", "kept": "It is kept.", "forgotten": "It is forgotten.", "decided": "It is decided.",
    "read": "It was read again.", "ended": "It is ended.",
}  # fmt: skip
FORM, MOST_FIELDS = "application/x-www-form-urlencoded", 1_000
UNREADABLE = "This cannot be read, so nothing was done"

Record = dict[str, Any]  # JSON types only
T = TypeVar("T")

PATIENCE = 2.0  # seconds that a view waits for the platforms; then it shows ids, and names the next time
AGAIN = 3_600.0  # seconds after which a name is looked up again that the platform did not say
LOOKED_UP = 50  # people and channels at a time
REMEMBERED = 10_000  # that were looked up


#: The id of a conversation, and who asked or said something there; empty: nobody that is shown.
Asker = tuple[str, str]


def nobody_in(channel: str) -> Asker:
    """An asker that stands for a channel alone, to look up its name."""
    return f"{channel}/-", ""


@dataclass(slots=True)
class NameLookUps:
    """The names of people and channels. Raises StoreUnavailable when nothing can be read now."""

    stored: ShownNames
    look_up: Callable[[list[list[str]]], Awaitable[object]]  #: of conversations and authors; FootnoteError
    now: Callable[[], float] = monotonic
    _asked: dict[Asker, float] = field(default_factory=dict)  #: when, by who and where
    _running: BackgroundTasks = field(default_factory=BackgroundTasks)

    async def of(self, askers: Iterable[Asker]) -> KnownNames:
        """The names of these; those that nobody knows yet are looked up on their platform."""
        conversations = {each: Conversation.parse(each[0]) for each in dict.fromkeys(askers)}
        own = {
            conversation.channel_id: name
            for conversation in conversations.values()
            if (name := _own_name(conversation))
        }
        people = {author for _, author in conversations} - {""}
        channels = {conversation.channel_id for conversation in conversations.values()} - own.keys()
        known = await self.stored.find(people, channels)
        unknown = [
            each
            for each, conversation in conversations.items()
            if conversation.channel_id not in own
            and (each[1] not in {"", *known.people} or conversation.channel_id not in known.channels)
        ]
        if await self._look_up(unknown):
            known = await self.stored.find(people, channels)
        return KnownNames(people=known.people, channels={**known.channels, **own})

    async def _look_up(self, unknown: Iterable[Asker]) -> bool:
        """Look up those that are due; returns whether there were any."""
        now = self.now()
        due = [each for each in unknown if now - self._asked.get(each, -AGAIN) >= AGAIN][:LOOKED_UP]
        if not due:
            return False
        if len(self._asked) > REMEMBERED:
            self._asked.clear()
        self._asked |= dict.fromkeys(due, now)
        task = self._running.start(self._carry_out([[*each] for each in due]))
        await asyncio.wait([task], timeout=PATIENCE)
        return True

    async def _carry_out(self, said: list[list[str]]) -> None:
        try:
            await self.look_up(said)
        except FootnoteError as trouble:
            logger.info("names could not be looked up", extra={"reason": str(trouble)})


def _own_name(conversation: Conversation) -> str:
    """The name of a channel that is on no platform."""
    if conversation.platform == TERMINAL:
        return "terminal"
    if conversation.platform != PAGE:
        return ""
    named = collections_of(conversation.channel)
    return "page" if named is None else f"page, {', '.join(sorted(named))} only"


class ServingProcess(Protocol):
    """The process that does the work: this one, or the one that serves beside it."""

    async def accept(self, turn: Turn | Command, route: ReplyRoute) -> None:
        """Store a turn in the durable queue: once this returns, it will end."""

    async def carry_out(self, name: str, details: Record) -> Record:
        """The result of an operation of :mod:`bots.terminal.operations`; FootnoteError with what went wrong."""

    async def trouble(self) -> str:
        """A sentence about why questions are not answered now; empty: they are."""

    async def gauges(self) -> Gauges:
        """The state of the queue and the models, as far as this process knows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Everything that a view may need."""

    settings: Settings
    page: PageSettings
    library: Library
    sightings: Sightings
    log: QuestionLog
    answers: Answers
    gaps: GapReports
    channels: ChannelStore
    sessions: PageSessions
    changes: PageChanges
    threads: PageThreads
    work: ServingProcess
    templates: Environment
    names: NameLookUps
    meters: Meters | None = None  #: of this process; None: another one answers


@value
class ListPage(Generic[T]):
    """A page of a list, with links to the others."""

    shown: Sequence[T]
    path: str  #: of the list
    older: str  #: the query of the next ones; empty: these are the last
    newest: str | None  #: that of the first; None: these are the first


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """One request of a session."""

    site: Site
    session: PageSession
    request: web.Request

    def query(self, name: str) -> str:
        """A part of the address; empty where it is missing."""
        return self.request.query.get(name, "").strip()

    def part(self, name: str) -> str:
        return self.request.match_info[name]

    @property
    def days(self) -> int:
        """The number of days that the address looks back on; the same in all views with a range."""
        named = number_in(self.query("days"), USUAL_RANGE)
        return named if named in RANGES else USUAL_RANGE

    def dates(self, spans: int = 1) -> tuple[str, ...]:
        """These days, the newest last, and before them so many more spans of the same length."""
        today, count = date.fromisoformat(day_of(self.site.log.now())), spans * self.days
        return tuple((today - timedelta(days=back)).isoformat() for back in reversed(range(count)))

    def page_of(self, listed: Sequence[T], size: int, **kept: str) -> ListPage[T]:
        """The page of a list that the address names; ``kept``: query parameters its links keep."""
        first = number_in(self.query("from"), 0)
        kept = {name: content for name, content in kept.items() if content}
        is_last = len(listed) <= first + size
        return ListPage(
            shown=listed[first : first + size], path=self.request.path,
            older="" if is_last else urlencode({**kept, "from": first + size}),
            newest=urlencode(kept) if first else None,
        )  # fmt: skip

    async def form(self) -> Mapping[str, str]:
        """The fields of the form that was sent."""
        return dict(await read_form(self.request))

    async def chosen(self, name: str) -> list[str]:
        """All values of a field of that form."""
        return [content for field, content in await read_form(self.request) if field == name]

    def show(self, template: str, *, status: int = 200, **values: object) -> web.Response:
        page = self.site.templates.get_template(template)
        ranged = {"days": self.days, "ranges": RANGES, "usual_range": USUAL_RANGE}
        said = DONE.get(self.query("done"), "")
        here = self.request.rel_url.path
        text = page.render(session=self.session, here=here, said=said, **ranged, **values)
        return web.Response(text=text, content_type="text/html", status=status)

    async def asks_first(
        self, asked: str, means: Sequence[str], *, back: str,
        yes: str = "Forget it for good", no: str = "Keep it",
    ) -> web.Response | None:  # fmt: skip
        """A page that explains a change and asks for a second press; None if this was it."""
        fields = await read_form(self.request)
        if ("sure", "yes") in fields:
            return None
        return self.show(
            "sure.html", title=asked, asked=asked, means=means, fields=fields, back=back, yes=yes, no=no,
            action=self.request.rel_url.raw_path_qs,
        )  # fmt: skip

    async def record(
        self, did: str, about: str, *, path: str = "", before: str = "", after: str = "",
        collections: Iterable[str] | None = None,
    ) -> None:  # fmt: skip
        """Note what this session changed. It is done by now, so a store that is away is only logged."""
        try:
            await self.site.changes.record(
                did, about, who=self.session.name, session=self.session.id,
                path=path, before=before, after=after, collections=collections,
            )  # fmt: skip
        except FootnoteError:
            logger.warning("a change on the page could not be recorded", exc_info=True)

    def download(self, text: str, name: str, *, kind: str = "text/csv") -> web.Response:
        disposition = f'attachment; filename="{name}"'
        return web.Response(text=text, content_type=kind, headers={"Content-Disposition": disposition})

    def sorry(self, sentence: str, *, status: int = 404) -> web.Response:
        """A page of one sentence."""
        return self.show("sentence.html", status=status, title="Footnote", sentence=sentence)


async def read_form(request: web.Request) -> list[tuple[str, str]]:
    """The fields of the form that was sent, as our pages send them; HTTPBadRequest for what no browser sends."""
    try:
        sent = await request.read() if request.content_type == FORM else b""
        charset = request.charset or "utf-8"
        fields = parse_qsl(
            sent.decode(charset), keep_blank_values=True, encoding=charset, errors="strict",
            max_num_fields=MOST_FIELDS,
        )  # fmt: skip
    except (ValueError, LookupError, web.RequestPayloadError, zlib.error):
        raise web.HTTPBadRequest(reason=UNREADABLE) from None
    if any("\0" in part for field in fields for part in field):
        raise web.HTTPBadRequest(reason=UNREADABLE)
    return fields


def read_as(parse: Callable[[str], T], typed: str) -> T | None:
    """A part of an address as a parser reads it; None where it cannot be read."""
    try:
        return parse(typed)
    except (ValueError, KeyError, OSError):
        return None


def number_in(typed: str, otherwise: int) -> int:
    """A whole number of an address or a form; ``otherwise`` where it is none, or far too large."""
    return int(typed) if typed.isdecimal() and len(typed) < 10 else otherwise


def go_to(location: str, done: str = "") -> web.Response:
    """Redirect to the page that shows a change. ``done``: one of DONE, shown there."""
    said = f"{'&' if '?' in location else '?'}done={done}" if done else ""
    return web.Response(status=303, headers={"Location": location + said})


Handler = Callable[[Visit], Awaitable[web.StreamResponse]]
H = TypeVar("H", bound=Callable[..., Awaitable[web.StreamResponse]])


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One entry of the menu, with the routes below it."""

    title: str
    path: str  #: where the menu leads
    key: str  #: pressed after g, goes there
    is_ranged: bool = False  #: whether it looks back on some days, which the menu keeps
    #: Methods, addresses and functions. The server has checked the origin and the role of what is changed with POST.
    routes: list[tuple[str, str, Handler]] = field(default_factory=list)

    def get(self, path: str) -> Callable[[H], H]:
        return lambda handle: self._at("GET", path, handle)

    def post(self, path: str) -> Callable[[H], H]:
        return lambda handle: self._at("POST", path, handle)

    def _at(self, method: str, path: str, handle: H) -> H:
        self.routes.append((method, path, handle))
        return handle

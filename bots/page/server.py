"""The page over HTTP: routes, access and the headers of every reply.

Every request passes one door: the host that it names, TLS in front where others reach it, wrong tries, the
session, and for a change the origin and the role. A view is only asked after that.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from aiohttp import web

from bots.chat.channels import ChannelStore
from bots.chat.indexing import Watcher
from bots.chat.markdown.safe import line
from bots.http_server import serve
from bots.page.gap_reports import GapReports
from bots.page.sessions import (
    NAME_LIMIT,
    SESSION_LIFE,
    PageChanges,
    PageSession,
    PageSessions,
    WrongTries,
    describe_client,
)
from bots.page.settings import LOOPBACK, PageSettings, is_loopback, names_this_machine
from bots.page.site import UNREADABLE, Handler, NameLookUps, Record, ServingProcess, Site, Visit, read_form
from bots.page.templating import HERE, asset_versions, make_templates
from bots.page.threads import PageThreads
from bots.page.views import VIEWS
from bots.terminal.operations import Operations
from core.answers.answers import Answers
from core.answers.store import TEXT_LIMIT
from core.conversation import QUESTION_LIMIT, Command, Turn
from core.errors import FootnoteError
from core.library.library import Library
from core.settings import Settings
from core.sources.documents import Sightings
from core.sources.store import SourceStore
from core.storage.database import AsyncDatabase
from core.traces.log import QuestionLog
from core.traces.meters import CONTENT_TYPE, Gauges, Meters, prometheus
from core.turns.archive import count_unfinished
from core.turns.messenger import ReplyRoute
from core.turns.turns import Turns

logger = logging.getLogger(__name__)

#: Bytes of a form. A character takes 12 at most, of four bytes each written as %XX; what is twice as long as what is
#: kept is still shown again, with what is wrong with it.
BODY_LIMIT = 12 * 2 * (QUESTION_LIMIT + TEXT_LIMIT)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with no-referrer, browsers send no origin along with a form
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Server": "Footnote",
}
FOR_EVER = "public, max-age=31536000, immutable"  # of a file whose address changes with its content
COOKIE, SECURE_COOKIE = "footnote_page", "__Host-footnote_page"
HSTS = "max-age=31536000"  # seconds; of a page behind TLS
NEEDS_TLS = "This page is only served over https, through the proxy that PAGE_PROXIES names."
OTHER_HOST = "This page is not served under this name."
NOT_IN = "You are not in. `footnote page --link` prints a link that lets one browser in, once."
OTHER_ORIGIN = "This came from another page, so nothing was done."
READ_ONLY = "Your link is for reading: `footnote page --link` makes one for editing."
USED = "This link was used already, or is too old. `footnote page --link` prints another."
TOO_OFTEN = "That was wrong too often. Try again in a minute."
TOO_LONG = (
    "That is far longer than what is kept, so nothing was done. Go back in the browser, and shorten it."
)
TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
MACHINES = ("/healthz", "/readyz", "/metrics")
#: What an operation says while it runs is not heard; the page shows its result.
UNHEARD = Watcher(notify=lambda *_: None, announce=lambda _: None)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnWork:
    """This process does the work."""

    turns: Turns
    operations: Operations
    meters: Meters
    #: by what people call them, whether each is connected
    platforms: Mapping[str, Callable[[], Awaitable[bool]]] = field(default_factory=dict)

    async def accept(self, turn: Turn | Command, route: ReplyRoute) -> None:
        await self.turns.accept(turn, route)

    async def carry_out(self, name: str, details: Record) -> Record:
        return await self.operations.carry_out(name, details, UNHEARD, is_again=False)

    async def trouble(self) -> str:
        try:
            await asyncio.to_thread(count_unfinished)
        except FootnoteError as fault:
            return str(fault)
        away = [name for name, is_connected in self.platforms.items() if not await is_connected()]
        return " ".join(f"{name} is not connected." for name in away)

    async def gauges(self) -> Gauges:
        return await asyncio.to_thread(self.meters.gauges)


@asynccontextmanager
async def open_page(
    page: PageSettings, settings: Settings, *, library: Library, sources: SourceStore, log: QuestionLog,
    answers: Answers, gaps: GapReports, channels: ChannelStore, database: AsyncDatabase,
    work: ServingProcess, meters: Meters | None = None, routes: Sequence[web.RouteDef] = (),
) -> AsyncIterator[str]:  # fmt: skip
    """Serve the page and other ``routes``; yields a link for one editor. SettingsError if it cannot listen."""
    sessions = PageSessions(database=database)
    site = Site(
        settings=settings, page=page, library=library, log=log, answers=answers, gaps=gaps, channels=channels,
        sightings=Sightings(sources=sources, documents=library.store, stale_after=settings.stale_after),
        sessions=sessions, changes=PageChanges(database=database), threads=PageThreads(database), work=work,
        templates=make_templates(VIEWS),
        names=NameLookUps(log.names, lambda said: work.carry_out("note_names", {"said": said})),
        meters=meters,
    )  # fmt: skip
    many, app = page.stands_for_many, application(site)
    app.add_routes(routes)
    async with serve(app, page.host, page.port, name="The page", stands_for_many=many) as port:
        url = page.url or _local_url(page.host, port)
        await sessions.remember_url(url)
        logger.info("the page is served", extra={"port": port})
        yield link_at(page, url, await sessions.make_link("editor"))


def application(site: Site) -> web.Application:
    door = Door(site)
    app = web.Application(client_max_size=BODY_LIMIT, middlewares=[door.show_failures])
    app.on_response_prepare.append(door.add_headers)
    for path in MACHINES:
        app.router.add_get(path, door.tell_machines)
    app.router.add_get("/static/{name}", _static_files())
    app.router.add_get("/enter/{token}", door.enter)
    app.router.add_post("/enter/{token}", door.enter)
    app.router.add_post("/leave", door.behind(door.leave, is_change=False))
    for method, path, handle in (route for view in VIEWS for route in view.routes):
        app.router.add_route(method, path, door.behind(handle, is_change=method == "POST"))
    return app


class Door:
    """Lets requests through to the views, or not."""

    def __init__(self, site: Site) -> None:
        self.site, self.tries = site, WrongTries()

    def behind(
        self, handle: Handler, *, is_change: bool
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """The handler behind a session; a change also needs an editor."""

        async def pass_on(request: web.Request) -> web.StreamResponse:
            if (refused := self._refusal(request)) is not None:
                return refused
            session = await self._session_of(request)
            if isinstance(session, web.Response):
                return session
            if is_change and not session.is_editor:
                return self._sorry(READ_ONLY, 403)
            return await handle(Visit(site=self.site, session=session, request=request))

        return pass_on

    async def enter(self, request: web.Request) -> web.StreamResponse:
        """The page of a link. Only a press uses the link up, not a preview."""
        if (refused := self._refusal(request)) is not None:
            return refused
        token, sessions = request.match_info["token"], self.site.sessions
        asks_name = await sessions.asks_name(token)
        if asks_name is None:
            return self._wrong(request, USED)
        is_pressed = request.method == "POST"
        typed = line(dict(await read_form(request)).get("name", "")).strip() if is_pressed else ""
        if not is_pressed or (asks_name and not typed):
            status = 422 if is_pressed else 200
            return self._page("enter.html", status=status, token=token, asks_name=asks_name, limit=NAME_LIMIT)
        cookie = await sessions.enter(token, typed, client=self._client(request))
        if cookie is None:
            return self._wrong(request, USED)
        reply = web.Response(status=303, headers={"Location": "/"})
        reply.set_cookie(
            self._cookie(request), cookie, max_age=int(SESSION_LIFE),
            httponly=True, samesite="Strict", secure=self._is_secure(request), path="/",
        )  # fmt: skip
        return reply

    async def leave(self, visit: Visit) -> web.Response:
        await self.site.sessions.end(visit.session)
        return self._sorry("You are out. The link does not let you in again.", 200)

    async def tell_machines(self, request: web.Request) -> web.Response:
        """Liveness for everybody; readiness and figures for whom :meth:`_lets_probe` lets."""
        if request.path == "/healthz":
            return web.Response(text="ok\n")
        if not await self._lets_probe(request):
            return web.Response(status=401, text=f"{NOT_IN}\n")
        if request.path == "/readyz":
            trouble = await self._trouble()
            return web.Response(text=f"{trouble or 'ok'}\n", status=503 if trouble else 200)
        if self.site.meters is None:
            return web.Response(status=404, text="Nothing is measured here.\n")
        figures = await asyncio.to_thread(prometheus, self.site.meters)
        return web.Response(body=figures.encode(), headers={"Content-Type": CONTENT_TYPE})

    async def _trouble(self) -> str:
        """The reason why stores cannot be read or questions not answered now; empty: they can."""
        try:
            await self.site.log.database.rows("SELECT 1")
        except FootnoteError as fault:
            return str(fault)
        return await self.site.work.trouble()

    async def _lets_probe(self, request: web.Request) -> bool:
        """True if the request may see readiness and figures: from this machine, a named address, or a session."""
        peer = self._address(request)
        is_here = is_loopback(peer) and "X-Forwarded-For" not in request.headers
        is_named = names_this_machine(request.headers.get("Host", "")) or self._origin(request) is not None
        if self.site.page.is_probe(peer) or (is_here and is_named):
            return True
        return self._refusal(request) is None and isinstance(await self._session_of(request), PageSession)

    @web.middleware
    async def show_failures(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Shows a failure as a page: a sentence without what was asked for."""
        if "\0" in request.rel_url.path or "\0" in request.rel_url.query_string:
            return self._sorry(f"{UNREADABLE}.", 400)
        try:
            return await handler(request)
        except web.HTTPRequestEntityTooLarge:
            return self._sorry(TOO_LONG, 413)
        except web.HTTPException as fault:
            return self._sorry(f"{fault.reason}.", fault.status)
        except FootnoteError as fault:
            return self._sorry(str(fault), 503)
        except (ConnectionError, TimeoutError):
            raise
        except Exception:
            # The boundary of a request: the log has the rest.
            logger.exception("a page could not be shown")
            return self._sorry("Footnote has a fault of its own; its log says more.", 500)

    async def add_headers(self, request: web.Request, reply: web.StreamResponse) -> None:
        reply.headers.update(HEADERS)
        reply.headers.setdefault("Cache-Control", "no-store")
        if self._is_secure(request):
            reply.headers["Strict-Transport-Security"] = HSTS

    def _refusal(self, request: web.Request) -> web.Response | None:
        """The refusal of a request, whoever sent it."""
        page = self.site.page
        if not page.is_on_loopback and not self._is_secure(request):
            return self._sorry(NEEDS_TLS, 403)
        origin = self._origin(request)
        if origin is None:
            return self._sorry(OTHER_HOST, 421)
        is_foreign = request.method not in ("GET", "HEAD") and request.headers.get("Origin") != origin
        # A page of another site asks for it as a picture or a frame, as browsers tell. Such requests are not counted
        # as tries: else any page that an operator has open could use them up and shut the operator out.
        came_from, kind = (request.headers.get(name, "") for name in ("Sec-Fetch-Site", "Sec-Fetch-Dest"))
        is_embedded = came_from == "cross-site" and kind != "document"
        return self._sorry(OTHER_ORIGIN, 403) if is_foreign or is_embedded else None

    def _origin(self, request: web.Request) -> str | None:
        return self.site.page.origin_of(request.headers.get("Host", ""))

    def _is_secure(self, request: web.Request) -> bool:
        return self.site.page.is_secure(request.remote or "", request.headers.get("X-Forwarded-Proto", ""))

    def _address(self, request: web.Request) -> str:
        """The client's address; behind a trusted proxy, the last address that it forwards."""
        peer = request.remote or ""
        if self.site.page.stands_for_many(peer):
            forwarded = [part.strip() for part in request.headers.get("X-Forwarded-For", "").split(",")]
            return next(
                (each for each in reversed(forwarded) if each and not self.site.page.trusts(each)), peer
            )
        return peer

    async def _session_of(self, request: web.Request) -> PageSession | web.Response:
        name = self._cookie(request)
        cookie = request.cookies.get(name, "")
        if not cookie:
            return self._sorry(NOT_IN, 401)
        session = await self.site.sessions.find(cookie, client=self._client(request))
        if session is None:
            refused = self._wrong(request, NOT_IN)
            is_secure = self._is_secure(request)
            refused.del_cookie(name, path="/", secure=is_secure, httponly=True, samesite="Strict")
            return refused
        return session

    def _client(self, request: web.Request) -> str:
        return describe_client(request.headers.get("User-Agent", ""), self._address(request))

    def _cookie(self, request: web.Request) -> str:
        """The cookie's name, with the port: browsers send cookies to all ports of a host."""
        port = urlsplit(f"//{request.host}").port
        name = SECURE_COOKIE if self._is_secure(request) else COOKIE
        return f"{name}_{port}" if port else name

    def _wrong(self, request: web.Request, sentence: str) -> web.Response:
        """Refuse a wrong link or cookie; a right one never waits for wrong ones from its address."""
        if wait := self.tries.wait(self._address(request)):
            refused = self._sorry(TOO_OFTEN, 429)
            refused.headers["Retry-After"] = str(wait)
            return refused
        self.tries.count(self._address(request))
        return self._sorry(sentence, 401)

    def _sorry(self, sentence: str, status: int) -> web.Response:
        return self._page("sentence.html", status=status, title="Footnote", sentence=sentence)

    def _page(self, template: str, *, status: int, **values: object) -> web.Response:
        text = self.site.templates.get_template(template).render(session=None, here="", **values)
        return web.Response(text=text, content_type="text/html", status=status)


def _static_files() -> Callable[[web.Request], Awaitable[web.Response]]:
    held = {name: (HERE / "static" / name).read_bytes() for name in asset_versions()}

    async def serve(request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name not in held:
            raise web.HTTPNotFound
        kind = TYPES.get(Path(name).suffix, "application/octet-stream")
        return web.Response(body=held[name], content_type=kind, headers={"Cache-Control": FOR_EVER})

    return serve


def _local_url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def link_at(page: PageSettings, url: str | None, token: str) -> str:
    """The address that the operator opens."""
    base = page.url or url or _local_url(LOOPBACK if page.host == "0.0.0.0" else page.host, page.port)  # noqa: S104
    return f"{base}/enter/{token}"


def link_note(link: str) -> str:
    """The line on the terminal with the link to the page."""
    return f"The page lets one browser in, once, within 15 minutes: {link}"

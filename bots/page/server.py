"""The page over HTTP: who may ask for what, and the headers of every reply.

Every request passes one door: the host that it names, TLS in front where others reach it, wrong tries, the
session, and for a change the origin and the role. A view is only asked after that.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from aiohttp import web

from bots.chat.markdown.safe import line
from bots.http_server import serve
from bots.page.sessions import NAME_LIMIT, SESSION_LIFE, PageLink, PageSession, WrongTries, place_of
from bots.page.settings import LOOPBACK, PageSettings, is_loopback
from bots.page.site import UNREADABLE, Handler, Probes, Site, Visit, read_form
from bots.page.templating import HERE, asset_versions
from bots.page.views import views
from core.answers.store import TEXT_LIMIT
from core.conversation import QUESTION_LIMIT
from core.errors import FootnoteError

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


@asynccontextmanager
async def serving(site: Site, routes: Sequence[web.RouteDef] = ()) -> AsyncIterator[str]:
    """Serve the page and more routes; its address. SettingsError where it cannot listen."""
    page = site.page
    many = page.stands_for_many
    app = application(site)
    app.add_routes(routes)
    async with serve(app, page.host, page.port, name="The page", stands_for_many=many) as port:
        url = page.url or _local_url(page.host, port)
        await site.sessions.remember_place(url)
        logger.info("the page is served", extra={"port": port})
        yield url


def _local_url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def application(site: Site) -> web.Application:
    app = web.Application(client_max_size=BODY_LIMIT, middlewares=[_as_pages(site)])
    door = Door(site)
    app.on_response_prepare.append(door.add_headers)
    for path in MACHINES:
        app.router.add_get(path, partial(_tell_machines, site, door))
    app.router.add_get("/static/{name}", _static_files())
    app.router.add_get("/enter/{token}", door.ask_to_enter)
    app.router.add_post("/enter/{token}", door.enter)
    app.router.add_post("/leave", door.behind(_leave, is_change=False))
    for view in views():
        for route in view.routes:
            app.router.add_route(
                route.method, route.path, door.behind(route.handle, is_change=route.method == "POST")
            )
    return app


class Door:
    """Lets requests through to the views, or not."""

    def __init__(self, site: Site) -> None:
        self.site, self.tries = site, WrongTries()

    def behind(
        self, handle: Handler, *, is_change: bool
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """The handler, for who is in; a change also needs an editor."""

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

    async def ask_to_enter(self, request: web.Request) -> web.StreamResponse:
        """The page of a link. A press uses it, so that nothing that only looks at it uses it up."""
        if (refused := self._refusal(request)) is not None:
            return refused
        token = request.match_info["token"]
        link = await self.site.sessions.link(token)
        if link is None:
            return self._wrong(request, USED)
        return self._ask_to_enter(token, link)

    def _ask_to_enter(self, token: str, link: PageLink, *, status: int = 200) -> web.Response:
        named = {"token": token, "asks_name": link.asks_name, "limit": NAME_LIMIT}
        return self._page("enter.html", status=status, **named)

    async def enter(self, request: web.Request) -> web.StreamResponse:
        if (refused := self._refusal(request)) is not None:
            return refused
        token, sessions = request.match_info["token"], self.site.sessions
        link = await sessions.link(token)
        if link is None:
            return self._wrong(request, USED)
        typed = line(dict(await read_form(request)).get("name", "")).strip()
        if link.asks_name and not typed:
            return self._ask_to_enter(token, link, status=422)
        cookie = await sessions.enter(token, typed, place=self._place(request))
        if cookie is None:
            return self._wrong(request, USED)
        reply = web.Response(status=303, headers={"Location": "/"})
        reply.set_cookie(
            self._cookie(request), cookie, max_age=int(SESSION_LIFE),
            httponly=True, samesite="Strict", secure=self._is_secure(request), path="/",
        )  # fmt: skip
        return reply

    def _refusal(self, request: web.Request) -> web.Response | None:
        """Why a request goes no further, whoever sent it."""
        page = self.site.page
        if not page.is_on_loopback and not self._is_secure(request):
            return self._sorry(NEEDS_TLS, 403)
        origin = self._origin(request)
        if origin is None:
            return self._sorry(OTHER_HOST, 421)
        if request.method not in ("GET", "HEAD") and request.headers.get("Origin") != origin:
            return self._sorry(OTHER_ORIGIN, 403)
        if _is_embedded(request):
            return self._sorry(OTHER_ORIGIN, 403)
        return None

    def _origin(self, request: web.Request) -> str | None:
        """Where this request was sent, which is where a change must come from; None for another's name.

        A browser that a foreign name leads to this machine names the foreign host.
        """
        page, host = self.site.page, request.headers.get("Host", "")
        if page.url and host == urlsplit(page.url).netloc:
            return page.url
        return f"http://{host}" if page.is_on_loopback and _names_this_machine(host) else None

    def _is_secure(self, request: web.Request) -> bool:
        """True if the browser spoke TLS, as a trusted proxy says."""
        is_proxy = self.site.page.url.startswith("https://") and self.site.page.trusts(request.remote or "")
        return is_proxy and request.headers.get("X-Forwarded-Proto", "").strip().lower() == "https"

    def _address(self, request: web.Request) -> str:
        """The address of who asks: behind a trusted proxy, the last address that it tells."""
        peer = request.remote or ""
        if self.site.page.stands_for_many(peer):
            told = [part.strip() for part in request.headers.get("X-Forwarded-For", "").split(",")]
            return next((each for each in reversed(told) if each and not self.site.page.trusts(each)), peer)
        return peer

    async def _session_of(self, request: web.Request) -> PageSession | web.Response:
        name = self._cookie(request)
        cookie = request.cookies.get(name, "")
        if not cookie:
            return self._sorry(NOT_IN, 401)
        session = await self.site.sessions.find(cookie, place=self._place(request))
        if session is None:
            refused = self._wrong(request, NOT_IN)
            is_secure = self._is_secure(request)
            refused.del_cookie(name, path="/", secure=is_secure, httponly=True, samesite="Strict")
            return refused
        return session

    def _place(self, request: web.Request) -> str:
        return place_of(request.headers.get("User-Agent", ""), self._address(request))

    def _cookie(self, request: web.Request) -> str:
        """Its name, with the port: browsers send a cookie to all ports of a host, and two Footnotes may be there."""
        port = urlsplit(f"//{request.host}").port
        name = SECURE_COOKIE if self._is_secure(request) else COOKIE
        return f"{name}_{port}" if port else name

    async def lets_probe(self, request: web.Request) -> bool:
        """True if it may ask for readiness and figures: from this machine by its name, from a named address, or who
        is in.
        """
        peer = self._address(request)
        is_here = is_loopback(peer) and "X-Forwarded-For" not in request.headers
        is_named = _names_this_machine(request.headers.get("Host", "")) or self._origin(request) is not None
        if self.site.page.is_probe(peer) or (is_here and is_named):
            return True
        return self._refusal(request) is None and isinstance(await self._session_of(request), PageSession)

    async def add_headers(self, request: web.Request, reply: web.StreamResponse) -> None:
        reply.headers.update(HEADERS)
        reply.headers.setdefault("Cache-Control", "no-store")
        if self._is_secure(request):
            reply.headers["Strict-Transport-Security"] = HSTS

    def _wrong(self, request: web.Request, sentence: str) -> web.Response:
        """Refuses a wrong link or cookie. A right one is never held up by the wrong ones of others at its address."""
        if wait := self.tries.wait(self._address(request)):
            refused = self._sorry(TOO_OFTEN, 429)
            refused.headers["Retry-After"] = str(wait)
            return refused
        self.tries.count(self._address(request))
        return self._sorry(sentence, 401)

    def _sorry(self, sentence: str, status: int) -> web.Response:
        return self._page("sentence.html", status=status, title="Footnote", sentence=sentence)

    def _page(self, template: str, *, status: int = 200, **values: object) -> web.Response:
        text = self.site.templates.get_template(template).render(session=None, here="", **values)
        return web.Response(text=text, content_type="text/html", status=status)


def _names_this_machine(host: str) -> bool:
    try:
        parts = urlsplit(f"//{host}")
        return is_loopback(parts.hostname or "") and parts.port != 0
    except ValueError:
        return False


def _is_embedded(request: web.Request) -> bool:
    """True if a page of another site asks for it as a picture or a frame, as browsers tell. Such requests are
    not counted as tries: else any page that an operator has open could use them up and shut the operator out.
    """
    site, kind = (request.headers.get(name, "") for name in ("Sec-Fetch-Site", "Sec-Fetch-Dest"))
    return site == "cross-site" and kind != "document"


async def _leave(visit: Visit) -> web.Response:
    await visit.site.sessions.end(visit.session)
    reply = visit.site.templates.get_template("sentence.html").render(
        session=None, here="", title="Footnote", sentence="You are out. The link does not let you in again."
    )
    return web.Response(text=reply, content_type="text/html")


async def _tell_machines(site: Site, door: Door, request: web.Request) -> web.Response:
    """Liveness for everybody; readiness and figures for whom :meth:`Door.lets_probe` lets."""
    probes: Probes = site.probes
    if request.path == "/healthz":
        return web.Response(text="ok\n")
    if not await door.lets_probe(request):
        return web.Response(status=401, text=f"{NOT_IN}\n")
    if request.path == "/readyz":
        trouble = await probes.trouble() if probes.trouble else ""
        return web.Response(text=f"{trouble or 'ok'}\n", status=503 if trouble else 200)
    if probes.metrics is None:
        return web.Response(status=404, text="Nothing is measured here.\n")
    return web.Response(body=(await probes.metrics()).encode(), content_type="text/plain", charset="utf-8")


def _static_files() -> Callable[[web.Request], Awaitable[web.Response]]:
    held = {name: (HERE / "static" / name).read_bytes() for name in asset_versions()}

    async def serve(request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name not in held:
            raise web.HTTPNotFound
        kind = TYPES.get(Path(name).suffix, "application/octet-stream")
        return web.Response(body=held[name], content_type=kind, headers={"Cache-Control": FOR_EVER})

    return serve


def _as_pages(site: Site) -> Callable[..., Awaitable[web.StreamResponse]]:
    """Middleware that shows a failure as a page: a sentence without what was asked for."""

    def page(sentence: str, status: int) -> web.Response:
        text = site.templates.get_template("sentence.html").render(
            session=None, here="", title="Footnote", sentence=sentence
        )
        return web.Response(text=text, content_type="text/html", status=status)

    @web.middleware
    async def answer(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if "\0" in request.rel_url.path or "\0" in request.rel_url.query_string:
            return page(f"{UNREADABLE}.", 400)
        try:
            return await handler(request)
        except web.HTTPRequestEntityTooLarge:
            return page(TOO_LONG, 413)
        except web.HTTPException as fault:
            return page(f"{fault.reason}.", fault.status)
        except FootnoteError as fault:
            return page(str(fault), 503)
        except (ConnectionError, TimeoutError):
            raise
        except Exception:
            # The boundary of a request: the log has the rest.
            logger.exception("a page could not be shown")
            return page("Footnote has a fault of its own; its log says more.", 500)

    return answer


def link_at(page: PageSettings, url: str | None, token: str) -> str:
    """The address that the operator opens."""
    base = page.url or url or _local_url(LOOPBACK if page.host == "0.0.0.0" else page.host, page.port)  # noqa: S104
    return f"{base}/enter/{token}"

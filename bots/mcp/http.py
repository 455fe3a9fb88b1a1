"""The MCP server over HTTP: one path, behind a door. The SDK speaks the protocol; aiohttp serves it like all else."""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from aiohttp import web
from mcp.server import ServerRequestContext
from mcp.server.mcpserver import Context
from mcp.server.request_state import RequestStateSecurity
from mcp.server.transport_security import TransportSecuritySettings

from bots.http_server import serve
from bots.mcp.callers import Caller
from bots.mcp.identity import Identities, UnknownCaller
from bots.mcp.server import build_server
from bots.mcp.tools import Service, Tools
from bots.page.settings import LOOPBACK, PageSettings
from core.errors import FootnoteError

PATH = "/mcp"
PROTECTED = "/.well-known/oauth-protected-resource"  # RFC 9728
BODY_LIMIT = 256 * 1024  # bytes; a question has 4,000 characters
CALLS = 16  # of one caller at once
TOO_LONG = f"A request may have {BODY_LIMIT // 1024} KB."
TOO_MANY = f"At most {CALLS} calls of one caller are answered at once. Send this again when one has ended."
ONLY_POST = "Requests of MCP are posted here."
LOOK_EVERY = 0.5  # seconds between two looks whether the client is still there
NEEDS_TLS = "This is only served over https, through the proxy that PAGE_PROXIES names."
OTHER_HOST = "This is not served under this name."
OTHER_ORIGIN = "This came from another page, so nothing was done."
#: Headers that say who asks: of two, a proxy may have looked at the other one.
ONCE = ("Authorization", "X-Slack-Signature", "X-Slack-Request-Timestamp", "Host", "Origin")
TWICE = "This says twice who asks."
CANCELLED = "notifications/cancelled"
CALLER = "footnote.caller"  # in the scope of a request

Message = MutableMapping[str, Any]

logger = logging.getLogger(__name__)


def caller_of(ctx: Context[Any, Any]) -> Caller:
    """The caller who sent the request of a tool call."""
    return _caller_in(ctx.request_context)


def _caller_in(context: ServerRequestContext[Any, Any]) -> Caller:
    assert context.request is not None  # of every call that came over HTTP
    caller = context.request.scope[CALLER]
    assert isinstance(caller, Caller)
    return caller


@dataclass(frozen=True, slots=True, kw_only=True)
class McpSite:
    """Everything that the path needs."""

    service: Service
    identities: Identities
    http: PageSettings
    issuer: str = ""  #: the address of who issues OAuth tokens
    calls: Counter[str] = field(default_factory=Counter)  #: that run now, by caller

    @asynccontextmanager
    async def routes(self, key: str) -> AsyncIterator[list[web.RouteDef]]:
        """``key``: seals what clients carry between two calls; all processes have the same."""
        security = RequestStateSecurity(keys=[key], bind_principal=lambda context: _caller_in(context).id)
        tools = Tools(self.service, caller_of)
        server = build_server(tools, security=security)
        # The door has looked at host and origin.
        server.streamable_http_app(
            stateless_http=True, max_request_body_size=BODY_LIMIT,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )  # fmt: skip
        async with server.session_manager.run():
            answer = partial(self._answer, tools, server.session_manager.handle_request)
            routes = [web.post(PATH, answer), web.route("*", PATH, _not_allowed)]
            if self.issuer:
                routes += [web.get(f"{PROTECTED}{path}", self._describe) for path in ("", PATH)]
            yield routes

    async def _answer(
        self, tools: Tools, handle: Callable[..., Awaitable[None]], request: web.Request
    ) -> web.StreamResponse:
        if (refused := self._refusal(request)) is not None:
            return refused
        try:
            # The page takes longer ones.
            body = await request.clone(client_max_size=BODY_LIMIT).read()
            caller = await self.identities.caller_of(request.headers, body)
        except web.HTTPRequestEntityTooLarge:
            return _sorry(TOO_LONG, 413)
        except UnknownCaller as fault:
            return self._unauthorized(str(fault), request)
        except FootnoteError as fault:
            return _sorry(str(fault), 503)
        # This protocol has no session that would know it.
        if (unwanted := cancelled_in(body)) is not None:
            tools.cancel(caller, unwanted)
        if self.calls[caller.id] >= CALLS:
            return _sorry(TOO_MANY, 429)
        self.calls[caller.id] += 1
        exchange = _Exchange(request, body, caller)
        try:
            await handle(exchange.scope(), exchange.receive, exchange.send)
        finally:
            self.calls.subtract([caller.id])
            if not self.calls[caller.id]:
                del self.calls[caller.id]
        return exchange.reply

    def url(self, request: web.Request) -> str:
        """The URL of the server for clients."""
        return f"{self.http.url or f'http://{request.host}'}{PATH}"

    def _refusal(self, request: web.Request) -> web.Response | None:
        """The refusal of a request, whoever sent it; only browsers send an origin."""
        http, headers = self.http, request.headers
        if not http.is_on_loopback and not http.is_secure(
            request.remote or "", headers.get("X-Forwarded-Proto", "")
        ):
            return _sorry(NEEDS_TLS, 403)
        origin = http.origin_of(headers.get("Host", ""))
        if origin is None:
            return _sorry(OTHER_HOST, 421)
        if any(len(request.headers.getall(name, ())) > 1 for name in ONCE):
            return _sorry(TWICE, 400)
        return _sorry(OTHER_ORIGIN, 403) if request.headers.get("Origin", origin) != origin else None

    def _unauthorized(self, sentence: str, request: web.Request) -> web.Response:
        refused = _sorry(sentence, 401)
        where = (
            f' resource_metadata="{self.url(request).removesuffix(PATH)}{PROTECTED}{PATH}"'
            if self.issuer
            else ""
        )
        refused.headers["WWW-Authenticate"] = f"Bearer{where}"
        return refused

    async def _describe(self, request: web.Request) -> web.Response:
        if (refused := self._refusal(request)) is not None:
            return refused
        return web.json_response(
            {
                "resource": self.url(request),
                "authorization_servers": [self.issuer],
                "bearer_methods_supported": ["header"],
                "scopes_supported": ["openid", "email"],
            }
        )


def cancelled_in(body: bytes) -> object | None:
    """The request that a notification cancels; None for any other message."""
    with suppress(ValueError, RecursionError):
        message = json.loads(body)
        params = message.get("params") if isinstance(message, dict) else None
        if isinstance(params, dict) and message.get("method") == CANCELLED:
            return params.get("requestId")
    return None


async def _not_allowed(_request: web.Request) -> web.Response:
    refused = _sorry(ONLY_POST, 405)
    refused.headers["Allow"] = "POST"
    return refused


def _sorry(sentence: str, status: int) -> web.Response:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": sentence}}
    return web.json_response(error, status=status)


class _Exchange:
    """One request and its reply, as ASGI has them (version 3.0)."""

    def __init__(self, request: web.Request, body: bytes, caller: Caller) -> None:
        self._request, self._body, self._caller = request, body, caller
        self._is_read = False
        self.reply = web.StreamResponse(status=500)

    def scope(self) -> dict[str, Any]:
        headers = [
            (name.lower().encode(), text.encode(errors="replace"))
            for name, text in self._request.headers.items()
        ]
        return {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": self._request.method,
            "scheme": "http", "path": PATH, "raw_path": PATH.encode(), "query_string": b"", "root_path": "",
            "headers": headers, "client": (self._request.remote or "", 0), "server": (LOOPBACK, 0), CALLER: self._caller,
        }  # fmt: skip

    async def receive(self) -> Message:
        """The body, and then that the client has gone."""
        if not self._is_read:
            self._is_read = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        while (transport := self._request.transport) and not transport.is_closing():  # noqa: ASYNC110 - aiohttp is silent
            await asyncio.sleep(LOOK_EVERY)
        return {"type": "http.disconnect"}

    async def send(self, message: Mapping[str, Any]) -> None:
        """Send a part of the reply. Drops it when the client has gone: ``receive`` then ends the call."""
        with suppress(ConnectionError):
            await self._send(message)

    async def _send(self, message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.reply = web.StreamResponse(status=message["status"])
            for name, text in message.get("headers", ()):
                self.reply.headers.add(name.decode("latin-1"), text.decode("latin-1"))
            await self.reply.prepare(self._request)
        elif message["type"] == "http.response.body":
            if body := message.get("body", b""):
                await self.reply.write(body)
            if not message.get("more_body", False):
                await self.reply.write_eof()


@asynccontextmanager
async def serving_mcp(site: McpSite, key: str) -> AsyncIterator[str]:
    """Serve MCP; yields the URL. SettingsError if it cannot listen."""
    application, http = web.Application(client_max_size=BODY_LIMIT), site.http
    async with site.routes(key) as routes:
        application.add_routes(routes)
        many = http.stands_for_many
        async with serve(
            application, http.host, http.port, name="The MCP server", stands_for_many=many
        ) as port:
            logger.info("the MCP server listens", extra={"port": port})
            host = f"[{http.host}]" if ":" in http.host else http.host
            yield f"{http.url or f'http://{host}:{port}'}{PATH}"

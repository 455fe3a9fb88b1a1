"""The REST API's front door: every request is recorded, checked, met by its fault and answered."""

from __future__ import annotations

import asyncio
import json
import math
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiohttp import BodyPartReader, web
from fakes.discord import spec
from fakes.discord.errors import Refused
from fakes.discord.faults import (
    Fault,
    Hang,
    LostRequest,
    LostResponse,
    RateLimited,
    Refusal,
    ServerError,
    Slow,
)

if TYPE_CHECKING:
    from fakes.discord.server import FakeDiscord

Json = dict[str, Any]
Upload = tuple[str, bytes]  #: a file's name and content

BASE = "/api/v10"
UNREADABLE = object()  # the body of a request that was no JSON
FILE_LIMIT = 10 * 1024**2  # bytes, "Uploading Files"


@dataclass(kw_only=True)
class Call:
    """One request to the API, and its answer when there is one."""

    method: str
    path: str  #: under ``/api/v10``
    template: str  #: the path with its parameters' names: ``/channels/{channel_id}/messages``
    query: dict[str, str]
    token: str
    at: float  #: monotonic seconds
    params: dict[str, str] = field(default_factory=dict)  #: of the path, by name
    body: Any = None
    files: dict[int, Upload] = field(default_factory=dict)  #: by the number in ``files[0]``
    status: int = 0  #: 0 while, or because, no answer was sent
    reply: Any = None

    @property
    def route(self) -> str:
        return f"{self.method} {self.template}"

    @property
    def place(self) -> str:
        """The route in its channel, server or webhook: what a rate limit is for."""
        major = [self.params.get(name, "") for name in ("channel_id", "guild_id", "webhook_token")]
        return f"{self.route} {'+'.join(major)}"

    def id(self, name: str) -> int:
        return int(self.params[name])


Run = Callable[["FakeDiscord", Call], Awaitable[Any]]


@dataclass(frozen=True, kw_only=True)
class Route:
    method: str
    template: str
    run: Run
    is_open: bool = False  #: needs no bot token: the path carries one of its own


class Rest:
    def __init__(self, discord: FakeDiscord, routes: list[Route]) -> None:
        self.discord = discord
        self.routes = routes

    def add_to(self, router: web.UrlDispatcher) -> None:
        for route in self.routes:
            pattern = route.template.replace("_id}", r"_id:\d+}")
            router.add_route(route.method, BASE + pattern, self._server_of(route))
        router.add_route("*", "/api/{tail:.*}", self._nowhere)

    def _server_of(self, route: Route) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def serve(request: web.Request) -> web.StreamResponse:
            return await self._serve(request, route)

        return serve

    async def _serve(self, request: web.Request, route: Route) -> web.StreamResponse:
        discord = self.discord
        if discord.is_out("rest"):
            return cut(request)
        call = Call(
            method=request.method, path=request.path.removeprefix(BASE), template=route.template,
            query=dict(request.query), params=dict(request.match_info), at=time.monotonic(),
            token=request.headers.get("Authorization", "").removeprefix("Bot "),
        )  # fmt: skip
        call.body, call.files = await read(request)
        discord.requests.append(call)
        sent = None if call.body is UNREADABLE else call.body
        faults = (
            spec.violations(call.method, call.template, call.query, sent) if discord.reads_document else []
        )
        for fault in faults:
            discord.violations.append(f"{call.method} {call.path}: {fault}")
        discord.changed()
        try:
            return await self._meet(request, route, call)
        except Exception as error:
            # A client may take the 500 for one of Discord's, and try again until it is not seen.
            discord.violations.append(f"{call.method} {call.path}: not understood here: {error!r}")
            raise

    async def _meet(self, request: web.Request, route: Route, call: Call) -> web.StreamResponse:
        """The request with what the test lets go wrong about it."""
        fault = self.discord.faults.next(call.route, call.path, call.place)
        instead = self._instead(request, call, fault)
        if instead is not None:
            return instead
        if fault == Hang():
            await self.discord.released.wait()
        response: web.StreamResponse = await self._perform(route, call)
        match fault:
            case LostResponse():
                response = cut(request)
            case Hang(after_effect=True):
                await self.discord.released.wait()
            case Slow(seconds):
                await asyncio.sleep(seconds)
        return response

    def _instead(self, request: web.Request, call: Call, fault: Fault | None) -> web.StreamResponse | None:
        """The answer of a request that nothing came of."""
        match fault:
            case RateLimited(seconds, is_global):
                return self._limited(call, seconds, is_global=is_global)
            case ServerError(status):
                call.status = status
                return web.Response(status=status, text="upstream connect error", content_type="text/html")
            case Refusal(status, code, message):
                return self._refuse(call, Refused(status, code, message))
            case LostRequest():
                return cut(request)
        return None

    async def _perform(self, route: Route, call: Call) -> web.Response:
        try:
            self._admit(route, call)
            call.reply = await route.run(self.discord, call)
        except Refused as refused:
            return self._refuse(call, refused)
        call.status = 204 if call.reply is None else 200
        self.discord.changed()
        return self._answer(call, call.status, call.reply)

    def _admit(self, route: Route, call: Call) -> None:
        if not route.is_open and call.token != self.discord.token:
            raise Refused(401, 0, "401: Unauthorized")
        if call.body is UNREADABLE:
            raise Refused(400, 50109, "The request body contains invalid JSON.")
        if any(len(content) > FILE_LIMIT for _, content in call.files.values()):
            raise Refused(413, 40005, "Request entity too large")

    def _refuse(self, call: Call, refused: Refused) -> web.Response:
        call.reply = refused.body
        self.discord.rejected.append(f"{call.method} {call.path}: {refused}")
        return self._answer(call, refused.status, refused.body)

    def _limited(self, call: Call, seconds: float, *, is_global: bool) -> web.Response:
        call.reply = {"message": "You are being rate limited.", "retry_after": seconds, "global": is_global}
        response = self._answer(call, 429, call.reply)
        response.headers["Retry-After"] = str(math.ceil(seconds))
        response.headers["X-RateLimit-Scope"] = "global" if is_global else "user"
        response.headers["X-RateLimit-Remaining"] = "0"
        response.headers["X-RateLimit-Reset-After"] = f"{seconds:.3f}"
        if is_global:
            response.headers["X-RateLimit-Global"] = "true"
        return response

    def _answer(self, call: Call, status: int, reply: Any) -> web.Response:
        """JSON as Discord sends it: without a charset, which discord.py would not know it by."""
        call.status = status
        limit, remaining, reset = self.discord.faults.remaining(call.route, call.place)
        headers = {
            "Via": "1.1 google", "X-RateLimit-Limit": str(limit), "X-RateLimit-Remaining": str(remaining),
            "X-RateLimit-Reset": f"{time.time() + reset:.3f}", "X-RateLimit-Reset-After": f"{reset:.3f}",
            "X-RateLimit-Bucket": uuid.uuid5(uuid.NAMESPACE_URL, call.route).hex,
        }  # fmt: skip
        if reply is None:
            return web.Response(status=status, headers=headers)
        body = json.dumps(reply).encode()
        return web.Response(status=status, body=body, content_type="application/json", headers=headers)

    async def _nowhere(self, request: web.Request) -> web.StreamResponse:
        self.discord.violations.append(f"{request.method} {request.path}: no such path and method")
        body = json.dumps({"message": "404: Not Found", "code": 0}).encode()
        return web.Response(status=404, body=body, content_type="application/json")


async def read(request: web.Request) -> tuple[Any, dict[int, Upload]]:
    """The JSON body, alone or as ``payload_json`` beside files."""
    if request.content_type != "multipart/form-data":
        text = await request.text()
        try:
            return (json.loads(text) if text else None), {}
        except json.JSONDecodeError:
            return UNREADABLE, {}
    body: Any = None
    files: dict[int, Upload] = {}
    async for part in await request.multipart():
        assert isinstance(part, BodyPartReader)
        if part.name == "payload_json":
            body = json.loads(await part.text())
        elif part.name:
            number = int(part.name.removeprefix("files[").removesuffix("]"))
            files[number] = part.filename or "file", bytes(await part.read())
    return body, files


def cut(request: web.Request) -> web.Response:
    """Breaks the connection without an answer."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()

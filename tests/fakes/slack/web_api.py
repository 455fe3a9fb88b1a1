"""The Web API's front: reads a request, checks its token and scopes, meets faults, answers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import time
from base64 import b64decode
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import TYPE_CHECKING, Any

from aiohttp import web
from fakes.slack.faults import Fault, Hang, LostRequest, LostResponse, RateLimited, Refusal, ServerError, Slow
from fakes.slack.state import Conversation, Installation, Message

if TYPE_CHECKING:
    from fakes.slack.server import FakeSlack

# Arguments that a form carries as JSON, and what is answered when they are none.
STRUCTURED = {
    "blocks": "invalid_blocks_format", "attachments": "invalid_attachments", "view": "invalid_arguments",
    "metadata": "invalid_metadata_format", "chunks": "invalid_chunks", "prompts": "invalid_arguments",
    "loading_messages": "invalid_arguments",
}  # fmt: skip
KINDS = {"channel": "channels", "group": "groups", "im": "im", "mpim": "mpim"}  # scopes are named by kind


class Refused(Exception):
    """``{"ok": false, "error": …}``, with what Slack adds to explain it."""

    def __init__(self, error: str, *messages: str, **extra: Any) -> None:
        super().__init__(error, *messages)
        self.error = error
        self.body: dict[str, Any] = {"ok": False, "error": error, **extra}
        if messages:
            self.body["response_metadata"] = {"messages": [f"[ERROR] {message}" for message in messages]}


@dataclass
class Call:
    """One request as the server saw it, and how it ended."""

    method: str
    args: dict[str, Any]
    token: str
    at: float  #: monotonic seconds
    ended: float = math.inf  #: monotonic seconds
    fault: Fault | None = None
    error: str = ""  #: of a refusal
    reply: dict[str, Any] = field(default_factory=dict, repr=False)
    early_by: float = 0.0  #: seconds that the same request came before its Retry-After was over
    early_there: float = 0.0  #: the same for any request of that method in that channel

    def __getitem__(self, name: str) -> Any:
        value = self.args.get(name)
        if value in (None, ""):
            raise Refused("invalid_arguments", f"missing required field: {name}")
        return value

    def get(self, name: str, default: Any = None) -> Any:
        value = self.args.get(name)
        return default if value is None else value

    def is_true(self, name: str, *, default: bool = False) -> bool:
        return self.args.get(name, default) in (True, 1, "1", "true", "True")

    def number(self, name: str, default: int) -> int:
        return int(self.args.get(name) or default)


@dataclass(frozen=True)
class Method:
    run: Callable[[FakeSlack, Call, Installation], Awaitable[dict[str, Any]]]
    scopes: tuple[str, ...] = ()  #: any of them will do; empty: none needed
    needs_token: bool = True
    takes_json: bool = (
        True  #: otherwise it does not see arguments in a body of JSON; the SDK puts them into the URL
    )


class WebApi:
    """Every method by its name, over one server's state."""

    def __init__(self, slack: FakeSlack, methods: dict[str, Method]) -> None:
        self.slack = slack
        self.methods = methods
        self.calls: list[Call] = []

    async def serve(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        try:
            args, token = await read(request, takes_json=self._takes_json(method))
        except Refused as refused:
            return self._refuse(Call(method, {}, "", time.monotonic()), refused)
        faults = self.slack.faults
        call = Call(method, args, token, time.monotonic())
        call.early_by, call.early_there = faults.too_early(method, args)
        self.calls.append(call)
        call.fault = faults.next(method)
        try:
            return await self._answer(request, call)
        finally:
            call.ended = time.monotonic()
            self.slack.changed()

    async def _answer(self, request: web.Request, call: Call) -> web.StreamResponse:
        match call.fault:
            case RateLimited(retry_after):
                self.slack.faults.promise(call.method, call.args, retry_after)
                headers = {"Retry-After": str(retry_after)}
                return web.json_response({"ok": False, "error": "ratelimited"}, status=429, headers=headers)
            case ServerError(code):
                return web.Response(status=code, text="<h1>Server Error</h1>", content_type="text/html")
            case Refusal(error):
                return web.json_response({"ok": False, "error": error})
            case LostRequest():
                return cut(request)
            case Hang(after_effect=False):
                await self.slack.released.wait()
        response = await self._perform(call)
        match call.fault:
            case LostResponse():
                return cut(request)
            case Hang(after_effect=True):
                await self.slack.released.wait()
            case Slow(seconds):
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.slack.released.wait(), seconds)
        return response

    async def _perform(self, call: Call) -> web.Response:
        try:
            method = self._method(call.method)
            installation = self._authenticate(call) if method.needs_token else self._app_itself("")
            require(installation, *method.scopes)
            call.reply = {"ok": True} | await method.run(self.slack, call, installation)
        except Refused as refused:
            return self._refuse(call, refused)
        date = formatdate(self.slack.state.clock.now(), usegmt=True)
        headers = {"x-oauth-scopes": ",".join(sorted(installation.scopes)), "Date": date}
        return web.json_response(call.reply, headers=headers)

    def _takes_json(self, method: str) -> bool:
        return method not in self.methods or self.methods[method].takes_json

    def _method(self, name: str) -> Method:
        if name not in self.methods:
            raise Refused("unknown_method", req_method=name)
        return self.methods[name]

    def _authenticate(self, call: Call) -> Installation:
        """An app-level token opens connections and nothing else; a bot token does everything else."""
        if not call.token:
            raise Refused("not_authed")
        if call.token in self.slack.refused_tokens:
            raise Refused(self.slack.refused_tokens[call.token])
        is_app_level = call.token == self.slack.app_token
        installation = self.slack.state.installations.get(call.token)
        if not is_app_level and installation is None:
            raise Refused("invalid_auth")
        if is_app_level != (call.method == "apps.connections.open"):
            raise Refused("not_allowed_token_type")
        if installation is not None:
            return installation
        return self._app_itself(call.token)

    def _app_itself(self, token: str) -> Installation:
        bot = self.slack.state.users[self.slack.bot]
        return Installation(token=token, team=self.slack.team, bot=bot, scopes=self.slack.app.app_scopes)

    def _refuse(self, call: Call, refused: Refused) -> web.Response:
        call.error = refused.error
        call.reply = refused.body
        self.slack.rejected.append(f"{call.method}: {': '.join(map(str, refused.args))}")
        return web.json_response(refused.body)


async def read(request: web.Request, *, takes_json: bool = True) -> tuple[dict[str, Any], str]:
    """Arguments from query, form or JSON body, and the token; structures as structures."""
    args: dict[str, Any] = dict(request.query)
    if request.content_type == "application/json":
        try:
            body = await request.json()
        except json.JSONDecodeError:
            raise Refused("invalid_json") from None
        if not isinstance(body, dict):
            raise Refused("json_not_object")
        args |= body if takes_json else {}
    else:
        args |= {name: value for name, value in (await request.post()).items() if isinstance(value, str)}
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "basic":  # "oauth.v2.access" takes the app's id and secret so
        args["client_id"], _, args["client_secret"] = b64decode(token).decode().partition(":")
    given = args.pop("token", "")
    for name, error in STRUCTURED.items():
        if isinstance(args.get(name), str):
            try:
                args[name] = json.loads(args[name])
            except json.JSONDecodeError:
                raise Refused(error) from None
    return args, token if scheme.lower() == "bearer" else given


def require(installation: Installation, *any_of: str) -> None:
    if any_of and not installation.scopes & set(any_of):
        provided = ",".join(sorted(installation.scopes))
        raise Refused("missing_scope", needed=any_of[0], provided=provided)


def cut(request: web.Request) -> web.Response:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


def conversation_of(slack: FakeSlack, id: str, installation: Installation, right: str = "") -> Conversation:
    """The conversation, where the app may see it; with ``right`` ("history", "read") also the kind's scope."""
    found = slack.state.conversations.get(id)
    if found is None or found.team != installation.team:
        raise Refused("channel_not_found")
    if right:
        require(installation, f"{KINDS[found.kind]}:{right}")
    if found.is_private and installation.bot.id not in found.members:
        raise Refused("channel_not_found")
    return found


def message_of(conversation: Conversation, ts: str) -> Message:
    message = conversation.messages.get(ts)
    if message is None or message.is_deleted:
        raise Refused("message_not_found")
    return message


def page(
    items: list[Any], call: Call, default: int, most: int | None = None
) -> tuple[list[Any], dict[str, Any]]:
    """One page by cursor, and the fields that lead to the next."""
    start, limit = call.number("cursor", 0), min(call.number("limit", default), most or 1000)
    rest = start + limit if start + limit < len(items) else None
    cursor = {"next_cursor": "" if rest is None else str(rest)}
    return items[start : start + limit], {"has_more": rest is not None, "response_metadata": cursor}

"""Serves Slack: every event is stored before it is acknowledged, so that none is lost.

One function runs before Bolt's own acknowledgement. If it raises, the event is not acknowledged,
and Slack delivers it again. Over HTTP requests are signed, on one path; all others there get a 401, and no body is
logged. With a client id two more paths let a workspace install the app; Bolt's OAuth flow answers on them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from bots.chat.channels import ChannelStore, channel_at, source_of
from bots.chat.inbox import Inbox
from bots.chat.incoming import Incoming, Rejection, ThreadState
from bots.chat.messenger import ChatMessenger
from bots.chat.platform import MALFORMED, LogLimit, Unreadable, is_reached_directly
from bots.slack import settings as slack
from bots.slack.calls import (
    Installation,
    NotAuthorized,
    SlackCalls,
    code_of,
    open_calls,
    quiet_logger,
)
from bots.slack.content import change_of
from bots.slack.people import SlackPeople, SlackUploads
from bots.slack.post import SlackPosts
from bots.slack.receive import conversation_in, deleted, receive
from bots.slack.render import LAYOUT, Message
from bots.slack.route import SLACK, Payload, key_of, spaces_of
from bots.slack.settings import CLOCK_SKEW, EVENTS_PATH, SlackSettings, needed_scopes, skew_of
from core.bootstrap import Footnote
from core.errors import SettingsError, StoreUnavailable
from core.sources.sources import SourceSchedule
from core.turns.rate_limits import Admission
from core.turns.turns import Turns

if TYPE_CHECKING:
    from aiohttp import web
    from slack_bolt.app.async_app import AsyncApp
    from slack_bolt.oauth.async_oauth_flow import AsyncOAuthFlow
    from slack_bolt.request.async_request import AsyncBoltRequest
    from slack_bolt.response import BoltResponse

    from bots.slack.oauth import OAuth


logger = logging.getLogger(__name__)

SOCKETS = 2  # connections: one works while Slack renews the other
REFRESH = 90.0  # seconds; a status fades after 120, "assistant.threads.setStatus"
REORDER_WINDOW = 0.15  # seconds; messages of one thread arrive over any of the sockets, in any order
PING = 5.0  # seconds between pings on a socket; after four without an answer it is opened again

#: Error codes of "apps.connections.open" for a token that will never work.
_BAD_APP_TOKEN = (
    "invalid_auth", "not_authed", "account_inactive", "token_revoked", "not_allowed_token_type", "missing_scope",
)  # fmt: skip

Connection = Callable[[], Awaitable[bool]]  #: whether it is open now
Response = dict[str, Any]  #: what goes back with the acknowledgement


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackListeners:
    """Hands the payloads of every installation to the inbox."""

    inbox: Inbox
    channel_store: ChannelStore
    calls: SlackCalls
    oauth: OAuth | None
    unreadable: Unreadable
    schedule: SourceSchedule  #: takes what changes in channels that are sources
    log_limit: LogLimit = field(default_factory=LogLimit)

    async def accept(self, payload: Payload) -> Response:
        """Store or start a payload's request, or Slack delivers it again. Unreadable ones are acknowledged."""
        try:
            incoming = await self._incoming_of(payload)
        except MALFORMED as fault:
            self.unreadable.count(fault)
            return {}
        self.schedule.follow(f"{SLACK}:", partial(self._follow_channel, payload))
        if incoming is None:
            return {}
        if isinstance(incoming.request, Rejection) and payload.get("type") == "view_submission":
            return {"response_action": "errors", "errors": {"query": incoming.request.sentence}}
        await self.inbox.accept(incoming)
        return {}

    async def _incoming_of(self, payload: Payload) -> Incoming | None:
        """A person's request in a payload; None for what is not for the bot, or concerns only the app."""
        installation = self.calls.installations.of(payload)
        if installation is None:  # another process may have installed the app there
            for space in spaces_of(payload):
                await self.calls.look(space)
            installation = self.calls.installations.of(payload)
        if installation is None:
            if self.log_limit.admits("foreign"):
                extra = {"workspaces": ", ".join(spaces_of(payload))}
                logger.warning("what came from a workspace without the app was left alone", extra=extra)
            return None
        event = payload.get("event") or {}
        if event.get("type") in slack.UNINSTALLED:
            self.inbox.begin(self._forget_if_revoked(installation))
            return None
        if event.get("type") == "app_home_opened" and event.get("tab") == "messages":
            self.inbox.begin(self._suggest(installation.me.space, event["channel"]))
            return None
        is_tombstone = (event.get("message") or {}).get("subtype") == "tombstone"
        if is_tombstone or event.get("subtype") == "message_deleted":
            if (gone := deleted(payload)) is not None:
                await self.inbox.messenger.commands.forget_message(key_of(installation.me.space, *gone))
            return None
        conversation = conversation_in(payload, installation.me)
        if conversation is None:
            return None
        me, now = installation.me, time.time()
        look_up = partial(self.channel_store.thread_state, conversation)
        bare = partial(receive, payload, me, ThreadState(), now=now)
        thread = await self.inbox.look_up(look_up, bare)
        return receive(payload, me, thread, now=now)

    async def _follow_channel(self, payload: Payload) -> None:
        """Has a message's change read again, if its channel is a source."""
        try:
            installation, change = self.calls.installations.of(payload), change_of(payload)
        except MALFORMED as fault:
            self.unreadable.count(fault)
            return
        if installation is None or change is None:
            return
        space = installation.me.space
        address = source_of(channel_at(SLACK, space, change.channel))
        await self.schedule.look_again(address, change.items, change.id)

    async def _forget_if_revoked(self, installation: Installation) -> None:
        """Forget the workspace if Slack says that its token is revoked: the event may come late."""
        space = installation.me.space
        try:
            await self.calls.look(space)  # another process may have installed it again
        except StoreUnavailable:
            return  # the token stays; every call with it is refused, and looks again
        installation = self.calls.installations.get(space) or installation
        try:
            await self.calls.identify(installation.token)
        except NotAuthorized as revoked:
            if self.oauth is not None and revoked.is_final:
                await self.oauth.forget(installation.me)  # first, else the next event loads it again
                self.calls.installations.remove(space)
            logger.warning("a workspace uninstalled the app", extra={"workspace": space})

    async def _suggest(self, team: str, channel: str) -> None:
        """Suggest first prompts to somebody who opens the direct messages with the bot."""
        prompts = [{"title": title, "message": message} for title, message in slack.PROMPTS.items()]
        method = "assistant.threads.setSuggestedPrompts"
        await self.calls.call(method, team=team, channel_id=channel, prompts=prompts)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackServer:
    """The app, known to Slack and ready to serve."""

    settings: SlackSettings
    footnote: Footnote
    channel_store: ChannelStore
    calls: SlackCalls
    oauth: OAuth | None
    messenger: ChatMessenger[Message]
    unreadable: Unreadable
    _connections: list[Connection] = field(default_factory=list)

    async def is_connected(self) -> bool:
        """True if Slack can deliver now: over one socket at least, or over HTTP."""
        return any([await each() for each in self._connections])

    @asynccontextmanager
    async def serving(
        self, turns: Turns, port: int | None, schedule: SourceSchedule, admission: Admission | None
    ) -> AsyncIterator[None]:
        """Accept what Slack delivers, over sockets or on a port; at the end, finish background tasks."""
        inbox = Inbox(
            channel_store=self.channel_store, messenger=self.messenger,
            turns=turns, admission=admission, reorder_window=REORDER_WINDOW,
        )  # fmt: skip
        listeners = SlackListeners(
            inbox=inbox, channel_store=self.channel_store, calls=self.calls, oauth=self.oauth,
            unreadable=self.unreadable, schedule=schedule,
        )  # fmt: skip
        try:
            app = _bolt(listeners)
            async with AsyncExitStack() as connections:
                if port is None:
                    await _check_app_token(self.calls, self.settings.app_token)
                    for _ in range(SOCKETS):
                        socket = _socket(app, self.settings, self.unreadable)
                        self._connections.append(await connections.enter_async_context(socket))
                else:
                    flow = self.oauth.flow if self.oauth else None
                    served = listening(app, flow, self.settings.signing_secret, port, self.unreadable)
                    await connections.enter_async_context(served)
                    self._connections.append(_is_listening)
                logger.info("serving Slack")
                yield
        finally:
            await inbox.drain()


@asynccontextmanager
async def open_slack(
    settings: SlackSettings, footnote: Footnote, channel_store: ChannelStore, *, is_http: bool = False
) -> AsyncIterator[SlackServer]:
    """Find out who the bot is; over HTTP workspaces may install it. SettingsError if Slack does not know the token."""
    async with AsyncExitStack() as opened:
        calls = await opened.enter_async_context(open_calls(settings))
        if settings.bot_token:
            await calls.add_own(settings.bot_token, SettingsError, "; check the network and SLACK_API_URL")
        oauth = None
        if settings.has_oauth and is_http:
            from bots.slack.oauth import open_oauth

            groups = await channel_store.database.rows("SELECT id FROM access WHERE kind = 'group'")
            readers = footnote.library.store.database.rows("SELECT 1 FROM readers LIMIT 1")
            named = (group for (group,) in groups)
            scopes = needed_scopes(footnote.settings, named, has_readers=bool(readers))
            oauth = await opened.enter_async_context(open_oauth(settings, footnote.storage, calls, scopes))
        uploads = SlackUploads(settings=settings, calls=calls)
        unreadable = Unreadable()
        people = channel_store.people[SLACK] = SlackPeople(calls=calls, shown_names=footnote.log.names)
        messenger = ChatMessenger.over(
            footnote, channel_store, posts=SlackPosts(calls=calls, unreadable=unreadable), renderer=LAYOUT,
            people=people, uploads=uploads, refresh=REFRESH,
        )  # fmt: skip
        yield SlackServer(
            settings=settings, footnote=footnote, channel_store=channel_store, calls=calls, oauth=oauth,
            messenger=messenger, unreadable=unreadable,
        )  # fmt: skip


async def _is_listening() -> bool:
    return True  # as long as this process serves


async def _check_app_token(calls: SlackCalls, token: str) -> None:
    """Raise SettingsError for a token that opens no socket: the SDK would retry without end."""
    from aiohttp import ClientError
    from slack_sdk.errors import SlackApiError

    try:
        await calls.client.apps_connections_open(app_token=token)
    except SlackApiError as refused:
        if (code := code_of(refused)) in _BAD_APP_TOKEN:
            raise SettingsError(f"Slack refused SLACK_APP_TOKEN: {code}.") from refused
    except (ClientError, TimeoutError):
        logger.warning("Slack did not answer; the sockets try again")


def _bolt(listeners: SlackListeners) -> AsyncApp:
    """Bolt with one function before all its listeners: it acknowledges what that function stored."""
    from slack_bolt.app.async_app import AsyncApp
    from slack_bolt.middleware.async_middleware import AsyncMiddleware
    from slack_bolt.response import BoltResponse

    class StoreFirst(AsyncMiddleware):
        """The listener. As a plain function it would get arguments that Bolt reads from any payload."""

        async def async_process(self, *, req: Any, resp: Any, next: Any) -> BoltResponse | None:  # noqa: A002, ARG002 - Bolt calls them so
            if req.body.get("type") == "url_verification":
                passed: BoltResponse | None = await next()
                return passed
            return BoltResponse(status=200, body=await listeners.accept(req.body) or "")

    return AsyncApp(
        name="footnote",
        client=listeners.calls.client,
        oauth_flow=listeners.oauth.flow if listeners.oauth else None,
        logger=quiet_logger("bolt", logging.ERROR),  # it warns of environment variables that we read
        before_authorize=StoreFirst(),
        request_verification_enabled=False,  # ours is stricter, and over a socket there is none
    )


@asynccontextmanager
async def _socket(
    app: AsyncApp, settings: SlackSettings, unreadable: Unreadable
) -> AsyncIterator[Connection]:
    from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
    from slack_sdk.socket_mode.response import SocketModeResponse

    async def handle(client: Any, envelope: Any) -> None:
        """Acknowledges what Bolt itself cannot read."""
        try:
            await handler.handle(client, envelope)
        except MALFORMED as fault:
            unreadable.count(fault)
            await client.send_socket_mode_response(SocketModeResponse(envelope_id=envelope.envelope_id))

    def is_other(record: logging.LogRecord) -> bool:
        """Counts what the SDK cannot read, which it would log with a traceback each time."""
        fault = record.exc_info[1] if record.exc_info else None
        if isinstance(fault, MALFORMED):
            unreadable.count(fault)
        return not isinstance(fault, MALFORMED)

    log = quiet_logger("socket")
    log.filters[:] = [is_other]
    handler = AsyncSocketModeHandler(app, settings.app_token, logger=log, ping_interval=PING)
    handler.client.socket_mode_request_listeners[:] = [handle]
    if is_reached_directly(settings.api_url):
        handler.client.proxy = None
    try:
        await handler.connect_async()  # type: ignore[no-untyped-call] # Bolt's own
        yield handler.client.is_connected
    finally:
        await handler.close_async()  # type: ignore[no-untyped-call] # Bolt's own


BODY_LIMIT = 2 * 1024**2  # bytes; Slack's payloads stay far below
TOO_FAR_APART = "a request that Slack signed was turned away: it is old, or this machine's clock is wrong; footnote doctor tells"


@asynccontextmanager
async def listening(
    app: AsyncApp, flow: AsyncOAuthFlow | None, secret: str, port: int, unreadable: Unreadable
) -> AsyncIterator[None]:
    """Pass signed requests to the app. Port 0 takes a free port, which is logged."""
    from aiohttp import web

    from bots.http_server import serve

    routes = web.Application(client_max_size=BODY_LIMIT)
    routes.router.add_post(EVENTS_PATH, _receiver(app, secret, unreadable))
    if flow is not None:
        routes.router.add_get(flow.install_path, _page(flow.handle_installation))
        routes.router.add_get(flow.redirect_uri_path, _page(flow.handle_callback))
    async with serve(routes, None, port, name="Slack's address") as listens_on:
        logger.info("listening", extra={"port": listens_on, "path": EVENTS_PATH})
        yield


def _page(
    answer: Callable[[AsyncBoltRequest], Awaitable[BoltResponse]],
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request

    async def show(request: web.Request) -> web.StreamResponse:
        return await to_aiohttp_response(await answer(await to_bolt_request(request)))

    return show


def _receiver(
    app: AsyncApp, secret: str, unreadable: Unreadable
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    from aiohttp import web
    from slack_bolt.adapter.aiohttp import to_aiohttp_response
    from slack_bolt.request.async_request import AsyncBoltRequest

    async def receive(request: web.Request) -> web.StreamResponse:
        try:
            body = await request.read()
            text = body.decode()
        except (web.HTTPRequestEntityTooLarge, UnicodeDecodeError):
            return _unauthorized()
        skew = skew_of(request.headers, body, secret, time.time())
        if skew is None or abs(skew) > CLOCK_SKEW:
            return _unauthorized(skew)
        kind: dict[str, str | Sequence[str]] = {"Content-Type": request.content_type}
        try:
            payload = AsyncBoltRequest(body=text, headers=kind)
        except MALFORMED as fault:
            unreadable.count(fault)
            return web.Response()
        return await to_aiohttp_response(await app.async_dispatch(payload))

    def _unauthorized(skew: float | None = None) -> web.Response:
        if skew is None:
            logger.info("a request that is not signed was turned away")
        else:
            logger.warning(TOO_FAR_APART, extra={"seconds": round(skew)})
        return web.Response(status=401)

    return receive

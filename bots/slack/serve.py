"""Serves Slack: every event is stored before it is acknowledged, so that none is lost.

One function runs before Bolt's own acknowledgement. If it raises, the event is not acknowledged,
and Slack delivers it again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bots.chat.channels import ChannelStore
from bots.chat.inbox import Inbox, rates_of
from bots.chat.incoming import Rejection
from bots.chat.messenger import ChatMessenger
from bots.chat.proxies import is_reached_directly
from bots.slack import render
from bots.slack.calls import SlackCalls, SlackRefused, open_calls, quiet_logger
from bots.slack.manifest import PROMPTS
from bots.slack.people import SlackPeople, SlackUploads
from bots.slack.post import SlackPosts
from bots.slack.receive import receive
from bots.slack.render import Message
from bots.slack.route import PLATFORM, Me, Payload
from bots.slack.settings import SlackSettings
from core.bootstrap import Footnote
from core.errors import SettingsError
from core.turns.messenger import Unreachable
from core.turns.turns import Turns

if TYPE_CHECKING:
    from slack_bolt.app.async_app import AsyncApp
    from slack_bolt.response import BoltResponse


logger = logging.getLogger(__name__)

SOCKETS = 2  # connections: one works while Slack renews the other
REFRESH = 90.0  # seconds; a status fades after 120, "assistant.threads.setStatus"
REORDER_WINDOW = 0.15  # seconds; messages of one thread arrive over any of the sockets, in any order
PING = 5.0  # seconds between pings on a socket; after four without an answer it is opened again

#: Error codes of "apps.connections.open" for a token that will never work.
_BAD_APP_TOKEN = frozenset(
    {
        "invalid_auth",
        "not_authed",
        "account_inactive",
        "token_revoked",
        "not_allowed_token_type",
        "missing_scope",
    }
)

Response = dict[str, Any]  #: what goes back with the acknowledgement


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackListeners:
    """Hands the payloads of one installation to its inbox."""

    inbox: Inbox
    channel_store: ChannelStore
    calls: SlackCalls
    me: Me

    async def accept(self, payload: Payload) -> Response:
        """Store or start what the payload asks for. If this raises, Slack delivers it again."""
        event = payload.get("event") or {}
        if event.get("type") == "app_home_opened" and event.get("tab") == "messages":
            self.inbox.begin(self._suggest(event["channel"]))
            return {}
        incoming = receive(payload, self.me, self.channel_store.thread_state, now=time.time())
        if incoming is None:
            return {}
        if isinstance(incoming.request, Rejection) and payload.get("type") == "view_submission":
            return {"response_action": "errors", "errors": {"query": incoming.request.sentence}}
        await self.inbox.accept(incoming)
        return {}

    async def _suggest(self, channel: str) -> None:
        """Suggest first prompts to somebody who opens the direct messages with the bot."""
        prompts = [{"title": title, "message": message} for title, message in PROMPTS.items()]
        await self.calls.call("assistant.threads.setSuggestedPrompts", channel_id=channel, prompts=prompts)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackServer:
    """One installation, known to Slack and ready to serve."""

    settings: SlackSettings
    footnote: Footnote
    channel_store: ChannelStore
    calls: SlackCalls
    me: Me
    people: SlackPeople
    messenger: ChatMessenger[Message]

    @asynccontextmanager
    async def serving(self, turns: Turns, port: int | None) -> AsyncIterator[None]:
        """Accept what Slack delivers, over sockets or on a port; at the end, finish background tasks."""
        inbox = Inbox(
            settings=self.footnote.settings, assistant=self.footnote.assistant, channel_store=self.channel_store,
            people=self.people, messenger=self.messenger, turns=turns, rates=await rates_of(self.footnote.settings, turns, PLATFORM), reorder_window=REORDER_WINDOW,
        )  # fmt: skip
        listeners = SlackListeners(
            inbox=inbox, channel_store=self.channel_store, calls=self.calls, me=self.me
        )
        try:
            async with _connected(listeners, self.settings, port):
                logger.info("serving Slack", extra={"team": self.me.team_id})
                yield
        finally:
            await inbox.drain()


@asynccontextmanager
async def open_slack(
    settings: SlackSettings, footnote: Footnote, channel_store: ChannelStore
) -> AsyncIterator[SlackServer]:
    """Find out who the bot is. Raises SettingsError if Slack does not know the token."""
    async with open_calls(settings) as calls:
        try:
            known = await calls.call("auth.test")
        except SlackRefused as refused:
            raise SettingsError(f"Slack refused SLACK_BOT_TOKEN: {refused.code}.") from refused
        except Unreachable as lost:
            raise SettingsError("Slack cannot be reached; check the network and SLACK_API_URL.") from lost
        me = Me(user_id=known["user_id"], bot_id=known.get("bot_id", ""), team_id=known["team_id"])
        people = SlackPeople(calls=calls)
        uploads = SlackUploads(settings=settings, calls=calls)
        messenger = ChatMessenger.over(
            footnote,
            channel_store,
            posts=SlackPosts(calls=calls, my_user_id=me.user_id),
            renderer=render,
            people=people,
            uploads=uploads,
            refresh=REFRESH,
        )
        yield SlackServer(
            settings=settings,
            footnote=footnote,
            channel_store=channel_store,
            calls=calls,
            me=me,
            people=people,
            messenger=messenger,
        )


@asynccontextmanager
async def _connected(
    listeners: SlackListeners, settings: SlackSettings, port: int | None
) -> AsyncIterator[None]:
    from bots.slack.http import listening

    app = _bolt(listeners)
    async with AsyncExitStack() as connections:
        if port is None:
            await _check_app_token(listeners.calls, settings.app_token)
            for _ in range(SOCKETS):
                await connections.enter_async_context(_socket(app, settings))
        else:
            await connections.enter_async_context(listening(app, settings.signing_secret, port))
        yield


async def _check_app_token(calls: SlackCalls, token: str) -> None:
    """Raise SettingsError for a token that opens no socket: the SDK would retry for ever."""
    from aiohttp import ClientError
    from slack_sdk.errors import SlackApiError

    try:
        await calls.client.apps_connections_open(app_token=token)
    except SlackApiError as refused:
        data: Any = refused.response.data
        code = data.get("error") if isinstance(data, dict) else None
        if code in _BAD_APP_TOKEN:
            raise SettingsError(f"Slack refused SLACK_APP_TOKEN: {code}.") from refused
    except (ClientError, TimeoutError):
        logger.warning("Slack did not answer; the sockets try again")


def _bolt(listeners: SlackListeners) -> AsyncApp:
    """Bolt with one function before all its listeners: it acknowledges what that function stored."""
    from slack_bolt.app.async_app import AsyncApp
    from slack_bolt.request.async_request import AsyncBoltRequest
    from slack_bolt.response import BoltResponse

    async def store(req: AsyncBoltRequest, next: Any) -> BoltResponse:  # noqa: A002 - Bolt calls it so
        if req.body.get("type") == "url_verification":
            passed: BoltResponse = await next()
            return passed
        return BoltResponse(status=200, body=await listeners.accept(req.body) or "")

    return AsyncApp(
        name="footnote",
        client=listeners.calls.client,
        logger=quiet_logger("bolt", logging.ERROR),  # it warns of environment variables that we read
        before_authorize=store,
        request_verification_enabled=False,  # ours is stricter, and over a socket there is none
    )


@asynccontextmanager
async def _socket(app: AsyncApp, settings: SlackSettings) -> AsyncIterator[None]:
    from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler

    handler = AsyncSocketModeHandler(
        app, settings.app_token, logger=quiet_logger("socket"), ping_interval=PING
    )
    if is_reached_directly(settings.api_url):
        handler.client.proxy = None
    try:
        await handler.connect_async()  # type: ignore[no-untyped-call] # Bolt's own
        yield
    finally:
        await handler.close_async()  # type: ignore[no-untyped-call] # Bolt's own

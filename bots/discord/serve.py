"""Serves one bot in Discord over a gateway connection that is kept open.

discord.py's own loop ends when the first try fails, and later waits up to a quarter of an hour between
tries. Only its sockets are used here.
"""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import ClientError
from discord import Client
from discord.errors import ConnectionClosed, DiscordException
from discord.gateway import DiscordWebSocket, ReconnectWebSocket
from discord.http import Route
from yarl import URL

from bots.chat.channels import ChannelStore
from bots.chat.inbox import Inbox
from bots.chat.messenger import ChatMessenger
from bots.chat.platform import Unreadable
from bots.discord.backfill import Watermark
from bots.discord.calls import DiscordCalls
from bots.discord.client import DiscordListeners, FootnoteClient
from bots.discord.people import DiscordPeople, DiscordUploads
from bots.discord.post import DiscordPosts
from bots.discord.render import LAYOUT, Message
from bots.discord.route import DISCORD
from bots.discord.settings import API_URL, SLASH_COMMANDS, Application, DiscordSettings, fetch_application
from core.bootstrap import Footnote
from core.errors import SettingsError
from core.sources.sources import SourceSchedule
from core.turns.rate_limits import Admission
from core.turns.turns import Turns

logger = logging.getLogger(__name__)


@asynccontextmanager
async def open_client(settings: DiscordSettings) -> AsyncIterator[tuple[FootnoteClient, Application]]:
    """Log in without a gateway connection. Raises SettingsError when Discord does not know the token."""
    application = await fetch_application(settings)
    if settings.api_url != API_URL:  # the library keeps both of its addresses as constants
        Route.BASE = settings.api_url
        DiscordWebSocket.DEFAULT_GATEWAY = URL(application.gateway)
    async with FootnoteClient(settings, application) as client:
        try:
            await client.login(settings.token)
        except (DiscordException, ClientError, TimeoutError, OSError) as fault:
            logger.info("could not log in", exc_info=True)
            raise SettingsError("Discord cannot be reached; try again in a while.") from fault
        yield client, application


CONNECT_TIMEOUT = 60.0  # seconds
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds between two tries; doubled each time
STEADY = 60.0  # seconds; a connection that lasted longer is opened again at once
RESUMES = 5  # tries to resume a session before a new one is started
REFRESH = 8.0  # seconds; typing is shown for ten, "Trigger Typing Indicator"

#: Close codes after which another try is useless -> why, "Gateway Close Event Codes".
FINAL: Mapping[int, str] = {
    4004: "Discord no longer accepts DISCORD_TOKEN: set the bot's current token and start again.",
    4010: "Discord wants this bot to be sharded, which Footnote does not support.",
    4011: "The bot is in so many servers that Discord wants it sharded, which Footnote does not support.",
    4012: "Discord no longer supports this version of its gateway: update Footnote.",
    4013: "Discord does not know the intents that Footnote asks for: update Footnote.",
}
INTENT_REFUSED = 4014
NORMAL_CLOSURE = 1000  # RFC 6455, section 7.4.1; Discord then shows the bot as offline
GATEWAY = "gateway of Discord"  # the role of the process that is connected to it


class ConnectionRefused(Exception):
    """Discord refuses this bot for good; ``str()`` is a sentence for the operator."""


@dataclass(slots=True)
class GatewayConnection:
    """The gateway connection of one client."""

    client: Client
    unreadable: Unreadable = field(default_factory=Unreadable)
    _next: dict[str, Any] = field(default_factory=lambda: {"initial": True})  #: how the next socket is opened
    _tries: int = 0  #: since the last that Discord accepted

    @property
    def is_open(self) -> bool:
        """True if Discord has accepted the session, and the socket is there."""
        ws = self.client.ws
        return ws is not None and ws.open and ws.session_id is not None

    async def run(self) -> None:
        """Keep the connection until the client is closed. Raises ConnectionRefused."""
        loop = asyncio.get_running_loop()
        while not self.client.is_closed():
            began = loop.time()
            await self._serve_once()
            if self._tries or loop.time() - began <= STEADY:
                pause = min(FIRST_PAUSE * 2.0 ** max(0, self._tries - 1), LONGEST_PAUSE)
                # Random, so that bots do not all return at once.
                await asyncio.sleep(random.uniform(0.5, 1.0) * pause)  # noqa: S311 - no secret

    async def _serve_once(self) -> None:
        """Serve one socket until it closes, and decide how the next one is opened."""
        before, is_resumed = self.client.ws, True
        try:
            opening = DiscordWebSocket.from_client(self.client, **self._next)
            self.client.ws = await asyncio.wait_for(opening, CONNECT_TIMEOUT)
            while True:
                with self.unreadable.skipped():  # discord.py would stop at one event that it cannot parse
                    await self.client.ws.poll_event()
        except ReconnectWebSocket as request:
            is_resumed = request.resume
        except ConnectionClosed as closed:
            self._handle_close(closed.code)
            is_resumed = False
        except (ClientError, TimeoutError, OSError) as lost:
            logger.warning("the gateway of Discord cannot be reached", extra={"reason": type(lost).__name__})
        except Exception:
            # The boundary of one connection: the next may work.
            logger.exception("the connection to Discord broke")
            is_resumed = False
            if self.client.ws is not None:
                await self.client.ws.close()
        # RESUMED counts as a new event; after a refused session the sequence starts again.
        is_new = self.client.ws is not before
        is_accepted = is_new and self.client.ws.sequence not in (None, self._next.get("sequence"))
        self._tries = 0 if is_accepted else self._tries + 1
        self._next = self._reconnect_options(is_resumed=is_resumed and self._tries < RESUMES)

    def _reconnect_options(self, *, is_resumed: bool) -> dict[str, Any]:
        last = self.client.ws
        if last is None:
            return {"initial": True}
        if not is_resumed or not last.session_id:
            return {"initial": False}
        known = {"gateway": last.gateway, "sequence": last.sequence, "session": last.session_id}
        return {"initial": False, "resume": True, **known}

    def _handle_close(self, code: int) -> None:
        """Raise ConnectionRefused if no other try helps; without the content intent, go on."""
        if code in FINAL:
            raise ConnectionRefused(FINAL[code])
        if code != INTENT_REFUSED:
            return
        intents = self.client._connection._intents  # noqa: SLF001 - only a new client could change them publicly
        if not intents.message_content:
            raise ConnectionRefused("Discord refuses intents that every bot may use: update Footnote.")
        intents.message_content = False
        logger.warning("the Message Content intent was revoked: in threads, only mentions are read")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordServer:
    """One bot, logged in and ready to serve."""

    footnote: Footnote
    channel_store: ChannelStore
    application: Application
    client: FootnoteClient
    posts: DiscordPosts
    messenger: ChatMessenger[Message]
    _gateways: list[GatewayConnection] = field(default_factory=list)  #: none in all processes but one

    async def is_connected(self) -> bool:
        """True if Discord can deliver now: to one of several processes, which the others are ready to follow."""
        if not self._gateways:
            return self.footnote.replicas.are_several
        return self._gateways[-1].is_open

    @asynccontextmanager
    async def serving(
        self, turns: Turns, give_up: Callable[[], None], schedule: SourceSchedule, admission: Admission | None
    ) -> AsyncIterator[None]:
        """Take events until the end; ``give_up`` is called when the connection has ended for good."""
        inbox = Inbox(
            channel_store=self.channel_store, messenger=self.messenger,
            turns=turns, admission=admission,
        )  # fmt: skip
        connection = asyncio.create_task(self._lead(inbox, give_up, schedule))
        try:
            yield
        finally:
            connection.cancel()  # first, so that another process takes the gateway over meanwhile
            await asyncio.wait([connection])
            await inbox.drain()
        if not connection.cancelled() and (refused := connection.exception()):
            raise refused

    async def _lead(self, inbox: Inbox, give_up: Callable[[], None], schedule: SourceSchedule) -> None:
        """Keep the gateway's connection while this process has it. SettingsError if Discord refuses for good."""
        if not self.application.reads_content:
            logger.warning("no Message Content intent: in threads, only mentions are read")
        try:
            await self.footnote.replicas.lead(GATEWAY, lambda: self._connect(inbox, schedule))
        except ConnectionRefused as refused:
            logger.critical("Discord refuses the bot", extra={"reason": str(refused)})
            raise SettingsError(str(refused)) from refused
        finally:
            give_up()

    async def _connect(self, inbox: Inbox, schedule: SourceSchedule) -> None:
        self.client.start_listening(
            DiscordListeners(
                inbox=inbox, channel_store=self.channel_store, posts=self.posts, me=self.client.me,
                reads_content=lambda: self.client.intents.message_content,
                watermark=await Watermark.load(self.channel_store, now=self.client.now()),
                unreadable=self.client.unreadable, shown_names=self.footnote.log.names, schedule=schedule,
            )
        )  # fmt: skip
        self._gateways.append(GatewayConnection(self.client, self.client.unreadable))
        try:
            await self._gateways[-1].run()
        finally:
            self._gateways.clear()
            self.client.stop_listening()
            if self.client.ws is not None:
                await self.client.ws.close(NORMAL_CLOSURE)


@asynccontextmanager
async def open_discord(
    settings: DiscordSettings, footnote: Footnote, channel_store: ChannelStore
) -> AsyncIterator[DiscordServer]:
    """Log in. Raises SettingsError when Discord does not know the token."""
    async with open_client(settings) as (client, application):
        assert client.user is not None
        calls = DiscordCalls(client.http)
        posts = DiscordPosts(
            calls=calls, channel_store=channel_store, my_user_id=str(client.user.id), unreadable=client.unreadable
        )  # fmt: skip
        people = channel_store.people[DISCORD] = DiscordPeople(calls=calls)
        messenger = ChatMessenger.over(
            footnote, channel_store, posts=posts, renderer=LAYOUT, people=people,
            uploads=DiscordUploads(settings=settings, calls=calls), refresh=REFRESH,
            slash_commands=tuple(SLASH_COMMANDS),
        )  # fmt: skip
        yield DiscordServer(
            footnote=footnote, channel_store=channel_store, application=application, client=client, posts=posts,
            messenger=messenger,
        )  # fmt: skip

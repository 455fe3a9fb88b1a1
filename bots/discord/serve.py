"""Discord, served: one connection to its gateway, and what was missed fetched when it is back.

The connection to Discord's gateway, kept for as long as Discord lets it.

discord.py's own loop ends when the very first try fails, and comes to wait a quarter of an hour
between two tries; its sockets are used here as they are.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bots.chat.channels import ChannelStore
from bots.chat.inbox import Inbox, rates_of
from bots.chat.messenger import ChatMessenger
from bots.discord import render
from bots.discord.backfill import Watermarks
from bots.discord.calls import DiscordCalls
from bots.discord.client import DiscordListeners
from bots.discord.commands import Application, application_of
from bots.discord.people import DiscordPeople, DiscordUploads
from bots.discord.post import DiscordPosts
from bots.discord.render import Message
from bots.discord.route import PLATFORM
from bots.discord.settings import DiscordSettings
from core.bootstrap import Footnote
from core.errors import SettingsError
from core.turns.turns import Turns

if TYPE_CHECKING:
    from discord import Client

    from bots.discord.client import FootnoteClient


logger = logging.getLogger(__name__)

ANSWER_WITHIN = 60.0  # seconds for a new connection
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds between two tries; doubled each time
STEADY = 60.0  # seconds that a connection holds before it is opened again at once
RESUMES = 5  # tries to go on with a session before a new one is begun

#: Close codes after which no try helps -> why, "Gateway Close Event Codes".
FINAL: Mapping[int, str] = {
    4004: "Discord does not take DISCORD_TOKEN any more: set the bot's present token and start again.",
    4010: "Discord wants this bot to be sharded, which it cannot be.",
    4011: "The bot is in so many servers that Discord wants it sharded, which it cannot be.",
    4012: "Discord does not speak this version of its gateway any more: update Footnote.",
    4013: "Discord does not know the intents that were asked for: update Footnote.",
}
INTENT_REFUSED = 4014


class ConnectionRefused(Exception):
    """Discord will not have this bot; ``str()`` is a sentence for who runs it."""


@dataclass(slots=True)
class Connection:
    """One client's way to the gateway."""

    client: Client
    _next: dict[str, Any] = field(default_factory=lambda: {"initial": True})  #: how a socket is opened
    _tries: int = 0  #: since the last one that Discord accepted

    async def keep(self) -> None:
        """Until the client is closed. Raises ConnectionRefused."""
        loop = asyncio.get_running_loop()
        while not self.client.is_closed():
            began = loop.time()
            await self._serve_once()
            await asyncio.sleep(self._pause(lasted=loop.time() - began))

    def _pause(self, *, lasted: float) -> float:
        """Seconds; no two bots come back at the same moment."""
        if not self._tries and lasted > STEADY:
            return 0.0
        pause = FIRST_PAUSE * 2.0 ** max(0, self._tries - 1)
        return random.uniform(0.5, 1.0) * min(pause, LONGEST_PAUSE)  # noqa: S311 - no secret

    async def _serve_once(self) -> None:
        """One socket, from its opening to its end, and what follows from that for the next."""
        from aiohttp import ClientError
        from discord.errors import ConnectionClosed
        from discord.gateway import DiscordWebSocket, ReconnectWebSocket

        before, is_resumed = self.client.ws, True
        try:
            opening = DiscordWebSocket.from_client(self.client, **self._next)
            self.client.ws = await asyncio.wait_for(opening, ANSWER_WITHIN)
            while True:
                await self._take_event()
        except ReconnectWebSocket as wish:
            is_resumed = wish.resume
        except ConnectionClosed as closed:
            self._settle(closed.code)
            is_resumed = False
        except (ClientError, TimeoutError, OSError) as lost:
            logger.warning("Discord's gateway is out of reach", extra={"reason": type(lost).__name__})
        except Exception:
            # The boundary of one connection: whatever ended it, another may hold.
            logger.exception("the connection to Discord broke")
            is_resumed = False
            if self.client.ws is not None:
                await self.client.ws.close()
        is_accepted = self.client.ws is not before and self._brought_anything()
        self._tries = 0 if is_accepted else self._tries + 1
        self._next = self._way_back(is_resumed=is_resumed and self._tries < RESUMES)

    async def _take_event(self) -> None:
        try:
            await self.client.ws.poll_event()
        except (AttributeError, LookupError, TypeError, ValueError):
            # discord.py would end over one event that it cannot read; those behind it can be.
            logger.exception("an event of Discord's could not be read")

    def _brought_anything(self) -> bool:
        """Whether events came, of which RESUMED is one; a session that was refused is counted anew."""
        return self.client.ws.sequence not in (None, self._next.get("sequence"))

    def _way_back(self, *, is_resumed: bool) -> dict[str, Any]:
        last = self.client.ws
        if last is None:
            return {"initial": True}
        if not is_resumed or not last.session_id:
            return {"initial": False}
        return {
            "initial": False,
            "resume": True,
            "gateway": last.gateway,
            "sequence": last.sequence,
            "session": last.session_id,
        }

    def _settle(self, code: int) -> None:
        """Go on without what was taken away, if that is possible."""
        if code in FINAL:
            raise ConnectionRefused(FINAL[code])
        if code != INTENT_REFUSED:
            return
        intents = self.client._connection._intents  # noqa: SLF001 - else another client would be needed
        if not intents.message_content:
            raise ConnectionRefused("Discord refuses the bot what every bot may ask for: update Footnote.")
        intents.message_content = False
        logger.warning("the Message Content intent was taken away: in threads, only mentions are read")


REFRESH = 8.0  # seconds; typing is seen for ten, "Trigger Typing Indicator"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordServer:
    """One bot, known to Discord and ready to serve."""

    footnote: Footnote
    channel_store: ChannelStore
    application: Application
    client: FootnoteClient
    posts: DiscordPosts
    people: DiscordPeople
    messenger: ChatMessenger[Message]

    @asynccontextmanager
    async def serving(self, turns: Turns, give_up: Callable[[], None]) -> AsyncIterator[None]:
        """Take what Discord brings until the end; ``give_up`` is called when it brings nothing any more."""
        inbox = Inbox(
            settings=self.footnote.settings, assistant=self.footnote.assistant, channel_store=self.channel_store,
            people=self.people, messenger=self.messenger, turns=turns, rates=await rates_of(self.footnote.settings, turns, PLATFORM),
        )  # fmt: skip
        self.client.listeners = DiscordListeners(
            inbox=inbox, channel_store=self.channel_store, posts=self.posts, me=self.client.me,
            reads_content=lambda: self.client.intents.message_content, watermarks=Watermarks(self.channel_store),
        )  # fmt: skip
        connection = asyncio.create_task(self._connect(give_up))
        try:
            yield
        finally:
            self.client.stop_taking()
            await inbox.drain()
            connection.cancel()
            await asyncio.wait([connection])
        if not connection.cancelled() and (refused := connection.exception()):
            raise refused

    async def _connect(self, give_up: Callable[[], None]) -> None:
        """Raises SettingsError when Discord will not have this bot any more."""
        if not self.application.reads_content:
            logger.warning("no Message Content intent: in threads, only mentions are read")
        try:
            await Connection(self.client).keep()
        except ConnectionRefused as refused:
            logger.critical("Discord refuses the bot", extra={"reason": str(refused)})
            raise SettingsError(str(refused)) from refused
        finally:
            give_up()


@asynccontextmanager
async def open_discord(
    settings: DiscordSettings, footnote: Footnote, channel_store: ChannelStore
) -> AsyncIterator[DiscordServer]:
    """Find out who the bot is. Raises SettingsError when Discord does not know the token."""
    application = await application_of(settings)

    from bots.discord.client import FootnoteClient, point_at

    point_at(settings, application)
    async with FootnoteClient(settings, application) as client:
        await _log_in(client, settings)
        assert client.user is not None
        calls = DiscordCalls(client.http)
        people = DiscordPeople(calls=calls)
        posts = DiscordPosts(calls=calls, channel_store=channel_store, my_user_id=str(client.user.id))
        uploads = DiscordUploads(settings=settings)
        messenger = ChatMessenger.over(
            footnote,
            channel_store,
            posts=posts,
            renderer=render,
            people=people,
            uploads=uploads,
            refresh=REFRESH,
        )
        yield DiscordServer(
            footnote=footnote, channel_store=channel_store, application=application, client=client, posts=posts,
            people=people, messenger=messenger,
        )  # fmt: skip


async def _log_in(client: FootnoteClient, settings: DiscordSettings) -> None:
    from aiohttp import ClientError
    from discord.errors import DiscordException

    try:
        await client.login(settings.token)
    except (DiscordException, ClientError, TimeoutError, OSError) as fault:
        logger.info("could not log in", exc_info=True)
        raise SettingsError("Discord cannot be reached; try again in a while.") from fault

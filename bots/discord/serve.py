"""Discord, served: one connection to its gateway, and what was missed fetched when it is back."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bots.chat.channels import Rooms
from bots.chat.inbox import Reception, rates_of
from bots.chat.messenger import Voice
from bots.discord import render
from bots.discord.address import PLATFORM
from bots.discord.application import Application, application_of
from bots.discord.calls import DiscordCalls
from bots.discord.connection import Connection, ConnectionRefused
from bots.discord.heard import Heard
from bots.discord.intake import Intake
from bots.discord.message import Message
from bots.discord.people import DiscordPeople
from bots.discord.post import DiscordPosts
from bots.discord.premises import DiscordPremises
from bots.discord.settings import DiscordSettings
from core.bootstrap import Footnote
from core.errors import SettingsError
from core.turns.turns import Turns

if TYPE_CHECKING:
    from bots.discord.client import FootnoteClient

logger = logging.getLogger(__name__)

REFRESH = 8.0  # seconds; typing is seen for ten, "Trigger Typing Indicator"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordServer:
    """One bot, known to Discord and ready to serve."""

    footnote: Footnote
    rooms: Rooms
    application: Application
    client: FootnoteClient
    posts: DiscordPosts
    people: DiscordPeople
    voice: Voice[Message]

    @asynccontextmanager
    async def serving(self, turns: Turns, give_up: Callable[[], None]) -> AsyncIterator[None]:
        """Take what Discord brings until the end; ``give_up`` is called when it brings nothing any more."""
        reception = Reception(
            settings=self.footnote.settings, assistant=self.footnote.assistant, rooms=self.rooms,
            people=self.people, voice=self.voice, turns=turns, rates=await rates_of(self.footnote.settings, turns, PLATFORM),
        )  # fmt: skip
        self.client.intake = Intake(
            reception=reception, rooms=self.rooms, posts=self.posts, me=self.client.me,
            reads_content=lambda: self.client.intents.message_content, heard=Heard(self.rooms),
        )  # fmt: skip
        connection = asyncio.create_task(self._connect(give_up))
        try:
            yield
        finally:
            self.client.stop_taking()
            await reception.drain()
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
    settings: DiscordSettings, footnote: Footnote, rooms: Rooms
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
        posts = DiscordPosts(calls=calls, rooms=rooms, my_user_id=str(client.user.id))
        premises = DiscordPremises(settings=settings)
        voice = Voice.over(
            footnote,
            rooms,
            posts=posts,
            writer=render,
            people=people,
            premises=premises,
            refresh=REFRESH,
        )
        yield DiscordServer(
            footnote=footnote, rooms=rooms, application=application, client=client, posts=posts,
            people=people, voice=voice,
        )  # fmt: skip


async def _log_in(client: FootnoteClient, settings: DiscordSettings) -> None:
    from aiohttp import ClientError
    from discord.errors import DiscordException

    try:
        await client.login(settings.token)
    except (DiscordException, ClientError, TimeoutError, OSError) as fault:
        logger.info("could not log in", exc_info=True)
        raise SettingsError("Discord cannot be reached; try again in a while.") from fault

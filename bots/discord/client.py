"""discord.py's client: its events handed to the intake, and what was missed looked for.

Imported only when Discord is served: the library takes its time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import discord

from bots.chat.proxies import proxy_for
from bots.discord.address import DIRECT, PLATFORM, Me
from bots.discord.application import Application
from bots.discord.backfill import Missed, first_to_look_at
from bots.discord.intake import Intake
from bots.discord.settings import API_URL, DiscordSettings
from core.turns.clocks import UnhurriedClock
from core.turns.turns import TurnsClosed

logger = logging.getLogger(__name__)

TRIED_AGAIN_AFTER = (1.0, 5.0, 25.0)  # seconds; later than that, the next start looks for a message
BETWEEN_SESSIONS = 5.0  # seconds, "Gateway, Identifying"
DIRECT_MESSAGES = 0  # in place of a server's id

Look = Callable[[Missed], Awaitable[None]]


class FootnoteClient(discord.Client):
    """One bot's connection."""

    def __init__(self, settings: DiscordSettings, application: Application) -> None:
        intents = discord.Intents(
            guilds=True, guild_messages=True, dm_messages=True, message_content=application.reads_content
        )
        discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False  # nothing is spoken aloud
        super().__init__(
            intents=intents,
            application_id=int(application.id),
            allowed_mentions=discord.AllowedMentions.none(),
            max_messages=None,  # nothing is looked up in a cache
            proxy=proxy_for(settings.api_url),
        )
        self.intake: Intake | None = None  #: while turns are taken
        self._clock, self._ahead = UnhurriedClock(), application.ahead
        self._away: dict[int, int] = {}  #: servers that bring no events -> the last message heard until then
        self._may_identify_at = 0.0  #: the loop's second
        self._looking: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """The library would wait on for servers, and then find that its loop is gone."""
        if (waiting := self._connection._ready_task) is not None:  # noqa: SLF001 - nothing public ends it
            waiting.cancel()
        await super().close()

    async def before_identify_hook(
        self,
        shard_id: int | None,  # noqa: ARG002 - the library names it
        *,
        initial: bool = False,  # noqa: ARG002
    ) -> None:
        """Two sessions are not begun within five seconds; discord.py waits so long before each but the first."""
        now = asyncio.get_running_loop().time()
        begins = max(now, self._may_identify_at)
        self._may_identify_at = begins + BETWEEN_SESSIONS
        await asyncio.sleep(begins - now)

    def me(self) -> Me:
        assert self.user is not None
        own = (guild.self_role for guild in self.guilds)
        return Me(user_id=str(self.user.id), role_ids=frozenset(str(role.id) for role in own if role))

    async def on_connect(self) -> None:
        """A new session: it does not bring what was said since the last message of the one before."""
        for away in (DIRECT_MESSAGES, *(guild.id for guild in self.guilds)):
            self._goes_away(away)

    async def on_guild_unavailable(self, guild: discord.Guild) -> None:
        self._goes_away(guild.id)

    async def on_guild_available(self, guild: discord.Guild) -> None:
        self._is_back(guild.id, lambda missed: missed.of_server(guild))

    async def on_guild_join(self, guild: discord.Guild) -> None:
        self._is_back(guild.id, lambda missed: missed.of_server(guild))

    async def on_guild_remove(self, guild: discord.Guild) -> None:
        self._is_back(guild.id, None)

    async def on_ready(self) -> None:
        if self.intake is not None and self.intake.heard.last is None:
            self._begin_to_hear(self.intake)
        talks = self.intake.rooms.threads_of(PLATFORM, DIRECT) if self.intake else ()
        channels = [int(talk.channel) for talk in talks]
        self._is_back(DIRECT_MESSAGES, lambda missed: missed.of_talks(self, channels))

    async def on_message(self, message: discord.Message) -> None:
        """What cannot be stored now is tried again; until then the next start would look for it."""
        if (intake := self.intake) is None:
            return
        intake.heard.hold(message.id)
        for pause in (0.0, *TRIED_AGAIN_AFTER):
            await asyncio.sleep(pause)
            try:
                await intake.take_message(message)
            except TurnsClosed:
                logger.info("a message comes too late; the next start looks for it")
                return
            except Exception:
                # The boundary of one event: discord.py would let go of it.
                logger.exception("a message could not be taken")
            else:
                intake.heard.release(message.id, newest=message.id)
                return

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        if self.intake is None:
            return
        try:
            await self.intake.take_interaction(interaction)
        except TurnsClosed:
            logger.info("a press comes too late; who pressed sees that it failed")
        except Exception:
            # The boundary of one event: who pressed sees that it failed, and can press again.
            logger.exception("a press could not be taken")

    def stop_taking(self) -> None:
        """From here on whatever comes is left to the next start, which looks for it."""
        self.intake = None
        for looking in self._looking:
            looking.cancel()

    def _goes_away(self, server: int) -> None:
        if self.intake is None or server in self._away or (last := self.intake.heard.last) is None:
            return
        self._away[server] = last
        self.intake.heard.hold(last + 1)

    def _is_back(self, server: int, look: Look | None) -> None:
        since = self._away.pop(server, None)
        if since is None or self.intake is None:
            return
        looking = asyncio.create_task(self._look_for_missed(self.intake, since, look))
        self._looking.add(looking)
        looking.add_done_callback(self._looking.discard)

    async def _look_for_missed(self, intake: Intake, since: int, look: Look | None) -> None:
        try:
            if look is not None:
                missed = first_to_look_at(since, self._clock.now() - self._ahead)
                await look(Missed(take=self.on_message, since=missed))
        except Exception:
            # The boundary of a task of its own: the mark stays, so the next start looks again.
            logger.exception("could not look for what was missed")
        else:
            intake.heard.release(since + 1)

    def _begin_to_hear(self, intake: Intake) -> None:
        """The very first time, what was said before is not for the bot."""
        channels = [each for guild in self.guilds for each in (*guild.channels, *guild.threads)]
        newest = max((getattr(each, "last_message_id", 0) or 0 for each in channels), default=0)
        intake.heard.begin(newest)


def point_at(settings: DiscordSettings, application: Application) -> None:
    """Make the library speak to another server than Discord's own; it knows them by two constants."""
    if settings.api_url == API_URL:
        return
    from discord.gateway import DiscordWebSocket
    from discord.http import Route
    from yarl import URL

    Route.BASE = settings.api_url
    DiscordWebSocket.DEFAULT_GATEWAY = URL(application.gateway)

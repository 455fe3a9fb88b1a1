"""discord.py's client: its events handed to the intake, and what was missed looked for.

Imported only when Discord is served: the library takes its time.

What Discord brings, read and handed to the reception; then, where somebody waits, acknowledged.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import discord

from bots.chat.channels import ChannelStore
from bots.chat.inbox import Inbox
from bots.chat.incoming import ChatCommand, Feedback, Incoming, Rejection, Request, ThreadContext
from bots.chat.proxies import proxy_for
from bots.chat.texts import ENGLISH, say_in
from bots.discord import interactions, post
from bots.discord.backfill import Backfill, Watermarks, first_to_look_at
from bots.discord.calls import DiscordRefused
from bots.discord.commands import Application
from bots.discord.interactions import Interaction
from bots.discord.post import DiscordPosts
from bots.discord.receive import MessageEvent, event, interaction_of, is_called, place_of, read, thread_of
from bots.discord.render import note
from bots.discord.route import DIRECT, PLATFORM, DiscordRoute, Me, conversation_of, said_at, turn_id
from bots.discord.settings import API_URL, DiscordSettings
from core.errors import QuestionRejected
from core.text.language import language_of
from core.turns.order import UnhurriedClock
from core.turns.turns import TurnsClosed
from core.wording import in_language

if TYPE_CHECKING:
    import discord

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordListeners:
    """One bot's ear."""

    inbox: Inbox
    channel_store: ChannelStore
    posts: DiscordPosts
    me: Callable[[], Me]
    reads_content: Callable[[], bool]  #: whether the Message Content intent is granted
    watermarks: Watermarks

    async def take_message(self, message: discord.Message) -> None:
        """Stored when this returns; whatever it raises, the message is looked for again."""
        await self.take_seen(event(message, self.me().user_id))

    async def take_seen(self, message: MessageEvent) -> None:
        me = self.me()
        message = self._anew_if_unknown(message, me)
        moved = self.channel_store.moved_to(thread_of(message))
        route = place_of(message, me, moved)
        context = self.channel_store.context_of(conversation_of(route))
        if self._is_unreadable(message, me):
            # What nobody could read when it was said decides nothing once it can be read.
            self.channel_store.remember_forgotten([turn_id(route, message.id)])
            self._say_that_it_cannot_be_read(message, route, context)
            return
        request: Request | None
        try:
            request = read(message, me, context, moved)
        except QuestionRejected as rejection:
            request = Rejection(
                id=turn_id(route, message.id), conversation=conversation_of(route), author=message.author,
                sentence=in_language(rejection.sentence, language_of(message.text)),
            )  # fmt: skip
        if isinstance(request, ChatCommand):
            route.pop("opens", None)  # a thread is for a conversation, not for a command
        if request is not None:
            incoming = Incoming(
                request=request,
                route=route,
                is_follow_up=context.knows_thread,
                has_files=bool(message.files),
            )
            await self.inbox.accept(incoming)

    def _anew_if_unknown(self, message: MessageEvent, me: Me) -> MessageEvent:
        """A reply in a channel to what began no conversation, such as help, begins one."""
        if not message.answers_me or message.is_thread:
            return message
        route = place_of(message, me, self.channel_store.moved_to(thread_of(message)))
        is_known = self.channel_store.context_of(conversation_of(route)).knows_thread
        return message if is_known else replace(message, answers=None)

    def _is_unreadable(self, message: MessageEvent, me: Me) -> bool:
        """Discord leaves the words out unless they mention the bot itself, or are said to it alone."""
        is_empty = message.is_written and not message.text and not message.files
        is_shown = message.server == DIRECT or me.user_id in message.names
        return not self.reads_content() and is_empty and not is_shown

    def _say_that_it_cannot_be_read(
        self, message: MessageEvent, route: DiscordRoute, context: ThreadContext
    ) -> None:
        """To whoever speaks to the bot; to others once in a server, as they may not have meant it."""
        route.pop("opens", None)
        if not is_called(message, self.me()):
            is_meant = message.is_thread and context.may_follow(message.author, said_at(message.id))
            if not is_meant or not self.channel_store.is_first(f"{PLATFORM}/{route['server']}/cannot read"):
                return
        self.inbox.begin(self.inbox.messenger.send_ephemeral(route, say_in(ENGLISH)("cannot_read")))

    async def take_interaction(self, interaction: discord.Interaction) -> None:
        """Stored, then acknowledged: what could not be stored is seen to have failed."""
        given = self._at_home(interaction_of(interaction, self.me()))
        reads = _KINDS.get(interaction.type.name)
        if reads is None:
            return
        try:
            said = reads(given)
        except QuestionRejected as rejection:
            await self.posts.send_ephemeral(
                given.route, note(in_language(rejection.sentence, given.language))
            )
            return
        if said is None:
            return
        is_command = "name" in given.data
        incoming = Incoming(request=said, route=given.route, is_awaited=is_command)
        if await self.inbox.accept(incoming) or not is_command:
            await self._acknowledge(said, given)

    def _at_home(self, given: Interaction) -> Interaction:
        """A conversation that was begun by a command has another name than its thread."""
        moved = self.channel_store.moved_to(given.route["thread"])
        if moved is not None:
            given.route["thread"] = moved.thread
        return given

    async def _acknowledge(self, said: Request, given: Interaction) -> None:
        """A form is opened by the answer itself; everything else is answered elsewhere."""
        if isinstance(said, ChatCommand) and said.name == "edit":
            return
        key = "noted" if isinstance(said, Feedback) else _ANSWERS.get(str(given.data.get("name", "")))
        try:
            if key:
                await self.posts.send_ephemeral(given.route, note(say_in(given.language)(key)))
            elif "name" not in given.data:
                await self.posts.respond(given.route, post.UPDATE_LATER)
        except DiscordRefused as refused:
            logger.info("too late to acknowledge", extra={"reason": refused.code})


#: What a command is told at once, whose answer comes elsewhere; others are answered by a whisper.
_ANSWERS: Mapping[str, str] = {
    "ask": "answered_below",
    "Ask about this": "answered_below",
    "learn": "on_it",
    "forget": "on_it",
}

_KINDS: Mapping[str, Callable[[Interaction], Request | None]] = {
    "component": interactions.pressed,
    "modal_submit": interactions.submitted,
    "application_command": interactions.commanded,
}


TRIED_AGAIN_AFTER = (1.0, 5.0, 25.0)  # seconds; later than that, the next start looks for a message
BETWEEN_SESSIONS = 5.0  # seconds, "Gateway, Identifying"
DIRECT_MESSAGES = 0  # in place of a server's id

Look = Callable[[Backfill], Awaitable[None]]


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
        self.listeners: DiscordListeners | None = None  #: while turns are taken
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
        self._is_back(guild.id, lambda backfill: backfill.of_server(guild))

    async def on_guild_join(self, guild: discord.Guild) -> None:
        self._is_back(guild.id, lambda backfill: backfill.of_server(guild))

    async def on_guild_remove(self, guild: discord.Guild) -> None:
        self._is_back(guild.id, None)

    async def on_ready(self) -> None:
        if self.listeners is not None and self.listeners.watermarks.last is None:
            self._begin_to_hear(self.listeners)
        talks = self.listeners.channel_store.threads_of(PLATFORM, DIRECT) if self.listeners else ()
        channels = [int(talk.channel) for talk in talks]
        self._is_back(DIRECT_MESSAGES, lambda backfill: backfill.of_talks(self, channels))

    async def on_message(self, message: discord.Message) -> None:
        """What cannot be stored now is tried again; until then the next start would look for it."""
        if (listeners := self.listeners) is None:
            return
        listeners.watermarks.hold(message.id)
        for pause in (0.0, *TRIED_AGAIN_AFTER):
            await asyncio.sleep(pause)
            try:
                await listeners.take_message(message)
            except TurnsClosed:
                logger.info("a message comes too late; the next start looks for it")
                return
            except Exception:
                # The boundary of one event: discord.py would let go of it.
                logger.exception("a message could not be taken")
            else:
                listeners.watermarks.release(message.id, newest=message.id)
                return

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        if self.listeners is None:
            return
        try:
            await self.listeners.take_interaction(interaction)
        except TurnsClosed:
            logger.info("a press comes too late; who pressed sees that it failed")
        except Exception:
            # The boundary of one event: who pressed sees that it failed, and can press again.
            logger.exception("a press could not be taken")

    def stop_taking(self) -> None:
        """From here on whatever comes is left to the next start, which looks for it."""
        self.listeners = None
        for looking in self._looking:
            looking.cancel()

    def _goes_away(self, server: int) -> None:
        if self.listeners is None or server in self._away or (last := self.listeners.watermarks.last) is None:
            return
        self._away[server] = last
        self.listeners.watermarks.hold(last + 1)

    def _is_back(self, server: int, look: Look | None) -> None:
        since = self._away.pop(server, None)
        if since is None or self.listeners is None:
            return
        looking = asyncio.create_task(self._look_for_missed(self.listeners, since, look))
        self._looking.add(looking)
        looking.add_done_callback(self._looking.discard)

    async def _look_for_missed(self, listeners: DiscordListeners, since: int, look: Look | None) -> None:
        try:
            if look is not None:
                backfill = first_to_look_at(since, self._clock.now() - self._ahead)
                await look(Backfill(take=self.on_message, since=backfill))
        except Exception:
            # The boundary of a task of its own: the mark stays, so the next start looks again.
            logger.exception("could not look for what was missed")
        else:
            listeners.watermarks.release(since + 1)

    def _begin_to_hear(self, listeners: DiscordListeners) -> None:
        """The very first time, what was said before is not for the bot."""
        channels = [each for guild in self.guilds for each in (*guild.channels, *guild.threads)]
        newest = max((getattr(each, "last_message_id", 0) or 0 for each in channels), default=0)
        listeners.watermarks.begin(newest)


def point_at(settings: DiscordSettings, application: Application) -> None:
    """Make the library speak to another server than Discord's own; it knows them by two constants."""
    if settings.api_url == API_URL:
        return
    from discord.gateway import DiscordWebSocket
    from discord.http import Route
    from yarl import URL

    Route.BASE = settings.api_url
    DiscordWebSocket.DEFAULT_GATEWAY = URL(application.gateway)

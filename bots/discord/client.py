"""discord.py's client: its events go to the inbox, and what was missed is fetched.

Imported only when Discord is served: the library takes long to load.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

import discord

from bots.chat.channels import ELSEWHERE, ChannelStore
from bots.chat.inbox import STORED_COMMANDS, Inbox
from bots.chat.incoming import EDIT_LIMIT, ChatCommand, Feedback, Incoming, Rejection, Request, ThreadState
from bots.chat.platform import MALFORMED, Refused, Unreadable, proxy_for
from bots.chat.texts import ENGLISH, say_in
from bots.discord import receive
from bots.discord.backfill import Backfill, ChannelEvents, ChannelFollower, Watermark, backfill_start
from bots.discord.calls import EPHEMERAL, LATER, MODAL, UPDATE_LATER
from bots.discord.post import DiscordPosts
from bots.discord.render import LAYOUT, LEARNED, uploading
from bots.discord.route import DIRECT, DISCORD, DiscordRoute, Me, conversation_of, key_of, said_at, turn_id
from bots.discord.settings import KEEP, Application, DiscordSettings
from core.errors import QuestionRejected
from core.priority import BackgroundTasks
from core.sources.sources import SourceSchedule
from core.text.language import language_of
from core.traces.names import ShownNames
from core.turns.turns import TurnsClosed
from core.turns.waiting import UnhurriedClock
from core.wording import in_language

logger = logging.getLogger(__name__)

#: What a command is answered at once whose result is posted elsewhere; others have a private result.
_ACKNOWLEDGEMENTS: Mapping[str, str] = {
    "ask": "answered_below",
    "Ask about this": "answered_below",
    KEEP: "noted",
}


def incoming_of(
    event: receive.MessageEvent, me: Me, thread: ThreadState, route: DiscordRoute, *, is_edit: bool
) -> Incoming | None:
    """A person's request in a message; None for what is not for the bot."""
    request: Request | None
    try:
        request = receive.read(event, me, thread, route)
    except QuestionRejected as rejection:
        request = Rejection(
            id=turn_id(route, event.id), conversation=conversation_of(route), author=event.author,
            sentence=in_language(rejection.sentence, language_of(event.text)),
        )  # fmt: skip
    if request is None:
        return None
    there = receive.with_thread(route, request)
    return Incoming(
        request=request, route=there, is_follow_up=thread.knows_thread, is_edit=is_edit,
        is_in_place="opens" in route and "opens" not in there,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordListeners:
    """Reads messages and interactions, hands them to the inbox, then acknowledges them."""

    inbox: Inbox
    channel_store: ChannelStore
    posts: DiscordPosts
    me: Callable[[], Me]
    reads_content: Callable[[], bool]  #: whether the Message Content intent is granted
    watermark: Watermark
    unreadable: Unreadable
    shown_names: ShownNames  #: where names are noted for operators
    schedule: SourceSchedule  #: takes what changes in channels that are sources

    async def take_message(self, message: discord.Message, *, is_edit: bool = False) -> None:
        """Store a message; if this raises, the message is fetched again later."""
        try:
            incoming = await self._incoming_of(message, is_edit=is_edit)
        except MALFORMED as fault:
            self.unreadable.count(fault)
            return
        if incoming is not None:
            parent = receive.parent_of(message.channel)
            await self.channel_store.note_parent(conversation_of(incoming.route), parent)
            await self.inbox.accept(incoming)
            await self.shown_names.note("person", {str(message.author.id): message.author.display_name})
            await self.shown_names.note("channel", receive.channel_name(message))

    async def _incoming_of(self, message: discord.Message, *, is_edit: bool) -> Incoming | None:
        me = self.me()
        # Discord may leave out the message that a message replies to.
        reference = message.reference
        is_missing = reference is not None and reference.resolved is None and reference.message_id
        if message.type is discord.MessageType.reply and reference is not None and is_missing:
            # A message that cannot be had, or that discord.py cannot parse, says nothing.
            with suppress(discord.NotFound, discord.Forbidden, *MALFORMED):
                reference.resolved = await message.channel.fetch_message(is_missing)
        event = receive.message_event(message, me.user_id, is_edit=is_edit)
        if is_edit and not receive.is_called(event, me):
            return None
        route, thread = await self.inbox.look_up(
            partial(self._locate, event, me),
            lambda: incoming_of(event, me, ThreadState(), receive.route_of(event, me, None), is_edit=is_edit),
        )
        is_empty = event.is_written and not event.text and not event.files
        is_shown = event.server == DIRECT or me.user_id in event.names
        if is_empty and not is_shown and not self.reads_content():
            # Without the intent, Discord shows the text only in mentions of the bot and direct messages. The bot could not read it when it was sent, and does not read it after the intent is granted.
            await self.channel_store.remember_forgotten([turn_id(route, event.id)])
            await self._explain_unreadable(event, me, route, thread)
            return None
        return incoming_of(event, me, thread, route, is_edit=is_edit)

    async def _locate(self, event: receive.MessageEvent, me: Me) -> tuple[DiscordRoute, ThreadState]:
        """The route of the answer, and the state of its thread."""
        route = receive.route_of(event, me, await self.channel_store.moved_to(receive.thread_of(event)))
        thread = await self.channel_store.thread_state(conversation_of(route))
        if event.answers and event.answers_me and not event.is_thread and not thread.knows_thread:
            # A reply to something that began no conversation, such as help, begins one.
            return await self._locate(replace(event, answers=None), me)
        return route, thread

    async def _explain_unreadable(
        self, event: receive.MessageEvent, me: Me, route: DiscordRoute, thread: ThreadState
    ) -> None:
        """Explain to those who call the bot; otherwise once in a server, as the message may be for others."""
        route.pop("opens", None)
        if not receive.is_called(event, me):
            may_be_for_me = event.is_thread and thread.may_follow(event.author, said_at(event.id))
            once = f"{DISCORD}/{route['server']}/cannot read"
            if not may_be_for_me or not await self.channel_store.is_first(once):
                return
        self.inbox.begin(self.inbox.messenger.replies.send_ephemeral(route, say_in(ENGLISH)("cannot_read")))

    async def take_interaction(self, event: discord.Interaction) -> None:
        """Store an interaction, then acknowledge it: if it cannot be stored, Discord shows that it failed."""
        read_interaction = receive.READERS.get(event.type.name)
        if read_interaction is None:
            return
        interaction = receive.interaction_event(event, self.me())
        if moved := await self.channel_store.moved_to(interaction.route["thread"]):
            interaction.route["thread"] = moved.thread
        try:
            request = read_interaction(interaction)
        except QuestionRejected as rejection:
            reason = in_language(rejection.sentence, interaction.language)
            await self.posts.send_ephemeral(interaction.route, LAYOUT.note(reason))
            return
        if request is None:
            return
        is_learning, is_command = interaction.data.get("custom_id") == LEARNED, "name" in interaction.data
        bare = isinstance(request, ChatCommand) and not (request.files or request.argument)
        if bare and interaction.data.get("name") == "learn":
            with suppress(Refused):  # too late: the person sees that it failed
                await self.posts.respond(interaction.route, MODAL, uploading(interaction.language))
            return
        there = receive.with_thread(interaction.route, request)
        incoming = Incoming(
            request=request, route=there, is_awaited=is_command,
            is_in_place="opens" in interaction.route and "opens" not in there,
        )  # fmt: skip
        parent = receive.parent_of(event.channel)
        await self.channel_store.note_parent(conversation_of(incoming.route), parent)
        if await self.inbox.accept(incoming) or not (is_command or is_learning):
            await self._acknowledge(request, interaction)

    async def _acknowledge(self, request: Request, interaction: receive.Interaction) -> None:
        is_edit = isinstance(request, ChatCommand) and request.name == "edit"
        is_down = isinstance(request, Feedback) and not request.is_positive and request.fault is None
        if is_edit or is_down:
            return  # the form that opens is the acknowledgement
        form = interaction.data.get("custom_id")
        name = interaction.data.get("name", LEARNED if form == LEARNED else "")
        key = "noted" if isinstance(request, Feedback) else _ACKNOWLEDGEMENTS.get(name)
        try:
            if interaction.route["server"] == ELSEWHERE and name:
                await self.posts.defer(interaction.route)
            elif key:
                note = LAYOUT.note(say_in(interaction.language)(key))
                await self.posts.send_ephemeral(interaction.route, note)
            elif name in STORED_COMMANDS:  # its private result takes longer than a response may
                await self.posts.respond(interaction.route, LATER, {"flags": EPHEMERAL})
            elif not name:
                await self.posts.respond(interaction.route, UPDATE_LATER)
        except Refused as refused:
            logger.info("too late to acknowledge", extra={"reason": refused.code})


RETRY_PAUSES = (1.0, 5.0, 25.0)  # seconds; after the last, the next start fetches the message
BETWEEN_SESSIONS = 5.0  # seconds, "Gateway, Identifying"
DIRECT_MESSAGES = 0  # in place of a server's id

Deleted = discord.RawMessageDeleteEvent | discord.RawBulkMessageDeleteEvent
FetchMissed = Callable[[Backfill], Awaitable[None]]


class FootnoteClient(ChannelEvents):
    """One bot's client; events are dropped while there are no listeners."""

    def __init__(self, settings: DiscordSettings, application: Application) -> None:
        intents = discord.Intents(
            guilds=True, guild_messages=True, dm_messages=True, message_content=application.reads_content
        )
        discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False  # voice is not used
        super().__init__(
            intents=intents,
            application_id=int(application.id),
            allowed_mentions=discord.AllowedMentions.none(),
            max_messages=None,  # no cache is read
            proxy=proxy_for(settings.api_url),
        )
        self.listeners: DiscordListeners | None = None  #: while turns are taken
        self.unreadable = Unreadable()
        self._clock, self._ahead = UnhurriedClock(), application.ahead
        self._away: dict[int, int] = {}  #: server without events -> the watermark when they stopped
        self._next_identify = 0.0  #: on the loop's clock
        self._backfills = BackgroundTasks()

    async def close(self) -> None:
        """Close, and end the library's wait for servers, which outlives its loop."""
        if (waiting := self._connection._ready_task) is not None:  # noqa: SLF001 - no public way to end it
            waiting.cancel()
        await super().close()

    async def before_identify_hook(
        self,
        shard_id: int | None,  # noqa: ARG002 - the library passes it by name
        *,
        initial: bool = False,  # noqa: ARG002
    ) -> None:
        """Waits only if the last session began less than five seconds ago; discord.py always waits."""
        now = asyncio.get_running_loop().time()
        begins = max(now, self._next_identify)
        self._next_identify = begins + BETWEEN_SESSIONS
        await asyncio.sleep(begins - now)

    def now(self) -> float:
        """Seconds since the epoch by Discord's clock."""
        return self._clock.now() - self._ahead

    def me(self) -> Me:
        assert self.user is not None
        own = (guild.self_role for guild in self.guilds)
        return Me(user_id=str(self.user.id), role_ids=frozenset(str(role.id) for role in own if role))

    async def on_connect(self) -> None:
        """A new session does not replay what was said since the last one."""
        for server in (DIRECT_MESSAGES, *(guild.id for guild in self.guilds)):
            self._hold_watermark(server)

    async def on_guild_unavailable(self, guild: discord.Guild) -> None:
        self._hold_watermark(guild.id)

    async def on_guild_available(self, guild: discord.Guild) -> None:
        self._start_backfill(guild.id, lambda backfill: backfill.of_server(guild))

    on_guild_join = on_guild_available

    async def on_guild_remove(self, guild: discord.Guild) -> None:
        self._start_backfill(guild.id, None)
        self.follow(lambda follower: follower.server_changed(guild.id))

    async def on_ready(self) -> None:
        direct = await self.listeners.channel_store.threads_of(DISCORD, DIRECT) if self.listeners else ()
        channels = [int(each.channel) for each in direct]
        self._start_backfill(DIRECT_MESSAGES, lambda backfill: backfill.of_direct_messages(self, channels))

    async def on_message(self, message: discord.Message) -> None:
        """Store a message; until it is stored, the next start would fetch it."""
        if (listeners := self.listeners) is None:
            return
        listeners.watermark.hold(message.id)
        if await self._store(listeners, message):
            await listeners.watermark.release(message.id, newest=message.id)
        self.follow(lambda follower: follower.wrote(message))

    async def on_raw_message_delete(self, deleted: discord.RawMessageDeleteEvent) -> None:
        """Removes what was kept of the message."""
        await self._forget_deleted(deleted, [deleted.message_id])

    async def on_raw_bulk_message_delete(self, deleted: discord.RawBulkMessageDeleteEvent) -> None:
        await self._forget_deleted(deleted, sorted(deleted.message_ids))

    async def _forget_deleted(self, deleted: Deleted, messages: Sequence[int]) -> None:
        if self.listeners is None:
            return
        guild = self.get_guild(deleted.guild_id or DIRECT_MESSAGES)
        self.follow(lambda follower: follower.deleted(guild, deleted.channel_id, messages))
        for message in messages:
            await self.listeners.inbox.messenger.commands.forget_message(key_of(str(message)))

    async def on_raw_message_edit(self, edit: discord.RawMessageUpdateEvent) -> None:
        """An edit may add a mention of the bot. What was asked before is recognised by its id."""
        message = edit.message
        self.follow(lambda follower: follower.edited(edit))
        if self.listeners is None or message.edited_at is None or message.author.bot:
            return
        if (discord.utils.utcnow() - message.created_at).total_seconds() < EDIT_LIMIT:
            await self._store(self.listeners, message, is_edit=True)

    async def _store(
        self, listeners: DiscordListeners, message: discord.Message, *, is_edit: bool = False
    ) -> bool:
        """Try several times to store a message; True if it was stored."""
        for pause in (0.0, *RETRY_PAUSES):
            await asyncio.sleep(pause)
            try:
                await listeners.take_message(message, is_edit=is_edit)
            except TurnsClosed:
                logger.info("a message came during shutdown; the next start fetches it")
                return False
            except Exception:
                # The boundary of one event: discord.py would drop it.
                logger.exception("a message could not be stored")
            else:
                return True
        return False

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        if self.listeners is None:
            return
        try:
            await self.listeners.take_interaction(interaction)
        except TurnsClosed:
            logger.info("an interaction came during shutdown; Discord shows that it failed")
        except MALFORMED as fault:
            self.unreadable.count(fault)
        except Exception:
            # The boundary of one event: Discord shows that it failed, and the person can try again.
            logger.exception("an interaction could not be stored")

    def start_listening(self, listeners: DiscordListeners) -> None:
        """Fetches what was said before this process had the connection, once it has."""
        self.listeners = listeners
        self.follower = ChannelFollower(schedule=listeners.schedule)
        self._away.clear()

    def stop_listening(self) -> None:
        """Take no more messages; the next start fetches them."""
        self.listeners = self.follower = None
        for backfill in self._backfills:
            backfill.cancel()

    def _hold_watermark(self, server: int) -> None:
        if self.listeners is None or server in self._away:
            return
        self._away[server] = last = self.listeners.watermark.last
        self.listeners.watermark.hold(last + 1)

    def _start_backfill(self, server: int, fetch: FetchMissed | None) -> None:
        since = self._away.pop(server, None)
        if since is None or self.listeners is None:
            return
        self._backfills.start(self._run_backfill(self.listeners, since, fetch))

    async def _run_backfill(self, listeners: DiscordListeners, since: int, fetch: FetchMissed | None) -> None:
        try:
            if fetch is not None:
                start = backfill_start(since, self.now())
                await fetch(Backfill(take=self.on_message, since=start, unreadable=self.unreadable))
        except Exception:
            # The boundary of a background task: the watermark stays, so the next start tries again.
            logger.exception("missed messages could not be fetched")
        else:
            await listeners.watermark.release(since + 1)

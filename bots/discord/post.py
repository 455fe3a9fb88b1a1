"""Posts and edits the messages of a turn, each once: in the thread, the channel or a direct message."""

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from bots.chat.channels import ELSEWHERE, ChannelStore
from bots.chat.platform import THREAD_CONTEXT, ProgressNote, Refused, Said, Unreadable
from bots.discord import calls
from bots.discord.calls import (
    CHANNEL,
    DiscordCalls,
    DiscordChannels,
    DiscordResponses,
    Handle,
    add_mark,
    nonce_of,
    remember,
)
from bots.discord.content import said, thread_message
from bots.discord.parts import lines
from bots.discord.render import LAYOUT, Message
from bots.discord.route import DIRECT, Me, conversation_of, is_outside_thread
from bots.discord.settings import EVERYTHING, THREADS, VIEW, channel_permissions, obstacle, server_permissions
from core.conversation import ThreadMessage
from core.turns.messenger import ReplyRoute, Unreachable
from core.wording import Wording

logger = logging.getLogger(__name__)

TYPING = f"{CHANNEL}/typing"

#: The message to edit is deleted: it is posted again.
_DELETED = frozenset({calls.UNKNOWN_MESSAGE, calls.UNKNOWN_CHANNEL})


@dataclass(slots=True, kw_only=True)
class DiscordPosts:
    """Messages by turn and part."""

    calls: DiscordCalls
    channel_store: ChannelStore
    my_user_id: str
    unreadable: Unreadable = field(default_factory=Unreadable)
    _channels: DiscordChannels = field(init=False)
    _responses: DiscordResponses = field(init=False)
    _threads: dict[str, str] = field(default_factory=dict)  #: first message -> where its thread is written
    #: Turn of a command -> message with its question.
    _questions: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._channels = DiscordChannels(calls=self.calls, my_user_id=self.my_user_id)
        self._responses = DiscordResponses(calls=self.calls, my_user_id=self.my_user_id)

    async def say(self, route: ReplyRoute, turn: str, part: int, message: Message, *, is_again: bool) -> str:
        """ "channel/message"; nothing outside the bot's servers, where one person alone sees it."""
        if route["server"] == ELSEWHERE:
            await self._responses.answer(route["interaction"], part, message)
            return ""
        if is_again and (found := await self.find(route, turn, part)):
            return found
        message, nonce = add_mark(message, turn, part), nonce_of(turn, part)
        return await self._post_anywhere(route, turn, message, nonce=nonce, is_again=is_again)

    async def change(self, route: ReplyRoute, handle: str, turn: str, part: int, message: Message) -> None:
        try:
            await self._channels.edit(handle, add_mark(message, turn, part))
        except Refused as refused:
            if refused.code not in _DELETED:
                raise
            await self._replace(route, handle, turn, part, message)

    async def delete(self, route: ReplyRoute, handle: str) -> None:  # noqa: ARG002 - others need the route
        await self._channels.delete(handle)

    async def remove_doubles(self, route: ReplyRoute, turn: str) -> None:
        if route["server"] == ELSEWHERE:
            return
        for channel in dict.fromkeys((await self._home(route), route["place"])):
            with suppress(Refused):  # where it may not read, it may still write in the other
                for double in await self._channels.doubles(channel, turn):
                    await self._channels.delete(double)

    async def rest(self, route: ReplyRoute) -> None:
        """Discord shows nothing of a conversation beside its messages."""

    async def find(self, route: ReplyRoute, turn: str, part: int) -> str | None:
        if route["server"] == ELSEWHERE:
            return None
        for channel in dict.fromkeys((await self._home(route), route["place"])):
            with suppress(Refused):  # where it may not read, it may still write in the other
                if found := await self._channels.find(channel, turn, part):
                    return str(Handle(channel, found))
        return None

    async def send_ephemeral(self, route: ReplyRoute, message: Message) -> None:
        """Respond to an interaction; a message has none, so there it is a reply that all can read."""
        if "interaction" in route:
            await self._responses.send_ephemeral(route["interaction"], message)
        else:
            # The hash keeps two notes about one message apart: else Discord takes them for one.
            digest = sha256(repr(message).encode()).hexdigest()[:8]
            await self.say(route, f"{route['message']}/ephemeral/{digest}", 0, message, is_again=False)

    async def send_direct(
        self, route: ReplyRoute, turn: str, message: Message, *, may_be_public: bool
    ) -> None:
        """Send in private if possible; else as a reply, else in the channel."""
        refused = await self._send_private(route, turn, message)
        if refused is None:
            return
        if not may_be_public and route["server"] != DIRECT:
            raise refused
        reply_route = {key: value for key, value in route.items() if key not in ("opens", "says")}
        try:
            await self.say(reply_route, turn, 0, message, is_again=False)
        except Refused:
            if route["place"] == route["channel"]:
                raise
            await self.say({**reply_route, "place": route["channel"]}, turn, 0, message, is_again=False)

    async def explain(self, route: ReplyRoute, refused: Refused, say: Wording) -> str:
        """Reads the channel, and what the bot may do there."""
        try:
            channel = await self.calls.call("GET", CHANNEL, channel_id=await self._home(route))
            permissions = await self._permissions_in(channel, route["server"])
        except Refused as hidden:
            is_gone = hidden.code == calls.UNKNOWN_CHANNEL
            return say("channel_gone") if is_gone else say("may_not_write", rights=VIEW)
        return obstacle(refused, channel, permissions, say)

    async def _permissions_in(self, channel: Mapping[str, Any], server: str) -> int:
        if server == DIRECT:
            return EVERYTHING
        path = "/guilds/{guild_id}"
        about = await self.calls.call("GET", path, guild_id=server)
        path += "/members/{user_id}"
        member = await self.calls.call("GET", path, guild_id=server, user_id=self.my_user_id)
        if channel["type"] in THREADS:
            channel = await self.calls.call("GET", CHANNEL, channel_id=channel["parent_id"])
        return channel_permissions(channel, member, self.my_user_id, server_permissions(about, member))

    async def respond(self, route: ReplyRoute, kind: int, data: Mapping[str, Any] | None = None) -> None:
        """The first response to an interaction; it has three seconds."""
        await self._responses.respond(route["interaction"], kind, data)

    async def defer(self, route: ReplyRoute) -> None:
        """Show that an answer will come, outside the bot's servers."""
        await self._responses.defer(route["interaction"])

    async def open_editor(self, route: ReplyRoute, editor: Any) -> None:
        await self.respond(route, calls.MODAL, editor)

    async def begin(self, route: ReplyRoute, turn: str, work: ProgressNote, *, is_again: bool) -> str:
        if route["server"] == ELSEWHERE:
            await self.defer(route)
            return ""
        handle = await self.say(route, turn, 0, LAYOUT.note(work.sentence), is_again=is_again)
        with suppress(Refused, Unreachable):  # the message is there without
            await self.calls.call("POST", TYPING, channel_id=Handle.parse(handle).channel)
        return handle

    async def progress(
        self, route: ReplyRoute, handle: str, turn: str, work: ProgressNote, *, is_new: bool
    ) -> None:
        """Show the words in the message, and typing for ten seconds, until a message of the bot."""
        if is_new:
            await self.change(route, handle, turn, 0, LAYOUT.under_way(work))
        await self.calls.call("POST", TYPING, channel_id=await self._home(route))

    async def finish(
        self, route: ReplyRoute, handle: str, turn: str, message: Message, *, is_again: bool,
        is_waiting: bool,  # noqa: ARG002 - the card says so
    ) -> None:  # fmt: skip
        if is_again and not handle:  # a run that was cut off may have shown its first sign
            handle = await self.find(route, turn, 0) or ""
        if handle:
            await self.change(route, handle, turn, 0, message)
        else:
            await self.say(route, turn, 0, message, is_again=is_again)

    async def thread_context(self, route: ReplyRoute) -> tuple[ThreadMessage, ...]:
        if route["server"] == DIRECT or is_outside_thread(route):
            return ()
        within = {"limit": THREAD_CONTEXT} | ({"before": route["message"]} if route["message"] else {})
        found: list[dict[str, Any]] = await self.calls.call(
            "GET", calls.MESSAGES, channel_id=route["place"], **within
        )
        context: list[ThreadMessage | None] = []
        for each in reversed(found):
            with self.unreadable.skipped():
                context.append(thread_message(each, self.my_user_id))
        return tuple(filter(None, context))

    async def said(self, route: ReplyRoute, message: str = "") -> tuple[Said, ...]:
        """The newest messages of a thread; in a channel, where many talk at once, the named one alone."""
        channel, me = route["place"], Me(user_id=self.my_user_id)
        found: list[dict[str, Any]] = []
        if route["server"] != DIRECT and not is_outside_thread(route):
            found = await self.calls.call(
                "GET", calls.MESSAGES, channel_id=channel, limit=calls.MESSAGES_PAGE
            )
        if message and all(each["id"] != message for each in found):
            path = f"{calls.MESSAGES}/{{message_id}}"
            found.append(await self.calls.call("GET", path, channel_id=channel, message_id=message))
        people: list[Said | None] = []
        for each in reversed(found):
            with self.unreadable.skipped():
                people.append(said(each, me))
        return tuple(filter(None, people))

    async def link(self, route: ReplyRoute, message: str) -> str | None:
        return f"https://discord.com/channels/{route['server']}/{route['place']}/{message}"

    async def starter(self, route: ReplyRoute) -> ThreadMessage | None:
        """The first message of the thread; of a forum post with its title."""
        channel = route["place"]
        found = await self.calls.call("GET", calls.MESSAGES, channel_id=channel, after="0", limit=1)
        if not found or found[0]["id"] != channel:
            return thread_message(found[0], self.my_user_id) if found else None
        post = await self.calls.call("GET", CHANNEL, channel_id=channel)
        return thread_message(found[0], self.my_user_id, title=post["name"])

    async def _post_anywhere(
        self, route: ReplyRoute, turn: str, message: Message, *, nonce: str, is_again: bool
    ) -> str:
        """Post in the conversation's thread, or in the channel if the bot may not write in the thread."""
        channel = await self._find_or_open_thread(route, turn, is_again=is_again)
        try:
            return await self._post(channel, route, turn, message, nonce=nonce)
        except Refused:
            if channel == route["place"]:
                raise
        remember(self._threads, await self._first_message(route), str(route["place"]))
        return await self._post(route["place"], route, turn, message, nonce=nonce)

    async def _replace(self, route: ReplyRoute, deleted: str, turn: str, part: int, message: Message) -> None:
        """Post again what was deleted, with another nonce: the old one would return the deleted message."""
        message = add_mark(message, turn, part)
        if found := await self.find(route, turn, part):  # a progress note replaced it already
            await self._channels.edit(found, message)
        else:
            nonce = nonce_of(f"{turn}/instead of {deleted}", part)
            await self._post_anywhere(route, turn, message, nonce=nonce, is_again=True)

    async def _post(self, channel: str, route: ReplyRoute, turn: str, message: Message, *, nonce: str) -> str:
        reply_to = await self._reply_to(channel, route, turn)
        return await self._channels.post(channel, message, nonce=nonce, reply_to=reply_to)

    async def _reply_to(self, channel: str, route: ReplyRoute, turn: str) -> str:
        """The question, if it is in the same channel; outside threads, the first message of the conversation."""
        message = self._questions.get(turn) if "says" in route else route["message"]
        if "says" not in route and is_outside_thread(route):
            message = await self.channel_store.first_message(conversation_of(route)) or route["thread"]
        return str(message) if channel == route["place"] != message and message else ""

    async def _find_or_open_thread(self, route: ReplyRoute, turn: str, *, is_again: bool) -> str:
        """The channel to write in; for a new conversation in a channel, a new thread."""
        if "says" in route:
            await self._post_question(route, turn, is_again=is_again)
        if "opens" not in route:
            return await self._home(route)
        return await self._open_thread(route, await self._first_message(route))

    async def _home(self, route: ReplyRoute) -> str:
        """The thread or channel where a conversation continues."""
        first = await self._first_message(route) if "opens" in route else ""
        return self._threads.get(first, first) or str(route["place"])

    async def _first_message(self, route: ReplyRoute) -> str:
        """The message that the thread of a new conversation is opened on; empty before it is posted."""
        if "says" in route:
            return await self.channel_store.first_message(conversation_of(route)) or ""
        return str(route["message"])

    async def _open_thread(self, route: ReplyRoute, message: str) -> str:
        """The thread on a message, which has the message's id; the channel where none may be opened."""
        if message in self._threads:
            return self._threads[message]
        thread = message
        try:
            await self._channels.open_thread(route["place"], message, route["opens"])
        except Refused as refused:
            logger.info("no thread could be opened", extra={"reason": refused.code})
            thread = str(route["place"])
        remember(self._threads, message, thread)
        return thread

    async def _post_question(self, route: ReplyRoute, turn: str, *, is_again: bool) -> None:
        """Post the question of a command, which the others did not see, and open a thread on it."""
        if turn in self._questions:
            return
        conversation = conversation_of(route)
        message = await self.channel_store.first_message(conversation) if "opens" in route else None
        if message is None:
            message = await self._find_or_post(route, f"{turn}/asked", is_again=is_again)
        remember(self._questions, turn, message)
        if "opens" in route:
            await self.channel_store.move(conversation, message)

    async def _find_or_post(self, route: ReplyRoute, turn: str, *, is_again: bool) -> str:
        if is_again and (found := await self._channels.find(route["place"], turn, 0)):
            return found
        question = Message(text=route["says"], components=(*lines([route["says"]]),))
        question, nonce = add_mark(question, turn, 0), nonce_of(turn, 0)
        handle = await self._post(route["place"], route, turn, question, nonce=nonce)
        return Handle.parse(handle).message

    async def _send_private(self, route: ReplyRoute, turn: str, message: Message) -> Refused | None:
        """Respond to the interaction or send a direct message; returns the refusal if neither was possible."""
        try:
            if "interaction" in route:
                await self._responses.send_ephemeral(route["interaction"], message)
                return None
        except Refused as refused:
            logger.info("too late to respond to an interaction", extra={"reason": refused.code})
        if route["server"] == DIRECT:
            return Refused("")
        try:
            to = {"recipient_id": route["user"]}
            direct = await self.calls.call("POST", "/users/@me/channels", json=to)
            await self._channels.post(direct["id"], message, nonce=nonce_of(turn, 0))
        except Refused as refused:
            logger.info("a person takes no direct messages", extra={"reason": refused.code})
            return refused
        return None

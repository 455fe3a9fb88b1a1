"""Posts and edits the messages of a turn, each once: in the thread, the channel or a direct message."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from bots.chat.channels import ChannelStore
from bots.chat.platform import Refused
from bots.chat.texts import clipped, say_in
from bots.discord import calls
from bots.discord.calls import (
    MESSAGES,
    MODAL,
    DiscordCalls,
    DiscordChannels,
    DiscordResponses,
    add_mark,
    nonce_of,
    remember,
)
from bots.discord.components import lines
from bots.discord.render import Message, note
from bots.discord.route import DIRECT, conversation_of, is_outside_thread
from core.conversation import ThreadMessage
from core.text.language import language_of
from core.turns.messenger import ReplyRoute

logger = logging.getLogger(__name__)

THREAD_CONTEXT = 20  # messages of a thread that are read when the bot is called into it
CONTEXT_TEXT = 500  # characters of each
WRITTEN = (0, 19)  # types of what people write: a message and a reply, "Message Types"

#: The bot may not write there; another place may do.
_NO_ACCESS = frozenset({calls.MISSING_ACCESS, calls.MISSING_PERMISSIONS, calls.UNKNOWN_CHANNEL})
#: The message to edit is deleted: it is posted again.
_DELETED = frozenset({calls.UNKNOWN_MESSAGE, calls.UNKNOWN_CHANNEL})

RIGHTS = "View Channels, Send Messages, Create Public Threads, Send Messages in Threads, Read Message History"


@dataclass(slots=True, kw_only=True)
class DiscordPosts:
    """Messages by turn and part."""

    calls: DiscordCalls
    channel_store: ChannelStore
    my_user_id: str
    _channels: DiscordChannels = field(init=False)
    _responses: DiscordResponses = field(init=False)
    _threads: dict[str, str] = field(default_factory=dict)  #: first message -> where its thread is written
    _questions: dict[str, str] = field(
        default_factory=dict
    )  #: turn of a command -> message with its question

    def __post_init__(self) -> None:
        self._channels = DiscordChannels(calls=self.calls, my_user_id=self.my_user_id)
        self._responses = DiscordResponses(calls=self.calls, my_user_id=self.my_user_id)

    async def say(self, route: ReplyRoute, turn: str, part: int, message: Message, *, is_again: bool) -> str:
        """ "channel/message"."""
        if is_again and (found := await self.find(route, turn, part)):
            return found
        nonce = nonce_of(turn, part)
        return await self._post_anywhere(
            route, turn, add_mark(message, turn, part), nonce=nonce, is_again=is_again
        )

    async def change(self, route: ReplyRoute, handle: str, turn: str, part: int, message: Message) -> None:
        try:
            await self._channels.edit(handle, add_mark(message, turn, part))
        except Refused as refused:
            if refused.code in _DELETED:
                await self._replace(route, handle, turn, part, message)
                return
            if refused.code in _NO_ACCESS:
                await self._report_no_access(route, turn, refused.code)
            raise

    async def find(self, route: ReplyRoute, turn: str, part: int) -> str | None:
        for place in dict.fromkeys((self._home(route), route["place"])):
            try:
                if found := await self._channels.find(place, turn, part):
                    return f"{place}/{found}"
            except Refused as refused:
                if refused.code not in _NO_ACCESS:
                    raise
        return None

    async def send_ephemeral(self, route: ReplyRoute, message: Message) -> None:
        """As a response to an interaction; a message has none, so there it is a reply that all can read."""
        if "interaction" in route:
            await self._responses.send_ephemeral(route["interaction"], message)
        else:
            # The hash keeps two notes about one message apart: else Discord takes them for one.
            digest = sha256(repr(message).encode()).hexdigest()[:8]
            await self.say(route, f"{route['message']}/whisper/{digest}", 0, message, is_again=False)

    async def send_direct(self, route: ReplyRoute, turn: str, message: Message) -> None:
        """In private if possible; as a reply where the person takes no direct messages."""
        if not await self._send_private(route, turn, message):
            reply_route = {key: value for key, value in route.items() if key not in ("opens", "says")}
            await self.say(reply_route, turn, 0, message, is_again=False)

    async def respond(self, route: ReplyRoute, kind: int, data: Mapping[str, Any] | None = None) -> None:
        """The first response to an interaction; it has three seconds."""
        await self._responses.respond(route["interaction"], kind, data)

    async def open_editor(self, route: ReplyRoute, editor: Any) -> None:
        await self.respond(route, MODAL, editor)

    async def set_status(self, route: ReplyRoute, words: str) -> None:
        """Typing, for ten seconds; a message of the bot ends it."""
        if words:
            await self.calls.call("POST", "/channels/{channel_id}/typing", channel_id=self._home(route))

    async def thread_context(self, route: ReplyRoute) -> tuple[ThreadMessage, ...]:
        """The messages of a thread before the question; in a channel, the one that the question replies to."""
        in_channel, message = is_outside_thread(route), route["message"]
        if route["server"] == DIRECT or (in_channel and not message):
            return ()
        within = {"limit": THREAD_CONTEXT} | ({"before": message} if message else {})
        if in_channel:
            within = {"around": message, "limit": 1}
        found: list[dict[str, Any]] = await self.calls.call(
            "GET", MESSAGES, channel_id=route["place"], **within
        )
        if in_channel:
            found = [each["referenced_message"] for each in found if each.get("referenced_message")]
        return tuple(entry for each in reversed(found) if (entry := self._thread_message(each)))

    def _thread_message(self, message: Mapping[str, Any]) -> ThreadMessage | None:
        """A thread begins with a notice that refers to the message it was opened on."""
        first = message.get("referenced_message") if message["type"] not in WRITTEN else None
        written = first or message
        text = clipped(str(written.get("content") or ""), CONTEXT_TEXT)
        author = written["author"]
        if not text or author["id"] == self.my_user_id:
            return None
        return ThreadMessage(author=author.get("global_name") or author["username"], text=text)

    async def _post_anywhere(
        self, route: ReplyRoute, turn: str, message: Message, *, nonce: str, is_again: bool
    ) -> str:
        """In the conversation's thread, or in the channel where the bot may not write in the thread."""
        try:
            place = await self._open_place(route, turn, is_again=is_again)
            try:
                return await self._post(place, route, turn, message, nonce=nonce)
            except Refused as refused:
                if refused.code not in _NO_ACCESS or place == route["place"]:
                    raise
            remember(self._threads, self._first_message(route), str(route["place"]))
            return await self._post(route["place"], route, turn, message, nonce=nonce)
        except Refused as refused:
            if refused.code in _NO_ACCESS:
                await self._report_no_access(route, turn, refused.code)
            raise

    async def _replace(self, route: ReplyRoute, deleted: str, turn: str, part: int, message: Message) -> None:
        """Post again what was deleted, with another nonce: the old one would return the deleted message."""
        message = add_mark(message, turn, part)
        if found := await self.find(route, turn, part):  # a progress note replaced it already
            await self._channels.edit(found, message)
        else:
            nonce = nonce_of(f"{turn}/instead of {deleted}", part)
            await self._post_anywhere(route, turn, message, nonce=nonce, is_again=True)

    async def _post(self, place: str, route: ReplyRoute, turn: str, message: Message, *, nonce: str) -> str:
        reply_to = self._reply_to(place, route, turn)
        return await self._channels.post(place, message, nonce=nonce, reply_to=reply_to)

    def _reply_to(self, place: str, route: ReplyRoute, turn: str) -> str:
        """The question, if it is in the same place; in a channel, the first message of the conversation."""
        message = self._questions.get(turn) if "says" in route else route["message"]
        if "says" not in route and is_outside_thread(route):
            message = self.channel_store.place_of(conversation_of(route)) or route["thread"]
        return str(message) if place == route["place"] != message and message else ""

    async def _open_place(self, route: ReplyRoute, turn: str, *, is_again: bool) -> str:
        """Where to write; for a new conversation in a channel, a thread is opened."""
        if "says" in route:
            await self._post_question(route, turn, is_again=is_again)
        if "opens" not in route:
            return self._home(route)
        return await self._open_thread(route, self._first_message(route))

    def _home(self, route: ReplyRoute) -> str:
        """The thread or channel where a conversation continues."""
        first = self._first_message(route) if "opens" in route else ""
        return self._threads.get(first, first) or str(route["place"])

    def _first_message(self, route: ReplyRoute) -> str:
        """The message that the thread of a new conversation is opened on; empty before it is posted."""
        if "says" in route:
            return self.channel_store.place_of(conversation_of(route)) or ""
        return str(route["message"])

    async def _open_thread(self, route: ReplyRoute, message: str) -> str:
        """The thread on a message, which has the message's id; the channel where none may be opened."""
        if message in self._threads:
            return self._threads[message]
        place = message
        try:
            await self._channels.open_thread(route["place"], message, route["opens"])
        except Refused as refused:
            logger.info("no thread could be opened", extra={"reason": refused.code})
            place = str(route["place"])
        remember(self._threads, message, place)
        return place

    async def _post_question(self, route: ReplyRoute, turn: str, *, is_again: bool) -> None:
        """Post the question of a command, which the others did not see, and open a thread on it."""
        if turn in self._questions:
            return
        conversation = conversation_of(route)
        message = self.channel_store.place_of(conversation) if "opens" in route else None
        if message is None:
            message = await self._find_or_post(route, f"{turn}/asked", is_again=is_again)
        remember(self._questions, turn, message)
        if "opens" in route:
            self.channel_store.move(conversation, message)

    async def _find_or_post(self, route: ReplyRoute, turn: str, *, is_again: bool) -> str:
        if is_again and (found := await self._channels.find(route["place"], turn, 0)):
            return found
        question = Message(text=route["says"], components=(*lines([route["says"]]),))
        handle = await self._post(
            route["place"], route, turn, add_mark(question, turn, 0), nonce=nonce_of(turn, 0)
        )
        return handle.partition("/")[2]

    async def _report_no_access(self, route: ReplyRoute, turn: str, code: str) -> None:
        """In private, as there is no other place."""
        say = say_in(language_of(route.get("says") or route.get("opens", "")))
        is_gone = code == calls.UNKNOWN_CHANNEL
        message = note(say("place_gone") if is_gone else say("may_not_write", rights=RIGHTS))
        is_sent = await self._send_private(route, f"{turn}/barred", message)
        if not is_sent and route["server"] != DIRECT:
            logger.warning("no place to explain a refusal", extra={"user": route["user"], "reason": code})

    async def _send_private(self, route: ReplyRoute, turn: str, message: Message) -> bool:
        """As a response to the interaction or as a direct message; False if neither was possible."""
        try:
            if "interaction" in route:
                await self._responses.send_ephemeral(route["interaction"], message)
                return True
        except Refused as refused:
            logger.info("too late to respond to an interaction", extra={"reason": refused.code})
        if route["server"] == DIRECT:
            return False
        try:
            await self._channels.post_direct(route["user"], message, nonce=nonce_of(turn, 0))
        except Refused as refused:
            logger.info("a person takes no direct messages", extra={"reason": refused.code})
            return False
        return True

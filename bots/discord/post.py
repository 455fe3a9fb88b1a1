"""Saying a thing once, where it was asked, in a thread of its own, or wherever it may be said."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from bots.chat.channels import ChannelStore
from bots.chat.texts import clipped, say_in
from bots.discord import calls
from bots.discord.calls import (
    MESSAGES,
    MODAL,
    UPDATE_LATER,
    DiscordCalls,
    DiscordChannels,
    DiscordRefused,
    DiscordResponses,
    keep,
    marked,
    nonce_of,
)
from bots.discord.components import lines
from bots.discord.render import Message, note
from bots.discord.route import DIRECT, conversation_of, stands_in_channel
from core.conversation import ThreadMessage
from core.text.language import language_of
from core.turns.messenger import ReplyRoute

__all__ = ["UPDATE_LATER", "DiscordPosts"]

logger = logging.getLogger(__name__)

THREAD_CONTEXT = 20  # messages of a thread that are read when the bot is called into it
REMARK = 500  # characters of each
WRITTEN = (0, 19)  # types of what people write: a message and a reply, "Message Types"

#: Where a message cannot go; another place may take it.
_BARRED = frozenset({calls.MISSING_ACCESS, calls.MISSING_PERMISSIONS, calls.UNKNOWN_CHANNEL})
#: What was to be changed is not there any more: it is said anew.
_GONE = frozenset({calls.UNKNOWN_MESSAGE, calls.UNKNOWN_CHANNEL})

RIGHTS = "View Channels, Send Messages, Create Public Threads, Send Messages in Threads, Read Message History"


@dataclass(slots=True, kw_only=True)
class DiscordPosts:
    """Messages by the turn and part they are."""

    calls: DiscordCalls
    channel_store: ChannelStore
    my_user_id: str
    _channels: DiscordChannels = field(init=False)
    _responses: DiscordResponses = field(init=False)
    #: Message on which a thread stands -> where to write.
    _opened: dict[str, str] = field(default_factory=dict)
    _asked: dict[str, str] = field(default_factory=dict)  #: turn of a command -> what it asked, as a message

    def __post_init__(self) -> None:
        self._channels = DiscordChannels(calls=self.calls, my_user_id=self.my_user_id)
        self._responses = DiscordResponses(calls=self.calls, my_user_id=self.my_user_id)

    async def say(self, route: ReplyRoute, turn: str, part: int, message: Message, *, is_again: bool) -> str:
        """ "channel/message"."""
        if is_again and (found := await self.find(route, turn, part)):
            return found
        nonce = nonce_of(turn, part)
        return await self._say_new(route, turn, marked(message, turn, part), nonce=nonce, is_again=is_again)

    async def change(self, route: ReplyRoute, handle: str, turn: str, part: int, message: Message) -> None:
        try:
            await self._channels.edit(handle, marked(message, turn, part))
        except DiscordRefused as refused:
            if refused.code in _GONE:
                await self._say_anew(route, handle, turn, part, message)
                return
            if refused.code in _BARRED:
                await self._tell_that_i_may_not(route, turn, refused.code)
            raise

    async def find(self, route: ReplyRoute, turn: str, part: int) -> str | None:
        for place in dict.fromkeys((self._home(route), route["place"])):
            try:
                if found := await self._channels.find(place, turn, part):
                    return f"{place}/{found}"
            except DiscordRefused as refused:
                if refused.code not in _BARRED:
                    raise
        return None

    async def send_ephemeral(self, route: ReplyRoute, message: Message) -> None:
        """To whoever pressed; a message has no private answer, so that one stands where it was asked."""
        if "interaction" in route:
            await self._responses.send_ephemeral(route["interaction"], message)
        else:
            # Named by what is said too: else two of them about one message would be one to Discord.
            said = sha256(repr(message).encode()).hexdigest()[:8]
            await self.say(route, f"{route['message']}/whisper/{said}", 0, message, is_again=False)

    async def send_direct(self, route: ReplyRoute, turn: str, message: Message) -> None:
        """In a direct message, as a message has no private answer; a reply only where those are closed."""
        if not await self._tell_alone(route, turn, message):
            there = {key: known for key, known in route.items() if key not in ("opens", "says")}
            await self.say(there, turn, 0, message, is_again=False)

    async def respond(self, route: ReplyRoute, kind: int, data: Mapping[str, Any] | None = None) -> None:
        """The first answer to a press or a command; it has three seconds."""
        await self._responses.give(route["interaction"], kind, data)

    async def open_editor(self, route: ReplyRoute, editor: Any) -> None:
        await self.respond(route, MODAL, editor)

    async def set_status(self, route: ReplyRoute, words: str) -> None:
        """Typing, for ten seconds; a message of the bot ends it."""
        if words:
            await self.calls.call("POST", "/channels/{channel_id}/typing", channel_id=self._home(route))

    async def thread_context(self, route: ReplyRoute) -> tuple[ThreadMessage, ...]:
        """What stands in a thread before the question, or the message that the question replies to."""
        is_in_channel, message = stands_in_channel(route), route["message"]
        if route["server"] == DIRECT or (is_in_channel and not message):
            return ()
        within = {"limit": THREAD_CONTEXT} | ({"before": message} if message else {})
        if is_in_channel:
            within = {"around": message, "limit": 1}
        found: list[dict[str, Any]] = await self.calls.call(
            "GET", MESSAGES, channel_id=route["place"], **within
        )
        if is_in_channel:
            found = [each["referenced_message"] for each in found if each.get("referenced_message")]
        return tuple(remark for each in reversed(found) if (remark := self._remark(each)))

    def _remark(self, message: Mapping[str, Any]) -> ThreadMessage | None:
        """A thread's own first message is a notice that points at the one it was opened on."""
        begun = message.get("referenced_message") if message["type"] not in WRITTEN else None
        said = begun or message
        words = clipped(str(said.get("content") or ""), REMARK)
        author = said["author"]
        is_said = bool(words) and author["id"] != self.my_user_id
        return (
            ThreadMessage(author=author.get("global_name") or author["username"], text=words)
            if is_said
            else None
        )

    async def _say_new(
        self, route: ReplyRoute, turn: str, message: Message, *, nonce: str, is_again: bool
    ) -> str:
        """In the conversation's thread, or in the channel where the thread may not be written in."""
        try:
            place = await self._place(route, turn, is_again=is_again)
            try:
                return await self._post(place, route, turn, message, nonce=nonce)
            except DiscordRefused as refused:
                if refused.code not in _BARRED or place == route["place"]:
                    raise
            keep(self._opened, self._begun(route), str(route["place"]))
            return await self._post(route["place"], route, turn, message, nonce=nonce)
        except DiscordRefused as refused:
            if refused.code in _BARRED:
                await self._tell_that_i_may_not(route, turn, refused.code)
            raise

    async def _say_anew(self, route: ReplyRoute, gone: str, turn: str, part: int, message: Message) -> None:
        """In place of what is gone, whose nonce brings nothing back but that."""
        anew = marked(message, turn, part)
        if found := await self.find(route, turn, part):  # a note of progress came first
            await self._channels.edit(found, anew)
        else:
            nonce = nonce_of(f"{turn}/instead of {gone}", part)
            await self._say_new(route, turn, anew, nonce=nonce, is_again=True)

    async def _post(self, place: str, route: ReplyRoute, turn: str, message: Message, *, nonce: str) -> str:
        replied = self._replied(place, route, turn)
        return await self._channels.post(place, message, nonce=nonce, replied=replied)

    def _replied(self, place: str, route: ReplyRoute, turn: str) -> str:
        """What is answered, where it stands in the same place; in a channel, what began it all."""
        replied = self._asked.get(turn) if "says" in route else route["message"]
        if "says" not in route and stands_in_channel(route):
            replied = self.channel_store.place_of(conversation_of(route)) or route["thread"]
        return str(replied) if place == route["place"] != replied and replied else ""

    async def _place(self, route: ReplyRoute, turn: str, *, is_again: bool) -> str:
        """The channel to write in; a thread is opened for a conversation that begins in a channel."""
        if "says" in route:
            await self._say_what_was_asked(route, turn, is_again=is_again)
        if "opens" not in route:
            return self._home(route)
        return await self._open(route, self._begun(route))

    def _home(self, route: ReplyRoute) -> str:
        """Where a conversation goes on, as far as it is known."""
        begun = self._begun(route) if "opens" in route else ""
        return self._opened.get(begun, begun) or str(route["place"])

    def _begun(self, route: ReplyRoute) -> str:
        """The message on which the thread of a new conversation stands; empty before it is said."""
        if "says" in route:
            return self.channel_store.place_of(conversation_of(route)) or ""
        return str(route["message"])

    async def _open(self, route: ReplyRoute, message: str) -> str:
        """The thread on a message: it has the message's id. Where none may be opened, the channel."""
        if message in self._opened:
            return self._opened[message]
        place = message
        try:
            await self._channels.open_thread(route["place"], message, route["opens"])
        except DiscordRefused as refused:
            logger.info("no thread could be opened", extra={"reason": refused.code})
            place = str(route["place"])
        keep(self._opened, message, place)
        return place

    async def _say_what_was_asked(self, route: ReplyRoute, turn: str, *, is_again: bool) -> None:
        """The question of a command is said first, as nobody else saw it; a thread is opened on it."""
        if turn in self._asked:
            return
        conversation = conversation_of(route)
        said = self.channel_store.place_of(conversation) if "opens" in route else None
        if said is None:
            said = await self._find_or_post(route, f"{turn}/asked", is_again=is_again)
        keep(self._asked, turn, said)
        if "opens" in route:
            self.channel_store.move(conversation, said)

    async def _find_or_post(self, route: ReplyRoute, turn: str, *, is_again: bool) -> str:
        if is_again and (found := await self._channels.find(route["place"], turn, 0)):
            return found
        asked = Message(text=route["says"], components=(*lines([route["says"]]),))
        handle = await self._post(
            route["place"], route, turn, marked(asked, turn, 0), nonce=nonce_of(turn, 0)
        )
        return handle.partition("/")[2]

    async def _tell_that_i_may_not(self, route: ReplyRoute, turn: str, code: str) -> None:
        """Where only whoever asked sees it, as there is no other way."""
        say = say_in(language_of(route.get("says") or route.get("opens", "")))
        is_gone = code == calls.UNKNOWN_CHANNEL
        word = note(say("place_gone") if is_gone else say("may_not_write", rights=RIGHTS))
        is_told = await self._tell_alone(route, f"{turn}/barred", word)
        if not is_told and route["server"] != DIRECT:
            logger.warning("nobody could be told", extra={"user": route["user"], "reason": code})

    async def _tell_alone(self, route: ReplyRoute, turn: str, message: Message) -> bool:
        """Whether there was a place that only the one who spoke or pressed sees."""
        try:
            if "interaction" in route:
                await self._responses.send_ephemeral(route["interaction"], message)
                return True
        except DiscordRefused as refused:
            logger.info("too late to answer a press or a command", extra={"reason": refused.code})
        if route["server"] == DIRECT:
            return False
        try:
            await self._channels.write_to(route["user"], message, nonce=nonce_of(turn, 0))
        except DiscordRefused as refused:
            logger.info("a person takes no direct messages", extra={"reason": refused.code})
            return False
        return True

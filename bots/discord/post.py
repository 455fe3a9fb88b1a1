"""Saying a thing once, where it was asked, in a thread of its own, or wherever it may be said."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from bots.chat.channels import Rooms
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
from core.conversation import Remark
from core.text.language import language_of
from core.turns.messenger import Address

__all__ = ["UPDATE_LATER", "DiscordPosts"]

logger = logging.getLogger(__name__)

OVERHEARD = 20  # messages of a thread that are read when the bot is called into it
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
    rooms: Rooms
    my_user_id: str
    _channels: DiscordChannels = field(init=False)
    _responses: DiscordResponses = field(init=False)
    #: Message on which a thread stands -> where to write.
    _opened: dict[str, str] = field(default_factory=dict)
    _asked: dict[str, str] = field(default_factory=dict)  #: turn of a command -> what it asked, as a message

    def __post_init__(self) -> None:
        self._channels = DiscordChannels(calls=self.calls, my_user_id=self.my_user_id)
        self._responses = DiscordResponses(calls=self.calls, my_user_id=self.my_user_id)

    async def say(self, address: Address, turn: str, part: int, message: Message, *, is_again: bool) -> str:
        """ "channel/message"."""
        if is_again and (found := await self.find(address, turn, part)):
            return found
        nonce = nonce_of(turn, part)
        return await self._say_new(address, turn, marked(message, turn, part), nonce=nonce, is_again=is_again)

    async def change(self, address: Address, handle: str, turn: str, part: int, message: Message) -> None:
        try:
            await self._channels.edit(handle, marked(message, turn, part))
        except DiscordRefused as refused:
            if refused.code in _GONE:
                await self._say_anew(address, handle, turn, part, message)
                return
            if refused.code in _BARRED:
                await self._tell_that_i_may_not(address, turn, refused.code)
            raise

    async def find(self, address: Address, turn: str, part: int) -> str | None:
        for place in dict.fromkeys((self._home(address), address["place"])):
            try:
                if found := await self._channels.find(place, turn, part):
                    return f"{place}/{found}"
            except DiscordRefused as refused:
                if refused.code not in _BARRED:
                    raise
        return None

    async def whisper(self, address: Address, message: Message) -> None:
        """To whoever pressed; a message has no private answer, so that one stands where it was asked."""
        if "interaction" in address:
            await self._responses.whisper(address["interaction"], message)
        else:
            # Named by what is said too: else two of them about one message would be one to Discord.
            said = sha256(repr(message).encode()).hexdigest()[:8]
            await self.say(address, f"{address['message']}/whisper/{said}", 0, message, is_again=False)

    async def confide(self, address: Address, turn: str, message: Message) -> None:
        """In a direct message, as a message has no private answer; a reply only where those are closed."""
        if not await self._tell_alone(address, turn, message):
            there = {key: known for key, known in address.items() if key not in ("opens", "says")}
            await self.say(there, turn, 0, message, is_again=False)

    async def respond(self, address: Address, kind: int, data: Mapping[str, Any] | None = None) -> None:
        """The first answer to a press or a command; it has three seconds."""
        await self._responses.give(address["interaction"], kind, data)

    async def open_editor(self, address: Address, editor: Any) -> None:
        await self.respond(address, MODAL, editor)

    async def set_status(self, address: Address, words: str) -> None:
        """Typing, for ten seconds; a message of the bot ends it."""
        if words:
            await self.calls.call("POST", "/channels/{channel_id}/typing", channel_id=self._home(address))

    async def overheard(self, address: Address) -> tuple[Remark, ...]:
        """What stands in a thread before the question, or the message that the question replies to."""
        is_in_channel, message = stands_in_channel(address), address["message"]
        if address["server"] == DIRECT or (is_in_channel and not message):
            return ()
        within = {"limit": OVERHEARD} | ({"before": message} if message else {})
        if is_in_channel:
            within = {"around": message, "limit": 1}
        found: list[dict[str, Any]] = await self.calls.call(
            "GET", MESSAGES, channel_id=address["place"], **within
        )
        if is_in_channel:
            found = [each["referenced_message"] for each in found if each.get("referenced_message")]
        return tuple(remark for each in reversed(found) if (remark := self._remark(each)))

    def _remark(self, message: Mapping[str, Any]) -> Remark | None:
        """A thread's own first message is a notice that points at the one it was opened on."""
        begun = message.get("referenced_message") if message["type"] not in WRITTEN else None
        said = begun or message
        words = clipped(str(said.get("content") or ""), REMARK)
        author = said["author"]
        is_said = bool(words) and author["id"] != self.my_user_id
        return Remark(author=author.get("global_name") or author["username"], text=words) if is_said else None

    async def _say_new(
        self, address: Address, turn: str, message: Message, *, nonce: str, is_again: bool
    ) -> str:
        """In the conversation's thread, or in the channel where the thread may not be written in."""
        try:
            place = await self._place(address, turn, is_again=is_again)
            try:
                return await self._post(place, address, turn, message, nonce=nonce)
            except DiscordRefused as refused:
                if refused.code not in _BARRED or place == address["place"]:
                    raise
            keep(self._opened, self._begun(address), str(address["place"]))
            return await self._post(address["place"], address, turn, message, nonce=nonce)
        except DiscordRefused as refused:
            if refused.code in _BARRED:
                await self._tell_that_i_may_not(address, turn, refused.code)
            raise

    async def _say_anew(self, address: Address, gone: str, turn: str, part: int, message: Message) -> None:
        """In place of what is gone, whose nonce brings nothing back but that."""
        anew = marked(message, turn, part)
        if found := await self.find(address, turn, part):  # a note of progress came first
            await self._channels.edit(found, anew)
        else:
            nonce = nonce_of(f"{turn}/instead of {gone}", part)
            await self._say_new(address, turn, anew, nonce=nonce, is_again=True)

    async def _post(self, place: str, address: Address, turn: str, message: Message, *, nonce: str) -> str:
        replied = self._replied(place, address, turn)
        return await self._channels.post(place, message, nonce=nonce, replied=replied)

    def _replied(self, place: str, address: Address, turn: str) -> str:
        """What is answered, where it stands in the same place; in a channel, what began it all."""
        replied = self._asked.get(turn) if "says" in address else address["message"]
        if "says" not in address and stands_in_channel(address):
            replied = self.rooms.place_of(conversation_of(address)) or address["thread"]
        return str(replied) if place == address["place"] != replied and replied else ""

    async def _place(self, address: Address, turn: str, *, is_again: bool) -> str:
        """The channel to write in; a thread is opened for a conversation that begins in a channel."""
        if "says" in address:
            await self._say_what_was_asked(address, turn, is_again=is_again)
        if "opens" not in address:
            return self._home(address)
        return await self._open(address, self._begun(address))

    def _home(self, address: Address) -> str:
        """Where a conversation goes on, as far as it is known."""
        begun = self._begun(address) if "opens" in address else ""
        return self._opened.get(begun, begun) or str(address["place"])

    def _begun(self, address: Address) -> str:
        """The message on which the thread of a new conversation stands; empty before it is said."""
        if "says" in address:
            return self.rooms.place_of(conversation_of(address)) or ""
        return str(address["message"])

    async def _open(self, address: Address, message: str) -> str:
        """The thread on a message: it has the message's id. Where none may be opened, the channel."""
        if message in self._opened:
            return self._opened[message]
        place = message
        try:
            await self._channels.open_thread(address["place"], message, address["opens"])
        except DiscordRefused as refused:
            logger.info("no thread could be opened", extra={"reason": refused.code})
            place = str(address["place"])
        keep(self._opened, message, place)
        return place

    async def _say_what_was_asked(self, address: Address, turn: str, *, is_again: bool) -> None:
        """The question of a command is said first, as nobody else saw it; a thread is opened on it."""
        if turn in self._asked:
            return
        conversation = conversation_of(address)
        said = self.rooms.place_of(conversation) if "opens" in address else None
        if said is None:
            said = await self._find_or_post(address, f"{turn}/asked", is_again=is_again)
        keep(self._asked, turn, said)
        if "opens" in address:
            self.rooms.move(conversation, said)

    async def _find_or_post(self, address: Address, turn: str, *, is_again: bool) -> str:
        if is_again and (found := await self._channels.find(address["place"], turn, 0)):
            return found
        asked = Message(text=address["says"], components=(*lines([address["says"]]),))
        handle = await self._post(
            address["place"], address, turn, marked(asked, turn, 0), nonce=nonce_of(turn, 0)
        )
        return handle.partition("/")[2]

    async def _tell_that_i_may_not(self, address: Address, turn: str, code: str) -> None:
        """Where only whoever asked sees it, as there is no other way."""
        say = say_in(language_of(address.get("says") or address.get("opens", "")))
        is_gone = code == calls.UNKNOWN_CHANNEL
        word = note(say("place_gone") if is_gone else say("may_not_write", rights=RIGHTS))
        is_told = await self._tell_alone(address, f"{turn}/barred", word)
        if not is_told and address["server"] != DIRECT:
            logger.warning("nobody could be told", extra={"user": address["user"], "reason": code})

    async def _tell_alone(self, address: Address, turn: str, message: Message) -> bool:
        """Whether there was a place that only the one who spoke or pressed sees."""
        try:
            if "interaction" in address:
                await self._responses.whisper(address["interaction"], message)
                return True
        except DiscordRefused as refused:
            logger.info("too late to answer a press or a command", extra={"reason": refused.code})
        if address["server"] == DIRECT:
            return False
        try:
            await self._channels.write_to(address["user"], message, nonce=nonce_of(turn, 0))
        except DiscordRefused as refused:
            logger.info("a person takes no direct messages", extra={"reason": refused.code})
            return False
        return True

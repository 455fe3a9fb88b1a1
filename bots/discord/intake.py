"""What Discord brings, read and handed to the reception; then, where somebody waits, acknowledged."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bots.chat.channels import Rooms
from bots.chat.inbox import Reception
from bots.chat.incoming import Room
from bots.chat.said import Feedback, Said, Word
from bots.chat.texts import ENGLISH, say_in
from bots.discord import interactions, post
from bots.discord.address import DIRECT, PLATFORM, Address, Me, conversation_of, said_at, turn_id
from bots.discord.calls import DiscordRefused
from bots.discord.heard import Heard
from bots.discord.interactions import Act
from bots.discord.message import note
from bots.discord.post import DiscordPosts
from bots.discord.receive import Seen, is_called, place_of, read, thread_of
from bots.discord.seen import act as act_of
from bots.discord.seen import seen
from core.errors import QuestionRejected
from core.text.language import language_of
from core.wording import in_language

if TYPE_CHECKING:
    import discord

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """One bot's ear."""

    reception: Reception
    rooms: Rooms
    posts: DiscordPosts
    me: Callable[[], Me]
    reads_content: Callable[[], bool]  #: whether the Message Content intent is granted
    heard: Heard

    async def take_message(self, message: discord.Message) -> None:
        """Stored when this returns; whatever it raises, the message is looked for again."""
        await self.take_seen(seen(message, self.me().user_id))

    async def take_seen(self, message: Seen) -> None:
        me = self.me()
        message = self._anew_if_unknown(message, me)
        moved = self.rooms.moved_to(thread_of(message))
        address = place_of(message, me, moved)
        room = self.rooms.room_of(conversation_of(address))
        if self._is_unreadable(message, me):
            # What nobody could read when it was said decides nothing once it can be read.
            self.rooms.remember_forgotten([turn_id(address, message.id)])
            self._say_that_it_cannot_be_read(message, address, room)
            return
        try:
            said = read(message, me, room, moved)
        except QuestionRejected as rejection:
            await self.reception.tell(
                turn_id(address, message.id),
                conversation_of(address),
                message.author,
                in_language(rejection.sentence, language_of(message.text)),
                address,
            )
            return
        if isinstance(said, Word):
            address.pop("opens", None)  # a thread is for a conversation, not for a word
        if said is not None:
            await self.reception.take(said, address, files=len(message.files))

    def _anew_if_unknown(self, message: Seen, me: Me) -> Seen:
        """A reply in a channel to what began no conversation, such as help, begins one."""
        if not message.answers_me or message.is_thread:
            return message
        address = place_of(message, me, self.rooms.moved_to(thread_of(message)))
        is_known = self.rooms.room_of(conversation_of(address)).knows_thread
        return message if is_known else replace(message, answers=None)

    def _is_unreadable(self, message: Seen, me: Me) -> bool:
        """Discord leaves the words out unless they mention the bot itself, or are said to it alone."""
        is_empty = message.is_written and not message.text and not message.files
        is_shown = message.server == DIRECT or me.user_id in message.names
        return not self.reads_content() and is_empty and not is_shown

    def _say_that_it_cannot_be_read(self, message: Seen, address: Address, room: Room) -> None:
        """To whoever speaks to the bot; to others once in a server, as they may not have meant it."""
        address.pop("opens", None)
        if not is_called(message, self.me()):
            is_meant = message.is_thread and room.may_follow(message.author, said_at(message.id))
            if not is_meant or not self.rooms.take_word(f"{PLATFORM}/{address['server']}/cannot read"):
                return
        self.reception.begin(self.reception.voice.whisper(address, say_in(ENGLISH)("cannot_read")))

    async def take_interaction(self, interaction: discord.Interaction) -> None:
        """Stored, then acknowledged: what could not be stored is seen to have failed."""
        given = self._at_home(act_of(interaction, self.me()))
        reads = _KINDS.get(interaction.type.name)
        if reads is None:
            return
        try:
            said = reads(given)
        except QuestionRejected as rejection:
            await self.posts.whisper(given.address, note(in_language(rejection.sentence, given.language)))
            return
        if said is None:
            return
        is_command = "name" in given.data
        if await self.reception.take(said, given.address, is_awaited=is_command) or not is_command:
            await self._acknowledge(said, given)

    def _at_home(self, given: Act) -> Act:
        """A conversation that was begun by a command has another name than its thread."""
        moved = self.rooms.moved_to(given.address["thread"])
        if moved is not None:
            given.address["thread"] = moved.thread
        return given

    async def _acknowledge(self, said: Said, given: Act) -> None:
        """A form is opened by the answer itself; everything else is answered elsewhere."""
        if isinstance(said, Word) and said.name == "edit":
            return
        key = "noted" if isinstance(said, Feedback) else _ANSWERS.get(str(given.data.get("name", "")))
        try:
            if key:
                await self.posts.whisper(given.address, note(say_in(given.language)(key)))
            elif "name" not in given.data:
                await self.posts.respond(given.address, post.UPDATE_LATER)
        except DiscordRefused as refused:
            logger.info("too late to acknowledge", extra={"reason": refused.code})


#: What a command is told at once, whose answer comes elsewhere; others are answered by a whisper.
_ANSWERS: Mapping[str, str] = {
    "ask": "answered_below",
    "Ask about this": "answered_below",
    "learn": "on_it",
    "forget": "on_it",
}

_KINDS: Mapping[str, Callable[[Act], Said | None]] = {
    "component": interactions.pressed,
    "modal_submit": interactions.submitted,
    "application_command": interactions.commanded,
}

"""Carries out the stored commands, and shows their replies to all or to their author."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import count
from typing import Generic

from bots.chat.cards import Cards
from bots.chat.commands import ChatCommands
from bots.chat.incoming import unqueued
from bots.chat.layout import reply_messages
from bots.chat.platform import CommandReply, Note, Posts, Refused, Renderer, Shown
from bots.chat.private_replies import PrivateReplies
from bots.chat.texts import say_in
from core.conversation import Command, Outcome, log_fields
from core.errors import FootnoteError, StoreUnavailable, for_people
from core.turns.disk_watch import disk_trouble
from core.turns.messenger import ReplyRoute, Unreachable
from core.wording import Sentence, in_language

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRunner(Generic[Shown]):
    """Runs each command once for all its deliveries. What it does may be done twice after a kill."""

    posts: Posts[Shown]
    renderer: Renderer[Shown]
    commands: ChatCommands
    cards: Cards[Shown]
    private_replies: PrivateReplies[Shown]
    outcomes: Callable[[str], Awaitable[Outcome | None]]  #: by turn, as long as it is stored

    async def run(self, command: Command, route: ReplyRoute, *, is_again: bool) -> None:
        is_private = unqueued(command).is_private
        messages = [
            (message, is_private or (isinstance(reply, Note) and reply.is_private))
            for reply in await self._replies(command, route)
            for message in reply_messages(self.renderer, reply)
        ]
        try:
            for part, (message, is_hidden) in enumerate(messages):
                if is_hidden:
                    await self.private_replies.send_direct(
                        command, route, message, name=str(part), may_be_public=False
                    )
                else:
                    await self.posts.say(route, command.id, part, message, is_again=is_again)
        except Refused as refused:
            await self.private_replies.explain(command, route, refused, unqueued(command).language)

    async def _replies(self, command: Command, route: ReplyRoute) -> tuple[CommandReply, ...]:
        chat_command = unqueued(command)
        say = say_in(chat_command.language)
        if chat_command.name == "forget":
            await self.cards.close_all(command, route)
        try:
            return await self.commands.carry_out(chat_command, route)
        except Unreachable:  # carried out again when the platform can be reached
            raise
        except StoreUnavailable as trouble:
            logger.exception("a command could not be stored", extra=log_fields(command))
            reason = disk_trouble(trouble) or Sentence("disk_refused")
            return (Note(text=say("not_written", trouble=reason), is_private=True),)
        except FootnoteError as trouble:
            sentence = in_language(for_people(trouble), chat_command.language)
            return (Note(text=sentence, is_private=True),)
        except Exception:
            # The boundary of a command: the person learns of every failure.
            logger.exception("a command failed", extra=log_fields(command))
            return (Note(text=say("own_fault"), is_private=True),)

    async def withdraw(self, command: Command, route: ReplyRoute) -> None:
        """Replace an answer that nobody asked the bot for by one line; repeated, it changes nothing more."""
        turn_id, language = unqueued(command).argument, unqueued(command).language
        outcome = await self.outcomes(turn_id)
        line = self.renderer.note(say_in(outcome.language if outcome else language)("withdrawn"))
        if first := await self.posts.find(route, turn_id, 0):
            try:
                await self.posts.change(route, first, turn_id, 0, line)
            except Refused as refused:  # a locked thread, for one
                await self.private_replies.explain(command, route, refused, language)
                return
        others: list[str] = []
        for part in count(1):
            handle = await self.posts.find(route, turn_id, part)
            if handle is None:
                break
            others.append(handle)
        for handle in reversed(others):  # cut off in between, those that are left are found again
            await self.posts.delete(route, handle)

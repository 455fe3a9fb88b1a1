"""What a press or an edit asks: the turn that it stands for, the same however often it is delivered."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from bots.chat.incoming import ChatCommand
from bots.chat.upload_index import with_reading
from core.conversation import Question, Turn
from core.turns.archive import is_erased, outcome_of, question_of, stored_turn

#: How often it is looked whether a message that an edit changes was left unanswered, and seconds between.
LOOKS, LOOK_EVERY = 20, 0.1


async def turn_asked_by(command: ChatCommand) -> Turn | None:
    """The turn that "again", "read" or "choose" asks for; None if what it is about is gone, or not from here."""
    match command.name:
        case "again":
            return await _repeated(command)
        case "read":
            question = await _question_here(command, command.argument)
            return with_reading(question, command.author, command.said_at) if question else None
        case "choose":
            return await _chosen(command)
        case _:
            return None


async def _repeated(command: ChatCommand) -> Turn | None:
    turn = await stored_turn(command.argument)
    if turn is None or turn.conversation != command.conversation:
        return None
    again = tried_again(turn, command.author)
    if isinstance(again, Question):
        return replace(again, asked_at=command.said_at)
    return replace(again, decided_at=command.said_at)


async def _chosen(command: ChatCommand) -> Question | None:
    """One of the options with which a question was answered."""
    number, _, turn_id = command.argument.partition(":")
    outcome = await outcome_of(turn_id) if await _question_here(command, turn_id) else None
    options = outcome.options if outcome else ()
    is_listed = number.isdecimal() and 0 < int(number) <= len(options)
    return question_from(command, options[int(number) - 1]) if is_listed else None


async def _question_here(command: ChatCommand, turn_id: str) -> Question | None:
    """A question of the command's own conversation: nobody brings another one's to light."""
    question = await question_of(turn_id)
    return question if question and question.conversation == command.conversation else None


def question_from(command: ChatCommand, text: str) -> Question:
    """A new question by the author of the command."""
    return Question(
        id=command.id, conversation=command.conversation, author=command.author,
        text=text, asked_at=command.said_at,
    )  # fmt: skip


def tried_again(turn: Turn, presser: str) -> Turn:
    """The turn anew, by whoever pressed; but only who brought files may let them be read, so they stay the asker."""
    is_with_files = isinstance(turn, Question) and turn.attachments
    return replace(turn, id=_next_try(turn.id), author=turn.author if is_with_files else presser)


async def asked_anew(edited: Question) -> Question:
    """What an edit asks of a message that nobody addressed to the bot, and that it left unanswered."""
    for _ in range(LOOKS):
        has_ended = await outcome_of(edited.id) is not None
        before = await question_of(edited.id)
        if before is not None and is_erased(before):
            return replace(edited, id=_next_try(edited.id))
        if before is None or before.is_addressed or has_ended:
            break
        await asyncio.sleep(LOOK_EVERY)  # it is being looked into
    return edited


def _next_try(turn_id: str) -> str:
    """ "q" -> "q~2" -> "q~3"; what follows a slash is part of the name."""
    first, _, number = turn_id.rpartition("~")
    return f"{first}~{int(number) + 1}" if number.isdecimal() and first else f"{turn_id}~2"

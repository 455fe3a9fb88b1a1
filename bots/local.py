"""The conversations of this machine's own terminal: their names, who speaks, and turns cut off."""

from __future__ import annotations

import getpass
import os
import secrets
import time
from collections.abc import Callable
from uuid import uuid4

from bots.terminal.receive import Situation
from core.conversation import Conversation, Decision, Outcome, Question, Turn, Verdict
from core.errors import SettingsError
from core.turns.assistant import Assistant, Report

PLATFORM, SPACE, CHANNEL = "cli", "local", "terminal"
THREAD_LIMIT = 200  # characters of a thread's name


def conversation_named(name: str) -> Conversation:
    """The conversation of a bare thread name, or of the full id that ``--json`` prints."""
    bare = name.strip().removeprefix(f"{PLATFORM}/{SPACE}/{CHANNEL}/")
    if not bare or len(bare) > THREAD_LIMIT or not bare.isprintable():
        raise SettingsError(f"A thread's name has 1 to {THREAD_LIMIT} printable characters.")
    return Conversation(platform=PLATFORM, space=SPACE, channel=CHANNEL, thread=bare)


def fresh_conversation() -> Conversation:
    """A conversation of its own, with a name short enough to type."""
    return conversation_named(secrets.token_hex(3))


def situation(conversation: Conversation, *, sources: tuple[str, ...] = (), passages: int = 0) -> Situation:
    """Here and now, for a turn about to be made."""
    return Situation(
        turn_id=uuid4().hex,
        now=time.time(),
        conversation=conversation,
        author=author(),
        sources=sources,
        passages=passages,
    )


def author() -> str:
    """The operating system's user name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run as a user that has no name
        return f"user {os.getuid()}"


def _ignore(_: object) -> None:
    return None


async def run_in_order(
    assistant: Assistant,
    turn: Turn,
    report: Report = _ignore,
    *,
    on_unfinished: Callable[[Turn], None] = _ignore,
    on_finished: Callable[[Outcome], None] = _ignore,
) -> Outcome:
    """The turn's outcome, after that of a turn which a stopped process left in the middle.

    When the turn cut off is the same one, asked again, its outcome is the outcome.
    """
    left = await assistant.unfinished(turn.conversation)
    if left is not None:
        if is_same(left, turn):
            return await assistant.run(left, report)
        on_unfinished(left)
        on_finished(await assistant.run(left, report))
    return await assistant.run(turn, report)


def is_same(left: Turn, turn: Turn) -> bool:
    """Whether two turns of one conversation say the same, whenever they were sent."""
    if isinstance(left, Question):
        return isinstance(turn, Question) and (left.text, left.sources) == (turn.text, turn.sources)
    return isinstance(turn, Decision) and _decided(left) == _decided(turn)


def _decided(turn: Decision) -> tuple[str, Verdict, str | None]:
    return turn.proposal_id, turn.verdict, turn.query

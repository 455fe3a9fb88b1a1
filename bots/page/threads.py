"""The threads of the page: a form that was sent becomes a turn, and what is said in a thread and how it ended is
kept as long as nobody forgets it. The Messenger writes it there, wherever the browser is.
"""

# ruff: noqa: ARG002 - the Messenger's port has the arguments that platforms need

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import cast
from urllib.parse import quote, unquote

from bots.chat.messenger import ThrottledProgress, first_progress
from bots.chat.texts import language_of_turn, progress_note
from bots.page.sessions import PageSession
from core.conversation import (
    Answer,
    Command,
    Conversation,
    Outcome,
    Progress,
    Question,
    Turn,
    log_fields,
    value,
)
from core.errors import FootnoteError
from core.storage.database import AsyncDatabase
from core.turns import archive
from core.turns.messenger import Messenger, ReplyRoute, Unreachable

logger = logging.getLogger(__name__)

LISTED = 50  # threads


@value
class PageTurn:
    """One turn of a thread, and how far it is."""

    turn: Turn
    stage: str = ""  #: a sentence, until it ends
    beginning: Answer | None = None  #: the beginning of its answer that is checked by now
    outcome: Outcome | None = None


@value
class ThreadSummary:
    """A thread in a list."""

    conversation: Conversation
    began_at: float
    text: str  #: of its first question
    turns: int


@dataclass(frozen=True, slots=True)
class PageThreads:
    """Raises StoreUnavailable when nothing can be read or written now."""

    database: AsyncDatabase

    async def put(self, turn: Turn) -> None:
        """Store a turn; the second time changes nothing."""
        conversation = turn.conversation
        at = turn.asked_at if isinstance(turn, Question) else turn.decided_at
        await self.database.write(
            "INSERT INTO page_turns (turn, conversation, channel, said_at, content) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (turn) DO NOTHING",
            (turn.id, conversation.id, conversation.channel_id, at, json.dumps(archive.plain(turn))),
        )

    async def note(self, turn: str, sentence: str, progress: Progress) -> None:
        stage = json.dumps({"sentence": sentence, "progress": asdict(progress)})
        await self.database.write(
            "UPDATE page_turns SET stage = ? WHERE turn = ? AND outcome = ''", (stage, turn)
        )

    async def end(self, turn: str, outcome: Outcome) -> None:
        await self.database.write(
            "UPDATE page_turns SET stage = '', outcome = ? WHERE turn = ?",
            (json.dumps(archive.plain(outcome)), turn),
        )

    async def look(self, turn: str) -> tuple[str, Outcome | None]:
        """The current step of a turn as a sentence, or the checked beginning of its answer; and its outcome once it ended.

        Empty and None for an unknown turn.
        """
        rows = await self.database.rows("SELECT stage, outcome FROM page_turns WHERE turn = ?", (turn,))
        stage, outcome = rows[0] if rows else ("", "")
        sentence, beginning = _stage_of(stage)
        said = beginning.text if beginning else sentence
        return said, archive.read(Outcome, json.loads(outcome)) if outcome else None

    async def turns(self, conversation: Conversation) -> tuple[PageTurn, ...]:
        """The turns of a thread, oldest first."""
        rows = await self.database.rows(
            "SELECT content, stage, outcome FROM page_turns WHERE conversation = ? ORDER BY said_at, turn",
            (conversation.id,),
        )
        turns = []
        for content, written, outcome in rows:
            stage, beginning = _stage_of(written)
            ended = archive.read(Outcome, json.loads(outcome)) if outcome else None
            turn = archive.turn_from(json.loads(content))
            turns.append(PageTurn(turn=turn, stage=stage, beginning=beginning, outcome=ended))
        return tuple(turns)

    async def progress(self, conversation: Conversation) -> dict[str, tuple[str, bool]]:
        """The stored step of each turn, and whether it has ended."""
        rows = await self.database.rows(
            "SELECT turn, stage, outcome <> '' FROM page_turns WHERE conversation = ?", (conversation.id,)
        )
        return {turn: (stage, bool(has_ended)) for turn, stage, has_ended in rows}

    async def recent(self, channel: str) -> tuple[ThreadSummary, ...]:
        """The newest threads of a channel."""
        rows = await self.database.rows(
            "SELECT conversation, min(said_at), count(*), (SELECT content FROM page_turns AS said"
            " WHERE said.conversation = page_turns.conversation ORDER BY said.said_at, said.turn LIMIT 1)"
            " FROM page_turns WHERE channel = ? GROUP BY conversation ORDER BY min(said_at) DESC LIMIT ?",
            (channel, LISTED),
        )
        return tuple(_summary(*row) for row in rows)

    async def forget(self, conversation: Conversation) -> None:
        await self.database.write("DELETE FROM page_turns WHERE conversation = ?", (conversation.id,))
        self.database.database.erase_deleted(("page_turns",))

    async def forget_older(self, prefix: str, said_before: float) -> None:
        """Forget turns whose ids begin so and that were said before then."""
        await self.database.write(
            "DELETE FROM page_turns WHERE said_at < ? AND substr(turn, 1, ?) = ?",
            (said_before, len(prefix), prefix),
        )


def _stage_of(written: str) -> tuple[str, Answer | None]:
    """The sentence, and the beginning of the answer."""
    if not written.startswith("{"):
        return written, None
    stored = json.loads(written)
    return stored["sentence"], archive.read(Progress, stored["progress"]).answer


def _summary(conversation: str, began_at: float, turns: int, content: str) -> ThreadSummary:
    first = archive.turn_from(json.loads(content))
    text = first.text if isinstance(first, Question) else ""
    return ThreadSummary(
        conversation=Conversation.parse(conversation), began_at=began_at, text=text, turns=turns
    )


PAGE, SPACE = "page", "local"
EVERYTHING = "everything"
_THREAD = re.compile(r"[0-9a-f]{12}")


def conversation_of(session: PageSession, thread: str) -> Conversation | None:
    """A thread that reads what the session reads; None for an invalid name."""
    if not _THREAD.fullmatch(thread):
        return None
    return Conversation(platform=PAGE, space=SPACE, channel=channel_of(session), thread=thread)


def channel_of(session: PageSession) -> str:
    """The channel of a session, named after the collections that it reads."""
    return EVERYTHING if session.collections is None else named_channel(session.collections)


def named_channel(collections: Iterable[str]) -> str:
    """The channel where these collections are read, and no others."""
    return "only:" + ",".join(quote(name, safe="") for name in sorted(collections))


def channel_id(session: PageSession) -> str:
    return f"{PAGE}/{SPACE}/{channel_of(session)}"


def collections_of(channel: str) -> frozenset[str] | None:
    """The collections that may be read in a channel that :func:`channel_of` named; None: everything."""
    if channel == EVERYTHING:
        return None
    names = channel.removeprefix("only:").split(",")
    return frozenset(unquote(name) for name in names if name)


BETWEEN = 0.3  # seconds between two notes
REFRESH = 3_600.0  # seconds; what stands in the store does not fade


@dataclass(frozen=True, slots=True)
class PageMessenger(Messenger):
    """Shows turns in the threads of the page."""

    threads: PageThreads
    _running: dict[str, ThrottledProgress] = field(default_factory=dict)  #: by turn

    async def begin(self, turn: Turn, route: ReplyRoute, *, is_again: bool) -> str:
        await self._reach(self.threads.put(turn))
        await self._note(turn.id, language_of_turn(turn), first_progress(turn), True)
        return turn.id

    def reporter(self, turn: Turn, route: ReplyRoute, handle: str) -> Callable[[Progress], None]:
        throttled = ThrottledProgress(
            show=partial(self._note, turn.id, language_of_turn(turn)), refresh=REFRESH, between=BETWEEN, newest=first_progress(turn),
            is_ours=lambda: True,  # the store takes no note once a turn has its outcome
        )  # fmt: skip
        self._running[turn.id] = throttled
        loop = asyncio.get_running_loop()
        return lambda progress: cast("None", loop.call_soon_threadsafe(throttled.report, progress))

    async def deliver(
        self, turn: Turn | Command, route: ReplyRoute, handle: str, outcome: Outcome, *, is_again: bool
    ) -> None:
        if throttled := self._running.pop(turn.id, None):
            await throttled.close()
        await self._reach(self.threads.end(turn.id, outcome))

    async def carry_out(self, command: Command, route: ReplyRoute, *, is_again: bool) -> None:
        """Nothing on the page is stored as a command of its own."""
        logger.warning("the page knows no such command", extra=log_fields(command))

    async def _note(self, turn: str, language: str, progress: Progress, _is_new: bool) -> None:
        await self._reach(self.threads.note(turn, progress_note(progress, language), progress))

    async def _reach(self, writing: Awaitable[None]) -> None:
        try:
            await writing
        except FootnoteError as fault:
            raise Unreachable from fault

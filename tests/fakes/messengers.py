"""Messengers that keep the real contract: each thing is said once, however often it is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from fakes.patience import PATIENCE

from core.conversation import Command, Outcome, Progress, Question, ThreadMessage, Turn
from core.turns.messenger import ReplyRoute


@dataclass
class RecordingMessenger:
    """Writes down what was shown, and lets a test wait for it."""

    shown: list[tuple[str, str]] = field(default_factory=list)  #: ("begin" or an outcome's kind, turn)
    outcomes: dict[str, Outcome] = field(default_factory=dict)  #: by turn
    notes: list[Progress] = field(default_factory=list)
    remarks: tuple[ThreadMessage, ...] = ()  #: said in each thread before the bot was called
    faults: list[Exception] = field(default_factory=list)  #: raised first, one for each call
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def begin(self, turn: Turn, route: ReplyRoute, *, is_again: bool) -> str:
        self._meet_fault()
        self._show("begin", turn)
        return f"handle of {turn.id}"

    async def with_names(self, turn: Turn, route: ReplyRoute) -> Turn:
        return turn

    async def thread_context(self, turn: Turn, route: ReplyRoute) -> tuple[ThreadMessage, ...]:
        return self.remarks

    async def read_attachments(self, question: Question, route: ReplyRoute) -> Question:
        return question

    async def carry_out(self, command: Command, route: ReplyRoute, *, is_again: bool) -> None:
        self._meet_fault()
        self._show("command", command)

    def reporter(self, turn: Turn, route: ReplyRoute, handle: str) -> Callable[[Progress], None]:
        def note(progress: Progress) -> None:
            self.notes.append(progress)
            self.changed.set()

        return note

    async def deliver(
        self, turn: Turn | Command, route: ReplyRoute, handle: str, outcome: Outcome, *, is_again: bool
    ) -> None:
        self._meet_fault()
        self.outcomes[turn.id] = outcome
        self._show(outcome.kind, turn)

    async def until_shown(self, kind: str, turn: str, within: float = PATIENCE) -> None:
        async with asyncio.timeout(within):
            while (kind, turn) not in self.shown:
                self.changed.clear()
                await self.changed.wait()

    async def until_delivered(self, *turns: str, within: float = PATIENCE) -> None:
        async with asyncio.timeout(within):
            while not set(turns) <= set(self.outcomes):
                self.changed.clear()
                await self.changed.wait()

    async def until_waiting(self, count: int, within: float = PATIENCE) -> None:
        """Returns when so many turns were told that they wait."""
        async with asyncio.timeout(within):
            while sum(note.stage == "waiting" for note in self.notes) < count:
                self.changed.clear()
                await self.changed.wait()

    @property
    def delivered(self) -> list[str]:
        """The turns that ended, in that order, as often as they did."""
        return [turn for kind, turn in self.shown if kind != "begin"]

    def _show(self, kind: str, turn: Turn | Command) -> None:
        self.shown.append((kind, turn.id))
        self.changed.set()

    def _meet_fault(self) -> None:
        if self.faults:
            raise self.faults.pop(0)

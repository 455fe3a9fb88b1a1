"""A platform's voice, as the durable turns use it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from core.conversation import Command, Outcome, Progress, ThreadMessage, Turn

ReplyRoute = Mapping[str, Any]  # where to answer, in the platform's own words; JSON types only


class Unreachable(Exception):
    """The platform cannot be reached now; what was to be said there is tried again."""


class Messenger(Protocol):
    """Any method may be called again after a crash, and must then do nothing twice."""

    async def begin(self, turn: Turn, route: ReplyRoute, *, is_again: bool) -> str:
        """Give the first visible sign; the handle by which the outcome takes its place. Raises Unreachable.

        ``is_again``: it may have been given before, so it is looked for first.
        """
        ...

    async def thread_context(self, turn: Turn, route: ReplyRoute) -> tuple[ThreadMessage, ...]:
        """What people said in the thread before they called the bot into it, oldest first; bounded."""
        ...

    def reporter(self, turn: Turn, route: ReplyRoute, handle: str) -> Callable[[Progress], None]:
        """What shows progress while the turn runs."""
        ...

    async def deliver(
        self, turn: Turn | Command, route: ReplyRoute, handle: str, outcome: Outcome, *, is_again: bool
    ) -> None:
        """Show how it ended; without a handle nothing was shown before. Raises Unreachable."""
        ...

    async def carry_out(self, command: Command, route: ReplyRoute, *, is_again: bool) -> None:
        """Do what was asked beside the questions, and say that it is done. Raises Unreachable."""
        ...

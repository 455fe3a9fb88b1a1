"""The port through which durable turns show something on a platform."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from core.conversation import Command, Outcome, Progress, Question, ThreadMessage, Turn

ReplyRoute = Mapping[str, Any]  # where to answer, in the platform's own terms; JSON types only
Report = Callable[[Progress], None]  # shows progress while a turn runs


#: In the route of an operator's work: the platform that shows it, whatever the conversation's.
SHOWN_BY = "shown_by"


class Unreachable(Exception):
    """The platform cannot be reached now; the call is tried again."""


class Messenger(Protocol):
    """Any method may be called again after a crash, and must then do nothing twice."""

    async def begin(self, turn: Turn, route: ReplyRoute, *, is_again: bool) -> str:
        """Show the first sign; its handle lets the outcome replace it. Raises Unreachable. ``is_again``: it
        may have been shown before, so look first. With a handle that is :class:`~core.turns.archive.NotShown`
        the turn is not carried out, and :meth:`deliver` tells its author why."""

    async def with_names(self, turn: Turn, route: ReplyRoute) -> Turn:  # noqa: ARG002
        """The turn as people read it: names where the platform writes ids. No id goes to a model or to the web."""
        return turn

    async def thread_context(self, turn: Turn, route: ReplyRoute) -> tuple[ThreadMessage, ...]:  # noqa: ARG002
        """The messages of the thread before the bot was called, oldest first; bounded. Unreachable."""
        return ()

    async def read_attachments(self, question: Question, route: ReplyRoute) -> Question:  # noqa: ARG002
        """The question with its attachments, indexed, and what is wrong with others. Unreachable."""
        return question

    def reporter(self, turn: Turn, route: ReplyRoute, handle: str) -> Report: ...

    async def deliver(
        self, turn: Turn | Command, route: ReplyRoute, handle: str, outcome: Outcome, *, is_again: bool
    ) -> None:
        """Show the outcome; without a handle nothing was shown before. Raises Unreachable."""

    async def carry_out(self, command: Command, route: ReplyRoute, *, is_again: bool) -> None:
        """Carry out a command and show its replies. Raises Unreachable."""

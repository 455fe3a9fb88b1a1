"""The division of work among processes that share one store.

The embedded store belongs to one process, which does everything: :class:`Replicas`. On PostgreSQL there may be
any number of them: :mod:`core.turns.leases`.
"""

from collections.abc import Awaitable, Callable, Collection
from contextlib import AbstractAsyncContextManager, nullcontext
from contextvars import ContextVar
from typing import Protocol


class TurnRunner(Protocol):
    """The questions that other processes may ask about the turns that run here."""

    def stop_thinking(self, conversation: str) -> bool:
        """End what thinks in a conversation; whether there was anything."""

    async def abandon(self) -> None:
        """End all runs without an outcome: other processes run these turns again."""

    def run_as(self, executor: str) -> None:
        """The name under which turns are taken from now on."""

    def take_over(self, living: Collection[str]) -> None:
        """Let the turns go on that run in no living process; blocks. For any thread."""


class Ownership:
    """The claim of this process to a run that it took, which may go on in another one. Here: of a process that
    shares its store with none, and of what runs outside of turns."""

    def is_certain(self) -> bool:
        """False also where that is in doubt: this process may have slept, or cannot reach the database."""
        return True

    async def confirm(self) -> None:
        """Return once it is certain. Where the run goes on elsewhere, this one is cancelled: CancelledError."""


#: Of the run in this context. What must not be done twice is done after :meth:`Ownership.confirm`.
OWNERSHIP: ContextVar[Ownership] = ContextVar("ownership", default=Ownership())  # noqa: B039 - it has no state


class Replicas:
    """This process among those that share its store. Here: the one process of an embedded store."""

    #: The name under which DBOS records what this process runs. It resumes the turns of this one at its next start.
    executor: str = "footnote"
    are_several: bool = False  #: whether another process takes turns too, or did so a moment ago

    def ownership(self, executor: str) -> Ownership:  # noqa: ARG002
        """The ownership of a run that was taken under this name."""
        return Ownership()

    async def lead(self, role: str, work: Callable[[], Awaitable[None]]) -> None:  # noqa: ARG002
        """Do what one process at a time does for all, such as keeping a bot's gateway connection. Waits for
        the role, works, is cancelled if the role is lost, and waits again. Returns when the work ends by
        itself, and raises what it raises; then, and when it is cancelled, another process takes over."""
        await work()

    def hold(self, conversation: str) -> AbstractAsyncContextManager[None]:  # noqa: ARG002
        """Keep other processes from working on this conversation."""
        return nullcontext()

    async def ask_to_stop(self, conversation: str) -> bool:  # noqa: ARG002
        """Have another process end what thinks there; False if none does."""
        return False

    def serving(self, runner: TurnRunner) -> AbstractAsyncContextManager[None]:  # noqa: ARG002
        """Take turns in this process, also those that dead processes left."""
        return nullcontext()


ALONE = Replicas()

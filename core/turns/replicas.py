"""The division of work among processes that share one store.

The embedded store belongs to one process, which does everything: :class:`Alone`. On PostgreSQL there may be
any number of them: :mod:`core.turns.leases`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from contextlib import AbstractAsyncContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
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


class Ownership(Protocol):
    """True if a run that this process took is still its own, or goes on in another one."""

    def is_certain(self) -> bool:
        """False also where that is in doubt: this process may have slept, or cannot reach the database."""

    async def confirm(self) -> None:
        """Return once it is certain. Where the run goes on elsewhere, this one is cancelled: CancelledError."""


class Certain:
    """The ownership of a process that shares its store with none, and of what runs outside of turns."""

    def is_certain(self) -> bool:
        return True

    async def confirm(self) -> None:
        """At once."""


#: Of the run in this context. What must not be done twice is done after :meth:`Ownership.confirm`.
OWNERSHIP: ContextVar[Ownership] = ContextVar("ownership", default=Certain())  # noqa: B039 - it has no state


class Replicas(Protocol):
    """This process among those that share its store."""

    @property
    def executor(self) -> str:
        """The name under which DBOS records what this process runs."""

    @property
    def are_several(self) -> bool:
        """True if another process takes turns too, or did so a moment ago."""

    def ownership(self, executor: str) -> Ownership:
        """The ownership of a run that was taken under this name."""

    async def lead(self, role: str, work: Callable[[], Awaitable[None]]) -> None:
        """Do what one process at a time does for all, such as keeping a bot's gateway connection.

        Waits for the role, works, is cancelled if the role is lost, and waits again. Returns when the work ends
        by itself, and raises what it raises; then, and when it is cancelled, another process takes over.
        """

    def hold(self, conversation: str) -> AbstractAsyncContextManager[None]:
        """Within, no other process thinks in this conversation."""

    async def ask_to_stop(self, conversation: str) -> bool:
        """Have another process end what thinks there; False if none does."""

    def serving(self, runner: TurnRunner) -> AbstractAsyncContextManager[None]:
        """Within, this process takes turns, also those that dead processes left."""


@dataclass(frozen=True, slots=True)
class Alone:
    """The one process of an embedded store."""

    executor: str = (
        "footnote"  # stable: DBOS resumes the turns of the executor of this name at its next start
    )
    are_several: bool = False

    def ownership(self, executor: str) -> Ownership:  # noqa: ARG002 - the port's
        return Certain()

    async def lead(self, role: str, work: Callable[[], Awaitable[None]]) -> None:  # noqa: ARG002 - the port's
        await work()

    def hold(self, conversation: str) -> AbstractAsyncContextManager[None]:  # noqa: ARG002
        return nullcontext()

    async def ask_to_stop(self, conversation: str) -> bool:  # noqa: ARG002
        return False

    def serving(self, runner: TurnRunner) -> AbstractAsyncContextManager[None]:  # noqa: ARG002
        return nullcontext()


ALONE = Alone()

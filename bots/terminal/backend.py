"""What a command needs of whoever does its work: this process, or the one that serves the data folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from bots.chat.indexing import BackgroundVectors, Targets
from bots.terminal.screen import Screen
from core.conversation import Conversation, Outcome, Proposal, Turn
from core.library.library import Library, Notify
from core.library.sync import SyncReport
from core.settings import Settings, WebSearch

if TYPE_CHECKING:
    from core.turns.assistant import Report

Forgotten = tuple[str, int]  # a source, and the number of its passages


class CommandTurns(Protocol):
    """The part of an Assistant that commands use."""

    async def run(self, turn: Turn, report: Report = ..., /) -> Outcome: ...

    async def unfinished(self, conversation: Conversation, /) -> Turn | None: ...

    async def proposals(self, conversation: Conversation, /) -> tuple[Proposal, ...]: ...

    async def knows(self, conversation: Conversation, /) -> bool: ...

    async def find_proposal(self, proposal_id: str, /) -> tuple[Conversation, Proposal] | None: ...

    async def forget(self, conversation: Conversation, /) -> None: ...


class Backend(Protocol):
    """What the commands need."""

    @property
    def settings(self) -> Settings: ...

    @property
    def library(self) -> Library:
        """To be read; what changes it are the methods here."""
        ...

    @property
    def assistant(self) -> CommandTurns: ...

    @property
    def web_search(self) -> WebSearch: ...

    @property
    def vectors_of(self) -> str:
        """The embedding model by which passages are found; empty: by their words alone."""
        ...

    async def prepare(self, targets: Targets, screen: Screen, *, with_vectors: bool) -> None:
        """Sync the index with the disk, with new targets; ``with_vectors``, make those that are missing."""
        ...

    async def refresh(self, notify: Notify) -> SyncReport:
        """Sync the index with the disk."""
        ...

    async def background_vectors(self, targets: Targets, screen: Screen) -> BackgroundVectors | None:
        """What makes the missing vectors while a conversation goes on; None where that needs nobody."""
        ...

    async def forget(self, source: str) -> list[Forgotten]:
        """Remove documents. NotFound if there is none of this name."""
        ...

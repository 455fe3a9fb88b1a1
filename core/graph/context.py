"""What a turn is given to work with. Not persisted: handed in on every run of the graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from core.conversation import Exchange, Progress
from core.graph.policy import Policy
from core.library.documents import Passage, Retrieval, Retrieved
from core.reasoning.reasoner import Reasoner
from core.settings import WebApproval


class Documents(Protocol):
    """The library as a turn sees it: what this conversation may read, and nothing else."""

    async def retrieve(
        self, query: str, *, limit: int, history: tuple[Exchange, ...] = (), within: tuple[str, ...] = ()
    ) -> Retrieval:
        """The best passages; ``within`` narrows them to files, folders or URLs."""
        ...

    async def neighbours(
        self, passages: Sequence[Passage], within: tuple[str, ...] = ()
    ) -> Sequence[Passage]:
        """The neighbours of these passages in their documents, and the documents' heads."""
        ...


class Web(Protocol):
    """The web as a turn sees it: passages about a query that a person allowed."""

    async def find(
        self, query: str, question: str, report: Callable[[Progress], None]
    ) -> tuple[Retrieved, ...]:
        """One passage per hit, best first. Raises SearchTrouble."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Deps:
    """The ports of one turn. Not persisted: handed in on every call."""

    policy: Policy
    reasoner: Reasoner
    documents: Documents
    web: Web | None
    approval: WebApproval = "asker"
    approvers: tuple[str, ...] = ()
    report: Callable[[Progress], None] = lambda _: None

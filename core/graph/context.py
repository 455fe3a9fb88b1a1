"""The ports of a turn, passed in on every run of the graph and never persisted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from core.conversation import Exchange, Progress, WebApproval
from core.graph.policy import Policy
from core.graph.tracer import Tracer
from core.library.documents import Passage, Retrieval, Retrieved
from core.reasoning.reasoner import Reasoner


class Documents(Protocol):
    """The part of the library that this conversation may read."""

    @property
    def collections(self) -> frozenset[str]: ...  #: that may be read

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

    async def beginning(self, within: tuple[str, ...], *, limit: int) -> Sequence[Passage]:
        """The first passages of these files, in reading order."""
        ...


class Web(Protocol):
    """A web search for a query that a person allowed."""

    async def find(
        self, query: str, question: str, report: Callable[[Progress], None]
    ) -> tuple[Retrieved, ...]:
        """One passage per hit, best first. Raises SearchTrouble."""
        ...


async def _nothing_withdrawn(
    _sources: Sequence[str], _behind: Collection[str], _readable: Collection[str]
) -> frozenset[str]:
    return frozenset()


async def _ignore_dispute(_answer: str, _others: Sequence[str]) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deps:
    policy: Policy
    reasoner: Reasoner
    documents: Documents
    web: Web | None
    approval: WebApproval = "asker"
    approvers: tuple[str, ...] = ()
    report: Callable[[Progress], None] = lambda _: None
    #: Told the source of a person's answer, and those of the documents that say something else.
    note_dispute: Callable[[str, Sequence[str]], Awaitable[None]] = _ignore_dispute
    #: Of sources that were cited from some collections, those that may not be quoted any more where these others are
    #: readable: people's answers that are not used any more, and documents that others may read now.
    withdrawn: Callable[[Sequence[str], Collection[str], Collection[str]], Awaitable[frozenset[str]]] = (
        _nothing_withdrawn
    )
    remark: str = ""  #: a sentence: what could not be found out of what the person may read
    #: Looks up again what may be read; None: that never changes.
    look_up_rights: Callable[[], Awaitable[frozenset[str]]] | None = None
    tracer: Tracer = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tracer", Tracer(policy=self.policy, scope=self.documents.collections))

    async def readable_now(self) -> frozenset[str]:
        """The collections that may be read by now: while a model thinks, one may be closed."""
        if self.look_up_rights is None:
            return self.documents.collections
        return await self.look_up_rights()

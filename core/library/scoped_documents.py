"""What a turn reads of the library: in step with the disk, within its scope, checked once more before it is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from core.conversation import Exchange
from core.library.documents import Passage, Retrieval, Scope
from core.library.library import Library
from core.library.retriever import Query

Refresh = Callable[[Library], Awaitable[None]]  # syncs the index before it is read


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopedDocuments:
    """The library as one turn may read it: within a scope."""

    library: Library
    scope: Scope
    refresh: Refresh | None = None
    #: False: what was found holds what is not used any more, and by now the library has it no longer
    is_current: Callable[[Retrieval], Awaitable[bool]] | None = None

    @property
    def collections(self) -> frozenset[str]:
        return self.scope.collections

    async def retrieve(
        self, query: str, *, limit: int, history: tuple[Exchange, ...] = (), within: tuple[str, ...] = ()
    ) -> Retrieval:
        if self.refresh is not None:
            await self.refresh(self.library)
        scope = replace(self.scope, addresses=within)
        request = Query(text=query, scope=scope, history=history, limit=limit)
        found = await asyncio.to_thread(self.library.retrieve, request)
        if self.is_current is not None and not await self.is_current(found):
            found = await asyncio.to_thread(self.library.retrieve, request)
        own = tuple(hit for hit in found.passages if hit.passage.collection in self.collections)
        return found if len(own) == len(found.passages) else replace(found, passages=own)

    async def neighbours(
        self, passages: Sequence[Passage], within: tuple[str, ...] = ()
    ) -> Sequence[Passage]:
        ids = [passage.id for passage in passages]
        return await asyncio.to_thread(
            self.library.store.neighbours, ids, replace(self.scope, addresses=within)
        )

    async def beginning(self, within: tuple[str, ...], *, limit: int) -> Sequence[Passage]:
        scope = replace(self.scope, addresses=within)
        return await asyncio.to_thread(partial(self.library.store.beginning, scope, limit=limit))

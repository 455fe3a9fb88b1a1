"""All blocks of a page: each answer of Notion's has those of one level, a hundred at most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.sources.notion.address import bare_id
from core.sources.notion.blocks import CHILDREN, PageBlock
from core.sources.notion.client import CursorLost, NotionApi, NotionMissing, NotionRefused
from core.sources.notion.files import NotionFile, Serves, file_of_block, is_of_notion
from core.sources.notion.memory import ChildKind
from core.sources.source import ItemUnreadable

BLOCK_LIMIT = 20_000  # blocks of a page
DEPTH_LIMIT = 30  # blocks within one another
TRIES = 3  # to read a list whose cursor Notion does not know any more

_KINDS: Mapping[str, ChildKind] = {"child_page": "page", "child_database": "database"}


@dataclass(slots=True, kw_only=True)
class BlockTree:
    """What was read of a page."""

    api: NotionApi
    serves: Serves = is_of_notion
    files: list[NotionFile] = field(default_factory=list)
    children: dict[str, ChildKind] = field(default_factory=dict)  #: pages and databases within it
    _count: int = 0

    async def read(self, block: str, depth: int = 0) -> tuple[PageBlock, ...]:
        """The blocks within one, or within a page. NotionMissing, NotionRefused, ItemUnreadable."""
        found = []
        for data in await self._level(block):
            within = await self._within(data, depth + 1)
            found.append(PageBlock(data=data, children=within))
        return tuple(found)

    async def _within(self, data: Mapping[str, Any], depth: int) -> tuple[PageBlock, ...]:
        kind, block = str(data.get("type", "")), bare_id(str(data.get("id", "")))
        if kind in CHILDREN:
            self.children[block] = _KINDS[kind]
            return ()
        if (file := file_of_block(data, self.serves)) is not None:
            self.files.append(file)
        if not data.get("has_children") or depth > DEPTH_LIMIT:
            return ()
        original = ((data.get("synced_block") or {}).get("synced_from") or {}).get("block_id")
        try:
            return await self.read(bare_id(original) if original else block, depth)
        except (NotionMissing, NotionRefused):
            if original:  # what this one shows is not shared with the integration
                return ()
            raise

    async def _level(self, block: str) -> list[Mapping[str, Any]]:
        for left in reversed(range(TRIES)):
            try:
                return await self._pages(block)
            except CursorLost:
                if not left:
                    raise ItemUnreadable("changes too often to be read") from None
        return []

    async def _pages(self, block: str) -> list[Mapping[str, Any]]:
        found, cursor = list[Mapping[str, Any]](), None
        while True:
            page = await self.api.children(block, cursor)
            found += page.results
            if self._count + len(found) > BLOCK_LIMIT:
                raise ItemUnreadable(f"has more than {BLOCK_LIMIT:,} blocks")
            if (cursor := page.next_cursor) is None:
                self._count += len(found)
                return found

"""Reading a wiki as a sync does, without a library: what is listed, and the bytes of each item."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from fakes.confluence import LOGIN, TOKEN
from fakes.confluence_servers import FakeCloud, FakeDataCenter

from core.settings import Settings
from core.sources.confluence.source import open_confluence
from core.sources.source import SourceContext, SourceItem

SERVERS = {"cloud": FakeCloud, "data center": FakeDataCenter}


def tokens(wiki) -> dict[str, str]:
    return {"127.0.0.1": LOGIN if isinstance(wiki, FakeCloud) else TOKEN}


def settings_for(wiki, settings: Settings | None = None, **more) -> Settings:
    settings = settings or Settings(private_hosts=("127.0.0.1",))
    return replace(settings, **{"confluence_tokens": tokens(wiki), **more})


def opened(wiki, folder, path: str = "/spaces/ENG", **more):
    return open_confluence(
        wiki.address(path), SourceContext(settings=settings_for(wiki, **more), folder=folder)
    )


async def listed(source) -> tuple[list[SourceItem], str]:
    """Everything, and the note of the last batch."""
    items, note = [], ""
    async for batch in source.changes(None):
        items += batch.items
        note = batch.note
    return items, note


async def read_all(
    wiki, folder, path: str = "/spaces/ENG", **more
) -> dict[str, tuple[str, frozenset[str] | None]]:
    """SHA-256 of each item and its readers, by its id."""
    async with opened(wiki, folder, path, **more) as source:
        items, _ = await listed(source)
        return {
            item.id: (hashlib.sha256(await source.fetch(item)).hexdigest(), item.readers) for item in items
        }

"""What the index holds of a channel, and channels that are read by processes which are killed."""

from __future__ import annotations

import json
import random
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from pathlib import Path

import pytest
from fakes.killed_syncs import KilledSyncs, read_while_killed

from core.bootstrap import open_library
from core.library.library import Library
from core.settings import Settings
from core.storage.storage import open_storage


def sections(library: Library, collection: str = "default") -> dict[str, str]:
    """What stands below the address of each message, in all documents."""
    found: dict[str, str] = {}
    for entry in library.store.entries(collection=collection):
        anchors = json.loads(entry.anchors)[1:]
        rows = library.store.database.rows(
            "SELECT p.start, p.text FROM passages p JOIN documents d ON d.id = p.document WHERE d.address = ?",
            (entry.address,),
        )
        whole = [" "] * max(start + len(text) for start, text in rows)
        for start, text in rows:
            whole[start : start + len(text)] = text
        ends = [begin for begin, _ in anchors[1:]] + [len(whole)]
        for (begin, url), end in zip(anchors, ends, strict=True):
            assert url not in found, "a message is in the index twice"
            found[url] = "".join(whole[begin:end]).strip().partition("\n")[2].strip()
    return found


#: Some kills in a file; two hundred in each database.
KILLS = pytest.mark.parametrize(
    ("database", "kills"),
    [
        ("sqlite", 4),
        pytest.param("sqlite", 200, marks=pytest.mark.long),
        pytest.param("postgresql", 200, marks=pytest.mark.long),
    ],
)


def settings_in(database: str, request: pytest.FixtureRequest) -> Settings:
    folder: Path = request.getfixturevalue("tmp_path")
    url = request.getfixturevalue("postgres_url") if database == "postgresql" else ""
    return Settings(data_dir=folder / "data", database_url=url)


async def read_channel_while_killed(
    settings: Settings,
    address: str,
    variables: Mapping[str, str],
    *,
    kills: int,
    said: Callable[[], dict[str, str]],
    go_on: Callable[[random.Random], Awaitable[None]],
) -> None:
    """``said``: the text of each message by its link; ``go_on`` has people talk on, edit and delete."""
    chance = random.Random(kills)
    syncs = KilledSyncs(
        settings=settings, address=address, chance=chance, variables=variables, is_timed=kills > 100
    )

    def assert_equal() -> None:
        with open_storage(settings) as storage, closing(open_library(settings, storage)) as library:
            assert sections(library) == said()

    await read_while_killed(syncs, kills, assert_equal=assert_equal, go_on=lambda: go_on(chance))

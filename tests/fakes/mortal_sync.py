"""A process that reads a source and kills itself at one of its transactions: the point, and it alone, is given.

``python -m fakes.mortal_sync DATA_DIR DATABASE_URL ADDRESS POINT`` ends with the number of points that it passed.
Credentials come from the environment; SOURCE_OPTIONS says how kinds of sources are opened.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from fakes.sources import Shelf

from core.bootstrap import open_library
from core.library.data_lock import make_data_dir
from core.settings import Settings, read_settings
from core.sources.git import process
from core.sources.kinds import KINDS
from core.sources.source import SourceKind
from core.sources.sources import SourceSyncs, open_source_store
from core.storage.postgres import PostgresDatabase
from core.storage.sqlite import SqliteDatabase
from core.storage.storage import open_storage

SHELF = "shelf://"


class Points:
    """Counts the moments at which a process could be killed with different effects."""

    def __init__(self, last: int) -> None:
        self.last, self.passed = last, 0

    def reach(self) -> None:
        self.passed += 1
        if self.passed == self.last:
            os.kill(os.getpid(), signal.SIGKILL)


def count_transactions(kind: Any, points: Points) -> None:
    """Before and after each is committed."""
    inner = kind.transaction

    @contextmanager
    def counted(database: Any) -> Iterator[Any]:
        with inner(database) as writing:
            yield writing
            points.reach()
        points.reach()

    kind.transaction = counted


def count_commands(points: Points) -> None:
    """After git began."""
    inner = process._start

    async def counted(*arguments: Any) -> Any:
        started = await inner(*arguments)
        points.reach()
        return started

    process._start = counted


def shelf_at(address: str) -> Shelf:
    """The shelf of a file. Each page whose readers change while it is fetched is in the folder ``changes``."""
    file = Path(address.removeprefix(SHELF))
    shelf = Shelf.saved(file)

    def change(name: str) -> None:
        waiting = file.parent / "changes" / name
        if waiting.exists():
            shelf.restrict(frozenset(waiting.read_text().split()), name)
            shelf.save(file)
            waiting.unlink()

    shelf.before_fetch = change
    return shelf


def kinds_with(options: Mapping[str, Mapping[str, Any]]) -> dict[str, SourceKind]:
    """The kinds of sources, of which some are opened otherwise: "notion": {"origin": "http://127.0.0.1:…"}."""
    opened = {name: partial(KINDS[name].open, **more) for name, more in options.items()}
    return {**KINDS, **{name: replace(KINDS[name], open=open_it) for name, open_it in opened.items()}}


async def sync(settings: Settings, address: str, kinds: Mapping[str, SourceKind]) -> None:
    make_data_dir(settings.data_dir)
    with (
        open_storage(settings) as storage,
        open_source_store(storage) as store,
        closing(open_library(settings, storage)) as library,
    ):
        syncs = SourceSyncs(library=library, store=store, settings=settings, kinds=kinds)
        report = await syncs.ingest(address, collection="default")
        (record,) = store.all()
        has_ended = record.synced_at is not None and record.synced_at >= (record.started_at or 0.0)
        if not has_ended or store.counts(record.number).failed:  # what a source says of itself is no failure
            raise SystemExit(f"failed: {report.failed}")


def main(data_dir: str, url: str, address: str, point: str) -> None:
    logging.basicConfig(level=logging.INFO)
    points = Points(int(point))
    for kind in (SqliteDatabase, PostgresDatabase):
        count_transactions(kind, points)
    count_commands(points)
    settings = replace(
        read_settings(os.environ, None),
        data_dir=Path(data_dir), database_url=url, private_hosts=("127.0.0.1",),
    )  # fmt: skip
    kinds = kinds_with(json.loads(os.environ.get("SOURCE_OPTIONS", "{}")))
    own = shelf_at(address).kinds if address.startswith(SHELF) else {}
    asyncio.run(sync(settings, address, {**kinds, **own}))
    sys.stdout.write(f"{points.passed}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

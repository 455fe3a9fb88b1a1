"""A process that reads a source and kills itself at one of its transactions: the point, and it alone, is given.

``python -m fakes.mortal_sync DATA_DIR DATABASE_URL ADDRESS POINT`` ends with the number of points that it passed.
DRIVE_BASE in its environment is where a Google Drive of ours answers.
"""

from __future__ import annotations

import asyncio
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

from core.bootstrap import open_library
from core.library.data_lock import make_data_dir
from core.settings import Settings
from core.sources.drive import source as drive
from core.sources.git import process
from core.sources.kinds import KINDS
from core.sources.source import SourceKind
from core.sources.sources import SourceSyncs, open_source_store
from core.storage.postgres import PostgresDatabase
from core.storage.sqlite import SqliteDatabase
from core.storage.storage import open_storage


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


def kinds_here() -> Mapping[str, SourceKind]:
    if (base := os.environ.get("DRIVE_BASE")) is None:
        return KINDS
    return {**KINDS, "drive": replace(drive.KIND, open=partial(drive.open_drive, base=base))}


async def sync(settings: Settings, address: str) -> None:
    make_data_dir(settings.data_dir)
    with (
        open_storage(settings) as storage,
        open_source_store(storage) as store,
        closing(open_library(settings, storage)) as library,
    ):
        syncs = SourceSyncs(library=library, store=store, settings=settings, kinds=kinds_here())
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
    settings = Settings(
        data_dir=Path(data_dir), database_url=url, private_hosts=("127.0.0.1",),
        drive_credentials=os.environ.get("DRIVE_CREDENTIALS", ""),
    )  # fmt: skip
    asyncio.run(sync(settings, address))
    sys.stdout.write(f"{points.passed}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

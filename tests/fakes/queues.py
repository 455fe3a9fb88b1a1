"""A queue's file with all its tables: making them takes longer than most stories do."""

from __future__ import annotations

import asyncio
from pathlib import Path

from core.turns.queue import launch
from core.turns.waiting import DiskWatch


def make_empty_queue(folder: Path) -> Path:
    file = folder / "turns.sqlite"

    async def open_once() -> None:
        async with launch(f"sqlite:///{file}", disk=DiskWatch(), close=_nothing_runs):
            pass

    asyncio.run(open_once())
    return file


async def _nothing_runs() -> None:
    return None

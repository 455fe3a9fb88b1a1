"""Where what tests write is kept in memory."""

from __future__ import annotations

import shutil
from pathlib import Path

MEMORY = Path("/dev/shm")  # to make the three hundred files of a database takes a tenth of the CPU there
ROOM = 4 * 2**30  # bytes that must be free there


def memory() -> Path | None:
    """A file system in memory, where there is one with room: a flush costs nothing there."""
    return MEMORY if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM else None

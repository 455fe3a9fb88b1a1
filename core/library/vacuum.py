"""Chroma's files without what was deleted: run as a process of its own, with their folder as its argument.

Chroma brings its own SQLite. Two of them in one process take each other's locks away ("How To
Corrupt An SQLite Database File", 2.2.1); two processes wait for each other.
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

DATABASE = "chroma.sqlite3"  # Chroma's name for its table of collections


def vacuum(folder: Path, locked: float) -> None:
    """Rewrite the database, and delete the graphs of dropped collections, which Chroma leaves on the disk.

    ``locked`` is for how many seconds others may hold the database. Raises sqlite3.Error.
    """
    with closing(sqlite3.connect(folder / DATABASE, timeout=locked)) as database:
        database.execute("VACUUM")
        alive = {segment for (segment,) in database.execute("SELECT id FROM segments")}
    for graph in folder.iterdir():
        if graph.is_dir() and graph.name not in alive:
            shutil.rmtree(graph, ignore_errors=True)


if __name__ == "__main__":
    try:
        vacuum(Path(sys.argv[1]), float(sys.argv[2]))
    except sqlite3.Error as trouble:
        sys.exit(str(trouble))

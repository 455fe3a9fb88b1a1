"""Chroma's files without what was deleted: run as a process of its own, while nobody writes to them.

    python vacuum.py FOLDER SECONDS

Chroma brings its own SQLite. Two of them in one process take each other's locks away ("How To
Corrupt An SQLite Database File", 2.2.1); two processes wait for each other.
"""

from __future__ import annotations

import shutil
import sqlite3
import struct
import sys
from contextlib import closing
from pathlib import Path

DATABASE = "chroma.sqlite3"  # Chroma's name for its table of collections

#: The head of hnswlib's header.bin: version, an offset, elements there is room for, elements, bytes of each.
HEADER = struct.Struct("<iQQQQ")
LENGTH = 4  # bytes of each element in length.bin


def vacuum(folder: Path, locked: float) -> None:
    """Rewrite the database, and delete the graphs of dropped collections, which Chroma leaves on the disk.

    ``locked`` is for how many seconds others may hold the database. Raises sqlite3.Error.
    """
    with closing(sqlite3.connect(folder / DATABASE, timeout=locked)) as database:
        database.execute("VACUUM")
        alive = {segment for (segment,) in database.execute("SELECT id FROM segments")}
    for graph in filter(Path.is_dir, folder.iterdir()):
        if graph.name in alive:
            _blank(graph)
        else:
            shutil.rmtree(graph, ignore_errors=True)


def _blank(graph: Path) -> None:
    """Zeros in place of what stood in the process's memory where there is room for more elements."""
    try:
        _, _, room, elements, size = HEADER.unpack((graph / "header.bin").read_bytes()[: HEADER.size])
        for name, each in (("length.bin", LENGTH), ("data_level0.bin", size)):
            unused = max(0, (graph / name).stat().st_size - elements * each)
            if unused <= room * each:
                with (graph / name).open("r+b") as file:
                    file.seek(elements * each)
                    file.write(bytes(unused))
    except (OSError, struct.error):  # it was never written, or otherwise: nothing is known to be unused
        return


if __name__ == "__main__":
    try:
        vacuum(Path(sys.argv[1]), float(sys.argv[2]))
    except sqlite3.Error as trouble:
        sys.exit(str(trouble))

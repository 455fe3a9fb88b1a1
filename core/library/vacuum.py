"""Removing deleted data from Chroma's files: run as a separate process, while nothing writes to them.

    python vacuum.py FOLDER SECONDS

Chroma contains its own SQLite. Two copies of SQLite in one process break each other's locks
("How To Corrupt An SQLite Database File", 2.2.1); two processes wait for each other.
"""

import shutil
import sqlite3
import struct
import sys
from contextlib import closing
from pathlib import Path

DATABASE = "chroma.sqlite3"  # Chroma's name for its table of collections

#: The beginning of hnswlib's header.bin: version, an offset, capacity, elements, bytes of each.
HEADER = struct.Struct("<iQQQQ")
LENGTH = 4  # bytes of each element in length.bin


def vacuum(folder: Path, locked: float) -> None:
    """Rewrite the database and delete what Chroma leaves of graphs. ``locked``: seconds. sqlite3.Error."""
    with closing(sqlite3.connect(folder / DATABASE, timeout=locked)) as database:
        database.execute("VACUUM")
        alive = {segment for (segment,) in database.execute("SELECT id FROM segments")}
    for graph in filter(Path.is_dir, folder.iterdir()):
        if graph.name in alive:
            _blank(graph)
        else:
            shutil.rmtree(graph, ignore_errors=True)


def _blank(graph: Path) -> None:
    """Overwrite the unused capacity of a graph's files, which hnswlib fills from uncleared memory, with zeros."""
    try:
        _, _, capacity, elements, size = HEADER.unpack((graph / "header.bin").read_bytes()[: HEADER.size])
        for name, each in (("length.bin", LENGTH), ("data_level0.bin", size)):
            unused = max(0, (graph / name).stat().st_size - elements * each)
            if unused <= capacity * each:
                with (graph / name).open("r+b") as file:
                    file.seek(elements * each)
                    file.write(bytes(unused))
    except (OSError, struct.error):  # never written, or in another format: what is unused is not known
        return


if __name__ == "__main__":
    try:
        vacuum(Path(sys.argv[1]), float(sys.argv[2]))
    except sqlite3.Error as trouble:
        sys.exit(str(trouble))

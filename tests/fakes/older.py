"""Data folders as older versions of Footnote left them, from what those versions really wrote."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from harbour import FERRY, HARBOUR

WRITTEN = Path(__file__).resolve().parents[1] / "library" / "older"
CLUB = "Sailing club\n\nThe clubhouse bar opens on Fridays at six. Guests sign the book at the door.\n"
PAGE = "https://tides.example/pier"


def write_documents(docs: Path) -> Path:
    """The files that the older versions had read."""
    docs.mkdir(parents=True, exist_ok=True)
    for name, text in (("harbour.md", HARBOUR), ("ferry.md", FERRY), ("club.txt", CLUB)):
        (docs / name).write_text(text)
    return docs


def lay_down(script: str, file: Path, *, docs: Path | None = None) -> Path:
    """Write a database as an older version left it; ``docs`` is where its documents lie now."""
    file.parent.mkdir(parents=True, exist_ok=True)
    statements = (WRITTEN / f"{script}.sql").read_text(encoding="utf-8").replace("{docs}", str(docs))
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.executescript(f"BEGIN;{statements}COMMIT;")
    return file

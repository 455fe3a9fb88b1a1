"""The threads that a platform's people began: the one sign in the data folder that events arrive."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from bots.doctor.findings import Finding, ok


def threads_below(data_dir: Path, place: str) -> list[str]:
    """The platform's own ids of the threads below a place ("slack/T1"); none where nothing was kept yet."""
    file = data_dir / "rooms.sqlite"
    if not file.is_file():
        return []
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as database:
            known = database.execute("SELECT conversation FROM threads").fetchall()
    except sqlite3.Error:  # a damaged file is no sign either
        return []
    return [name.rpartition("/")[2] for (name,) in known if name.startswith(f"{place}/")]


def they_come(check: str, began: Collection[float]) -> Finding:
    """``began``: when each thread did, in seconds since the epoch."""
    newest = datetime.fromtimestamp(max(began), UTC).astimezone()
    return ok(check, f"They come: the newest thread began on {newest:%d %b %Y at %H:%M}.")

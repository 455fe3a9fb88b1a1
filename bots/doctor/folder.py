"""The data folder: whether it can be used, who may read it, who owns it now, and what room there is.

The threads that a platform's people began: the one sign in the data folder that events arrive.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from bots.doctor.findings import Finding, failed, ok, told, warning
from bots.doctor.settings import Installation
from bots.rebuild import stores
from core.errors import VersionMismatch
from core.library.data_lock import PRIVATE_UMASK
from core.schema import check, version_in
from core.settings import Settings


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


NAME = "data folder"
LITTLE_ROOM = 600_000_000  # bytes; 100,000 passages take 133 MB, and their vectors about 450
NO_ROOM = 20_000_000  # bytes; a day of conversations may need more


def examine(installation: Installation) -> list[Finding]:
    folder = installation.settings.data_dir
    if not folder.exists():
        return [*_before_it_is_made(folder)]
    if not folder.is_dir():
        return [
            failed(NAME, f"DATA_DIR {folder} is a file.", "Move it away, or set DATA_DIR to another folder.")
        ]
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return [
            failed(NAME, f"You may not write in DATA_DIR {folder}.", f"`sudo chown -R $(id -un) {folder}`")
        ]
    return [*_of_folder(folder), *_room(folder), *_versions(installation.settings)]


def owner_of(data_dir: Path) -> str:
    """ "process 123, footnote run": whoever holds the folder now; empty when nobody does.

    The note of an owner that was killed stays behind. The lock tells: it is tried only where
    there is a note, and as one of many readers, so that nobody who starts now is turned away for long.
    """
    import fcntl

    try:
        note = (data_dir / "owner").read_text(encoding="utf-8", errors="replace")
        with (data_dir / "lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return note or "another Footnote, just starting"
    except OSError:
        return ""
    return ""


def _before_it_is_made(folder: Path) -> Iterator[Finding]:
    above = next(parent for parent in folder.absolute().parents if parent.exists())
    if above.is_dir() and os.access(above, os.W_OK | os.X_OK):
        yield ok(NAME, f"{folder} is not there yet; the first command that needs it makes it.")
        yield from _room(above)
    else:
        yield failed(
            NAME, f"DATA_DIR {folder} cannot be made in {above}.", "Set DATA_DIR to a folder of your own."
        )


def _of_folder(folder: Path) -> Iterator[Finding]:
    owner = owner_of(folder)
    yield ok(NAME, f"{folder} is used by {owner}." if owner else f"{folder} can be used; nobody uses it now.")
    status = folder.stat()
    if status.st_uid != os.geteuid():
        yield warning(NAME, f"{folder} belongs to another user.", f"`sudo chown -R $(id -un) {folder}`")
    if status.st_mode & PRIVATE_UMASK:
        yield warning(NAME, f"Others on this machine may look into {folder}.", f"`chmod 700 {folder}`")


def _room(folder: Path) -> Iterator[Finding]:
    free = shutil.disk_usage(folder).free
    room = f"{free / 1e6:,.0f} MB are free on the disk of {folder}."
    if free < NO_ROOM:
        yield failed(NAME, room, "Free some room, or set DATA_DIR to a folder on another disk.")
    elif free < LITTLE_ROOM:
        yield warning(NAME, room, "Free some room, or set DATA_DIR to a folder on another disk.")


def _versions(settings: Settings) -> Iterator[Finding]:
    """Files of other versions; the index has a check of its own."""
    for file, schema in stores(settings).items():
        try:
            check(file, version_in(file), schema)
        except VersionMismatch as mismatch:
            yield told(NAME, mismatch)

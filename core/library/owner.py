"""One process owns the embedded index; a second one is told so, and how to go on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.errors import IndexInUse, SettingsError


@contextmanager
def owned(data_dir: Path, purpose: str) -> Iterator[None]:
    """Hold the data folder for this process; the lock dies with the process, however it dies."""
    from filelock import FileLock, Timeout

    prepare(data_dir)
    lock = FileLock(data_dir / "lock", blocking=False)
    note = data_dir / "owner"
    try:
        lock.acquire()
    except Timeout:
        raise IndexInUse(
            f"Another Footnote ({_read(note)}) is using {data_dir}. "
            "Wait for it or stop it, or set DATA_DIR to another folder."
        ) from None
    except OSError as fault:
        raise SettingsError(f"DATA_DIR {data_dir} cannot be written: {_why(fault)}.") from fault
    try:
        note.write_text(f"process {os.getpid()}, {purpose}", encoding="utf-8")
        yield
    finally:
        note.unlink(missing_ok=True)
        lock.release()


def prepare(data_dir: Path) -> None:
    """Make the data folder, readable by its owner alone."""
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as fault:
        raise SettingsError(f"DATA_DIR {data_dir} cannot be made: {_why(fault)}.") from fault
    if not os.access(data_dir, os.W_OK | os.X_OK):
        raise SettingsError(f"DATA_DIR {data_dir} cannot be written: permission denied.")


def _why(fault: OSError) -> str:
    return (fault.strerror or "the disk refused").lower()


def _read(note: Path) -> str:
    try:
        return note.read_text(encoding="utf-8") or "just starting"
    except OSError:
        return "just starting"

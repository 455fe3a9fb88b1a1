"""The lock of the data folder: one process at a time owns the embedded stores."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from core.errors import IndexInUse, SettingsError, reason_of

PRIVATE_UMASK = 0o077  # permission bits that no file and folder of Footnote has


@contextmanager
def lock_data_dir(data_dir: Path, purpose: str) -> Iterator[None]:
    """Lock the data folder for this process. The lock ends with the process, even when it is killed.

    Files that the process writes meanwhile are readable by its owner alone. IndexInUse when
    another process holds the lock, SettingsError when the folder cannot be written.
    """
    make_data_dir(data_dir)
    note = data_dir / "owner"
    with _private_files(), ExitStack() as stack:
        try:
            stack.enter_context(_lock(data_dir / "lock"))
            stack.callback(note.unlink, missing_ok=True)
            note.write_text(f"process {os.getpid()}, {purpose}", encoding="utf-8")
        except TimeoutError:
            raise IndexInUse(
                f"Another Footnote ({_read(note)}) is using {data_dir}. "
                "Wait for it or stop it, or set DATA_DIR to another folder."
            ) from None
        except OSError as fault:
            raise SettingsError(f"DATA_DIR {data_dir} cannot be written: {reason_of(fault)}.") from fault
        yield


@contextmanager
def share_data_dir(data_dir: Path) -> Iterator[None]:
    """For a process whose stores are in PostgreSQL: files that it writes are readable by its owner alone."""
    make_data_dir(data_dir)
    with _private_files():
        yield


def _lock(file: Path) -> AbstractContextManager[object]:
    from filelock import FileLock

    file.touch(mode=0o600)  # filelock reports some errors of the disk as a lock that is held
    return FileLock(file, blocking=False, mode=0o600)


@contextmanager
def _private_files() -> Iterator[None]:
    earlier = os.umask(PRIVATE_UMASK)
    try:
        yield
    finally:
        os.umask(earlier)


def make_data_dir(data_dir: Path) -> None:
    """Create the data folder, readable by its owner alone."""
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as fault:
        raise SettingsError(f"DATA_DIR {data_dir} cannot be made: {reason_of(fault)}.") from fault
    if not os.access(data_dir, os.W_OK | os.X_OK):
        raise SettingsError(f"DATA_DIR {data_dir} cannot be written: permission denied.")


def _read(note: Path) -> str:
    try:
        return note.read_text(encoding="utf-8", errors="replace") or "just starting"
    except OSError:
        return "just starting"

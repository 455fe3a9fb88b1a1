"""The lock of the data folder: one process at a time owns the embedded stores."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from core.conversation import value
from core.errors import IndexInUse, SettingsError, reason_of

PRIVATE_UMASK = 0o077  # permission bits that no file and folder of Footnote has
GRACE = 0.5  # seconds within which the lock is tried again: :func:`find_owner` holds it for a moment
#: A file in the folder, from before a copy is laid down in it until that is whole.
INCOMPLETE = ".footnote-incomplete-copy"
SERVING = "footnote run"  # the purpose of a process that does the work of commands beside it


@value
class Owner:
    """The process that owns a data folder."""

    name: str  #: as it noted it: "process 12, footnote run"

    @property
    def is_serving(self) -> bool:
        """True if it does the work of commands beside it."""
        return self.name.endswith(f", {SERVING}")

    @property
    def is_named(self) -> bool:
        """False for a moment after it started."""
        return self.name != JUST_STARTING


JUST_STARTING = "just starting"


@contextmanager
def lock_data_dir(data_dir: Path, purpose: str, *, may_be_incomplete: bool = False) -> Iterator[None]:
    """Lock the data folder for this process. The lock ends with the process, even when it is killed.

    Files that the process writes meanwhile are readable by its owner alone. IndexInUse when
    another process holds the lock, SettingsError when the folder cannot be written, or holds a copy
    that was cut off: only who makes that again may lock it.
    """
    from filelock import FileLock

    make_data_dir(data_dir, may_be_incomplete=may_be_incomplete)
    note, lock = data_dir / "owner", data_dir / "lock"
    with _private_files(), ExitStack() as stack:
        try:
            lock.touch(mode=0o600)  # filelock reports some errors of the disk as a lock that is held
            stack.enter_context(FileLock(lock, timeout=GRACE, mode=0o600))
            stack.callback(note.unlink, missing_ok=True)
            note.write_text(f"process {os.getpid()}, {purpose}", encoding="utf-8")
        except TimeoutError:
            raise IndexInUse(
                f"Another Footnote ({_read_text(note)}) is using {data_dir}. "
                "Wait until it has ended, or set DATA_DIR to another folder."
            ) from None
        except OSError as fault:
            raise SettingsError(f"DATA_DIR {data_dir} cannot be written: {reason_of(fault)}.") from fault
        yield


@contextmanager
def share_data_dir(data_dir: Path) -> Iterator[None]:
    """Prepare the folder for a process whose stores are in PostgreSQL: only its owner may read the files."""
    make_data_dir(data_dir)
    with _private_files():
        yield


def find_owner(data_dir: Path) -> Owner | None:
    """The owner of the data folder now; None where nobody owns it."""
    import fcntl

    try:
        descriptor = os.open(data_dir / "lock", os.O_RDONLY)
    except OSError:  # nobody ever did; or it may not be read, and opening the folder says so
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return Owner(name=_read_text(data_dir / "owner"))
    finally:
        os.close(descriptor)  # which also lets the lock go
    return None


@contextmanager
def _private_files() -> Iterator[None]:
    earlier = os.umask(PRIVATE_UMASK)
    try:
        yield
    finally:
        os.umask(earlier)


def make_data_dir(data_dir: Path, *, may_be_incomplete: bool = False) -> None:
    """Create the data folder, readable by its owner alone."""
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as fault:
        raise SettingsError(f"DATA_DIR {data_dir} cannot be made: {reason_of(fault)}.") from fault
    if not os.access(data_dir, os.W_OK | os.X_OK):
        raise SettingsError(f"DATA_DIR {data_dir} cannot be written: permission denied.")
    if not may_be_incomplete:
        refuse_incomplete(data_dir)


def refuse_incomplete(data_dir: Path) -> None:
    """SettingsError for a folder in which a copy was begun and not finished."""
    # Also False where the folder may not be read, which the lock says.
    if os.path.isfile(data_dir / INCOMPLETE):  # noqa: PTH113 - Path.is_file() raises then
        raise SettingsError(
            f"{data_dir} holds a copy that is not whole: `footnote move` or `footnote restore` was cut off, or "
            "still works. Run it again, or set DATA_DIR to another folder."
        )


def _read_text(note: Path) -> str:
    try:
        return note.read_text(encoding="utf-8", errors="replace") or JUST_STARTING
    except OSError:
        return JUST_STARTING

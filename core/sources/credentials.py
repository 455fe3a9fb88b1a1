"""Credentials of sources: the setting that one is kept in, or a file that only its owner may read.

No credential is stored in a database, a log or an address.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from core.conversation import value
from core.errors import SettingsError, reason_of
from core.library.data_lock import PRIVATE_UMASK

SIZE_LIMIT = 1_000_000  # bytes of a file of credentials; a key of a service account has about 2,400


@value
class Credential:
    """A credential that the source of an address needs, or may need."""

    setting: str  #: its name in the environment
    entry: str  #: what is written there, with a word in capitals in place of the secret: "github.com=TOKEN"
    made_at: str  #: where one is made: an address of the web
    rights: str = ""  #: what it must allow, as it is called there
    is_set: bool  #: whether there is one for this address
    is_needed: bool = True  #: False: some sources of this kind are open to everybody
    file: Path | None = None  #: that the setting names, and only its owner may read


def is_exposed(path: Path) -> bool:
    """True if others than its owner may read a file; False for one that is not there."""
    try:
        return bool(path.stat().st_mode & PRIVATE_UMASK)
    except OSError:
        return False


def read_owner_only(path: Path) -> str:
    """The text of a file of credentials. SettingsError for one that others may read, or that is no text."""
    try:
        # It is looked at while it is open, so that no other file can take its place between the look and the read.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            _refuse_exposed(path, os.fstat(descriptor))
            content = os.read(descriptor, SIZE_LIMIT + 1)
        finally:
            os.close(descriptor)
    except OSError as fault:
        raise SettingsError(f"{path} cannot be read: {reason_of(fault)}.") from fault
    if len(content) > SIZE_LIMIT:
        raise SettingsError(f"{path} is too large for a file of credentials.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SettingsError(f"{path} holds no text in UTF-8.") from None


def _refuse_exposed(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise SettingsError(f"{path} is no file.")
    if status.st_uid not in (os.geteuid(), 0):
        raise SettingsError(f"{path} belongs to another user. Run `sudo chown $(id -un) {path}`.")
    if status.st_mode & PRIVATE_UMASK:
        raise SettingsError(f"{path} can be read by others on this machine. Run `chmod 600 {path}`.")

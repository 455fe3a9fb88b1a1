"""Addresses of Google Drive: ``drive:ID`` is a folder or a shared drive, ``drive:`` all that the account may read.

People type these, or copy ``https://drive.google.com/drive/folders/ID`` from their browser, with ``/u/0`` in it where
they are signed in several times. A shared drive has the identifier of its top folder (Drive API v3, ``drives``).
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from core.errors import SettingsError

PREFIX = "drive:"
HOST = "drive.google.com"

_ID = re.compile(r"[A-Za-z0-9_-]{10,128}")
_FOLDER = re.compile(r"/drive/(?:u/\d+/)?folders/([^/]+)/?")


def canonical_address(text: str) -> str:
    """An address as it is kept; SettingsError for what is none."""
    folder = text.removeprefix(PREFIX)
    if not text.startswith(PREFIX) or (folder and not _ID.fullmatch(folder)):
        raise SettingsError(
            f"{text} is no address of Google Drive: drive:ID, where ID is the last part of the folder's address in"
            " a browser, or drive: for all that is shared with the service account."
        )
    return text


def browser_address(name: str) -> str | None:
    """The address of the folder whose page a person named; None for anything else."""
    if not name.startswith(f"https://{HOST}/"):
        return None
    found = _FOLDER.fullmatch(urlsplit(name).path)
    return canonical_address(PREFIX + found[1]) if found else None


def folder_of(address: str) -> str:
    """The identifier of the folder; empty for all that the account may read."""
    return address.removeprefix(PREFIX)


def typed_address(typed: str) -> str:
    """An address as it is kept, of what a browser shows, an ID alone, or a kept one."""
    if (found := browser_address(typed)) is not None:
        return found
    return canonical_address(typed if typed.startswith(PREFIX) else f"{PREFIX}{typed}")

"""What the Drive API says of a file, as the values that are kept: pure functions of its JSON.

Fields, types and roles are those of ``File`` and ``Permission`` in the API's discovery document; the formats that
documents of Google's can be exported in are those of "Export MIME types for Google Workspace documents".
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any, Literal

from core.conversation import value
from core.library.formats.read import SUFFIXES
from core.library.sync import printable
from core.sources.source import SourceItem

_GOOGLE = "application/vnd.google-apps."
FOLDER = f"{_GOOGLE}folder"
SHORTCUT = f"{_GOOGLE}shortcut"
_OFFICE = "application/vnd.openxmlformats-officedocument."

MARKDOWN = "text/markdown"
WORD = f"{_OFFICE}wordprocessingml.document"
SHEET = f"{_OFFICE}spreadsheetml.sheet"
SLIDES = f"{_OFFICE}presentationml.presentation"
TEXT = "text/plain"

#: Documents of Google's that hold text: in which format they are exported, and under which suffix they are parsed.
EXPORTS: Mapping[str, tuple[str, str]] = {
    f"{_GOOGLE}document": (MARKDOWN, ".md"),
    f"{_GOOGLE}spreadsheet": (SHEET, ".xlsx"),  # with all its sheets; CSV would be the first alone
    f"{_GOOGLE}presentation": (SLIDES, ".pptx"),
}
PLAIN_SLIDES = (TEXT, ".txt")  # where nothing is installed that reads presentations

#: The suffix of an uploaded file whose name has none that is read.
SUFFIX_OF_TYPE: Mapping[str, str] = {
    "application/pdf": ".pdf", WORD: ".docx", SHEET: ".xlsx", SLIDES: ".pptx", "application/epub+zip": ".epub",
    "text/html": ".html", MARKDOWN: ".md", "text/x-markdown": ".md", TEXT: ".txt", "text/csv": ".csv",
    "text/tab-separated-values": ".tsv",
}  # fmt: skip

READING_ROLES = frozenset({"owner", "organizer", "fileOrganizer", "writer", "commenter", "reader"})
STORED = "file"  # in a version: it is read as it was uploaded
LOCKED = "locked"  # in a version: the account may not download it

#: What is not known of a file's readers: "hidden", its permissions are not shown to the account; "groups", it is shared
#: with groups, whose members are not known.
Gap = Literal["", "hidden", "groups"]


@value
class DriveAccess:
    """Who may read a file."""

    readers: frozenset[str] | None  #: as those of an item
    gap: Gap = ""


@value
class DriveFile:
    """A file, a folder or a shortcut."""

    id: str
    name: str
    kind: str  #: its MIME type
    parent: str = ""  #: the folder it lies in; empty where the account does not see that
    drive: str = ""  #: the shared drive it lies in
    target: str = ""  #: what a shortcut points to
    version: str = ""  #: of an item
    suffix: str = ""  #: says how it is parsed; empty for what is no document
    url: str | None = None
    changed_at: float | None = None  #: seconds since the epoch
    access: DriveAccess | None = None  #: None: as the folder that it lies in

    @property
    def is_folder(self) -> bool:
        return self.kind == FOLDER

    @property
    def is_shortcut(self) -> bool:
        return self.kind == SHORTCUT

    @property
    def is_document(self) -> bool:
        return bool(self.suffix)


def file_of(given: Mapping[str, Any]) -> DriveFile:
    """A file without its readers."""
    kind, name = str(given.get("mimeType", "")), str(given.get("name", ""))
    return DriveFile(
        id=str(given["id"]),
        name=name,
        kind=kind,
        parent=str(next(iter(given.get("parents", ())), "")),
        drive=str(given.get("driveId", "")),
        target=str(given.get("shortcutDetails", {}).get("targetId", "")) if kind == SHORTCUT else "",
        version=_version(given, kind),
        suffix=_suffix(kind, name),
        url=given.get("webViewLink"),
        changed_at=moment_of(given.get("modifiedTime")),
    )


def _suffix(kind: str, name: str) -> str:
    if kind.startswith(_GOOGLE):
        return export_of(kind)[1]
    suffix = PurePosixPath(name).suffix.lower()
    return suffix if suffix in SUFFIXES else SUFFIX_OF_TYPE.get(kind, "")


def export_of(kind: str) -> tuple[str, str]:
    """The format and the suffix in which a document of Google's is read; empty for what holds no text."""
    found = EXPORTS.get(kind, ("", ""))
    if found[1] == ".pptx" and importlib.util.find_spec("pptx") is None:
        return PLAIN_SLIDES
    return found


def _version(given: Mapping[str, Any], kind: str) -> str:
    """Changes with the content, and with nothing else; begins with the format in which it is exported.

    The API's own ``version`` changes with each permission too: the content would be read again for nothing.
    """
    mark = given.get("md5Checksum") or given.get("modifiedTime", "")
    is_locked = given.get("capabilities", {}).get("canDownload") is False
    return " ".join(filter(None, (export_of(kind)[0] or STORED, str(mark), LOCKED if is_locked else "")))


def moment_of(text: object) -> float | None:
    """A time of RFC 3339 in seconds since the epoch."""
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return None


# Who may read it


def own_access(given: Mapping[str, Any], now: float) -> DriveAccess:
    """Of a file that lies in no shared drive. Its permissions are shown to those who may share it; its owner to all."""
    if "permissions" in given:
        return access_of(given["permissions"], now)
    owners = (str(each.get("emailAddress", "")).lower() for each in given.get("owners", ()))
    return DriveAccess(readers=frozenset(filter(None, owners)), gap="hidden")


def access_of(permissions: Iterable[Mapping[str, Any]], now: float) -> DriveAccess:
    """Who may read what has these permissions, as far as they name addresses and domains. Others may not."""
    found: set[str] = set()
    has_groups = False
    for each in permissions:
        if not _counts(each, now):
            continue
        kind = each.get("type")
        if kind == "anyone":
            return DriveAccess(readers=None)
        if kind == "group":
            has_groups = True
        elif kind == "user":
            found.add(str(each.get("emailAddress", "")).lower())
        elif kind == "domain" and each.get("domain"):
            found.add(f"@{str(each['domain']).lower()}")
    return DriveAccess(readers=frozenset(found - {""}), gap="groups" if has_groups else "")


def _counts(permission: Mapping[str, Any], now: float) -> bool:
    """Whether a permission lets somebody read the content, now. Those of a view show something else."""
    if permission.get("role") not in READING_ROLES or permission.get("deleted") or permission.get("view"):
        return False
    ends = permission.get("expirationTime")
    return ends is None or (moment_of(ends) or 0.0) > now


def inherits(given: Mapping[str, Any]) -> bool:
    """Whether a file of a shared drive has exactly the readers of the folder that it lies in."""
    return given.get("hasAugmentedPermissions") is False and not given.get("inheritedPermissionsDisabled")


# As an item


def item_of(file: DriveFile, path: str, access: DriveAccess) -> SourceItem:
    """``path``: how people name it."""
    name = plain_name(file.name)
    is_exported = file.kind.startswith(_GOOGLE)
    has_suffix = not is_exported and PurePosixPath(name).suffix.lower() == file.suffix
    return SourceItem(
        id=file.id,
        version=file.version,
        name=name if has_suffix else name + file.suffix,
        source=path,
        title=name if is_exported else "",
        url=file.url,
        changed_at=file.changed_at,
        readers=access.readers,
    )


def plain_name(name: str) -> str:
    """A name on one line, without the slashes that Google Drive allows in one."""
    return printable(name).replace("/", "-").strip() or "untitled"

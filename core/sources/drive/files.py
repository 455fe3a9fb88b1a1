"""Files of the Drive API as values, a tree of them, and the addresses of folders.

Paths, readers and items follow from the tree. ``drive:ID`` is a folder or a shared drive, ``drive:`` all that the
account may read.

Fields, types and roles are those of ``File`` and ``Permission`` in the API's discovery document; the formats that
documents of Google's can be exported in are those of "Export MIME types for Google Workspace documents".

People type such an address, or copy ``https://drive.google.com/drive/folders/ID`` from their browser, with ``/u/0`` in
it where they are signed in several times. A shared drive has the identifier of its top folder (Drive API v3,
``drives``).
"""

import importlib.util
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal
from urllib.parse import urlsplit

from core.conversation import value
from core.errors import SettingsError
from core.library.formats.read import SUFFIXES
from core.library.sync import printable
from core.settings import Settings
from core.sources.http import Json
from core.sources.source import Credential, SourceGuide, SourceItem, parse_moment

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
    """The readers of a file."""

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
    version: str = ""  #: of an item; begins with the format in which it is exported
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


def parse_file(given: Json) -> DriveFile:
    """A file without its readers."""
    kind, name = str(given.get("mimeType", "")), str(given.get("name", ""))
    suffix = PurePosixPath(name).suffix.lower()
    exported, exported_suffix = export_of(kind)
    if kind.startswith(_GOOGLE) or suffix not in SUFFIXES:
        suffix = exported_suffix or SUFFIX_OF_TYPE.get(kind, "")
    # Changes with the content, and with nothing else: the API's own version changes with each permission too, and the
    # content would be read again for nothing.
    mark = str(given.get("md5Checksum") or given.get("modifiedTime", ""))
    is_locked = given.get("capabilities", {}).get("canDownload") is False
    return DriveFile(
        id=str(given["id"]), name=name, kind=kind, parent=str(next(iter(given.get("parents", ())), "")),
        drive=str(given.get("driveId", "")), suffix=suffix,
        version=" ".join(filter(None, (exported or STORED, mark, LOCKED if is_locked else ""))),
        target=str(given.get("shortcutDetails", {}).get("targetId", "")) if kind == SHORTCUT else "",
        url=given.get("webViewLink"), changed_at=parse_moment(given.get("modifiedTime")),
    )  # fmt: skip


def export_of(kind: str) -> tuple[str, str]:
    """The format and the suffix in which a document of Google's is read; empty for what holds no text."""
    found = EXPORTS.get(kind, ("", ""))
    return PLAIN_SLIDES if found[1] == ".pptx" and importlib.util.find_spec("pptx") is None else found


def own_access(given: Json, now: float) -> DriveAccess:
    """The readers of a file in no shared drive. Its permissions are shown to those who may share it; its owner to all."""
    if "permissions" in given:
        return access_of(given["permissions"], now)
    owners = (str(each.get("emailAddress", "")).lower() for each in given.get("owners", ()))
    return DriveAccess(readers=frozenset(filter(None, owners)), gap="hidden")


def access_of(permissions: Iterable[Json], now: float) -> DriveAccess:
    """The readers by these permissions, as far as they name addresses and domains. Others may not read."""
    counted = [each for each in permissions if _counts(each, now)]
    kinds = {each.get("type") for each in counted}
    if "anyone" in kinds:
        return DriveAccess(readers=None)
    users = (str(each.get("emailAddress", "")).lower() for each in counted if each.get("type") == "user")
    domains = (str(each.get("domain") or "").lower() for each in counted if each.get("type") == "domain")
    found = {*users, *(f"@{each}" for each in domains if each)}
    return DriveAccess(readers=frozenset(found - {""}), gap="groups" if "group" in kinds else "")


def _counts(permission: Json, now: float) -> bool:
    """True if a permission lets somebody read the content, now. Those of a view show something else."""
    if permission.get("role") not in READING_ROLES or permission.get("deleted") or permission.get("view"):
        return False
    ends = permission.get("expirationTime")
    return ends is None or (parse_moment(ends) or 0.0) > now


def inherits(given: Json) -> bool:
    """True if a file of a shared drive has exactly the readers of its folder."""
    return given.get("hasAugmentedPermissions") is False and not given.get("inheritedPermissionsDisabled")


def item_of(file: DriveFile, path: str, access: DriveAccess) -> SourceItem:
    """``path``: how people name it."""
    name = plain_name(file.name)
    is_exported = file.kind.startswith(_GOOGLE)
    has_suffix = not is_exported and PurePosixPath(name).suffix.lower() == file.suffix
    return SourceItem(
        id=file.id, version=file.version, name=name if has_suffix else name + file.suffix, source=path,
        title=name if is_exported else "", url=file.url, changed_at=file.changed_at, readers=access.readers,
    )  # fmt: skip


def plain_name(name: str) -> str:
    """A name on one line, without the slashes that Google Drive allows in one."""
    return printable(name).replace("/", "-").strip() or "untitled"


SHORT_ID = 6  # characters of an ID that tell files of one name apart
UNKNOWN = DriveAccess(readers=frozenset(), gap="hidden")


@dataclass(slots=True)
class DriveTree:
    """The known files of a source. Without a root it is all that the account may read, and nothing is out of it."""

    root: str
    label: str  #: how people name the source
    nodes: dict[str, DriveFile] = field(default_factory=dict)
    #: the folder or the shortcut by which a node is reached
    via: dict[str, str] = field(default_factory=dict)
    #: by that and a name: the nodes that have been called so, not all of which still are
    _named: dict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))

    def holds(self, file: DriveFile) -> bool:
        """True if a file belongs to the source, as far as is known."""
        return (
            not self.root
            or file.id == self.root
            or file.parent in self.nodes
            or any(each.target == file.id for each in self.nodes.values() if each.is_shortcut)
        )

    def put(self, file: DriveFile, *, via: str) -> None:
        self.nodes[file.id] = file
        if file.id != self.root:
            self.via.setdefault(file.id, via)
        self._note_name(file.id)

    def _note_name(self, file_id: str) -> None:
        self._named[self.via.get(file_id, ""), plain_name(self.nodes[file_id].name)].add(file_id)

    def sweep(self) -> None:
        """Drop what is not reached any more: what was moved away, or lies in what was."""
        if self.root:
            self.via = self._find_paths()
            reached = {self.root, *self.via}
            self.nodes = {file_id: node for file_id, node in self.nodes.items() if file_id in reached}
        else:
            self.via = {each.id: each.parent for each in self.nodes.values() if each.parent in self.nodes}
        self._named.clear()
        for file_id in self.nodes:
            self._note_name(file_id)

    def _find_paths(self) -> dict[str, str]:
        """The way to each node: from the root through folders, and then through shortcuts. Each once."""
        below = defaultdict[str, list[str]](list)
        for node in self.nodes.values():
            below[node.parent].append(node.id)
        found = dict[str, str]()
        folders, shortcuts = deque([self.root] if self.root in self.nodes else ()), deque[DriveFile]()
        while folders or shortcuts:
            if folders:
                at = folders.popleft()
                led = [file_id for file_id in below[at] if file_id not in found and file_id != self.root]
            else:
                shortcut = shortcuts.popleft()
                at, target = shortcut.id, shortcut.target
                led = [target] if target in self.nodes and target not in found and target != self.root else []
            for file_id in led:
                found[file_id] = at
                if self.nodes[file_id].is_folder:
                    folders.append(file_id)
                elif self.nodes[file_id].is_shortcut:
                    shortcuts.append(self.nodes[file_id])
        return found

    def path(self, file_id: str) -> str:
        """The name of a node for people, which no other node has: who may read a document is looked up by it."""
        names = []
        while file_id in self.nodes and file_id != self.root:
            above = self.via.get(file_id, "")
            # What a shortcut leads to is named as the shortcut is.
            if not (above in self.nodes and self.nodes[above].is_shortcut):
                name = plain_name(self.nodes[file_id].name)
                names.append(name)
                if self._has_twin(file_id, above, name):
                    names[-1] += f" ({file_id[-SHORT_ID:]})"
            file_id = above
        return "/".join([self.label, *reversed(names)])

    def _has_twin(self, file_id: str, above: str, name: str) -> bool:
        """True if another file of this folder has the same name, as Google Drive allows."""
        return any(
            each in self.nodes
            and self.via.get(each, "") == above
            and plain_name(self.nodes[each].name) == name
            for each in self._named.get((above, name), set()) - {file_id}
        )

    def access(self, file_id: str) -> DriveAccess:
        """The readers of a node: nobody, where that is not known."""
        seen = set[str]()
        while (node := self.nodes.get(file_id)) is not None and file_id not in seen:
            if node.access is not None:
                return node.access
            seen.add(file_id)
            file_id = node.parent
        return UNKNOWN

    def item(self, file_id: str) -> SourceItem:
        return item_of(self.nodes[file_id], self.path(file_id), self.access(file_id))

    def items(self) -> dict[str, SourceItem]:
        return {file_id: self.item(file_id) for file_id, node in self.nodes.items() if node.is_document}

    def note(self, email: str) -> str:
        """Sentences for the operator about readers; empty if all are known."""
        gaps = [self.access(each.id).gap for each in self.nodes.values() if each.is_document]
        sentences = []
        if hidden := gaps.count("hidden"):
            sentences.append(
                f"Who may read {count_of(hidden)} is not shown to {email}, so only the owners are answered from there:"
                " make it an editor, or in a shared drive a content manager."
            )
        if groups := gaps.count("groups"):
            sentences.append(
                f"Groups may read {count_of(groups)}, and who is in them is not known here: people are answered from"
                " there only if they, or their domain, are named too."
            )
        return " ".join(sentences)


def count_of(number: int) -> str:
    return "1 file" if number == 1 else f"{number:,} files"


def differing(old: dict[str, SourceItem], new: dict[str, SourceItem]) -> tuple[list[SourceItem], list[str]]:
    """Items that are new or changed, and ids of those that are gone."""
    changed = [item for file_id, item in new.items() if old.get(file_id) != item]
    return changed, [file_id for file_id in old if file_id not in new]


PREFIX = "drive:"
HOST = "drive.google.com"

_ID = re.compile(r"[A-Za-z0-9_-]{10,128}")
_FOLDER = re.compile(r"/drive/(?:u/\d+/)?folders/([^/]+)/?")


def canonical_address(text: str) -> str:
    """The address as it is kept; SettingsError for an invalid one."""
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


def typed_address(typed: str) -> str:
    """An address as it is kept, of what a browser shows, an ID alone, or a kept one."""
    kept = typed if typed.startswith(PREFIX) else f"{PREFIX}{typed}"
    return browser_address(typed) or canonical_address(kept)


def credentials_of(_text: str, settings: Settings) -> Sequence[Credential]:
    """The key of a service account, with which the folder is shared."""
    given = settings.drive_credentials
    key = Credential(
        setting="DRIVE_CREDENTIALS", entry="/PATH/OF/KEY.json",
        made_at="https://console.cloud.google.com/iam-admin/serviceaccounts",
        rights="a JSON key of a service account, with whose address the folder is shared, as an editor",
        is_set=bool(given), file=Path(given).expanduser() if given else None,
    )  # fmt: skip
    return (key,)


GUIDE = SourceGuide(
    title="A folder or a shared drive of Google Drive",
    asks="Its address in a browser; drive: for all that is shared with the service account",
    example="https://drive.google.com/drive/folders/1AbCdEfGhIjKlMnOp", address=typed_address,
    credentials=credentials_of,
)  # fmt: skip

"""Bringing the index in step with files: what to read, what to skip, what to forget.

What a sync must do is decided from two listings, the disk's and the catalogue's; only
files whose size or date changed are opened, and only files whose bytes changed are cut.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.errors import DocumentError, SettingsError
from core.library.catalogue import Catalogue, Entry, NewDocument
from core.library.chunk import cut
from core.library.load import SUFFIXES, read_document

SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "site-packages", "venv"})  # and all hidden ones


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A file on the disk."""

    address: str  #: absolute path
    root: str  #: the folder or file that was asked for
    size: int  #: bytes
    modified: int  #: nanoseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A document that could not be read, and why."""

    source: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncReport:
    """What a sync did, in documents."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    skipped: int = 0
    failed: tuple[Failure, ...] = ()

    @property
    def touched(self) -> int:
        return self.added + self.changed + self.removed

    def __add__(self, other: SyncReport) -> SyncReport:
        return SyncReport(
            added=self.added + other.added,
            changed=self.changed + other.changed,
            removed=self.removed + other.removed,
            skipped=self.skipped + other.skipped,
            failed=(*self.failed, *other.failed),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a sync of one collection must do."""

    read: tuple[Found, ...]  #: new, or changed in size or date
    gone: tuple[Entry, ...]
    unchanged: int


def list_files(paths: Iterable[Path]) -> list[Found]:
    """The readable files at these paths, in order; SettingsError for a path that does not exist."""
    found: dict[str, Found] = {}
    for path in paths:
        root = path.expanduser().resolve()
        if not root.exists():
            raise SettingsError(f"{path} does not exist.")
        for file in [root] if root.is_file() else _walk(root):
            try:
                stat = file.stat()
            except OSError:
                continue  # gone since it was listed: the next listing will not have it
            entry = Found(address=str(file), root=str(root), size=stat.st_size, modified=stat.st_mtime_ns)
            found.setdefault(entry.address, entry)
    return list(found.values())


def _walk(folder: Path) -> Iterable[Path]:
    """Files with a readable suffix below a folder, sorted; hidden and machine-made folders are left out."""
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in SKIPPED_FOLDERS)
        for name in sorted(files):
            if not name.startswith(".") and Path(name).suffix.lower() in SUFFIXES:
                yield Path(here, name)


def plan_sync(found: Sequence[Found], known: Sequence[Entry], roots: Sequence[str]) -> Plan:
    """Compare the disk with the catalogue; entries at or below ``roots`` that were not found are gone."""
    by_address = {entry.address: entry for entry in known}
    on_disk = {file.address for file in found}
    read = [file for file in found if not _is_same(file, by_address.get(file.address))]
    gone = [
        e for e in known if e.address not in on_disk and any(is_within(e.address, root) for root in roots)
    ]
    return Plan(read=tuple(read), gone=tuple(gone), unchanged=len(found) - len(read))


def _is_same(file: Found, entry: Entry | None) -> bool:
    return entry is not None and (entry.size, entry.modified) == (file.size, file.modified)


def is_within(address: str, root: str) -> bool:
    """Whether a path is the root itself or lies below it."""
    return address == root or address.startswith(root.rstrip("/") + "/")


def source_of(address: str, root: str) -> str:
    """How people name a file: its path from the name of the folder that was indexed."""
    return Path(address).relative_to(Path(root).parent).as_posix()


def carry_out(
    plan: Plan,
    known: Mapping[str, Entry],
    catalogue: Catalogue,
    collection: str,
    progress: Callable[[int, int], None],
) -> SyncReport:
    """Read what the plan says and write it to the catalogue, one document at a time."""
    report = SyncReport(skipped=plan.unchanged)
    for entry in plan.gone:
        catalogue.remove(collection, entry.address)
        report += SyncReport(removed=1)
    for done, file in enumerate(plan.read, start=1):
        report += _take_in(file, known.get(file.address), catalogue, collection)
        progress(done, len(plan.read))
    return report


def _take_in(file: Found, entry: Entry | None, catalogue: Catalogue, collection: str) -> SyncReport:
    source = source_of(file.address, file.root)
    path = Path(file.address)
    try:
        digest = _hash_of(path)
        if entry is not None and entry.hash == digest:
            catalogue.touch(
                entry.id, modified=file.modified, size=file.size, root=entry.root, source=entry.source
            )
            return SyncReport(skipped=1)
        document = read_document(path)
    except DocumentError as fault:
        # An older version must not be quoted once the file says something else.
        removed = 1 if entry and catalogue.remove(collection, file.address) else 0
        return SyncReport(removed=removed, failed=(Failure(source=source, reason=str(fault)),))
    catalogue.put(
        NewDocument(
            collection=collection,
            address=file.address,
            root=file.root,
            source=source,
            title=document.title,
            url=document.url,
            hash=digest,
            size=file.size,
            modified=file.modified,
            pieces=cut(document),
        ),
    )
    return SyncReport(added=1) if entry is None else SyncReport(changed=1)


def _hash_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError as gone:
        raise DocumentError("disappeared while it was read") from gone
    except OSError as fault:
        raise DocumentError("could not be read: " + (fault.strerror or "the disk refused").lower()) from fault

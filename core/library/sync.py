"""Bringing the index in step with files: what to read, what to skip, what to forget.

What a sync must do is decided from two listings, the disk's and the catalogue's; only
files whose size or date changed are opened, and only files whose bytes changed are cut.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from core.errors import DocumentError
from core.library.catalogue import Catalogue, Entry, NewDocument
from core.library.chunking import cut
from core.library.documents import Document
from core.library.files import Failure, Found, Listing, list_files, reason_of
from core.library.formats.read import FILE_LIMIT, read_document
from core.library.roots import Unreadable, is_within
from core.text.characters import whole


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
class SyncPlan:
    """What a sync of one collection must do."""

    read: tuple[Found, ...]  #: new, or changed in size or date
    renamed: tuple[tuple[Entry, Found], ...]  #: unchanged, but below another root now
    gone: tuple[Entry, ...]
    unchanged: int
    failed: tuple[Failure, ...]  #: cannot be listed; or could not be read before, and unchanged since
    settled: tuple[str, ...]  #: addresses whose failure is no longer known: gone, or read again


def plan_sync(
    listing: Listing,
    known: Mapping[str, Entry],
    unreadable: Mapping[str, Unreadable],
    places: Collection[str],
    *,
    retry: bool,
) -> SyncPlan:
    """Compare the disk with the catalogue; what is known at or below ``places`` and was not found is gone.

    Files that could not be read are tried again when they changed, or all of them with ``retry``.
    """
    on_disk = {file.address for file in listing.files}
    same = [file for file in listing.files if _is_same(file, known.get(file.address))]
    hopeless = [f for f in listing.files if not retry and _is_same(f, unreadable.get(f.address))]
    done = {file.address for file in (*same, *hopeless)}

    def concerned(address: str) -> bool:
        return any(is_within(address, place) for place in places)

    return SyncPlan(
        read=tuple(file for file in listing.files if file.address not in done),
        renamed=tuple((known[f.address], f) for f in same if f.source != known[f.address].source),
        gone=tuple(e for e in known.values() if e.address not in on_disk and concerned(e.address)),
        unchanged=len(same),
        failed=(
            *listing.failed,
            *(Failure(source=f.source, reason=unreadable[f.address].reason) for f in hopeless),
        ),
        settled=tuple(a for a in unreadable if a not in done and concerned(a)),
    )


def _is_same(file: Found, known: Entry | Unreadable | None) -> bool:
    return known is not None and (known.size, known.modified) == (file.size, file.modified)


def carry_out(
    plan: SyncPlan,
    known: Mapping[str, Entry],
    catalogue: Catalogue,
    collection: str,
    progress: Callable[[int, int], None],
) -> SyncReport:
    """Read what the plan says and write it to the catalogue, one document at a time."""
    report = SyncReport(skipped=plan.unchanged, removed=len(plan.gone), failed=plan.failed)
    for entry in plan.gone:
        catalogue.remove(collection, entry.address)
    for entry, file in plan.renamed:
        _touch(entry, file, catalogue)
    if plan.settled:
        catalogue.roots.clear_unreadable(collection, plan.settled)
    for done, file in enumerate(plan.read, start=1):
        report += _take_in(file, known.get(file.address), catalogue, collection)
        progress(done, len(plan.read))
    return report


def _take_in(file: Found, entry: Entry | None, catalogue: Catalogue, collection: str) -> SyncReport:
    digest = None
    try:
        digest = _digest_of(Path(file.address))
        if entry is not None and entry.hash == digest:
            _touch(entry, file, catalogue)
            return SyncReport(skipped=1)
        document = storable(read_document(Path(file.address)))
    except DocumentError as fault:
        if digest:  # else it was the disk that refused, and it may answer the next time
            catalogue.roots.note_unreadable(collection, _unreadable(file, str(fault)))
        # An older version must not be quoted once the file says something else.
        catalogue.remove(collection, file.address)
        failure = Failure(source=file.source, reason=str(fault))
        return SyncReport(removed=0 if entry is None else 1, failed=(failure,))
    catalogue.put(
        NewDocument(
            collection=collection,
            address=file.address,
            root=file.root,
            source=file.source,
            title=document.title,
            url=document.url,
            hash=digest,
            size=file.size,
            modified=file.modified,
            pieces=cut(document),
        ),
    )
    return SyncReport(added=1) if entry is None else SyncReport(changed=1)


def storable(document: Document) -> Document:
    """Without lone surrogates, which some fonts of PDF files give; what was cut already has none in its text."""
    text = document.text if document.pieces is not None else whole(document.text)
    return replace(document, title=whole(document.title), text=text)


def _touch(entry: Entry, file: Found, catalogue: Catalogue) -> None:
    catalogue.touch(entry.id, modified=file.modified, size=file.size, root=file.root, source=file.source)


def _unreadable(file: Found, reason: str) -> Unreadable:
    return Unreadable(
        address=file.address, source=file.source, size=file.size, modified=file.modified, reason=reason
    )


def _digest_of(path: Path) -> str:
    """Of as many bytes as a document may have; DocumentError when the disk does not give them."""
    try:
        with path.open("rb") as file:
            return hashlib.sha256(file.read(FILE_LIMIT + 1)).hexdigest()
    except FileNotFoundError as gone:
        raise DocumentError("disappeared while it was read") from gone
    except OSError as fault:
        raise DocumentError(f"could not be read: {reason_of(fault)}") from fault


__all__ = [
    "Failure",
    "SyncPlan",
    "SyncReport",
    "carry_out",
    "is_within",
    "list_files",
    "plan_sync",
    "storable",
]

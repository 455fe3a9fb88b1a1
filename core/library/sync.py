"""Syncing the index with the files on the disk.

The disk and the document store are listed and compared. Only files whose size or date changed
are opened, and only files whose bytes changed are indexed again.
"""

import os
import stat
import unicodedata
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from core.errors import SettingsError, reason_of
from core.library.entries import Entry
from core.library.formats import includes
from core.library.formats.archives import OLDER, refusal, summary
from core.library.formats.read import SUFFIXES
from core.library.roots import PathRules, UnreadableFile, is_within

SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "site-packages", "venv"})  # and all hidden ones


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """A file on the disk."""

    address: str  #: absolute path
    root: str  #: the outermost ingested folder above it, or the file itself
    size: int  #: bytes
    modified: int  #: nanoseconds; when its bytes or its metadata changed, whichever is later

    @property
    def source(self) -> str:
        return source_of(self.address, self.root)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A document that could not be read, and why."""

    source: str
    reason: str
    is_source: bool = False  #: whether it is a whole source that could not be read


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceNote:
    """A note for a person about a source that was read, such as that a limit was reached."""

    source: str
    text: str  #: sentences


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The files and folders found on the disk."""

    files: tuple[FoundFile, ...] = ()
    failed: tuple[Failure, ...] = ()  #: folders and names that cannot be read
    notes: tuple[SourceNote, ...] = ()  #: of folders with files of older programs


def resolve_path(path: Path) -> str:
    """The absolute path, links followed; SettingsError when nothing is there."""
    try:
        address = str(path.expanduser().resolve(strict=True))
        address.encode()
    except FileNotFoundError:
        raise SettingsError(f"{path} does not exist.") from None
    except UnicodeEncodeError:
        raise SettingsError(f"{printable(str(path))} has a name that is not UTF-8.") from None
    except OSError as fault:
        raise SettingsError(f"{path} cannot be read: {reason_of(fault)}.") from fault
    except RuntimeError as fault:  # a cycle of links, or the home of a user who does not exist
        raise SettingsError(f"{path} does not lead anywhere.") from fault
    return address


def list_files(paths: Iterable[Path]) -> Listing:
    """The files at these paths, in order; SettingsError for a path that does not exist."""
    roots = frozenset(map(resolve_path, paths))
    return scan(roots, PathRules(roots=roots))


def scan(paths: Iterable[str], rules: PathRules) -> Listing:
    """The files at these paths that the rules include, each once; a path that is gone contains none."""
    found = _Scan(rules)
    for path in sorted(paths):
        found.visit(Path(path))
    return Listing(
        files=tuple(found.files.values()), failed=tuple(found.failed.values()), notes=tuple(found.notes())
    )


@dataclass(slots=True)
class _Scan:
    """A listing in progress."""

    rules: PathRules
    files: dict[str, FoundFile] = field(default_factory=dict)
    failed: dict[str, Failure] = field(default_factory=dict)
    older: dict[str, None] = field(default_factory=dict)  #: addresses of files of older programs, in order

    def visit(self, path: Path) -> None:
        """Add a file, or the files below a folder except those in hidden and generated folders."""
        try:
            is_folder = stat.S_ISDIR(path.stat().st_mode)
        except OSError as fault:
            self._on_trouble(fault)
            return
        if not is_folder:
            self._add(path)
            return
        for here, folders, names in os.walk(path, onerror=self._on_trouble):
            folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in SKIPPED_FOLDERS)
            for name in sorted(names):
                suffix = Path(name).suffix.lower()
                if not name.startswith(".") and suffix in SUFFIXES:
                    self._add(Path(here, name))
                elif not name.startswith(".") and suffix in OLDER and self.rules.includes(f"{here}/{name}"):
                    self.older[f"{here}/{name}"] = None

    def _add(self, file: Path) -> None:
        address = str(file)
        if address in self.files or not self.rules.includes(address):
            return
        root = self.rules.root_of(address)
        if file.is_symlink() and not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(root)):
            return  # a link out of the folder could quote what was not meant to be shared
        try:
            status = file.stat()
            address.encode()
        except OSError as fault:
            self._on_trouble(fault)
        except UnicodeEncodeError:
            self._fail(address, "its name is not UTF-8")
        else:
            if not stat.S_ISREG(status.st_mode):
                self._fail(address, "it is not a file")  # reading a pipe would wait
                return
            at = max(status.st_mtime_ns, status.st_ctime_ns)
            self.files[address] = FoundFile(address=address, root=root, size=status.st_size, modified=at)

    def notes(self) -> Iterator[SourceNote]:
        """One note for each root that holds files of older programs."""
        by_root: dict[str, list[str]] = {}
        for address in filter(_is_document, self.older):
            by_root.setdefault(self.rules.root_of(address), []).append(address)
        for root, found in by_root.items():
            suffixes, first = [Path(each).suffix.lower() for each in found], source_of(found[0], root)
            if len(found) == 1:
                yield SourceNote(source=first, text=refusal(suffixes[0]))
            else:
                yield SourceNote(source=printable(Path(root).name), text=summary(suffixes, first))

    def _on_trouble(self, fault: OSError) -> None:
        if not isinstance(fault, FileNotFoundError):  # gone since it was listed
            self._fail(str(fault.filename), reason_of(fault))

    def _fail(self, address: str, reason: str) -> None:
        source = source_of(address, self.rules.root_of(address))
        self.failed[address] = Failure(source=printable(source), reason=f"could not be read: {reason}")


def _is_document(address: str) -> bool:
    """False for a secret key, which has the suffix of Keynote too."""
    try:
        return not address.lower().endswith(".key") or zipfile.is_zipfile(address)
    except OSError:
        return False


def source_of(address: str, root: str) -> str:
    """How people name a file: its path, beginning with the name of the indexed folder, on one printable line."""
    return printable(Path(address).relative_to(Path(root).parent).as_posix())


def printable(name: str) -> str:
    """A name on one line, with "?" for bytes that are not UTF-8 and for invisible characters."""
    known = name.encode(errors="replace").decode()
    return "".join("?" if unicodedata.category(sign) in ("Cc", "Cf", "Zl", "Zp") else sign for sign in known)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncReport:
    """The result of a sync, in documents, and notes about it."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    skipped: int = 0
    failed: tuple[Failure, ...] = ()
    notes: tuple[SourceNote, ...] = ()

    @property
    def touched(self) -> int:
        return self.added + self.changed + self.removed

    def __add__(self, other: "SyncReport") -> "SyncReport":
        names = [each.name for each in fields(self)]  # numbers and tuples, which add up too
        return type(self)(**{name: getattr(self, name) + getattr(other, name) for name in names})


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncPlan:
    """The work of a sync of one collection."""

    read: tuple[FoundFile, ...]  #: new, or changed in size or date
    renamed: tuple[tuple[Entry, FoundFile], ...]  #: unchanged, but with another root now
    gone: tuple[Entry, ...]
    unchanged: int
    failed: tuple[Failure, ...]  #: cannot be listed, or could not be read before and unchanged since
    notes: tuple[SourceNote, ...]  #: of unchanged files that were not wholly read
    cleared: tuple[str, ...]  #: addresses of unreadable files that are gone or are read again


def plan_sync(
    listing: Listing,
    known: Mapping[str, Entry],
    unreadable: Mapping[str, UnreadableFile],
    paths: Collection[str],
    *,
    retry: bool,
) -> SyncPlan:
    """Compare the disk with the store. What the store has at or below ``paths`` and the disk has not is gone.

    Files that were not read, or not wholly, are tried again if they changed, or all of them with ``retry``.
    """
    on_disk = {file.address for file in listing.files}
    left = {f.address: f for f in listing.files if _is_same(f, unreadable.get(f.address))}
    # Those that the store has as they are, with the files that they include as they are.
    stored = ((f, known[f.address]) for f in listing.files if _is_same(f, known.get(f.address)))
    indexed = [file for file, entry in stored if not includes.have_changed(entry.included)]
    same = [f for f in indexed if not retry or f.address not in left]
    partial = {f.address for f in same} & left.keys()
    still_unreadable = [] if retry else [f for f in left.values() if f.address not in known]
    done = {file.address for file in (*same, *still_unreadable)}

    def is_in_scope(address: str) -> bool:
        return any(is_within(address, path) for path in paths)

    return SyncPlan(
        read=tuple(file for file in listing.files if file.address not in done),
        renamed=tuple((known[f.address], f) for f in same if f.source != known[f.address].source),
        gone=tuple(e for e in known.values() if e.address not in on_disk and is_in_scope(e.address)),
        unchanged=len(same),
        failed=(
            *listing.failed,
            *(Failure(source=f.source, reason=unreadable[f.address].reason) for f in still_unreadable),
        ),
        notes=(
            *listing.notes,
            *(SourceNote(source=left[a].source, text=unreadable[a].reason) for a in sorted(partial)),
        ),
        cleared=tuple(a for a in unreadable if a not in done and is_in_scope(a)),
    )


def _is_same(file: FoundFile, known: Entry | UnreadableFile | None) -> bool:
    return known is not None and (known.size, known.modified) == (file.size, file.modified)

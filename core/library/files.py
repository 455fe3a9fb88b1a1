"""What lies on the disk: which files are documents, and which folders are none of ours."""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from core.errors import SettingsError
from core.library.formats.read import SUFFIXES
from core.library.roots import Kept

SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "site-packages", "venv"})  # and all hidden ones


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A file on the disk."""

    address: str  #: absolute path
    root: str  #: the outermost folder that is kept in step, or the file itself
    size: int  #: bytes
    modified: int  #: nanoseconds; the date of its bytes or of its entry in the folder, whichever is later

    @property
    def source(self) -> str:
        return source_of(self.address, self.root)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A document that could not be read, and why."""

    source: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What the disk holds."""

    files: tuple[Found, ...] = ()
    failed: tuple[Failure, ...] = ()  #: folders and names that cannot be read


def resolved(path: Path) -> str:
    """The absolute path of what is there, links followed; SettingsError when nothing can be found there."""
    try:
        address = str(path.expanduser().resolve(strict=True))
        address.encode()
    except FileNotFoundError:
        raise SettingsError(f"{path} does not exist.") from None
    except UnicodeEncodeError:
        raise SettingsError(f"{_printable(str(path))} has a name that is not UTF-8.") from None
    except OSError as fault:
        raise SettingsError(f"{path} cannot be read: {reason_of(fault)}.") from fault
    except RuntimeError as fault:  # a circle of links, or the home of a user who does not exist
        raise SettingsError(f"{path} does not lead anywhere.") from fault
    return address


def list_files(paths: Iterable[Path]) -> list[Found]:
    """The readable files at these paths, in order; SettingsError for a path that does not exist."""
    places = frozenset(map(resolved, paths))
    return list(survey(places, Kept(roots=places)).files)


def survey(places: Iterable[str], kept: Kept) -> Listing:
    """What lies at these places and is wanted, each file once; a place that is gone holds nothing."""
    seen = _Survey(kept)
    for place in sorted(places):
        seen.visit(Path(place))
    return Listing(files=tuple(seen.files.values()), failed=tuple(seen.failed.values()))


@dataclass(slots=True)
class _Survey:
    """A listing while it is made."""

    kept: Kept
    files: dict[str, Found] = field(default_factory=dict)
    failed: dict[str, Failure] = field(default_factory=dict)

    def visit(self, place: Path) -> None:
        """A file as it was named; of a folder what is below it, hidden and machine-made folders left out."""
        try:
            is_folder = stat.S_ISDIR(place.stat().st_mode)
        except OSError as fault:
            self._on_trouble(fault)
            return
        if not is_folder:
            self._look_at(place)
            return
        for here, folders, names in os.walk(place, onerror=self._on_trouble):
            folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in SKIPPED_FOLDERS)
            for name in sorted(names):
                if not name.startswith(".") and Path(name).suffix.lower() in SUFFIXES:
                    self._look_at(Path(here, name))

    def _look_at(self, file: Path) -> None:
        address = str(file)
        if address in self.files or not self.kept.wants(address):
            return
        if file.is_symlink() and not _leads_into(file, self.kept.root_of(address)):
            return  # a link out of the folder would quote what nobody meant to share
        try:
            status = file.stat()
            address.encode()
        except OSError as fault:
            self._on_trouble(fault)
        except UnicodeEncodeError:
            self._fail(address, "its name is not UTF-8")
        else:
            if not stat.S_ISREG(status.st_mode):
                self._fail(address, "it is not a file")  # a pipe would keep its reader waiting
                return
            self.files[address] = Found(
                address=address,
                root=self.kept.root_of(address),
                size=status.st_size,
                modified=max(status.st_mtime_ns, status.st_ctime_ns),
            )

    def _on_trouble(self, fault: OSError) -> None:
        if not isinstance(fault, FileNotFoundError):  # gone since it was listed
            self._fail(str(fault.filename), reason_of(fault))

    def _fail(self, address: str, reason: str) -> None:
        source = source_of(address, self.kept.root_of(address))
        self.failed[address] = Failure(source=_printable(source), reason=f"could not be read: {reason}")


def _leads_into(link: Path, root: str) -> bool:
    return Path(os.path.realpath(link)).is_relative_to(os.path.realpath(root))


def source_of(address: str, root: str) -> str:
    """How people name a file: its path from the name of the folder that was indexed, on one printable line."""
    return _printable(Path(address).relative_to(Path(root).parent).as_posix())


def reason_of(fault: OSError) -> str:
    """What the operating system says, as the end of a sentence."""
    return (fault.strerror or "the disk refused").lower()


def _printable(name: str) -> str:
    """A name on one line, with "?" for bytes that are not UTF-8 and for what no reader could see."""
    known = name.encode(errors="replace").decode()
    return "".join("?" if unicodedata.category(sign) in ("Cc", "Cf", "Zl", "Zp") else sign for sign in known)

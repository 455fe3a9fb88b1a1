"""One file that holds all stores: a zip of JSON lines, one for each row.

A manifest has their counts and digests. The rows are those of the tables, in a form that belongs to no database.
Bytes are written in base64.
"""

import base64
import hashlib
import json
import os
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from core.conversation import value
from core.errors import SettingsError, reason_of
from core.storage.database import Row

FORMAT = 1  # of the archive itself; its stores have versions of their own
MANIFEST = "manifest.json"
PIECE = 1024**2  # bytes of a file that are read at a time
_BYTES = "base64"  # the key of an encoded value


@value
class Member:
    """The description of one part of an archive."""

    count: int  #: rows, or bytes of a file
    digest: str  #: SHA-256 of it, in hexadecimal


@value
class Manifest:
    """The table of contents of an archive. ``facts`` is whatever its writer has to say about the stores."""

    facts: Mapping[str, Any]
    members: Mapping[str, Member]


def _copy(source: IO[bytes], target: IO[bytes]) -> Member:
    size, digest = 0, hashlib.sha256()
    while piece := source.read(PIECE):
        digest.update(piece)
        target.write(piece)
        size += len(piece)
    return Member(count=size, digest=digest.hexdigest())


class ArchiveWriter:
    """Adds parts to an archive; the manifest comes last, so that an archive that was cut short has none."""

    def __init__(self, opened: zipfile.ZipFile) -> None:
        self._opened = opened
        self._members: dict[str, Member] = {}

    def add_rows(self, name: str, rows: Iterable[Row]) -> int:
        """Add rows; returns their number."""
        count, digest = 0, hashlib.sha256()
        with self._opened.open(name, "w", force_zip64=True) as target:
            for row in rows:
                line = encode_row(row)
                digest.update(line)
                target.write(line)
                count += 1
        self._members[name] = Member(count=count, digest=digest.hexdigest())
        return count

    def add_file(self, name: str, file: Path) -> None:
        with file.open("rb") as source, self._opened.open(name, "w", force_zip64=True) as target:
            self._members[name] = _copy(source, target)

    def finish(self, facts: Mapping[str, Any]) -> None:
        members = {name: [each.count, each.digest] for name, each in self._members.items()}
        manifest = {"format": FORMAT, "facts": facts, "members": members}
        self._opened.writestr(MANIFEST, json.dumps(manifest, indent=1))


@contextmanager
def write_archive(file: Path) -> Iterator[ArchiveWriter]:
    """A new archive, its owner's alone, under its name when complete. SettingsError if it has one."""
    _refuse_taken(file)
    try:
        # A part of its own: who writes an archive of the same name at the same time writes none of this one.
        descriptor, part = tempfile.mkstemp(prefix=f"{file.name}.", suffix=".part", dir=file.parent)
        try:
            with (
                os.fdopen(descriptor, "wb") as target,
                zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as opened,
            ):
                yield ArchiveWriter(opened)
            _refuse_taken(file)
            Path(part).replace(file)
        finally:
            Path(part).unlink(missing_ok=True)
    except OSError as fault:
        raise SettingsError(f"{file} cannot be written: {reason_of(fault)}.") from fault


def _refuse_taken(file: Path) -> None:
    if file.exists():
        raise SettingsError(f"{file} exists already. Name another file.")


class ArchiveReader:
    """The parts of an archive, each checked against the manifest when it has been read to its end."""

    def __init__(self, opened: zipfile.ZipFile, manifest: Manifest) -> None:
        self._opened = opened
        self.manifest = manifest

    def names(self, folder: str) -> list[str]:
        """The parts below a folder of the archive, in the order in which they were written."""
        return [name for name in self.manifest.members if name.startswith(f"{folder}/")]

    def rows(self, name: str) -> Iterator[Row]:
        count, digest = 0, hashlib.sha256()
        with self._part(name) as source:
            for line in source:
                digest.update(line)
                count += 1
                yield decode_row(line)
        self._check(name, Member(count=count, digest=digest.hexdigest()))

    def copy_file(self, name: str, target: Path) -> None:
        with self._part(name) as source, target.open("wb") as copy:
            self._check(name, _copy(source, copy))

    def _part(self, name: str) -> IO[bytes]:
        with _reporting_damage():
            return self._opened.open(name)

    def _check(self, name: str, found: Member) -> None:
        if self.manifest.members[name] != found:
            raise ValueError(f"{name} is not what the manifest says")


@contextmanager
def read_archive(file: Path) -> Iterator[ArchiveReader]:
    """SettingsError for a file that is no archive, is damaged, or was written by a newer version."""
    try:
        with _reporting_damage():
            archive = zipfile.ZipFile(file)
        with archive as opened:
            with _reporting_damage():  # or what is nested too deeply
                manifest = json.loads(opened.read(MANIFEST))
            if manifest["format"] > FORMAT:
                raise SettingsError(
                    f"{file} was written by a newer version of Footnote. Install that version to restore it."
                )
            listed = dict(manifest["members"]).items()
            members = {name: Member(count=count, digest=digest) for name, (count, digest) in listed}
            yield ArchiveReader(opened, Manifest(facts=manifest["facts"], members=members))
    except OSError as fault:
        raise SettingsError(f"{file} cannot be read: {reason_of(fault)}.") from fault
    except (zipfile.BadZipFile, zipfile.zlib.error, ValueError, KeyError, TypeError, EOFError) as fault:  # type: ignore[attr-defined]
        raise SettingsError(f"{file} is no archive of `footnote backup`, or it is damaged.") from fault


@contextmanager
def _reporting_damage() -> Iterator[None]:
    """ValueError for an encryption, a compression or a version of zip that we do not write."""
    try:
        yield
    except RuntimeError as fault:
        raise ValueError("a zip of another kind") from fault


def encode_row(row: Row) -> bytes:
    """JSON, with its line feed."""
    encoded = json.dumps(row, ensure_ascii=False, default=lambda it: {_BYTES: base64.b64encode(it).decode()})
    return f"{encoded}\n".encode()


def decode_row(line: bytes) -> Row:
    return tuple(base64.b64decode(it[_BYTES]) if isinstance(it, dict) else it for it in json.loads(line))

"""Files of a commit that its documents include, and the memory of which document includes which.

A document is put together from one commit, within the folder that is read. The version of one that includes others
names them too, so that it is new when one of them changed, came or went.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from core.errors import DocumentError
from core.library.formats import includes
from core.library.formats.encoding import decode

MEMORY = "included.jsonl"  # in the source's folder: a line for each document that was read, later ones count
MARK = "+"  # in a version, between the blob and what is included


def blob_of(version: str) -> str:
    return version.partition(MARK)[0]


def is_put_together(version: str) -> bool:
    return MARK in version


def version_of(blob: str, included: Iterable[str], blobs: Mapping[str, str]) -> str:
    """The version of a document with this content that includes these files, at a commit with these blobs."""
    named = [(path, blobs.get(path, "")) for path in sorted(included)]
    return blob + MARK + hashlib.sha256(json.dumps(named).encode()).hexdigest()[:16] if named else blob


@dataclass(slots=True, kw_only=True)
class CommitFiles:
    """The files of a commit below a folder, as far as they are here."""

    root: PurePosixPath
    blobs: Mapping[str, str]  #: git's names of the contents, by path
    contents: Mapping[str, bytes]  #: by blob
    files: set[str] = field(default_factory=set)  #: that are included, or would be if they were there
    missing: set[str] = field(default_factory=set)  #: blobs that are needed, and are not among the contents

    def find(self, name: str, path: PurePosixPath) -> PurePosixPath | None:
        """Beside the document, or below a folder between it and the root."""
        for folder in path.parents:
            if not folder.is_relative_to(self.root):
                break
            file = PurePosixPath(posixpath.normpath(folder / name))
            if not file.is_relative_to(self.root) or includes.is_hidden(file.relative_to(self.root)):
                continue
            if str(file) in self.blobs or folder == path.parent:
                self.files.add(str(file))
            if str(file) in self.blobs:
                return file
        return None

    def read(self, file: PurePosixPath) -> str | None:
        blob = self.blobs[str(file)]
        if blob not in self.contents:
            self.missing.add(blob)
            return None
        data = self.contents[blob]
        try:
            return decode(data) if len(data) <= includes.FILE_LIMIT else None
        except DocumentError:
            return None


@dataclass(slots=True)
class IncludedFiles:
    """Which document includes which files, in a file. It may vanish: then everything is listed anew."""

    file: Path
    known: dict[str, Sequence[str]] = field(default_factory=dict)  #: by the document's path; those with some

    def load(self) -> bool:
        """False where there is none, or it is damaged."""
        try:
            lines = self.file.read_text(encoding="utf-8").splitlines()
            self.known = {path: files for path, files in map(json.loads, lines) if files}
        except (OSError, ValueError, TypeError):
            return False
        return True

    def begin(self) -> None:
        """An empty one, in place of what is there."""
        self.known = {}
        self.file.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
        self.file.write_text("", encoding="utf-8")

    def note(self, path: str, files: Iterable[str]) -> None:
        """Written before the document is: a process that ends in between only reads it once more."""
        wanted = sorted(files)
        if wanted == list(self.known.get(path, ())):
            return
        with self.file.open("a", encoding="utf-8") as opened:
            opened.write(json.dumps([path, wanted]) + "\n")
        self.known[path] = wanted

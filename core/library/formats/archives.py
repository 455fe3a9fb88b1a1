"""ZIP archives, and packages of Office documents (ECMA-376, part 2), which are such archives.

What they unpack to is judged before anything is unpacked, and nothing is written to the disk.

Files of older and of other programs are not read, and it is said what a person saves them as.
"""

import io
import re
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from core.errors import DocumentError
from core.library.chunking import cut
from core.library.documents import Document, Piece
from core.library.formats.assembly import PART_GAP, TEXT_LIMIT, TOO_MUCH_TEXT
from core.library.formats.dates import moment_in

UNPACKED_LIMIT = 100_000_000  # bytes of all parts together
XML_LIMIT = 30_000_000  # bytes of one XML part; parsing takes up to twenty times as much memory
RATIO_LIMIT = 200  # unpacked to packed bytes; text packs 5 to 30 times, deflate at most 1,032 times
RATIO_FREE = 1_000_000  # bytes below which the ratio does not matter
MEMBER_LIMIT = 1_000  # files of an archive, those of archives within it too
DEPTH_LIMIT = 2  # archives within one another
NAME_LIMIT = 200  # characters of a member's name that are shown

FORMAT_NAMES: Mapping[str, str] = {
    ".docx": "a Word document",
    ".pptx": "a presentation",
    ".xlsx": "a workbook",
    ".epub": "a book",
    ".odt": "an OpenDocument text",
    ".ods": "an OpenDocument spreadsheet",
    ".odp": "an OpenDocument presentation",
    ".zip": "an archive",
}


OLE_SIGNATURE = bytes.fromhex("D0CF11E0A1B11AE1")  # [MS-CFB]: older Office files and encrypted ones

#: By suffix: what it is, and the suffix of what is read.
OLDER: Mapping[str, tuple[str, str]] = {
    ".doc": ("an older Word document", ".docx"),
    ".xls": ("an older Excel workbook", ".xlsx"),
    ".ppt": ("an older PowerPoint presentation", ".pptx"),
    ".pages": ("a document of Pages", ".docx"),
    ".numbers": ("a spreadsheet of Numbers", ".xlsx"),
    ".key": ("a presentation of Keynote", ".pptx"),
}
#: By a stream that tells it, whose name is kept in UTF-16.
_STREAMS = {"WordDocument": ".doc", "PowerPoint Document": ".ppt", "Workbook": ".xls", "Book": ".xls"}


def refusal(suffix: str) -> str:
    what, instead = OLDER[suffix]
    return f"is {what} ({suffix}), which is not read; save it as {instead}"


def refuse_older(data: bytes, *, suffix: str) -> None:
    """Raise DocumentError for an encrypted file, and an older program's under a newer one's name."""
    if not data.startswith(OLE_SIGNATURE):
        return
    if "EncryptedPackage".encode("utf-16-le") in data:
        raise DocumentError("is encrypted; save it without a password first")
    kind = next((kind for name, kind in _STREAMS.items() if name.encode("utf-16-le") in data), "")
    what, instead = OLDER.get(kind, ("an older document", suffix))
    raise DocumentError(f"is {what} though it is named {suffix}; save it as {instead}")


def summary(suffixes: Collection[str], example: str) -> str:
    """Completes "FOLDER: …" for so many files; ``example`` is the first."""
    kinds = sorted(set(suffixes))
    instead = ", ".join(dict.fromkeys(OLDER[kind][1] for kind in kinds))
    return (
        f"{len(suffixes):,} files of older or other programs are not read ({', '.join(kinds)}), as {example};"
        f" save them as {instead}"
    )


def refuse_bombs(data: bytes, *, suffix: str) -> list[zipfile.ZipInfo]:
    """The entries of an archive. Their declared sizes are checked: zipfile reads no more of them."""
    refuse_older(data, suffix=suffix)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
    except zipfile.BadZipFile as error:
        raise DocumentError(f"is not {FORMAT_NAMES[suffix]} though it is named {suffix}") from error
    if sum(entry.file_size for entry in entries) > UNPACKED_LIMIT:
        raise DocumentError(f"unpacks to more than {UNPACKED_LIMIT // 1_000_000} MB")
    for entry in entries:
        if entry.filename.endswith(".xml") and entry.file_size > XML_LIMIT:
            raise DocumentError(f"holds more than {XML_LIMIT // 1_000_000} MB of text with its markup")
        if entry.file_size > RATIO_FREE and entry.file_size > RATIO_LIMIT * entry.compress_size:
            raise DocumentError("is packed more tightly than any document")
    return entries


#: What zipfile raises about a broken member.
_DAMAGED = (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, LookupError, ValueError)

ReadMember = Callable[[bytes, str], Document | None]


def parse(data: bytes, read_member: ReadMember) -> Document:
    """The documents of an archive, one after the other, each passage with the name of its file.

    ``read_member`` reads a file of this name, None where it is of no kind that is read. A file that cannot be
    read is left out, and named; DocumentError where none can.
    """
    texts: list[str] = []
    pieces: list[Piece] = []
    length = 0
    unpacking = _Unpacking(read_member, MEMBER_LIMIT, UNPACKED_LIMIT)
    for name, document in unpacking.members(data):
        if length + len(document.text) > TEXT_LIMIT:
            raise DocumentError(TOO_MUCH_TEXT)
        for piece in cut(document):
            path, location = (name, *piece.path), f"{name}, {piece.location}"
            start, end = piece.start + length, piece.end + length
            pieces.append(replace(piece, path=path, location=location, start=start, end=end))
        if document.unread:
            unpacking.faults.append(f"{name} {document.unread}")
        texts.append(document.text)
        length += len(document.text) + len(PART_GAP)
    count, first = len(unpacking.faults), "".join(unpacking.faults[:1])
    if not texts:
        raise DocumentError(f"holds no document that could be read{first and ': '}{first}")
    unread = f"{count:,} of its files {'is' if count == 1 else 'are'} not wholly read: {first}"
    return Document(
        title="", text=PART_GAP.join(texts), blocks=(), pieces=tuple(pieces), unread=unread if count else ""
    )


@dataclass(slots=True)
class _Unpacking:
    """Reading an archive and those within it, which share what may be unpacked."""

    read_member: ReadMember
    members_left: int
    bytes_left: int
    faults: list[str] = field(default_factory=list)

    def members(self, data: bytes, folder: str = "", depth: int = 1) -> Iterator[tuple[str, Document]]:
        """(name, document) of what can be read, in order of the names."""
        entries = refuse_bombs(data, suffix=".zip")
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for entry in sorted(entries, key=lambda entry: entry.filename):
                parts = PurePosixPath(entry.filename).parts
                if entry.is_dir() or any(part.startswith((".", "__MACOSX")) for part in parts):
                    continue
                self.members_left -= 1
                self.bytes_left -= entry.file_size
                if self.members_left < 0:
                    raise DocumentError(f"holds more than {MEMBER_LIMIT:,} files")
                if self.bytes_left < 0:
                    raise DocumentError(f"unpacks to more than {UNPACKED_LIMIT // 1_000_000} MB")
                name = folder + " ".join(entry.filename.split())[:NAME_LIMIT]
                try:
                    yield from self._read(archive, entry, name, depth)
                except DocumentError as fault:
                    self.faults.append(f"{name} {fault}")
                except _DAMAGED as fault:
                    self.faults.append(f"{name} is damaged: {type(fault).__name__}")

    def _read(
        self, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str, depth: int
    ) -> Iterator[tuple[str, Document]]:
        if entry.flag_bits & 1:
            raise DocumentError("is encrypted")
        file = PurePosixPath(entry.filename)
        if file.suffix.lower() != ".zip":
            document = self.read_member(archive.read(entry), file.name)
            if document is not None and document.text.strip():
                yield name, document
        elif depth < DEPTH_LIMIT:
            yield from self.members(archive.read(entry), f"{name} > ", depth + 1)


#: Namespaces of the strict form (ISO/IEC 29500-1); the libraries know those of the transitional form alone.
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")
_TRANSITIONAL = rb"http://schemas.openxmlformats.org/\1/2006/"
#: Types of a main part with macros, of a template and of a show, which say the same as a document.
_VARIANTS = (
    (
        re.compile(
            rb"application/vnd\.(?:ms-word|openxmlformats-officedocument\.wordprocessingml)\.[\w.]+\.main\+xml"
        ),
        b"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml",
    ),
    (
        re.compile(
            rb"application/vnd\.(?:ms-powerpoint|openxmlformats-officedocument\.presentationml)\.[\w.]+\.main\+xml"
        ),
        b"application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml",
    ),
)
_TYPES = "[Content_Types].xml"
_MARKUP = (".xml", ".rels")

_CORE = re.compile(r"(?:^|/)core\.xml$", re.IGNORECASE)  # docProps/core.xml
_MODIFIED = re.compile(rb"<(?:\w+:)?modified\b[^<>]*>\s*([^<>]{10,40}?)\s*<")
#: In the templates of python-docx 1.2 and python-pptx 1.0: a document made of one says it whenever it was made.
_OF_TEMPLATES = frozenset({"2013-12-23T23:15:00Z", "2013-01-27T09:15:58Z"})


def readable(data: bytes, *, suffix: str) -> bytes:
    """The same package as the libraries read it. DocumentError for one that unpacks to too much."""
    names = {entry.filename for entry in refuse_bombs(data, suffix=suffix)}
    if _TYPES not in names:
        return data
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        types = archive.read(_TYPES)
        is_strict = any(_STRICT.search(archive.read(name)) for name in names & {"_rels/.rels"})
    named = types
    for variant, plain in _VARIANTS:
        named = variant.sub(plain, named)
    if named == types and not is_strict:
        return data
    return rewritten(data, lambda name, part: named if name == _TYPES else _STRICT.sub(_TRANSITIONAL, part))


def rewritten(data: bytes, change: Callable[[str, bytes], bytes]) -> bytes:
    """The archive with ``change`` applied to each part that is markup, given its name."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(made, "w") as new:
        for entry in old.infolist():
            part = old.read(entry)
            is_markup = entry.filename.endswith((*_MARKUP, ".opf"))
            new.writestr(entry.filename, change(entry.filename, part) if is_markup else part)
    return made.getvalue()


def changed_at(data: bytes) -> float | None:
    """The time of the last save by its core properties, in seconds since the epoch; None: not stated."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        name = next((name for name in archive.namelist() if _CORE.search(name)), None)
        found = _MODIFIED.search(archive.read(name)) if name else None
    said = found[1].decode("ascii", "replace") if found else ""
    return None if said in _OF_TEMPLATES else moment_in(said)

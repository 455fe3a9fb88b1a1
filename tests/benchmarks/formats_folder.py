"""What comes through of real files in a folder, beside an independent reading of each.

Words count as often as they stand in the independent reading. A cell came through if it stands on one line with
every other filled cell of its row; of a file, the first 2,000 rows count. A file that a reader refuses counts with
all its words as lost. Of each kind those files are read whose SHA-256 comes first, each content once, if the
independent reading finds words in it. Of markitdown, whatever its installed packages read.
"""

from __future__ import annotations

import io
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from benchmarks import Say
from benchmarks.formats_reference import READERS, Reference, reference_of
from bots.testing.report import Section, Table
from core.library.chunking import cut
from core.library.formats.read import FILE_LIMIT, parse_file

ROWS = 2_000  # of a file, that are looked for
POINTER = b"version https://git-lfs"  # begins what git stores in place of a large file

Reader = Callable[[bytes, str], str]

_OTHER = re.compile(r"[\W_]+")


def words_of(text: str) -> list[str]:
    return _OTHER.sub(" ", text.casefold()).split()


def folded(text: str) -> str:
    """Its letters and digits."""
    return _OTHER.sub("", text.casefold())


def by_footnote(data: bytes, suffix: str) -> str:
    """What can be quoted: the passages."""
    return "\n".join(piece.text for piece in cut(parse_file(Path(f"document{suffix}"), data)))


def by_markitdown(data: bytes, suffix: str) -> str:
    from markitdown import MarkItDown, StreamInfo

    return MarkItDown().convert_stream(io.BytesIO(data), stream_info=StreamInfo(extension=suffix)).markdown


def by_pypdf(data: bytes, _suffix: str) -> str:
    from pypdf import PdfReader

    return "\n".join(page.extract_text() for page in PdfReader(io.BytesIO(data)).pages)


#: The package that markitdown needs for a kind.
NEEDED = {".docx": "mammoth", ".pptx": "pptx", ".xlsx": "pandas", ".msg": "olefile", ".pdf": "pdfplumber"}


def compare(say: Say, folder: Path, documents: int) -> Section:
    """Of each kind in the folder, that many files; OSError without the folder."""
    rows = []
    for suffix, files in chosen(folder, documents).items():
        for name, read in readers_of(suffix).items():
            say(f"{suffix}, read by {name}")
            rows.append((suffix, name, len(files), *_row([_seen(read, suffix, file) for file in files])))
    return Section(
        name="formats",
        title="What comes through of real files",
        what=__doc__ or "",
        tables=(
            Table(
                title=f"at most {documents} files of each kind",
                columns=("kind", "read by", "files", "refused", "words", "table cells in their row"),
                rows=tuple(rows),
            ),
        ),
    )


class Said(NamedTuple):
    """A file and what stands in it."""

    data: bytes
    reference: Reference


def chosen(folder: Path, documents: int) -> Mapping[str, Sequence[Said]]:
    by_kind: dict[str, dict[str, Path]] = {suffix: {} for suffix in READERS}
    # iterdir raises for a folder that is not there, rglob finds nothing in it.
    for top in folder.iterdir():
        for path in [top, *top.rglob("*")]:
            suffix = path.suffix.lower()
            if suffix in by_kind and path.is_file() and path.stat().st_size <= FILE_LIMIT:
                by_kind[suffix][sha256(path.read_bytes()).hexdigest()] = path
    found = {suffix: tuple(islice(_readable(suffix, files), documents)) for suffix, files in by_kind.items()}
    return {suffix: files for suffix, files in found.items() if files}


def _readable(suffix: str, files: Mapping[str, Path]) -> Iterator[Said]:
    for _, path in sorted(files.items()):
        data = path.read_bytes()
        reference = None if data.startswith(POINTER) else reference_of(suffix, data)
        if reference and any(words_of(text) for text in reference.texts):
            yield Said(data, reference)


def readers_of(suffix: str) -> Mapping[str, Reader]:
    readers: dict[str, Reader] = {"Footnote": by_footnote}
    if suffix not in NEEDED or find_spec(NEEDED[suffix]):
        readers["markitdown"] = by_markitdown
    if suffix == ".pdf":
        readers["pypdf"] = by_pypdf
    return readers


class Seen(NamedTuple):
    """What a reader gives of a file, and what stands in it."""

    is_refused: bool
    words: int
    all_words: int
    cells: int
    all_cells: int


def _seen(read: Reader, suffix: str, file: Said) -> Seen:
    try:
        text, is_refused = read(file.data, suffix), False
    except Exception as error:  # DocumentError of ours, the others raise anything
        logging.getLogger(__name__).info("A %s was refused", suffix, exc_info=error)
        text, is_refused = "", True
    return Seen(is_refused, *words_in(text, file.reference.texts), *cells_in(text, file.reference.rows))


def words_in(text: str, said: Sequence[str]) -> tuple[int, int]:
    """How many of the words stand in the text, and how many there are."""
    wanted = Counter(word for each in said for word in words_of(each))
    return (wanted & Counter(words_of(text))).total(), wanted.total()


def cells_in(text: str, rows: Sequence[Sequence[str]]) -> tuple[int, int]:
    """How many cells stand on a line with their whole row, and how many there are."""
    there = "\n".join(folded(line) for line in text.splitlines())
    filled = [[cell for cell in map(folded, row) if cell] for row in rows[:ROWS]]
    wanted = [row for row in filled if len(row) > 1]
    return sum(len(row) for row in wanted if _is_on_a_line(row, there)), sum(map(len, wanted))


def _is_on_a_line(row: Sequence[str], there: str) -> bool:
    longest, end = max(row, key=len), 0
    while (at := there.find(longest, end)) >= 0:
        start, end = there.rfind("\n", 0, at) + 1, there.find("\n", at)
        end = len(there) if end < 0 else end
        line = there[start:end]
        if all(cell in line for cell in row):
            return True
    return False


def _row(seen: Sequence[Seen]) -> tuple[int, str, str]:
    words = sum(each.words for each in seen) / sum(each.all_words for each in seen)
    cells, all_cells = sum(each.cells for each in seen), sum(each.all_cells for each in seen)
    return (
        sum(each.is_refused for each in seen),
        f"{words:.1%}",
        f"{cells} of {all_cells}" if all_cells else "–",
    )

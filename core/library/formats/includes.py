"""Files that a document includes: MkDocs, FastAPI's documentation, snippets of PyMdown, Sphinx and MyST.

A directive becomes what it names, as a fenced block where the file is code. What is outside of the document's
root, hidden, too large, not text or included by itself is not read, and its directive stays as it is.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Generic, Protocol, TypeVar

from core.errors import DocumentError
from core.library.formats.encoding import decode
from core.library.formats.templates import fence_after

DEPTH_LIMIT = 5  # files that include one another
FILE_LIMIT = 500_000  # bytes of one included file
TOTAL_LIMIT = 4_000_000  # characters that one document includes
COUNT_LIMIT = 500  # directives of one document that are followed

MARKDOWN = frozenset({".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd"})
_TEXT = MARKDOWN | {".rst", ".txt", ".inc", ".html", ".htm"}  # put in as they are; other files are code
_INCLUDING = MARKDOWN | {".rst"}
_SIGNS = (b"{*", b"{!", b"--8<--", b"literalinclude", b"include::", b"{include}")

#: FastAPI: {* ../../app.py hl[1] ln[3:9,12] *}. MkDocs: {! ../app.py !} and {!> ../app.py !}.
_STARRED = re.compile(r"\{\*\s*(?P<path>[^\s*]+)(?P<options>[^*]*)\*\}|\{!>?\s*(?P<file>[^\s!]+)\s*!\}")
_LN = re.compile(r"\bln\[([\d:,\s-]+)\]")
_SNIPPET = re.compile(r"-{2,}8<-{2,}\s+(['\"])(?P<path>[^'\"]+)\1")
_SECTION = re.compile(r"-{2,}8<-{2,}\s*\[\s*(?P<edge>start|end)\s*:\s*(?P<name>[\w.-]+)\s*\]")
_RST = re.compile(r"\.\.\s+(?P<kind>literalinclude|include)::\s+(?P<path>\S+)")
_MYST = re.compile(r"(?P<fence>`{3,}|:{3,})\{(?P<kind>literalinclude|include)\}\s+(?P<path>\S+)")
_OPTION = re.compile(r"\s*:(?P<name>[\w-]+):\s*(?P<value>.*)")
_RANGE = re.compile(r"(\d*)\s*[:-]?\s*(\d*)")


@dataclass(frozen=True, slots=True)
class IncludedFile:
    """A file that a document includes, or would if it were there."""

    path: str  #: absolute
    size: int  #: bytes; -1: it is not there
    modified: int  #: nanoseconds; when its bytes or its metadata changed


@dataclass(frozen=True, slots=True)
class Whole:
    """A document with what it includes."""

    text: str
    files: tuple[IncludedFile, ...] = ()
    lines: tuple[int, ...] | None = None  #: which one of the file each comes from; None: they are the same


def stat_of(path: str) -> IncludedFile:
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return IncludedFile(path, -1, -1)
    return IncludedFile(path, status.st_size, max(status.st_mtime_ns, status.st_ctime_ns))


def may_include(suffix: str, data: bytes) -> bool:
    return suffix.lower() in _INCLUDING and any(sign in data for sign in _SIGNS)


def bytes_with_includes(
    data: bytes, path: Path, root: Path, may_read: Callable[[str], bool]
) -> tuple[bytes, Whole | None]:
    """(the bytes of a document with what it includes, and what that is). Where nothing, the same bytes."""
    if not may_include(path.suffix, data):
        return data, None
    try:
        text = decode(data, suffix=path.suffix)
    except DocumentError:
        return data, None  # which is said when it is parsed
    whole = with_includes(text, path, root, may_read)
    return (whole.text.encode("utf-8", "surrogatepass"), whole) if whole.files else (data, None)


def to_json(files: Iterable[IncludedFile]) -> str:
    """The files as the document store keeps them: [[path, size, modified], …]."""
    return json.dumps([[file.path, file.size, file.modified] for file in files])


def have_changed(stored: str) -> bool:
    """True if one of the files differs from what was stored about it, or came, or went."""
    return any(stat_of(path) != IncludedFile(path, size, at) for path, size, at in json.loads(stored))


def with_includes(text: str, path: Path, root: Path, may_read: Callable[[str], bool]) -> Whole:
    """The text of this file with what it includes from ``root``, as far as ``may_read`` allows an address."""
    if not root.is_dir():
        return Whole(text)
    folder = _Folder(root.resolve(), may_read)
    lines = expand_includes(text, path.resolve(), folder)
    if not folder.files:
        return Whole(text)
    return Whole(
        "".join(line for line, _ in lines),
        tuple(stat_of(file) for file in sorted(folder.files)),
        tuple(number for _, number in lines),
    )


P = TypeVar("P", bound=PurePath)


class Files(Protocol[P]):
    """The files among which those are looked for that a document includes."""

    def find(self, name: str, path: P) -> P | None:
        """The file of this name that a document of this path means; None where none may be read."""

    def read(self, file: P) -> str | None:
        """The text of a file; None for what is no text, or too large."""


def expand_includes(text: str, path: P, files: Files[P]) -> list[tuple[str, int]]:
    """(line, number of the line of this text that it comes from) of a document with what it includes."""
    return list(_Reading(files).lines(text, path, (path,)))


@dataclass(slots=True)
class _Directive:
    path: str
    last: int  #: the line after it
    indent: str
    is_code: bool = False  #: put into a fence whatever it is
    options: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Folder:
    """Files of a folder on the disk."""

    root: Path
    may_read: Callable[[str], bool]
    files: set[str] = field(default_factory=set)

    def find(self, name: str, path: Path) -> Path | None:
        """Find a file beside the document, or below a folder between it and the root."""
        for folder in path.parents:
            if not folder.is_relative_to(self.root):
                break
            try:
                file = (folder / name).resolve()
            except (OSError, RuntimeError, ValueError):
                return None
            if not file.is_relative_to(self.root) or is_hidden(file.relative_to(self.root)):
                continue
            if file.is_file() and self.may_read(str(file)):
                self.files.add(str(file))
                return file
            if folder == path.parent:
                self.files.add(str(file))  # it may come
        return None

    def read(self, file: Path) -> str | None:
        try:
            with file.open("rb") as opened:
                data = opened.read(FILE_LIMIT + 1)
            return decode(data) if len(data) <= FILE_LIMIT else None
        except (OSError, DocumentError):
            return None


def is_hidden(path: PurePath) -> bool:
    return any(part.startswith(".") for part in path.parts)


@dataclass(slots=True)
class _Reading(Generic[P]):
    """Following the directives of one document."""

    among: Files[P]
    count: int = 0
    characters: int = 0

    def lines(self, text: str, path: P, above: tuple[P, ...]) -> Iterator[tuple[str, int]]:
        """(line, number of the line of this file that it comes from)."""
        lines = text.splitlines(keepends=True)
        number, fence = 0, ""
        while number < len(lines):
            directive = _directive(lines, number, is_rst=path.suffix.lower() == ".rst")
            included = self._include(directive, path, above, in_fence=bool(fence)) if directive else None
            if directive and included is not None:
                yield from ((line, number + 1) for line in included)
                number = directive.last
                continue
            fence = fence_after(lines[number], fence)
            yield lines[number], number + 1
            number += 1

    def _include(
        self, directive: _Directive, path: P, above: tuple[P, ...], *, in_fence: bool
    ) -> list[str] | None:
        name, *rest = directive.path.split(":", 1) if "://" not in directive.path else [directive.path]
        file = self.among.find(name, path)
        if file is None or file in above or len(above) > DEPTH_LIMIT or self.count >= COUNT_LIMIT:
            return None
        self.count += 1
        text = self.among.read(file)
        if text is None or self.characters + len(text) > TOTAL_LIMIT:
            return None
        self.characters += len(text)
        chosen = _select(text, rest[0] if rest else "", directive.options)
        is_code = directive.is_code or file.suffix.lower() not in _TEXT
        if not is_code and not in_fence:
            chosen = "".join(line for line, _ in self.lines(chosen, file, (*above, file)))
        lines = [line if line.endswith("\n") else line + "\n" for line in chosen.splitlines(keepends=True)]
        if is_code and not in_fence:
            lines = _fence(lines, file, is_rst=path.suffix.lower() == ".rst")
        return [directive.indent + line if line.strip() else line for line in lines]


def _fence(lines: list[str], file: PurePath, *, is_rst: bool) -> list[str]:
    language = file.suffix.removeprefix(".").lower()
    if is_rst:
        return [f".. code-block:: {language}\n", "\n", *(f"   {line}" for line in lines), "\n"]
    fence = "```"
    while any(line.lstrip().startswith(fence) for line in lines):
        fence += "`"
    return [f"{fence}{language}\n", *lines, f"{fence}\n"]


def _directive(lines: Sequence[str], number: int, *, is_rst: bool) -> _Directive | None:
    line = lines[number]
    bare = line.strip()
    indent = line[: len(line) - len(line.lstrip())]
    if found := _STARRED.fullmatch(bare):
        ln = _LN.search(found["options"] or "")
        options = {"lines": ln[1]} if ln else {}
        return _Directive(found["path"] or found["file"], number + 1, indent, options=options)
    if found := _SNIPPET.fullmatch(bare):
        return _Directive(found["path"], number + 1, indent)
    if is_rst and (found := _RST.fullmatch(bare)):
        options, last = _options(lines, number + 1)
        return _Directive(found["path"], last, indent, found["kind"] == "literalinclude", options)
    if found := _MYST.fullmatch(bare):
        options, last = _options(lines, number + 1)
        if last < len(lines) and lines[last].strip() == found["fence"]:
            return _Directive(found["path"], last + 1, indent, found["kind"] == "literalinclude", options)
    return None


def _options(lines: Sequence[str], number: int) -> tuple[dict[str, str], int]:
    options: dict[str, str] = {}
    while number < len(lines) and (found := _OPTION.fullmatch(lines[number].rstrip())):
        options[found["name"]] = found["value"].strip()
        number += 1
    return options, number


def _select(text: str, part: str, options: dict[str, str]) -> str:
    """The lines or the section of a file that a directive asks for, without the marks of sections."""
    lines = text.splitlines(keepends=True)
    if part and not part[0].isdigit() and part[0] != ":":
        lines, part = _section(lines, part), ""
    for asked in filter(None, (part, options.get("lines"))):
        lines = [line for each in asked.split(",") for line in _select_range(lines, each)]
    if after := options.get("start-after"):
        first = next((n for n, line in enumerate(lines) if after in line), -1)
        lines = lines[first + 1 :]
    if before := options.get("end-before"):
        lines = lines[: next((n for n, line in enumerate(lines) if before in line), len(lines))]
    return "".join(line for line in lines if not _SECTION.search(line))


def _select_range(lines: list[str], asked: str) -> list[str]:
    """ "3", "3:9", "3-9", "3-" and ":9", counted from 1."""
    found = _RANGE.fullmatch(asked.strip())
    if found is None or not (found[1] or found[2]):
        return []
    first = int(found[1] or 1)
    is_one = asked.strip().isdigit()
    return lines[max(first, 1) - 1 : first if is_one else int(found[2] or len(lines))]


def _section(lines: list[str], name: str) -> list[str]:
    inside, found = False, []
    for line in lines:
        mark = _SECTION.search(line)
        if mark and mark["name"] == name:
            inside = mark["edge"] == "start"
        elif inside:
            found.append(line)
    return found

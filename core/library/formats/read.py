"""Reading a document: a file's bytes -> its text and blocks.

DocumentError for every file that cannot be read; its text completes "FILE: …".
"""

import errno
import logging
import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit

from core.errors import DocumentError, reason_of
from core.library.documents import Document
from core.library.formats import (
    archives,
    book,
    includes,
    markdown,
    parser_process,
    plain,
    templates,
    workbook,
)
from core.library.formats.archives import OLDER, refusal
from core.library.formats.encoding import decode
from core.library.formats.ocr import ScannedPages

FILE_LIMIT = 32 * 1024 * 1024  # bytes

_LOG = logging.getLogger(__name__)


def read_document(path: Path) -> Document:
    """The file's text in blocks, titled; DocumentError when it cannot be read or contains no text."""
    return parse_file(path, read_bytes(path))


def read_bytes(path: Path) -> bytes:
    """The file's bytes, up to one more than FILE_LIMIT; DocumentError when the disk fails."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise DocumentError("is not a file")
        with path.open("rb") as file:
            return file.read(FILE_LIMIT + 1)
    except FileNotFoundError as error:
        raise DocumentError("disappeared while it was read") from error
    except OSError as error:
        reason = _REASONS.get(error.errno or 0) or reason_of(error)
        raise DocumentError(f"could not be read: {reason}") from error


_REASONS = {
    errno.EPERM: "permission denied",
    errno.ELOOP: "its links go in a circle",
    errno.ENAMETOOLONG: "its name is too long",
    errno.ENOTDIR: "its folder is not a folder",
    errno.ETIMEDOUT: "the network drive did not answer",
    errno.ESTALE: "the network drive lost it",
}


def parse_file(path: Path, data: bytes) -> Document:
    """The text of a file with this name and these bytes, in blocks; DocumentError when it cannot be read."""
    suffix = path.suffix.lower()
    if suffix in OLDER:
        raise DocumentError(refusal(suffix))
    if suffix not in SUFFIXES:
        raise DocumentError(f"is of a kind that is not read ({path.suffix or 'no suffix'})")
    if len(data) > FILE_LIMIT:
        raise DocumentError(f"is larger than {FILE_LIMIT // 1024**2} MB")
    if not data.strip():
        raise DocumentError("is empty")
    load: Callable[[], Document] = partial(SUFFIXES[suffix], data, path)
    if parser_process.is_apart() or parser_process.is_foreign(suffix, len(data)):
        load = partial(parser_process.read_file, data, path.name)
    try:
        document = _load(load, path, f"could not be read: it is damaged, or not what {path.suffix} says")
    except ScannedPages:  # without a process of its own, as on Windows
        from core.library.formats import ocr, pdf

        document = _add_title(pdf.parse(data, recognize=ocr.read_scanned), path)
    if not document.text.strip():
        raise DocumentError("is empty")
    return document


def _load(load: Callable[[], Document], path: Path, fault: str) -> Document:
    """The boundary to the parsers: given a broken or hostile file, they raise anything."""
    try:
        return _add_title(load(), path)
    except DocumentError:
        raise
    except Exception as error:
        _LOG.warning("%s could not be parsed", path, exc_info=error)
        raise DocumentError(fault) from error


def _add_title(document: Document, path: Path) -> Document:
    return document if document.title else replace(document, title=_name_of(path))


def parse_html(data: bytes | str, *, url: str | None) -> Document:
    """A fetched page's readable text in blocks; DocumentError when there is none."""
    name = urlsplit(url).hostname if url else None
    try:
        if parser_process.is_foreign(".html", len(data)):
            document = parser_process.read_page(data, name=name or "", url=url)
        else:
            from core.library.formats import webpage

            document = webpage.parse(data, name=name or "", url=url)
    except parser_process.ParserError as error:
        _LOG.warning("a page of %s could not be parsed: %s", name, error)
        raise DocumentError("could not be read: it is damaged") from error
    if not document.text.strip():
        raise DocumentError("holds no readable text")
    return document


def _name_of(path: Path) -> str:
    """The file's name as a title: "request-body.md" -> "Request body"."""
    words = re.sub(r"[-_\s]+", " ", path.stem).strip() or path.name
    return words if any(letter.isupper() for letter in words) else words[:1].upper() + words[1:]


def _foreign(data: bytes, path: Path) -> Document:
    """Parse with the large parsers of others, imported when first needed: mostly in another process."""
    from core.library.formats import mail, opendocument, pdf, presentation, webpage, word

    suffix, name = path.suffix.lower(), _name_of(path)
    parse: Mapping[str, Callable[[bytes], Document]] = {
        **dict.fromkeys((".html", ".htm", ".xhtml"), partial(webpage.parse, name=name)),
        **dict.fromkeys((".odt", ".ods", ".odp"), partial(opendocument.parse, suffix=suffix, name=name)),
        ".pdf": pdf.parse,
        ".docx": partial(word.parse, name=name),
        ".rtf": word.parse_rtf,
        ".pptx": presentation.parse,
        ".xlsx": workbook.parse,
        ".epub": book.parse,
        ".msg": mail.parse_outlook,
        ".eml": mail.parse_internet,
        ".zip": partial(archives.parse, read_member=_member),
    }
    try:
        return parse[suffix](data)
    except ImportError as error:
        needed = f"needs the extra “office” ({suffix}): .uv/bin/uv sync --no-dev --inexact --extra office"
        raise DocumentError(needed) from error


def _member(data: bytes, name: str) -> Document | None:
    """A file of an archive; None where it is of no kind that is read, or empty."""
    path = Path(name)
    loader = SUFFIXES.get(path.suffix.lower())
    if loader is None or path.suffix.lower() == ".zip" or not data.strip():
        return None
    return _load(partial(loader, data, path), path, "is damaged, or not what its name says")


Loader = Callable[[bytes, Path], Document]


def _markdown(data: bytes, path: Path) -> Document:
    text = decode(data, suffix=path.suffix)
    return markdown.parse(templates.clean_markdown(text, is_mdx=path.suffix.lower() == ".mdx"))


def _text_loader(parse: Callable[[str], Document]) -> Loader:
    return lambda data, path: parse(decode(data, suffix=path.suffix))


#: What is read, by lower-case suffix. Files with other suffixes are not documents.
SUFFIXES: Mapping[str, Loader] = MappingProxyType(
    dict.fromkeys((".md", *sorted(includes.MARKDOWN - {".md"})), _markdown)
    | dict.fromkeys((".txt", ".text"), _text_loader(plain.parse))
    | dict.fromkeys(
        (".adoc", ".asciidoc"), _text_loader(partial(plain.parse_outlined, notation=plain.ASCIIDOC))
    )
    | {
        ".org": _text_loader(partial(plain.parse_outlined, notation=plain.ORG)),
        ".log": _text_loader(partial(plain.parse, kind="code")),
        ".rst": _text_loader(plain.parse_rst),
        ".csv": _text_loader(workbook.parse_delimited),
        ".tsv": _text_loader(partial(workbook.parse_delimited, delimiter="\t")),
        **dict.fromkeys((".pdf", ".docx", ".rtf"), _foreign),
        ".ipynb": _text_loader(book.parse_notebook),
    }
    | dict.fromkeys((".zip", ".odt", ".ods", ".odp", ".pptx", ".xlsx", ".epub", ".msg", ".eml"), _foreign)
    | dict.fromkeys((".html", ".htm", ".xhtml"), _foreign)
)

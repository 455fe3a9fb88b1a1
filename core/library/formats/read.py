"""Reading a document: a file's bytes -> its text and blocks.

Every file that cannot be read is a DocumentError whose sentence completes "FILE: …".

The bytes of a text file, as characters.

Newlines stay as they are ("\\r\\n" counts two characters), so an offset into the decoded
text is an offset into the file read with ``newline=""``, its byte order mark left out.
"""

from __future__ import annotations

import codecs
import errno
import logging
import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit

from core.errors import DocumentError
from core.library.documents import Document
from core.library.formats import parser_process

BYTE_ORDER_MARKS = (  # UTF-32 before UTF-16, whose mark its own begins with
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

#: What files were written in before UTF-8. Left free, charset-normalizer finds Mac and DOS pages in short texts.
LEGACY_ENCODINGS = (
    "cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257",
    "koi8_r", "cp932", "euc_jp", "gb18030", "big5", "cp949",
)  # fmt: skip

#: Codec families a page may name; others (punycode, unicode_escape) are slow or no character sets.
DECLARABLE = ("cp", "iso8859", "iso2022", "koi8", "euc", "shift_jis", "gb", "big5")

CONTROL_BYTES = bytes(code for code in range(32) if code not in b"\b\t\n\v\f\r\x1b")
CONTROL_SHARE = 0.05  # of all bytes; more of them and it is no text
SAMPLE = 256 * 1024  # bytes that are looked at to guess an encoding


def decode(data: bytes, *, suffix: str = "", declared: str | None = None) -> str:
    """The characters of a text file; DocumentError when it is none.

    ``suffix`` is the file's, for the sentence; ``declared`` is the encoding that a page
    names, believed only where the bytes are not UTF-8.
    """
    for mark, encoding in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _strictly(data[len(mark) :], encoding, suffix)
    if _looks_binary(data):
        raise _binary(suffix)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return _mended(data) or _declared(data, declared) or _strictly(data, _guessed(data), suffix)


def _looks_binary(data: bytes) -> bool:
    sample = data[:SAMPLE]
    controls = len(sample) - len(sample.translate(None, CONTROL_BYTES))
    return b"\0" in data or controls > CONTROL_SHARE * len(sample)


def _mended(data: bytes) -> str | None:
    """UTF-8 with a few bytes broken, as a log cut in mid-character has: those become U+FFFD."""
    text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    beyond_ascii = len(text) - len(text.encode("ascii", "ignore"))
    return text if beyond_ascii > 10 * broken else None


def _declared(data: bytes, name: str | None) -> str | None:
    try:
        codec = codecs.lookup(name or "").name
        # A page that says Latin-1 means Windows-1252: WHATWG Encoding Standard, "Names and labels".
        codec = "cp1252" if codec in {"iso8859-1", "ascii"} else codec
        return data.decode(codec) if codec.startswith(DECLARABLE) else None
    except (LookupError, UnicodeDecodeError):
        return None


def _guessed(data: bytes) -> str | None:
    from charset_normalizer import from_bytes

    sample = data if len(data) <= SAMPLE else data[:SAMPLE].rpartition(b"\n")[0]  # cut between characters
    matches = from_bytes(sample, cp_isolation=list(LEGACY_ENCODINGS), enable_fallback=False)
    best = matches.best()
    if best is None:
        return None
    for match in matches:
        # Measured on single sentences: the Central European page wins ties that are Western text.
        western = "cp1252" in (match.encoding, *match.could_be_from_charset)
        if western and match.chaos <= best.chaos + 0.05 and match.coherence >= best.coherence - 0.1:
            return "cp1252"
    return best.encoding


def _strictly(data: bytes, encoding: str | None, suffix: str) -> str:
    if encoding is None:
        raise _binary(suffix)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise _binary(suffix) from error


def _binary(suffix: str) -> DocumentError:
    return DocumentError("is not text: it looks binary" + (f" though it is named {suffix}" if suffix else ""))


FILE_LIMIT = 32 * 1024 * 1024  # bytes

_LOG = logging.getLogger(__name__)


def read_document(path: Path) -> Document:
    """The file's text in blocks, titled; DocumentError when it cannot be read or holds no text."""
    loader = SUFFIXES.get(path.suffix.lower())
    if loader is None:
        raise DocumentError(f"is of a kind that is not read ({path.suffix or 'no suffix'})")
    data = _bytes_of(path)
    if not data.strip():
        raise DocumentError("is empty")
    try:
        foreign = parser_process.is_foreign(path.suffix, len(data))
        document = parser_process.read_file(data, path.name) if foreign else loader(data, path)
    except DocumentError:
        raise
    except Exception as error:
        # The boundary to parsers of foreign formats: fed a broken or hostile file, they raise anything.
        _LOG.warning("%s could not be parsed", path, exc_info=error)
        raise DocumentError(f"could not be read: it is damaged, or not what {path.suffix} says") from error
    if not document.text.strip():
        raise DocumentError("is empty")
    return document if document.title else replace(document, title=_name_of(path))


def parse_html(data: bytes | str, *, url: str | None) -> Document:
    """A fetched page's readable text in blocks; DocumentError when there is none."""
    name = urlsplit(url).hostname if url else None
    try:
        document = _page(data, name=name or "", url=url)
    except parser_process.Broken as error:
        _LOG.warning("a page of %s could not be parsed: %s", name, error)
        raise DocumentError("could not be read: it is damaged") from error
    if not document.text.strip():
        raise DocumentError("holds no readable text")
    return document


def _bytes_of(path: Path) -> bytes:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise DocumentError("is not a file")
        if status.st_size > FILE_LIMIT:
            raise _too_large()
        with path.open("rb") as file:
            data = file.read(FILE_LIMIT + 1)  # it may have grown since
    except FileNotFoundError as error:
        raise DocumentError("disappeared while it was read") from error
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, "the disk gave an error")
        raise DocumentError(f"could not be read: {reason}") from error
    if len(data) > FILE_LIMIT:
        raise _too_large()
    return data


_REASONS = {
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.ELOOP: "its links go in a circle",
    errno.ENAMETOOLONG: "its name is too long",
    errno.ENOTDIR: "its folder is not a folder",
    errno.ETIMEDOUT: "the network drive did not answer",
    errno.ESTALE: "the network drive lost it",
}


def _too_large() -> DocumentError:
    return DocumentError(f"is larger than {FILE_LIMIT // 1024**2} MB")


def _name_of(path: Path) -> str:
    """The file's name as a title: "request-body.md" -> "Request body"."""
    words = re.sub(r"[-_\s]+", " ", path.stem).strip() or path.name
    return words if any(letter.isupper() for letter in words) else words[:1].upper() + words[1:]


def _markdown(data: bytes, path: Path) -> Document:
    from core.library.formats import markdown

    return markdown.parse(decode(data, suffix=path.suffix))


def _plain(data: bytes, path: Path) -> Document:
    from core.library.formats import plain

    return plain.parse(decode(data, suffix=path.suffix))


def _log(data: bytes, path: Path) -> Document:
    from core.library.formats import plain

    return plain.parse_log(decode(data, suffix=path.suffix))


def _restructured(data: bytes, path: Path) -> Document:
    from core.library.formats import plain

    return plain.parse_rst(decode(data, suffix=path.suffix))


def _page(data: bytes | str, *, name: str, url: str | None) -> Document:
    if parser_process.is_foreign(".html", len(data)):
        return parser_process.read_page(data, name=name, url=url)
    from core.library.formats import webpage

    return webpage.parse(data, name=name, url=url)


def _html(data: bytes, path: Path) -> Document:
    from core.library.formats import webpage

    return webpage.parse(data, name=_name_of(path))


def _pdf(data: bytes, path: Path) -> Document:  # noqa: ARG001 - every loader takes the path
    from core.library.formats import pdf

    return pdf.parse(data)


def _word(data: bytes, path: Path) -> Document:
    from core.library.formats import word

    return word.parse(data, name=_name_of(path))


def _delimited(data: bytes, path: Path) -> Document:
    from core.library.formats import delimited

    delimiter = "\t" if path.suffix.lower() == ".tsv" else None
    return delimited.parse(decode(data, suffix=path.suffix), delimiter=delimiter)


Loader = Callable[[bytes, Path], Document]

#: What is read, by lower-case suffix. Files with other suffixes are not documents.
SUFFIXES: Mapping[str, Loader] = MappingProxyType(
    dict.fromkeys((".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd"), _markdown)
    | dict.fromkeys((".txt", ".text", ".adoc", ".asciidoc", ".org"), _plain)
    | {".log": _log, ".rst": _restructured, ".pdf": _pdf, ".docx": _word}
    | dict.fromkeys((".html", ".htm", ".xhtml"), _html)
    | dict.fromkeys((".csv", ".tsv"), _delimited)
)

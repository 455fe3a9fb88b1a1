"""Packages of Office documents (ECMA-376, part 2): in the form that their libraries read, and when they were changed."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable

from core.errors import DocumentError
from core.library.formats.archives import refuse_bombs
from core.library.formats.dates import moment_in

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
    """When it was saved last, by its core properties, in seconds since the epoch; None: they do not say."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        name = next((name for name in archive.namelist() if _CORE.search(name)), None)
        found = _MODIFIED.search(archive.read(name)) if name else None
    said = found[1].decode("ascii", "replace") if found else ""
    return None if said in _OF_TEMPLATES else moment_in(said)


def without_office(suffix: str) -> DocumentError:
    return DocumentError(
        f"needs the extra “office” ({suffix}): .uv/bin/uv sync --no-dev --inexact --extra office"
    )

"""Books (.epub), with the packages of the extra ``office``: markitdown turns the chapters into Markdown."""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import replace
from typing import Any

from core.library.documents import Document
from core.library.formats import archives, markdown
from core.library.formats.archives import refuse_bombs
from core.library.formats.assembly import assemble, parts_of
from core.library.formats.dates import moment_in

_PREFIXED = re.compile(rb"(</?)\w+:(?=(?:package|metadata|manifest|item|spine|itemref)\b)")
#: The surest first: EPUB 3.3 “dcterms:modified”, EPUB 2 “modification”, the day of publication.
_DATES = (
    re.compile(rb"""<(?:\w+:)?meta\b[^<>]*\bproperty=["']dcterms:modified["'][^<>]*>([^<>]+)<"""),
    re.compile(rb"""<dc:date\b[^<>]*\bevent=["']modification["'][^<>]*>([^<>]+)<"""),
    re.compile(rb"<dc:date\b[^<>]*>([^<>]+)<"),
)
_PICTURE = re.compile(r"!\[([^\]]*)\]\([^()]*(?:\([^()]*\)[^()]*)*\)")
_NOTE_MARK = re.compile(r"\[\\?\[?[\d*†]{1,4}\\?\]?\]\([^()\s]*#[^()]*\)")
_LINK_WITHIN = re.compile(r"(?<!!)\[([^\[\]]*)\]\((?![a-z]+:)[^()]*\)")
#: A table without a header, as markitdown writes it: its first row becomes one.
_HEADLESS = re.compile(r"^\|(?: *\|)+\n(\|(?: -{3,} \|)+)\n(\|.*\|)$", re.MULTILINE)


def parse(data: bytes) -> Document:
    """The chapters in their order, without what the catalogue says about the book."""
    refuse_bombs(data, suffix=".epub")
    try:
        from markitdown import StreamInfo, converters
    except ImportError as error:
        raise archives.without_office(".epub") from error
    catalogue = _catalogue(data)
    if _PREFIXED.search(catalogue):  # markitdown knows these names without a prefix alone
        data = archives.rewritten(
            data, lambda name, part: _PREFIXED.sub(rb"\1", part) if name.endswith(".opf") else part
        )
    converter: Any = converters.EpubConverter  # without types
    result = converter().convert(io.BytesIO(data), StreamInfo(extension=".epub"))
    metadata, _, chapters = result.markdown.partition("\n\n")
    text = _shown(chapters if metadata.startswith("**") else result.markdown)
    document = assemble(parts_of(markdown.parse(text)), title=" ".join((result.title or "").split()))
    return replace(document, changed_at=_changed_at(catalogue))


def _catalogue(data: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        name = next((name for name in archive.namelist() if name.endswith(".opf")), None)
        return archive.read(name) if name else b""


def _changed_at(catalogue: bytes) -> float | None:
    moments = (
        moment_in(found[1].decode("ascii", "replace")) for date in _DATES if (found := date.search(catalogue))
    )
    return next((moment for moment in moments if moment is not None), None)


def _shown(text: str) -> str:
    """As a reader sees it: pictures as what is said of them, links within the book as their words."""
    text = _NOTE_MARK.sub("", _PICTURE.sub(r"\1", text))
    return _HEADLESS.sub(r"\2\n\1", _LINK_WITHIN.sub(r"\1", text))

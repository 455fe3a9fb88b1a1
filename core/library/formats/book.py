"""Books (.epub) and Jupyter notebooks (.ipynb, nbformat 4 and 3): chapters and cells in order, as Markdown.

markitdown, of the extra ``office``, turns chapters into Markdown. Below a cell stands what its code printed.
"""

import io
import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from core.errors import DocumentError
from core.library.documents import Document
from core.library.formats import archives, markdown
from core.library.formats.assembly import Part, assemble, parts_of
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
    archives.refuse_bombs(data, suffix=".epub")
    from markitdown import StreamInfo, converters

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        name = next((name for name in archive.namelist() if name.endswith(".opf")), None)
        catalogue = archive.read(name) if name else b""
    if _PREFIXED.search(catalogue):  # markitdown knows these names without a prefix alone
        data = archives.rewritten(
            data, lambda name, part: _PREFIXED.sub(rb"\1", part) if name.endswith(".opf") else part
        )
    converter: Any = converters.EpubConverter  # without types
    result = converter().convert(io.BytesIO(data), StreamInfo(extension=".epub"))
    metadata, _, chapters = result.markdown.partition("\n\n")
    # Pictures become what is said of them, links within the book their words.
    text = _PICTURE.sub(r"\1", chapters if metadata.startswith("**") else result.markdown)
    text = _HEADLESS.sub(r"\2\n\1", _LINK_WITHIN.sub(r"\1", _NOTE_MARK.sub("", text)))
    dates = (found[1].decode("ascii", "replace") for date in _DATES if (found := date.search(catalogue)))
    return assemble(
        parts_of(markdown.parse(text)),
        title=" ".join((result.title or "").split()),
        changed_at=next((moment for date in dates if (moment := moment_in(date)) is not None), None),
    )


OUTPUT_LIMIT = 2_000  # characters of what one cell printed


def parse_notebook(text: str) -> Document:
    try:
        notebook = json.loads(text)
        cells = notebook["cells"] if "cells" in notebook else notebook["worksheets"][0]["cells"]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise DocumentError("is no Jupyter notebook though it is named .ipynb") from error
    described = notebook.get("metadata") or {}
    named = (described.get("language_info") or described.get("kernelspec") or {}).get("name", "")
    language = str(named) or "python"
    parts = [part for number, cell in enumerate(cells, start=1) for part in _parts(cell, number, language)]
    first = next((part for part in parts if part.level == 1), None)
    return assemble(parts, title=markdown.heading_text(first.text) if first else "", unit="cell")


def _parts(cell: dict[str, Any], number: int, language: str) -> Iterator[Part]:
    source = _join(cell.get("source", cell.get("input", "")))
    kind = cell.get("cell_type")
    if kind == "markdown":
        yield from (replace(part, page=number) for part in parts_of(markdown.parse(source)))
    elif kind == "heading":  # of nbformat 3
        yield Part(kind="heading", text=f"{'#' * cell['level']} {source}", level=cell["level"], page=number)
    elif kind == "code" and source.strip():
        yield Part(kind="code", text=_fence(source, language), page=number)
        printed = "\n".join(filter(None, map(_text_of_output, cell.get("outputs", ()))))[:OUTPUT_LIMIT]
        if printed.strip():
            yield Part(kind="code", text=_fence(printed, "text"), page=number)
    elif source.strip():
        yield Part(kind="prose", text=source, page=number)


def _join(source: Any) -> str:
    """nbformat writes a text as one, or as a list of its lines."""
    return "".join(map(str, source)) if isinstance(source, list) else str(source)


def _fence(code: str, language: str) -> str:
    fence = "```"
    while fence in code:
        fence += "`"
    return f"{fence}{language}\n{code.strip(chr(10))}\n{fence}"


def _text_of_output(output: dict[str, Any]) -> str:
    """The text of an output, without its pictures."""
    data = output.get("data") or {}
    return _join(output.get("text") or data.get("text/markdown") or data.get("text/plain") or "")

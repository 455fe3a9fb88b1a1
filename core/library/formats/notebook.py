"""Jupyter notebooks: their cells in order, with what the code printed. nbformat 4 and 3."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from core.errors import DocumentError
from core.library.documents import Document
from core.library.formats import markdown
from core.library.formats.assembly import Part, assemble

OUTPUT_LIMIT = 2_000  # characters of what one cell printed


def parse(text: str) -> Document:
    try:
        notebook = json.loads(text)
        cells = notebook["cells"] if "cells" in notebook else notebook["worksheets"][0]["cells"]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise DocumentError("is no Jupyter notebook though it is named .ipynb") from error
    language = _language(notebook)
    parts = [part for number, cell in enumerate(cells, start=1) for part in _parts(cell, number, language)]
    first = next((part for part in parts if part.level == 1), None)
    return assemble(parts, title=markdown.heading_text(first.text) if first else "", unit="cell")


def _language(notebook: dict[str, Any]) -> str:
    described = notebook.get("metadata") or {}
    return (
        str((described.get("language_info") or described.get("kernelspec") or {}).get("name", "")) or "python"
    )


def _parts(cell: dict[str, Any], number: int, language: str) -> Iterator[Part]:
    source = _joined(cell.get("source", cell.get("input", "")))
    kind = cell.get("cell_type")
    if kind == "markdown":
        document = markdown.parse(source)
        for block in document.blocks:
            yield Part(
                kind=block.kind, text=document.text[block.start : block.end], level=block.level, page=number
            )
    elif kind == "heading":  # of nbformat 3
        yield Part(kind="heading", text=f"{'#' * cell['level']} {source}", level=cell["level"], page=number)
    elif kind == "code" and source.strip():
        yield Part(kind="code", text=_fenced(source, language), page=number)
        printed = "\n".join(filter(None, map(_printed, cell.get("outputs", ()))))[:OUTPUT_LIMIT]
        if printed.strip():
            yield Part(kind="code", text=_fenced(printed, "text"), page=number)
    elif source.strip():
        yield Part(kind="prose", text=source, page=number)


def _joined(source: Any) -> str:
    """nbformat writes a text as one, or as a list of its lines."""
    return "".join(map(str, source)) if isinstance(source, list) else str(source)


def _fenced(code: str, language: str) -> str:
    fence = "```"
    while fence in code:
        fence += "`"
    return f"{fence}{language}\n{code.strip(chr(10))}\n{fence}"


def _printed(output: dict[str, Any]) -> str:
    """The text of an output, without its pictures."""
    data = output.get("data") or {}
    return _joined(output.get("text") or data.get("text/markdown") or data.get("text/plain") or "")

"""Presentations (.pptx), with the packages of the extra ``office``: slide by slide, each with its notes.

The slides are walked here and not by markitdown, which joins the lines of a text, leaves out SmartArt, formulas and
merged cells, names every picture, and fails at shapes that it does not know. Charts are turned into tables by it.
"""

import io
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from core.library.documents import Document
from core.library.formats import archives, markdown
from core.library.formats.assembly import Part, assemble, first_title, parts_of, table_text

TITLE_LIMIT = 80  # characters of a heading that is made of the first words of a slide

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_DGM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_R_DATA = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}dm"
_FORMULA_TEXT = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"

_TITLES = ("title", "ctrTitle")  # types of placeholders: ECMA-376, 19.7.10
_ON_EVERY_SLIDE = ("dt", "ftr", "hdr", "sldNum")  # date, footer, header and number
_LISTS = ("body", "obj", None)  # their paragraphs are points; without a type it is an object

#: A shape of python-pptx, or an lxml element of its tree.
Shape = Any
Element = Any


def parse(data: bytes) -> Document:
    """Each slide under its title, or under its first words, its notes below it."""
    data = archives.readable(data, suffix=".pptx")
    import pptx

    deck = pptx.Presentation(io.BytesIO(data))
    parts = [part for number, slide in enumerate(deck.slides, start=1) for part in _slide(slide, number)]
    return assemble(parts, title=first_title(parts), unit="slide", changed_at=archives.changed_at(data))


def _slide(slide: Any, number: int) -> Iterator[Part]:
    for alternative in [*slide.element.iter(f"{_MC}AlternateContent")]:
        shown, owner = alternative.find(f"{_MC}Choice"), alternative.getparent()
        if shown is not None and owner is not None:  # what newer programs show goes before a picture of it
            index = owner.index(alternative)
            owner[index : index + 1] = list(shown)
    titles = [shape for shape in slide.shapes if _placeholder(shape) in _TITLES]
    title = " ".join(" ".join(text for text, _ in _paragraphs(shape.element)) for shape in titles)
    body = [part for shape in _in_order(slide.shapes) if shape not in titles for part in _shape(shape, slide)]
    notes = slide.notes_slide.notes_placeholder if slide.has_notes_slide else None
    lines = [text for text, _ in _paragraphs(notes.element)] if notes is not None else []
    yield from slide_parts(title, body, lines, number)


def slide_parts(title: str, body: list[Part], lines: Sequence[str], number: int) -> Iterator[Part]:
    """A slide under its title, or under its first words; ``lines`` are its notes."""
    heading = Part(kind="heading", text="### Notes:", level=3)
    notes = [heading, Part(kind="prose", text="\n".join(lines))] if lines else []
    if not title.strip() and (body or notes):
        first = (body or notes)[0]
        words = " ".join(first.text.removeprefix("- ").removeprefix("| ").split())
        title = textwrap.shorten(words, TITLE_LIMIT, placeholder=" …")
        body = body[1:] if first.kind == "prose" and words == title else body
    if title.strip():
        yield Part(kind="heading", text=f"# {' '.join(title.split())}", level=1, page=number)
    yield from (replace(part, page=number) for part in (*body, *notes))


def _placeholder(shape: Shape) -> str | None:
    """The type of a placeholder; None: it has none, empty: the shape is no placeholder."""
    found = shape.element.find(f"*/{_P}nvPr/{_P}ph")
    return "" if found is None else found.get("type")


def _in_order(shapes: Iterable[Shape]) -> list[Shape]:
    """The shapes from top to bottom, and from left to right."""

    def position(shape: Shape) -> tuple[int, int]:
        try:
            return shape.top or 0, shape.left or 0
        except (AttributeError, ValueError):  # of what python-pptx does not know
            return 0, 0

    return sorted(shapes, key=position)


def _shape(shape: Shape, slide: Any) -> Iterator[Part]:
    element, kind = shape.element, _placeholder(shape)
    if kind in _ON_EVERY_SLIDE:
        return
    if element.tag == f"{_P}grpSp":
        for inner in _in_order(shape.shapes):
            yield from _shape(inner, slide)
    elif element.tag == f"{_P}graphicFrame":
        yield from _graphic(shape, slide)
    elif element.tag == f"{_P}pic":
        said = element.find(f"*/{_P}cNvPr").get("descr") or ""
        if said.strip():
            yield Part(kind="prose", text=said.splitlines()[0])  # below it PowerPoint says that it guessed
    else:
        paragraphs = list(_paragraphs(element))
        if kind in _LISTS and len(paragraphs) > 1:
            yield from (Part(kind="item", text=f"{'  ' * depth}- {text}") for text, depth in paragraphs)
        elif paragraphs:
            yield Part(kind="prose", text="\n".join(text for text, _ in paragraphs))


def _paragraphs(element: Element) -> Iterator[tuple[str, int]]:
    """(text, depth in its list) of those that say something."""
    for paragraph in element.iter(f"{_A}p"):
        nodes = paragraph.iter(f"{_A}t", f"{_A}br", _FORMULA_TEXT)
        text = "".join(" " if node.tag == f"{_A}br" else node.text or "" for node in nodes)
        if text.strip():
            properties = paragraph.find(f"{_A}pPr")
            level = properties.get("lvl", "0") if properties is not None else "0"
            yield text.strip(), int(level) if level.isdecimal() else 0


def _graphic(shape: Shape, slide: Any) -> Iterator[Part]:
    """A table, a chart, or the points of a SmartArt diagram in their stored order."""
    from pptx.oxml import parse_xml

    diagram = next(shape.element.iter(f"{_DGM}relIds"), None)
    if shape.has_table:
        yield Part(kind="table", text=table_text(list(_rows(shape.element))))
    elif shape.has_chart:
        yield from _chart(shape.chart)
    elif diagram is not None:
        for point in parse_xml(slide.part.related_part(diagram.get(_R_DATA)).blob).iter(f"{_DGM}pt"):
            if text := " ".join(text for text, _ in _paragraphs(point)):
                yield Part(kind="item", text=f"- {text}")


def _rows(table: Element) -> Iterator[list[str]]:
    """A cell that is merged downwards stands in each of its rows."""
    above: list[str] = []
    for row in table.iter(f"{_A}tr"):
        cells = []
        for column, cell in enumerate(row.iter(f"{_A}tc")):
            goes_on = cell.get("vMerge") in ("1", "true") and column < len(above)
            cells.append(above[column] if goes_on else " ".join(text for text, _ in _paragraphs(cell)))
        yield cells
        above = cells


def _chart(chart: Any) -> Iterator[Part]:
    from markitdown import converters

    converter: Any = converters.PptxConverter  # without types
    document = markdown.parse(converter()._convert_chart_to_markdown(chart) or "")  # noqa: SLF001 - nothing else does
    for part in parts_of(document):
        if part.kind == "table":
            yield part
        elif part.kind == "heading" and ": " in part.text:
            yield Part(kind="prose", text=part.text.partition(": ")[2])

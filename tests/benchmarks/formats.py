"""How much of the text and of the table cells of each kind of file comes through.

Documents are made with the format's own library from paragraphs of SQuAD 2, each with a heading, three
paragraphs and a table. A paragraph came through if its letters and digits stand in the text in their order, a
word if it stands anywhere in it; a cell, if it stands on one line with every other cell of its row. markitdown and pypdf are read plainly, as
their own documentation says.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from benchmarks import DATA, Say
from benchmarks.evaluation_sets import lines
from bots.eval.report import Section, Table
from core.library.chunking import cut
from core.library.formats.read import parse_file

PARAGRAPHS = 3  # of a document
_OTHER = re.compile(r"[\W_]+")


class Made(NamedTuple):
    """What a document says."""

    title: str
    paragraphs: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]  #: the first names the columns


def run(say: Say, *, data: Path = DATA, documents: int = 30) -> Section:
    """``documents``: how many are made of each kind."""
    made = texts(data, documents)
    rows = []
    for kind, (write, plain, reader) in KINDS.items():
        say(kind)
        suffix = kind.split()[-1]
        files = [write(each) for each in made]
        ours = [_read(suffix, file) for file in files]
        rows.append((kind, "Footnote", *shares(made, ours)))
        if plain:
            rows.append((kind, reader, *shares(made, [plain(file, suffix) for file in files])))
    return Section(
        name="formats",
        title="What comes through of each kind of file",
        what=__doc__ or "",
        tables=(
            Table(
                title=f"{len(made)} documents of each kind",
                columns=("kind", "read by", "paragraphs", "their words", "table cells in their row"),
                rows=tuple(rows),
            ),
        ),
    )


def texts(data: Path, count: int) -> list[Made]:
    said = lines(data / "squad2/paragraphs.jsonl")
    step = len(said) // count
    return [_made(number, said[number * step : number * step + PARAGRAPHS]) for number in range(count)]


def _made(number: int, paragraphs: Sequence[Mapping[str, str]]) -> Made:
    words = re.findall(r"[^\W\d_]{5,}", paragraphs[0]["text"])
    named = [
        (f"{words[row]} {words[row + 9]}", str(1_000 * number + 37 * row), words[-row - 1])
        for row in range(6)
    ]
    title = f"{paragraphs[0]['title'].replace('_', ' ')} {number}"
    return Made(title, tuple(p["text"] for p in paragraphs), (("Subject", "Number", "Remark"), *named))


def shares(made: Sequence[Made], found: Sequence[str]) -> tuple[str, str, str]:
    paragraphs = [
        _folded(words) in _folded(text)
        for each, text in zip(made, found, strict=True)
        for words in each.paragraphs
    ]
    cells = [
        any(all(_folded(cell) in line for cell in row) for line in folded)
        for each, text in zip(made, found, strict=True)
        for folded in [[_folded(line) for line in text.splitlines()]]
        for row in each.rows[1:]
        for _ in row
    ]
    words = [
        word in there
        for each, text in zip(made, found, strict=True)
        for there in [frozenset(_words(text))]
        for paragraph in each.paragraphs
        for word in _words(paragraph)
    ]
    return _share(paragraphs), f"{sum(words) / len(words):.1%}", _share(cells)


def _words(text: str) -> list[str]:
    return _OTHER.sub(" ", text.casefold()).split()


def _folded(text: str) -> str:
    return _OTHER.sub("", text.casefold())


def _share(held: Sequence[bool]) -> str:
    return f"{sum(held)} of {len(held)}"


def _read(suffix: str, data: bytes) -> str:
    """What can be quoted: the passages."""
    return "\n".join(piece.text for piece in cut(parse_file(Path(f"document{suffix}"), data)))


def _by_markitdown(data: bytes, suffix: str) -> str:
    from markitdown import MarkItDown, StreamInfo

    return MarkItDown().convert_stream(io.BytesIO(data), stream_info=StreamInfo(extension=suffix)).markdown


def _by_pypdf(data: bytes, _suffix: str) -> str:
    from pypdf import PdfReader

    return "\n".join(page.extract_text() for page in PdfReader(io.BytesIO(data)).pages)


def _presentation(made: Made) -> bytes:
    from pptx import Presentation
    from pptx.util import Inches

    deck = Presentation()
    for words in made.paragraphs:
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text = made.title, words
    frame = slide.shapes.add_table(len(made.rows), 3, Inches(1), Inches(5), Inches(6), Inches(2))
    for number, row in enumerate(made.rows):
        for column, cell in enumerate(row):
            frame.table.cell(number, column).text = cell
    return _saved(deck.save)


def _workbook(made: Made) -> bytes:
    from openpyxl import Workbook

    book = Workbook()
    for row in made.rows:
        book.active.append([int(cell) if cell.isdecimal() else cell for cell in row])
    notes = book.create_sheet("Notes")
    for words in made.paragraphs:
        notes.append([words])
    return _saved(book.save)


def _saved(save: Callable[[io.BytesIO], object]) -> bytes:
    buffer = io.BytesIO()
    save(buffer)
    return buffer.getvalue()


def _page(made: Made) -> str:
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in made.rows
    )
    words = "".join(f"<p>{escape(each)}</p>" for each in made.paragraphs)
    return f"<html><body><h1>{escape(made.title)}</h1>{words}<table>{rows}</table></body></html>"


def _book(made: Made) -> bytes:
    container = '<container><rootfiles><rootfile full-path="c.opf"/></rootfiles></container>'
    package = (
        f'<package xmlns:dc="d"><metadata><dc:title>{escape(made.title)}</dc:title></metadata>'
        '<manifest><item id="a" href="a.xhtml"/></manifest><spine><itemref idref="a"/></spine></package>'
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("META-INF/container.xml", container)
        archive.writestr("c.opf", package)
        archive.writestr("a.xhtml", _page(made))
    return buffer.getvalue()


def _notebook(made: Made) -> bytes:
    table = "\n".join(f"| {' | '.join(row)} |" for row in (made.rows[0], ("---",) * 3, *made.rows[1:]))
    cells = [f"# {made.title}", *made.paragraphs, table]
    return json.dumps(
        {
            "nbformat": 4, "nbformat_minor": 5, "metadata": {},
            "cells": [{"cell_type": "markdown", "metadata": {}, "source": cell} for cell in cells],
        }
    ).encode()  # fmt: skip


def _word(made: Made) -> bytes:
    import docx

    document = docx.Document()
    document.add_heading(made.title, 1)
    for words in made.paragraphs:
        document.add_paragraph(words)
    table = document.add_table(len(made.rows), 3)
    for number, row in enumerate(made.rows):
        for column, cell in enumerate(row):
            table.cell(number, column).text = cell
    return _saved(document.save)


def _pdf(made: Made) -> bytes:
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import Paragraph, SimpleDocTemplate
    from reportlab.platypus import Table as PrintedTable

    styles = getSampleStyleSheet()
    story = [Paragraph(escape(made.title), styles["Heading1"])]
    story += [Paragraph(escape(words), styles["BodyText"]) for words in made.paragraphs]
    story.append(PrintedTable([list(row) for row in made.rows]))
    return _saved(lambda buffer: SimpleDocTemplate(buffer).build(story))


def _scan(made: Made) -> bytes:
    """The printed pages as a scanner sends them: at 200 dots an inch, not quite straight, with grain, as JPEG."""
    import numpy as np
    from PIL import Image
    from pypdfium2 import PdfDocument

    grain = np.random.default_rng(len(made.title))
    pages = []
    for page in PdfDocument(_pdf(made)):
        straight = page.render(scale=200 / 72).to_pil().convert("L")
        turned = np.asarray(straight.rotate(grain.uniform(-0.7, 0.7), fillcolor=255, resample=Image.BICUBIC))
        noisy = turned + grain.normal(0, 12, turned.shape)
        pages.append(Image.fromarray(noisy.clip(0, 255).astype("uint8")))
    return _saved(
        lambda buffer: pages[0].save(
            buffer, "PDF", resolution=200, quality=70, save_all=True, append_images=pages[1:]
        )
    )


def _html(made: Made) -> bytes:
    return _page(made).encode()


Plain = Callable[[bytes, str], str]

#: How each kind is made, and what else reads it. markitdown reads workbooks and Word files with packages more.
KINDS: Mapping[str, tuple[Callable[[Made], bytes], Plain | None, str]] = {
    ".pptx": (_presentation, _by_markitdown, "markitdown"),
    ".xlsx": (_workbook, None, ""),
    ".epub": (_book, _by_markitdown, "markitdown"),
    ".ipynb": (_notebook, _by_markitdown, "markitdown"),
    ".html": (_html, _by_markitdown, "markitdown"),
    ".docx": (_word, None, ""),
    ".pdf": (_pdf, _by_pypdf, "pypdf"),
    "scanned .pdf": (_scan, None, ""),
}

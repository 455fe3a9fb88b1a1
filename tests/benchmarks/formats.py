"""How much of the text and of the table cells of each kind of file comes through.

Documents are made with the format's own library from paragraphs of SQuAD 2, each with a heading, three
paragraphs and a table. A paragraph came through if its letters and digits stand in the text in their order, a
word if it stands anywhere in it; a cell, if it stands on one line with every other cell of its row. markitdown and pypdf are read plainly, as
their own documentation says.

With --folder, real files are read instead, as from clones of these public repositories at these commits:
apache/tika 2b70202aae, apache/poi a528d43590, jgm/pandoc 0a9a2f2615, docling-project/docling e1cb2b234c,
Unstructured-IO/unstructured 3e5482bfcd, microsoft/markitdown a51f725d7f, scanny/python-pptx 278b47b1de,
jsvine/pdfplumber 147f2c4c07, py-pdf/sample-files 6921079eb3, TeamMsgExtractor/msg-extractor 68858f016d,
w3c/epub-tests ec9085b137, IDPF/epub3-samples 7651e2002b, aerkalov/ebooklib 693636fb45,
ageron/handson-ml3 e3f3f9e66d, jakevdp/PythonDataScienceHandbook d66231454e. markitdown reads DOCX, XLSX and PDF
where mammoth, pandas and pdfplumber are installed too.
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
from benchmarks.formats_folder import Reader, by_footnote, by_markitdown, by_pypdf, compare, folded, words_of
from bots.testing.report import Section, Table

PARAGRAPHS = 3  # of a document


class Made(NamedTuple):
    """What a document says."""

    title: str
    paragraphs: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]  #: the first names the columns


def run(say: Say, *, data: Path = DATA, documents: int = 30, folder: str = "") -> Section:
    """``documents``: how many of each kind; ``folder``: of real files, which are read in place of made ones."""
    if folder:
        return compare(say, Path(folder), documents)
    made = texts(data, documents)
    rows = []
    for kind, (write, plain, reader) in KINDS.items():
        say(kind)
        suffix = kind.split()[-1]
        files = [write(each) for each in made]
        ours = [by_footnote(file, suffix) for file in files]
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
        folded(words) in folded(text)
        for each, text in zip(made, found, strict=True)
        for words in each.paragraphs
    ]
    cells = [
        any(all(folded(cell) in line for cell in row) for line in there)
        for each, text in zip(made, found, strict=True)
        for there in [[folded(line) for line in text.splitlines()]]
        for row in each.rows[1:]
        for _ in row
    ]
    words = [
        word in there
        for each, text in zip(made, found, strict=True)
        for there in [frozenset(words_of(text))]
        for paragraph in each.paragraphs
        for word in words_of(paragraph)
    ]
    return _share(paragraphs), f"{sum(words) / len(words):.1%}", _share(cells)


def _share(held: Sequence[bool]) -> str:
    return f"{sum(held)} of {len(held)}"


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


#: How each kind is made, and what else reads it. markitdown reads workbooks and Word files with packages more.
KINDS: Mapping[str, tuple[Callable[[Made], bytes], Reader | None, str]] = {
    ".pptx": (_presentation, by_markitdown, "markitdown"),
    ".xlsx": (_workbook, None, ""),
    ".epub": (_book, by_markitdown, "markitdown"),
    ".ipynb": (_notebook, by_markitdown, "markitdown"),
    ".html": (_html, by_markitdown, "markitdown"),
    ".docx": (_word, None, ""),
    ".pdf": (_pdf, by_pypdf, "pypdf"),
    "scanned .pdf": (_scan, None, ""),
}

"""Presentations, workbooks, books, notebooks and archives of them: what is read, and where people find it."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from datetime import date
from pathlib import Path

import pytest

from core.errors import DocumentError
from core.library.chunking import cut
from core.library.documents import Document
from core.library.formats import archives
from core.library.formats.read import parse_file


def read(name: str, data: bytes) -> Document:
    return parse_file(Path(name), data)


def places(document: Document) -> list[tuple[str, str]]:
    return [(piece.location, piece.text) for piece in cut(document)]


def zip_of(files: dict[str, bytes | str]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return made.getvalue()


@pytest.fixture(scope="module")
def presentation() -> bytes:
    from pptx import Presentation
    from pptx.util import Inches

    deck = Presentation()
    for number, words in enumerate(
        ("Everybody has thirty days of leave. " * 5, "Ask your lead first. " * 9), start=1
    ):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = f"Part {number}"
        slide.placeholders[1].text = words
    table = slide.shapes.add_table(2, 2, Inches(1), Inches(5), Inches(4), Inches(1)).table
    for (row, column), words in {(0, 0): "Year", (0, 1): "Days", (1, 0): "2026", (1, 1): "30"}.items():
        table.cell(row, column).text = words
    slide.notes_slide.notes_text_frame.text = "Say that it does not expire."
    made = io.BytesIO()
    deck.save(made)
    return made.getvalue()


@pytest.fixture(scope="module")
def workbook() -> bytes:
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    sheet.title = "Budget"
    sheet.append([])
    sheet.append(["Item", "Cost", "Due"])
    for number in range(40):
        sheet.append([f"Thing number {number} with a long name", 10.0 * number, date(2026, 3, 1)])
    hidden = book.create_sheet("Salaries")
    hidden.append(["Ada", 100])
    hidden.sheet_state = "hidden"
    book.create_sheet("Empty")
    made = io.BytesIO()
    book.save(made)
    return made.getvalue()


CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="c.opf"/></rootfiles></container>'
)
PACKAGE = (
    '<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>The Harbour</dc:title></metadata>'
    '<manifest><item id="b" href="b.xhtml"/><item id="a" href="a.xhtml"/></manifest>'
    '<spine><itemref idref="a"/><itemref idref="b"/></spine></package>'
)


def chapter(title: str, words: str) -> str:
    return f'<html xmlns="http://www.w3.org/1999/xhtml"><body><h1>{title}</h1><p>{words}</p></body></html>'


BOOK = zip_of(
    {
        "META-INF/container.xml": CONTAINER,
        "c.opf": PACKAGE,
        "b.xhtml": chapter("Leaving", "Boats leave at nine. " * 9),
        "a.xhtml": chapter("Arriving", "Boats arrive at seven. " * 9),
    }
)

NOTEBOOK = json.dumps(
    {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"language_info": {"name": "python"}},
        "cells": [
            {"cell_type": "markdown", "source": ["# Tides\n", "\n", "How high the water stands. " * 9]},
            {
                "cell_type": "code",
                "source": "print(level())\n" * 12,
                "outputs": [{"output_type": "stream", "text": ["3.2 m\n"]}],
            },
        ],
    }
).encode()


def test_a_presentation_is_read_slide_by_slide_with_tables_and_notes(presentation):
    found = places(read("leave.pptx", presentation))

    assert [location for location, _ in found] == [
        "slide 1, Part 1",
        "slide 2, Part 2",
        "slide 2, Part 2 > Notes:",
    ]
    assert "Everybody has thirty days of leave." in found[0][1]
    assert "| Year | Days |\n| --- | --- |\n| 2026 | 30 |" in found[1][1]
    assert "Say that it does not expire." in found[2][1]


def test_a_workbook_is_read_row_by_row_and_says_where(workbook):
    found = places(read("money.xlsx", workbook))

    assert found[0][0].startswith("sheet “Budget”, rows 2-")
    assert "Item: Thing number 3 with a long name; Cost: 30; Due: 2026-03-01" in found[0][1]
    assert found[-1][0].endswith("-42")
    assert not any("Ada" in text or "Salaries" in text for _, text in found)


def test_a_book_is_read_in_the_order_of_its_spine():
    document = read("book.epub", BOOK)

    assert document.title == "The Harbour"
    assert [location for location, _ in places(document)] == ["Arriving", "Leaving"]


def test_a_notebook_is_read_cell_by_cell_with_what_it_printed():
    document = read("tides.ipynb", NOTEBOOK)

    assert document.title == "Tides"
    assert [location for location, _ in places(document)] == ["cell 1, Tides", "cell 2, Tides"]
    assert "3.2 m" in document.text


@pytest.mark.parametrize("data", [b"[]", b"{}", b"not json", b'{"cells": 3}', b'{"cells": [3]}'])
def test_what_is_no_notebook_is_refused(data):
    with pytest.raises(DocumentError):
        read("a.ipynb", data)


def test_an_archive_names_the_file_of_each_passage(presentation, workbook):
    inner = zip_of({"deep.md": "# Deep\n\nWords of it."})
    data = zip_of(
        {
            "hr/leave.pptx": presentation,
            "money.xlsx": workbook,
            "notes.md": "# Notes\n\nThe gate is green.",
            "more.zip": inner,
            "photo.jpg": b"\xff\xd8",
            ".hidden.md": "no",
            "broken.pdf": b"%PDF-1.4 broken",
        }
    )

    document = read("all.zip", data)
    found = places(document)

    assert {location.partition(",")[0] for location, _ in found} == {
        "hr/leave.pptx", "money.xlsx", "notes.md", "more.zip > deep.md",
    }  # fmt: skip
    assert ("notes.md, Notes", "# Notes\n\nThe gate is green.") in found
    assert all(document.text[piece.start : piece.end] == piece.text for piece in cut(document))


def test_archives_within_archives_end():
    data = zip_of({"a.md": "The end."})
    for _ in range(archives.DEPTH_LIMIT):
        data = zip_of({"in.zip": data})

    with pytest.raises(DocumentError, match=r"^holds no document that could be read"):
        read("a.zip", data)


@pytest.mark.parametrize("suffix", [".zip", ".pptx", ".xlsx", ".epub"])
def test_what_unpacks_to_too_much_is_refused_before_it_is(suffix):
    with pytest.raises(DocumentError, match=r"^is packed more tightly than any document$"):
        read(f"bomb{suffix}", zip_of({"a.md": b"0" * 20_000_000}))


def test_archives_share_one_budget_with_those_within_them(monkeypatch):
    monkeypatch.setattr(archives, "MEMBER_LIMIT", 5)
    inner = zip_of({f"{number}.md": "Words." for number in range(4)})

    with pytest.raises(DocumentError, match=r"^holds more than"):
        archives.parse(zip_of({"a.zip": inner, "b.zip": inner}), lambda _data, _name: None)


@pytest.mark.parametrize("suffix", [".zip", ".pptx", ".xlsx", ".epub", ".msg"])
def test_what_is_something_else_is_refused_in_a_sentence(suffix):
    with pytest.raises(DocumentError):
        read(f"a{suffix}", b"no archive at all" * 10)


WITHOUT = """
import sys
sys.modules["markitdown"] = sys.modules["openpyxl"] = None
from core.errors import DocumentError
from core.library.formats import office
for parse, data in ((office.parse_mail, b"x"), (office.parse_workbook, bytes.fromhex(sys.argv[1]))):
    try:
        parse(data)
    except DocumentError as fault:
        print(fault)
"""


def test_without_the_extra_one_sentence_says_how_to_install_it():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, zip_of({"a": "b"}).hex()],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    said = done.stdout.splitlines()
    assert len(said) == 2
    assert all("uv sync --no-dev --inexact --extra office" in line for line in said)


def test_reading_files_loads_none_of_the_large_packages():
    code = "import sys, core.library.formats.read as r; print(sorted({'markitdown', 'openpyxl', 'pptx'} & set(sys.modules)))"

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.strip() == "[]"

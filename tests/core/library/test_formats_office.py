"""Presentations, workbooks, books, notebooks and archives of them: what is read, and where people find it."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from datetime import UTC, date
from pathlib import Path

import pytest
from fakes.patience import PATIENCE

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


@pytest.fixture
def deck():
    from pptx import Presentation

    return Presentation()


def saved(deck) -> bytes:
    made = io.BytesIO()
    deck.save(made)
    return made.getvalue()


def blocks(document: Document) -> list[str]:
    return [document.text[block.start : block.end] for block in document.blocks]


def text_box(slide, words: str, top: int = 1) -> None:
    from pptx.util import Inches

    slide.shapes.add_textbox(Inches(1), Inches(top), Inches(5), Inches(1)).text_frame.text = words


def test_points_of_a_slide_keep_their_depth_and_a_broken_line_goes_on(deck):
    from core.library.formats import presentation

    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Safe\vtravel"
    slide.placeholders[1].text = "By train\nBy bus"
    slide.placeholders[1].text_frame.paragraphs[1].level = 1

    assert blocks(presentation.parse(saved(deck))) == ["# Safe travel", "- By train", "  - By bus"]


def test_a_slide_without_a_title_stands_under_its_first_words_and_not_under_notes_before_it(deck):
    from core.library.formats import presentation

    first = deck.slides.add_slide(deck.slide_layouts[5])
    first.shapes.title.text = "Leave"
    first.notes_slide.notes_text_frame.text = "Ask early."
    second = deck.slides.add_slide(deck.slide_layouts[6])
    text_box(second, "Sick days")
    text_box(second, "A note is due on day three.", top=3)

    assert blocks(presentation.parse(saved(deck))) == [
        "# Leave", "### Notes:", "Ask early.", "# Sick days", "A note is due on day three."
    ]  # fmt: skip


def test_a_picture_is_what_is_said_of_it_and_nothing_where_that_is_nothing(deck):
    from PIL import Image
    from pptx.util import Inches

    from core.library.formats import presentation

    picture = io.BytesIO()
    Image.new("L", (8, 8)).save(picture, "PNG")
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    text_box(slide, "Our house")
    for top, said in ((2, "Plan of the second floor"), (3, "")):
        shape = slide.shapes.add_picture(picture, Inches(1), Inches(top))
        shape.element.find("*/{*}cNvPr").set("descr", said)

    assert blocks(presentation.parse(saved(deck))) == ["# Our house", "Plan of the second floor"]


def test_merged_cells_of_a_slide_stand_in_each_of_their_rows_and_a_chart_is_a_table(deck):
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.util import Inches

    from core.library.formats import presentation

    slide = deck.slides.add_slide(deck.slide_layouts[6])
    box = [Inches(each) for each in (1, 1, 5, 1)]
    table = slide.shapes.add_table(3, 2, *box).table
    for place, words in {(0, 0): "Office", (0, 1): "Room", (1, 0): "Bonn", (1, 1): "1", (2, 1): "2"}.items():
        table.cell(*place).text = words
    table.cell(1, 0).merge(table.cell(2, 0))
    data = CategoryChartData()
    data.categories = ["2025", "2026"]
    data.add_series("Guests", (12, 30))
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, Inches(1), Inches(4), *box[2:], data)

    text = presentation.parse(saved(deck)).text

    assert "| Bonn | 1 |\n| Bonn | 2 |" in text
    assert "| 2026 | 30.0 |" in text


def test_a_diagram_is_read_point_by_point(deck):
    from pptx.opc.package import Part
    from pptx.opc.packuri import PackURI
    from pptx.oxml import parse_xml

    from core.library.formats import presentation

    drawing = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    dgm = "http://schemas.openxmlformats.org/drawingml/2006/diagram"
    points = "".join(
        f"<dgm:pt><dgm:t><a:p><a:r><a:t>{words}</a:t></a:r></a:p></dgm:t></dgm:pt>"
        for words in ("Plan", "Do")
    )
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "How we work"
    model = f'<dgm:dataModel xmlns:dgm="{dgm}" {drawing}><dgm:ptLst>{points}</dgm:ptLst></dgm:dataModel>'
    part = Part(PackURI("/ppt/diagrams/data1.xml"), "application/xml", slide.part.package, model.encode())
    number = slide.part.relate_to(
        part, "http://schemas.openxmlformats.org/officeDocument/2006/relationships/diagramData"
    )
    slide.shapes._spTree.append(
        parse_xml(
            f'<p:graphicFrame xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" {drawing}>'
            '<p:nvGraphicFramePr><p:cNvPr id="9" name="x"/><p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr>'
            f'<p:xfrm/><a:graphic><a:graphicData uri="{dgm}"><dgm:relIds xmlns:dgm="{dgm}" xmlns:r="http://schemas.'
            f'openxmlformats.org/officeDocument/2006/relationships" r:dm="{number}"/></a:graphicData></a:graphic>'
            "</p:graphicFrame>"
        )
    )

    assert blocks(presentation.parse(saved(deck))) == ["# How we work", "- Plan", "- Do"]


def test_a_book_shows_no_links_within_it_and_its_tables_have_a_header():
    page = (
        '<p>See <a href="b.xhtml#x">Leaving</a> or <a href="https://acme.org/">Acme</a>.<a href="#n1">1</a></p>'
        "<table><tr><td>Boat</td><td>Hour</td></tr><tr><td>Ada</td><td>nine</td></tr></table>"
    )
    package = PACKAGE.replace("<package", "<opf:package xmlns:opf='http://www.idpf.org/2007/opf'").replace(
        "</package>", "</opf:package>"
    )
    for name in ("manifest", "item ", "spine>", "itemref", "metadata"):
        package = package.replace(f"<{name}", f"<opf:{name}").replace(f"</{name}", f"</opf:{name}")
    package = package.replace("</dc:title>", "</dc:title><dc:date>2020-02-03</dc:date>")
    document = read(
        "book.epub",
        zip_of({"META-INF/container.xml": CONTAINER, "c.opf": package, "a.xhtml": chapter("Boats", page)}),
    )

    assert "See Leaving or [Acme](https://acme.org/)." in document.text
    assert "| Boat | Hour |\n| --- | --- |\n| Ada | nine |" in document.text
    assert document.changed_at == 1580688000.0


MAIL = """\
From: =?utf-8?q?J=C3=B6rg?= <joerg@acme.org>
To: all@acme.org
Subject: Office closed
Date: Mon, 6 May 2024 09:08:09 +0200
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=x

--x
Content-Type: text/plain; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

Das B=FCro ist am Freitag zu.

J=F6rg
--
Acme
--x
Content-Type: application/pdf; name=plan.pdf
Content-Disposition: attachment; filename=plan.pdf

%PDF
--x--
"""


def test_a_mail_says_who_wrote_when_and_what_is_attached():
    document = read("closed.eml", MAIL.encode())

    assert document.title == "Office closed"
    assert document.text.splitlines()[2:5] == [
        "From: Jörg <joerg@acme.org>", "To: all@acme.org", "Date: 2024-05-06 07:08 UTC"
    ]  # fmt: skip
    assert "Das Büro ist am Freitag zu.\n\nJörg\n--\nAcme" in document.text
    assert document.text.endswith("Attached: plan.pdf")
    assert document.changed_at == 1714979289.0


def test_a_mail_that_is_only_a_page_and_names_no_known_encoding_is_read():
    page = "Subject: Hi\nContent-Type: text/html; charset=unknown-9\n\n<h2>Plan</h2><p>Room <b>12</b> is free.</p>"

    document = read("a.eml", page.encode())

    assert "Room **12** is free." in document.text
    assert document.changed_at is None


def test_a_workbook_says_when_it_was_saved(workbook):
    from openpyxl import load_workbook

    book = load_workbook(io.BytesIO(workbook))
    before = read("a.xlsx", saved(book)).changed_at

    assert abs(before - book.properties.modified.replace(tzinfo=UTC).timestamp()) < 2


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
for name in ("markitdown", "openpyxl", "pptx"):
    sys.modules[name] = None
from core.errors import DocumentError
from pathlib import Path
from core.library.formats.read import SUFFIXES
archive = bytes.fromhex(sys.argv[1])
for suffix in (".msg", ".xlsx", ".pptx", ".epub"):
    try:
        SUFFIXES[suffix](archive, Path("file" + suffix))
    except DocumentError as fault:
        print(fault)
"""


def test_without_the_extra_one_sentence_says_how_to_install_it():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, zip_of({"a": "b"}).hex()],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )

    said = done.stdout.splitlines()
    assert len(said) == 4
    assert all("uv sync --no-dev --inexact --extra office" in line for line in said)


def test_reading_files_loads_none_of_the_large_packages():
    code = "import sys, core.library.formats.read as r; print(sorted({'markitdown', 'openpyxl', 'pptx'} & set(sys.modules)))"

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.strip() == "[]"

"""Scanned pages, drawn here as a scanner would, and read by the real networks."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
from fakes.shelf import quotable
from PIL import Image
from pypdf import PdfReader, PdfWriter
from pypdf.annotations import FreeText
from pypdfium2 import PdfDocument
from reportlab.pdfgen.canvas import Canvas

from core.errors import DocumentError
from core.library.chunking import cut
from core.library.formats import ocr, parser_process, pdf
from core.library.formats.ocr import Word, printed_lines
from core.library.formats.read import parse_file

SMALL = (300, 200)  # points
WORDS = "Die Fähre legt um halb zehn ab."


def printed(*pages: str) -> bytes:
    file = io.BytesIO()
    canvas = Canvas(file, pagesize=SMALL)
    for words in pages:
        canvas.setFont("Helvetica", 11)
        canvas.drawString(40, 150, words)
        canvas.showPage()
    canvas.save()
    return file.getvalue()


def scan(data: bytes, *, turned: float = 0) -> bytes:
    """``turned``: degrees, besides the half that a sheet never lies quite straight."""
    pages = [
        page.render(scale=200 / 72).to_pil().rotate(turned + 0.5, fillcolor="white", expand=True)
        for page in PdfDocument(data)
    ]
    file = io.BytesIO()
    pages[0].save(file, "PDF", resolution=200, save_all=True, append_images=pages[1:])
    return file.getvalue()


def joined(*files: bytes) -> bytes:
    writer = PdfWriter()
    for each in files:
        writer.append(PdfReader(io.BytesIO(each)))
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def word(text: str, left: float, top: float, *, width: float | None = None) -> Word:
    return Word(text=text, left=left, right=left + (width or 8 * len(text)), top=top, bottom=top + 16)


def test_a_scanned_page_is_read_and_the_footnote_says_how():
    document = parse_file(
        Path("harbour.pdf"), joined(printed("Timetable of the harbour."), scan(printed(WORDS)))
    )

    assert WORDS in document.text
    [piece] = cut(document)
    assert piece.location == "pages 1-2 (read by OCR)"


@pytest.mark.parametrize("turned", [90, 180])
def test_a_page_that_was_scanned_the_wrong_way_round_is_turned(turned):
    document = pdf.parse(scan(printed(WORDS), turned=turned), recognize=ocr.read_scanned)

    assert document.text == WORDS


def test_a_page_with_text_is_never_recognized():
    document = pdf.parse(printed(WORDS), recognize=lambda data, pages: pytest.fail("no page is scanned"))

    assert [block.is_recognized for block in document.blocks] == [False]


@pytest.fixture
def without_ocr(monkeypatch):
    monkeypatch.setattr(ocr, "is_installed", lambda: False)


def test_without_the_extra_a_scan_names_its_cure_and_a_text_comes_through(without_ocr):
    with pytest.raises(
        DocumentError, match=r"^is scanned, so not read; install the extra “ocr”: .*--extra ocr$"
    ):
        pdf.parse(scan(printed(WORDS)))
    document = pdf.parse(joined(printed("Timetable."), scan(printed(WORDS, WORDS))))

    assert document.text == "Timetable."
    assert document.unread.startswith("2 of 3 pages are scanned, so not read; install the extra “ocr”")


def test_what_the_program_that_scanned_prints_on_each_page_makes_no_text_of_it(without_ocr):
    stamp = PdfReader(io.BytesIO(printed("Scanned with DocCam"))).pages[0]
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(scan(printed(WORDS, WORDS, WORDS)))))
    for page in writer.pages:
        page.merge_page(stamp)
    file = io.BytesIO()
    writer.write(file)

    with pytest.raises(DocumentError, match=r"^is scanned, so not read"):
        pdf.parse(file.getvalue())


def test_what_was_filled_into_a_scanned_form_is_read(without_ocr):
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(scan(printed(WORDS)))))
    writer.add_annotation(0, FreeText(text="Ada Lovelace, berth 7", rect=(40, 40, 200, 60)))
    file = io.BytesIO()
    writer.write(file)

    document = pdf.parse(file.getvalue())

    assert document.text == "Ada Lovelace, berth 7"
    assert document.unread.startswith("is scanned, so not read")
    assert [block.is_recognized for block in document.blocks] == [False]


def test_a_scan_among_pages_is_told_at_each_sync_and_read_once_text_recognition_is_there(
    tmp_path, library, without_ocr, monkeypatch
):
    monkeypatch.setattr(
        parser_process, "is_foreign", lambda suffix, size: False
    )  # a worker would have the packages
    (tmp_path / "both.pdf").write_bytes(joined(printed("Timetable."), scan(printed(WORDS))))

    reports = [library.ingest([tmp_path]), library.refresh(), library.ingest([tmp_path])]
    monkeypatch.undo()
    unasked, asked = library.refresh(), library.ingest([tmp_path])

    assert [(each.added, each.skipped, each.failed) for each in reports] == [
        (1, 0, ()),
        (0, 1, ()),
        (0, 1, ()),
    ]
    for report in (*reports, unasked):
        [note] = report.notes
        assert note.source == f"{tmp_path.name}/both.pdf"
        assert note.text.startswith("1 of 2 pages is scanned, so not read; install the extra “ocr”")
    assert (asked.notes, library.refresh().notes, library.store.roots.unreadable("default")) == ((), (), {})
    assert WORDS in quotable(library)


def test_more_scanned_pages_than_there_is_time_for_are_refused(monkeypatch):
    monkeypatch.setattr(ocr, "PAGES", 1)

    with pytest.raises(DocumentError, match="holds 2 scanned pages; 1 at most are read"):
        pdf.parse(scan(printed(WORDS, WORDS)), recognize=ocr.read_scanned)


def test_a_scan_in_an_archive_is_named_and_the_other_files_are_read():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("notes.txt", "The key hangs in the boathouse.")
        archive.writestr("scan.pdf", scan(printed(WORDS)))

    document = parse_file(Path("both.zip"), file.getvalue())

    assert "boathouse" in document.text
    assert WORDS not in document.text
    assert document.unread == "1 of its files is not wholly read: scan.pdf is scanned, so not read"


def test_a_page_that_claims_to_be_huge_is_drawn_small():
    file = io.BytesIO()
    Image.new("L", (100, 100), 255).save(file, "PDF", resolution=0.5)  # 14,400 points on each side

    drawn = ocr._render(PdfDocument(file.getvalue()), 1)

    assert (drawn.shape[0] - 1) * (drawn.shape[1] - 1) <= ocr.PIXELS  # sides are rounded up


def test_workers_of_scans_leave_those_of_files_free():
    assert parser_process._WORKERS["scans"] is not parser_process._WORKERS["files"]
    assert parser_process._WORKERS["scans"].at_once == 1


def test_columns_of_text_are_read_one_after_the_other():
    left = [word(f"left column, its line {n}, goes on", 40, 100 + 20 * n) for n in range(4)]
    right = [word(f"right column, its line {n}, goes on", 400, 103 + 20 * n) for n in range(4)]
    title = word("A title over both of the columns, as papers have it, is read first", 40, 40, width=640)
    foot = word("A note below both of the columns comes last of all, as it is printed", 40, 240, width=640)

    lines = [line for line in printed_lines([*right, foot, *left, title]) if line]

    assert [line.split()[0] for line in lines] == ["A", *["left"] * 4, *["right"] * 4, "A"]


def test_cells_of_a_table_stay_in_their_rows():
    rows = [[("Boat", 40), ("Length", 300), ("Fee", 500)], [("Anna", 40), ("8 m", 300), ("40", 500)]]
    words = [word(text, left, 100 + 40 * n) for n, row in enumerate(rows) for text, left in row]

    assert [line for line in printed_lines(words[::-1]) if line] == ["Boat   Length   Fee", "Anna   8 m   40"]


def test_nothing_printed_is_no_line():
    assert printed_lines([]) == []

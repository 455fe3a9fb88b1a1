"""PDF files, made here with ReportLab and pypdf."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader, PdfWriter
from pypdf.generic import NameObject
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from core.errors import DocumentError
from core.grounding.citations import _columns
from core.library.chunking import cut
from core.library.documents import Document
from core.library.formats import pdf, pdf_pages
from core.library.formats.pdf import PrintedLine, paragraphs
from core.library.formats.pdf_forms import find_broken_pages, read_form_entries
from core.library.formats.pdf_pages import ENTRIES, read_pages
from core.library.formats.read import parse_file

BODY = (
    "Everyone may work from home on two days of each week, and on more of them when",
    "their lead agrees. Ask early, because the office needs to know who is coming in.",
    "Nobody has to give a reason.",
)


def made(*pages: Sequence[str], title: str = "", outline: Sequence[tuple[int, int, str]] = ()) -> bytes:
    """A PDF of these lines; the outline is (page, level, title)."""
    file = io.BytesIO()
    canvas = Canvas(file, pagesize=A4)
    canvas.setTitle(title)
    for number, lines in enumerate(pages, start=1):
        text = canvas.beginText(72, 760)
        text.textLines(list(lines))
        canvas.drawText(text)
        for page, level, heading in outline:
            if page == number:
                canvas.bookmarkPage(heading)
                canvas.addOutlineEntry(heading, heading, level=level - 1)
        canvas.showPage()
    canvas.save()
    return file.getvalue()


def encrypted(data: bytes, *, user_password: str) -> bytes:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(data)))
    writer.encrypt(user_password=user_password, owner_password="owner", algorithm="AES-256")
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def kinds(document: Document) -> list[tuple[str, str, int | None]]:
    return [(block.kind, document.text[block.start : block.end], block.page) for block in document.blocks]


def test_lines_are_joined_into_the_paragraphs_they_were_broken_from():
    document = pdf.parse(made(BODY))

    assert document.text == " ".join(BODY)
    assert kinds(document) == [("prose", " ".join(BODY), 1)]


def test_each_piece_names_its_page():
    document = pdf.parse(
        made(BODY, ("The office closes at eight in the evening, also for those who have a key.", *BODY))
    )

    assert [piece.location for piece in cut(document)] == ["page 1", "page 2"]


def test_a_paragraph_that_runs_over_a_page_is_one():
    document = pdf.parse(made(BODY[:1], BODY[1:]))

    assert document.text == " ".join(BODY)


def test_entries_of_the_outline_are_headings_where_the_page_prints_them():
    outline = ((1, 1, "1. Working from home"), (1, 2, "Days"), (2, 1, "Equipment"), (2, 2, "Never printed"))
    pages = (("1. Working from home", *BODY, "1.1 Days", *BODY), ("2 Equipment", *BODY))

    document = pdf.parse(made(*pages, outline=outline))

    headings = [text for kind, text, _ in kinds(document) if kind == "heading"]
    assert headings == ["# 1. Working from home", "## 1.1 Days", "# 2 Equipment"]
    assert [piece.location for piece in cut(document)] == [
        "page 1, 1. Working from home",
        "page 1, 1. Working from home > 1.1 Days",
        "page 2, 2 Equipment",
    ]


def test_a_heading_printed_over_two_lines_is_found():
    heading = "How to ask for equipment when you work abroad"
    page = ("How to ask for equipment", "when you work abroad", *BODY)

    assert pdf.parse(made(page, outline=((1, 1, heading),))).text.startswith(f"# {heading}\n\nEveryone")


@pytest.mark.parametrize(
    ("entry", "lines"),
    [
        ("3 setup.sty", ("File 3 setup.sty",)),
        ("117 academicons", ("§ 117 Package academicons",)),
        ("I Tutorials and Guidelines", ("Part I", "Tutorials and Guidelines")),
        ("6 Document divisions", ("Document divisions 6",)),
    ],
)
def test_a_heading_is_found_that_has_a_word_more_than_its_entry(entry, lines):
    document = pdf.parse(made((*BODY, *lines, *BODY), outline=((1, 1, entry),)))

    assert [text for kind, text, _ in kinds(document) if kind == "heading"] == [f"# {' '.join(lines)}"]


def test_a_line_of_code_or_one_that_says_the_same_again_is_no_heading():
    page = ("The keys of arrows:", "arrows={stealth}", "}", "Arrows", *BODY, "Arrows", *BODY)

    document = pdf.parse(made(page, outline=((1, 1, "Arrows"),)))

    assert [text for kind, text, _ in kinds(document) if kind == "heading"] == ["# Arrows"]
    assert document.text.startswith("The keys of arrows:\n\narrows={stealth}\n}\n\n# Arrows")


def test_a_page_is_told_with_the_number_that_is_printed_on_it_where_that_is_another():
    writer = PdfWriter(
        clone_from=PdfReader(
            io.BytesIO(made(*[(f"Page {word}.", *BODY) for word in ("one", "two", "three")]))
        )
    )
    writer.set_page_label(0, 1, style="/r")
    writer.set_page_label(2, 2, style="/D")
    file = io.BytesIO()
    writer.write(file)

    pieces = cut(pdf.parse(file.getvalue()))

    assert [piece.location for piece in pieces] == ["page 1 (printed i)", "pages 2-3 (printed ii to 1)"]


FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
DRAWN = b"BT /F1 10 Tf 50 700 Td (The office closes at eight in the evening.) Tj ET"
PAGE = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>/Contents 11 0 R>>"
BLANK = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 99 0 R>>"  # there is no object 99


def by_hand(kids: bytes, info: bytes = b"<<>>") -> bytes:
    """A PDF of objects as they are written in the file; 10 is a page with text, 12 an empty one."""
    objects = {
        1: b"<</Type/Catalog/Pages 2 0 R>>",
        2: b"<</Type/Pages/Count %d/Kids[%s]>>" % (kids.count(b"R"), kids),
        3: FONT,
        4: info,
        10: PAGE,
        11: b"<</Length %d>>\nstream\n%s\nendstream" % (len(DRAWN), DRAWN),
        12: BLANK,
    }
    written, places = b"%PDF-1.7\n", {}
    for number, body in objects.items():
        places[number] = len(written)
        written += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    rows = (b"%010d 00000 n \n" % places[n] if n in places else b"0000000000 65535 f \n" for n in range(13))
    return (
        written + b"xref\n0 13\n" + b"".join(rows)
        + b"trailer\n<</Size 13/Root 1 0 R/Info 4 0 R>>\nstartxref\n%d\n%%%%EOF\n" % len(written)
    )  # fmt: skip


def test_a_title_that_ends_in_half_a_character_loses_no_page():
    half = "Closing time 😀".encode("utf-16-be")[:-2].hex().encode()

    document = pdf.parse(by_hand(b"10 0 R", b"<</Title <FEFF%s>>>" % half))

    assert document.text == "The office closes at eight in the evening."
    assert document.title.startswith("Closing time")


def test_a_tree_of_pages_that_holds_itself_ends():
    assert pdf.parse(by_hand(b"2 0 R 10 0 R 12 0 R")).text == "The office closes at eight in the evening."


def test_a_page_whose_contents_are_not_there_is_empty_and_not_damaged():
    assert pdf.parse(by_hand(b"10 0 R 12 0 R")).unread == ""


def test_thousands_of_entries_that_lead_to_one_page_are_not_all_looked_for():
    lines = [f"Line {number} of the long page" for number in range(60)]
    outline = [(1, 1, f"Heading {number}") for number in range(2 * ENTRIES)]

    file = read_pages(made(lines, outline=outline), 60.0)

    assert len(file.outline[1]) == ENTRIES


def test_an_entry_of_a_table_of_contents_is_an_item_without_its_dots():
    lines = [
        f"{number} {title}{' .' * 12} {page}"
        for number, title, page in ((1, "Wages", 4), (2, "Leave", 7), (3, "Travel", 12))
    ]

    document = pdf.parse(made(("Contents", *lines, *BODY)))

    assert tables(document) == []
    assert document.text.splitlines()[2:5] == ["- 1 Wages 4", "- 2 Leave 7", "- 3 Travel 12"]


def test_running_heads_and_page_numbers_are_left_out_but_for_the_title():
    pages = [
        ("Acme Handbook", f"Text of page {n}: {BODY[0]}", BODY[1], f"Page {n} of 5", str(n))
        for n in range(1, 6)
    ]

    document = pdf.parse(made(*pages))

    assert document.text.count("Acme Handbook") == 1
    assert "of 5" not in document.text.partition("page 2")[2]
    assert document.text.count("Text of page") == 5


def test_items_are_told_apart():
    document = pdf.parse(
        made(("Bring these things with you:", "• a laptop", "• a badge", "1. first", "2. second"))
    )

    assert [(kind, text) for kind, text, _ in kinds(document)] == [
        ("prose", "Bring these things with you:"),
        ("item", "- a laptop"),
        ("item", "- a badge"),
        ("item", "1. first"),
        ("item", "2. second"),
    ]


@pytest.mark.parametrize(
    ("lines", "joined"),
    [
        (["the docu-", "mentation is long"], "the documentation is long"),
        (["a well-", "known fact, well-known to all"], "a well-known fact, well-known to all"),
        (["from 2020-", "2024 it was"], "from 2020-\n2024 it was"),
        (["see the A-", "Team"], "see the A-\nTeam"),
    ],
)
def test_words_broken_at_the_end_of_a_line_are_mended(lines, joined):
    (part,) = paragraphs([PrintedLine(text=text, page=1) for text in lines])

    assert part.text == joined


def test_short_lines_stay_lines():
    address = ("Acme Ltd", "12 High Street", "London")

    assert pdf.parse(made((*BODY, *address))).text.endswith("\n\nAcme Ltd\n12 High Street\nLondon")


@pytest.mark.parametrize(
    ("declared", "title"),
    [("Home office", "Home office"), ("policy_v3.docx", ""), ("untitled", ""), ("", "")],
)
def test_a_declared_title_is_used_unless_it_is_a_file_name(declared, title):
    assert pdf.parse(made(BODY, title=declared)).title == title


def test_a_file_that_opens_without_a_password_is_read():
    assert pdf.parse(encrypted(made(BODY), user_password="")).text == " ".join(BODY)


def test_a_file_that_needs_a_password_is_refused():
    with pytest.raises(DocumentError, match="is encrypted"):
        pdf.parse(encrypted(made(BODY), user_password="secret"))


def test_empty_pages_are_refused():
    with pytest.raises(DocumentError, match=r"holds no text that could be extracted$"):
        pdf.parse(made((), ()))


def test_too_many_pages_are_refused():
    writer = PdfWriter()
    for _ in range(pdf_pages.PAGE_LIMIT + 1):
        writer.add_blank_page(width=10, height=10)
    file = io.BytesIO()
    writer.write(file)

    with pytest.raises(DocumentError, match="has more than 5,000 pages"):
        pdf.parse(file.getvalue())


def test_a_file_that_takes_too_long_is_given_up():
    with pytest.raises(DocumentError, match="takes too long to read; page 1 of 2 was reached"):
        pdf.parse(made(BODY, BODY), reading_time=-1.0)


def test_a_page_that_cannot_be_read_is_told_and_does_not_lose_the_others():
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(made(BODY, BODY))))
    writer.pages[0]["/Contents"].get_object()[NameObject("/Filter")] = NameObject("/Nowhere")
    file = io.BytesIO()
    writer.write(file)

    document = parse_file(Path("a.pdf"), file.getvalue())  # in a worker

    assert {page for _, _, page in kinds(document)} == {2}
    assert document.unread == "1 of 2 pages is damaged, so not read"


def test_a_file_that_was_cut_off_says_so():
    whole = made(BODY)

    with pytest.raises(DocumentError, match=r"^is cut off: its end is missing; copy or download it again$"):
        pdf.parse(whole[: len(whole) // 3])


def test_a_file_whose_last_change_was_cut_off_is_read_with_a_note():
    change = b"12 0 obj\n<</Length 4000>>stream\n" + b"x" * 2_000

    document = pdf.parse(made(BODY) + change)

    assert document.text == " ".join(BODY)
    assert document.unread == "is cut off: its end is missing"


def test_a_file_that_only_a_certificate_opens_is_said_to_be_encrypted():
    locked = encrypted(made(BODY), user_password="")

    with pytest.raises(DocumentError, match=r"^is encrypted; save it without a password first$"):
        pdf.parse(locked.replace(b"/Filter /Standard", b"/Filter /Entrust.."))


def form(fields: Callable[[Any], object]) -> bytes:
    file = io.BytesIO()
    canvas = Canvas(file)
    canvas.drawString(72, 750, "Application for a berth")
    fields(canvas.acroForm)
    canvas.save()
    return file.getvalue()


def test_what_was_filled_into_a_form_is_read_field_by_field():
    document = pdf.parse(
        form(
            lambda fields: (
                fields.textfield(name="boat[0]", tooltip="Name of the boat", value="Seagull of Kiel"),
                fields.textfield(name="crew[0]", value="Ada\nBea"),
                fields.checkbox(tooltip="Shore power", checked=True),
                fields.checkbox(tooltip="Water", checked=False),
                fields.choice(tooltip="Quay", value="N", options=[("North quay", "N"), ("South quay", "S")]),
                fields.textfield(tooltip="Password", value="hunter2", fieldFlags="password"),
                fields.textfield(tooltip="Draft", value="2 m", annotationFlags="hidden"),
                fields.textfield(tooltip="Length", value=""),
            )
        )
    )

    assert document.text.splitlines()[2:] == [
        "- Name of the boat: Seagull of Kiel", "- crew: Ada Bea", "- Shore power: Yes", "- Quay: North quay",
    ]  # fmt: skip


def test_a_field_shows_its_text_where_it_has_no_value_of_its_own():
    writer = PdfWriter(
        clone_from=PdfReader(io.BytesIO(form(lambda fields: fields.textfield(tooltip="Boat", value="Gull"))))
    )
    del writer.pages[0]["/Annots"][0].get_object()["/V"]
    file = io.BytesIO()
    writer.write(file)

    assert pdf.parse(file.getvalue()).text.endswith("- Boat: Gull")


def test_fields_that_are_above_one_another_in_a_circle_are_left():
    writer = PdfWriter(
        clone_from=PdfReader(io.BytesIO(form(lambda fields: fields.textfield(tooltip="Boat", value="Gull"))))
    )
    field = writer.pages[0]["/Annots"][0]
    del field.get_object()["/TU"], field.get_object()["/T"]
    field.get_object()[NameObject("/Parent")] = field
    file = io.BytesIO()
    writer.write(file)

    assert pdf.parse(file.getvalue()).text.endswith("- Gull")


TURNED = [["Berth", "Depth"], ["North", "3 m"], ["South", "4 m"], ["Quay", "7 m"]]


def turned(degrees: int, *, page: int) -> bytes:
    """Two lines and a table, turned against the clock; the page itself is turned with it."""
    file = io.BytesIO()
    canvas = Canvas(file, pagesize=A4)
    canvas.setPageRotation(page)
    canvas.translate(300, 400)
    canvas.rotate(degrees)
    canvas.drawString(0, 60, "The harbour has these berths for guests,")
    canvas.drawString(0, 40, "all of them with water.")
    for number, row in enumerate(TURNED):
        for column, cell in enumerate(row):
            canvas.drawString(100 * column, -20 * number, cell)
    canvas.save()
    return file.getvalue()


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_a_page_that_lies_on_its_side_is_read_as_an_upright_one(degrees):
    assert pdf.parse(turned(degrees, page=degrees)).text == pdf.parse(turned(0, page=0)).text
    assert "| North | 3 m |" in pdf.parse(turned(degrees, page=degrees)).text


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_turned_lines_of_an_upright_page_are_read_in_their_order(degrees):
    assert pdf.parse(turned(degrees, page=0)).text == pdf.parse(turned(0, page=0)).text


def page_in_a_font(cmap: str, codes: bytes) -> bytes:
    """A page that shows these codes in a font which is named alone, as programs of East Asia write it."""
    drawn = b"BT /F1 12 Tf 72 700 Td <%s> Tj ET" % codes.hex().encode()
    objects = (
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(drawn), drawn),
        b"<</Type/Font/Subtype/Type0/BaseFont/Song/Encoding/%s/DescendantFonts[6 0 R]>>" % cmap.encode(),
        b"<</Type/Font/Subtype/CIDFontType0/BaseFont/Song/DW 1000>>",
    )
    made = b"%PDF-1.4\n"
    starts = []
    for number, each in enumerate(objects, start=1):
        starts.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % start for start in starts)
    return made + (
        b"xref\n0 7\n0000000000 65535 f \n%strailer<</Size 7/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n"
        % (table, len(made))
    )


FURTHER = {
    "GBKp-EUC": "gbk",
    "B5pc": "cp950", "HKscs-B5": "big5hkscs",
    "83pv-RKSJ": "cp932", "90msp-RKSJ": "cp932", "90pv-RKSJ": "cp932", "Add-RKSJ": "cp932", "Ext-RKSJ": "cp932",
    "EUC": "euc_jp",
    "KSC-EUC": "cp949", "KSCpc-EUC": "cp949", "KSCms-UHC": "cp949", "KSCms-UHC-HW": "cp949",
    "UniKS-UTF16": "utf-16-be",
}  # fmt: skip
OF_PYPDF = {
    "90ms-RKSJ-H": "cp932", "UniJIS-UCS2-H": "utf-16-be", "GBK-EUC-H": "gbk", "UniGB-UCS2-H": "utf-16-be",
    "ETen-B5-V": "cp950", "UniCNS-UTF16-H": "utf-16-be", "UniKS-UCS2-H": "utf-16-be",
}  # fmt: skip
WORDS = {
    "J": "港は九時に閉まる",
    "K": "항구는 아홉 시에 닫습니다",
    "C": "港口九點關門",
    "G": "港口晚上九点关门",
}


@pytest.mark.parametrize(
    ("cmap", "codec"), (OF_PYPDF | {f"{name}-H": codec for name, codec in FURTHER.items()}).items()
)
def test_a_font_that_the_file_does_not_hold_is_read_by_its_encoding(cmap, codec):
    script = next(
        (
            kind
            for kind, names in {"G": "GB", "C": "B5 CNS", "K": "KS"}.items()
            if any(n in cmap for n in names.split())
        ),
        "J",
    )
    script = "J" if "RKSJ" in cmap else script
    words = f"{WORDS[script]} B7"

    assert pdf.parse(page_in_a_font(cmap, words.encode(codec))).text == words


def test_a_table_stays_a_table():
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import Paragraph, SimpleDocTemplate, Table

    style = getSampleStyleSheet()["BodyText"]
    rows = [
        ["Berth", "Depth", "Fee per day"],
        ["North 1", "3 m", "40"],
        ["North 2", "2 | 4 m", "35"],
        ["Quay", "7 m", "90"],
    ]
    story = [Paragraph("The harbour has these berths for guests, all of them with water and light. " * 3, style),
             Table(rows), Paragraph("Ask the harbour master for anything else that you may need. " * 3, style)]  # fmt: skip
    made = io.BytesIO()
    SimpleDocTemplate(made).build(story)

    document = pdf.parse(made.getvalue())

    found = [(block.kind, document.text[block.start : block.end]) for block in document.blocks]
    assert [kind for kind, _ in found] == ["prose", "table", "prose"]
    assert found[1][1].splitlines() == [
        "| Berth | Depth | Fee per day |",
        "| --- | --- | --- |",
        "| North 1 | 3 m | 40 |",
        "| North 2 | 2 \\| 4 m | 35 |",
        "| Quay | 7 m | 90 |",
    ]


def placed(
    *pages: Sequence[tuple[float, float, str]], bold: frozenset[str] = frozenset(), size: float = 10
) -> bytes:
    """A PDF of these words: (left, points from the top, text); at the right of ``left`` where it is below 0."""
    file = io.BytesIO()
    canvas = Canvas(file, pagesize=A4)
    for words in pages:
        for left, top, text in words:
            canvas.setFont("Helvetica-Bold" if text in bold else "Helvetica", size)
            draw = canvas.drawString if left >= 0 else canvas.drawRightString
            draw(abs(left), A4[1] - top, text)
        canvas.showPage()
    canvas.save()
    return file.getvalue()


def table(
    top: float, rows: Sequence[Sequence[str]], *, indent: Sequence[int] = ()
) -> list[tuple[float, float, str]]:
    """Rows of a label and of numbers at the right of their columns."""
    labels = [
        (72 + (indent[n] if indent else 0), top + 14 * n, row[0]) for n, row in enumerate(rows) if row[0]
    ]
    numbers = [
        (-400 - 70 * place, top + 14 * n, cell)
        for n, row in enumerate(rows)
        for place, cell in enumerate(row[1:])
        if cell
    ]
    return [*labels, *numbers]


HEADER = [(362.0, 100.0, "Years ended December 31,"), *table(114, [("(in millions)", "2022", "2021")])]


def tables(document: Document) -> list[list[str]]:
    return [text.splitlines() for kind, text, _ in kinds(document) if kind == "table"]


def test_a_row_comes_with_its_whole_label_its_section_and_all_names_of_its_columns():
    rows = [
        ("Current assets:",),
        ("Cash and cash equivalents", "1,204", "(977)"),
        ("Prepaid expenses and other current",),
        ("assets", "88", "\N{EM DASH}"),
        ("Total", "1,292", "977"),
    ]
    signs = [(365.0, 142.0, "$"), (435.0, 142.0, "$")]

    document = pdf.parse(placed([*HEADER, *table(128, rows, indent=(0, 12, 12, 20, 0)), *signs]))

    assert tables(document) == [[
        "| (in millions) | Years ended December 31, 2022 | Years ended December 31, 2021 |",
        "| --- | --- | --- |",
        "| Current assets: Cash and cash equivalents | $1,204 | $(977) |",
        "| Current assets: Prepaid expenses and other current assets | 88 | \N{EM DASH} |",
        "| Total | 1,292 | 977 |",
    ]]  # fmt: skip


def test_a_table_that_goes_on_on_the_next_page_keeps_its_header_there():
    first, second = (
        table(128, [("Cash", "1", "2"), ("Debt", "3", "4")]),
        table(72, [("Rent", "5", "6"), ("Tax", "7", "8"), ("Fees", "9", "9")]),
    )

    document = pdf.parse(placed([*HEADER, *first], second))

    head, goes_on = tables(document)
    assert (
        head[0]
        == goes_on[0]
        == "| (in millions) | Years ended December 31, 2022 | Years ended December 31, 2021 |"
    )
    assert goes_on[2:] == ["| Rent | 5 | 6 |", "| Tax | 7 | 8 |", "| Fees | 9 | 9 |"]
    assert [block.page for block in document.blocks] == [1, 2]


@pytest.mark.parametrize(
    "second",
    [
        [(72.0, 60.0, "The following is another matter, which has its own numbers below."), *table(74, [("Rent", "5", "6"), ("Tax", "7", "8"), ("Fees", "9", "9")])],
        [(x - 30 if x > 0 else x + 30, y, text) for x, y, text in table(72, [("Rent", "5", "6"), ("Tax", "7", "8"), ("Fees", "9", "9")])],
    ],
)  # fmt: skip
def test_a_table_below_text_or_with_other_columns_takes_no_header_from_the_page_before(second):
    first = table(128, [("Cash", "1", "2"), ("Debt", "3", "4")])

    *_, goes_on = tables(pdf.parse(placed([*HEADER, *first], second)))

    assert not any("2022" in line for line in goes_on)


def test_every_passage_of_a_long_table_has_its_header_and_a_quote_of_a_row_names_the_columns():
    rows = [(f"Line {n} of the statement", f"{n},111", f"{n},222") for n in range(10, 50)]

    document = pdf.parse(placed([*HEADER, *table(128, rows)]))

    pieces = cut(document)
    header = "| (in millions) | Years ended December 31, 2022 | Years ended December 31, 2021 |"
    assert len(pieces) > 1
    assert all(piece.text.startswith(header) for piece in pieces)
    assert all(document.text[piece.start : piece.end] == piece.text for piece in pieces)
    start = pieces[-1].text.index("| Line 49")
    assert _columns(pieces[-1].text, start, len(pieces[-1].text)) == header


def test_a_table_beside_a_column_of_text_is_read_apart_from_it():
    text = [(72.0, 72 + 14 * n, "goes on with the text of the first column") for n in range(12)]
    rows = [
        ("", "2022", "2021"),
        ("Revenue", "1,200", "1,100"),
        ("Costs", "(800)", "(700)"),
        ("Tax", "(44)", "(39)"),
    ]
    beside = [(320.0 if x > 0 else x - 60, top, cell) for x, top, cell in table(72, rows)]

    document = pdf.parse(placed([*text, *beside]))

    assert tables(document)[0][2:] == [
        "| Revenue | 1,200 | 1,100 |",
        "| Costs | (800) | (700) |",
        "| Tax | (44) | (39) |",
    ]
    assert document.text.count("goes on with the text of the first column") == 12


def test_a_name_over_the_middle_of_several_columns_is_that_of_its_own_unless_it_is_a_period():
    rows = [
        ("", "Number", "price", "Value"),
        ("Granted", "300", "15.10", "4,530"),
        ("Vested", "(120)", "13.00", "(1,560)"),
    ]

    heads = {
        name: tables(pdf.parse(placed([(-470 - 8, 100, name), *table(114, rows)])))[0][0]
        for name in ("Average", "Year ended May 31,")
    }

    assert heads["Average"] == "|  | Number | Average price | Value |"
    assert heads["Year ended May 31,"].count("Year ended May 31,") == 3


@pytest.mark.parametrize(
    "words",
    [
        [(x, 72 + 13 * n, f"{n} lines of text in a column of text") for n in range(1, 9) for x in (72.0, 320.0)],
        [(x, 72 + 14 * n, text) for n in range(1, 9) for x, text in ((72.0, f"{n}."), (100.0, f"Step {n} of many"))],
        [(72, 72, "In 2021 we had"), (300, 72, "12 ships"), (72, 400, "and in 2022"), (300, 400, "14 of them")],
    ],
)  # fmt: skip
def test_columns_of_text_lists_and_stray_numbers_are_no_table(words):
    assert not tables(pdf.parse(placed(words)))


def test_larger_and_bolder_lines_are_headings_where_there_is_no_outline():
    bold = frozenset({"Item 7. Results", "Revenue of services", "and of licences"})
    lines = [
        "Item 7. Results",
        "Revenue of services",
        "and of licences",
        *BODY * 8,
        "Note 11 - Leases",
        *BODY * 2,
    ]

    document = pdf.parse(
        placed([(72, 72 + 14 * n + 10 * (n > 0), line) for n, line in enumerate(lines)], bold=bold)
    )

    headings = [text for kind, text, _ in kinds(document) if kind == "heading"]
    assert headings == ["# Item 7. Results", "# Revenue of services and of licences", "## Note 11 - Leases"]
    assert cut(document)[-1].path == ("Revenue of services and of licences", "Note 11 - Leases")


def test_lines_of_text_that_name_an_item_are_no_headings():
    lines = [*BODY, "Note 11 describes the leases.", "Item 7. Results ........ 12", *BODY]

    document = pdf.parse(placed([(72, 72 + 14 * n, line) for n, line in enumerate(lines)]))

    assert "heading" not in {kind for kind, _, _ in kinds(document)}


def test_a_running_head_is_left_out_wherever_its_page_draws_it():
    pages = [
        [(72, 100 + 14 * n, line) for n, line in enumerate((*BODY, f"This is page {page}."))] + [(72, 40, "Acme Ltd."), (300, 800, f"{page}")]
        for page in range(1, 6)
    ]  # fmt: skip

    document = pdf.parse(placed(*pages))

    assert document.text.count("Acme Ltd.") == 1
    assert not re.search(r"^\d$", document.text, re.MULTILINE)


@pytest.mark.parametrize(
    ("said", "moment"),
    [
        ({"/CreationDate": "D:20240506090809+02'00'"}, 1714979289.0),
        ({"/CreationDate": "D:20200101000000Z", "/ModDate": "D:20240506070809Z"}, 1714979289.0),
        ({"/ModDate": "D:99990101000000Z"}, None),
        ({"/ModDate": "yesterday"}, None),
    ],
)
def test_the_date_is_that_of_the_last_change_which_it_names(said, moment):
    from pypdf import PdfReader, PdfWriter
    from reportlab.pdfgen.canvas import Canvas

    page, made = io.BytesIO(), io.BytesIO()
    canvas = Canvas(page)
    canvas.drawString(72, 700, "Leave is thirty days.")
    canvas.save()
    writer = PdfWriter()
    writer.append(PdfReader(page))
    writer.metadata = said
    writer.write(made)

    assert pdf.parse(made.getvalue()).changed_at == moment


def test_a_file_that_pypdf_cannot_open_is_not_lost():
    assert read_form_entries(b"%PDF-1.7 and nothing else") == {}
    assert find_broken_pages(b"%PDF-1.7 and nothing else", {1}) == frozenset()

"""OpenDocument files, packed here as LibreOffice packs them, and rich text as Word and LibreOffice write it."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from core.errors import DocumentError
from core.library.chunking import cut
from core.library.documents import Document
from core.library.formats import word, workbook
from core.library.formats.read import parse_file

SPACES = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for prefix, name in {
        "office": "office", "text": "text", "table": "table", "style": "style", "draw": "drawing",
        "presentation": "presentation", "svg": "svg-compatible",
    }.items()
)  # fmt: skip
META = (
    '<office:meta xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Harbour &amp; quay</dc:title>'
    "<dc:date>2024-05-06T07:08:09</dc:date></office:meta>"
)


def packed(body: str, *, styles: str = "", manifest: str = "", meta: str = META) -> bytes:
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {SPACES}>'
        f"<office:automatic-styles>{styles}</office:automatic-styles><office:body>{body}</office:body>"
        "</office:document-content>"
    )
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr("content.xml", content)
        archive.writestr("meta.xml", meta)
        archive.writestr("META-INF/manifest.xml", f"<manifest>{manifest}</manifest>")
    return made.getvalue()


def read(name: str, data: bytes) -> Document:
    return parse_file(Path(name), data)


def kinds(document: Document) -> list[tuple[str, str]]:
    return [(block.kind, document.text[block.start : block.end]) for block in document.blocks]


TEXT = """<office:text>
<text:tracked-changes><text:changed-region><text:deletion><text:p>Deleted.</text:p></text:deletion></text:changed-region></text:tracked-changes>
<text:p text:style-name="P1">Harbour rules</text:p>
<text:table-of-content><text:index-body><text:p>Berths 1</text:p></text:index-body></text:table-of-content>
<text:h text:outline-level="1">Berths</text:h>
<text:p>Guests <text:span>moor</text:span> <text:span>at</text:span><text:s text:c="2"/>the
   north quay.<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Not in winter.</text:p></text:note-body></text:note> Ask first.<office:annotation><text:p>Really?</text:p></office:annotation></text:p>
<text:list><text:list-item><text:p>Water</text:p><text:list><text:list-item><text:p>hot</text:p></text:list-item></text:list></text:list-item><text:list-item><text:p>Light</text:p></text:list-item></text:list>
<text:section><text:h text:outline-level="2">Fees</text:h></text:section>
<table:table><table:table-header-rows><table:table-row><table:table-cell><text:p>Boat</text:p></table:table-cell><table:table-cell><text:p>Fee</text:p></table:table-cell></table:table-row></table:table-header-rows>
<table:table-row><table:table-cell><text:p>small</text:p></table:table-cell><table:table-cell><office:annotation><text:p>Too dear!</text:p></office:annotation><text:p>40</text:p></table:table-cell></table:table-row></table:table>
<text:p><draw:frame><draw:image/><svg:desc>A map of the quay</svg:desc></draw:frame><draw:frame><draw:text-box><text:p>In a box.</text:p></draw:text-box></draw:frame></text:p>
</office:text>"""


def test_a_text_has_headings_lists_tables_and_notes():
    styles = '<style:style style:name="P1" style:parent-style-name="Title"/>'

    document = read("rules.odt", packed(TEXT, styles=styles))

    assert (document.title, document.changed_at) == ("Harbour rules", 1714979289.0)
    assert kinds(document) == [
        ("heading", "# Harbour rules"),
        ("markup", "Berths 1"),
        ("heading", "## Berths"),
        ("prose", "Guests moor at  the north quay. Ask first."),
        ("prose", "Not in winter."),
        ("item", "- Water\n  - hot"),
        ("item", "- Light"),
        ("heading", "### Fees"),
        ("table", "| Boat | Fee |\n| --- | --- |\n| small | 40 |"),
        ("prose", "A map of the quay"),
        ("prose", "In a box."),
    ]
    assert cut(document)[-1].path == ("Harbour rules", "Berths", "Fees")


def test_a_text_without_a_heading_stands_under_its_title():
    document = read("rules.odt", packed("<office:text><text:p>Ask first.</text:p></office:text>"))

    assert document.text == "# Harbour & quay\n\nAsk first."


def cells(*texts: str, repeated: int = 1) -> str:
    row = "".join(f"<table:table-cell><text:p>{text}</text:p></table:table-cell>" for text in texts)
    return (
        f'<table:table-row table:number-rows-repeated="{repeated}">{row}'
        '<table:table-cell table:number-columns-repeated="16380"/></table:table-row>'
    )


def test_a_workbook_is_read_row_by_row_without_its_hidden_sheets():
    hidden = '<style:style style:name="ta2"><style:table-properties table:display="false"/></style:style>'
    body = (
        '<office:spreadsheet><table:table table:name="Fees">'
        f"{cells('Boat', 'Fee')}{cells('small', '40')}{cells('', repeated=3)}{cells('large', '90', repeated=2)}"
        f"{cells('', repeated=1_048_000)}</table:table>"
        f'<table:table table:name="Pay" table:style-name="ta2">{cells("Ada", "100")}</table:table></office:spreadsheet>'
    )

    document = read("fees.ods", packed(body, styles=hidden))

    assert document.text.splitlines() == [
        "# Fees", "", "Boat: small; Fee: 40", "", "Boat: large; Fee: 90", "", "Boat: large; Fee: 90",
    ]  # fmt: skip
    assert [block.row for block in document.blocks] == [1, 2, 6, 7]
    assert cut(document)[0].location == "sheet “Fees”, rows 1-7"


def test_a_workbook_with_too_many_repeated_cells_is_refused(monkeypatch):
    body = f'<office:spreadsheet><table:table table:name="A">{cells("x", repeated=10**9)}</table:table></office:spreadsheet>'

    with pytest.raises(DocumentError, match=rf"^holds more than {workbook.CELL_LIMIT:,} cells$"):
        read("a.ods", packed(body))


def test_a_text_repeats_no_rows_so_that_many_tables_stay_small():
    body = f"<office:text>{'<table:table>' + cells('x', repeated=10**9) + '</table:table>'}</office:text>"

    assert read("a.odt", packed(body)).text.splitlines()[2:] == ["| x |", "| --- |"]


def test_a_presentation_is_read_slide_by_slide_with_its_notes():
    def frame(kind: str, words: str) -> str:
        return f'<draw:frame presentation:class="{kind}"><draw:text-box>{words}</draw:text-box></draw:frame>'

    page = (
        f"<draw:page>{frame('title', '<text:p>Tides</text:p>')}{frame('footer', '<text:p>Acme</text:p>')}"
        f"{frame('outline', '<text:list><text:list-item><text:p>High at six</text:p></text:list-item></text:list>')}"
        f"<draw:custom-shape><text:p>Mind the step</text:p></draw:custom-shape>"
        f"<presentation:notes>{frame('notes', '<text:p>Say it twice.</text:p>')}</presentation:notes></draw:page>"
    )
    untitled = f"<draw:page>{frame('subtitle', '<text:p>The end of it all</text:p>')}</draw:page>"

    document = read("tides.odp", packed(f"<office:presentation>{page}{untitled}</office:presentation>"))

    assert [(block.page, document.text[block.start : block.end]) for block in document.blocks] == [
        (1, "# Tides"), (1, "- High at six"), (1, "Mind the step"), (1, "### Notes:"), (1, "Say it twice."),
        (2, "# The end of it all"),
    ]  # fmt: skip
    assert cut(document)[0].location.startswith("slide 1")


@pytest.mark.parametrize("suffix", [".odt", ".ods", ".odp"])
def test_an_encrypted_file_is_said_to_be_so(suffix):
    data = packed("<office:text/>", manifest="<manifest:encryption-data/>")

    with pytest.raises(DocumentError, match=r"^is encrypted; save it without a password first$"):
        read(f"a{suffix}", data)


def test_entities_that_grow_are_refused():
    entities = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w") as archive:
        archive.writestr("content.xml", f'<!DOCTYPE x [<!ENTITY l0 "haha">{entities}]><x>&l9;</x>')

    with pytest.raises(DocumentError, match=r"^could not be read: it is damaged"):
        read("a.odt", bomb.getvalue())


WORD_RTF = r"""{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fnil\fcharset0 Calibri;}{\f1\fnil\fcharset204 Arial;}}
{\stylesheet{\s1\outlinelevel0 heading 1;}}{\info{\author Ada}}
\pard\s1\outlinelevel0 Harbour rules\par
\pard\plain Gu\'easts moor {\b at} the north quay \endash  or ask.\par
\pard\f1\'cc\'ee\'f0\'e5 \f0\u-10179?\u-8694?\par
{\listtext\bullet\tab}Water\par
{\listtext 2.\tab}Light\par
\pard\s2\outlinelevel1 Fees\par
\trowd\cellx100\cellx200\pard\intbl Boat\cell Fee\cell\trowd\cellx100\cellx200\row
\trowd\cellx100\cellx200\pard\intbl small\par boats\cell 40\cell\row
\pard {\field{\*\fldinst{HYPERLINK "https://acme.example/"}}{\fldrslt{That}}} is all.{\footer Page 1}\par}"""


def test_rich_text_has_headings_lists_and_tables():
    document = read("rules.rtf", WORD_RTF.encode())

    assert document.title == "Harbour rules"
    assert kinds(document) == [
        ("heading", "# Harbour rules"),
        ("prose", "Guêsts moor at the north quay – or ask."),
        ("prose", "Море 😊"),
        ("item", "- Water"),
        ("item", "2. Light"),
        ("heading", "## Fees"),
        ("table", "| Boat | Fee |\n| --- | --- |\n| small boats | 40 |"),
        ("prose", "That is all."),
    ]


def test_rows_that_never_end_are_read_in_time_that_grows_with_them():
    assert word.parse_rtf(rb"{\rtf1 " + rb"\trowd x\cell" * 100_000 + b"}").text.count("x") == 100_000


def test_what_is_no_rich_text_is_said_to_be_none():
    with pytest.raises(DocumentError, match=r"^is not rich text though it is named \.rtf$"):
        read("a.rtf", b"<html>")

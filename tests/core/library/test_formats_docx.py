"""Word documents, made here with python-docx, and archives that only look like them."""

from __future__ import annotations

import io
import re
import zipfile
from datetime import UTC, datetime

import docx
import pytest
from docx.oxml import OxmlElement
from docx.oxml.ns import qn

from core.errors import DocumentError
from core.library.chunking import cut
from core.library.documents import Document
from core.library.formats import archives, word
from core.library.formats.archives import OLE_SIGNATURE
from core.library.formats.read import read_document


def saved(document) -> bytes:
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def repacked(data: bytes, **parts: bytes) -> bytes:
    """The archive with some parts replaced or added; names are given with "__" for "/" and "_" for "."."""
    names = {name.replace("__", "/").replace("_", "."): content for name, content in parts.items()}
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            if entry.filename not in names:
                new.writestr(entry, old.read(entry))
        for name, content in names.items():
            new.writestr(name, content)
    return file.getvalue()


def kinds(document: Document) -> list[tuple[str, str]]:
    return [(block.kind, document.text[block.start : block.end]) for block in document.blocks]


def test_headings_paragraphs_lists_and_tables_are_read_in_order():
    source = docx.Document()
    source.add_heading("Travel policy", 0)
    source.add_paragraph("It holds for everyone.")
    source.add_heading("Booking", 1)
    source.add_paragraph("Book through:")
    source.add_paragraph("the portal", style="List Bullet")
    source.add_paragraph("with your badge", style="List Bullet 2")
    source.add_paragraph("the phone", style="List Number")
    table = source.add_table(rows=0, cols=2)
    for row in (("Class", "Limit"), ("Economy", "500 | 600"), ("", "none")):
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text
    source.add_heading("Trains", 2)
    source.add_paragraph("Second class.")

    document = word.parse(saved(source), name="ignored")

    assert document.title == "Travel policy"
    assert kinds(document) == [
        ("heading", "# Travel policy"),
        ("prose", "It holds for everyone."),
        ("heading", "## Booking"),
        ("prose", "Book through:"),
        ("item", "- the portal\n  - with your badge"),
        ("item", "- the phone"),
        ("table", "| Class | Limit |\n| --- | --- |\n| Economy | 500 \\| 600 |\n|  | none |"),
        ("heading", "### Trains"),
        ("prose", "Second class."),
    ]
    assert [piece.location for piece in cut(document)][-1] == "Travel policy > Booking > Trains"


def test_without_a_title_headings_keep_their_levels():
    source = docx.Document()
    source.add_heading("Booking", 1)
    source.add_paragraph("Text.")

    document = word.parse(saved(source), name="ignored")

    assert document.title == "Booking"
    assert document.text == "# Booking\n\nText."


def test_a_document_without_headings_stands_under_the_name_of_its_file(tmp_path):
    source = docx.Document()
    source.add_paragraph("The office opens at nine.")
    file = tmp_path / "opening-hours.docx"
    source.save(file)

    document = read_document(file)

    assert document.title == "Opening hours"
    assert [piece.location for piece in cut(document)] == ["Opening hours"]


def test_a_declared_title_is_used_where_no_heading_is():
    source = docx.Document()
    source.core_properties.title = "Opening hours"
    source.add_paragraph("At nine.")

    assert word.parse(saved(source), name="v2-final").title == "Opening hours"


def test_a_style_of_ones_own_is_a_heading_by_what_it_is_based_on():
    source = docx.Document()
    style = source.styles.add_style("Acme Chapter", 1)
    style.base_style = source.styles["Heading 2"]
    source.add_paragraph("Visas", style="Acme Chapter")

    assert kinds(word.parse(saved(source), name="x"))[0] == ("heading", "## Visas")


def test_styles_based_on_each_other_in_a_circle_are_no_headings():
    source = docx.Document()
    one, two = (source.styles.add_style(name, 1) for name in ("One", "Two"))
    one.base_style, two.base_style = two, one
    source.add_paragraph("Visas", style="One")

    assert kinds(word.parse(saved(source), name="x"))[-1] == ("prose", "Visas")


def test_insertions_links_and_content_controls_are_read_and_deletions_are_not():
    source = docx.Document()
    paragraph = source.add_paragraph("Lunch is ")
    for tag, text_tag, text in (
        ("w:ins", "w:t", "free"),
        ("w:del", "w:delText", "paid"),
        ("w:hyperlink", "w:t", " today."),
    ):
        change, run, node = OxmlElement(tag), OxmlElement("w:r"), OxmlElement(text_tag)
        node.text = text
        node.set(qn("xml:space"), "preserve")
        run.append(node)
        change.append(run)
        paragraph._p.append(change)
    control, content = OxmlElement("w:sdt"), OxmlElement("w:sdtContent")
    content.append(source.add_paragraph("Inside a control.")._p)
    control.append(content)
    source.element.body.insert(1, control)

    document = word.parse(saved(source), name="x")

    assert [text for _, text in kinds(document)][1:] == ["Lunch is free today.", "Inside a control."]


def test_line_breaks_and_tabs_are_kept_and_tab_stops_are_not_text():
    source = docx.Document()
    paragraph = source.add_paragraph("Mon\t9 to 5\nTue\tclosed")
    paragraph.paragraph_format.tab_stops.add_tab_stop(1_000_000)

    assert word.parse(saved(source), name="x").text.endswith("Mon\t9 to 5\nTue\tclosed")


def test_a_table_of_one_column_is_a_frame_around_text():
    source = docx.Document()
    source.add_table(1, 1).cell(0, 0).text = "Careful with this."

    assert kinds(word.parse(saved(source), name="x"))[1:] == [("prose", "Careful with this.")]


def test_the_table_of_contents_is_markup():
    source = docx.Document()
    source.styles.add_style("toc 1", 1)
    source.add_paragraph("Booking\t3", style="toc 1")
    source.add_paragraph("Text.")

    assert ("markup", "Booking\t3") in kinds(word.parse(saved(source), name="x"))


def with_entities(levels: int) -> bytes:
    """A document whose text is one entity, each level ten times the one below."""
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, levels + 1))
    xml = (
        f'<?xml version="1.0"?><!DOCTYPE d [<!ENTITY e0 "ha">{entities}]>'
        '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
        f"<w:p><w:r><w:t>Before &e{levels}; after</w:t></w:r></w:p></w:body></w:document>"
    )
    return repacked(saved(docx.Document()), word__document_xml=xml.encode())


def test_entities_are_not_expanded():
    document = word.parse(with_entities(2), name="x")

    assert "Before" in document.text
    assert "ha" not in document.text


def test_entities_that_would_fill_the_memory_are_refused(tmp_path):
    file = tmp_path / "bomb.docx"
    file.write_bytes(with_entities(9))

    with pytest.raises(DocumentError, match="could not be read"):
        read_document(file)


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"word__media__image_bin": b"\0" * 2_000_000}, "packed more tightly"),
        ({"word__document_xml": b" " * (archives.XML_LIMIT + 1)}, "30 MB of text"),
        ({"word__media__image_bin": b"\0" * (archives.UNPACKED_LIMIT + 1)}, "unpacks to more than 100 MB"),
    ],
)
def test_archives_that_unpack_to_too_much_are_refused_before_they_are(part, said):
    with pytest.raises(DocumentError, match=said):
        word.parse(repacked(saved(docx.Document()), **part), name="x")


@pytest.mark.parametrize(
    ("stream", "said"),
    [
        ("EncryptedPackage", r"^is encrypted; save it without a password first$"),
        ("WordDocument", r"^is an older Word document though it is named \.docx; save it as \.docx$"),
        ("Workbook", r"^is an older Excel workbook though it is named \.docx; save it as \.xlsx$"),
        (
            "PowerPoint Document",
            r"^is an older PowerPoint presentation though it is named \.docx; save it as \.pptx$",
        ),
        ("Contents", r"^is an older document though it is named \.docx; save it as \.docx$"),
    ],
)
def test_an_encrypted_document_and_older_ones_under_a_newer_name_are_refused(stream, said):
    data = OLE_SIGNATURE + b"\0" * 512 + stream.encode("utf-16-le") + b"\0" * 512

    with pytest.raises(DocumentError, match=said):
        word.parse(data, name="x")


def test_what_is_no_archive_is_refused():
    with pytest.raises(DocumentError, match="is not a Word document"):
        word.parse(b"just text", name="x")


def test_an_archive_of_something_else_is_refused(tmp_path):
    file = tmp_path / "sheet.docx"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("readme.txt", "no document")

    with pytest.raises(DocumentError, match=r"is damaged, or not what \.docx says"):
        read_document(file)


W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def with_notes(data: bytes, text: str) -> bytes:
    """The document with one footnote."""
    note = f'<w:footnote w:id="2"><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:footnote>'
    line = '<w:footnote w:type="separator" w:id="0"><w:p><w:r><w:t>line</w:t></w:r></w:p></w:footnote>'
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        types = archive.read("[Content_Types].xml").decode()
        relations = archive.read("word/_rels/document.xml.rels").decode()
    made = {
        "[Content_Types].xml": types.replace(
            "</Types>",
            '<Override PartName="/word/footnotes.xml" ContentType="application/vnd.openxmlformats-'
            'officedocument.wordprocessingml.footnotes+xml"/></Types>',
        ),
        "word/_rels/document.xml.rels": relations.replace(
            "</Relationships>",
            '<Relationship Id="rId99" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/'
            'footnotes" Target="footnotes.xml"/></Relationships>',
        ),
        "word/footnotes.xml": f"<w:footnotes {W}>{line}{note}</w:footnotes>",
    }
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(file, "w") as new:
        for entry in old.infolist():
            if entry.filename not in made:
                new.writestr(entry, old.read(entry))
        for name, content in made.items():
            new.writestr(name, content)
    return file.getvalue()


def test_a_footnote_stands_below_the_paragraph_that_refers_to_it():
    source = docx.Document()
    first = source.add_paragraph("Trips need consent.")
    reference = OxmlElement("w:footnoteReference")
    reference.set(qn("w:id"), "2")
    first.add_run()._r.append(reference)
    source.add_paragraph("Trains come first.")

    document = word.parse(with_notes(saved(source), "Except to Bonn."), name="travel")

    assert [text for _, text in kinds(document)][1:] == [
        "Trips need consent.", "Except to Bonn.", "Trains come first."
    ]  # fmt: skip


def test_merged_cells_keep_the_columns_and_stand_in_each_of_their_rows():
    source = docx.Document()
    table = source.add_table(rows=3, cols=3)
    for row, texts in enumerate((("Office", "Rooms", ""), ("Bonn", "Rhine", "12"), ("", "Ahr", "8"))):
        for column, text in enumerate(texts):
            table.cell(row, column).text = text
    table.cell(0, 1).merge(table.cell(0, 2))
    table.cell(1, 0).merge(table.cell(2, 0))

    document = word.parse(saved(source), name="rooms")

    assert kinds(document)[-1][1].splitlines() == [
        "| Office | Rooms |  |", "| --- | --- | --- |", "| Bonn | Rhine | 12 |", "| Bonn | Ahr | 8 |"
    ]  # fmt: skip


def test_hidden_text_is_left_out_and_what_is_said_of_a_picture_is_read():
    source = docx.Document()
    paragraph = source.add_paragraph("Open to all.")
    paragraph.add_run(" Draft only.").font.hidden = True
    picture = OxmlElement("wp:docPr")
    picture.set("descr", "Plan of the house\n\nDescription automatically generated")
    source.add_paragraph().add_run()._r.append(picture)

    document = word.parse(saved(source), name="house")

    assert [text for _, text in kinds(document)][1:] == ["Open to all.", "Plan of the house"]


def test_the_strict_form_is_read_as_the_usual_one():
    source = docx.Document()
    source.add_paragraph("Leave is thirty days.")
    strict = archives.rewritten(
        saved(source),
        lambda _, part: re.sub(
            rb"http://schemas\.openxmlformats\.org/(\w+)/2006/(?=main|relationships)",
            rb"http://purl.oclc.org/ooxml/\1/",
            part,
        ),
    )

    assert b"purl.oclc.org" in zipfile.ZipFile(io.BytesIO(strict)).read("word/document.xml")
    assert "Leave is thirty days." in word.parse(strict, name="leave").text


def test_a_template_with_macros_is_read_as_a_document():
    source = docx.Document()
    source.add_paragraph("Dear all,")
    template = archives.rewritten(
        saved(source),
        lambda _, part: part.replace(
            b"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml",
            b"application/vnd.ms-word.template.macroEnabledTemplate.main+xml",
        ),
    )

    assert "Dear all," in word.parse(template, name="letter").text


@pytest.mark.parametrize(
    ("saved_at", "moment"),
    [(datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC), 1714979289.0), (None, None)],
)
def test_the_date_is_when_it_was_saved_and_not_that_of_the_template(saved_at, moment):
    source = docx.Document()
    source.add_paragraph("Leave is thirty days.")
    if saved_at:
        source.core_properties.modified = saved_at

    assert word.parse(saved(source), name="leave").changed_at == moment

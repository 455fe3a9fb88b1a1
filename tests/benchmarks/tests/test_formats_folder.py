"""`python -m benchmarks formats --folder`: real files, beside independent readings of them."""

from __future__ import annotations

import io
import json
from email.message import EmailMessage

import docx
from benchmarks.__main__ import main
from benchmarks.formats_folder import cells_in, chosen, words_in
from benchmarks.formats_reference import reference_of
from docx.oxml import OxmlElement
from openpyxl import Workbook

ROWS = (("Fruit", "Tonnes"), ("Quince", "4"), ("Medlar", "2"))


def word_file(*paragraphs: str) -> bytes:
    document = docx.Document()
    for words in paragraphs:
        document.add_paragraph(words)
    table = document.add_table(len(ROWS), 2)
    for number, row in enumerate(ROWS):
        for column, cell in enumerate(row):
            table.cell(number, column).text = cell
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def workbook() -> bytes:
    book = Workbook()
    for row in ROWS:
        book.active.append([int(cell) if cell.isdecimal() else cell for cell in row])
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def mail(words: str) -> bytes:
    message = EmailMessage()
    message["Subject"], message["From"] = "Harvest", "kim@example.org"
    message.set_content(words)
    return message.as_bytes()


def test_the_share_of_words_and_cells_is_told_of_each_kind_and_reader(tmp_path, capsys):
    (tmp_path / "of one repository").mkdir()
    (tmp_path / "of one repository" / "fruit.docx").write_bytes(word_file("Quinces ripen in October."))
    (tmp_path / "broken.docx").write_bytes(b"PK not a file of Word")
    (tmp_path / "harvest.XLSX").write_bytes(workbook())

    assert main(["formats", "--folder", str(tmp_path), "--json"]) == 0

    rows = json.loads(capsys.readouterr().out)["tables"][0]["rows"]
    assert [".docx", "Footnote", 1, 0, "100.0%", "6 of 6"] in rows
    # Of a workbook, its words: numbers are shown as their formats say.
    assert [".xlsx", "Footnote", 1, 0, "100.0%", "2 of 2"] in rows
    assert {row[0] for row in rows} == {".docx", ".xlsx"}


def test_words_count_as_often_as_they_stand_and_cells_with_their_whole_row():
    assert words_in("ripe quinces", ["Quinces, ripe quinces!"]) == (2, 3)
    assert cells_in("| Quince | 4 |\n| Medlar |\n| 2 |", ROWS[1:]) == (2, 4)


def test_mail_is_read_by_its_parts_and_not_by_its_source():
    found = reference_of(".eml", mail("Four tonnes came in on Monday."))

    assert found is not None
    assert [text.strip() for text in found.texts] == ["Harvest", "Four tonnes came in on Monday."]


def test_the_sample_is_the_same_wherever_its_files_lie_and_has_each_content_once(tmp_path):
    files = [mail(f"Word {number}") for number in range(6)]
    for number, file in enumerate([*files, files[0]]):
        (tmp_path / "here").mkdir(exist_ok=True)
        (tmp_path / "here" / f"{number}.eml").write_bytes(file)
        (tmp_path / "there" / str(number)).mkdir(parents=True)
        (tmp_path / "there" / str(number) / f"{9 - number}.EML").write_bytes(file)

    here, there = (chosen(tmp_path / name, 4)[".eml"] for name in ("here", "there"))

    assert [each.data for each in here] == [each.data for each in there]
    assert len({each.data for each in here}) == 4
    assert len(chosen(tmp_path, 9)[".eml"]) == 6


def test_a_reading_joins_the_runs_of_a_word_and_leaves_out_what_was_deleted():
    document = docx.Document()
    paragraph = document.add_paragraph("Quin")
    paragraph.add_run("ces")
    paragraph.add_run("\tripen")
    deleted = OxmlElement("w:del")
    deleted.append(paragraph.add_run("late")._element)
    paragraph._element.append(deleted)
    buffer = io.BytesIO()
    document.save(buffer)

    found = reference_of(".docx", buffer.getvalue())

    assert found is not None
    assert found.texts == ("Quinces ripen",)


def test_a_folder_that_is_not_there_is_told_in_a_sentence(tmp_path, capsys):
    assert main(["formats", "--folder", str(tmp_path / "absent")]) == 1

    assert "No such file or directory" in capsys.readouterr().err

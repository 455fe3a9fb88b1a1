"""Plain text, logs, reStructuredText and tables in CSV files."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import DocumentError
from core.library.chunking import cut
from core.library.formats import assembly, plain, workbook

GUIDE = """\
=====
Guide
=====

Intro text
over two lines.

Install
-------
Run this::

    pip install x

.. note:: Careful here.

.. code-block:: python
   :linenos:

   x = 1

Options
~~~~~~~

Text.

----------

Update
------

Done.
"""


def kinds(document) -> list[tuple[str, str]]:
    return [(block.kind, document.text[block.start : block.end]) for block in document.blocks]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_paragraphs_stand_between_blank_lines_whatever_ends_them(ending):
    text = ending.join(["One", "goes on.", "", "  \t", "Two.", ""])

    assert kinds(plain.parse(text)) == [("prose", f"One{ending}goes on."), ("prose", "Two.")]


@given(st.text(alphabet="a \t\n\r\x0b\x0c\u2028.", max_size=60))
def test_nothing_but_white_space_is_outside_the_paragraphs(text):
    document = plain.parse(text)
    reached = 0

    for block in document.blocks:
        assert not text[reached : block.start].strip()
        reached = block.end

    assert not text[reached:].strip()


def test_a_log_is_cut_between_its_lines():
    line = "2026-01-01 12:00:00 INFO Started. Listening on port 80. Ready"
    log = "\n".join(f"{line} {number}" for number in range(100))

    pieces = cut(plain.parse(log, kind="code"))

    assert len(pieces) > 1
    assert all(piece.text.startswith("2026-01-01") for piece in pieces)


def test_sections_of_restructured_text_are_headings_by_order_of_their_adornment():
    document = plain.parse_rst(GUIDE)

    headings = [(b.level, document.text[b.start : b.end]) for b in document.blocks if b.kind == "heading"]
    assert document.title == "Guide"
    assert headings == [
        (1, "=====\nGuide\n====="),
        (2, "Install\n-------"),
        (3, "Options\n~~~~~~~"),
        (2, "Update\n------"),
    ]


def test_literal_blocks_directives_and_transitions_of_restructured_text_are_known():
    found = kinds(plain.parse_rst(GUIDE))

    assert ("prose", "Run this::") in found
    assert ("code", "    pip install x") in found
    assert ("prose", ".. note:: Careful here.") in found
    assert ("markup", ".. code-block:: python\n   :linenos:") in found
    assert ("code", "   x = 1") in found
    assert ("markup", "----------") in found


def test_a_table_of_restructured_text_is_no_heading():
    assert kinds(plain.parse_rst("==== ====\na    b\n==== ====\n1    2\n==== ====\n"))[0][0] == "prose"


def test_a_file_of_very_many_lines_is_refused():
    with pytest.raises(DocumentError, match="has more than 500,000 lines"):
        plain.parse("\n" * assembly.LINE_LIMIT + "end")


def test_rows_name_their_columns():
    document = workbook.parse_delimited("Name,City,Note\nAda,London,\nBob,Paris,late\n")

    assert kinds(document) == [
        ("table", "Name: Ada; City: London"),
        ("table", "Name: Bob; City: Paris; Note: late"),
    ]
    assert [block.row for block in document.blocks] == [1, 2]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(delimiter):
    rows = [["Name", "Salary, in EUR", "Note"], ["Ada", "1,200", "a;b"], ["Bob", "900", "x | y"]]
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter).writerows(rows)

    document = workbook.parse_delimited(file.getvalue())

    assert document.text.startswith("Name: Ada; Salary, in EUR: 1,200; Note: a;b\n")


def test_a_table_without_a_header_keeps_its_first_row():
    assert workbook.parse_delimited("2024,12.5\n2025,13.5\n").text == "2024; 12.5\n\n2025; 13.5"


def test_a_single_row_is_data():
    assert workbook.parse_delimited("Ada,London\n").text == "Ada; London"


def test_rows_with_more_or_fewer_cells_than_the_header_are_read():
    assert workbook.parse_delimited("a,b\n1\n1,2,3\n").text == "a: 1\n\na: 1; b: 2; 3"


def test_line_breaks_inside_a_cell_become_spaces():
    assert workbook.parse_delimited('a,b\n"one\r\ntwo",x\n').text == "a: one two; b: x"


def test_rows_are_found_by_their_numbers():
    table = "id,text\n" + "".join(f"{number},{'word ' * 20}\n" for number in range(1, 41))

    locations = [piece.location for piece in cut(workbook.parse_delimited(table))]

    assert locations[0].startswith("rows 1-")
    assert locations[-1].endswith("-40")


def test_blank_rows_are_counted_as_a_spreadsheet_counts_them():
    assert [block.row for block in workbook.parse_delimited("a,b\n1,2\n\n3,4\n").blocks] == [1, 3]


def test_a_missing_quotation_mark_is_said():
    with pytest.raises(DocumentError, match="quotation mark"):
        workbook.parse_delimited('a,b\n"x,' + "y" * 200_000)


def test_a_long_header_over_many_rows_cannot_fill_the_memory():
    with pytest.raises(DocumentError, match="20 million characters"):
        workbook.parse_delimited("h" * 90 + ",b\n" + "a,b\n" * 250_000)


def test_what_a_picture_shows_is_read_if_it_says_more_than_a_name():
    text = (
        "Piers\n=====\n\n.. figure:: harbour.png\n   :width: 300\n   :alt: The ferry leaves pier three at noon.\n"
        "   :align: left\n\n   The harbour in winter.\n\n.. image:: logo.svg\n   :alt: Harbour logo\n"
    )

    document = plain.parse_rst(text)

    shown = [text[block.start : block.end] for block in document.blocks if block.kind == "prose"]
    assert shown == ["The ferry leaves pier three at noon.", "The harbour in winter."]

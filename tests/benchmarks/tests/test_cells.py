"""The measuring of tables: a number, its label and the names of its column."""

from __future__ import annotations

import pytest
from benchmarks import cells

CELL = cells.Cell("(1,204)", "Deferred revenue", ("Years ended December 31,", "2022"))
TABLE = """\
| (in thousands) | Years ended December 31, 2022 | Years ended December 31, 2021 |
| --- | --- | --- |
| {} | {} | {} |"""


@pytest.mark.parametrize(
    ("text", "is_whole"),
    [
        (TABLE.format("Deferred revenue", "$ (1,204)", "77"), True),
        (TABLE.format("Deferred revenue", "77", "(1,204)"), False),  # below another year
        (TABLE.format("Deferred", "(1,204)", "77"), False),
        ("Deferred revenue (1,204) 77", False),
        ("Years ended December 31, 2022: deferred revenue of ( 1,204 )", True),
    ],
)
def test_a_number_is_whole_with_its_label_below_all_names_of_its_column(text, is_whole):
    assert any(cells.is_whole(CELL, line) for line in cells.lines_of(text)) == is_whole


def test_a_quick_run_reads_the_same_reports_three_ways():
    figures = cells.run(lambda _: None, quick=True).figures

    assert figures["pypdf, layout: found"] == pytest.approx(1.0)
    assert figures["Footnote: found"] == pytest.approx(1.0)
    assert figures["Footnote: whole"] > 0.95
    assert figures["pypdf: whole"] < 0.1

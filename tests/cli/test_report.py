"""A report: as a page that needs nothing beside it, as JSON and as text; and the statistics in it."""

from __future__ import annotations

import io
import json
import math
import re
from html.parser import HTMLParser

import pytest
from benchmarks.estimates import bootstrap
from benchmarks.printing import as_text
from rich.console import Console

from bots.testing.report import (
    OBJECT,
    PAGE,
    Report,
    Section,
    Table,
    as_json,
    as_page,
    percentile,
    shown,
    wilson,
    with_interval,
    write_report,
)
from core.errors import FootnoteError

NAN = math.nan
SENTENCE = "The ferry to Sark leaves pier three at half past nine, and it takes bicycles but no cars at all."


def report_of(*sections, **more):
    return Report(title="Measured", made="2026-11-20 19:00:00+00:00", sections=sections, **more)


def section(**more):
    return Section(name="speed", title="Speed", what="How fast it is.", **more)


class Tags(HTMLParser):
    """Every tag with its attributes, and whether all that open close again."""

    void = ("meta", "br", "hr", "img", "link", "input")

    def __init__(self, text):
        super().__init__()
        self.found, self.open = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


# The page


def test_a_page_needs_nothing_beside_it():
    measured = section(tables=(Table(title="T", columns=("a",), rows=((1,),)),))

    text = as_page(report_of(measured))

    tags = Tags(text)
    assert tags.open == []
    assert not {tag for tag, _ in tags.found} & {"script", "link", "img", "iframe", "object"}
    assert not [
        value for _, given in tags.found for name, value in given.items() if name in ("src", "srcset")
    ]
    assert not re.search(r"https?:|url\(|@import", text)
    assert "prefers-color-scheme: dark" in text


def test_what_was_measured_cannot_break_the_page():
    hostile = '<script>alert("1")</script>'
    measured = Section(
        name=hostile,
        title=hostile,
        what=hostile,
        tables=(Table(title=hostile, columns=(hostile,), rows=((hostile,),), note=hostile),),
        note=hostile,
    )

    text = as_page(report_of(measured, conditions={hostile: hostile}))

    assert Tags(text).open == []
    assert "<script" not in text


def test_numbers_stand_in_columns_and_sentences_are_told_row_by_row_on_a_phone():
    short = Table(title="Short", columns=("set", "recall"), rows=(("SQuAD", 0.934), ("MTRAG", NAN)))
    wordy = Table(title="Wordy", columns=("id", "said"), rows=(("a", SENTENCE),))

    text = as_page(report_of(section(tables=(short, wordy))))

    assert '<td class="number" data-column="recall">0.934</td>' in text
    assert '<td class="number" data-column="recall">–</td>' in text
    assert re.search(r'<table class="wordy">\s*<caption>Wordy', text)
    assert re.search(r"<table>\s*<caption>Short", text)


def test_code_in_prose_is_marked_as_code():
    text = as_page(report_of(section(note="What `a < b` costs")))

    assert "What <code>a &lt; b</code> costs" in text


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("as it is", "as it is"),
        (12_345, "12,345"),
        (0.8567, "0.857"),
        (1.0, "1.00"),
        (12.345, "12.3"),
        (1234.5, "1,234"),
        (0.00042, "0.00042"),
        (0.0, "0.000"),
        (-0.5, "-0.500"),
        (NAN, "–"),
    ],
)
def test_a_number_is_shown_to_about_three_digits(cell, text):
    assert shown(cell) == text


# Files and text


def test_the_json_holds_the_figures_with_null_for_what_is_no_number():
    measured = section(
        figures={"recall": 0.5, "latency": NAN},
        tables=(Table(title="T", columns=("a",), rows=((math.inf,),)),),
    )

    content = json.loads(as_json(report_of(measured, questions=({"id": "a"},))), parse_constant=pytest.fail)

    (told,) = content["sections"]
    assert told["figures"] == {"recall": 0.5, "latency": None}
    assert told["tables"][0]["rows"] == [[None]]
    assert content["questions"] == [{"id": "a"}]


def test_both_files_are_written_into_a_folder_that_is_made(tmp_path):
    folder = tmp_path / "deep" / "down"

    write_report(report_of(section()), folder)

    assert "How fast it is." in (folder / PAGE).read_text()
    assert json.loads((folder / OBJECT).read_text())["title"] == "Measured"


def test_a_folder_that_cannot_be_written_is_told_in_a_sentence(tmp_path):
    (tmp_path / "taken").write_text("a file")

    with pytest.raises(FootnoteError, match=r"taken cannot be written: file exists\."):
        write_report(report_of(), tmp_path / "taken")


def test_a_terminal_shows_the_tables():
    short = Table(title="Recall", columns=("set", "R@5"), rows=(("SQuAD [b]", 0.934),), note="Of 1,203.")
    wordy = Table(title="Worst", columns=("id", "said"), rows=(("a", SENTENCE),))
    console = Console(file=io.StringIO(), width=100)

    for part in as_text(section(tables=(short, wordy))):
        console.print(part)

    text = console.file.getvalue()
    assert re.search(r"SQuAD \[b\] +0\.934", text)
    assert "Of 1,203." in text
    assert re.search(r"^id +a +\nsaid +The ferry", text, re.MULTILINE)


# Statistics


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [
        (0, 10, 0, 0.2775),
        (5, 10, 0.2366, 0.7634),
        (10, 10, 0.7225, 1),
        (0, 0, 0, 1),
        (81, 263, 0.2553, 0.3662),
    ],
)
def test_the_wilson_interval_of_a_share(hits, of, low, high):
    # The last is the example of Newcombe 1998, table I.
    assert wilson(hits, of) == pytest.approx((low, high), abs=1e-4)


def test_a_share_is_written_with_its_interval():
    assert with_interval(5, 10) == "0.50 (0.24 to 0.76)"
    assert with_interval(0, 0) == "–"


def test_a_bootstrap_comes_out_the_same_twice_and_holds_the_mean():
    values = [number / 100 for number in range(100)]

    low, high = bootstrap(values)

    assert (low, high) == bootstrap(values)
    assert low < 0.495 < high
    # The normal approximation: a standard error of 0.0287 about 0.495.
    assert (low, high) == pytest.approx((0.439, 0.551), abs=0.01)
    assert bootstrap([0.3]) == (0.3, 0.3)


@pytest.mark.parametrize(
    ("share", "value"), [(0.0, 15), (0.05, 15), (0.3, 20), (0.4, 20), (0.5, 35), (1.0, 50)]
)
def test_a_percentile_is_one_of_the_values(share, value):
    assert percentile([50, 15, 40, 20, 35], share) == value

"""A report: as a page that needs nothing beside it, as JSON and as text; and the statistics in it."""

from __future__ import annotations

import io
import json
import math
import re
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

from bots.eval.intervals import bootstrap, percentile, sign_test, wilson, with_interval
from bots.eval.page import page
from bots.eval.plots import figure, ticks
from bots.eval.report import OBJECT, PAGE, as_json, as_text, write_report
from bots.eval.sections import Plot, Report, Section, Table, shown
from core.errors import FootnoteError

NAN = math.nan
SENTENCE = "The ferry to Sark leaves pier three at half past nine, and it takes bicycles but no cars at all."


def report_of(*sections, **more):
    return Report(title="Measured", made="2026-11-20 19:00:00+00:00", sections=sections, **more)


def section(**more):
    return Section(name="speed", title="Speed", what="How fast it is.", **more)


def bars(values, **more):
    return Plot(title="Recall", kind="bars", x=("short", "long"), series=values, **more)


def lines(values, **more):
    return Plot(title="Growth", kind="lines", x=("1", "10", "100"), series=values, **more)


def drawing(plot):
    """The plot's one SVG picture, read strictly."""
    (found,) = re.findall(r'<svg class="plot".*?</svg>', figure(plot), re.DOTALL)
    return ET.fromstring(found)


def of_class(drawn, name):
    return [element for element in drawn.iter() if element.get("class") == name]


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
    measured = section(plots=(bars({"words": (0.8, 0.9)}), lines({"words": (1, 2, 3)})))

    text = page(report_of(measured))

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
        plots=(
            Plot(title=hostile, kind="bars", x=(hostile,), series={hostile: (1,)}, unit=hostile),
            Plot(
                title=hostile, kind="lines", x=(hostile,), series={hostile: (1,), "b": (2,)}, x_title=hostile
            ),
        ),
        limits=hostile,
    )

    text = page(report_of(measured, conditions={hostile: hostile}, failures={hostile: hostile}))

    assert Tags(text).open == []
    assert "<script" not in text


def test_a_page_names_first_what_could_not_be_measured():
    text = page(report_of(section(), failures={"growth": "vectors cannot be read: no such file."}))

    assert text.index("vectors cannot be read") < text.index("How fast it is.")


def test_numbers_stand_in_columns_and_sentences_are_told_row_by_row_on_a_phone():
    short = Table(title="Short", columns=("set", "recall"), rows=(("SQuAD", 0.934), ("MTRAG", NAN)))
    wordy = Table(title="Wordy", columns=("id", "said"), rows=(("a", SENTENCE),))

    text = page(report_of(section(tables=(short, wordy))))

    assert '<td class="number" data-column="recall">0.934</td>' in text
    assert '<td class="number" data-column="recall">–</td>' in text
    assert '<table class="wordy"><caption>Wordy' in text
    assert "<table><caption>Short" in text


def test_code_in_prose_is_marked_as_code():
    text = page(report_of(section(limits="`a < b` is slow")))

    assert "What limits it now: <code>a &lt; b</code> is slow" in text


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


# Plots


def test_bars_are_as_long_as_their_values_and_begin_at_zero():
    drawn = drawing(bars({"words": (0.4, 0.8), "both": (0.2, 1.0)}))

    words, both = ([float(each.get("width")) for each in of_class(drawn, name)] for name in ("s0", "s1"))
    assert words[1] == pytest.approx(2 * words[0], abs=0.2)
    assert both[1] == pytest.approx(5 * both[0], abs=0.5)
    assert len({each.get("x") for name in ("s0", "s1") for each in of_class(drawn, name)}) == 1


def test_a_plot_tells_its_values_in_words():
    drawn = drawing(bars({"words": (0.4, NAN)}, unit="share"))

    assert drawn.get("role") == "img"
    assert drawn.get("aria-label") == "Recall. words: short 0.400 share, long – share."


def test_a_legend_stands_where_several_series_share_a_plot():
    assert 'class="legend"' not in figure(bars({"words": (1, 2)}))
    assert 'class="legend"' in figure(bars({"words": (1, 2), "both": (2, 3)}))


def test_intervals_are_drawn_for_the_series_that_have_them():
    interval = {"both": ((0.7, 0.9), (NAN, 0.95))}

    drawn = drawing(bars({"words": (0.4, 0.8), "both": (0.8, 0.9)}, intervals=interval))

    assert len(of_class(drawn, "whisker")) == 1


def test_a_value_that_is_none_leaves_a_gap_in_its_line():
    whole = of_class(drawing(lines({"words": (1, 2, 3)})), "line")[0].get("d")
    broken = of_class(drawing(lines({"words": (1, NAN, 3)})), "line")[0].get("d")

    assert (whole.count("M"), whole.count("L")) == (1, 2)
    assert (broken.count("M"), broken.count("L")) == (2, 0)


def test_everything_drawn_lies_within_the_picture():
    far = {"words": ((0, 400), (1, 2), (3, 3000))}

    drawn = drawing(lines({"words": (200, 1.5, 1200)}, intervals=far, unit="ms", x_title="passages"))

    width, height = map(float, drawn.get("viewBox").split()[2:])
    for text in drawn.iter("text"):
        assert 0 <= float(text.get("x")) <= width
        assert 0 <= float(text.get("y")) <= height
    whisker = of_class(drawn, "whisker")[0].get("d")
    assert all(0 <= float(end) <= height for end in re.findall(r"V(-?[\d.]+)", whisker))


@pytest.mark.parametrize("values", [(0, 0, 0), (5, 5, 5), (NAN, NAN, NAN), (-2, 0, 2), (1e-6, 2e-6, 3e-6)])
@pytest.mark.parametrize("make", [lines, lambda given: bars({name: row[:2] for name, row in given.items()})])
def test_values_without_a_spread_can_be_drawn(make, values):
    drawn = drawing(make({"words": values}))

    assert of_class(drawn, "grid")


@pytest.mark.parametrize(
    ("low", "high", "marks"),
    [
        (0, 1, (0, 0.2, 0.4, 0.6, 0.8, 1)),
        (0, 41, (0, 10, 20, 30, 40, 50)),
        (0.8, 0.98, (0.8, 0.85, 0.9, 0.95, 1)),
        (0, 1200, (0, 500, 1000, 1500)),
    ],
)
def test_an_axis_has_round_marks_that_hold_every_value(low, high, marks):
    assert ticks(low, high) == pytest.approx(marks)


def test_a_line_far_above_zero_has_an_axis_of_its_own_but_a_bar_never():
    values = (0.91, 0.93, 0.95)

    line_marks = [each.text for each in of_class(drawing(lines({"words": values})), "tick")]
    bar_marks = [each.text for each in of_class(drawing(bars({"words": values[:2]})), "tick")]

    assert float(line_marks[0]) == 0.91
    assert float(bar_marks[0]) == 0


# Files and text


def test_the_json_holds_the_figures_with_null_for_what_is_no_number():
    measured = section(
        figures={"recall": 0.5, "latency": NAN},
        tables=(Table(title="T", columns=("a",), rows=((math.inf,),)),),
        plots=(lines({"words": (1, NAN, 3)}),),
    )

    content = json.loads(as_json(report_of(measured, records=({"id": "a"},))), parse_constant=pytest.fail)

    (told,) = content["sections"]
    assert told["figures"] == {"recall": 0.5, "latency": None}
    assert told["tables"][0]["rows"] == [[None]]
    assert told["plots"][0]["series"] == {"words": [1, None, 3]}
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


def test_a_terminal_shows_the_tables_and_what_failed():
    short = Table(title="Recall", columns=("set", "R@5"), rows=(("SQuAD [b]", 0.934),), note="Of 1,203.")
    wordy = Table(title="Worst", columns=("id", "said"), rows=(("a", SENTENCE),))
    console = Console(file=io.StringIO(), width=100)

    for part in as_text(report_of(section(tables=(short, wordy)), failures={"growth": "no [data]."})):
        console.print(part)

    text = console.file.getvalue()
    assert re.search(r"SQuAD \[b\] +0\.934", text)
    assert "Of 1,203." in text
    assert re.search(r"^id +a +\nsaid +The ferry", text, re.MULTILINE)
    assert "growth was not measured: no [data]." in text


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


@pytest.mark.parametrize(
    ("better", "worse", "chance"), [(0, 5, 0.0625), (3, 3, 1), (1, 9, 0.0215), (0, 0, 1)]
)
def test_the_sign_test_says_how_likely_an_accident_is(better, worse, chance):
    assert sign_test(better, worse) == sign_test(worse, better) == pytest.approx(chance, abs=1e-4)

"""The numbers of a strip, with the unit and the scale that stand beside, above or before them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from fakes.passages import loose_strip, thorough
from hypothesis import given
from hypothesis import strategies as st

from core.grounding.quantities import NUMBERS, quantities_in, quantity_at

TABLE = """Figures in millions of euros:

| Year | Revenue | Margin (%) | Staff | Costs (thousands) | Result |
|---|---|---|---|---|---|
| 2023 | 12.4 | 13.5 | 1,310 | 900 | (1,234) |
"""


def read(text: str, **where) -> dict[str, tuple[Decimal, str]]:
    """By what is written, what it is worth in ones, and its unit."""
    strip = loose_strip(text, **where)
    return {
        text[each.start : each.end]: (-each.worth if each.is_negative else each.worth, each.unit)
        for each in quantities_in(strip)
    }


@pytest.mark.parametrize(
    ("text", "written", "worth", "unit"),
    [
        ("It is 12.4 now.", "12.4", "12.4", ""),
        ("Es sind 12,4 Leute.", "12,4", "12.4", ""),
        ("Es waren 1.234,5 und 1.234 Leute.", "1.234", "1234", ""),
        ("Of 1,234 people.", "1,234", "1234", ""),
        ("Il y a 12 345 personnes ici.", "12 345", "12345", ""),
        ("It cost $12.4.", "$12.4", "12.4", "USD"),
        ("It cost US$1.2bn.", "US$1.2bn", "1200000000", "USD"),
        ("It cost $3m.", "$3m", "3000000", "USD"),
        ("It is 3m long.", "3m", "3", "m"),
        ("Kosten: 5 Mio. CHF im Jahr.", "5 Mio. CHF", "5000000", "CHF"),
        ("A rate of 11.7%.", "11.7%", "0.117", "%"),
        ("Up 1.3 percentage points.", "1.3 percentage points", "0.013", "points"),
        ("Um 1,3 Prozentpunkte höher.", "1,3 Prozentpunkte", "0.013", "points"),
        ("売上は124億円です。", "124億円", "12400000000", "JPY"),
        ("It grew by 12.4 million euros.", "12.4 million euros", "12400000", "EUR"),
        ("It fell to -5.2%.", "5.2%", "-0.052", "%"),
        ("Sales rose from 11.1 in 2022 to 12.4 million euros.", "11.1", "11100000", "EUR"),
        ("Between 9 and 12 %.", "9", "0.09", "%"),
        ("Region: North; Sales (in Tsd. EUR): 12,5; Profit: (7)", "12,5", "12500", "EUR"),
        ("Region: North; Sales: 12; Profit: (7)", "7", "-7", ""),
        ("The staff (310) agreed.", "310", "310", ""),
    ],
)
def test_a_number_has_what_stands_beside_it(text, written, worth, unit):
    assert read(text)[written] == (Decimal(worth), unit)


@pytest.mark.parametrize("text", ["Q3", "v1.2.3", "A4", "on 12.03.2024", "the 12th", "x86_64"])
def test_names_versions_and_dates_are_no_numbers(text):
    assert read(text) == {}


@pytest.mark.parametrize(
    ("written", "worth", "unit"),
    [
        ("2023", "2023", ""),
        ("12.4", "12400000", "EUR"),
        ("13.5", "0.135", "%"),
        ("1,310", "1310", ""),
        ("900", "900000", "EUR"),
        ("1,234", "-1234000000", "EUR"),
    ],
)
def test_a_cell_has_the_unit_of_its_column_and_else_of_its_table(written, worth, unit):
    assert read(TABLE)[written] == (Decimal(worth), unit)


def test_a_table_may_have_its_units_before_its_rows():
    table = "| | 2022 | 2023 |\n|---|---|---|\n| Sales ($ millions) | 11 | 12 |\n| Churn in % | 3 | 4 |\n"

    told = read(table)

    assert told["12"] == (Decimal(12_000_000), "USD")
    assert told["4"] == (Decimal("0.04"), "%")
    assert told["2023"] == (Decimal(2023), "")


def test_what_a_table_in_millions_counts_besides_is_not_in_millions():
    table = (
        "| Item | 2023 |\n|---|---|\n| Revenue | 700 |\n| Earnings per share | 1.35 |\n| Employees | 310 |\n"
    )

    told = read(table, path=("Results ($ in millions, except per share)",))

    assert told["700"] == (Decimal(700_000_000), "USD")
    assert told["1.35"] == (Decimal("1.35"), "")
    assert told["310"] == (Decimal(310), "")


def test_headings_tell_the_scale_of_the_table_below_them_and_not_of_prose():
    table = "| Year | Sales |\n|---|---|\n| 2023 | 12.4 |\n\nThere are 7 offices."

    told = read(table, path=("Results (in thousands of dollars)",))

    assert told["12.4"] == (Decimal(12_400), "USD")
    assert told["7"] == (Decimal(7), "")


@pytest.mark.parametrize("table", [
    "| Amounts are in thousands. | 2023 |\n|---|---|\n| Sales | 12.4 |\n| Staff (people) | 7 |",
    "In thousands | 2023\n---|---\nSales | 12.4\nStaff (people) | 7",
])  # fmt: skip
def test_the_first_cell_of_a_head_tells_the_scale_of_its_table(table):
    told = read(table)

    assert told["12.4"] == (Decimal(12_400), "")
    assert told["7"] == (Decimal(7), "")


def test_the_first_cell_of_a_head_over_numbers_is_of_its_own_column_alone():
    told = read("| Revenue (in millions) | Shops |\n|---|---|\n| 12.4 | 310 |")

    assert told["12.4"] == (Decimal(12_400_000), "")
    assert told["310"] == (Decimal(310), "")


@thorough
@given(st.text(max_size=300))
def test_whatever_a_strip_says_its_numbers_stand_in_it(text):
    for each in quantities_in(loose_strip(text)):
        assert each.digits in text[each.start : each.end]
        assert each.worth >= 0


def test_a_strip_of_nothing_but_numbers_is_read_so_far():
    assert len(quantities_in(loose_strip("\n".join(map(str, range(5 * NUMBERS)))))) <= NUMBERS + 1
    assert quantity_at("9" * 60, 0) is None


@pytest.mark.parametrize(
    ("text", "worth", "unit"),
    [
        ("Sets the line width to 1.6pt.", "1.6", "pt"),
        ("It is 12 px wide.", "12", "px"),
        ("They fell at 60mph.", "60", ""),
    ],
)
def test_a_number_with_a_unit_right_behind_it_is_a_number(text, worth, unit):
    (one,) = quantities_in(loose_strip(text))

    assert (one.worth, one.unit) == (Decimal(worth), unit)

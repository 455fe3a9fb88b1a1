"""Figures that a draft has computed: from quoted numbers, with how they come about, or not at all."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal

import pytest
from fakes.passages import loose_strip, thorough
from hypothesis import given
from hypothesis import strategies as st

from core.grounding.calculations import MOST, as_written, calculate
from core.grounding.claims import claims_of
from core.grounding.expressions import LENGTH, Impossible, read
from core.grounding.verdicts import statements_of

STRIPS = (
    loose_strip(
        "Figures in millions of euros:\n\n| Year | Revenue | Margin (%) | Staff | Result |\n|---|---|---|---|---|\n"
        "| 2022 | 11.1 | 12 | 310 | (1,234) |\n| 2023 | 12.4 | 13.5 | 1,310 | 500 |\n",
        number=1,
    ),
    loose_strip("Marketing cost 900 thousand euros. Grants were $5 million. The fee is 40.", number=2),
    loose_strip("Der Gewinn stieg von 11,1 auf 12,4 Mio. Euro.", number=3),
    loose_strip("Of 40 requests 10 failed in May; of 50 requests 15 failed in June.", number=4),
)


def shown(draft: str) -> str:
    """The draft as it is read later; a calculation that failed is a fault."""
    text, calculations = calculate(draft, STRIPS)
    assert [each.fault for each in calculations if each.fault] == []
    return text


def fault(draft: str) -> str:
    (one,) = calculate(draft, STRIPS)[1]
    return one.fault


@pytest.mark.parametrize(
    ("draft", "text"),
    [
        (
            "It grew by {calc: (12.4 - 11.1) / 11.1 as %}. [1]",
            "It grew by 11.7% (12.4 − 11.1 = 1.3; 1.3 ÷ 11.1 ≈ 11.7%). [1]",
        ),
        ("It grew by {calc: 12.4 - 11.1}. [1]", "It grew by €1.3 million (12.4 − 11.1 = 1.3). [1]"),
        ("It grew by €{calc: 12.4 - 11.1} million. [1]", "It grew by €1.3 million (12.4 − 11.1 = 1.3). [1]"),
        ("It grew by `{{calc: 12.4 – 11.1}}`. [1]", "It grew by €1.3 million (12.4 − 11.1 = 1.3). [1]"),
        (
            "Both: {calc: 12.4 + 900} [1][2]",
            "Both: €13.3 million (€12.4 million + €900 thousand = €13.3 million) [1][2]",
        ),
        (
            "The margin rose by {calc: 13.5% - 12% as points}. [1]",
            "The margin rose by 1.5 percentage points (13.5 − 12 = 1.5). [1]",
        ),
        (
            "The margin rose by {calc: 13.5 - 12} percentage points. [1]",
            "The margin rose by 1.5 percentage points (13.5 − 12 = 1.5). [1]",
        ),
        (
            "On average {calc: round(avg(310; 1,310), 0)} people. [1]",
            "On average 810 ((310 + 1,310) ÷ 2 = 810) people. [1]",
        ),
        ("In all {calc: sum(310, 1,310)} people. [1]", "In all 1,620 (310 + 1,310 = 1,620) people. [1]"),
        ("A ratio of {calc: 12.4 / 11.1}. [1]", "A ratio of 1.12 (12.4 ÷ 11.1 ≈ 1.12). [1]"),
        ("A ratio of {calc: round(12.4 / 11.1, 3)}. [1]", "A ratio of 1.117 (12.4 ÷ 11.1 ≈ 1.117). [1]"),
        (
            "It grew by {calc: round((12.4 - 11.1) / 11.1 as %, 0)}. [1]",
            "It grew by 12% (12.4 − 11.1 = 1.3; 1.3 ÷ 11.1 ≈ 12%). [1]",
        ),
        (
            "Per head it is {calc: 12.4 / 310}. [1]",
            "Per head it is €40,000 (€12.4 million ÷ 310 = €40,000). [1]",
        ),
        (
            "The swing is {calc: 500 - (1,234)}. [1]",
            "The swing is €1,734 million (500 − (−1,234) = 1,734). [1]",
        ),
        ("That is {calc: 2023 - 2022} year. [1]", "That is 1 year (2023 − 2022 = 1 year). [1]"),
        (
            "More failed: {calc: 15 / 50 - 10 / 40 as points}. [4]",
            "More failed: 5 percentage points (15 ÷ 50 = 0.3; 10 ÷ 40 = 0.25; 0.3 − 0.25 = 5 percentage points). [4]",
        ),
        (
            "Der Gewinn ist um {calc: (12,4 - 11,1) / 11,1 as %} gestiegen und lag bei {calc: 12,4 Mio. € + 11,1 Mio. €}. [3]",
            "Der Gewinn ist um 11,7\u00a0% (12,4 − 11,1 = 1,3; 1,3 ÷ 11,1 ≈ 11,7\u00a0%) gestiegen und lag bei 23,5 Mio. € (12,4 + 11,1 = 23,5). [3]",
        ),
        ("| Town | Growth |\n|---|---|\n| Both | {calc: 12.4 - 11.1} | [1]", None),
    ],
)
def test_a_calculation_over_cited_numbers_is_shown_with_its_steps(draft, text):
    assert shown(draft) == text if text else "€1.3 million (12.4 − 11.1 = 1.3)" in shown(draft)


@pytest.mark.parametrize(
    ("draft", "reason"),
    [
        ("It grew by {calc: 12.5 - 11.1}. [1]", "12.5 is not in the cited text"),
        ("It grew by {calc: 12.4 - 11.1}.", "12.4 is not in the cited text"),
        ("It grew by {calc: 12.4 - 11.1}. [2]", "12.4 is not in the cited text"),
        ("It cost {calc: 900 million - 5 million}. [2]", "900 million is not in the cited text"),
        ("It grew by {calc: (12.4 - 11.1) * 100}. [1]", "100 is not in the cited text"),
        ("Together {calc: 12.4 + 5}. [1][2]", "do not go together"),
        ("Together {calc: 12.4 + 40}. [1][2]", "do not go together"),
        ("The margin rose by {calc: 13.5 - 12 as %}. [1]", "do not go together"),
        ("The margin rose by {calc: 13.5 - 12}%. [1]", "do not go together"),
        ("It grew by {calc: 12.4 / 11.1 as points}. [1]", "do not go together"),
        ("It grew by {calc: 12.4 - 11.1} thousand. [1]", "do not go together"),
        ("It grew by ${calc: 12.4 - 11.1}. [1]", "do not go together"),
        ("It grew by {calc: 12.4 - 11.1 as %}. [1]", "do not go together"),
        ("It is {calc: 12.4 * 11.1}. [1]", "do not go together"),
        ("It is {calc: 12.4 / (11.1 - 11.1)}. [1]", "divides by zero"),
        ("It is {calc: 40 / 0}. [2]", "0 is not in the cited text"),
        ("Er stieg um {calc: 12,5 - 11,1} und ist damit höher als im Jahr davor. [3]", "12,5 steht nicht im"),
    ],
)
def test_what_cannot_be_traced_or_does_not_go_together_is_a_fault(draft, reason):
    assert reason in fault(draft)


@pytest.mark.parametrize(
    "expression",
    [
        "", "12.4", "__import__('os')", "12.4 ** 11.1", "12.4 // 11.1", "12.4 % 11.1", "12.4 if 11.1 else 12.4", "[12.4]",
        "(12.4).real", "lambda: 12.4", "avg()", "max(12.4, 11.1)", "sum(*12.4)", "n0 + n1", "12.4 +", ")12.4(", "12.4 11.1",
        "round(12.4)", "avg(round(12.4, 1), 11.1)", "12.4, 11.1", "(" * 140 + "12.4 - 1", "-" * 250 + "1.4",
        "+".join(["12.4"] * 45), "9" * 200, "12.4" * 100, "x" * (LENGTH + 1), "12.4 = 12.4", "12.4\\n11.1",
    ],
)  # fmt: skip
def test_a_hostile_or_broken_expression_is_a_fault_and_nothing_else(expression):
    text, calculations = calculate(f"It is {{calc: {expression}}}. [1]", STRIPS)

    assert "{" not in text
    assert expression == "12.4" or all(each.fault for each in calculations)


@thorough
@given(st.text(alphabet="0123456789.,()+-*/ %$€asvgumround−÷×;:pointsn_", max_size=80))
def test_no_expression_raises_anything_but_that_it_is_impossible(expression):
    with suppress(Impossible):
        assert all(each.written in expression for each in read(expression).numbers.values())
    text, _ = calculate(f"It is {{calc: {expression}}}. [1]", STRIPS)
    assert "{calc" not in text


@thorough
@given(st.lists(st.decimals(min_value=1, max_value=999, places=1), min_size=2, max_size=6, unique=True))
def test_sums_and_means_are_exact(numbers):
    strip = loose_strip(
        "\n".join(f"In town {'ABCDEF'[n]} it was {number}." for n, number in enumerate(numbers))
    )
    listed = ", ".join(map(str, numbers))

    _, (total, mean) = calculate(
        f"{{calc: sum({listed})}} and {{calc: round(avg({listed}), 6)}} [1]", [strip]
    )

    exact = f"{sum(numbers):f}"
    assert total.shown.startswith(exact.rstrip("0").rstrip(".") if "." in exact else exact)
    value = Decimal(mean.shown.split(" ")[0])
    assert abs(value - sum(numbers) / len(numbers)) <= Decimal("0.0000005")
    assert {each.number: len(total.places[each.number]) for each in [strip]} == {1: len(numbers)}


@pytest.mark.parametrize(
    ("draft", "doubt"),
    [
        ("The swing is {calc: 500 - 1,234}. [1]", "the sign of 1,234"),
        ("It grew by {calc: 15 - 10} euros. [4]", "the unit EUR of 5"),
        ("It grew by {calc: 15 - 10} million. [4]", "the scale 1000000 of 5"),
        ("It grew by {calc: $15 - $10}. [4]", "the unit of $15"),
    ],
)
def test_what_is_odd_about_units_and_signs_is_doubted(draft, doubt):
    text, calculations = calculate(draft, STRIPS)
    (statement,) = statements_of(claims_of(text), STRIPS, calculations)

    assert any(doubt in each for each in statement.doubts), statement.doubts
    assert not statement.fault


def test_a_computed_figure_is_no_number_that_its_source_lacks():
    text, calculations = calculate("Revenue grew by {calc: (12.4 - 11.1) / 11.1 as %} in 2023. [1]", STRIPS)

    (traced,) = statements_of(claims_of(text), STRIPS, calculations)
    (untraced,) = statements_of(claims_of(text), STRIPS)

    assert traced.doubts == ()
    assert "the number 11.7" in untraced.doubts
    assert traced.text == untraced.text
    assert traced.text.startswith("Revenue grew by 11.7% (12.4 − 11.1 = 1.3;")


def test_the_numbers_of_a_figure_are_looked_for_one_by_one():
    strip = loose_strip("It was 500 in May. It was 700 in June.")
    text, calculations = calculate("It rose by {calc: 700 - 500} in June. [1]", [strip])

    (statement,) = statements_of(claims_of(text), [strip], calculations)

    assert statement.doubts == ()


def test_each_number_is_quoted_from_the_line_that_its_sentence_speaks_of():
    strip = loose_strip("Costs were 12.4 in 2019.\n\nRevenue was 12.4 in 2023.\n\nRevenue was 11.1 in 2022.")

    _, (one,) = calculate("Revenue grew by {calc: 12.4 - 11.1} from 2022 to 2023. [1]", [strip])

    lines = [strip.text[strip.text.rfind("\n", 0, start) + 1 :].split("\n")[0] for start, _ in one.places[1]]
    assert lines == ["Revenue was 12.4 in 2023.", "Revenue was 11.1 in 2022."]


def test_a_number_that_can_be_read_in_two_ways_is_read_in_the_one_that_fits_or_not_at_all():
    fitting = loose_strip("A share of 12% in May. It was 12 million in June. It was 15 million in July.")
    open_to_both = loose_strip(
        "A share of 12%, and one of 15%. It was 12 million in June and 15 million in July."
    )

    text, _ = calculate("It grew by {calc: 15 - 12}. [1]", [fitting])
    _, (one,) = calculate("It grew by {calc: 15 - 12}. [1]", [open_to_both])

    assert text == "It grew by 3 million (15 − 12 = 3). [1]"
    assert one.fault == "Its numbers can be read in more than one way"


def test_code_and_quoted_words_are_left_alone():
    strip = loose_strip("Write `{calc: 1 + 1}` there.")
    code = "So:\n\n```\n{calc: 1 + 1}\n```\n\n[1]"

    assert calculate("Write `{calc: 1 + 1}` there. [1]", [strip]) == ("Write `{calc: 1 + 1}` there. [1]", ())
    assert calculate(code, [loose_strip("So it is.")]) == (code, ())


def test_a_draft_has_so_many_calculations_and_no_more():
    _, calculations = calculate("It is {calc: 12.4 - 11.1}. [1] " * (MOST + 1), STRIPS)

    assert [bool(each.fault) for each in calculations] == [False] * MOST + [True]


def test_whoever_writes_anew_gets_the_expressions_back():
    draft = "Revenue grew by €{calc: 12.4 - 11.1} million. [1]"

    assert as_written(*calculate(draft, STRIPS)) == draft


def test_a_sentence_without_a_mark_of_its_own_gets_those_that_cover_it():
    assert shown("Revenue was {calc: 12.4 - 11.1} higher. It was good. [1][2]").startswith(
        "Revenue was €1.3 million (12.4 − 11.1 = 1.3) [1][2] higher."
    )


RATES = (
    loose_strip(
        "| Menu | Price per person |\n|---|---|\n| Lunch | 18.40 EUR |\n| Cake | 6 EUR |\n", number=1
    ),
    loose_strip("Order 12 days ahead. Delivery costs 25 EUR.", number=2),
)


@pytest.mark.parametrize(
    ("draft", "question", "text"),
    [
        (
            "Lunch for 12 costs {calc: 18.40 * 12}. [1]",
            "What does lunch cost for 12 people?",
            "Lunch for 12 costs €220.80 (€18.40 × 12 = €220.80; 12 from the question). [1]",
        ),
        (
            "That is {calc: 18.40 EUR * 12 + 25 EUR}. [1][2]",
            "Lunch for 12, delivered?",
            "That is €245.80 (€18.40 × 12 = €220.80; €220.80 + €25 = €245.80; 12 from the question). [1][2]",
        ),
        (
            "Das Essen kostet zusammen {calc: 6 * 5}. [1]",
            "Was kostet der Kuchen für fünf Leute?",
            "Das Essen kostet zusammen 30 € (6 € × 5 = 30 €; 5 aus der Frage). [1]",
        ),
        (
            "It costs {calc: 6 * 3}. [1]",
            "What is cake for 3 days?",
            "It costs €18 (€6 × 3 = €18; 3 from the question). [1]",
        ),
    ],
)
def test_a_number_of_the_question_counts_and_is_said_to_be_one(draft, question, text):
    assert calculate(draft, RATES, question)[0] == text


def test_a_number_of_the_question_needs_no_strip_and_is_quoted_from_none():
    text, made = calculate("For 15 people it costs {calc: 18.40 * 15}. [1]", RATES, "Lunch for 15 people?")

    (statement,) = statements_of(claims_of(text), RATES, made)
    assert statement.doubts == ()
    assert made[0].asked == ("15",)
    (span,) = made[0].places[1]
    assert RATES[0].text[slice(*span)] == "18.40 EUR"


def test_a_number_of_a_cited_strip_goes_before_one_of_the_question():
    text, _ = calculate("It costs {calc: 25 - 6}. [1][2]", RATES, "How much less than 25 EUR is cake?")

    assert text == "It costs €19 (25 − 6 = 19). [1][2]"


def test_neither_strip_nor_question_has_the_number():
    (one,) = calculate("It costs {calc: 18.40 * 13}. [1]", RATES, "Lunch for 12 people?")[1]

    assert one.fault == "13 is not in the cited text"


@pytest.mark.parametrize(
    ("expression", "steps"),
    [
        ("sum(310; 1,310; 500)", "2,120 (310 + 1,310 + 500 = 2,120)"),
        ("310 + 1,310 + 500", "2,120 (310 + 1,310 + 500 = 2,120)"),
        ("310 + (1,310 + 500)", "2,120 (1,310 + 500 = 1,810; 310 + 1,810 = 2,120)"),
        ("310 * 2 * 3", "1860 (310 × 2 × 3 = 1860)"),
    ],
)
def test_a_row_of_sums_or_products_is_one_step(expression, steps):
    strip = loose_strip("There were 310, then 1,310, then 500, in groups of 2 and 3.", number=1)

    assert calculate(f"It is {{calc: {expression}}}. [1]", [strip])[0] == f"It is {steps}. [1]"


def test_the_unit_at_the_end_of_a_label_is_that_of_its_numbers():
    strip = loose_strip("Site: Leipzig; Q1 kWh: 61200; Q2 kWh: 48300; Cost per km: 12", number=1)

    text, (one,) = calculate("Leipzig used {calc: 61200 + 48300} kWh. [1]", [strip])
    bare, _ = calculate("It is {calc: 12 * 2}. [1]", [strip], "For 2?")

    assert (text, one.doubts) == ("Leipzig used 109,500 kWh (61,200 + 48,300 = 109,500). [1]", ())
    assert bare == "It is 24 (12 × 2 = 24; 2 from the question). [1]"

"""Whether a computed figure that is shown is right, through the whole assistant.

Each case is a document of its own, with a table or sentences, and a draft with an expression over its numbers, as a
model would write it. In some the expression is wrong: a number that is not there, another currency, thousands beside
millions, a percentage in place of percentage points, the number of another year. The model is a local server that
speaks Google's protocol; its judges tell the truth, or with --lenient support every sentence, which shows what code
alone holds back. What is right is computed here, in fractions.
"""

from __future__ import annotations

import asyncio
import random
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from fakes.drafts import QUOTED, blocks_of
from fakes.gemini import Call, FakeGemini, default_reply

from benchmarks import Say
from benchmarks.drafts import GRADER, WRITER, share
from bots.terminal.receive import ask
from bots.terminal.session import fresh_conversation, run_in_order, situation
from bots.testing.report import Section, Table
from core.bootstrap import open_footnote, reads_everything
from core.conversation import Outcome, value
from core.settings import Settings

CASES, QUICK = 200, 20
SIDE_BY_SIDE = 4
NEAR = Fraction(6, 1_000)  # share by which a figure may differ from what is right, as it is rounded
LEAD = {"en": "The figure is", "de": "Der Wert ist"}

_FIGURE = re.compile(
    r"(?P<sign>−?)(?P<money>[$€]?)(?P<number>\d[\d.,]*)\s?(?P<scale>thousand|million|billion|Tsd\.|Mio\.|Mrd\.)?\s?"
    r"(?P<unit>%|percentage points|Prozentpunkte|€|\$)?"
)
_SCALES = {"thousand": 3, "million": 6, "billion": 9, "Tsd.": 3, "Mio.": 6, "Mrd.": 9}
_SENTENCE = re.compile(r"(?m)^\((\d+)\) ")


@value
class Case:
    """A document, what a model writes about it, and what is right."""

    kind: str
    text: str
    name: str = "md"  #: ending of the document's name
    question: str = "By how much did revenue, sales, orders, rent or the result change in 2023?"
    expression: str
    truth: Fraction  #: in ones; of a percentage in percent
    unit: str = ""  #: "%", "points", "$", "€"
    is_right: bool = True  #: the expression computes the truth
    behind: str = ""  #: what the draft puts behind the expression
    language: str = "en"


@value
class Shown:
    case: Case
    figure: str  #: as shown; empty: it was not
    is_true: bool


def number(dice: random.Random, low: int = 20, high: int = 900) -> Fraction:
    """With one digit behind the point."""
    return Fraction(dice.randrange(low, high) * 10 + dice.randrange(1, 10), 10)


def en(of: Fraction) -> str:
    return f"{float(of):,.1f}" if of.denominator > 1 else f"{of.numerator:,}"


def de(of: Fraction) -> str:
    return en(of).replace(",", "'").replace(".", ",").replace("'", ".")


def cases(count: int = CASES) -> list[Case]:
    """In turn one of each kind, with numbers of its own."""
    made: list[Case] = []
    for turn in range(count):
        made += [kind(random.Random(f"{turn} {n}")) for n, kind in enumerate(KINDS)]
    return made[:count]


def _table(a: Fraction, b: Fraction, c: Fraction) -> str:
    rows = "\n".join(f"| {2021 + n} | {en(each)} | {12 + n} |" for n, each in enumerate((a, b, c)))
    return f"Figures in millions of euros.\n\n| Year | Revenue | Margin (%) |\n|---|---|---|\n{rows}\n"


def _three(dice: random.Random) -> tuple[Fraction, Fraction, Fraction]:
    a, b = number(dice), number(dice)
    return a, b, a + b + number(dice)


def growth_of_a_table(dice: random.Random) -> Case:
    a, b, c = _three(dice)
    return Case(kind="growth, table in millions", text=_table(a, b, c), expression=f"({en(c)} - {en(b)}) / {en(b)} as %",
                truth=100 * (c - b) / b, unit="%")  # fmt: skip


def growth_as_a_quotient(dice: random.Random) -> Case:
    a, b, c = _three(dice)
    return Case(kind="share of another year", text=_table(a, b, c), expression=f"{en(b)} / {en(c)}", behind="%",
                truth=100 * b / c, unit="%")  # fmt: skip


def mean_of_a_table(dice: random.Random) -> Case:
    a, b, c = _three(dice)
    return Case(kind="mean of three years", text=_table(a, b, c), expression=f"avg({en(a)}, {en(b)}, {en(c)})",
                truth=(a + b + c) / 3 * 10**6, unit="€")  # fmt: skip


def difference_in_prose(dice: random.Random) -> Case:
    a, _, c = _three(dice)
    text = f"Sales were ${en(a)} million in 2022. Sales were ${en(c)} million in 2023."
    return Case(kind="difference, prose", text=text, expression=f"{en(c)} - {en(a)}", behind=" million",
                truth=(c - a) * 10**6, unit="$")  # fmt: skip


def written_out_units(dice: random.Random) -> Case:
    a, _, c = _three(dice)
    text = f"Sales were ${en(a)} million in 2022. Sales were ${en(c)} million in 2023."
    return Case(kind="units in the expression", text=text, expression=f"${en(c)} million - ${en(a)} million",
                truth=(c - a) * 10**6, unit="$")  # fmt: skip


def points(dice: random.Random) -> Case:
    a, b = number(dice, 2, 40), number(dice, 41, 90)
    text = f"In 2022 {en(a)}% of the orders came late. In 2023 {en(b)}% of the orders came late."
    return Case(
        kind="percentage points", text=text, expression=f"{en(b)}% - {en(a)}%", truth=b - a, unit="points"
    )


def german(dice: random.Random) -> Case:
    a, _, c = _three(dice)
    text = f"Der Umsatz der Firma lag im Jahr 2022 bei {de(a)} Mio. Euro. Der Umsatz der Firma lag im Jahr 2023 bei {de(c)} Mio. Euro."
    return Case(kind="German", text=text, question="Um wie viel Prozent ist der Umsatz der Firma gestiegen?", language="de",
                expression=f"({de(c)} - {de(a)}) / {de(a)} as %", truth=100 * (c - a) / a, unit="%")  # fmt: skip


def from_to(dice: random.Random) -> Case:
    a, b = number(dice, 20, 400), number(dice, 401, 900)
    text = f"Revenue rose from {en(a)} in 2022 to {en(b)} million euros in 2023."
    return Case(
        kind="from … to … million",
        text=text,
        expression=f"{en(b)} - {en(a)}",
        truth=(b - a) * 10**6,
        unit="€",
    )


def scales_joined(dice: random.Random) -> Case:
    a, b = number(dice), number(dice)
    text = f"Rent cost {en(a)} million euros in 2023. Travel cost {en(b)} thousand euros in 2023."
    return Case(kind="thousands and millions, both said", text=text, expression=f"{en(a)} + {en(b)}",
                truth=a * 10**6 + b * 1_000, unit="€")  # fmt: skip


def accounts(dice: random.Random) -> Case:
    a, c = Fraction(dice.randrange(1_000, 9_999)), Fraction(dice.randrange(1_000, 9_999))
    text = f"| Year | Result ($ thousands) |\n|---|---|\n| 2022 | ({en(a)}) |\n| 2023 | {en(c)} |\n"
    return Case(
        kind="negative in parentheses",
        text=text,
        expression=f"{en(c)} - ({en(a)})",
        truth=(c + a) * 1_000,
        unit="$",
    )


def spreadsheet(dice: random.Random) -> Case:
    a, b, _ = _three(dice)
    text = f"Region,Sales (EUR million),Staff\nNorth,{float(a)},12\nSouth,{float(b)},15\n"
    return Case(kind="rows of a CSV file", name="csv", text=text, expression=f"sum({float(a)}, {float(b)})",
                truth=(a + b) * 10**6, unit="€")  # fmt: skip


def per_head(dice: random.Random) -> Case:
    a, staff = number(dice), dice.randrange(1_100, 9_000)
    text = f"Revenue was ${en(a)} million in 2023. There were {staff:,} employees in 2023."
    return Case(
        kind="per head", text=text, expression=f"{en(a)} / {staff:,}", truth=a * 10**6 / staff, unit="$"
    )


def not_there(dice: random.Random) -> Case:
    a, b, c = _three(dice)
    return Case(kind="a number that is not there", is_right=False, text=_table(a, b, c),
                expression=f"({en(c + Fraction(3, 10))} - {en(b)}) / {en(b)} as %", truth=100 * (c - b) / b, unit="%")  # fmt: skip


def two_currencies(dice: random.Random) -> Case:
    a, b = number(dice), number(dice)
    text = f"Rent cost {en(a)} million euros in 2023. The grant was ${en(b)} million in 2023."
    return Case(
        kind="two currencies", is_right=False, text=text, expression=f"{en(a)} + {en(b)}", truth=Fraction(-1)
    )


def wrong_scale(dice: random.Random) -> Case:
    a, b = number(dice), number(dice)
    text = f"Rent cost {en(a)} million euros in 2023. Travel cost {en(b)} thousand euros in 2023."
    return Case(kind="thousands called millions", is_right=False, text=text, expression=f"{en(a)} million + {en(b)} million",
                truth=a * 10**6 + b * 1_000, unit="€")  # fmt: skip


def scale_behind(dice: random.Random) -> Case:
    a, b, c = _three(dice)
    return Case(kind="another scale behind it", is_right=False, text=_table(a, b, c), expression=f"{en(c)} - {en(b)}",
                behind=" thousand euros", truth=(c - b) * 10**6, unit="€")  # fmt: skip


def percent_for_points(dice: random.Random) -> Case:
    made = points(dice)
    as_is = made.expression
    expression, behind = (f"{as_is} as %", "") if dice.random() < 0.5 else (as_is, "%")
    return Case(kind="percent in place of points", is_right=False, text=made.text, expression=expression, behind=behind,
                truth=made.truth, unit="points")  # fmt: skip


def no_scale(dice: random.Random) -> Case:
    a, b = number(dice), dice.randrange(10, 90)
    text = f"Revenue was {en(a)} million in 2023. There were {b} new shops in 2023."
    return Case(
        kind="millions and a count",
        is_right=False,
        text=text,
        expression=f"{en(a)} + {b}",
        truth=Fraction(-1),
    )


def other_currency(dice: random.Random) -> Case:
    a, b, c = _three(dice)
    return Case(kind="another currency in the expression", is_right=False, text=_table(a, b, c),
                expression=f"${en(c)} million - ${en(b)} million", truth=(c - b) * 10**6, unit="€")  # fmt: skip


def other_year(dice: random.Random) -> Case:
    a, b, c = _three(dice)
    return Case(kind="the number of another year", is_right=False, text=_table(a, b, c),
                expression=f"({en(c)} - {en(a)}) / {en(a)} as %", truth=100 * (c - b) / b, unit="%")  # fmt: skip


RIGHT: Sequence[Callable[[random.Random], Case]] = (
    growth_of_a_table, growth_as_a_quotient, mean_of_a_table, difference_in_prose, written_out_units, points, german, from_to,
    scales_joined, accounts, spreadsheet, per_head,
)  # fmt: skip
WRONG: Sequence[Callable[[random.Random], Case]] = (
    not_there, two_currencies, wrong_scale, scale_behind, percent_for_points, no_scale, other_currency, other_year,
)  # fmt: skip
KINDS = (*RIGHT, *WRONG)


def is_true(case: Case, sentence: str) -> bool:
    """Whether the figure of a sentence is right, in number and unit."""
    found = _FIGURE.match(figure_of(case, sentence))
    if found is None:
        return False
    written = found["number"].rstrip(".,")
    written = (
        written.replace(".", "").replace(",", ".") if case.language == "de" else written.replace(",", "")
    )
    worth = Fraction(written) * 10 ** _SCALES.get(found["scale"] or "", 0)
    unit = {"percentage points": "points", "Prozentpunkte": "points", None: ""}.get(
        found["unit"], found["unit"]
    )
    worth = -worth if found["sign"] else worth
    return abs(worth - case.truth) <= NEAR * abs(case.truth) and (found["money"] or unit) == case.unit


def figure_of(case: Case, text: str) -> str:
    """What the sentence says after its lead; empty: it is not there."""
    return text.partition(LEAD[case.language])[2].partition("\n")[0].strip()


def reply(case: Case, step: str, call: Call, *, lenient: bool) -> Any:
    """What the model says; it writes the expression with the strips that hold the document."""
    if step == "grade":
        passages = blocks_of(call.prompt, QUOTED)
        told = [
            {"passage": each.number, "relevance": "correct", "evidence": [int(n) for n in _SENTENCE.findall(each.text)]}
            for each in passages
        ]  # fmt: skip
        return {"passages": told, "sufficient": True, "missing": ""}
    if step == "write":
        marks = "".join(f"[{strip.number}]" for strip in blocks_of(call.prompt, QUOTED))
        return f"{LEAD[case.language]} {{calc: {case.expression}}}{case.behind}. {marks}"
    if step == "grounding" and not lenient:
        judged = blocks_of(call.prompt, ("sentence",))
        return {"unsupported": [each.number for each in judged if not is_true(case, each.text)]}
    return default_reply(call)


def written(case: Case, home: Path, number: int) -> Path:
    """A folder with the case's document, in one of its own."""
    docs = home.resolve() / str(number) / "docs"
    docs.mkdir(parents=True)
    (docs / f"report.{case.name}").write_text(case.text, encoding="utf-8")
    return docs


async def play(case: Case, docs: Path, *, lenient: bool) -> Shown:
    """One question, asked of a document of its own."""
    async with FakeGemini(reply=lambda step, call: reply(case, step, call, lenient=lenient)) as gemini:
        settings = Settings(
            data_dir=docs.parent / "data", google_api_key=gemini.api_key, google_gemini_base_url=gemini.base_url,
            chat_model=WRITER, grader_model=GRADER, embedding_model="none", web_search="off",
        )  # fmt: skip
        async with open_footnote(settings, purpose="calculations", reads=reads_everything) as footnote:
            await asyncio.to_thread(footnote.library.ingest, [docs])
            here = situation(fresh_conversation(), sources=(str(docs),))
            outcome = await run_in_order(footnote.assistant, ask(case.question, here))
        assert not gemini.rejected, gemini.rejected
    text = _text(outcome)
    return Shown(case=case, figure=figure_of(case, text), is_true=is_true(case, text))


def _text(outcome: Outcome) -> str:
    answer = outcome.answer
    return answer.text if answer and answer.composed and outcome.kind == "answered" else ""


async def play_all(chosen: Sequence[Case], *, lenient: bool = False) -> list[Shown]:
    free = asyncio.Semaphore(SIDE_BY_SIDE)
    with tempfile.TemporaryDirectory(prefix="calculations-") as home:

        async def one(number: int, case: Case) -> Shown:
            async with free:
                return await play(case, written(case, Path(home), number), lenient=lenient)

        return list(await asyncio.gather(*(one(number, case) for number, case in enumerate(chosen))))


def _rows(played: Sequence[Shown]) -> Iterator[tuple[str, str, int, int, int]]:
    for kind in dict.fromkeys((one.case.kind, one.case.is_right) for one in played):
        own = [one for one in played if (one.case.kind, one.case.is_right) == kind]
        shown = [one for one in own if one.figure]
        yield (
            kind[0],
            "right" if kind[1] else "wrong",
            len(own),
            sum(o.is_true for o in shown),
            sum(not o.is_true for o in shown),
        )


def run(say: Say, *, lenient: bool = False, quick: bool = False) -> Section:
    chosen = cases(QUICK if quick else CASES)
    say(f"{len(chosen)} calculations")
    played = asyncio.run(play_all(chosen, lenient=lenient))
    right = [one for one in played if one.case.is_right]
    false = [one for one in played if one.figure and not one.is_true]
    figures = {
        "right ones shown": share(sum(one.is_true for one in right), len(right)),
        "wrong figures shown": len(false),
        "wrong ones": len(played) - len(right),
    }
    return Section(
        name="calculations",
        title="Computed figures",
        what=f"Of expressions over quoted numbers, what is shown; judges {'support everything' if lenient else 'tell the truth'}.",
        tables=(
            Table(
                title="What is shown",
                columns=("calculation", "its expression is", "number", "shown, right", "shown, wrong"),
                rows=tuple(_rows(played)),
            ),
            Table(
                title="Wrong, or right and not shown",
                columns=("calculation", "expression", "shown"),
                rows=tuple(
                    (one.case.kind, one.case.expression + one.case.behind, one.figure)
                    for one in played
                    if (one.figure or one.case.is_right) and not one.is_true
                ),
            ),
        ),
        figures=figures,
    )

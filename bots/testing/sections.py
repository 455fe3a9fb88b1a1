"""The sections of the report: the shares that help to choose settings, time and cost, what has changed, and what fails."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, median

from bots.chat.texts import clipped, counted, text_of
from bots.testing import report
from bots.testing.judging import GOOD, Judgement, Quotes
from bots.testing.last_run import Changes, Ended
from core.conversation import Outcome
from core.text.inline import as_words

TEXT_SHOWN = 200  # characters of an answer or a quote
#: The label of each share, by its figure.
SHARES: Mapping[str, str] = {
    "right": "answerable: all holds",
    "wrongly_held_back": "answerable: not answered",
    "held_back": "unanswerable: not answered",
}
#: The same for times and costs, behind their number.
COSTS: Mapping[str, str] = {
    "median_ms": "ms a question in the median", "p95_ms": "ms at the 95th percentile", "calls": "calls of models",
    "cost": "{} in all",
}  # fmt: skip


def answers(judgements: Sequence[Judgement]) -> report.Section:
    """The section on how the questions ended: by tag, and in shares."""
    hits: dict[str, list[bool]] = {name: [] for name in SHARES}
    for each in judgements:
        is_good, is_none = each.verdict in GOOD, each.outcome.answer is None
        if each.case.is_answerable:
            hits["right"].append(is_good)
            hits["wrongly_held_back"].append(is_none and each.outcome.kind != "failed")
        elif each.case.unanswerable:
            hits["held_back"].append(is_good)
    shares = {name: own for name, own in hits.items() if own}
    rows = tuple(
        (SHARES[name], len(own), report.with_interval(sum(own), len(own))) for name, own in shares.items()
    )
    return report.Section(
        name="answers", title="Answers", figures={name: fmean(own) for name, own in shares.items()},
        what="Every question went through the real assistant, without a web search. A flaky question held in some runs.",
        tables=(
            _by_tag(judgements),
            report.Table(title="Shares, with 95% intervals", columns=("of", "number", "share"), rows=rows),
        ),
    )  # fmt: skip


def _by_tag(judgements: Sequence[Judgement]) -> report.Table:
    groups: dict[str, list[Judgement]] = {}
    for each in judgements:
        for tag in each.case.tags or ("without a tag",):
            groups.setdefault(tag, []).append(each)
    if len(groups) > 1 or not groups:
        groups["all"] = list(judgements)
    rows: list[tuple[report.Cell, ...]] = []
    for name, group in groups.items():
        verdicts = [each.verdict for each in group]
        fails = verdicts.count("fails") + verdicts.count("failed")
        expected = len(group) - verdicts.count("asked")
        share = report.with_interval(verdicts.count("holds"), expected)
        rows.append((name, len(group), verdicts.count("holds"), verdicts.count("flaky"), fails, share))
    columns = ("tag", "questions", "hold", "flaky", "fail", "hold, 95% interval")
    return report.Table(title="By tag", columns=columns, rows=tuple(rows))


def costs(outcomes: Sequence[Outcome], how: str) -> report.Section:
    """Time, calls of the model, tokens and money. ``how``: they were asked."""
    times = [each.timing_ms["total"] for each in outcomes if "total" in each.timing_ms] or [math.nan]
    usage = [each.usage for each in outcomes]
    figures: dict[str, float] = {"median_ms": median(times), "p95_ms": report.percentile(times, 0.95)}
    if any(each.calls for each in usage):
        names = ("calls", "round_trips", "input_tokens", "output_tokens")
        figures |= {name: sum(getattr(each, name) for each in usage) for name in names}
    if currency := next((each.currency for each in usage if each.cost is not None), ""):
        figures["cost"] = sum(each.cost or 0.0 for each in usage)
    rows = tuple(
        (COSTS.get(name, name.replace("_", " ")).format(currency), each) for name, each in figures.items()
    )
    return report.Section(
        name="costs", title="Time and cost", what=f"From the question to its outcome, asked {how}.",
        tables=(report.Table(title="Of a question, and in all", columns=("of", "number"), rows=rows),), figures=figures,
    )  # fmt: skip


def since(changes: Changes, title: str) -> report.Section:
    """The changes since the last run, quote beside quote."""
    before, now = changes.before, changes.now
    rows = tuple(
        (what, name, _said(before.ended.get(name)), _said(now.ended.get(name)))
        for what in ("broke", "mended", "otherwise", "new", "gone")
        for name in getattr(changes, what)
    )
    figures = tuple(
        (name, before.figures[name], figure)
        for name, figure in now.figures.items()
        if name in before.figures and before.figures[name] != figure
    )
    tables = (
        report.Table(title="Questions", columns=("what", "id", "was", "now"), rows=rows),
        report.Table(title="Figures", columns=("figure", "was", "now"), rows=figures),
    )
    return report.Section(
        name="changes", title=title, what=f"Since the run of {before.made}: {changes}.",
        tables=tuple(table for table in tables if table.rows),
    )  # fmt: skip


def _said(ended: Ended | None) -> str:
    return f"{ended.verdict}: {quoted(ended.quotes)}" if ended else "–"


def quoted(quotes: Quotes) -> str:
    """ "“At half past nine.” (ferry.md)"."""
    said = (f"“{clipped(as_words(quote), TEXT_SHOWN)}” ({source})" for quote, source in quotes)
    return "\n".join(said) or "nothing"


def failures(judgements: Sequence[Judgement]) -> report.Section:
    """The questions that do not hold, with their answers."""
    bad = [each for each in judgements if each.verdict not in GOOD]
    rows = tuple(
        (
            each.case.id,
            each.case.question,
            each.verdict,
            "; ".join(each.broken),
            said(each),
            each.outcome.confidence,
        )
        for each in bad
    )
    columns = ("id", "question", "verdict", "expected", "answered", "confidence")
    table = report.Table(title="All of them", columns=columns, rows=rows)
    return report.Section(
        name="failures", title="What does not hold", what=f"{len(bad)} of {counted(len(judgements), 'question')}.",
        tables=(table,) if bad else (),
    )  # fmt: skip


def said(judgement: Judgement) -> str:
    """The answer as it is quoted, or why there is none."""
    outcome = judgement.outcome
    if outcome.answer is None:
        return clipped(outcome.reason or text_of(outcome), TEXT_SHOWN)
    is_quoted = outcome.is_quoted and judgement.quotes
    return quoted(judgement.quotes) if is_quoted else clipped(outcome.answer.text, TEXT_SHOWN)

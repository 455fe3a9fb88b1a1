"""Whether a confidence means what it says: the Brier score, and shares beside what was said."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

from bots.eval.answers import Judged
from bots.eval.intervals import bootstrap, wilson, with_interval
from bots.eval.sections import Plot, Section, Table

BINS = 5  # of equal width: few questions would leave more of them empty

Told = tuple[float, bool]  # the confidence that was told, and whether it was so


def brier(told: Sequence[Told]) -> float:
    """The mean squared error of a probability (Brier 1950): 0 is best, a coin gets .25."""
    return fmean((confidence - was) ** 2 for confidence, was in told)


def bins(told: Sequence[Told]) -> list[tuple[float, float, list[Told]]]:
    """(from, to, those between), for every bin that holds any."""
    edges = [number / BINS for number in range(BINS + 1)]
    held = (
        (low, high, [each for each in told if low <= each[0] < high or each[0] == high == 1.0])
        for low, high in pairwise(edges)
    )
    return [(low, high, those) for low, high, those in held if those]


def reliability(judged: Sequence[Judged]) -> Section | None:
    """The confidence beside what the file says; None where it calls nothing, or everything, answerable."""
    told = [
        (each.outcome.confidence, each.expected.answerable)
        for each in judged
        if each.expected.answerable is not None and each.outcome.kind != "failed"
    ]
    answerable = sum(was for _, was in told)
    if answerable in (0, len(told)):
        return None
    base = answerable / len(told)
    score, (low, high) = brier(told), _brier_interval(told)
    return Section(
        name="confidence",
        title="Confidence",
        what=(
            "Before it answers, the library says how sure it is that the documents answer the question; "
            "here beside whether they do."
        ),
        tables=(
            Table(
                title="Brier score",
                columns=("of", "score", "95% interval"),
                rows=(
                    ("what was said", score, f"{low:.3f} to {high:.3f}"),
                    ("saying the share of answerable ones each time", base * (1 - base), "–"),
                ),
                note="The mean squared error of a probability: 0 is best.",
            ),
            Table(
                title="Reliability",
                columns=("said", "questions", "said on average", "were answerable"),
                rows=tuple(
                    (
                        f"{first:.1f} to {last:.1f}",
                        len(those),
                        fmean(confidence for confidence, _ in those),
                        with_interval(sum(was for _, was in those), len(those)),
                    )
                    for first, last, those in bins(told)
                ),
            ),
        ),
        plots=(_drawn(told),),
        figures={"brier": score},
    )


def _brier_interval(told: Sequence[Told]) -> tuple[float, float]:
    return bootstrap([(confidence - was) ** 2 for confidence, was in told])


def _drawn(told: Sequence[Told]) -> Plot:
    held = [(first, last, those, sum(was for _, was in those)) for first, last, those in bins(told)]
    return Plot(
        title="Said, and so",
        kind="bars",
        x=tuple(f"said {first:.1f} to {last:.1f}" for first, last, *_ in held),
        series={
            "said on average": tuple(fmean(confidence for confidence, _ in those) for *_, those, _ in held),
            "were answerable": tuple(were / len(those) for *_, those, were in held),
        },
        intervals={"were answerable": tuple(wilson(were, len(those)) for *_, those, were in held)},
        unit="share",
    )

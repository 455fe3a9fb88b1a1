"""95% intervals, the sign test, and how well a confidence is calibrated."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import fmean

Z = 1.959964  # standard deviations that hold 95% of a normal distribution
RESAMPLES = 1_000  # of a percentile bootstrap; with more its ends hardly move
BINS = 5  # of equal width; with more, many would be empty

Prediction = tuple[float, bool]  # a probability, and whether it came true


def wilson(hits: int, of: int) -> tuple[float, float]:
    """The score interval of a share (Wilson 1927); (0, 1) without trials."""
    if of == 0:
        return 0.0, 1.0
    share, square = hits / of, Z * Z
    middle = (share + square / (2 * of)) / (1 + square / of)
    reach = Z / (1 + square / of) * math.sqrt(share * (1 - share) / of + square / (4 * of * of))
    return max(0.0, middle - reach), min(1.0, middle + reach)


def with_interval(hits: int, of: int) -> str:
    """ "0.86 (0.71 to 0.94)"; a dash without trials."""
    if of == 0:
        return "–"
    low, high = wilson(hits, of)
    return f"{hits / of:.2f} ({low:.2f} to {high:.2f})"


def bootstrap(
    values: Sequence[float], statistic: Callable[[Sequence[float]], float] = fmean, *, seed: int = 0
) -> tuple[float, float]:
    """The percentile interval of a statistic, from samples drawn with replacement (Efron 1979)."""
    draw = random.Random(seed)  # noqa: S311 - the same figures in every run
    found = sorted(statistic(draw.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return percentile(found, 0.025), percentile(found, 0.975)


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest-rank percentile: the smallest value with at least this share of the values at or below it."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def sign_test(better: int, worse: int) -> float:
    """The two-sided exact p-value of the sign test."""
    changed = better + worse
    tail = sum(math.comb(changed, k) for k in range(min(better, worse) + 1))
    return min(1.0, tail / 2.0 ** (changed - 1))


def brier(predictions: Sequence[Prediction]) -> float:
    """The mean squared error of a probability (Brier 1950): 0 is best, a coin gets .25."""
    return fmean((probability - came_true) ** 2 for probability, came_true in predictions)


def bins(predictions: Sequence[Prediction]) -> list[tuple[float, float, list[Prediction]]]:
    """(low, high, predictions) of every bin that is not empty."""
    edges = [number / BINS for number in range(BINS + 1)]
    filled = (
        (low, high, [each for each in predictions if low <= each[0] < high or each[0] == high == 1.0])
        for low, high in pairwise(edges)
    )
    return [(low, high, those) for low, high, those in filled if those]

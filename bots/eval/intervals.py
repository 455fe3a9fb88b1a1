"""How far a share or a mean of a sample can be believed: 95% intervals, and the chance of a mere accident."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from statistics import fmean

Z = 1.959964  # standard deviations that hold 95% of a normal distribution
Measured = tuple[float, tuple[float, float]]  # a figure, NaN where nothing was counted, and its interval
RESAMPLES = 1_000  # a percentile bootstrap's; more moves its ends by less than its own error


def wilson(hits: int, of: int) -> tuple[float, float]:
    """The score interval of a share (Wilson 1927), which stays within 0 and 1; (0, 1) for no trials."""
    if of == 0:
        return 0.0, 1.0
    share, square = hits / of, Z * Z
    middle = (share + square / (2 * of)) / (1 + square / of)
    reach = Z / (1 + square / of) * math.sqrt(share * (1 - share) / of + square / (4 * of * of))
    return max(0.0, middle - reach), min(1.0, middle + reach)


def bootstrap(
    values: Sequence[float], statistic: Callable[[Sequence[float]], float] = fmean, *, seed: int = 0
) -> tuple[float, float]:
    """The percentile interval of a statistic over values drawn again with replacement (Efron 1979)."""
    draw = random.Random(seed)  # noqa: S311 - a figure must come out the same twice
    found = sorted(statistic(draw.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return percentile(found, 0.025), percentile(found, 0.975)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def share_of(hits: int, of: int) -> Measured:
    return (hits / of if of else math.nan), wilson(hits, of)


def mean(values: Sequence[float]) -> float:
    return fmean(values) if values else math.nan


def mean_of(values: Sequence[float]) -> Measured:
    return mean(values), bootstrap(values, mean)


def told(measured: Measured) -> str:
    """ "0.857 (0.706 to 0.938)"; a dash where nothing was counted."""
    figure, (low, high) = measured
    return f"{figure:.3f} ({low:.3f} to {high:.3f})" if math.isfinite(figure) else "–"


def sign_test(better: int, worse: int) -> float:
    """How likely changes that favour neither side split at least this unevenly (two-sided, exact)."""
    changed = better + worse
    tail = sum(math.comb(changed, k) for k in range(min(better, worse) + 1))
    return min(1.0, tail / 2.0 ** (changed - 1))


def with_interval(hits: int, of: int) -> str:
    """ "0.86 (0.71 to 0.94)"; a dash for no trials."""
    if of == 0:
        return "–"
    low, high = wilson(hits, of)
    return f"{hits / of:.2f} ({low:.2f} to {high:.2f})"

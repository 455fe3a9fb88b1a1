"""Figures of a sample with their 95% intervals."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from statistics import fmean

from bots.testing.report import percentile, wilson
from core.conversation import value

RESAMPLES = 1_000  # of a percentile bootstrap; with more its ends hardly move


@value
class Estimate:
    """A figure, NaN where nothing was counted, and its interval."""

    figure: float
    low: float
    high: float

    @classmethod
    def share(cls, hits: int, of: int) -> Estimate:
        low, high = wilson(hits, of)
        return cls(figure=hits / of if of else math.nan, low=low, high=high)

    @classmethod
    def mean(cls, values: Sequence[float]) -> Estimate:
        low, high = bootstrap(values, mean)
        return cls(figure=mean(values), low=low, high=high)

    def __str__(self) -> str:
        """ "0.857 (0.706 to 0.938)"; a dash where nothing was counted."""
        if not math.isfinite(self.figure):
            return "–"
        return f"{self.figure:.3f} ({self.low:.3f} to {self.high:.3f})"


def mean(values: Sequence[float]) -> float:
    return fmean(values) if values else math.nan


def bootstrap(
    values: Sequence[float], statistic: Callable[[Sequence[float]], float] = fmean, *, seed: int = 0
) -> tuple[float, float]:
    """The percentile interval of a statistic, from samples drawn with replacement (Efron 1979)."""
    draw = random.Random(seed)
    found = sorted(statistic(draw.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return percentile(found, 0.025), percentile(found, 0.975)

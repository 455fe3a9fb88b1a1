"""What answers cost: time, calls of the model, tokens and money."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, median

from bots.eval.intervals import bootstrap, percentile
from bots.eval.sections import Cell, Section, Table
from core.conversation import Outcome, value

MILLION = 1_000_000  # tokens that a price is for


@value
class Prices:
    """Of a million tokens, in any currency."""

    tokens_in: float | None = None
    tokens_out: float | None = None

    def of(self, outcomes: Sequence[Outcome]) -> float | None:
        """What these outcomes cost; None without prices."""
        if self.tokens_in is None and self.tokens_out is None:
            return None
        read = sum(each.usage.input_tokens for each in outcomes) * (self.tokens_in or 0.0)
        written = sum(each.usage.output_tokens for each in outcomes) * (self.tokens_out or 0.0)
        return (read + written) / MILLION


def costs(outcomes: Sequence[Outcome], prices: Prices, concurrency: int) -> Section:
    times = [each.timing_ms["total"] for each in outcomes if "total" in each.timing_ms] or [math.nan]
    low, high = bootstrap(times, median)
    cost = prices.of(outcomes)
    is_model_used = any(each.usage.calls for each in outcomes)
    figures = {"median_ms": median(times), "p95_ms": percentile(times, 0.95)}
    if is_model_used:
        figures |= {
            "model_calls": sum(each.usage.calls for each in outcomes),
            "round_trips": sum(each.usage.round_trips for each in outcomes),
            "input_tokens": sum(each.usage.input_tokens for each in outcomes),
            "output_tokens": sum(each.usage.output_tokens for each in outcomes),
        }
    if cost is not None:
        figures["cost"] = cost
    return Section(
        name="costs",
        title="Time and cost",
        what=f"From the question to its outcome, {_asked(concurrency)}.",
        tables=(
            Table(
                title="Latency",
                columns=("of", "ms", "95% interval"),
                rows=(
                    ("median", figures["median_ms"], f"{low:,.0f} to {high:,.0f}"),
                    ("95th percentile", figures["p95_ms"], "–"),
                ),
                note="" if is_model_used else "No model was called.",
            ),
            *((_usage(outcomes, cost),) if is_model_used else ()),
        ),
        figures=figures,
    )


def _asked(concurrency: int) -> str:
    return "asked one at a time" if concurrency == 1 else f"up to {concurrency} at a time"


def _usage(outcomes: Sequence[Outcome], cost: float | None) -> Table:
    counted: dict[str, list[int]] = {
        "model calls": [each.usage.calls for each in outcomes],
        "round trips, one after the other": [each.usage.round_trips for each in outcomes],
        "tokens read": [each.usage.input_tokens for each in outcomes],
        "tokens written": [each.usage.output_tokens for each in outcomes],
    }
    rows: list[tuple[Cell, ...]] = [
        (name, sum(numbers), fmean(numbers), max(numbers)) for name, numbers in counted.items()
    ]
    if cost is not None:
        rows.append(("cost, at the prices given", cost, cost / len(outcomes), "–"))
    names = sorted({each.usage.name for each in outcomes})
    return Table(
        title="The model", columns=("of", "in all", "a question", "at most"), rows=tuple(rows),
        note=f"Written by {', '.join(names)}.",
    )  # fmt: skip

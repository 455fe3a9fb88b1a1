"""What a turn costs, at the prices of the models that took its tokens."""

from __future__ import annotations

import pytest

from core.conversation import Usage
from core.reasoning.limits import Price, Prices, with_tokens

PRICES = Prices(of={"writer": Price(3, 10), "judge": Price(0.5, 2)}, currency="EUR", is_shown=True)


def taken(*replies):
    usage = Usage(name="writer")
    for model, read, written in replies:
        usage = with_tokens(usage, model, read, written)
    return usage


def test_each_model_has_its_own_price():
    usage = PRICES.add_cost(
        taken(("judge", 1_000_000, 0), ("writer", 100_000, 50_000), ("judge", 0, 500_000))
    )

    assert [(each.name, each.input_tokens, each.output_tokens) for each in usage.models] == [
        ("judge", 1_000_000, 500_000), ("writer", 100_000, 50_000),
    ]  # fmt: skip
    assert (usage.input_tokens, usage.output_tokens) == (1_100_000, 550_000)
    assert usage.cost == pytest.approx(0.5 + 1 + 0.3 + 0.5)
    assert (usage.currency, usage.is_cost_shown) == ("EUR", True)


def test_what_no_model_took_costs_nothing():
    assert PRICES.add_cost(Usage()).cost == 0


def test_the_cost_is_unknown_where_one_of_the_models_has_no_price():
    assert PRICES.add_cost(taken(("writer", 10, 10), ("stranger", 1, 1))).cost is None


def test_without_prices_nothing_is_said():
    usage = taken(("writer", 10, 10))

    assert Prices(currency="EUR", is_shown=True).add_cost(usage) == usage

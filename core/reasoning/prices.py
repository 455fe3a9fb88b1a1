"""What the tokens of a turn cost, at the prices that the operator names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from core.conversation import ModelTokens, Usage

MILLION = 1_000_000  # tokens that a price is for


@dataclass(frozen=True, slots=True)
class Price:
    """Of a million tokens."""

    input: float
    output: float

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        return (input_tokens * self.input + output_tokens * self.output) / MILLION


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What models cost, by their names without the provider."""

    of: Mapping[str, Price] = field(default_factory=dict)
    currency: str = ""  #: ISO 4217
    is_shown: bool = False  #: whether people are told what an answer cost

    def cost(self, tokens: ModelTokens) -> float | None:
        """None for a model without a price."""
        price = self.of.get(tokens.name)
        return price.cost(tokens.input_tokens, tokens.output_tokens) if price else None

    def priced(self, usage: Usage) -> Usage:
        """The usage with its cost; without one where any of its models has no price."""
        if not self.of:
            return usage
        costs = [self.cost(each) for each in usage.models]
        known = [cost for cost in costs if cost is not None]
        total = sum(known) if len(known) == len(costs) else None
        return replace(usage, cost=total, currency=self.currency, is_cost_shown=self.is_shown)


NO_PRICES = Prices()


def with_tokens(usage: Usage, model: str, read: int, written: int) -> Usage:
    """The usage after one more reply of this model."""
    counted = {each.name: each for each in usage.models}
    before = counted.get(model, ModelTokens(name=model))
    counted[model] = replace(
        before, input_tokens=before.input_tokens + read, output_tokens=before.output_tokens + written
    )
    return replace(
        usage,
        input_tokens=usage.input_tokens + read,
        output_tokens=usage.output_tokens + written,
        models=tuple(counted.values()),
    )

"""Limits that all turns share: a circuit breaker for each model, and the budget and cost of tokens."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal, Self, TypeVar

from core.conversation import ModelTokens, Usage
from core.errors import StoreUnavailable
from core.storage.database import AsyncDatabase, Schema
from core.storage.storage import Storage

logger = logging.getLogger(__name__)


ROW = 6  # failures in a row, of any turns, after which the model counts as down
PAUSE = 30.0  # seconds until one call tries again

STORE = "spending"
_TABLES = """
CREATE TABLE IF NOT EXISTS spent (day TEXT PRIMARY KEY, tokens INTEGER NOT NULL);
CREATE TABLE spent_by (
    day TEXT NOT NULL, spender TEXT NOT NULL, id TEXT NOT NULL, tokens INTEGER NOT NULL,
    PRIMARY KEY (day, spender, id)
);
CREATE TABLE paces (  -- tokens a second: core.reasoning.pace
    model TEXT PRIMARY KEY, reading REAL NOT NULL, writing REAL NOT NULL, slow INTEGER NOT NULL
);
"""
SCHEMA = Schema(tables=_TABLES, cure="Move it away to count today's tokens from zero.")
_CHARGE = (
    "INSERT INTO spent VALUES (?, ?) ON CONFLICT (day) DO UPDATE SET tokens = spent.tokens + excluded.tokens"
)
_CHARGE_SPENDER = (
    "INSERT INTO spent_by VALUES (?, ?, ?, ?) ON CONFLICT (day, spender, id)"
    " DO UPDATE SET tokens = spent_by.tokens + excluded.tokens"
)
_SPENT = "SELECT 'everybody', tokens FROM spent WHERE day = ?"
_SPENT_BY_SPENDER = " UNION ALL SELECT spender, tokens FROM spent_by WHERE day = ? AND spender = ? AND id = ?"
_FORGET = tuple(
    f"DELETE FROM {table} WHERE day NOT IN (SELECT day FROM spent ORDER BY day DESC LIMIT 31)"
    for table in ("spent_by", "spent")
)

Counted = TypeVar("Counted", ModelTokens, Usage)
Spender = Literal["everybody", "channel", "person"]


@dataclass(slots=True, kw_only=True)
class Circuit:
    """The circuit breaker of Nygard, "Release It!", for one model, shared by the turns of a process. It is
    closed while calls succeed, opens after a row of failures, and after each pause lets one call through to
    see whether the model is back."""

    row: int = ROW
    pause: float = PAUSE
    clock: Callable[[], float] = time.monotonic
    _failures: int = 0
    _tries_at: float = 0.0  #: while it is open: when the next call may go through

    @property
    def is_open(self) -> bool:
        return self._failures >= self.row

    def lets_through(self) -> bool:
        """True if a call may be made now."""
        if not self.is_open:
            return True
        now = self.clock()
        if now < self._tries_at:
            return False
        self._tries_at = now + self.pause
        return True

    def record_success(self) -> None:
        self._failures = 0

    def record_failure(self) -> None:
        self._failures += 1
        if self._failures == self.row:
            self._tries_at = self.clock() + self.pause


def now_in_utc() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Tokens that the models may take in a day of UTC, counted over restarts and over all processes."""

    limit: int  #: tokens a day, read and written together; 0: no limit
    per_channel: int = 0  #: the same for each channel
    per_person: int = 0
    database: AsyncDatabase
    now: Callable[[], datetime] = now_in_utc

    #: Id and tokens a day, of who has one.
    limits: Mapping[Spender, tuple[str, int]] = field(default_factory=dict)

    def allowance(self, channel: str, person: str) -> Self:
        """The part of it that one turn takes from: what this person may take in this channel."""
        limited: dict[Spender, tuple[str, int]] = {
            "channel": (channel, self.per_channel), "person": (person, self.per_person),
        }  # fmt: skip
        return replace(self, limits={name: given for name, given in limited.items() if all(given)})

    async def read_spent_today(self) -> int:
        rows = await self.database.rows("SELECT tokens FROM spent WHERE day = ?", (self.today,))
        return int(rows[0][0]) if rows else 0

    @property
    def today(self) -> str:
        return self.now().date().isoformat()

    async def find_spent(self) -> Spender | None:
        """The budget that is used up; None: none. One query, whatever is limited."""
        day = self.today
        query, values = _SPENT, [day]
        for spender, (name, _) in self.limits.items():
            query, values = query + _SPENT_BY_SPENDER, [*values, day, spender, name]
        taken: dict[Any, Any] = dict(await self.database.rows(query, values))
        limits: dict[Spender, int] = {"everybody": self.limit}
        limits |= {spender: tokens for spender, (_, tokens) in self.limits.items()}
        return next((each for each, most in limits.items() if most and taken.get(each, 0) >= most), None)

    async def charge(self, tokens: int) -> None:
        """Counts tokens. A full disk is logged: the answer that they were spent on must not be lost."""
        try:
            await self.database.call(self._charge, tokens)
        except StoreUnavailable:
            logger.exception("spent tokens could not be counted")

    def _charge(self, tokens: int) -> None:
        day = self.today
        with self.database.database.transaction() as writing:
            writing.execute(_CHARGE, (day, tokens))
            for spender, (name, _) in self.limits.items():
                writing.execute(_CHARGE_SPENDER, (day, spender, name, tokens))


@contextmanager
def open_budget(
    limit: int, storage: Storage, now: Callable[[], datetime] = now_in_utc, *, per_channel: int = 0,
    per_person: int = 0,
) -> Iterator[Budget]:  # fmt: skip
    """Raises SettingsError when the store cannot be used."""
    with storage.asynchronous(STORE, SCHEMA) as database:
        with database.database.transaction() as writing:
            for statement in _FORGET:
                writing.execute(statement)
        yield Budget(limit=limit, per_channel=per_channel, per_person=per_person, database=database, now=now)


MILLION = 1_000_000  # tokens that a price is for


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a million tokens."""

    input: float
    output: float

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        return (input_tokens * self.input + output_tokens * self.output) / MILLION


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """The prices of models, by their names without the provider."""

    of: Mapping[str, Price] = field(default_factory=dict)
    currency: str = ""  #: ISO 4217
    is_shown: bool = False  #: whether people are told what an answer cost

    def cost(self, tokens: ModelTokens) -> float | None:
        """The cost of tokens; None for a model without a price."""
        price = self.of.get(tokens.name)
        return price.cost(tokens.input_tokens, tokens.output_tokens) if price else None

    def add_cost(self, usage: Usage) -> Usage:
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

    def more(counted: Counted) -> Counted:
        inputs, outputs = counted.input_tokens + read, counted.output_tokens + written
        return replace(counted, input_tokens=inputs, output_tokens=outputs)

    counted = {each.name: each for each in usage.models}
    counted[model] = more(counted.get(model, ModelTokens(name=model)))
    return replace(more(usage), models=tuple(counted.values()))

"""Whether a question is within the rates, counted by one process alone or by all on one PostgreSQL."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.conversation import Question
from core.storage.asynchronous import AsyncDatabase
from core.storage.database import Row
from core.storage.schema import Schema
from core.storage.storage import Storage
from core.turns.rate_limits import PERIODS, Rate, Rates, Refusal

STORE = "rates"
#: One question at a time is admitted, so that two processes cannot both take the last one.
SCHEMA = Schema(
    tables="""
CREATE TABLE asked (
    subject TEXT NOT NULL,  -- a person or a channel
    question TEXT NOT NULL,  -- delivered twice, it counts once
    at REAL NOT NULL,  -- seconds since the epoch
    PRIMARY KEY (subject, question)
);
CREATE INDEX asked_at ON asked (subject, at);
""",
    is_serial=True,
)


_LATELY = "SELECT at FROM asked WHERE subject = ? AND at > ? AND question <> ? ORDER BY at"
_NOTE = "INSERT INTO asked VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_ANY = Rate(count=1, period="day")


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Counts questions. Raises StoreUnavailable where the shared count cannot be reached."""

    rates: Rates  #: what was counted here; who was told when to ask again
    shared: AsyncDatabase | None = None  #: the count of all processes; None: this process is alone

    async def admit(self, question: Question) -> Refusal | None:
        """Count a question, or refuse it and do not count it."""
        if self.shared is None:
            return self.rates.admit(question.author, question.conversation.channel_id, question.asked_at)
        return await self.shared.call(self._admit, question)

    async def has_room(self, question: Question) -> bool:
        """Whether it would be admitted; it is not counted."""
        person, channel = question.author, question.conversation.channel_id
        if self.shared is None:
            return self.rates.has_room(person, channel, question.asked_at)
        counted = await self.shared.call(self._counted, self.shared.database.rows, question)
        return counted.has_room(person, channel, question.asked_at)

    async def count(self, question: Question) -> None:
        """A question that was admitted without being asked for, or by an earlier process."""
        if self.shared is None:
            self.rates.count(question.author, question.conversation.channel_id, question.asked_at)
        else:
            await self.shared.call(self._note, question)

    def _admit(self, question: Question) -> Refusal | None:
        assert self.shared is not None
        with self.shared.database.transaction() as writing:
            counted = self._counted(lambda *query: writing.execute(*query).fetchall(), question)
            refusal = counted.admit(question.author, question.conversation.channel_id, question.asked_at)
            if refusal is None:
                self._note(question)
        return refusal

    def _counted(self, rows: Callable[[str, Sequence[object]], list[Row]], question: Question) -> Rates:
        """What its author and its channel asked lately, without itself: it may be delivered again."""
        counted = Rates(per_person=self.rates.per_person, per_channel=self.rates.per_channel)
        since = question.asked_at - counted.longest
        for key in counted.keys(question.author, question.conversation.channel_id):
            subject = _subject(question, key)
            found = rows(_LATELY, (subject, since, question.id))
            counted.remember(key, [float(at) for (at,) in found])
        return counted

    def _note(self, question: Question) -> None:
        assert self.shared is not None
        keys = self.rates.keys(question.author, question.conversation.channel_id)
        with self.shared.database.transaction() as writing:
            writing.executemany(
                _NOTE, [(_subject(question, key), question.id, question.asked_at) for key in keys]
            )


def asked_rows(question: Question) -> list[tuple[str, str, float]]:
    """What the table holds of a question, whichever rates there are."""
    keys = Rates(per_person=_ANY, per_channel=_ANY).keys(question.author, question.conversation.channel_id)
    return [(_subject(question, key), question.id, question.asked_at) for key in keys]


def _subject(question: Question, key: str) -> str:
    return f"{question.conversation.platform}/{key}"


def open_admission(rates: Rates, storage: Storage) -> Admission | None:
    """None without rates. Raises SettingsError when the store cannot be used."""
    if not rates.longest:
        return None
    if storage.url is None:
        return Admission(rates=rates)
    database = storage.database(STORE, SCHEMA)
    with database.transaction() as writing:
        writing.execute("DELETE FROM asked WHERE at <= ?", (time.time() - max(PERIODS.values()),))
    return Admission(rates=rates, shared=AsyncDatabase(database, storage.threads))

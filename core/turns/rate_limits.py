"""Limits on the number of questions of a person and of a channel.

They are counted by one process alone, or by all on one PostgreSQL.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import ceil
from typing import Literal
from zoneinfo import ZoneInfo

from core.conversation import Question, value
from core.storage.database import AsyncDatabase, Row, Schema
from core.storage.storage import Storage
from core.wording import Sentence

Period = Literal["minute", "hour", "day"]

PERIODS: Mapping[str, float] = {"minute": 60.0, "hour": 3_600.0, "day": 86_400.0}  # seconds
REMEMBERED = 10_000  # people and channels that are counted before inactive ones are dropped


@value
class Rate:
    """At most ``count`` questions within any period."""

    count: int
    period: Period

    @property
    def seconds(self) -> float:
        return PERIODS[self.period]


@value
class QuietHours:
    """The hours of a day in which nobody is notified of what can wait."""

    begin: int  #: of the day, in the time zone
    end: int
    zone: str = "UTC"  #: of the IANA database

    def over_at(self, moment: float) -> float:
        """The end of the quiet hours, in seconds since the epoch; outside of them the moment itself."""
        here = datetime.fromtimestamp(moment, ZoneInfo(self.zone))
        since_begin, length = ((each - self.begin) % 24 for each in (here.hour, self.end))
        if since_begin >= length:
            return moment
        days = int(here.hour >= self.end)
        over = here.replace(hour=self.end, minute=0, second=0, microsecond=0) + timedelta(days=days)
        return over.timestamp()


@value
class Refusal:
    """A question beyond a rate."""

    sentence: str
    about: str  #: the limit and the person
    until: float  #: when one more is within the rate, in seconds since the epoch


@dataclass(slots=True, kw_only=True)
class Rates:
    """The times at which each person and each channel asked recently."""

    per_person: Rate | None = None
    per_channel: Rate | None = None
    _asked: dict[str, deque[float]] = field(default_factory=dict)  #: when, by person or channel
    _refused_until: dict[str, float] = field(default_factory=dict)  #: by what the refusal is about

    @property
    def longest(self) -> float:
        """Seconds that a question counts; 0 without limits."""
        return max((rate.seconds for rate in (self.per_person, self.per_channel) if rate), default=0.0)

    def admit(self, person: str, channel: str, at: float) -> Refusal | None:
        """Count a question, or refuse it and do not count it. ``at`` is when it was asked, in seconds since
        the epoch: questions that waited for a restart of the bot were not asked all at once."""
        for key, rate, key_said in self._limits_for(person, channel):
            wait = self._wait(key, rate, at)
            if wait > 0:
                sentence = Sentence(
                    key_said, many=Sentence("questions", count=rate.count),
                    period=Sentence(_PERIODS_SAID[rate.period]), wait=_in_words(wait),
                )  # fmt: skip
                return Refusal(sentence=sentence, about=f"{key} {person}", until=at + wait)
        self.count(person, channel, at)
        return None

    def has_room(self, person: str, channel: str, at: float) -> bool:
        """True if a question would be admitted; it is not counted."""
        return not any(self._wait(key, rate, at) > 0 for key, rate, _ in self._limits_for(person, channel))

    def count(self, person: str, channel: str, at: float) -> None:
        """A question that was admitted, here or by the process before this one."""
        for key in self.keys(person, channel):
            self._asked.setdefault(key, deque()).append(at)

    def keys(self, person: str, channel: str) -> list[str]:
        """Under which their questions are counted."""
        return [key for key, _, _ in self._limits_for(person, channel)]

    def remember(self, key: str, asked_at: Iterable[float]) -> None:
        """Remember the times of questions under this key, earliest first."""
        self._asked[key] = deque(asked_at)

    def tell(self, refusal: Refusal, at: float) -> bool:
        """True if to tell the person: once until the time at which they may ask again."""
        until = self._refused_until.get(refusal.about, 0.0)
        was_refused = until - self.longest <= at < until  # False if the clock was set back since
        if was_refused:
            return False
        if len(self._refused_until) > REMEMBERED:
            self._refused_until = {about: then for about, then in self._refused_until.items() if then > at}
        self._refused_until[refusal.about] = refusal.until
        return True

    def forget_refusal(self, refusal: Refusal) -> None:
        """Tell the person at the next refusal, since this one could not be posted."""
        self._refused_until.pop(refusal.about, None)

    def _limits_for(self, person: str, channel: str) -> list[tuple[str, Rate, str]]:
        counted = (
            (f"p/{person}", self.per_person, "person_asked_enough"),
            (f"c/{channel}", self.per_channel, "channel_asked_enough"),
        )
        return [(key, rate, said) for key, rate, said in counted if rate is not None]

    def _wait(self, key: str, rate: Rate, at: float) -> float:
        """Seconds until one more is within the rate."""
        if len(self._asked) > REMEMBERED:
            silent, before = at - self.longest, self._asked
            self._asked = {key: asked for key, asked in before.items() if asked and asked[-1] > silent}
        asked = self._asked.get(key, deque())
        while asked and asked[0] <= at - rate.seconds:
            asked.popleft()
        # Questions with later times were asked before the clock was set back, and do not count here.
        recent = [before for before in asked if at - rate.seconds < before <= at]
        return recent[-rate.count] + rate.seconds - at if len(recent) >= rate.count else 0.0


_PERIODS_SAID: Mapping[Period, str] = {"minute": "within_minute", "hour": "within_hour", "day": "within_day"}


def _in_words(seconds: float) -> Sentence:
    if seconds > 1.5 * 3_600.0:
        return Sentence("hours", count=ceil(seconds / 3_600.0))
    if seconds > 1:
        return Sentence("minutes", count=ceil(seconds / 60.0) if seconds > 1.5 * 60.0 else 1)
    return Sentence("second")


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
_ANY = Rates(per_person=Rate(count=1, period="day"), per_channel=Rate(count=1, period="day"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Counts questions. Raises StoreUnavailable where the shared count cannot be reached."""

    rates: Rates  #: what was counted here; who was answered when to ask again
    shared: AsyncDatabase | None = None  #: the count of all processes; None: this process is alone

    async def admit(self, question: Question) -> Refusal | None:
        """Count a question, or refuse it and do not count it."""
        if self.shared is None:
            return self.rates.admit(question.author, question.conversation.channel_id, question.asked_at)
        return await self.shared.call(self._admit, question)

    async def has_room(self, question: Question) -> bool:
        """True if it would be admitted; it is not counted."""
        person, channel = question.author, question.conversation.channel_id
        if self.shared is None:
            return self.rates.has_room(person, channel, question.asked_at)
        counted = await self.shared.call(self._recent, self.shared.database.rows, question)
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
            counted = self._recent(lambda *query: writing.execute(*query).fetchall(), question)
            refusal = counted.admit(question.author, question.conversation.channel_id, question.asked_at)
            if refusal is None:
                self._note(question)
        return refusal

    def _recent(self, rows: Callable[[str, Sequence[object]], list[Row]], question: Question) -> Rates:
        """The recent questions of its author and its channel, without itself: it may be delivered again."""
        counted = Rates(per_person=self.rates.per_person, per_channel=self.rates.per_channel)
        since = question.asked_at - counted.longest
        for key in counted.keys(question.author, question.conversation.channel_id):
            found = rows(_LATELY, (_subject(question, key), since, question.id))
            counted.remember(key, [float(at) for (at,) in found])
        return counted

    def _note(self, question: Question) -> None:
        assert self.shared is not None
        with self.shared.database.transaction() as writing:
            writing.executemany(_NOTE, asked_rows(question, self.rates))


def asked_rows(question: Question, rates: Rates = _ANY) -> list[tuple[str, str, float]]:
    """The rows that the table holds of a question, by default whichever rates there are."""
    keys = rates.keys(question.author, question.conversation.channel_id)
    return [(_subject(question, key), question.id, question.asked_at) for key in keys]


def _subject(question: Question, key: str) -> str:
    return f"{question.conversation.platform}/{key}"


def open_admission(rates: Rates, storage: Storage) -> Admission | None:
    """Open the admission; None without rates. Raises SettingsError when the store cannot be used."""
    if not rates.longest:
        return None
    if storage.url is None:
        return Admission(rates=rates)
    database = storage.database(STORE, SCHEMA)
    with database.transaction() as writing:
        writing.execute("DELETE FROM asked WHERE at <= ?", (time.time() - max(PERIODS.values()),))
    return Admission(rates=rates, shared=AsyncDatabase(database, storage.threads))

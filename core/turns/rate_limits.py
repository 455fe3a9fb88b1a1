"""Limits on the number of questions of a person and of a channel."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Literal

from core.conversation import value
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
class Refusal:
    """A question beyond a rate."""

    sentence: str
    about: str  #: the limit and the person
    until: float  #: when one more is within the rate, in seconds since the epoch


@dataclass(slots=True, kw_only=True)
class Rates:
    """When each person and each channel asked recently."""

    per_person: Rate | None = None
    per_channel: Rate | None = None
    _asked: dict[str, deque[float]] = field(default_factory=dict)  #: when, by person or channel
    _refused_until: dict[str, float] = field(default_factory=dict)  #: by what the refusal is about

    @property
    def longest(self) -> float:
        """Seconds that a question counts; 0 without limits."""
        return max(
            (rate.seconds for rate in (self.per_person, self.per_channel) if rate is not None), default=0.0
        )

    def admit(self, person: str, channel: str, at: float) -> Refusal | None:
        """Count a question, or refuse it and do not count it.

        ``at`` is when it was asked, in seconds since the epoch: questions that waited for a restart
        of the bot were not asked all at once.
        """
        for key, rate, key_said in self._limited(person, channel):
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
        """Whether a question would be admitted; it is not counted."""
        return not any(self._wait(key, rate, at) > 0 for key, rate, _ in self._limited(person, channel))

    def count(self, person: str, channel: str, at: float) -> None:
        """A question that was admitted, here or by the process before this one."""
        for key in self.keys(person, channel):
            self._asked.setdefault(key, deque()).append(at)

    def keys(self, person: str, channel: str) -> list[str]:
        """Under which their questions are counted."""
        return [key for key, _, _ in self._limited(person, channel)]

    def remember(self, key: str, asked_at: Iterable[float]) -> None:
        """When questions under this key were asked, earliest first."""
        self._asked[key] = deque(asked_at)

    def tell(self, refusal: Refusal, at: float) -> bool:
        """Whether to tell the person: once until the time at which they may ask again."""
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

    def _limited(self, person: str, channel: str) -> list[tuple[str, Rate, str]]:
        counted = (
            (f"p/{person}", self.per_person, "person_asked_enough"),
            (f"c/{channel}", self.per_channel, "channel_asked_enough"),
        )
        return [(key, rate, said) for key, rate, said in counted if rate is not None]

    def _wait(self, key: str, rate: Rate, at: float) -> float:
        """Seconds until one more is within the rate."""
        if len(self._asked) > REMEMBERED:
            self._drop_inactive(at)
        asked = self._asked.get(key, deque())
        while asked and asked[0] <= at - rate.seconds:
            asked.popleft()
        # Questions with later times were asked before the clock was set back, and do not count here.
        recent = [before for before in asked if at - rate.seconds < before <= at]
        return recent[-rate.count] + rate.seconds - at if len(recent) >= rate.count else 0.0

    def _drop_inactive(self, at: float) -> None:
        silent = at - self.longest
        self._asked = {key: asked for key, asked in self._asked.items() if asked and asked[-1] > silent}


_PERIODS_SAID: Mapping[Period, str] = {"minute": "within_minute", "hour": "within_hour", "day": "within_day"}


def _in_words(seconds: float) -> Sentence:
    if seconds > 1.5 * 3_600.0:
        return Sentence("hours", count=ceil(seconds / 3_600.0))
    if seconds > 1:
        return Sentence("minutes", count=ceil(seconds / 60.0) if seconds > 1.5 * 60.0 else 1)
    return Sentence("second")

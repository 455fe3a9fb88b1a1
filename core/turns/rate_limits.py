"""How many questions people may ask in a while."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Literal

from core.conversation import value
from core.wording import Sentence

Period = Literal["minute", "hour", "day"]

PERIODS: Mapping[str, float] = {"minute": 60.0, "hour": 3_600.0, "day": 86_400.0}  # seconds
REMEMBERED = 10_000  # people and channels that are counted before those who are long silent are let go


@value
class Rate:
    """At most so many within any stretch of such a length."""

    count: int
    period: Period

    @property
    def seconds(self) -> float:
        return PERIODS[self.period]


@value
class Refusal:
    """A question beyond a rate."""

    sentence: str
    about: str  #: who was refused, by the limit of whom or what
    until: float  #: when one more is within the rate, in seconds since the epoch


@dataclass(slots=True, kw_only=True)
class Rates:
    """What was asked lately, by whom and where."""

    per_person: Rate | None = None
    per_channel: Rate | None = None
    _asked: dict[str, deque[float]] = field(default_factory=dict)  #: when, by person or channel
    _told: dict[str, float] = field(default_factory=dict)  #: until when, by what a refusal is about

    @property
    def longest(self) -> float:
        """Seconds that a question counts; 0 where nothing is limited."""
        return max(
            (rate.seconds for rate in (self.per_person, self.per_channel) if rate is not None), default=0.0
        )

    def admit(self, person: str, channel: str, at: float) -> Refusal | None:
        """None, and the question counts; or why it is refused, and it does not.

        ``at`` is when it was asked, in seconds since the epoch: what waited for the bot to come back
        was not asked all at once.
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

    def count(self, person: str, channel: str, at: float) -> None:
        """A question that was admitted, here or by the process before this one."""
        for key, _, _ in self._limited(person, channel):
            self._asked.setdefault(key, deque()).append(at)

    def tell(self, refusal: Refusal, at: float) -> bool:
        """True once for each stretch of refusal: whoever was told when to ask again is not told before then."""
        until = self._told.get(refusal.about, 0.0)
        was_told = until - self.longest <= at < until  # not by a clock that was set back since
        if was_told:
            return False
        if len(self._told) > REMEMBERED:
            self._told = {about: then for about, then in self._told.items() if then > at}
        self._told[refusal.about] = refusal.until
        return True

    def was_not_told(self, refusal: Refusal) -> None:
        """What could not be said is said the next time."""
        self._told.pop(refusal.about, None)

    def _limited(self, person: str, channel: str) -> list[tuple[str, Rate, str]]:
        counted = (
            (f"p/{person}", self.per_person, "person_asked_enough"),
            (f"c/{channel}", self.per_channel, "channel_asked_enough"),
        )
        return [(key, rate, said) for key, rate, said in counted if rate is not None]

    def _wait(self, key: str, rate: Rate, at: float) -> float:
        """Seconds until one more is within the rate."""
        if len(self._asked) > REMEMBERED:
            self._let_go(at)
        asked = self._asked.get(key, deque())
        while asked and asked[0] <= at - rate.seconds:
            asked.popleft()
        # What was asked later than this, by a clock that was since set back, says nothing of this stretch.
        recent = [before for before in asked if at - rate.seconds < before <= at]
        return recent[-rate.count] + rate.seconds - at if len(recent) >= rate.count else 0.0

    def _let_go(self, at: float) -> None:
        silent = at - self.longest
        self._asked = {key: asked for key, asked in self._asked.items() if asked and asked[-1] > silent}


_PERIODS_SAID: Mapping[Period, str] = {"minute": "within_minute", "hour": "within_hour", "day": "within_day"}


def _in_words(seconds: float) -> Sentence:
    if seconds > 1.5 * 3_600.0:
        return Sentence("hours", count=ceil(seconds / 3_600.0))
    if seconds > 1:
        return Sentence("minutes", count=ceil(seconds / 60.0) if seconds > 1.5 * 60.0 else 1)
    return Sentence("second")

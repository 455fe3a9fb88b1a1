"""Figures: the numbers, dates and times of a sentence, each with what it counts."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self

from core.conversation import value
from core.grounding.quantities import PERCENT, quantity_at, vocabulary

AHEAD = 3  # words behind a number in which its unit may stand, as in "ten business days"
BEFORE = 28  # characters before a number in which "at least" may stand
SPAN = "span"  # what every length of time counts

#: Days of each unit of time.
DAYS: Mapping[str, float] = {
    "s": 1 / 86_400, "min": 1 / 1_440, "h": 1 / 24, "days": 1.0, "weeks": 7.0, "months": 30.0, "quarters": 91.0,
    "years": 365.0,
}  # fmt: skip
_UNITS: Mapping[str, str] = {
    "second": "s", "minute": "min", "hour": "h", "hr": "h", "hrs": "h", "day": "days", "week": "weeks", "percent": PERCENT,
    "month": "months", "year": "years", "weekday": "days", "workday": "days", "mins": "min", "secs": "s",
    "quarter": "quarters", "quarters": "quarters",
}  # fmt: skip
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_PART = re.compile(r"[^\W\d_]+")
_CAPITAL = re.compile(r"(?<!\w)[A-Z][^\W\d_]+")
_CLOCK = re.compile(r"(?<![\w:.])(\d{1,2})(?::(\d\d))?\s?(?:([ap])\.?m\b\.?|(?<=:\d\d)(?!\d))", re.IGNORECASE)
_ISO = re.compile(r"(?<!\d)(\d{4})-(\d\d)-(\d\d)(?!\d)")
_SLASHED = re.compile(r"(?<![\d/])(\d{1,2})/(\d{1,2})(?:/(\d{2,4}))?(?![\d/])")
_YEAR = re.compile(r"(?<![\w.,$-])(?:19|20)\d\d(?![\w%]|[.,]\d|-\d)")
_VERSION = re.compile(r"\b([A-Z][\w.+]*[A-Za-z]|[Vv]ersions?)[ \xa0](?:version\s)?v?(\d+(?:\.\d+)+)")
#: Numbers that name a place and count nothing: "section 3", "(2)", "step 4", "3rd".
_NAMED = re.compile(
    r"(?i)(?:[§#(]|\b(?:section|chapter|step|topic|lesson|module|goal|part|figure|table|page|item|no|rfc|issue|level|phase|option|form|gs|title|"
    r"type|tier|example|number|circular|omb|grade|room|suite|floor|zone|band)s?\.?)[\s-]*\Z",
)
#: Before a number that is a part of a name: "SF-182", "the tab Data 1".
_LABEL = re.compile(r"[A-Za-z]-\Z|\w\W+[A-Z][a-z]{3,}[ \xa0]\Z")
#: The other numbers of "8, 9 or 10 hours", which have the unit of the last.
_FURTHER = re.compile(r"(?:\s?(?:,|-|–|/|\bto\b|\bor\b|\band\b)\s*(?:(?:or|and)\s)?[\d.,]*\d)+")
_EACH = re.compile(r"(?i)\s*(?:each|per|a|an|every|in an?|of each|of an?)\s(?:\w+\s){0,2}?(\w+?)s?\b")
_AT_LEAST = re.compile(
    r"(?i)\b(?:at least|minimum(?: of)?|no (?:less|fewer) than|more than|over|exceeds?|above|mindestens)\s*\Z",
)
_AT_MOST = re.compile(
    r"(?i)\b(?:at most|up to|maximum(?: of)?|no more than|less than|under|below|not exceed|höchstens)\s*\Z",
)

FigureKind = Literal["number", "date"]


@value
class StatedValue:
    """A number or a date of a sentence."""

    kind: FigureKind
    #: What it counts: SPAN, a unit, the first letters of a noun, "day", "weekday", "clock", "year".
    counts: str
    worth: float
    unit: str = ""  #: as far as it has one
    per: str = ""  #: for each which time: "days" of "8 hours a day"
    bound: Literal["", "least", "most"] = ""
    written: str = ""
    start: int  #: characters into the sentence
    end: int  #: after its unit

    @property
    def digits(self) -> float:
        """The number as it is written: 2 of "two weeks"."""
        return round(self.worth / DAYS.get(self.unit, 1.0), 6)

    def agrees(self, other: Self) -> bool:
        """True if both may be the same; of lengths of time in other units, roughly."""
        if self.per != other.per:
            # Of other times: not compared.
            return bool(self.worth != other.worth or not (self.per and other.per))
        near = 0.12 if self.counts == SPAN and self.unit != other.unit else 1e-9
        return abs(self.worth - other.worth) <= near * max(abs(self.worth), abs(other.worth), 1e-12)


@cache
def words() -> Mapping[str, Any]:
    return tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))


@cache
def _calendar() -> tuple[Mapping[str, int], Mapping[str, int], re.Pattern[str], Mapping[str, int]]:
    """Months and weekdays by their names, the pattern of a day in a month, and number words."""
    months = {name: n for n, names in enumerate(words()["months"], start=1) for name in names.split()}
    weekdays = {name: n for n, names in enumerate(words()["weekdays"], start=1) for name in names.split()}
    named = "|".join(sorted(months, key=len, reverse=True))
    # "may 5" is a month only with a capital, which every other month has too.
    pattern = re.compile(
        rf"\b(?P<m1>{named})\.?\s(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)(?:,?\s(?P<y1>(?:19|20)\d\d))?"
        rf"|\b(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\.?\s(?:of\s)?(?P<m2>{named})\b(?:,?\s(?P<y2>(?:19|20)\d\d))?",
        re.IGNORECASE,
    )
    numbers = {word: n for n, word in enumerate(words()["numbers"].split())}
    numbers |= {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90}
    return months, weekdays, pattern, numbers


def figures_in(text: str, language: str = "en") -> tuple[StatedValue, ...]:
    """The figures of a sentence without code, in reading order."""
    found, taken = list[StatedValue](), list[tuple[int, int]]()
    for each in (*_dates(text), *_versions(text), *_numbers(text, language)):
        if not any(each.start < end and start < each.end for start, end in taken):
            found.append(replace(each, written=text[each.start : each.end].strip()))
            taken.append((each.start, each.end))
    return tuple(sorted(found, key=lambda each: each.start))


def _dates(text: str) -> Iterator[StatedValue]:
    months, weekdays, named, _ = _calendar()
    for each in named.finditer(text):
        month, day = each["m1"] or each["m2"], each["d1"] or each["d2"]
        if month[0].isupper() and int(day) <= 31:
            yield _date("day", 100 * months[month.lower()] + int(day), each)
    for each in _ISO.finditer(text):
        yield _date("day", 100 * int(each[2]) + int(each[3]), each)
    for each in _SLASHED.finditer(text):
        # Else a ratio, or part of an address: it counts nothing.
        is_day = each[3] and int(each[1]) <= 12
        counts = "day" if is_day else f"slash {each[0]}"
        yield _date(counts, 100 * int(each[1]) + int(each[2]) if is_day else 0, each)
    for each in _CLOCK.finditer(text):
        half = (each[3] or "").lower()
        if half or each[2]:
            hour = int(each[1]) % 12 + 12 * (half == "p") if half else int(each[1])
            yield _date("clock", 60 * hour + int(each[2] or 0), each)
    yield from (_date("year", int(each[0]), each) for each in _YEAR.finditer(text))
    for each in _CAPITAL.finditer(text):
        name = each[0].lower()
        if name in weekdays:
            yield _date("weekday", weekdays[name], each)
        elif name in months and len(name) > len("may"):
            yield _date("month", months[name], each)


def _date(counts: str, worth: float, found: re.Match[str]) -> StatedValue:
    return StatedValue(kind="date", counts=counts, worth=worth, start=found.start(), end=found.end())


def _versions(text: str) -> Iterator[StatedValue]:
    months, *_ = _calendar()
    for each in _VERSION.finditer(text):
        if each[1].lower() not in months and not _NAMED.fullmatch(f"{each[1]} "):
            numbers = [int(part) for part in each[2].split(".")[:3]]
            worth = sum(part * 1000.0 ** (2 - index) for index, part in enumerate(numbers))
            counts = f"version of {each[1].lower().rstrip('s')}"
            yield StatedValue(kind="number", counts=counts, worth=worth, start=each.start(2), end=each.end())


def _numbers(text: str, language: str) -> Iterator[StatedValue]:
    *_, numbers = _calendar()
    for each in vocabulary().number.finditer(text):
        quantity = quantity_at(text, each.start())
        before = text[max(0, each.start() - BEFORE) : each.start()]
        if quantity is None or re.match(r"(?:st|nd|rd|th)\b|-?[A-Za-z]?\d", text[each.end() :]):
            continue
        # German writes every noun like a name.
        if not (_NAMED.search(before) or (language != "de" and _LABEL.search(before))):
            worth = float(max(quantity.readings).scaleb(quantity.scale))
            yield from _name_count(text, worth, quantity.unit, each.start(), each.end())
    for each in _PART.finditer(text):
        number = numbers.get(each[0].lower())
        if number is not None and not _NAMED.search(text[max(0, each.start() - BEFORE) : each.start()]):
            counted = list(_name_count(text, float(number), "", each.start(), each.end()))
            # "one" is mostly no number, and neither is "zero trust"
            yield from (figure for figure in counted if number > 1 or figure.counts == SPAN)


def _name_count(text: str, worth: float, unit: str, start: int, end: int) -> Iterator[StatedValue]:
    """The number with what it counts: the unit behind it, else the word."""
    before = text[max(0, start - BEFORE) : start]
    bound: Literal["", "least", "most"] = (
        "least" if _AT_LEAST.search(before) else "most" if _AT_MOST.search(before) else ""
    )
    noun = ""
    if not unit:
        further = _FURTHER.match(text, end)
        behind = further.end() if further else end
        for index, word in enumerate(_WORD.finditer(text, behind)):
            if index >= AHEAD or re.search(r"[.,;:()]", text[behind : word.start()]):
                break
            name = word[0].lower()
            name = name.rstrip("s") if name.rstrip("s") in _UNITS else name
            if name in _UNITS or word[0].lower() in vocabulary().units:
                unit = _UNITS.get(name) or vocabulary().units[word[0].lower()]
                end = end if further else word.end()
                break
            noun = noun or name[:6]
    each = _EACH.match(text, end)
    per = _UNITS.get(each[1].lower(), "") if each else ""
    named: dict[str, Any] = {"bound": bound, "start": start, "end": end, "per": per}
    if unit in DAYS:
        yield StatedValue(kind="number", counts=SPAN, worth=worth * DAYS[unit], unit=unit, **named)
    elif unit or noun:
        yield StatedValue(kind="number", counts=unit or noun, worth=worth, unit=unit, **named)

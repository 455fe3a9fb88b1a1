"""The sentences that people read, in their language.

A package has one TOML file for each language: ``key = "Words with a {placeholder}."``. Where the words depend
on a count there are two: ``key = {one = "1 page", other = "{count} pages"}``.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Any, Self

LANGUAGES = ("en", "de", "fr", "es", "pt", "ja")  # ISO 639-1; other languages get the first
LOCALES = Path(__file__).with_name("locales")


@dataclass(frozen=True, slots=True)
class Wording:
    """The sentences of one language; call it with a key and the values of its placeholders."""

    language: str
    entries: Mapping[str, Any]

    def __call__(self, key: str, /, **values: object) -> str:
        entry = self.entries[key]
        if isinstance(entry, Mapping):
            entry = entry["one" if values["count"] in self.entries["counted_as_one"] else "other"]
        return str(entry.format_map({name: self._write(each) for name, each in values.items()}))

    def date(self, day: date) -> str:
        """ "12 Mar 2026"."""
        months: list[str] = self.entries["months"]
        return self("date", day=str(day.day), month=months[day.month - 1], year=str(day.year))

    def day(self, moment: float) -> str:
        """The day of a moment, in seconds since the epoch. In UTC, the same for everybody."""
        return self.date(datetime.fromtimestamp(moment, UTC).date())

    def number(self, number: float) -> str:
        """ "1,024" of a whole one, else "2.1"."""
        if isinstance(number, int):
            return f"{number:,}".replace(",", self.entries["thousands"])
        return f"{number:g}".replace(".", self.entries["decimal"])

    def _write(self, value: object) -> str:
        if isinstance(value, Sentence):
            return self(value.key, **value.values)
        return self.number(value) if isinstance(value, int | float) else str(value)


@cache
def wording(language: str, *others: Path) -> Wording:
    """The sentences of core and of the given folders."""
    name = language if language in LANGUAGES else LANGUAGES[0]
    entries: dict[str, Any] = {}
    for folder in (LOCALES, *others):
        entries |= tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8"))
    return Wording(language=name, entries=entries)


class Sentence(str):
    """A sentence in English that :func:`in_language` can say in another language."""

    __slots__ = ("key", "values")
    key: str
    values: Mapping[str, object]

    def __new__(cls, key: str, /, **values: object) -> Self:
        made = super().__new__(cls, wording(LANGUAGES[0])(key, **values))
        made.key, made.values = key, values
        return made

    def __deepcopy__(self, _memo: object) -> Self:
        return self  # it never changes; without this, records of values could not be made


def in_language(words: str, language: str) -> str:
    """A Sentence in this language; any other text as it is."""
    return wording(language)(words.key, **words.values) if isinstance(words, Sentence) else words


def clock(moment: float) -> str:
    """Seconds since the epoch -> local "14:05"."""
    return datetime.fromtimestamp(moment, UTC).astimezone().strftime("%H:%M")

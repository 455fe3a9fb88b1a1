"""The sentences that people read, in their language.

Beside the code of a package stands one table a language, as TOML: ``key = "Words with a {placeholder}."``.
Where a count changes the words there are two: ``key = {one = "1 page", other = "{count} pages"}``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Any, Self

LANGUAGES = ("en", "de", "fr", "es", "pt", "ja")  # ISO 639-1; any other is answered in the first
LOCALES = Path(__file__).with_name("locales")


@dataclass(frozen=True, slots=True)
class Wording:
    """What is said in one language: called with a key, and what its placeholders stand for."""

    language: str
    entries: Mapping[str, Any]

    def __call__(self, key: str, /, **given: object) -> str:
        entry = self.entries[key]
        if isinstance(entry, Mapping):
            entry = entry["one" if given["count"] in self.entries["counted_as_one"] else "other"]
        return str(entry.format_map({name: self._written(each) for name, each in given.items()}))

    def date(self, day: date) -> str:
        """ "12 Mar 2026"."""
        months: list[str] = self.entries["months"]
        return self("date", day=str(day.day), month=months[day.month - 1], year=str(day.year))

    def number(self, number: float) -> str:
        """ "1,024" of a whole one, else "2.1"."""
        if isinstance(number, int):
            return f"{number:,}".replace(",", self.entries["thousands"])
        return f"{number:g}".replace(".", self.entries["decimal"])

    def _written(self, given: object) -> str:
        if isinstance(given, Sentence):
            return self(given.key, **given.given)
        return self.number(given) if isinstance(given, int | float) else str(given)


@cache
def wording(language: str, *others: Path) -> Wording:
    """The sentences of this package, and of the folders beside it."""
    name = language if language in LANGUAGES else LANGUAGES[0]
    entries: dict[str, Any] = {}
    for folder in (LOCALES, *others):
        entries |= tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8"))
    return Wording(language=name, entries=entries)


class Sentence(str):
    """A sentence of ours in English, which :func:`in_language` says in another language."""

    __slots__ = ("given", "key")
    key: str
    given: Mapping[str, object]

    def __new__(cls, key: str, /, **given: object) -> Self:
        made = super().__new__(cls, wording(LANGUAGES[0])(key, **given))
        made.key, made.given = key, given
        return made


def in_language(words: str, language: str) -> str:
    """A sentence of ours in this language; other words as they are."""
    return wording(language)(words.key, **words.given) if isinstance(words, Sentence) else words


def clock(moment: float) -> str:
    """Seconds since the epoch -> local "14:05"."""
    return datetime.fromtimestamp(moment, UTC).astimezone().strftime("%H:%M")

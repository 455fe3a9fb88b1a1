"""Lists of several pages, read to their ends.

What was read of a list is kept until its space is done: a list of a hundred pages that is asked to wait at the last
one goes on there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode

from core.sources.confluence.client import ConfluenceClient, Json, RecordRefused
from core.sources.source import SourceUnavailable

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ListWalk:
    """The lists of one Confluence."""

    client: ConfluenceClient
    _read: dict[str, tuple[list[Any], str | None]] = field(default_factory=dict)  #: entries and next, by path

    async def all(self, path: str, asked: Mapping[str, str | int], entry: Callable[[Json], T]) -> list[T]:
        """The entries of a list. SourceUnavailable where it may not be read: what it has is not gone."""
        try:
            return await self.all_if_shown(path, asked, entry)
        except RecordRefused as refused:
            raise SourceUnavailable(
                f"{self.client.address.host} does not let this account read {path}."
            ) from refused

    async def all_if_shown(
        self, path: str, asked: Mapping[str, str | int], entry: Callable[[Json], T]
    ) -> list[T]:
        """The same. RecordRefused where it may not be read."""
        found, at = list[T](), f"{path}?{urlencode(asked)}"
        link: str | None = at
        seen = set[str]()
        while link is not None:
            if link in seen:
                raise SourceUnavailable(f"A list of {self.client.address.host} goes round in a circle.")
            seen.add(link)
            if (key := f"{at} {link}") not in self._read:
                self._read[key] = await self._page(link, entry)
            entries, link = self._read[key]
            found += entries
        return found

    async def _page(self, link: str, entry: Callable[[Json], T]) -> tuple[list[T], str | None]:
        try:
            answer = await self.client.get(link)
            following = self.client.next_of(answer)
            entries = [entry(each) for each in answer.get("results") or ()]
            return entries, None if following is None else _completed(following, link)
        except (KeyError, TypeError, ValueError, AttributeError) as strange:
            raise SourceUnavailable(
                f"{self.client.address.host} answers in a form that is not known."
            ) from strange

    def is_long(self, path: str, asked: Mapping[str, str | int]) -> bool:
        """Whether a list that was read has several pages."""
        at = f"{path}?{urlencode(asked)}"
        return self._read[f"{at} {at}"][1] is not None

    def forget(self) -> None:
        self._read.clear()


def _completed(link: str, before: str) -> str:
    """A link to a next page, which need not repeat everything that was asked for."""
    path, _, query = link.partition("?")
    asked = dict(parse_qsl(before.partition("?")[2], keep_blank_values=True))
    named = dict(parse_qsl(query, keep_blank_values=True))
    if "cursor" in named or "start" in named:
        asked = {name: text for name, text in asked.items() if name not in ("cursor", "start")}
    return f"{path}?{urlencode(asked | named)}"

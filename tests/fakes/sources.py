"""A source of our own that keeps the port's contract: pages, a feed of changes, and what it is told to fail at."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from core.sources.source import (
    CursorExpired,
    ItemChanged,
    ItemGone,
    SourceBatch,
    SourceContext,
    SourceItem,
    SourceKind,
)

ADDRESS = "shelf://harbour"
PAGE = 4  # items of a batch


@dataclass
class Shelf:
    """A wiki in memory. A cursor is the number of changes seen, or of a listing's items: "listing 6 of 2"."""

    texts: dict[str, str] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    dates: dict[str, float] = field(
        default_factory=dict
    )  #: of the last change; by default the version's number
    feed: list[str] = field(default_factory=list)  #: ids, as they changed
    forgets_before: int = 0  #: cursors older than this have expired
    restricted: dict[str, frozenset[str]] = field(default_factory=dict)
    faults: dict[str, list[BaseException]] = field(default_factory=dict)  #: of the next fetches, by id
    page_faults: dict[int, BaseException] = field(default_factory=dict)  #: of the next listing, by batch
    total: int | None = None  #: that a listing tells
    before_fetch: Callable[[str], None] = lambda _id: None
    fetched: list[str] = field(default_factory=list)
    tells_changes: bool = True  #: whether a fetch looks at who may read the page by then
    at_once: int = 0
    most_at_once: int = 0

    def write(self, **texts: str) -> None:
        for name, text in texts.items():
            self.texts[name] = text
            self.versions[name] = self.versions.get(name, 0) + 1
            self.feed.append(name)

    def restrict(self, readers: frozenset[str] | None, *names: str) -> None:
        """Let these people alone read some pages, which stay as they are; None: everybody."""
        for name in names:
            if readers is None:
                self.restricted.pop(name, None)
            else:
                self.restricted[name] = readers
            self.feed.append(name)

    def remove(self, *names: str) -> None:
        for name in names:
            del self.texts[name]
            self.feed.append(name)

    def save(self, file: Path) -> None:
        """What is in it, for another process; wholly or not at all."""
        restricted = {name: sorted(readers) for name, readers in self.restricted.items()}
        new = file.with_suffix(".new")
        new.write_text(json.dumps([self.texts, self.versions, self.feed, restricted, self.forgets_before]))
        new.replace(file)

    @classmethod
    def saved(cls, file: Path) -> Shelf:
        texts, versions, feed, restricted, forgets_before = json.loads(file.read_text())
        return cls(
            texts=texts, versions=versions, feed=feed, forgets_before=forgets_before,
            restricted={name: frozenset(readers) for name, readers in restricted.items()},
        )  # fmt: skip

    @property
    def kinds(self) -> dict[str, SourceKind]:
        @asynccontextmanager
        async def open_shelf(_address: str, _context: SourceContext) -> AsyncIterator[Shelf]:
            yield self

        return {
            "shelf": SourceKind(
                prefixes=("shelf://",), canonical=str, label=lambda address: address[8:], open=open_shelf
            )
        }

    def item(self, name: str) -> SourceItem:
        return SourceItem(
            id=f"{name}.md",
            version=str(self.versions[name]),
            name=f"{name}.md",
            source=f"harbour/{name}.md",
            url=f"https://github.com/harbour/wiki/blob/{len(self.feed)}/{name}.md",
            changed_at=self.dates.get(name, float(self.versions[name])),
            readers=self.restricted.get(name),
        )

    async def changes(self, cursor: str | None) -> AsyncGenerator[SourceBatch, None]:
        if cursor is not None and not cursor.startswith("listing"):
            seen = int(cursor)
            if seen < self.forgets_before:
                raise CursorExpired("too old")
            names = list(dict.fromkeys(self.feed[seen:]))
            yield SourceBatch(
                items=[self.item(name) for name in names if name in self.texts],
                gone=[f"{name}.md" for name in names if name not in self.texts],
                cursor=str(len(self.feed)),
            )
            return
        begin, at = (0, len(self.feed)) if cursor is None else map(int, cursor.split()[1::2])
        names = sorted(self.texts)
        for number, first in enumerate(range(begin, len(names), PAGE)):
            if (fault := self.page_faults.pop(number, None)) is not None:
                raise fault
            part = [self.item(name) for name in names[first : first + PAGE] if name in self.texts]
            yield SourceBatch(items=part, total=self.total, cursor=f"listing {first + PAGE} of {at}")
        yield SourceBatch(cursor=str(at))

    async def prepare(self, items: Sequence[SourceItem]) -> None:
        pass

    async def fetch(self, item: SourceItem) -> bytes:
        name = item.id.removesuffix(".md")
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(0)  # as a real one waits for its network
            self.before_fetch(name)
            if self.faults.get(name):
                raise self.faults[name].pop(0)
            if name not in self.texts:
                raise ItemGone(f"{name} is gone.")
            self.fetched.append(name)
            data = self.texts[name].encode()
            if self.tells_changes and self.restricted.get(name) != item.readers:
                raise ItemChanged(f"Others may read {name} now.", item=self.item(name))
            return data
        finally:
            self.at_once -= 1

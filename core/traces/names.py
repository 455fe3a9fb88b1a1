"""Names of people and channels beside their ids: for operators, who cannot tell an id.

A name is noted where an adapter reads it anyway, and where an operator looks at an id without one. It goes when
nothing is logged any more of whom it belongs to.
"""

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

from core.conversation import value
from core.errors import StoreUnavailable
from core.storage.database import AsyncDatabase, Connection, rows_among

logger = logging.getLogger(__name__)

NamedKind = Literal["person", "channel"]

TABLES = """
CREATE TABLE IF NOT EXISTS shown_names (
    kind TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (kind, id)
);
"""
_NOTE = "INSERT INTO shown_names VALUES (?, ?, ?) ON CONFLICT (kind, id) DO UPDATE SET name = excluded.name"
_FORGET = (
    "DELETE FROM shown_names WHERE kind = 'person' AND id = ? AND NOT EXISTS"
    " (SELECT 1 FROM questions WHERE author = shown_names.id)"
)
_FORGET_CHANNEL = (
    "DELETE FROM shown_names WHERE kind = 'channel' AND id = ? AND NOT EXISTS"
    " (SELECT 1 FROM questions WHERE channel = shown_names.id AND author <> '')"
)
NAME = 80  # characters
REMEMBERED = 10_000  # names that this process knows to be stored


@value
class KnownNames:
    """Names by id; what has none is called by its id."""

    people: Mapping[str, str] = field(default_factory=dict)
    channels: Mapping[str, str] = field(default_factory=dict)  #: by platform/space/channel

    def person(self, known: str) -> str:
        return self.people.get(known, known)

    def channel(self, known: str) -> str:
        return self.channels.get(known, known)


@dataclass(slots=True)
class ShownNames:
    """Writes a name when it is new or has changed."""

    database: AsyncDatabase
    _noted: dict[tuple[NamedKind, str], str] = field(default_factory=dict)

    async def note(self, kind: NamedKind, names: Mapping[str, str]) -> None:
        """Names by id; one that is empty, no text or the id itself is none. What cannot be written is lost."""
        # As a platform sent them.
        called = {
            each: name for each, name in names.items() if each and isinstance(name, str) and name != each
        }
        short = [(kind, each, name[:NAME]) for each, name in called.items() if name]
        new = [row for row in short if self._noted.get(row[:2]) != row[2]]
        if not new:
            return
        try:
            await self.database.write_all(_NOTE, new)
        except StoreUnavailable:
            logger.exception("names could not be noted")
            return
        if len(self._noted) > REMEMBERED:
            self._noted.clear()
        self._noted |= {(kind, each): name for kind, each, name in new}

    async def find(self, people: Collection[str], channels: Collection[str]) -> KnownNames:
        """The names that are stored of these people and channels. Raises StoreUnavailable."""
        return KnownNames(
            people=await self._read("person", people), channels=await self._read("channel", channels)
        )

    async def _read(self, kind: NamedKind, ids: Collection[str]) -> dict[str, str]:
        query = "SELECT id, name FROM shown_names WHERE kind = ? AND id {}"
        return dict(await self.database.call(rows_among, self.database.database, query, ids, kind))

    async def channels_called(self, ids: Collection[str]) -> dict[str, str]:
        """The names of channels by ids without a platform, where only one of them has a name."""
        rows = await self.database.rows("SELECT id, name FROM shown_names WHERE kind = 'channel'")
        found: dict[str, list[str]] = {}
        for known, name in rows:
            found.setdefault(known.rpartition("/")[2], []).append(name)
        return {each: found[each][0] for each in ids if len(found.get(each, ())) == 1}

    async def channels(self, limit: int) -> dict[str, str]:
        """Channels that have a name, by platform/space/channel, in the order of their names."""
        query = "SELECT id, name FROM shown_names WHERE kind = 'channel' ORDER BY name, id LIMIT ?"
        return dict(await self.database.rows(query, (limit,)))

    def forget_noted(self) -> None:
        """Forget the noted names: they may be gone from the store."""
        self._noted.clear()


def forget_names(writing: Connection, people: set[str], channels: set[str]) -> None:
    """Delete the names of those about whom nothing is logged any more."""
    writing.executemany(_FORGET, [(each,) for each in sorted(people)])
    writing.executemany(_FORGET_CHANNEL, [(each,) for each in sorted(channels)])

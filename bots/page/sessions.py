"""Who may see the page: links that let one browser in once, and the sessions that they open.

A link and a session are known by their SHA-256 alone: who reads the store can enter nowhere.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil
from typing import Literal

from core.conversation import value
from core.storage.database import AsyncDatabase, Database, Schema
from core.storage.storage import Storage

PageRole = Literal["reader", "editor"]

STORE = "page"
LINK_LIFE = 15 * 60.0  # seconds from when a link is made until it is used
SESSION_LIFE = 30 * 86_400.0  # seconds
TOKEN_BYTES = 32
NAME_LIMIT = 40  # characters of the name that a link is made for

_TABLES = """
CREATE TABLE IF NOT EXISTS page_links (
    digest TEXT PRIMARY KEY, role TEXT NOT NULL, collections TEXT NOT NULL, name TEXT NOT NULL, expires_at REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS page_sessions (
    digest TEXT PRIMARY KEY, role TEXT NOT NULL,
    collections TEXT NOT NULL,  -- a JSON list; null: all
    name TEXT NOT NULL, expires_at REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS page_place (name TEXT PRIMARY KEY, url TEXT NOT NULL);  -- where it was served last
CREATE TABLE IF NOT EXISTS page_turns (
    turn TEXT PRIMARY KEY, conversation TEXT NOT NULL, channel TEXT NOT NULL, said_at REAL NOT NULL,
    content TEXT NOT NULL,             -- the question or the decision, as JSON
    stage TEXT NOT NULL DEFAULT '',    -- what it is doing, as a sentence
    outcome TEXT NOT NULL DEFAULT ''   -- as JSON; empty: it has not ended
);
CREATE INDEX IF NOT EXISTS page_turns_by_conversation ON page_turns (conversation, said_at);
CREATE INDEX IF NOT EXISTS page_turns_by_channel ON page_turns (channel, said_at);
"""
SCHEMA = Schema(
    tables=_TABLES,
    cure="Move it away: `footnote page --link` then lets people in again, and what was asked on the page is gone.",
)
_MOVE = "INSERT INTO page_sessions (digest, role, collections, name, expires_at) VALUES (?, ?, ?, ?, ?)"


@value
class PageLink:
    """A link that lets one browser in."""

    role: PageRole
    name: str  #: of whose it is; the role: nobody said

    @property
    def asks_name(self) -> bool:
        """True if who enters should say who they are: what an editor writes is cited under it."""
        return self.role == "editor" == self.name


@value
class PageSession:
    """Somebody who is in."""

    digest: str  #: of the cookie
    role: PageRole
    collections: frozenset[str] | None  #: what it may read; None: everything
    name: str

    @property
    def is_editor(self) -> bool:
        return self.role == "editor"

    def may_read(self, collections: Iterable[str]) -> bool:
        """True if it may read all of these."""
        return self.collections is None or self.collections.issuperset(collections)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSessions:
    """Raises StoreUnavailable when nothing can be read or written now."""

    database: AsyncDatabase
    now: Callable[[], float] = time.time

    async def make_link(
        self, role: PageRole, *, collections: frozenset[str] | None = None, name: str = ""
    ) -> str:
        """A token that opens one session, once."""
        token = secrets.token_urlsafe(TOKEN_BYTES)
        held = json.dumps(None if collections is None else sorted(collections))
        await self.database.write(
            "INSERT INTO page_links (digest, role, collections, name, expires_at) VALUES (?, ?, ?, ?, ?)",
            (_digest(token), role, held, name[:NAME_LIMIT] or role, self.now() + LINK_LIFE),
        )
        return token

    async def link(self, token: str) -> PageLink | None:
        """None for a link that is used, expired or unknown."""
        query = "SELECT role, name FROM page_links WHERE digest = ? AND expires_at > ?"
        rows = await self.database.rows(query, (_digest(token), self.now()))
        return PageLink(role=rows[0][0], name=rows[0][1]) if rows else None

    async def enter(self, token: str, name: str = "") -> str | None:
        """The cookie of a new session, and the end of the link; None for a link that is used, expired or unknown.

        ``name``: of who enters, where the link names nobody.
        """
        cookie = secrets.token_urlsafe(TOKEN_BYTES)
        is_in = await self.database.call(
            _enter, self.database.database, token, cookie, name[:NAME_LIMIT], self.now()
        )
        return cookie if is_in else None

    async def find(self, cookie: str) -> PageSession | None:
        digest = _digest(cookie)
        rows = await self.database.rows(
            "SELECT role, collections, name FROM page_sessions WHERE digest = ? AND expires_at > ?",
            (digest, self.now()),
        )
        if not rows:
            return None
        role, held, name = rows[0]
        collections = json.loads(held)
        return PageSession(
            digest=digest,
            role=role,
            collections=None if collections is None else frozenset(collections),
            name=name,
        )

    async def leave(self, session: PageSession) -> None:
        await self.database.write("DELETE FROM page_sessions WHERE digest = ?", (session.digest,))

    async def remember_place(self, url: str) -> None:
        """Where a link leads that is made beside."""
        await self.database.write(
            "INSERT INTO page_place VALUES ('page', ?) ON CONFLICT (name) DO UPDATE SET url = excluded.url",
            (url,),
        )

    async def place(self) -> str | None:
        rows = await self.database.rows("SELECT url FROM page_place")
        return rows[0][0] if rows else None


def _enter(database: Database, token: str, cookie: str, typed: str, now: float) -> bool:
    """In one transaction: of two browsers that use a link at once, one comes in."""
    with database.transaction() as writing:
        for table in ("page_links", "page_sessions"):
            writing.execute(f"DELETE FROM {table} WHERE expires_at <= ?", (now,))
        taken = writing.execute(
            "DELETE FROM page_links WHERE digest = ? RETURNING role, collections, name", (_digest(token),)
        ).fetchall()
        for role, collections, name in taken:
            named = (typed or name) if name == role else name
            writing.execute(_MOVE, (_digest(cookie), role, collections, named, now + SESSION_LIFE))
    return bool(taken)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()


@contextmanager
def open_page_store(storage: Storage) -> Iterator[AsyncDatabase]:
    """Raises SettingsError when the store cannot be used."""
    with storage.asynchronous(STORE, SCHEMA) as database:
        yield database


LIMIT = 10  # wrong tries
WITHIN = 60.0  # seconds
REMEMBERED = 10_000  # addresses


@dataclass(slots=True, kw_only=True)
class WrongTries:
    """Counts them by address, in this process."""

    clock: Callable[[], float] = time.monotonic
    _times: dict[str, deque[float]] = field(default_factory=dict)

    def wait(self, address: str) -> int:
        """Seconds until this address may try again; 0: now."""
        times = self._times.get(address)
        if times is None:
            return 0
        now = self.clock()
        while times and times[0] <= now - WITHIN:
            times.popleft()
        if not times:
            del self._times[address]
        return ceil(times[0] + WITHIN - now) if len(times) >= LIMIT else 0

    def count(self, address: str) -> None:
        """One more. Of too many addresses, the one that was first is forgotten."""
        times = self._times.setdefault(address, deque(maxlen=LIMIT))
        times.append(self.clock())
        if len(self._times) > REMEMBERED:
            del self._times[next(iter(self._times))]

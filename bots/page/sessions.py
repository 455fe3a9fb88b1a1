"""Links that let one browser in once, the sessions that they open, and the record of changes on the page.

A link and a session are known by their SHA-256 alone: who reads the store can enter nowhere. The record of changes
holds no words of questions, answers and documents, so that it stays when these are forgotten.
"""

import hashlib
import json
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from math import ceil
from typing import Literal
from uuid import uuid4

from core.conversation import value
from core.storage.database import AsyncDatabase, Database, Row, Schema
from core.storage.storage import Storage

PageRole = Literal["reader", "editor"]

STORE = "page"
LINK_LIFE = 15 * 60.0  # seconds from when a link is made until it is used
SESSION_LIFE = 30 * 86_400.0  # seconds
UNUSED_LIFE = 7 * 86_400.0  # seconds without a look after which a session ends
NOTED_EVERY = 60.0  # seconds between two notes of when a session was used
ID_LENGTH = 12  # of the digest's characters; what operators call a session by
CLIENT_LIMIT = 100  # characters
TOKEN_BYTES = 32
NAME_LIMIT = 40  # characters of the name that a link is made for

_TABLES = """
CREATE TABLE IF NOT EXISTS page_links (
    digest TEXT PRIMARY KEY, role TEXT NOT NULL, collections TEXT NOT NULL, name TEXT NOT NULL, expires_at REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS page_sessions (
    digest TEXT PRIMARY KEY, role TEXT NOT NULL,
    collections TEXT NOT NULL,  -- a JSON list; null: all
    name TEXT NOT NULL, expires_at REAL NOT NULL,
    began_at REAL NOT NULL DEFAULT 0, used_at REAL NOT NULL DEFAULT 0, place TEXT NOT NULL DEFAULT ''
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
CREATE TABLE IF NOT EXISTS page_changes (
    id TEXT PRIMARY KEY, at REAL NOT NULL, who TEXT NOT NULL, session TEXT NOT NULL, did TEXT NOT NULL,
    about TEXT NOT NULL, path TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL,
    collections TEXT NOT NULL  -- that it concerns: a JSON list, or null for all
);
CREATE INDEX IF NOT EXISTS page_changes_by_time ON page_changes (at, id);
CREATE TABLE IF NOT EXISTS page_feedback (  -- the questions whose answers somebody looked at
    turn TEXT PRIMARY KEY, done_at REAL NOT NULL, who TEXT NOT NULL
);
"""
SCHEMA = Schema(
    tables=_TABLES,
    cure="Move it away: `footnote page --link` then lets people in again, and what was asked on the page is gone.",
)
_MOVE = (
    "INSERT INTO page_sessions (digest, role, collections, name, expires_at, began_at, used_at, place)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_COLUMNS = "digest, role, collections, name, began_at, used_at, place"
_GOES_ON = "expires_at > ? AND used_at > ?"


@value
class PageSession:
    """A browser session on the page."""

    digest: str  #: of the cookie
    role: PageRole
    collections: frozenset[str] | None  #: what it may read; None: everything
    name: str
    began_at: float  #: seconds since the epoch
    used_at: float  #: up to a minute later
    client: str  #: that used it last: its browser and address

    @property
    def id(self) -> str:
        """A short id for operators, which opens nothing."""
        return self.digest[:ID_LENGTH]

    @property
    def may_change_all(self) -> bool:
        """True where it edits and reads everything: it ends others' sessions, and changes who reads what."""
        return self.is_editor and self.collections is None

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
        await self.database.write(
            "INSERT INTO page_links (digest, role, collections, name, expires_at) VALUES (?, ?, ?, ?, ?)",
            (_digest(token), role, _kept(collections), name[:NAME_LIMIT] or role, self.now() + LINK_LIFE),
        )
        return token

    async def asks_name(self, token: str) -> bool | None:
        """True if the link names nobody, so the person is asked for a name. None for a link that does not work."""
        query = "SELECT role, name FROM page_links WHERE digest = ? AND expires_at > ?"
        rows = await self.database.rows(query, (_digest(token), self.now()))
        return rows[0] == ("editor", "editor") if rows else None

    async def enter(self, token: str, name: str = "", *, client: str = "") -> str | None:
        """Use up a link; returns the session's cookie, or None for a used or unknown link. ``name``: of the person."""
        cookie = secrets.token_urlsafe(TOKEN_BYTES)
        enter = partial(_enter, typed=name[:NAME_LIMIT], client=client[:CLIENT_LIMIT], now=self.now())
        is_in = await self.database.call(enter, self.database.database, token, cookie)
        return cookie if is_in else None

    async def find(self, cookie: str, *, client: str = "") -> PageSession | None:
        """``client``: what uses it now, which is noted with the time."""
        digest, now = _digest(cookie), self.now()
        rows = await self.database.rows(
            f"SELECT {_COLUMNS} FROM page_sessions WHERE digest = ? AND {_GOES_ON}",
            (digest, now, now - UNUSED_LIFE),
        )
        if not rows:
            return None
        session, client = _session(rows[0]), client[:CLIENT_LIMIT]
        if now - session.used_at > NOTED_EVERY or client != session.client:
            await self.database.write(
                "UPDATE page_sessions SET used_at = ?, place = ? WHERE digest = ?", (now, client, digest)
            )
        return session

    async def listed(self) -> tuple[PageSession, ...]:
        """The sessions that have not ended, the one used last first."""
        now = self.now()
        rows = await self.database.rows(
            f"SELECT {_COLUMNS} FROM page_sessions WHERE {_GOES_ON} ORDER BY used_at DESC, digest",
            (now, now - UNUSED_LIFE),
        )
        return tuple(map(_session, rows))

    async def end(self, *sessions: PageSession) -> None:
        """End these sessions."""
        for session in sessions:
            await self.database.write("DELETE FROM page_sessions WHERE digest = ?", (session.digest,))

    async def remember_url(self, url: str) -> None:
        """Store the page's URL, for links that other commands make."""
        await self.database.write(
            "INSERT INTO page_place VALUES ('page', ?) ON CONFLICT (name) DO UPDATE SET url = excluded.url",
            (url,),
        )

    async def url(self) -> str | None:
        rows = await self.database.rows("SELECT url FROM page_place")
        return rows[0][0] if rows else None


def _session(row: Row) -> PageSession:
    digest, role, collections, name, began_at, used_at, client = row
    return PageSession(
        digest=digest, role=role, collections=_collections(collections),
        name=name, began_at=began_at, used_at=used_at, client=client,
    )  # fmt: skip


def _kept(collections: Iterable[str] | None) -> str:
    """Collections as stored: a JSON list, or null for all."""
    return json.dumps(None if collections is None else sorted(collections))


def _collections(kept: str) -> frozenset[str] | None:
    collections = json.loads(kept)
    return None if collections is None else frozenset(collections)


def _enter(database: Database, token: str, cookie: str, *, typed: str, client: str, now: float) -> bool:
    """Turn a link into a session in one transaction: of two browsers at once, one succeeds."""
    with database.transaction() as writing:
        for table in ("page_links", "page_sessions"):
            writing.execute(f"DELETE FROM {table} WHERE expires_at <= ?", (now,))
        writing.execute("DELETE FROM page_sessions WHERE used_at <= ?", (now - UNUSED_LIFE,))
        taken = writing.execute(
            "DELETE FROM page_links WHERE digest = ? RETURNING role, collections, name", (_digest(token),)
        ).fetchall()
        for role, collections, name in taken:
            named = (typed or name) if name == role else name
            life = (now + SESSION_LIFE, now, now)
            writing.execute(_MOVE, (_digest(cookie), role, collections, named, *life, client))
    return bool(taken)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()


def open_page_store(storage: Storage) -> AbstractContextManager[AsyncDatabase]:
    """Raises SettingsError when the store cannot be used."""
    return storage.asynchronous(STORE, SCHEMA)


_CHANGE_COLUMNS = "at, who, session, did, about, path, before, after, collections, id"


@value
class PageChange:
    """A change that a session made."""

    at: float  #: seconds since the epoch
    who: str  #: the name of the session
    session: str  #: its id
    did: str  #: a verb, as in "retired an answer"
    about: str  #: what it is called
    path: str  #: where it is on the page; empty: nowhere any more
    before: str
    after: str
    collections: frozenset[str] | None  #: that it concerns; None: all of them
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageChanges:
    """Raises StoreUnavailable when nothing can be read or written now."""

    database: AsyncDatabase
    now: Callable[[], float] = time.time

    async def record(
        self, did: str, about: str, *, who: str, session: str, path: str = "", before: str = "", after: str = "",
        collections: Iterable[str] | None = None,
    ) -> None:  # fmt: skip
        await self.database.write(
            f"INSERT INTO page_changes ({_CHANGE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (self.now(), who, session, did, about, path, before, after, _kept(collections), uuid4().hex),
        )

    async def listed(self, *, before: tuple[float, str] | None = None, limit: int) -> tuple[PageChange, ...]:
        """The changes, newest first; ``before``: the time and id of the last one shown."""
        at, last = before or (float("inf"), "")
        rows = await self.database.rows(
            f"SELECT {_CHANGE_COLUMNS} FROM page_changes WHERE at < ? OR (at = ? AND id < ?)"
            " ORDER BY at DESC, id DESC LIMIT ?",
            (at, at, last, limit),
        )
        return tuple(map(_change, rows))


def _change(row: Row) -> PageChange:
    at, who, session, did, about, path, before, after, collections, own = row
    return PageChange(
        at=at, who=who, session=session, did=did, about=about, path=path, before=before, after=after,
        collections=_collections(collections), id=own,
    )  # fmt: skip


#: By what stands in a browser's name of itself; the first that does. All name several.
_BROWSERS = {"Edg/": "Edge", "OPR/": "Opera", "Firefox/": "Firefox", "Chrome/": "Chrome", "Safari/": "Safari"}
_SYSTEMS = {"Android": "Android", "iPhone": "iOS", "iPad": "iPadOS", "Windows": "Windows", "Mac OS": "macOS",
            "CrOS": "ChromeOS", "Linux": "Linux"}  # fmt: skip


def describe_client(agent: str, address: str) -> str:
    """ "Firefox on Linux, 10.0.0.5": the browser and system that a ``User-Agent`` names, and an address."""
    browser, system = (
        next((name for sign, name in known.items() if sign in agent), "") for known in (_BROWSERS, _SYSTEMS)
    )
    named = " on ".join(filter(None, (browser or "another program", system)))
    return f"{named}, {address}" if address else named


LIMIT = 10  # wrong tries
WITHIN = 60.0  # seconds
REMEMBERED = 10_000  # addresses


@dataclass(slots=True, kw_only=True)
class WrongTries:
    """Counts wrong tries by address, in this process."""

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
        """Count a wrong try. With too many addresses, the oldest is forgotten."""
        times = self._times.setdefault(address, deque(maxlen=LIMIT))
        times.append(self.clock())
        if len(self._times) > REMEMBERED:
            del self._times[next(iter(self._times))]

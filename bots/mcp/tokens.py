"""The store of the MCP server: digests of tokens, the key that seals clients' state, and signed requests seen."""

import hashlib
import json
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from bots.mcp.callers import Caller
from core.conversation import value
from core.errors import SettingsError
from core.storage.database import AsyncDatabase, Schema
from core.storage.storage import Storage

STORE = "mcp"
BEARER_PREFIX = "fnt_"  # begins a token, so that scanners of secrets can find it
TOKEN_BYTES = 32
NAME_LIMIT = 40  # characters
LIFE = 90 * 86_400.0  # seconds, of a token for which nothing else is said
NOTED_EVERY = 60.0  # seconds between two notes of when a token was used
SEEN_KEPT = 3_600.0  # seconds; a signed request is too old after five minutes
SCHEMA = Schema(
    tables="""
CREATE TABLE IF NOT EXISTS tokens (
    name TEXT PRIMARY KEY, digest TEXT NOT NULL UNIQUE, caller TEXT NOT NULL,  -- JSON
    stands_for TEXT NOT NULL,  -- as it was typed
    made_at REAL NOT NULL, expires_at REAL NOT NULL, used_at REAL NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS keys (name TEXT PRIMARY KEY, secret TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS seen (request TEXT PRIMARY KEY, at REAL NOT NULL);
CREATE INDEX IF NOT EXISTS seen_at ON seen (at);
""",
    cure="Move it away: tokens must then be made again with `footnote mcp --token`.",
)


@value
class Token:
    """A token as it is listed."""

    name: str
    stands_for: str  #: the person or collection, as it was typed
    expires_at: float  #: seconds since the epoch
    used_at: float  #: 0: never


@dataclass(frozen=True, slots=True, kw_only=True)
class McpStore:
    """Raises StoreUnavailable when nothing can be read or written now."""

    database: AsyncDatabase
    now: Callable[[], float] = time.time

    async def make(self, name: str, caller: Caller, stands_for: str, *, life: float = LIFE) -> str:
        """Make a token, shown only now; SettingsError if the name is taken or invalid."""
        if not name or len(name) > NAME_LIMIT or not name.isprintable():
            raise SettingsError(f"A token's name has 1 to {NAME_LIMIT} printable characters.")
        token, now = f"{BEARER_PREFIX}{secrets.token_urlsafe(TOKEN_BYTES)}", self.now()
        await self.database.write("DELETE FROM tokens WHERE expires_at <= ?", (now,))
        made = await self.database.write(
            "INSERT INTO tokens (name, digest, caller, stands_for, made_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (name) DO NOTHING",
            (name, _digest(token), json.dumps(asdict(caller)), stands_for, now, now + life),
        )
        if made != 1:
            raise SettingsError(f"There is a token {name} already: revoke it first, or choose another name.")
        return token

    async def caller_of(self, token: str) -> Caller | None:
        """The caller of a token; None if it is unknown, revoked or expired."""
        now, digest = self.now(), _digest(token)
        rows = await self.database.rows(
            "SELECT caller, used_at FROM tokens WHERE digest = ? AND expires_at > ?", (digest, now)
        )
        if not rows:
            return None
        if now - rows[0][1] > NOTED_EVERY:
            await self.database.write("UPDATE tokens SET used_at = ? WHERE digest = ?", (now, digest))
        return Caller(**json.loads(rows[0][0]))

    async def listed(self) -> tuple[Token, ...]:
        rows = await self.database.rows(
            "SELECT name, stands_for, expires_at, used_at FROM tokens WHERE expires_at > ? ORDER BY name",
            (self.now(),),
        )
        return tuple(Token(name=row[0], stands_for=row[1], expires_at=row[2], used_at=row[3]) for row in rows)

    async def revoke(self, name: str) -> bool:
        """False if there is no token of this name."""
        return await self.database.write("DELETE FROM tokens WHERE name = ?", (name,)) == 1

    async def key(self, name: str) -> str:
        """A secret that all processes share, made when it is first needed."""
        await self.database.write(
            "INSERT INTO keys VALUES (?, ?) ON CONFLICT (name) DO NOTHING",
            (name, secrets.token_hex(TOKEN_BYTES)),
        )
        ((secret,),) = await self.database.rows("SELECT secret FROM keys WHERE name = ?", (name,))
        return str(secret)

    async def is_first(self, request: str) -> bool:
        """True the first time a signed request arrives, across all processes."""
        now = self.now()
        await self.database.write("DELETE FROM seen WHERE at < ?", (now - SEEN_KEPT,))
        return (
            await self.database.write(
                "INSERT INTO seen VALUES (?, ?) ON CONFLICT DO NOTHING", (_digest(request), now)
            )
            == 1
        )


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()


@contextmanager
def open_mcp_store(storage: Storage) -> Iterator[McpStore]:
    """SettingsError when the store cannot be used."""
    with storage.asynchronous(STORE, SCHEMA) as database:
        yield McpStore(database=database)

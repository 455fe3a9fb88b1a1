"""The tables of what the bot stores about channels and threads, and how older ones become them."""

from __future__ import annotations

from bots.chat.emails import TABLE as EMAILS
from core.storage.database import Connection
from core.storage.schema import Schema

_CHANNELS = """
CREATE TABLE IF NOT EXISTS channels (
    channel TEXT PRIMARY KEY,  -- platform/space/channel
    follow TEXT NOT NULL DEFAULT 'asker',
    reads TEXT NOT NULL DEFAULT 'default'  -- the one collection beside its own; default: all that are open to it
);
"""
_TABLES = """
CREATE TABLE IF NOT EXISTS threads (conversation TEXT PRIMARY KEY, asker TEXT NOT NULL, since REAL NOT NULL);
CREATE TABLE IF NOT EXISTS places (conversation TEXT PRIMARY KEY, place TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS heard (platform TEXT PRIMARY KEY, message INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS handled (id TEXT PRIMARY KEY);  -- commands, and turns that were forgotten
CREATE TABLE IF NOT EXISTS feedback (
    turn TEXT, author TEXT, is_positive INTEGER NOT NULL, given_at REAL NOT NULL,
    PRIMARY KEY (turn, author)
);
"""
_UNASKED = """
CREATE TABLE IF NOT EXISTS unasked (  -- answers to questions that nobody addressed to the bot
    turn TEXT PRIMARY KEY, channel TEXT NOT NULL, answered_at REAL NOT NULL, is_unwanted INTEGER NOT NULL DEFAULT 0
);
"""
_ACCESS = """
CREATE TABLE IF NOT EXISTS access (  -- who may read the operator's collections
    collection TEXT NOT NULL,
    kind TEXT NOT NULL,  -- everyone, channel, person or group; closed: what is open by default is not
    id TEXT NOT NULL,    -- of the platform, or platform/space/id; empty for everyone and for closed
    PRIMARY KEY (collection, kind, id)
);
"""
_PARENTS = """
CREATE TABLE IF NOT EXISTS parents (  -- of channels whose members all read another one too
    channel TEXT PRIMARY KEY, parent TEXT NOT NULL  -- platform/space/channel
);
"""
_OPTED_OUT = """
CREATE TABLE IF NOT EXISTS opted_out (person TEXT PRIMARY KEY);  -- platform/person, whose messages are not read
"""


def _follow_askers(database: Connection) -> None:
    """Version 2: in a channel that chose nothing, only who asked is followed up.

    There, a row with the old default was made by the choice of a collection.
    """
    database.execute("UPDATE channels SET follow = 'asker' WHERE follow = 'thread' AND reads <> 'default'")
    database.execute("ALTER TABLE channels RENAME TO older")
    database.execute(_CHANNELS)
    database.execute("INSERT INTO channels SELECT channel, follow, reads FROM older")
    database.execute("DROP TABLE older")
    database.execute(_UNASKED)


def _rename_words(database: Connection) -> None:
    """Version 3: in one PostgreSQL, a table of the library has that name."""
    database.execute("ALTER TABLE words RENAME TO handled")


def _open_collections(database: Connection) -> None:
    """Version 4: a collection is closed unless it was opened. Channels keep those that they use."""
    database.execute(_ACCESS)
    database.execute(
        "INSERT INTO access SELECT reads, 'channel', channel FROM channels WHERE reads <> 'default'"
    )


def _know_parents(database: Connection) -> None:
    """Version 5: what is open to a channel is open to a private thread in it, which is named with the next message."""
    database.execute(_PARENTS)


def _know_emails(database: Connection) -> None:
    """Version 6: what a source opens to e-mail addresses is open to the people to whom an operator gives them."""
    database.execute(EMAILS)


def _know_opted_out(database: Connection) -> None:
    """Version 7: people may ask not to be read where a channel is a source."""
    database.execute(_OPTED_OUT)


STORE = "rooms"
SCHEMA = Schema(
    tables=_CHANNELS + _TABLES + _UNASKED + _ACCESS + _PARENTS + EMAILS + _OPTED_OUT,
    migrations=(
        _follow_askers,
        _rename_words,
        _open_collections,
        _know_parents,
        _know_emails,
        _know_opted_out,
    ),
    cure="Move it away: channels then have their defaults again, threads are followed up with a mention, "
    "collections other than default are closed, and documents and conversations are not affected.",
)

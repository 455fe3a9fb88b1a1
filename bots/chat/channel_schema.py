"""The tables of what the bot stores about channels and threads."""

from __future__ import annotations

from bots.chat.emails import TABLE as EMAILS
from core.storage.schema import Schema

_TABLES = """
CREATE TABLE IF NOT EXISTS channels (
    channel TEXT PRIMARY KEY,  -- platform/space/channel
    follow TEXT NOT NULL DEFAULT 'asker',
    reads TEXT NOT NULL DEFAULT 'default'  -- the one collection beside its own; default: all that are open to it
);
CREATE TABLE IF NOT EXISTS threads (conversation TEXT PRIMARY KEY, asker TEXT NOT NULL, since REAL NOT NULL);
CREATE TABLE IF NOT EXISTS places (conversation TEXT PRIMARY KEY, place TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS heard (platform TEXT PRIMARY KEY, message INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS handled (id TEXT PRIMARY KEY);  -- commands, and turns that were forgotten
CREATE TABLE IF NOT EXISTS unasked (  -- answers to questions that nobody addressed to the bot
    turn TEXT PRIMARY KEY, channel TEXT NOT NULL, answered_at REAL NOT NULL, is_unwanted INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS access (  -- who may read the operator's collections
    collection TEXT NOT NULL,
    kind TEXT NOT NULL,  -- everyone, channel, person or group; closed: what is open by default is not
    id TEXT NOT NULL,    -- of the platform, or platform/space/id; empty for everyone and for closed
    PRIMARY KEY (collection, kind, id)
);
CREATE TABLE IF NOT EXISTS parents (  -- of channels whose members all read another one too
    channel TEXT PRIMARY KEY, parent TEXT NOT NULL  -- platform/space/channel
);
CREATE TABLE IF NOT EXISTS opted_out (person TEXT PRIMARY KEY);  -- platform/person, whose messages are not read
"""

STORE = "rooms"
SCHEMA = Schema(
    tables=_TABLES + EMAILS,
    cure="Move it away: channels then have their defaults again, threads are followed up with a mention, "
    "collections other than default are closed, and documents and conversations are not affected.",
)

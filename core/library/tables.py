"""The library's tables."""

from __future__ import annotations

from core.errors import IndexDamaged
from core.storage.schema import Schema

#: The scope and the terms of every passage. The text is split into terms before it is inserted,
#: so the tokenizer only has to split at spaces.
WORDS_TABLE = "CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (scope, title, body, tokenize = 'ascii')"

_TABLES = f"""
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS collections (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    collection INTEGER NOT NULL REFERENCES collections(number),
    address TEXT NOT NULL,  -- absolute path or URL
    root TEXT NOT NULL,     -- what was ingested: the folder, the file or the URL
    source TEXT NOT NULL,   -- how people name it
    title TEXT NOT NULL,
    url TEXT,
    hash TEXT NOT NULL,         -- sha256 of the bytes
    size INTEGER NOT NULL,      -- bytes
    modified INTEGER NOT NULL,  -- nanoseconds, as the file system says; 0 for URLs
    passages INTEGER NOT NULL,  -- how many it has
    UNIQUE (collection, address)
);
CREATE INDEX IF NOT EXISTS documents_counted ON documents (collection, passages);  -- before every search
CREATE TABLE IF NOT EXISTS passages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    path TEXT NOT NULL,  -- JSON list of headings
    location TEXT NOT NULL,
    text TEXT NOT NULL,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    embedded INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS passages_of ON passages (document, ordinal);
CREATE INDEX IF NOT EXISTS passages_embedded ON passages (embedded, id);
CREATE TABLE IF NOT EXISTS roots (
    collection TEXT NOT NULL, address TEXT NOT NULL,  -- an ingested folder or file, kept in step from then on
    PRIMARY KEY (collection, address)
);
CREATE TABLE IF NOT EXISTS forgotten (
    collection TEXT NOT NULL, address TEXT NOT NULL,  -- below a root, and not to be read again
    PRIMARY KEY (collection, address)
);
CREATE TABLE IF NOT EXISTS unreadable (
    collection TEXT NOT NULL, address TEXT NOT NULL, source TEXT NOT NULL,
    size INTEGER NOT NULL, modified INTEGER NOT NULL, reason TEXT NOT NULL,
    PRIMARY KEY (collection, address)
);
CREATE TABLE IF NOT EXISTS stale_vectors (passage INTEGER PRIMARY KEY, collection INTEGER NOT NULL);
{WORDS_TABLE};
"""

#: A change of these tables needs a migration. So does a change of what is stored for the same document:
#: how it is cut into passages, or which terms they have.
SCHEMA = Schema(
    tables=_TABLES,
    is_serial=True,
    cure="Run `footnote ingest --rebuild` with your documents.",
    damage=IndexDamaged,
)

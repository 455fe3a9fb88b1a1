"""The library's tables."""

from core.errors import IndexDamaged
from core.library import names
from core.storage.database import Schema

#: The scope and the terms of every passage. The text is split into terms before it is inserted,
#: so the tokenizer only has to split at spaces.
WORDS_TABLE = "CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (scope, title, body, tokenize = 'ascii')"

#: How many passages hold each term, of what the table before has: it stores nothing itself.
WORD_COUNTS = "CREATE VIRTUAL TABLE IF NOT EXISTS word_counts USING fts5vocab (words, 'row')"

_CATALOGUE = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS collections (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    collection INTEGER NOT NULL REFERENCES collections(number),
    address TEXT NOT NULL,  -- absolute path or URL
    root TEXT NOT NULL,     -- what was ingested: the folder, the file, the URL or the source
    source TEXT NOT NULL,   -- how people name it
    title TEXT NOT NULL,
    url TEXT,
    hash TEXT NOT NULL,         -- sha256 of the bytes
    size INTEGER NOT NULL,      -- bytes
    modified INTEGER NOT NULL,  -- nanoseconds, as the file system says; 0 for URLs
    passages INTEGER NOT NULL,  -- how many it has
    included TEXT NOT NULL DEFAULT '[]',  -- JSON list of [path, size, modified] of the files that it includes
    changed_at REAL,            -- seconds since the epoch, as its source says, or it itself; NULL: unknown
    anchors TEXT,               -- JSON list: where each section begins, its name in the URL; NULL: unknown
    seen_at REAL,               -- when a page was last read from the web; NULL: its source knows, or the disk
    UNIQUE (collection, address)
);
CREATE INDEX IF NOT EXISTS documents_counted ON documents (collection, passages);  -- before every search
CREATE INDEX IF NOT EXISTS documents_rooted ON documents (root, address);
CREATE TABLE IF NOT EXISTS passages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    path TEXT NOT NULL,  -- JSON list of headings
    location TEXT NOT NULL,
    text TEXT NOT NULL,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    embedded INTEGER NOT NULL DEFAULT 0,
    line INTEGER  -- where it begins in its file, counts from 1; NULL: unknown
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
CREATE TABLE IF NOT EXISTS unreadable (  -- not read, or, where it is among the documents, not wholly
    collection TEXT NOT NULL, address TEXT NOT NULL, source TEXT NOT NULL,
    size INTEGER NOT NULL, modified INTEGER NOT NULL, reason TEXT NOT NULL,
    PRIMARY KEY (collection, address)
);
CREATE INDEX IF NOT EXISTS documents_named ON documents (source);
CREATE TABLE IF NOT EXISTS stale_vectors (passage INTEGER PRIMARY KEY, collection INTEGER NOT NULL);
"""

#: Of the collections that only some people of another one may read, see core/library/readers.py.
_READERS = """
CREATE TABLE IF NOT EXISTS readers (
    collection TEXT NOT NULL,
    reader TEXT NOT NULL,  -- an e-mail address, or @ and a domain
    PRIMARY KEY (collection, reader)
);
CREATE INDEX IF NOT EXISTS readers_found ON readers (reader, collection);
"""

#: What `footnote lint` found: core/lint. A document has another id after each change.
_LINT = """
CREATE TABLE IF NOT EXISTS lint_documents (  -- that were compared with all others
    document INTEGER PRIMARY KEY REFERENCES documents(id) ON DELETE CASCADE,
    rules INTEGER NOT NULL  -- the version of the rules by which they were
);
CREATE TABLE IF NOT EXISTS lint_findings (
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    document INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
    other INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,  -- the same where there is no other
    content TEXT NOT NULL,  -- JSON, with quotes of both
    PRIMARY KEY (id, document, other)
);
CREATE INDEX IF NOT EXISTS lint_findings_of ON lint_findings (document);
CREATE INDEX IF NOT EXISTS lint_findings_beside ON lint_findings (other);
CREATE TABLE IF NOT EXISTS lint_seen (  -- stays when a document changes
    id TEXT PRIMARY KEY,
    found_at REAL NOT NULL,  -- seconds since the epoch
    verdict TEXT NOT NULL DEFAULT ''  -- of a model; empty: it was not asked
);
"""

#: The lexical index in PostgreSQL. Four bytes for a term and for a document make a row a quarter smaller.
_POSTINGS = """
CREATE TABLE IF NOT EXISTS terms (
    id INT4 GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    collection INTEGER NOT NULL,
    term TEXT NOT NULL,
    held INTEGER NOT NULL,  -- passages of the collection with the term
    UNIQUE (collection, term)
) WITH (fillfactor = 70);  -- room beside each row: its count changes with every document
CREATE TABLE IF NOT EXISTS postings (
    term INT4 NOT NULL,
    document INT4 NOT NULL,
    passage INTEGER NOT NULL,
    weight FLOAT4 NOT NULL,  -- what the term adds to the passage's BM25, but for its rarity
    PRIMARY KEY (term, document, passage) INCLUDE (weight)
);
CREATE TABLE IF NOT EXISTS passage_terms (
    passage INTEGER PRIMARY KEY,
    document INTEGER NOT NULL,
    collection INTEGER NOT NULL,
    language TEXT NOT NULL,
    title TEXT NOT NULL,  -- terms, separated by spaces
    body TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS passage_terms_of ON passage_terms (document);
CREATE INDEX IF NOT EXISTS terms_across ON terms (term, collection);  -- for one term in hundreds of collections
CREATE INDEX IF NOT EXISTS documents_at ON documents (address);
"""


#: A change of these tables needs a migration. So does a change of what is stored for the same document:
#: how it is cut into passages, or which terms they have.
SCHEMA = Schema(
    tables=f"{_CATALOGUE}{names.TABLES}{_READERS}{_LINT}{WORDS_TABLE};{WORD_COUNTS};",
    postgresql=_CATALOGUE + names.TABLES + _READERS + _LINT + _POSTINGS,
    is_serial=True,
    cure="Run `footnote ingest --rebuild` with your documents.",
    damage=IndexDamaged,
)

#: What forgetting deletes from.
ERASED = (
    "documents", "document_names", "passages", "stale_vectors", "terms", "postings", "passage_terms", "readers",
    "lint_findings",
)  # fmt: skip

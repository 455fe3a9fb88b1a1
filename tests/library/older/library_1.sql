-- A library of version 1: the same, one file forgotten below its root.
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO "meta" ("key", "value") VALUES ('index_version', '1.1.2');
CREATE TABLE collections (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
INSERT INTO "collections" ("number", "name") VALUES (1, 'default');
CREATE TABLE documents (
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
INSERT INTO "documents" ("id", "collection", "address", "root", "source", "title", "url", "hash", "size", "modified", "passages") VALUES (2, 1, '{docs}/ferry.md', '{docs}', 'docs/ferry.md', 'Ferry timetable', NULL, '785a20f030917fd5951ef6af5b9416ce371789c9f876567af9864589c2d09c64', 187, 1795327791028546136, 2);
INSERT INTO "documents" ("id", "collection", "address", "root", "source", "title", "url", "hash", "size", "modified", "passages") VALUES (3, 1, '{docs}/harbour.md', '{docs}', 'docs/harbour.md', 'Harbour handbook', NULL, '2a209b70543059b89164c0c2aba10726679a35cb1b82ca76b50d41f03712f6b2', 348, 1795327791024681644, 2);
INSERT INTO "documents" ("id", "collection", "address", "root", "source", "title", "url", "hash", "size", "modified", "passages") VALUES (4, 1, 'https://tides.example/pier', 'https://tides.example/pier', 'https://tides.example/pier', 'Tides', 'https://tides.example/pier', '5ff1c6dac1306f792b05eb3d7fc2d625f8b58ac33878753152f35a344fc565b0', 68, 0, 1);
CREATE TABLE passages (
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
INSERT INTO "passages" ("id", "document", "ordinal", "path", "location", "text", "start", "end", "embedded") VALUES (2, 2, 0, '["Ferry timetable"]', 'Ferry timetable', '# Ferry timetable

The ferry to Sark leaves pier three at half past nine. It takes bicycles but no cars.', 0, 104, 0);
INSERT INTO "passages" ("id", "document", "ordinal", "path", "location", "text", "start", "end", "embedded") VALUES (3, 2, 1, '["Ferry timetable", "Tickets"]', 'Ferry timetable > Tickets', '## Tickets

Tickets are sold on board. Children under six travel free of charge.', 106, 186, 0);
INSERT INTO "passages" ("id", "document", "ordinal", "path", "location", "text", "start", "end", "embedded") VALUES (4, 3, 0, '["Harbour handbook", "Opening hours"]', 'Harbour handbook > Opening hours', '# Harbour handbook

## Opening hours

The harbour office opens at seven in the morning and closes at noon. On Sundays it stays closed.', 0, 134, 0);
INSERT INTO "passages" ("id", "document", "ordinal", "path", "location", "text", "start", "end", "embedded") VALUES (5, 3, 1, '["Harbour handbook"]', 'Harbour handbook > Mooring fees – Fuel dock', '## Mooring fees

A night at the visitors'' pontoon costs 18 euros for a boat of ten metres. Electricity is included.

## Fuel dock

The fuel dock sells diesel only. Petrol is sold at the garage behind the church.', 136, 347, 0);
INSERT INTO "passages" ("id", "document", "ordinal", "path", "location", "text", "start", "end", "embedded") VALUES (6, 4, 0, '["Tides"]', 'Tides', '# Tides

High water at the pier comes fifty minutes later every day.', 0, 68, 0);
CREATE TABLE roots (
    collection TEXT NOT NULL, address TEXT NOT NULL,  -- an ingested folder or file, kept in step from then on
    PRIMARY KEY (collection, address)
);
INSERT INTO "roots" ("collection", "address") VALUES ('default', '{docs}');
CREATE TABLE forgotten (
    collection TEXT NOT NULL, address TEXT NOT NULL,  -- below a root, and not to be read again
    PRIMARY KEY (collection, address)
);
INSERT INTO "forgotten" ("collection", "address") VALUES ('default', '{docs}/club.txt');
CREATE TABLE unreadable (
    collection TEXT NOT NULL, address TEXT NOT NULL, source TEXT NOT NULL,
    size INTEGER NOT NULL, modified INTEGER NOT NULL, reason TEXT NOT NULL,
    PRIMARY KEY (collection, address)
);
CREATE TABLE stale_vectors (passage INTEGER PRIMARY KEY, collection INTEGER NOT NULL);
CREATE VIRTUAL TABLE words USING fts5 (scope, title, body, tokenize = 'ascii');
INSERT INTO "words" ("rowid", "scope", "title", "body") VALUES (2, 'c1x c1x4d3ddfad2e9f c1xf18a07f28321 c1xf527b10ffb8b c1x3ce8b5d103e8 c1x25f3ee735395 c1x103dda6b41a4', 'ferri timet', 'ferri timet the ferri to sark leav pier three at half past nine it take bicycl but no car');
INSERT INTO "words" ("rowid", "scope", "title", "body") VALUES (3, 'c1x c1x4d3ddfad2e9f c1xf18a07f28321 c1xf527b10ffb8b c1x3ce8b5d103e8 c1x25f3ee735395 c1x103dda6b41a4', 'ferri timet ticket', 'ticket ticket are sold on board children under six travel free of charg');
INSERT INTO "words" ("rowid", "scope", "title", "body") VALUES (4, 'c1x c1xfc0bb4f80b05 c1xf18a07f28321 c1xf527b10ffb8b c1x3ce8b5d103e8 c1x25f3ee735395 c1x103dda6b41a4', 'harbour handbook open hour', 'harbour handbook open hour the harbour offic open at seven in the morn and close at noon on sunday it stay close');
INSERT INTO "words" ("rowid", "scope", "title", "body") VALUES (5, 'c1x c1xfc0bb4f80b05 c1xf18a07f28321 c1xf527b10ffb8b c1x3ce8b5d103e8 c1x25f3ee735395 c1x103dda6b41a4', 'harbour handbook', 'moor fee a night at the visitor pontoon cost 18 euro for a boat of ten metr electr is includ fuel dock the fuel dock sell diesel onli petrol is sold at the garag behind the church');
INSERT INTO "words" ("rowid", "scope", "title", "body") VALUES (6, 'c1x c1x48943ddf6bf4 c1x08506ec86f7a c1x87abce138421 c1x35d9c042cd64', 'tide', 'tide high water at the pier come fifti minut later everi day');
CREATE INDEX passages_of ON passages (document, ordinal);
CREATE INDEX passages_embedded ON passages (embedded, id);
UPDATE sqlite_sequence SET seq = 4 WHERE name = 'documents';
UPDATE sqlite_sequence SET seq = 6 WHERE name = 'passages';
PRAGMA user_version = 1;

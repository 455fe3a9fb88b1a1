PRAGMA application_id = 1181708148;
PRAGMA user_version = 1;
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE collections (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
INSERT INTO collections ("number", "name") VALUES (1, 'default');
INSERT INTO collections ("number", "name") VALUES (2, 'channel-slack-T1-C1');
CREATE TABLE documents (
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
INSERT INTO documents ("id", "collection", "address", "root", "source", "title", "url", "hash", "size", "modified", "passages", "included", "changed_at", "anchors", "seen_at") VALUES (2, 1, '{folder}/docs/ferry.md', '{folder}/docs', 'docs/ferry.md', 'Ferry timetable', NULL, '785a20f030917fd5951ef6af5b9416ce371789c9f876567af9864589c2d09c64', 187, 1795863359018283067, 2, '[]', NULL, NULL, NULL);
INSERT INTO documents ("id", "collection", "address", "root", "source", "title", "url", "hash", "size", "modified", "passages", "included", "changed_at", "anchors", "seen_at") VALUES (3, 1, '{folder}/docs/harbour.md', '{folder}/docs', 'docs/harbour.md', 'Harbour handbook', NULL, '2a209b70543059b89164c0c2aba10726679a35cb1b82ca76b50d41f03712f6b2', 348, 1795863359017926800, 2, '[]', NULL, NULL, NULL);
INSERT INTO documents ("id", "collection", "address", "root", "source", "title", "url", "hash", "size", "modified", "passages", "included", "changed_at", "anchors", "seen_at") VALUES (4, 1, 'https://tides.example/pier', 'https://tides.example/pier', 'https://tides.example/pier', 'Tides', 'https://tides.example/pier', '5ff1c6dac1306f792b05eb3d7fc2d625f8b58ac33878753152f35a344fc565b0', 68, 0, 1, '[]', NULL, NULL, 1.79586336333649396893e+09);
INSERT INTO documents ("id", "collection", "address", "root", "source", "title", "url", "hash", "size", "modified", "passages", "included", "changed_at", "anchors", "seen_at") VALUES (5, 2, '{folder}/.footnote/learned/channel-slack-T1-C1/winter.md', '{folder}/.footnote/learned/channel-slack-T1-C1/winter.md', 'winter.md', 'Winter storage', NULL, 'd7856fe90133b4aea840c17764c37d47ba50e8281d0ce5b2a2efc4b1dfbaaa68', 68, 1795863359017335837, 1, '[]', NULL, NULL, NULL);
CREATE INDEX documents_counted ON documents (collection, passages);
CREATE INDEX documents_rooted ON documents (root, address);
CREATE TABLE passages (
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
INSERT INTO passages ("id", "document", "ordinal", "path", "location", "text", "start", "end", "embedded", "line") VALUES (2, 2, 0, '["Ferry timetable"]', 'Ferry timetable', '# Ferry timetable

The ferry to Sark leaves pier three at half past nine. It takes bicycles but no cars.', 0, 104, 0, NULL);
INSERT INTO passages ("id", "document", "ordinal", "path", "location", "text", "start", "end", "embedded", "line") VALUES (3, 2, 1, '["Ferry timetable", "Tickets"]', 'Ferry timetable > Tickets', '## Tickets

Tickets are sold on board. Children under six travel free of charge.', 106, 186, 0, NULL);
INSERT INTO passages ("id", "document", "ordinal", "path", "location", "text", "start", "end", "embedded", "line") VALUES (4, 3, 0, '["Harbour handbook", "Opening hours"]', 'Harbour handbook > Opening hours', '# Harbour handbook

## Opening hours

The harbour office opens at seven in the morning and closes at noon. On Sundays it stays closed.', 0, 134, 0, NULL);
INSERT INTO passages ("id", "document", "ordinal", "path", "location", "text", "start", "end", "embedded", "line") VALUES (5, 3, 1, '["Harbour handbook"]', 'Harbour handbook > Mooring fees – Fuel dock', '## Mooring fees

A night at the visitors'' pontoon costs 18 euros for a boat of ten metres. Electricity is included.

## Fuel dock

The fuel dock sells diesel only. Petrol is sold at the garage behind the church.', 136, 347, 0, NULL);
INSERT INTO passages ("id", "document", "ordinal", "path", "location", "text", "start", "end", "embedded", "line") VALUES (6, 4, 0, '["Tides"]', 'Tides', '# Tides

High water at the pier comes fifty minutes later every day.', 0, 68, 0, NULL);
INSERT INTO passages ("id", "document", "ordinal", "path", "location", "text", "start", "end", "embedded", "line") VALUES (7, 5, 0, '["Winter storage"]', 'Winter storage', '# Winter storage

Boats are lifted out in the last week of October.', 0, 67, 0, NULL);
CREATE INDEX passages_of ON passages (document, ordinal);
CREATE INDEX passages_embedded ON passages (embedded, id);
CREATE TABLE roots (
    collection TEXT NOT NULL, address TEXT NOT NULL,  -- an ingested folder or file, kept in step from then on
    PRIMARY KEY (collection, address)
);
INSERT INTO roots ("collection", "address") VALUES ('default', '{folder}/docs');
INSERT INTO roots ("collection", "address") VALUES ('channel-slack-T1-C1', '{folder}/.footnote/learned/channel-slack-T1-C1/winter.md');
CREATE TABLE forgotten (
    collection TEXT NOT NULL, address TEXT NOT NULL,  -- below a root, and not to be read again
    PRIMARY KEY (collection, address)
);
INSERT INTO forgotten ("collection", "address") VALUES ('default', '{folder}/docs/club.txt');
CREATE TABLE unreadable (  -- not read, or, where it is among the documents, not wholly
    collection TEXT NOT NULL, address TEXT NOT NULL, source TEXT NOT NULL,
    size INTEGER NOT NULL, modified INTEGER NOT NULL, reason TEXT NOT NULL,
    PRIMARY KEY (collection, address)
);
CREATE INDEX documents_named ON documents (source);
CREATE TABLE stale_vectors (passage INTEGER PRIMARY KEY, collection INTEGER NOT NULL);
CREATE TABLE document_names (
    name TEXT NOT NULL,      -- a folded and stemmed word, a year, a quarter, a version
    document INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
    weight REAL NOT NULL,    -- 0 to 1: how surely the document is called so
    PRIMARY KEY (name, document)
);
CREATE INDEX document_names_of ON document_names (document);
CREATE TABLE readers (
    collection TEXT NOT NULL,
    reader TEXT NOT NULL,  -- an e-mail address, or @ and a domain
    PRIMARY KEY (collection, reader)
);
CREATE INDEX readers_found ON readers (reader, collection);
CREATE TABLE lint_documents (  -- that were compared with all others
    document INTEGER PRIMARY KEY REFERENCES documents(id) ON DELETE CASCADE,
    rules INTEGER NOT NULL  -- the version of the rules by which they were
);
CREATE TABLE lint_findings (
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    document INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
    other INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,  -- the same where there is no other
    content TEXT NOT NULL,  -- JSON, with quotes of both
    PRIMARY KEY (id, document, other)
);
CREATE INDEX lint_findings_of ON lint_findings (document);
CREATE INDEX lint_findings_beside ON lint_findings (other);
CREATE TABLE lint_seen (  -- stays when a document changes
    id TEXT PRIMARY KEY,
    found_at REAL NOT NULL,  -- seconds since the epoch
    verdict TEXT NOT NULL DEFAULT ''  -- of a model; empty: it was not asked
);
CREATE VIRTUAL TABLE words USING fts5 (scope, title, body, tokenize = 'ascii');
INSERT INTO words (rowid, "scope", "title", "body") VALUES (2, 'c1x663a710ad272 c1x2a104ca4994d c1x3b593c45b523 c1x25f3ee735395 c1x103dda6b41a4 c1xen', 'c1xferri c1xtimet', 'c1xferri c1xtimet c1xthe c1xferri c1xto c1xsark c1xleav c1xpier c1xthree c1xat c1xhalf c1xpast c1xnine c1xit c1xtake c1xbicycl c1xbut c1xno c1xcar');
INSERT INTO words (rowid, "scope", "title", "body") VALUES (3, 'c1x663a710ad272 c1x2a104ca4994d c1x3b593c45b523 c1x25f3ee735395 c1x103dda6b41a4 c1xen', 'c1xferri c1xtimet c1xticket', 'c1xticket c1xticket c1xare c1xsold c1xon c1xboard c1xchildren c1xunder c1xsix c1xtravel c1xfree c1xof c1xcharg');
INSERT INTO words (rowid, "scope", "title", "body") VALUES (4, 'c1xdad0709ee9fe c1x2a104ca4994d c1x3b593c45b523 c1x25f3ee735395 c1x103dda6b41a4 c1xen', 'c1xharbour c1xhandbook c1xopen c1xhour', 'c1xharbour c1xhandbook c1xopen c1xhour c1xthe c1xharbour c1xoffic c1xopen c1xat c1xseven c1xin c1xthe c1xmorn c1xand c1xclose c1xat c1xnoon c1xon c1xsunday c1xit c1xstay c1xclose');
INSERT INTO words (rowid, "scope", "title", "body") VALUES (5, 'c1xdad0709ee9fe c1x2a104ca4994d c1x3b593c45b523 c1x25f3ee735395 c1x103dda6b41a4 c1xen', 'c1xharbour c1xhandbook', 'c1xmoor c1xfee c1xa c1xnight c1xat c1xthe c1xvisitor c1xpontoon c1xcost c1x18 c1xeuro c1xfor c1xa c1xboat c1xof c1xten c1xmetr c1xelectr c1xis c1xinclud c1xfuel c1xdock c1xthe c1xfuel c1xdock c1xsell c1xdiesel c1xonli c1xpetrol c1xis c1xsold c1xat c1xthe c1xgarag c1xbehind c1xthe c1xchurch');
INSERT INTO words (rowid, "scope", "title", "body") VALUES (6, 'c1x48943ddf6bf4 c1x08506ec86f7a c1x87abce138421 c1x35d9c042cd64 c1xen', 'c1xtide', 'c1xtide c1xhigh c1xwater c1xat c1xthe c1xpier c1xcome c1xfifti c1xminut c1xlater c1xeveri c1xday');
INSERT INTO words (rowid, "scope", "title", "body") VALUES (7, 'c2x42ed218c328d c2x5cc330415b2a c2x4e564719615b c2x3cfba4fe3cb5 c2x3b593c45b523 c2x25f3ee735395 c2x103dda6b41a4 c2xen', 'c2xwinter c2xstorag', 'c2xwinter c2xstorag c2xboat c2xare c2xlift c2xout c2xin c2xthe c2xlast c2xweek c2xof c2xoctob');
CREATE VIRTUAL TABLE word_counts USING fts5vocab (words, 'row');

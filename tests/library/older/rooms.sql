-- Rooms of the first version.
CREATE TABLE channels (
    channel TEXT PRIMARY KEY,  -- platform/space/channel
    follow TEXT NOT NULL DEFAULT 'thread',
    reads TEXT NOT NULL DEFAULT 'default',  -- the collection beside the channel's own
    is_private INTEGER NOT NULL DEFAULT 1
);
INSERT INTO "channels" ("channel", "follow", "reads", "is_private") VALUES ('slack/T1/C1', 'mentions', 'default', 1);
CREATE TABLE threads (conversation TEXT PRIMARY KEY, asker TEXT NOT NULL);
INSERT INTO "threads" ("conversation", "asker") VALUES ('slack/T1/C1/1700000000.000100', 'U1');
CREATE TABLE words (id TEXT PRIMARY KEY);
INSERT INTO "words" ("id") VALUES ('w1');
CREATE TABLE feedback (
    turn TEXT, author TEXT, is_positive INTEGER NOT NULL, given_at REAL NOT NULL,
    PRIMARY KEY (turn, author)
);
PRAGMA user_version = 0;

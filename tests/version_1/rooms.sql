PRAGMA application_id = 1181708148;
PRAGMA user_version = 1;
CREATE TABLE channels (
    channel TEXT PRIMARY KEY,  -- platform/space/channel
    follow TEXT NOT NULL DEFAULT 'thread',
    reads TEXT NOT NULL DEFAULT 'default'  -- the collection beside the channel's own
);
INSERT INTO channels ("channel", "follow", "reads") VALUES ('slack/T1/C1', 'mentions', 'default');
CREATE TABLE threads (conversation TEXT PRIMARY KEY, asker TEXT NOT NULL, since REAL NOT NULL);
INSERT INTO threads ("conversation", "asker", "since") VALUES ('slack/T1/C1/1700000000.000100', 'U1', 5.0);
CREATE TABLE places (conversation TEXT PRIMARY KEY, place TEXT NOT NULL UNIQUE);
INSERT INTO places ("conversation", "place") VALUES ('slack/T1/C1/1700000000.000100', '1700000000.000900');
CREATE TABLE heard (platform TEXT PRIMARY KEY, message INTEGER NOT NULL);
INSERT INTO heard ("platform", "message") VALUES ('discord', 7);
CREATE TABLE words (id TEXT PRIMARY KEY);
INSERT INTO words ("id") VALUES ('w1');
CREATE TABLE feedback (
    turn TEXT, author TEXT, is_positive INTEGER NOT NULL, given_at REAL NOT NULL,
    PRIMARY KEY (turn, author)
);
INSERT INTO feedback ("turn", "author", "is_positive", "given_at") VALUES ('q1', 'U1', 1, 6.0);

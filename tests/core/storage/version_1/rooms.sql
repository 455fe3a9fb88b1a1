PRAGMA application_id = 1181708148;
PRAGMA user_version = 1;
CREATE TABLE channels (
    channel TEXT PRIMARY KEY,  -- platform/space/channel
    follow TEXT NOT NULL DEFAULT 'asker',
    reads TEXT NOT NULL DEFAULT 'default'  -- the one collection beside its own; default: all that are open to it
);
INSERT INTO channels ("channel", "follow", "reads") VALUES ('slack/T1/C1', 'mentions', 'default');
CREATE TABLE threads (conversation TEXT PRIMARY KEY, asker TEXT NOT NULL, since REAL NOT NULL);
INSERT INTO threads ("conversation", "asker", "since") VALUES ('slack/T1/C1/1700000000.000100', 'U1', 5.0);
CREATE TABLE places (conversation TEXT PRIMARY KEY, place TEXT NOT NULL UNIQUE);
INSERT INTO places ("conversation", "place") VALUES ('slack/T1/C1/1700000000.000100', '1700000000.000900');
CREATE TABLE heard (platform TEXT PRIMARY KEY, message INTEGER NOT NULL);
INSERT INTO heard ("platform", "message") VALUES ('discord', 7);
CREATE TABLE handled (id TEXT PRIMARY KEY);
INSERT INTO handled ("id") VALUES ('w1');
CREATE TABLE unasked (  -- answers to questions that nobody addressed to the bot
    turn TEXT PRIMARY KEY, channel TEXT NOT NULL, answered_at REAL NOT NULL, is_unwanted INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE access (  -- who may read the operator's collections
    collection TEXT NOT NULL,
    kind TEXT NOT NULL,  -- everyone, channel, person or group; closed: what is open by default is not
    id TEXT NOT NULL,    -- of the platform, or platform/space/id; empty for everyone and for closed
    PRIMARY KEY (collection, kind, id)
);
CREATE TABLE parents (  -- of channels whose members all read another one too
    channel TEXT PRIMARY KEY, parent TEXT NOT NULL  -- platform/space/channel
);
CREATE TABLE opted_out (person TEXT PRIMARY KEY);
CREATE TABLE emails (  -- of people, as an operator says
    person TEXT PRIMARY KEY,  -- an id of the platform, or platform/space/id
    email TEXT NOT NULL       -- in small letters
);

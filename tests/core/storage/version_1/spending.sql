PRAGMA application_id = 1181708148;
PRAGMA user_version = 1;
CREATE TABLE spent (day TEXT PRIMARY KEY, tokens INTEGER NOT NULL);
INSERT INTO spent ("day", "tokens") VALUES ('2026-01-05', 42);
CREATE TABLE spent_by (
    day TEXT NOT NULL, spender TEXT NOT NULL, id TEXT NOT NULL, tokens INTEGER NOT NULL,
    PRIMARY KEY (day, spender, id)
);

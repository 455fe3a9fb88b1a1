"""What the bot knows of Slack's channels and threads: preferences, and which collections a channel reads.

Kept in one small SQLite file. What is learned in a channel goes into a collection of its own;
that of a private channel is read there alone, whoever names it elsewhere.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from bots.slack.read import Feedback, Follow, Room
from core.conversation import Conversation
from core.library.library import DEFAULT_COLLECTION, Library

_TABLES = """
CREATE TABLE IF NOT EXISTS channels (
    channel TEXT PRIMARY KEY,  -- platform/space/channel
    follow TEXT NOT NULL DEFAULT 'thread',
    reads TEXT NOT NULL DEFAULT 'default',  -- the collection beside the channel's own
    is_private INTEGER NOT NULL DEFAULT 1
);
CREATE TABLE IF NOT EXISTS threads (conversation TEXT PRIMARY KEY, asker TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS words (id TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS feedback (
    turn TEXT, author TEXT, is_positive INTEGER NOT NULL, given_at REAL NOT NULL,
    PRIMARY KEY (turn, author)
);
"""


@dataclass(frozen=True, slots=True)
class Rooms:
    """Each question takes microseconds, so none waits for a thread."""

    database: sqlite3.Connection

    def room_of(self, conversation: Conversation) -> Room:
        """What decides how a message of this thread is read."""
        follow = self._one("SELECT follow FROM channels WHERE channel = ?", conversation.channel_id)
        asker = self._one("SELECT asker FROM threads WHERE conversation = ?", conversation.id)
        return Room(follow=cast("Follow", follow or "thread"), knows_thread=asker is not None, asker=asker)

    def remember_thread(self, conversation: Conversation, asker: str) -> None:
        """The bot is part of this thread from now on; who asked first stays its asker."""
        self._write("INSERT OR IGNORE INTO threads VALUES (?, ?)", conversation.id, asker)

    def forget_thread(self, conversation: Conversation) -> None:
        self._write("DELETE FROM threads WHERE conversation = ?", conversation.id)

    def set_follow(self, conversation: Conversation, follow: Follow) -> None:
        self._note_channel(conversation)
        self._write("UPDATE channels SET follow = ? WHERE channel = ?", follow, conversation.channel_id)

    def set_privacy(self, conversation: Conversation, *, is_private: bool) -> None:
        """What was last heard of a channel; one that nothing was heard of counts as private."""
        self._note_channel(conversation)
        self._write(
            "UPDATE channels SET is_private = ? WHERE channel = ?", int(is_private), conversation.channel_id
        )

    def use(self, conversation: Conversation, collection: str, library: Library) -> bool:
        """Read this collection from now on; False when there is none of that name to be read here."""
        known = library.catalogue.collections() | {DEFAULT_COLLECTION}
        if collection not in known or not self._may_read(conversation, collection):
            return False
        self._note_channel(conversation)
        self._write("UPDATE channels SET reads = ? WHERE channel = ?", collection, conversation.channel_id)
        return True

    def reads(self, conversation: Conversation, library: Library) -> frozenset[str]:
        """The collections that a question asked here may read; checked anew for each."""
        chosen = self._one("SELECT reads FROM channels WHERE channel = ?", conversation.channel_id)
        named = {chosen or DEFAULT_COLLECTION, own_collection(conversation)}
        allowed = frozenset(name for name in named if self._may_read(conversation, name))
        return allowed & library.catalogue.collections()

    def take_word(self, word_id: str) -> bool:
        """True the first time; a word that is brought again is not carried out again."""
        with self.database:
            taken = self.database.execute("INSERT OR IGNORE INTO words VALUES (?)", (word_id,))
        return taken.rowcount == 1

    def rate(self, feedback: Feedback) -> None:
        """One opinion of one person about one turn: the last counts."""
        self._write(
            "INSERT OR REPLACE INTO feedback VALUES (?, ?, ?, ?)",
            feedback.turn_id, feedback.author, int(feedback.is_positive), feedback.given_at,
        )  # fmt: skip

    def ratings(self, turn_id: str) -> dict[str, bool]:
        """Who found an answer good, and who did not."""
        rows = self.database.execute("SELECT author, is_positive FROM feedback WHERE turn = ?", (turn_id,))
        return {author: bool(is_positive) for author, is_positive in rows}

    def _may_read(self, conversation: Conversation, collection: str) -> bool:
        if not collection.startswith(_OWN) or collection == own_collection(conversation):
            return True
        owner = collection.removeprefix(_OWN).replace("-", "/")
        return bool(self._one("SELECT is_private FROM channels WHERE channel = ?", owner) == 0)

    def _note_channel(self, conversation: Conversation) -> None:
        self._write("INSERT OR IGNORE INTO channels (channel) VALUES (?)", conversation.channel_id)

    def _one(self, query: str, *values: object) -> Any:
        row = self.database.execute(query, values).fetchone()
        return None if row is None else row[0]

    def _write(self, statement: str, *values: object) -> None:
        with self.database:
            self.database.execute(statement, values)


_OWN = "channel-"


def own_collection(conversation: Conversation) -> str:
    """Where a channel's learned documents are kept; ids of Slack hold letters and digits alone."""
    return _OWN + conversation.channel_id.replace("/", "-")


@contextmanager
def open_rooms(data_dir: Path) -> Iterator[Rooms]:
    database = sqlite3.connect(data_dir / "rooms.sqlite")
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        database.executescript(_TABLES)
        yield Rooms(database)
    finally:
        database.close()

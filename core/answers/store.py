"""The store of kept answers, and of what experts were asked. What is said here is true; the library follows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields

from core.answers.kept import KeptAnswer, kept_in
from core.conversation import value
from core.library.documents import ANSWER
from core.storage.database import Database, Row
from core.storage.schema import Schema

STORE = "answers"

_TABLES = """
CREATE TABLE IF NOT EXISTS answers (
    id TEXT PRIMARY KEY,
    question TEXT NOT NULL,
    text TEXT NOT NULL,
    author TEXT NOT NULL,
    name TEXT NOT NULL,
    place TEXT NOT NULL,
    conversation TEXT NOT NULL,
    message TEXT NOT NULL,
    url TEXT,
    collection TEXT NOT NULL,
    language TEXT NOT NULL,
    said_at REAL NOT NULL,
    kept_at REAL NOT NULL,
    valid_until REAL NOT NULL,
    state TEXT NOT NULL             -- new, used or retired
);
CREATE INDEX IF NOT EXISTS answers_by_message ON answers (message);
CREATE INDEX IF NOT EXISTS answers_by_conversation ON answers (conversation);
CREATE TABLE IF NOT EXISTS answer_uses (answer TEXT NOT NULL, turn TEXT NOT NULL, PRIMARY KEY (answer, turn));
CREATE TABLE IF NOT EXISTS answer_disputes (
    answer TEXT NOT NULL, source TEXT NOT NULL,  -- a document that says something else, as a judge found
    found_at REAL NOT NULL, PRIMARY KEY (answer, source)
);
CREATE TABLE IF NOT EXISTS expert_requests (
    turn TEXT PRIMARY KEY,           -- of the question that experts were asked
    conversation TEXT NOT NULL, question TEXT NOT NULL, asked_at REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS expert_requests_by_conversation ON expert_requests (conversation);
"""

SCHEMA = Schema(
    tables=_TABLES,
    cure="Move it away: what people taught is then lost, and nothing else is affected.",
)
#: What forgetting deletes from.
ERASED = ("answers", "answer_uses", "answer_disputes", "expert_requests")

COLUMNS = tuple(field.name for field in fields(KeptAnswer))
_CHANGED = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS if name != "id")
_PUT = (
    f"INSERT INTO answers ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
    f" ON CONFLICT (id) DO UPDATE SET {_CHANGED}"
)
_CHANGE = f"UPDATE answers SET {', '.join(f'{name} = ?' for name in COLUMNS[1:])} WHERE id = ?"
_USES = "(SELECT count(*) FROM answer_uses u WHERE u.answer = answers.id)"


@value
class ListedAnswer:
    """A kept answer as an editor reviews it."""

    answer: KeptAnswer
    used: int  #: answers that cited it
    disputed_by: tuple[str, ...] = ()  #: sources of documents that say something else


@value
class ExpertRequest:
    """A question that experts were asked in its thread."""

    turn: str
    conversation: str
    question: str
    asked_at: float  #: seconds since the epoch


def put(database: Database, answer: KeptAnswer) -> None:
    """Write an answer in place of its older version."""
    with database.transaction() as writing:
        writing.execute(_PUT, [getattr(answer, name) for name in COLUMNS])


def change(database: Database, answer: KeptAnswer) -> bool:
    """The same of one that is stored; False if it is not."""
    with database.transaction() as writing:
        changed = writing.execute(_CHANGE, [*(getattr(answer, name) for name in COLUMNS[1:]), answer.id])
        return changed.rowcount > 0


def select(database: Database, where: str = "TRUE", values: Sequence[object] = ()) -> list[KeptAnswer]:
    """The answers of which a condition holds, those kept last first."""
    rows = database.rows(
        f"SELECT {', '.join(COLUMNS)} FROM answers WHERE {where} ORDER BY kept_at DESC, id", values
    )
    return [_answer(row) for row in rows]


def listed(database: Database, where: str = "TRUE", values: Sequence[object] = ()) -> list[ListedAnswer]:
    """The same with how often each was used and what disputes it."""
    rows = database.rows(
        f"SELECT {', '.join(COLUMNS)}, {_USES} FROM answers WHERE {where} ORDER BY kept_at DESC, id", values
    )
    disputes: dict[str, list[str]] = {}
    for answer, source in database.rows("SELECT answer, source FROM answer_disputes ORDER BY found_at"):
        disputes.setdefault(answer, []).append(source)
    return [
        ListedAnswer(answer=_answer(row[:-1]), used=int(row[-1]), disputed_by=tuple(disputes.get(row[0], ())))
        for row in rows
    ]


def _answer(row: Row) -> KeptAnswer:
    return KeptAnswer(**dict(zip(COLUMNS, row, strict=True)))


def usable_among(database: Database, ids: Collection[str], now: float) -> set[str]:
    """Those that are used now."""
    marks = ", ".join("?" * len(ids))
    rows = database.rows(
        f"SELECT id FROM answers WHERE id IN ({marks}) AND state = 'used' AND valid_until > ?", (*ids, now)
    )
    return {answer for (answer,) in rows}


def readable_among(
    database: Database, ids: Collection[str], collections: Collection[str], now: float
) -> set[str]:
    """Those that are used now and may be read by who reads these collections."""
    usable = usable_among(database, ids, now)
    marks = ", ".join("?" * len(ids))
    rows = database.rows(f"SELECT id, collection FROM answers WHERE id IN ({marks})", tuple(ids))
    return {answer for answer, collection in rows if answer in usable and collection in collections}


def forget(database: Database, ids: Collection[str]) -> None:
    """Delete all that is stored of these answers."""
    if not ids:
        return
    with database.transaction() as writing:
        for answer in ids:
            writing.execute("DELETE FROM answers WHERE id = ?", (answer,))
            writing.execute("DELETE FROM answer_uses WHERE answer = ?", (answer,))
            writing.execute(
                "DELETE FROM answer_disputes WHERE answer = ? OR source = ?", (answer, f"{ANSWER}{answer}")
            )
    database.erase_deleted(ERASED)


def forget_sources(database: Database, sources: Iterable[str]) -> None:
    """The same of those whose documents were forgotten, and that other documents were forgotten which dispute one."""
    sources = list(sources)
    with database.transaction() as writing:
        writing.executemany("DELETE FROM answer_disputes WHERE source = ?", [(each,) for each in sources])
    forget(database, kept_in(sources))

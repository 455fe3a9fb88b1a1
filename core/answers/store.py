"""Kept answers, what a trusted person said in reply to a question, and what experts were asked: their store.

The document's text is the question as a heading and the answer as it was written. So it is found by the words of
both, cut, quoted and cited as any other, and its offsets count into that text.
"""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Literal

from core.characters import one_line, storable
from core.conversation import value
from core.errors import AnswerRejected
from core.library.chunking import cut
from core.library.documents import ANSWER, Document, is_kept
from core.library.entries import NewDocument
from core.library.formats.markdown import parse as parse_markdown
from core.storage.database import Database, Schema, among, column_names, rows_among, rows_as
from core.wording import Sentence, wording

NAME_SHOWN = 80  # characters of a name of a person or a channel
QUESTION_SHOWN = 300  # characters of the question as a heading
TEXT_LIMIT = 8_000  # characters of an answer, wherever it is typed, kept or shown

#: "new": written down and not shown to who said it yet, so it is not used; "used"; "retired" by an editor.
State = Literal["new", "used", "retired"]


@value
class KeptAnswer:
    """A reply that is kept, and may be cited until a date."""

    id: str
    question: str
    text: str  #: as it was written
    author: str  #: who said it, in the platform's terms; empty: an editor of the page
    name: str  #: what people call them
    place: str  #: where it was said, as people name it, such as "#help"; empty: in a direct message, or on the page
    conversation: str  #: its id; empty: none
    message: str  #: the message's id in the platform's terms; empty: none
    url: str | None  #: leads to the message
    collection: str  #: whoever reads it may read the answer
    language: str  #: of the question, ISO 639-1
    said_at: float  #: seconds since the epoch, as all times here
    kept_at: float
    valid_until: float  #: from then on it is not used, and due for review
    state: State = "new"
    editor: str = ""  #: who changed its words since, as people call them; empty: they are as they were said
    edited_at: float = 0.0
    revision: int = 1  #: grows with each change

    @property
    def written_at(self) -> float:
        """The time of the last change of its words."""
        return self.edited_at or self.said_at

    @property
    def address(self) -> str:
        """The address of its document, which is its source too."""
        return f"{ANSWER}{self.id}"

    def is_due(self, now: float) -> bool:
        """True if somebody must review it before it is used again."""
        return self.state == "used" and now >= self.valid_until

    def is_usable(self, now: float) -> bool:
        return self.state == "used" and now < self.valid_until


def id_of(message: str) -> str:
    """The id of the answer that a message holds: a message that is kept twice is one answer."""
    return hashlib.sha256(message.encode()).hexdigest()[:16]


def kept_ids(sources: Iterable[str]) -> tuple[str, ...]:
    """The ids of the kept answers among these sources, each once."""
    return tuple(dict.fromkeys(source.removeprefix(ANSWER) for source in sources if is_kept(source)))


def check_answer(text: str) -> str:
    """The answer without white space around it; AnswerRejected when it is empty or too long."""
    stripped = text.strip()
    if not stripped:
        raise AnswerRejected(Sentence("answer_empty"))
    if len(stripped) > TEXT_LIMIT:
        raise AnswerRejected(Sentence("answer_too_long", length=len(stripped), limit=TEXT_LIMIT))
    return stripped


def title_of(answer: KeptAnswer) -> str:
    """ "Ann, in #help, 12 Mar 2026", or "Ann, edited by Ben, 23 Nov 2026": how it is cited."""
    say = wording(answer.language)
    who, where, editor = (one_line(each, NAME_SHOWN) for each in (answer.name, answer.place, answer.editor))
    key = "said_edited" if editor else "said_in" if where else "said_on"
    return say(key, who=who, where=where, editor=editor, when=say.day(answer.written_at))


def document_of(answer: KeptAnswer) -> NewDocument:
    """The document of an answer, headed by its question; edited words lead to no message."""
    question = one_line(answer.question, QUESTION_SHOWN)
    text = storable(f"# {question}\n\n{answer.text}")
    parsed = parse_markdown(text)
    title, url = title_of(answer), None if answer.editor else answer.url
    pieces = cut(Document(title=title, text=text, blocks=parsed.blocks))
    return NewDocument(
        collection=answer.collection, address=answer.address, root=answer.address, source=answer.address,
        title=title, url=url, size=len(text), modified=0, changed_at=answer.written_at,
        hash=hashlib.sha256(f"{title}\0{url}\0{answer.written_at}\0{text}".encode()).hexdigest(),
        pieces=[replace(piece, path=(question, *piece.path[1:]), location="") for piece in pieces],
    )  # fmt: skip


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
    state TEXT NOT NULL,            -- new, used or retired
    editor TEXT NOT NULL,
    edited_at REAL NOT NULL,
    revision INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS answers_by_message ON answers (message);
CREATE INDEX IF NOT EXISTS answers_by_conversation ON answers (conversation);
CREATE TABLE IF NOT EXISTS answer_versions (  -- what each change made of an answer, beginning with what was said
    answer TEXT NOT NULL, revision INTEGER NOT NULL,
    change TEXT NOT NULL,           -- kept, edited, extended or retired
    name TEXT NOT NULL,             -- of who did so
    changed_at REAL NOT NULL,
    question TEXT NOT NULL, text TEXT NOT NULL, collection TEXT NOT NULL,
    PRIMARY KEY (answer, revision)
);
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
    tables=_TABLES, cure="Move it away: what people taught is then lost, and nothing else is affected."
)
#: What forgetting deletes from.
ERASED = ("answers", "answer_versions", "answer_uses", "answer_disputes", "expert_requests")

ANSWER_COLUMNS = column_names(KeptAnswer)
_CHANGED = ", ".join(f"{name} = excluded.{name}" for name in ANSWER_COLUMNS if name != "id")
_PUT = (
    f"INSERT INTO answers ({', '.join(ANSWER_COLUMNS)}) VALUES ({', '.join('?' * len(ANSWER_COLUMNS))})"
    f" ON CONFLICT (id) DO UPDATE SET {_CHANGED}"
)
_CHANGE = f"UPDATE answers SET {', '.join(f'{name} = ?' for name in ANSWER_COLUMNS[1:])} WHERE id = ? AND revision = ?"
_VERSION = "INSERT INTO answer_versions VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_RECORDED = (
    "SELECT count(*) FROM answer_versions WHERE answer = ? AND revision = ? AND change = ? AND name = ?"
    " AND question = ? AND text = ? AND collection = ?"
)
_USES = "(SELECT count(*) FROM answer_uses u WHERE u.answer = answers.id)"

ChangeName = Literal["kept", "edited", "extended", "retired"]


@value
class Change:
    """One change of an answer."""

    change: ChangeName
    name: str  #: of who did so, as people call them
    changed_at: float  #: seconds since the epoch


@value
class AnswerVersion:
    """An answer as a change left it."""

    answer: str  #: its id
    revision: int
    change: Change
    question: str
    text: str
    collection: str


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


def put(database: Database, answer: KeptAnswer) -> KeptAnswer:
    """Write an answer in place of its older version, which stays among the versions if it says something else."""
    with database.transaction() as writing:
        query = "SELECT revision, question, text, collection FROM answers WHERE id = ?"
        revision, *before = writing.execute(query, (answer.id,)).fetchone() or (0,)
        is_new = before != [answer.question, answer.text, answer.collection]
        answer = replace(answer, revision=revision + is_new)
        writing.execute(_PUT, [getattr(answer, name) for name in ANSWER_COLUMNS])
        if is_new:
            change = Change(change="kept", name=answer.name, changed_at=answer.kept_at)
            writing.execute(_VERSION, _version_row(answer, change))
    return answer


def change(database: Database, answer: KeptAnswer, done: Change) -> bool:
    """Write the revision after the stored one; False after another. A repeat changes nothing."""
    values, row = [getattr(answer, name) for name in ANSWER_COLUMNS[1:]], _version_row(answer, done)
    with database.transaction() as writing:
        if writing.execute(_CHANGE, [*values, answer.id, answer.revision - 1]).rowcount:
            writing.execute(_VERSION, row)
            return True
        ((recorded,),) = writing.execute(_RECORDED, [*row[:4], *row[5:]]).fetchall()
        return bool(recorded)


def _version_row(answer: KeptAnswer, done: Change) -> tuple[object, ...]:
    who = (answer.id, answer.revision, done.change, done.name, done.changed_at)
    return (*who, answer.question, answer.text, answer.collection)


def select(database: Database, where: str = "TRUE", values: Sequence[object] = ()) -> list[KeptAnswer]:
    """The answers that meet a condition, those kept last first."""
    query = f"SELECT {', '.join(ANSWER_COLUMNS)} FROM answers WHERE {where} ORDER BY kept_at DESC, id"
    return rows_as(KeptAnswer, database.rows(query, values))


@value
class AnswerFilter:
    """The properties of the answers that are looked for; empty fields say nothing."""

    due_at: float | None = None  #: those that somebody must review by then
    is_disputed: bool = False
    collections: frozenset[str] | None = None  #: those that who reads these may read; None: everybody's


def find(database: Database, wanted: AnswerFilter) -> list[str]:
    """The ids of such answers, those kept last first."""
    conditions: list[tuple[str, Sequence[object]]] = [("TRUE", ())]
    if wanted.due_at is not None:
        conditions.append(("state = 'used' AND valid_until <= ?", (wanted.due_at,)))
    if wanted.is_disputed:
        conditions.append(("id IN (SELECT answer FROM answer_disputes)", ()))
    if wanted.collections is not None:
        condition, names = among(database.dialect, wanted.collections, "text")
        conditions.append((f"collection {condition}", (names,)))
    where = " AND ".join(condition for condition, _ in conditions)
    rows = database.rows(
        f"SELECT id FROM answers WHERE {where} ORDER BY kept_at DESC, id",
        tuple(part for _, parts in conditions for part in parts),
    )
    return [answer for (answer,) in rows]


def list_answers(database: Database, ids: Sequence[str]) -> list[ListedAnswer]:
    """These answers in the same order, as far as they exist. Each has how often it was used and what disputes
    it."""
    disputes: dict[str, list[str]] = {}
    query = "SELECT answer, source FROM answer_disputes WHERE answer {} ORDER BY found_at"
    for answer, source in rows_among(database, query, ids):
        disputes.setdefault(answer, []).append(source)
    rows = rows_among(
        database, f"SELECT {', '.join(ANSWER_COLUMNS)}, {_USES} FROM answers WHERE id {{}}", ids
    )
    answers = zip(rows_as(KeptAnswer, (row[:-1] for row in rows)), rows, strict=True)
    found = {
        each.id: ListedAnswer(answer=each, used=int(row[-1]), disputed_by=tuple(disputes.get(each.id, ())))
        for each, row in answers
    }
    return [found[each] for each in ids if each in found]


def usable_among(
    database: Database, ids: Collection[str], now: float, readable: Collection[str] | None = None
) -> set[str]:
    """The answers among these that are used now; ``readable``: the collections that are read, None for all."""
    query = "SELECT id, collection FROM answers WHERE state = 'used' AND valid_until > ? AND id {}"
    rows = rows_among(database, query, ids, now)
    return {answer for answer, collection in rows if readable is None or collection in readable}


def forget(database: Database, ids: Collection[str]) -> None:
    """Delete all that is stored of these answers."""
    if not ids:
        return
    with database.transaction() as writing:
        for answer in ids:
            writing.execute("DELETE FROM answers WHERE id = ?", (answer,))
            for table in ("answer_versions", "answer_uses"):
                writing.execute(f"DELETE FROM {table} WHERE answer = ?", (answer,))
            disputes = "DELETE FROM answer_disputes WHERE answer = ? OR source = ?"
            writing.execute(disputes, (answer, f"{ANSWER}{answer}"))
    database.erase_deleted(ERASED)


def forget_sources(database: Database, sources: Iterable[str]) -> None:
    """The same of those whose documents were forgotten, and that other documents were forgotten which dispute one."""
    sources = list(sources)
    with database.transaction() as writing:
        writing.executemany("DELETE FROM answer_disputes WHERE source = ?", [(each,) for each in sources])
    forget(database, kept_ids(sources))

"""The log of questions: one row of figures for each turn, and its texts.

The figures stay for good, the texts for as long as the operator keeps them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field, replace
from typing import Any, Literal

from core.conversation import Conversation, Decision, ModelExchange, Outcome, Turn, log_fields, value
from core.errors import FootnoteError
from core.reasoning.limits import NO_PRICES, Prices
from core.storage.database import AsyncDatabase, Database, Schema, rows_among, rows_as
from core.storage.storage import Storage
from core.text.terms import comparable
from core.traces import figures, names, quoted
from core.traces import trace as traced
from core.traces.figures import QUESTION_COLUMNS, LoggedQuestion
from core.traces.trace import Trace

logger = logging.getLogger(__name__)

STORE = "questions"
DAY = 86_400.0  # seconds
EXPIRE_EVERY = 3_600.0  # seconds

_TABLES = """
CREATE TABLE IF NOT EXISTS questions (
    turn TEXT PRIMARY KEY,
    about TEXT NOT NULL,          -- the turn of the question: its own, or for a decision that of the proposal
    kind TEXT NOT NULL,           -- question, approve or deny
    conversation TEXT NOT NULL,
    channel TEXT NOT NULL,        -- platform/space/channel
    author TEXT NOT NULL,         -- empty: forgotten
    asked_at REAL NOT NULL,       -- seconds since the epoch
    question TEXT NOT NULL,       -- empty: not kept, or not any more
    language TEXT NOT NULL,
    outcome TEXT NOT NULL,
    is_sure INTEGER NOT NULL,     -- 0 for an answer that was shown as "this may be it"
    grounding TEXT NOT NULL,      -- empty: no answer
    confidence REAL NOT NULL,
    seconds REAL NOT NULL,
    retrieve_ms REAL NOT NULL,
    model TEXT NOT NULL,
    calls INTEGER NOT NULL,
    round_trips INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost REAL,                    -- in the currency of the prices; NULL: no prices were set
    words TEXT NOT NULL DEFAULT '',  -- the question as it is searched: without case and accents
    is_whole INTEGER NOT NULL DEFAULT 1  -- 0 for an answer to a part of the question
);
CREATE INDEX IF NOT EXISTS questions_by_time ON questions (asked_at);
CREATE INDEX IF NOT EXISTS questions_by_conversation ON questions (conversation);
CREATE INDEX IF NOT EXISTS questions_by_question ON questions (about);
CREATE INDEX IF NOT EXISTS questions_by_author ON questions (author, asked_at);
CREATE INDEX IF NOT EXISTS questions_by_channel ON questions (channel, asked_at);
CREATE TABLE IF NOT EXISTS traces (turn TEXT PRIMARY KEY, asked_at REAL NOT NULL, content BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS traces_by_time ON traces (asked_at);
CREATE TABLE IF NOT EXISTS exchanges (turn TEXT PRIMARY KEY, content BLOB NOT NULL);  -- with models, if they are kept
CREATE TABLE IF NOT EXISTS trace_sources (source TEXT NOT NULL, turn TEXT NOT NULL, PRIMARY KEY (source, turn));
CREATE INDEX IF NOT EXISTS trace_sources_by_turn ON trace_sources (turn);
CREATE TABLE IF NOT EXISTS ratings (
    turn TEXT NOT NULL, author TEXT NOT NULL, is_positive INTEGER NOT NULL, given_at REAL NOT NULL,
    fault TEXT NOT NULL DEFAULT '',  -- wrong, outdated, incomplete or unrelated; empty: not said
    remark TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (turn, author)
);
CREATE INDEX IF NOT EXISTS ratings_by_time ON ratings (given_at);
"""


SCHEMA = Schema(
    tables=_TABLES + figures.TABLES + names.TABLES + figures.USES_TABLE + quoted.TABLE,
    migrations=(lambda writing: writing.execute(quoted.TABLE),),
    cure="Move it away: the list of questions then begins anew, and nothing else is affected.",
)

_KEEP_SOURCE = "INSERT INTO trace_sources VALUES (?, ?) ON CONFLICT DO NOTHING"
_RATE = (
    "INSERT INTO ratings (turn, author, is_positive, given_at) VALUES (?, ?, ?, ?) ON CONFLICT (turn, author)"
    " DO UPDATE SET is_positive = excluded.is_positive, given_at = excluded.given_at"
)
_RATERS = "SELECT turn, author FROM ratings WHERE turn = ?"

Fault = Literal["wrong", "outdated", "incomplete", "unrelated"]


_RECORD = (
    f"INSERT INTO questions ({', '.join(QUESTION_COLUMNS)}, words) VALUES ({', '.join('?' * len(QUESTION_COLUMNS))}, ?)"
    " ON CONFLICT (turn) DO NOTHING"
)


@value
class GivenRating:
    """One person's rating of an answer."""

    author: str
    is_positive: bool
    fault: str  #: what they say is wrong; empty: not said
    remark: str  #: a line about it, in their words; empty: none, or not kept any more


Listener = Callable[[Turn, Outcome, Trace], None]


class Log:
    """The port through which the assistant tells of its turns. This one notes nothing."""

    __slots__ = ()

    async def record(self, turn: Turn, outcome: Outcome, trace: Trace) -> None:
        """Record a turn that has ended; a repeat changes nothing."""

    async def forget_conversation(self, conversation: Conversation) -> None: ...

    async def list_watched(self) -> frozenset[str]:
        """The turns whose outcomes are needed for longer than others."""
        return frozenset()


NO_LOG = Log()


@dataclass(slots=True, kw_only=True)
class QuestionLog(Log):
    """Raises StoreUnavailable when nothing can be read or written now, except for :meth:`record`."""

    database: AsyncDatabase
    keep: float  #: seconds for which texts are kept; 0: figures only
    prices: Prices = NO_PRICES
    listeners: tuple[Listener, ...] = ()  #: called once for each turn
    now: Callable[[], float] = time.time
    names: names.ShownNames = field(init=False)
    quoted: quoted.QuotedDocuments = field(init=False)
    _expired_at: float = field(default=0.0)

    def __post_init__(self) -> None:
        self.names = names.ShownNames(self.database)
        self.quoted = quoted.QuotedDocuments(self.database)

    async def record(self, turn: Turn, outcome: Outcome, trace: Trace) -> None:
        """Log how a turn ended; the first time counts. What cannot be written is lost: the answer is not."""
        if not outcome.is_shown:
            return
        try:
            is_new = await self.database.call(self._record, turn, outcome, trace)
            if self.now() - self._expired_at >= EXPIRE_EVERY:
                await self.expire()
        except FootnoteError:
            logger.exception("a question could not be logged", extra=log_fields(turn))
            is_new = True
        for listener in self.listeners if is_new else ():
            listener(turn, outcome, trace)

    def _record(self, turn: Turn, outcome: Outcome, trace: Trace) -> bool:
        """Log a turn; True the first time."""
        trace = traced.with_outcome(trace, outcome)
        with self.database.database.transaction() as writing:
            found = writing.execute("SELECT about FROM questions WHERE turn = ?", (trace.about,)).fetchone()
            ended = self._to_row(turn, outcome, trace, found[0] if found else trace.about or turn.id)
            row = [int(each) if isinstance(each, bool) else each for each in astuple(ended)]
            if writing.execute(_RECORD, (*row, comparable(ended.question))).rowcount != 1:
                return False
            asked_at = ended.asked_at
            models = [(each, self.prices.cost(each)) for each in outcome.usage.models]
            figures.count(writing, ended, models)
            if not self.keep:
                return True
            writing.execute("INSERT INTO traces VALUES (?, ?, ?)", (turn.id, asked_at, traced.pack(trace)))
            writing.executemany(
                _KEEP_SOURCE, [(source, turn.id) for source in sorted(traced.sources_of(trace))]
            )
            figures.count_documents(writing, trace, asked_at)
            if trace.exchanges:
                writing.execute(
                    "INSERT INTO exchanges VALUES (?, ?)", (turn.id, traced.pack_exchanges(trace))
                )
        return True

    def _to_row(self, turn: Turn, outcome: Outcome, trace: Trace, about: str) -> LoggedQuestion:
        answer, usage, timing = outcome.answer, outcome.usage, outcome.timing_ms
        kind: str
        if isinstance(turn, Decision):
            kind, text, at = turn.verdict, trace.question, turn.decided_at
        else:
            kind, text, at = "question", turn.text, turn.asked_at
        return LoggedQuestion(
            turn=turn.id, about=about, kind=kind, conversation=turn.conversation.id,
            channel=turn.conversation.channel_id, author=turn.author, asked_at=at,
            question=text if self.keep else "", language=outcome.language, outcome=outcome.kind,
            is_sure=answer is None or answer.is_sure, grounding=answer.grounding if answer else "",
            confidence=outcome.confidence, seconds=round(timing.get("total", 0.0) / 1000, 3),
            retrieve_ms=timing.get("retrieve", 0.0), model=usage.name, calls=usage.calls,
            round_trips=usage.round_trips, input_tokens=usage.input_tokens, output_tokens=usage.output_tokens,
            cost=usage.cost, is_whole=not (answer and outcome.kind == "answered" and answer.missing),
        )  # fmt: skip

    async def rate(self, turn: str, author: str, *, is_positive: bool, at: float) -> None:
        """Store one person's rating of one turn; the last one counts."""
        await self.database.write(_RATE, (turn, author, int(is_positive), at))

    async def ratings(self, turn: str) -> dict[str, bool]:
        """Ratings of an answer, by author."""
        rows = await self.database.rows("SELECT author, is_positive FROM ratings WHERE turn = ?", (turn,))
        return {author: bool(is_positive) for author, is_positive in rows}

    async def given_ratings(self, turn: str) -> tuple[GivenRating, ...]:
        """The same with what people said is wrong; the newest last."""
        query = (
            "SELECT author, is_positive, fault, remark FROM ratings WHERE turn = ? ORDER BY given_at, author"
        )
        given = rows_as(GivenRating, await self.database.rows(query, (turn,)))
        return tuple(replace(each, is_positive=bool(each.is_positive)) for each in given)

    async def explain(self, turn: str, author: str, fault: Fault, remark: str) -> None:
        """Stores a person's reason for rating an answer down."""
        query = "UPDATE ratings SET fault = ?, remark = ? WHERE turn = ? AND author = ?"
        await self.database.write(query, (fault, remark, turn, author))

    async def question(self, turn: str) -> LoggedQuestion | None:
        return (await self.questions([turn])).get(turn)

    async def questions(self, turns: Sequence[str]) -> dict[str, LoggedQuestion]:
        """The logged ones of these turns."""
        query = f"SELECT {', '.join(QUESTION_COLUMNS)} FROM questions WHERE turn {{}}"
        rows = await self.database.call(rows_among, self.database.database, query, turns)
        return {each.turn: each for each in map(parse_row, rows)}

    async def trace(self, turn: str) -> Trace | None:
        """The trace of a turn; None if it is not kept, or a newer version wrote it."""
        return (await self.traces([turn])).get(turn)

    async def exchanges(self, turn: str) -> tuple[ModelExchange, ...]:
        """The calls of models for this turn, with their words; empty where that is not kept."""
        rows = await self.database.rows("SELECT content FROM exchanges WHERE turn = ?", (turn,))
        return traced.unpack_exchanges(bytes(rows[0][0])) if rows else ()

    async def traces(self, turns: Sequence[str]) -> dict[str, Trace]:
        """The same for several, as far as they are kept."""
        query = "SELECT turn, content FROM traces WHERE turn {}"
        rows = await self.database.call(rows_among, self.database.database, query, turns)
        found = ((turn, traced.unpack(bytes(content))) for turn, content in rows)
        return {turn: trace for turn, trace in found if trace is not None}

    async def forget_conversation(self, conversation: Conversation) -> None:
        """Delete its texts and who spoke; the figures stay."""
        self.names.forget_noted()
        await self.database.call(
            forget_texts, self.database.database, "conversation = ?", (conversation.id,), spares_people=False
        )

    async def forget_sources(self, sources: Iterable[str]) -> None:
        """Delete the texts of the turns that read one of these documents."""
        await self.database.call(forget_sources, self.database.database, sources)

    async def list_watched(self) -> frozenset[str]:
        return await self.quoted.list_watched()

    async def expire(self) -> None:
        """Delete the texts that are older than the operator keeps them."""
        self._expired_at = self.now()
        before = self._expired_at - self.keep
        await self.database.call(forget_texts, self.database.database, "asked_at < ?", (before,))
        await self.database.write("DELETE FROM document_uses WHERE day < ?", (figures.day_of(before),))


def forget_sources(database: Database, sources: Iterable[str]) -> None:
    """Delete the texts of the turns that read one of these documents, and how often they did."""
    sources = list(sources)
    with database.transaction() as writing:
        figures.forget_uses(writing, sources)
        quoted.forget_quoted(writing, sources)
    for source in sources:
        forget_texts(database, "turn IN (SELECT turn FROM trace_sources WHERE source = ?)", (source,))


def forget_texts(
    database: Database, where: str, values: Sequence[object], *, spares_people: bool = True
) -> None:
    """Delete the words of these questions, their traces and remarks; with ``spares_people=False`` also who it was."""
    with database.transaction() as writing:
        wordy = f"SELECT turn FROM questions WHERE {where} AND (question <> '' OR turn IN (SELECT turn FROM traces))"
        turns = writing.execute(wordy, values).fetchall()
        writing.executemany("UPDATE questions SET question = '', words = '' WHERE turn = ?", turns)
        for table in ("traces", "exchanges", "trace_sources"):
            writing.executemany(f"DELETE FROM {table} WHERE turn = ?", turns)
        writing.executemany("UPDATE ratings SET remark = '' WHERE turn = ?", turns)
        if not spares_people:
            who = writing.execute(f"SELECT author, channel FROM questions WHERE {where}", values).fetchall()
            its = f"DELETE FROM quoted_documents WHERE turn IN (SELECT turn FROM questions WHERE {where})"
            writing.execute(its, values)
            writing.execute(f"UPDATE questions SET author = '' WHERE {where}", values)
            raters = [row for turn in turns for row in writing.execute(_RATERS, turn).fetchall()]
            nameless = [(f"#{number}", *rater) for number, rater in enumerate(raters, start=1)]
            writing.executemany("UPDATE ratings SET author = ? WHERE turn = ? AND author = ?", nameless)
            names.forget_names(writing, {author for author, _ in who}, {channel for _, channel in who})
    if turns:
        database.erase_deleted(("questions", "traces", "exchanges", "ratings", "shown_names"))


def parse_row(row: Sequence[Any]) -> LoggedQuestion:
    """The columns of :data:`QUESTION_COLUMNS`."""
    (read,) = rows_as(LoggedQuestion, [tuple(row)])
    return replace(read, is_sure=bool(read.is_sure), is_whole=bool(read.is_whole))


@contextmanager
def open_question_log(
    storage: Storage, *, days: int, prices: Prices = NO_PRICES, listeners: tuple[Listener, ...] = ()
) -> Iterator[QuestionLog]:
    """Raises SettingsError when the store cannot be used. ``days``: for which texts are kept."""
    with storage.asynchronous(STORE, SCHEMA) as database:
        yield QuestionLog(database=database, keep=days * DAY, prices=prices, listeners=listeners)

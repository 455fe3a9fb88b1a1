"""The log of questions: one row of figures for each turn, for good, and its texts for as long as the operator keeps them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field, fields, replace
from typing import Literal, Protocol

from core.conversation import (
    EVALUATION,
    Conversation,
    Decision,
    ModelExchange,
    Outcome,
    Turn,
    is_unaddressed,
    log_fields,
    value,
)
from core.errors import FootnoteError
from core.reasoning.limits import NO_PRICES, Prices
from core.storage.database import AsyncDatabase, Connection, Database, Row, Schema, placeholders
from core.storage.storage import Storage
from core.text.terms import comparable
from core.traces import figures, names
from core.traces.figures import ending_of, is_half
from core.traces.trace import (
    Trace,
    packed,
    packed_exchanges,
    sources_of,
    unpacked,
    unpacked_exchanges,
    with_outcome,
)

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


def _make_comparable(database: Connection) -> None:
    database.execute("ALTER TABLE questions ADD COLUMN words TEXT NOT NULL DEFAULT ''")
    asked = database.execute("SELECT question, turn FROM questions WHERE question <> ''").fetchall()
    rows = [(comparable(question), turn) for question, turn in asked]
    database.executemany("UPDATE questions SET words = ? WHERE turn = ?", rows)


def _tell_more(database: Connection) -> None:
    """Which answers are to a part of a question, what documents are used for, and what models were sent."""
    database.execute("ALTER TABLE questions ADD COLUMN is_whole INTEGER NOT NULL DEFAULT 1")
    database.execute("DROP INDEX questions_by_author")
    database.execute("CREATE INDEX questions_by_author ON questions (author, asked_at)")
    database.execute("CREATE TABLE IF NOT EXISTS exchanges (turn TEXT PRIMARY KEY, content BLOB NOT NULL)")
    figures.count_kept(database)


SCHEMA = Schema(
    tables=_TABLES + figures.TABLES + names.TABLES + figures.USES_TABLE,
    migrations=(_make_comparable, _tell_more),
    cure="Move it away: the list of questions then begins anew, and nothing else is affected.",
)

_KEEP_SOURCE = "INSERT INTO trace_sources VALUES (?, ?) ON CONFLICT DO NOTHING"
_RATE = (
    "INSERT INTO ratings (turn, author, is_positive, given_at) VALUES (?, ?, ?, ?) ON CONFLICT (turn, author)"
    " DO UPDATE SET is_positive = excluded.is_positive, given_at = excluded.given_at"
)
_RATERS = "SELECT turn, author FROM ratings WHERE turn = ?"

Fault = Literal["wrong", "outdated", "incomplete", "unrelated"]


@value
class LoggedQuestion:
    """A turn and how it ended, without its trace."""

    turn: str
    about: str  #: the turn of the question that it is about
    kind: str  #: question, approve or deny
    conversation: str
    channel: str
    author: str
    asked_at: float
    question: str  #: empty: not kept any more
    language: str
    outcome: str
    is_sure: bool
    grounding: str
    confidence: float
    seconds: float
    retrieve_ms: float
    model: str
    calls: int
    round_trips: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    is_whole: bool = True  #: False: the answer leaves a part of the question open

    @property
    def ending(self) -> str:
        return ending_of(self.outcome, is_sure=self.is_sure, is_whole=self.is_whole)


COLUMNS = tuple(field.name for field in fields(LoggedQuestion))
_RECORD = (
    f"INSERT INTO questions ({', '.join(COLUMNS)}, words) VALUES ({', '.join('?' * len(COLUMNS))}, ?)"
    " ON CONFLICT (turn) DO NOTHING"
)
_SELECT = f"SELECT {', '.join(COLUMNS)} FROM questions"


@value
class GivenRating:
    """One person's rating of an answer."""

    author: str
    is_positive: bool
    fault: str  #: what they say is wrong; empty: not said
    remark: str  #: a line about it, in their words; empty: none, or not kept any more


Listener = Callable[[Turn, Outcome, Trace], None]


class Log(Protocol):
    """The port through which the assistant tells of its turns."""

    async def record(self, turn: Turn, outcome: Outcome, trace: Trace) -> None:
        """A turn has ended; told again, it changes nothing."""

    async def forget_conversation(self, conversation: Conversation) -> None: ...


class NoLog:
    """Nothing is noted."""

    async def record(self, turn: Turn, outcome: Outcome, trace: Trace) -> None: ...

    async def forget_conversation(self, conversation: Conversation) -> None: ...


NO_LOG = NoLog()


@dataclass(slots=True, kw_only=True)
class QuestionLog:
    """Raises StoreUnavailable when nothing can be read or written now, but for :meth:`record`."""

    database: AsyncDatabase
    keep: float  #: seconds for which texts are kept; 0: figures only
    prices: Prices = NO_PRICES
    listeners: tuple[Listener, ...] = ()  #: told of each turn once
    now: Callable[[], float] = time.time
    names: names.ShownNames = field(init=False)
    _expired_at: float = field(default=0.0)

    def __post_init__(self) -> None:
        self.names = names.ShownNames(self.database)

    async def record(self, turn: Turn, outcome: Outcome, trace: Trace) -> None:
        """Log how a turn ended; the first time counts. What cannot be written is lost: the answer is not."""
        if (is_unaddressed(turn) and not outcome.is_shown) or turn.conversation.channel == EVALUATION:
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
        """True if it was told for the first time."""
        trace = with_outcome(trace, outcome)
        with self.database.database.transaction() as writing:
            found = writing.execute("SELECT about FROM questions WHERE turn = ?", (trace.about,)).fetchone()
            ended = self._logged(turn, outcome, trace, found[0] if found else trace.about or turn.id)
            row = [int(each) if isinstance(each, bool) else each for each in astuple(ended)]
            if writing.execute(_RECORD, (*row, comparable(ended.question))).rowcount != 1:
                return False
            asked_at = ended.asked_at
            models = [(each, self.prices.cost(each)) for each in outcome.usage.models]
            figures.count(writing, ended, models)
            if not self.keep:
                return True
            writing.execute("INSERT INTO traces VALUES (?, ?, ?)", (turn.id, asked_at, packed(trace)))
            writing.executemany(_KEEP_SOURCE, [(source, turn.id) for source in sorted(sources_of(trace))])
            figures.count_documents(writing, trace, asked_at)
            if trace.exchanges:
                writing.execute("INSERT INTO exchanges VALUES (?, ?)", (turn.id, packed_exchanges(trace)))
        return True

    def _logged(self, turn: Turn, outcome: Outcome, trace: Trace, about: str) -> LoggedQuestion:
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
            cost=usage.cost, is_whole=not is_half(outcome),
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
        return tuple(
            GivenRating(author=author, is_positive=bool(is_positive), fault=fault, remark=remark)
            for author, is_positive, fault, remark in await self.database.rows(query, (turn,))
        )

    async def explain(self, turn: str, author: str, fault: Fault, remark: str) -> None:
        """Stores a person's reason for rating an answer down."""
        query = "UPDATE ratings SET fault = ?, remark = ? WHERE turn = ? AND author = ?"
        await self.database.write(query, (fault, remark, turn, author))

    async def question(self, turn: str) -> LoggedQuestion | None:
        rows = await self.database.rows(f"{_SELECT} WHERE turn = ?", (turn,))
        return logged(rows[0]) if rows else None

    async def questions(self, turns: Sequence[str]) -> dict[str, LoggedQuestion]:
        """Those of these turns that are logged; of some hundreds at most."""
        if not turns:
            return {}
        rows = await self.database.rows(f"{_SELECT} WHERE turn IN ({placeholders(turns)})", turns)
        return {each.turn: each for each in map(logged, rows)}

    async def trace(self, turn: str) -> Trace | None:
        """None where it is not kept, or a newer version wrote it."""
        rows = await self.database.rows("SELECT content FROM traces WHERE turn = ?", (turn,))
        return unpacked(bytes(rows[0][0])) if rows else None

    async def exchanges(self, turn: str) -> tuple[ModelExchange, ...]:
        """What models were sent for this turn, and said; empty where that is not kept."""
        rows = await self.database.rows("SELECT content FROM exchanges WHERE turn = ?", (turn,))
        return unpacked_exchanges(bytes(rows[0][0])) if rows else ()

    async def traces(self, turns: Sequence[str]) -> dict[str, Trace]:
        """The same for several, at most some hundreds, as far as they are kept."""
        if not turns:
            return {}
        query = f"SELECT turn, content FROM traces WHERE turn IN ({placeholders(turns)})"
        rows = await self.database.rows(query, turns)
        found = ((turn, unpacked(bytes(content))) for turn, content in rows)
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
            writing.execute(f"UPDATE questions SET author = '' WHERE {where}", values)
            raters = [row for turn in turns for row in writing.execute(_RATERS, turn).fetchall()]
            nameless = [(f"#{number}", *rater) for number, rater in enumerate(raters, start=1)]
            writing.executemany("UPDATE ratings SET author = ? WHERE turn = ? AND author = ?", nameless)
            names.forget_names(writing, {author for author, _ in who}, {channel for _, channel in who})
    if turns:
        database.erase_deleted(("questions", "traces", "exchanges", "ratings", "shown_names"))


def logged(row: Row) -> LoggedQuestion:
    """The columns of :data:`COLUMNS`."""
    read = LoggedQuestion(**dict(zip(COLUMNS, row, strict=True)))
    return replace(read, is_sure=bool(read.is_sure), is_whole=bool(read.is_whole))


@contextmanager
def open_question_log(
    storage: Storage, *, days: int, prices: Prices = NO_PRICES, listeners: tuple[Listener, ...] = ()
) -> Iterator[QuestionLog]:
    """Raises SettingsError when the store cannot be used. ``days``: for which texts are kept."""
    with storage.asynchronous(STORE, SCHEMA) as database:
        yield QuestionLog(database=database, keep=days * DAY, prices=prices, listeners=listeners)

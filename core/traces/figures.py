"""Figures of questions, by day: what they cost, how they ended, which documents they needed.

A row for each day, channel, kind and ending, and one for each day and model, so that a year of figures is read
from as many rows as there were days and channels, however much was asked. They name no person and quote nothing,
and nothing is ever taken off them. Only a document that is forgotten takes its sums along, and they are kept as long as
the texts of questions.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import accumulate

from core.conversation import ModelTokens, value
from core.storage.database import Connection, Database, column_names, rows_as
from core.traces.trace import Trace

#: Seconds. A turn is counted under the first that it does not exceed, or after the last.
BOUNDS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0)
#: Endings of a turn that figures and lists tell from "answered": a part of the question is left open; and "this may be it".
HALF, UNSURE = "half_answered", "unsure"
_BUCKETS = tuple(f"within_{number}" for number in range(len(BOUNDS) + 1))

_SUMMED = ("turns", "seconds", "calls", "round_trips", "input_tokens", "output_tokens", *_BUCKETS)

TABLES = f"""
CREATE TABLE IF NOT EXISTS figures (
    day TEXT NOT NULL,            -- of UTC, as 2026-03-12
    channel TEXT NOT NULL,        -- platform/space/channel
    kind TEXT NOT NULL,           -- question, approve or deny
    outcome TEXT NOT NULL,
    cost REAL,                    -- NULL: no prices were set
    seconds REAL NOT NULL,
    {", ".join(f"{name} INTEGER NOT NULL" for name in _SUMMED if name != "seconds")},
    PRIMARY KEY (day, channel, kind, outcome)
);
CREATE TABLE IF NOT EXISTS model_figures (
    day TEXT NOT NULL, model TEXT NOT NULL,
    cost REAL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
    PRIMARY KEY (day, model)
);
"""


def _upsert(table: str, keys: Sequence[str], summed: Sequence[str]) -> str:
    """Makes a row, or adds to it. A cost is unknown until the first that is known."""
    columns = (*keys, "cost", *summed)
    cost = f"CASE WHEN excluded.cost IS NULL THEN {table}.cost ELSE coalesce({table}.cost, 0) + excluded.cost END"
    sums = ", ".join(f"{name} = {table}.{name} + excluded.{name}" for name in summed)
    return (
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
        f" ON CONFLICT ({', '.join(keys)}) DO UPDATE SET cost = {cost}, {sums}"
    )


_ADD = _upsert("figures", ("day", "channel", "kind", "outcome"), _SUMMED)
_ADD_MODEL = _upsert("model_figures", ("day", "model"), ("input_tokens", "output_tokens"))


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
        """The outcome, or its narrower name."""
        if self.outcome != "answered":
            return self.outcome
        return UNSURE if not self.is_sure else self.outcome if self.is_whole else HALF


QUESTION_COLUMNS = column_names(LoggedQuestion)


@value
class Sums:
    """The sums of the turns of one day, channel, ending or model."""

    of: str
    turns: int
    questions: int  #: without the decisions about them
    seconds: float
    calls: int
    round_trips: int
    input_tokens: int
    output_tokens: int
    cost: float | None  #: None: no prices were set
    within: tuple[int, ...]  #: turns that took at most BOUNDS seconds each, and longer; not cumulated


@value
class DayCount:
    """Questions of one day that ended in one way."""

    day: str
    outcome: str
    questions: int


@value
class ModelSums:
    """One model's share of one day."""

    day: str
    model: str
    input_tokens: int
    output_tokens: int
    cost: float | None


def day_of(at: float) -> str:
    """The day of UTC, as 2026-03-12."""
    return datetime.fromtimestamp(at, UTC).date().isoformat()


def count(
    writing: Connection, turn: LoggedQuestion, models: Sequence[tuple[ModelTokens, float | None]]
) -> None:
    """Add a turn, and the cost of each model. They are sorted so that two processes never wait for each other."""
    day, tokens = day_of(turn.asked_at), [tokens for tokens, _ in models]
    buckets = [0] * len(_BUCKETS)
    buckets[sum(turn.seconds > bound for bound in BOUNDS)] = 1
    read, written = sum(each.input_tokens for each in tokens), sum(each.output_tokens for each in tokens)
    key = (day, turn.channel, turn.kind, turn.ending, turn.cost)
    writing.execute(_ADD, (*key, 1, turn.seconds, turn.calls, turn.round_trips, read, written, *buckets))
    rows = [(day, each.name, cost, each.input_tokens, each.output_tokens) for each, cost in models]
    if rows:
        writing.executemany(_ADD_MODEL, sorted(rows, key=lambda row: row[1]))


def by_day_and_outcome(database: Database, since: str) -> tuple[DayCount, ...]:
    """The number of questions by day, from ``since`` on, and by outcome."""
    rows = database.rows(
        "SELECT day, outcome, sum(turns) FROM figures WHERE day >= ? AND kind = 'question' GROUP BY day, outcome",
        (since,),
    )
    return tuple(DayCount(day=day, outcome=outcome, questions=int(number)) for day, outcome, number in rows)


def by_channel(database: Database, since: str) -> tuple[Sums, ...]:
    """The channel that took the most tokens first."""
    sums = _sums("channel", database, since)
    return tuple(sorted(sums, key=lambda each: -each.input_tokens - each.output_tokens))


def by_model(database: Database, since: str) -> tuple[ModelSums, ...]:
    """The sums of each day and model, earliest first."""
    rows = database.rows(
        "SELECT day, model, input_tokens, output_tokens, cost FROM model_figures WHERE day >= ?"
        " ORDER BY day, model",
        (since,),
    )
    return tuple(rows_as(ModelSums, rows))


def _sums(key: str, database: Database, since: str) -> tuple[Sums, ...]:
    summed = ", ".join(f"sum({name})" for name in (*_SUMMED, "cost"))
    questions = "sum(CASE WHEN kind = 'question' THEN turns ELSE 0 END)"
    rows = database.rows(
        f"SELECT {key}, {questions}, {summed} FROM figures WHERE day >= ? GROUP BY {key} ORDER BY {key}",
        (since,),
    )
    return tuple(
        Sums(
            of=of, turns=turns, questions=questions, seconds=float(seconds), calls=calls, round_trips=trips,
            input_tokens=read, output_tokens=written, cost=None if cost is None else float(cost),
            within=tuple(within),
        )
        for of, questions, turns, seconds, calls, trips, read, written, *within, cost in rows
    )  # fmt: skip


#: From a day on, as 2026-03-12: the sums of each day, earliest first, without days on which nobody asked; of each ending.
by_day, by_outcome = partial(_sums, "day"), partial(_sums, "outcome")


def total_of(sums: Sequence[Sums]) -> Sums:
    """The total of these sums; zero of none."""
    added = ("turns", "questions", "seconds", "calls", "round_trips", "input_tokens", "output_tokens")
    costs = [each.cost for each in sums if each.cost is not None]
    return Sums(
        of="", cost=sum(costs) if costs else None,
        within=tuple(sum(each.within[at] for each in sums) for at in range(len(_BUCKETS))),
        **{name: sum(getattr(each, name) for each in sums) for name in added},
    )  # fmt: skip


def quantile(share: float, within: Iterable[int]) -> float | None:
    """The bound that this share of turns stays within, twice the last if none; None: no turns."""
    counts = list(accumulate(within))
    if not counts or not counts[-1]:
        return None
    bounds = (*BOUNDS, 2 * BOUNDS[-1])
    return next(bound for bound, count in zip(bounds, counts, strict=True) if count >= share * counts[-1])


USES_TABLE = """
CREATE TABLE IF NOT EXISTS document_uses (
    collection TEXT NOT NULL, source TEXT NOT NULL, day TEXT NOT NULL,
    found INTEGER NOT NULL,  -- questions for which a passage of it was found
    cited INTEGER NOT NULL,  -- answers that cite it
    PRIMARY KEY (collection, source, day)
);
"""
_ADD_USE = (
    "INSERT INTO document_uses VALUES (?, ?, ?, 1, ?) ON CONFLICT (collection, source, day) DO UPDATE SET"
    " found = document_uses.found + 1, cited = document_uses.cited + excluded.cited"
)

DocumentKey = tuple[str, str]  # a collection and a source


@value
class DocumentUse:
    """The number of questions that needed a document."""

    found: int = 0
    cited: int = 0

    def __add__(self, other: "DocumentUse") -> "DocumentUse":
        return DocumentUse(found=self.found + other.found, cited=self.cited + other.cited)


def count_documents(writing: Connection, trace: Trace, at: float) -> None:
    """Add the documents of one turn that ended at this time."""
    documents = [each for each in trace.citations if each.origin == "documents"]
    cited = {(each.collection, each.source) for each in documents if each.number}
    found = {(each.collection, each.source) for each in trace.passages if each.origin == "documents"} | cited
    day = day_of(at)
    writing.executemany(_ADD_USE, [(*each, day, int(each in cited)) for each in sorted(found)])


def document_uses(database: Database, since: str) -> dict[DocumentKey, DocumentUse]:
    """The uses of every document that was found from this day on, as 2026-03-12. Blocks."""
    rows = database.rows(
        "SELECT collection, source, sum(found), sum(cited) FROM document_uses WHERE day >= ?"
        " GROUP BY collection, source",
        (since,),
    )
    return {
        (collection, source): DocumentUse(found=int(f), cited=int(c)) for collection, source, f, c in rows
    }


def forget_uses(writing: Connection, sources: Iterable[str]) -> None:
    writing.executemany("DELETE FROM document_uses WHERE source = ?", [(each,) for each in sources])


_ASKED = (
    "EXISTS (SELECT 1 FROM questions q WHERE q.author = people.author AND q.asked_at >= ? AND q.asked_at < ?"
    " AND q.kind = 'question')"
)
#: DISTINCT would read every question of both spans. This goes from one person to the next in the index, a "loose index
#: scan" (wiki.postgresql.org), and asks for each whether there is a question.
_ASKERS = f"""
WITH RECURSIVE people(author) AS (
    SELECT min(author) FROM questions WHERE author > ''
    UNION ALL
    SELECT (SELECT min(author) FROM questions WHERE author > people.author) FROM people WHERE author IS NOT NULL
)
SELECT sum(CASE WHEN {_ASKED} THEN 1 ELSE 0 END), sum(CASE WHEN {_ASKED} THEN 1 ELSE 0 END)
FROM people WHERE author IS NOT NULL
"""


@value
class Activity:
    askers: int  #: different people
    up: int  #: ratings
    down: int

    @property
    def helpful(self) -> float | None:
        """Per cent of the ratings; None where nobody rated."""
        rated = self.up + self.down
        return 100 * self.up / rated if rated else None


def activities(database: Database, began: float, turned: float, ends: float) -> tuple[Activity, Activity]:
    """Activities from ``began`` to before ``turned``, and from then to before ``ends``, in seconds since the epoch."""
    ((askers_before, askers),) = database.rows(_ASKERS, (began, turned, turned, ends))
    given = database.rows(
        "SELECT given_at >= ?, is_positive, count(*) FROM ratings WHERE given_at >= ? AND given_at < ? GROUP BY 1, 2",
        (turned, began, ends),
    )
    ratings = Counter({(bool(is_later), bool(is_up)): int(number) for is_later, is_up, number in given})
    return (
        Activity(askers=int(askers_before or 0), up=ratings[False, True], down=ratings[False, False]),
        Activity(askers=int(askers or 0), up=ratings[True, True], down=ratings[True, False]),
    )

"""Finds logged questions, filtered, newest first, a page at a time; and what people said is wrong with answers."""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from core.conversation import value
from core.storage.database import Database, Dialect
from core.text.terms import comparable
from core.traces.figures import HALF, QUESTION_COLUMNS, UNSURE, LoggedQuestion
from core.traces.log import QuestionLog, parse_row

LIKE: dict[Dialect, str] = {"sqlite": "LIKE", "postgresql": "ILIKE"}  # without regard to case

ALL = 2**31 - 1  # more than there are
MOST_WORDS = 20  # that are looked for at once
_TYPED = re.compile(r'["“„«]([^"“”„«»]*)["“”»]|([^\s"“”„«»]+)')

#: Outcome and further condition of each ending.
_ENDED = {
    "answered": ("answered", " AND q.is_sure = 1 AND q.is_whole = 1"),
    HALF: ("answered", " AND q.is_sure = 1 AND q.is_whole = 0"),
    UNSURE: ("answered", " AND q.is_sure = 0"),
}

RatedAs = Literal["", "up", "down", "any"]


@value
class QuestionFilter:
    """The properties of the questions that are looked for; empty fields say nothing."""

    kind: str = ""
    ending: str = ""  #: as of LoggedQuestion
    channel: str = ""  #: its id, whole or without platform and space
    author: str = ""
    by_name: bool = (
        False  #: whether what people call a person, or a part of what they call a channel, counts too
    )
    rated: RatedAs = ""
    text: str = ""  #: words of the question, in any order; what stands in quotation marks, in a row
    since: float | None = None  #: seconds since the epoch
    until: float | None = None
    before: tuple[float, str] | None = None  #: when the last one of the page before was asked, and its turn


@value
class FoundQuestion:
    """A question with how people rated its answer."""

    question: LoggedQuestion
    up: int
    down: int
    has_trace: bool
    author_name: str = ""  #: empty: unknown
    channel_name: str = ""


async def search(log: QuestionLog, wanted: QuestionFilter, *, limit: int = ALL) -> tuple[FoundQuestion, ...]:
    """Newest first."""
    conditions = list(_conditions(wanted, log.database.database.dialect))
    where = " AND ".join(condition for condition, _ in conditions) or "TRUE"
    columns = ", ".join(f"q.{name}" for name in QUESTION_COLUMNS)
    rows = await log.database.rows(
        f"SELECT {columns},"
        " (SELECT count(*) FROM ratings r WHERE r.turn = q.turn AND r.is_positive = 1),"
        " (SELECT count(*) FROM ratings r WHERE r.turn = q.turn AND r.is_positive = 0),"
        " EXISTS (SELECT 1 FROM traces t WHERE t.turn = q.turn),"
        " (SELECT name FROM shown_names WHERE kind = 'person' AND id = q.author),"
        " (SELECT name FROM shown_names WHERE kind = 'channel' AND id = q.channel)"
        f" FROM questions q WHERE {where} ORDER BY q.asked_at DESC, q.turn DESC LIMIT ?",
        (*(part for _, parts in conditions for part in parts), limit),
    )
    return tuple(
        FoundQuestion(
            question=parse_row(columns), up=up, down=down, author_name=person or "", channel_name=channel or "",
            has_trace=bool(has_trace),
        )
        for *columns, up, down, has_trace, person, channel in rows
    )  # fmt: skip


async def same_question(log: QuestionLog, about: str) -> tuple[LoggedQuestion, ...]:
    """The turns about one question, oldest first: the question itself, and decisions about searches for it."""
    rows = await log.database.rows(
        f"SELECT {', '.join(QUESTION_COLUMNS)} FROM questions WHERE about = ? ORDER BY asked_at, turn",
        (about,),
    )
    return tuple(map(parse_row, rows))


def typed_words(text: str) -> list[str]:
    """The words and the quoted phrases of what was typed, as questions are searched for them."""
    found = (phrase or word for phrase, word in _TYPED.findall(comparable(text)))
    return list(dict.fromkeys(" ".join(each.split()) for each in found if each.strip()))[:MOST_WORDS]


def has_all(words: Sequence[str], text: str) -> bool:
    """True if a text has all of these, which :func:`typed_words` gave."""
    own = comparable(text)
    return all(each in own for each in words)


def _conditions(wanted: QuestionFilter, dialect: Dialect) -> Iterator[tuple[str, Sequence[object]]]:
    like = f"{LIKE[dialect]} ? ESCAPE '!'"
    if wanted.kind:
        yield "q.kind = ?", (wanted.kind,)
    if wanted.ending:
        outcome, also = _ENDED.get(wanted.ending, (wanted.ending, ""))
        yield f"q.outcome = ?{also}", (outcome,)
    for words in typed_words(wanted.text):
        yield "q.words LIKE ? ESCAPE '!'", (f"%{_literal(words)}%",)
    if wanted.channel:
        of_id = (wanted.channel, f"%/{_literal(wanted.channel)}")
        by_name = ("channel", like, f"%{_literal(wanted.channel)}%") if wanted.by_name else None
        yield _id_condition(f"q.channel = ? OR q.channel {like}", of_id, by_name)
    if wanted.author:
        by_name = ("person", "= ?", wanted.author) if wanted.by_name else None
        yield _id_condition("q.author = ?", (wanted.author,), by_name)
    if wanted.rated:
        rated = {"up": " WHERE is_positive = 1", "down": " WHERE is_positive = 0", "any": ""}[wanted.rated]
        yield f"q.turn IN (SELECT turn FROM ratings{rated})", ()
    if wanted.since is not None:
        yield "q.asked_at >= ?", (wanted.since,)
    if wanted.until is not None:
        yield "q.asked_at < ?", (wanted.until,)
    if wanted.before is not None:
        at, turn = wanted.before
        yield "(q.asked_at < ? OR q.asked_at = ? AND q.turn < ?)", (at, at, turn)


def _id_condition(
    has_id: str, ids: Sequence[object], by_name: tuple[str, str, str] | None
) -> tuple[str, Sequence[object]]:
    """A condition on the id, or also on the name.

    ``by_name``: the kind of what is named, how names are compared, and the name.
    """
    if by_name is None:
        return f"({has_id})", ids
    kind, has_name, name = by_name
    column = {"channel": "q.channel", "person": "q.author"}[kind]
    named = f"SELECT id FROM shown_names WHERE kind = '{kind}' AND name {has_name}"
    return f"({has_id} OR {column} IN ({named}))", (*ids, name)


def _literal(sought: str) -> str:
    """A text escaped for LIKE, in which two signs mean something else."""
    return sought.replace("!", "!!").replace("%", "!%").replace("_", "!_")


RATED_DOWN = 5_000  # answers, those rated down last


@value
class Remark:
    """One person's reason for rating an answer down."""

    author: str
    given_at: float  #: seconds since the epoch
    fault: str  #: empty: not said
    words: str  #: a line about it; empty: none, or not kept any more


@value
class RatedDown:
    """An answer that somebody rated down."""

    turn: str
    remarks: tuple[Remark, ...]  #: the newest first

    @property
    def given_at(self) -> float:
        return self.remarks[0].given_at


def rated_down(database: Database, limit: int = RATED_DOWN) -> tuple[RatedDown, ...]:
    """The answers that people rated down, by the store of the log, those rated last first. Blocks."""
    remarks: dict[str, list[Remark]] = {}
    for turn, author, at, fault, words in database.rows(
        "SELECT turn, author, given_at, fault, remark FROM ratings WHERE is_positive = 0"
        " ORDER BY given_at DESC, turn, author LIMIT ?",
        (limit,),
    ):
        remarks.setdefault(turn, []).append(Remark(author=author, given_at=at, fault=fault, words=words))
    return tuple(RatedDown(turn=turn, remarks=tuple(own)) for turn, own in remarks.items())

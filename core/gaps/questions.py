"""The questions of the log that were not answered well, why, and what people decided about them.

Groups are made again each time, so a decision is stored for each question that the group held: see
:func:`core.gaps.groups.state_of`.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from typing import Any, Literal, get_args

from core.answers.store import KeptAnswer
from core.conversation import Conversation, value
from core.library.readers import ReaderSets
from core.library.sameness import are_same
from core.storage.database import AsyncDatabase, Database, Row, Schema, rows_among, rows_as
from core.storage.storage import Storage
from core.traces.log import QuestionLog
from core.traces.search import ALL, QuestionFilter, search
from core.traces.trace import record_of

#: Questions that are grouped, the newest ones: time and memory grow with their square.
GROUPED_QUESTIONS = 5_000
NEAR = 5  # passages whose documents count as near
LOOKED_AT = 4  # questions that may count, for one that is wanted
LOOKED_THROUGH = 1_000  # newest questions of a channel that a kept reply may answer too

#: Why a question counts. "undecided": the documents do not answer, and nobody has decided about a search yet.
Reason = Literal["unanswered", "denied", "undecided", "unsure", "rated_down"]


@value
class TimeSpan:
    """A time, in seconds since the epoch."""

    since: float
    until: float

    @property
    def before(self) -> "TimeSpan":
        """The span of the same length that ends where this one begins."""
        return TimeSpan(since=2 * self.since - self.until, until=self.since)


@value
class CloseDocument:
    """A document that was found, but did not answer."""

    collection: str
    source: str
    title: str


@value
class GapQuestion:
    """A question that was not answered well."""

    turn: str
    conversation: str
    channel: str
    author: str  #: empty: forgotten
    asked_at: float
    text: str  #: as a model understood it with what was said before, else as it was asked
    asked: str  #: in the person's own words
    language: str
    reason: Reason
    missing: str = ""  #: what a judge said is missing
    fault: str = ""  #: what a person said is wrong with the answer
    closest: tuple[CloseDocument, ...] = ()
    near: tuple[tuple[str, float], ...] = ()  #: documents that were found, each with how well it fits, 0 to 1
    confidence: float = 0.0  #: how sure the library was that they answer, 0 to 1
    collections: frozenset[str] = frozenset()  #: that it might read when it was asked, and of what is closest
    #: The sources that its words may come from, and of what is closest.
    documents: frozenset[str] = frozenset()


@value
class FoundGaps:
    """The questions of a span in the log that were not answered well."""

    questions: tuple[GapQuestion, ...]  #: newest first
    wordless: tuple[float, ...] = ()  #: when others were asked, whose words are not kept any more
    is_cut: bool = False  #: whether there were more than GROUPED_QUESTIONS


_RATED_DOWN = "EXISTS (SELECT 1 FROM ratings r WHERE r.turn = q.turn AND r.is_positive = 0)"
#: Questions that may count, and decisions about proposals; both ended in the span or after it.
_ENDED = f"""
SELECT q.turn, q.about, q.kind, q.conversation, q.channel, q.author, q.asked_at, q.question, q.language, q.outcome,
    q.is_sure, CASE WHEN {_RATED_DOWN} THEN 1 ELSE 0 END, q.confidence
FROM questions q
WHERE q.asked_at >= ? AND q.asked_at < ? AND q.kind = 'question'
    AND (q.outcome IN ('no_answer', 'approval_needed') OR q.is_sure = 0 OR {_RATED_DOWN})
ORDER BY q.asked_at DESC, q.turn
LIMIT ?
"""
_DECIDED = f"""
SELECT q.about, q.kind, q.outcome, q.is_sure, CASE WHEN {_RATED_DOWN} THEN 1 ELSE 0 END
FROM questions q WHERE q.kind <> 'question' AND q.asked_at >= ? ORDER BY q.asked_at, q.turn
"""
_TRACES = "SELECT turn, content FROM traces WHERE turn {}"
_FAULTS = "SELECT turn, fault, remark FROM ratings WHERE is_positive = 0 AND turn {} ORDER BY given_at"


def read_gaps(database: Database, span: TimeSpan, *, limit: int = GROUPED_QUESTIONS) -> FoundGaps:
    """The questions of a span that count, from the log; fewer than GROUPED_QUESTIONS where so many are decided."""
    looked = ALL if limit == GROUPED_QUESTIONS else LOOKED_AT * limit
    ended = database.rows(_ENDED, (span.since, span.until, looked))
    oldest = ended[-1][6] if ended else span.until
    decided = {row[0]: row[1:] for row in database.rows(_DECIDED, (oldest,))}  # the last decision counts
    found: list[tuple[Row, Reason]] = []
    wordless: list[float] = []
    for row in ended:
        reason = _reason(row, decided.get(row[0]))
        if reason is not None and row[7]:
            found.append((row, reason))
        elif reason is not None:
            wordless.append(row[6])
    kept = found[:limit]
    traces = rows_among(database, _TRACES, [row[0] for row, _ in kept])
    details = {turn: record_of(bytes(content)) for turn, content in traces}
    rated = rows_among(database, _FAULTS, [row[0] for row, reason in kept if reason == "rated_down"])
    faults = {turn: remark or fault for turn, fault, remark in rated if remark or fault}
    questions = tuple(
        _question(row, reason, details.get(row[0]) or {}, faults.get(row[0], "")) for row, reason in kept
    )
    return FoundGaps(questions=questions, wordless=tuple(wordless), is_cut=len(found) > limit)


def _reason(row: Row, decision: Row | None) -> Reason | None:
    """The reason to count a question; None for one that the web answered, or that failed."""
    verdict, outcome, is_sure, is_down = decision or ("", row[9], row[10], row[11])
    if is_down or row[11]:
        return "rated_down"
    if verdict == "deny":
        return "denied"
    if verdict == "approve" and outcome == "failed":
        return "unanswered"  # the documents do not answer, and the web could not be asked
    reasons: dict[str, Reason] = {"no_answer": "unanswered", "approval_needed": "undecided"}
    if outcome in reasons:
        return reasons[outcome]
    return "unsure" if outcome == "answered" and not is_sure else None


def _question(row: Row, reason: Reason, record: Mapping[str, Any], fault: str) -> GapQuestion:
    turn, _, _, conversation, channel, author, asked_at, asked, language = row[:9]
    documents = [
        CloseDocument(collection=each["collection"], source=each["source"], title=each["title"])
        for each in record.get("citations") or ()
        if each["origin"] == "documents"
    ]
    read = (*(record.get("collections") or ()), *(each.collection for each in documents if each.collection))
    near: dict[str, float] = {}  # each document has its best passage's score
    for each in [each for each in record.get("passages") or () if each["origin"] == "documents"][:NEAR]:
        near.setdefault(f"{each['collection']} {each['source']}", each["score"])
    return GapQuestion(
        turn=turn, conversation=conversation, channel=channel, author=author, asked_at=asked_at,
        text=record.get("standalone") or asked, asked=asked, language=language, reason=reason,
        missing=record.get("missing") or "", fault=fault, closest=tuple(dict.fromkeys(documents)),
        near=tuple(near.items()), confidence=row[12], collections=frozenset(read),
        documents=frozenset((*(record.get("documents") or ()), *(each.source for each in documents))),
    )  # fmt: skip


async def find_answered(log: QuestionLog, answer: KeptAnswer, *, asked: str = "") -> frozenset[str]:
    """The turns of the questions that a kept reply answers. These are the one that experts were ``asked``
    about, and those of its channel in almost the same words; else the only one of its thread."""
    here = Conversation.parse(answer.conversation)
    wanted = QuestionFilter(kind="question", channel=here.channel_id, until=answer.said_at)
    found = [each.question for each in await search(log, wanted, limit=LOOKED_THROUGH)]

    def asked_alike() -> set[str]:
        there = [each for each in found if each.channel == here.channel_id and each.question]
        return {each.turn for each in there if are_same(answer.question, each.question)}

    turns = await asyncio.to_thread(asked_alike)
    if asked and (logged := await log.question(asked)):
        turns |= {logged.about}
    in_thread = {each.turn for each in found if each.conversation == here.id}
    return frozenset(turns or (in_thread if len(in_thread) == 1 else ()))


def readable_turns(
    database: Database, questions: Sequence[GapQuestion], reads: Mapping[tuple[str, str], frozenset[str]],
    readable: frozenset[str],
) -> frozenset[str]:  # fmt: skip
    """The turns that read nothing else than these collections: when they were asked, by what their conversations and
    authors read now (``reads``), and by where their documents are now. ``database``: the library's. Blocks."""
    within = [
        each for each in questions if readable >= each.collections | reads[each.conversation, each.author]
    ]
    sources = {source for question in within for source in question.documents}
    behind = {name for question in within for name in question.collections}
    closed = ReaderSets(database).withdrawn(sources, behind, readable)
    return frozenset(each.turn for each in within if closed.isdisjoint(each.documents))


def have_words(database: Database, turns: Sequence[str]) -> bool:
    """True if the words of all these questions are kept still."""
    query = "SELECT turn FROM questions WHERE question <> '' AND turn {}"
    return len(rows_among(database, query, turns)) == len(turns)


STORE = "gaps"

_TABLES = """
CREATE TABLE IF NOT EXISTS gap_states (
    turn TEXT PRIMARY KEY,  -- of a question
    state TEXT NOT NULL,    -- ignored, asked or answered
    set_at REAL NOT NULL,   -- seconds since the epoch
    author TEXT NOT NULL,   -- who decided; empty: not known
    answer TEXT NOT NULL    -- id of the kept answer that answers it as long as it is used; empty: none
);
CREATE TABLE IF NOT EXISTS gap_digests (
    channel TEXT NOT NULL,  -- platform/space/channel
    week TEXT NOT NULL,     -- of ISO 8601, such as 2026-W47
    shown_at REAL NOT NULL,
    PRIMARY KEY (channel, week)
);
CREATE TABLE IF NOT EXISTS gap_drafts (
    answer TEXT PRIMARY KEY, -- id of the kept answer that was proposed for a document
    collection TEXT NOT NULL,
    address TEXT NOT NULL,   -- of the document
    version TEXT NOT NULL,   -- of the document that was looked at last
    made_at REAL NOT NULL,
    url TEXT NOT NULL        -- of the pull request; empty: it is a file
);
"""

SCHEMA = Schema(
    tables=_TABLES,
    cure="Move it away: gaps that were ignored, asked or answered are then open again, and nothing else is affected.",
)

#: "asked": experts were asked; "answered": somebody taught an answer.
GapState = Literal["ignored", "asked", "answered"]
STATES: tuple[GapState, ...] = get_args(GapState)

_MARK = (
    "INSERT INTO gap_states VALUES (?, ?, ?, ?, ?) ON CONFLICT (turn) DO UPDATE SET state = excluded.state,"
    " set_at = excluded.set_at, author = excluded.author, answer = excluded.answer"
)


@value
class GapMark:
    """A decision about a question, and when it was made."""

    state: GapState
    set_at: float
    author: str = ""  #: who decided; empty: not known
    answer: str = ""  #: id of the kept answer that answers it; empty: none


@value
class DraftNote:
    """A kept answer that was proposed for a document."""

    answer: str  #: its id
    collection: str
    address: str  #: of the document
    version: str  #: of the document that was looked at last
    made_at: float
    url: str = ""  #: of the pull request; empty: it is a file


@dataclass(frozen=True, slots=True)
class GapStore:
    """Raises StoreUnavailable when nothing can be read or written now."""

    database: AsyncDatabase

    async def marks(self) -> dict[str, GapMark]:
        """The marks, by turn."""
        rows = await self.database.rows("SELECT turn, state, set_at, author, answer FROM gap_states")
        return {
            turn: GapMark(state=state, set_at=set_at, author=author, answer=answer)
            for turn, state, set_at, author, answer in rows
        }

    async def mark(
        self, turns: Iterable[str], state: GapState, *, author: str, at: float, answer: str = ""
    ) -> None:
        """Decide about these questions; the last decision counts."""
        await self.database.write_all(_MARK, [(turn, state, at, author, answer) for turn in turns])

    async def reopen(self, turns: Iterable[str]) -> None:
        """Remove the decisions about these questions."""
        await self.database.write_all("DELETE FROM gap_states WHERE turn = ?", [(turn,) for turn in turns])

    async def drafts(self) -> tuple[DraftNote, ...]:
        """The drafts whose answer may be used still, the oldest first."""
        rows = await self.database.rows("SELECT * FROM gap_drafts ORDER BY made_at")
        return tuple(rows_as(DraftNote, rows))

    async def note_draft(self, draft: DraftNote) -> None:
        """Remember a draft; of each answer, the last one that is a pull request, else the last one."""
        await self.database.write(
            "INSERT INTO gap_drafts VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (answer) DO UPDATE SET"
            " collection = excluded.collection, address = excluded.address, version = excluded.version,"
            " made_at = excluded.made_at,"
            " url = CASE WHEN excluded.url = '' THEN gap_drafts.url ELSE excluded.url END",
            astuple(draft),
        )

    async def settle(self, answer: str) -> None:
        """A document has the words of an answer, or it was forgotten: what it answered stays answered without it."""
        await self.database.write("UPDATE gap_states SET answer = '' WHERE answer = ?", (answer,))
        await self.database.write("DELETE FROM gap_drafts WHERE answer = ?", (answer,))

    async def was_shown(self, channel: str, week: str) -> bool:
        """True if the digest of a week was shown in a channel."""
        query = "SELECT 1 FROM gap_digests WHERE channel = ? AND week = ?"
        return bool(await self.database.rows(query, (channel, week)))

    async def note_shown(self, channel: str, week: str, at: float) -> None:
        query = "INSERT INTO gap_digests VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
        await self.database.write(query, (channel, week, at))


@contextmanager
def open_gap_store(storage: Storage) -> Iterator[GapStore]:
    """Raises SettingsError when the store cannot be used."""
    with storage.asynchronous(STORE, SCHEMA) as database:
        yield GapStore(database)

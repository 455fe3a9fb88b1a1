"""What is said: the values that every other module talks in.

Standard library only. All values are frozen, so they can be shared between tasks,
kept in a checkpoint and compared in a test.

The one decorator of the values that are kept: frozen, slotted, keyword-only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar, dataclass_transform

from core.errors import QuestionRejected
from core.wording import Sentence

Value = TypeVar("Value")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def value(cls: type[Value]) -> type[Value]:
    """A dataclass whose sequences are tuples.

    A checkpoint gives every tuple back as a list; here it becomes a tuple again, so that what
    is read equals what was written. On the way there it asks what kind each value is, dataclasses
    among the last; one that goes by the name of a named tuple's method is written alike, and soon.
    """
    cls.__post_init__ = _freeze  # type: ignore[attr-defined]
    cls._asdict = _as_dict  # type: ignore[attr-defined]
    return dataclass(frozen=True, slots=True, kw_only=True)(cls)


def _freeze(self: Any) -> None:
    for name in self.__dataclass_fields__:
        content = getattr(self, name)
        if isinstance(content, list):
            object.__setattr__(self, name, tuple(content))


def _as_dict(self: Any) -> dict[str, Any]:
    return {name: getattr(self, name) for name in self.__dataclass_fields__}


Verdict = Literal["approve", "deny"]
Grounding = Literal["documents", "web", "both", "none"]
Origin = Literal["documents", "web"]
OutcomeKind = Literal["answered", "approval_needed", "no_answer", "clarify", "failed"]
Stage = Literal["waiting", "reading", "checking", "writing", "verifying", "searching", "fetching"]

QUESTION_LIMIT = 4_000  # characters; a longer question is refused with a sentence
QUERY_LIMIT = 400  # characters of one outgoing web query; DuckDuckGo cuts near 500


@value
class Conversation:
    """One thread of talk, named as its platform names it."""

    platform: str  #: a label ("cli"); nothing in core branches on it
    space: str  #: workspace, server or machine
    channel: str  #: the room the thread is in; decides which collections may be read
    thread: str  #: may itself contain slashes

    @property
    def id(self) -> str:
        """The LangGraph thread id: ``platform/space/channel/thread``."""
        return f"{self.channel_id}/{self.thread}"

    @property
    def channel_id(self) -> str:
        """The room without the thread: ``platform/space/channel``."""
        return f"{self.platform}/{self.space}/{self.channel}"

    @classmethod
    def parse(cls, conversation_id: str) -> Conversation:
        """Read an id written by :attr:`id`; ValueError when a part is missing."""
        parts = conversation_id.split("/", 3)
        if len(parts) != 4 or not all(parts):
            raise ValueError(f"not a conversation id: {conversation_id!r}")
        platform, space, channel, thread = parts
        return cls(platform=platform, space=space, channel=channel, thread=thread)


@value
class ThreadMessage:
    """What somebody said in the thread before the bot was called into it."""

    author: str  #: as people call them
    text: str


@value
class Question:
    """A turn that asks."""

    id: str  #: the platform's own delivery id: the same id is the same turn
    conversation: Conversation
    author: str
    text: str
    asked_at: float  #: seconds since the epoch
    sources: tuple[str, ...] = ()  #: absolute paths or URLs to stay within; empty: no further limit
    report_passages: int = 0  #: how many of the best retrieved passages the Outcome lists
    thread_context: tuple[
        ThreadMessage, ...
    ] = ()  #: said in the thread before, oldest first; context, never evidence


@value
class Decision:
    """A turn that answers a Proposal."""

    id: str
    conversation: Conversation
    author: str
    proposal_id: str
    verdict: Verdict
    query: str | None = None  #: the edited query; None: the one proposed
    groups: tuple[str, ...] = ()  #: roles or user groups the author is in, for "who may decide"
    decided_at: float


Turn = Question | Decision


@value
class Command:
    """Something else that a person wants of the bot, carried out by the platform's own adapter."""

    id: str
    conversation: Conversation
    author: str
    name: str  #: the word that was said
    details: Mapping[str, Any] = field(default_factory=dict)  #: JSON types only
    said_at: float  #: seconds since the epoch
    is_apart: bool = False  #: carried out at once, whatever its conversation is busy with


@value
class Citation:
    """A footnote, and the verbatim quote it stands for."""

    number: int  #: as in the text's ``[n]``; counts from 1
    title: str
    location: str  #: where a person finds it: heading path, page, rows or lines
    source: str
    url: str | None = None
    quote: str
    start: int  #: characters into the source's extracted text
    end: int
    origin: Origin = "documents"
    published: str | None = None  #: date of a web page as its search engine gave it


@value
class Omission:
    """A sentence of a draft that was left out of the answer."""

    text: str
    reason: str  #: what of it the sources do not say, a few words; empty: it was not said


@value
class Answer:
    """CommonMark text with ``[n]`` markers and the citations they name."""

    text: str
    citations: tuple[Citation, ...]
    grounding: Grounding
    composed: bool  #: False: verbatim quotes, no language model wrote this
    left_out: tuple[Omission, ...] = ()  #: what the draft said and its sources do not support
    missing: str = ""  #: what of the question the sources do not answer, a few words; empty: nothing
    is_sure: bool = True  #: False: a quote that may be what is looked for, shown as that


@value
class Proposal:
    """ "May I search the web for this?" Ends only by a Decision or by retention."""

    id: str
    turn_id: str  #: the question's
    question: str
    asker: str
    query: str  #: exactly what was proposed; never changed, since a card that shows it may stay on a screen
    allowed: str | None = None  #: exactly what a person allowed: the query, perhaps edited
    sent: tuple[str, ...] = ()  #: queries allowed earlier about this question
    standalone: str = ""  #: the question as it reads without its history
    sources: tuple[str, ...] = ()  #: what the question was to stay within
    reason: str  #: why the documents were not enough, for a person
    tried: tuple[str, ...]  #: queries already looked for, documents and web
    wordings: tuple[str, ...] = ()  #: other queries to propose should this one not be enough, best first
    closest: tuple[Citation, ...] = ()
    dismissed: tuple[str, ...] = ()  #: ids of passages found to be about something else
    attempt: int = 1  #: 1 for the first web search about this question
    verdict: Verdict | None = None  #: None while open
    decided_by: str | None = None
    decided_at: float | None = None

    @property
    def is_open(self) -> bool:
        return self.verdict is None

    def settled(self, decision: Decision) -> Proposal:
        """This proposal after the decision, with the query that was allowed."""
        return replace(
            self,
            verdict=decision.verdict,
            allowed=(decision.query or self.query) if decision.verdict == "approve" else None,
            decided_by=decision.author,
            decided_at=decision.decided_at,
        )

    def reopened(self) -> Proposal:
        """This proposal as it was before a decision that came to nothing."""
        return replace(self, verdict=None, allowed=None, decided_by=None, decided_at=None)


@value
class Usage:
    """What a turn cost at the model."""

    name: str = "extractive"  #: the model that writes
    calls: int = 0
    round_trips: int = 0  #: calls that ran side by side count as one
    input_tokens: int = 0
    output_tokens: int = 0


@value
class Outcome:
    """How a turn ends. There is no sixth ending: silence is a bug."""

    kind: OutcomeKind
    turn_id: str
    answer: Answer | None = None
    proposal: Proposal | None = (
        None  #: beside an answer in part, or one that is not sure: to search for the rest
    )
    closest: tuple[Citation, ...] = ()
    reason: str | None = None  #: a sentence: why failed, why proposed, what to clarify, what the model lacked
    options: tuple[str, ...] = ()  #: readings to choose from when clarifying
    language: str = "en"  #: of the question, ISO 639-1; the outcome is told in it
    confidence: float = 0.0  #: how sure the documents answer the question, 0 to 1
    steps: tuple[str, ...] = ()  #: graph nodes in the order they ran
    usage: Usage = field(default_factory=Usage)
    timing_ms: dict[str, float] = field(default_factory=dict)
    ranked: tuple[Ranked, ...] = ()  #: the best retrieved passages, best first, whatever the outcome


@value
class Ranked:
    """A retrieved passage without its text, for reports."""

    source: str
    location: str
    score: float
    start: int
    end: int


@value
class Exchange:
    """One remembered question and what came of it, for follow-ups."""

    question: str
    answer: str  #: shortened text of the answer, or why there was none
    author: str
    sources: tuple[str, ...] = ()  #: documents that the answer is from, those cited first


@value
class Progress:
    """A sign of life while a turn runs."""

    stage: Stage
    count: int | None = None  #: passages read, checked …, questions waited for; None where it says nothing


def check_question(text: str) -> str:
    """The question without white space around it; QuestionRejected when it is empty or too long."""
    stripped = text.strip()
    if not stripped:
        raise QuestionRejected(Sentence("question_empty"))
    if len(stripped) > QUESTION_LIMIT:
        raise QuestionRejected(Sentence("question_too_long", length=len(stripped), limit=QUESTION_LIMIT))
    return stripped

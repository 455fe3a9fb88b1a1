"""The values that every other module works with, and the decorator that makes them.

All are frozen, so that tasks can share them, checkpoints hold them and tests compare them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeGuard, TypeVar, dataclass_transform

from core.characters import storable
from core.errors import QuestionRejected
from core.wording import Sentence

Value = TypeVar("Value")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def value(cls: type[Value]) -> type[Value]:
    """A frozen, slotted, keyword-only dataclass whose sequences are tuples. A checkpoint returns every tuple
    as a list, and the value read must equal the value written. LangGraph's serializer tests for ``_asdict``
    first and for dataclasses late; defining it is faster."""

    def freeze(self: Any) -> None:
        for name in self.__dataclass_fields__:
            content = getattr(self, name)
            if isinstance(content, list):
                object.__setattr__(self, name, tuple(content))

    def as_dict(self: Any) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    cls.__post_init__ = freeze  # type: ignore[attr-defined]
    cls._asdict = as_dict  # type: ignore[attr-defined]
    return dataclass(frozen=True, slots=True, kw_only=True)(cls)


Verdict = Literal["approve", "deny", "expire"]  #: the last is said by nobody: the time is over
Grounding = Literal["documents", "web", "both", "none"]
Origin = Literal["documents", "web"]
OutcomeKind = Literal["answered", "approval_needed", "no_answer", "clarify", "failed"]
WebApproval = Literal["asker", "anyone", "approvers", "never_ask"]
Stage = Literal["waiting", "reading", "checking", "writing", "verifying", "searching", "fetching"]

QUESTION_LIMIT = 4_000  # characters; a longer question is refused with a sentence
QUERY_LIMIT = 400  # characters of one outgoing web query; DuckDuckGo cuts near 500


@value
class Conversation:
    """One thread of talk, named as its platform names it."""

    platform: str  #: a label ("cli"); nothing in core branches on it
    space: str  #: workspace, server or machine
    channel: str  #: decides which collections may be read
    thread: str  #: may itself contain slashes

    @property
    def id(self) -> str:
        """The LangGraph thread id: ``platform/space/channel/thread``."""
        return f"{self.channel_id}/{self.thread}"

    @property
    def channel_id(self) -> str:
        """The id without the thread: ``platform/space/channel``."""
        return f"{self.platform}/{self.space}/{self.channel}"

    @classmethod
    def parse(cls, conversation_id: str) -> "Conversation":
        """Read an id written by :attr:`id`; ValueError when a part is missing."""
        parts = conversation_id.split("/", 3)
        if len(parts) != 4 or not all(parts):
            raise ValueError(f"not a conversation id: {conversation_id!r}")
        platform, space, channel, thread = parts
        return cls(platform=platform, space=space, channel=channel, thread=thread)


@value
class ThreadMessage:
    """A message of the thread from before the bot was called into it."""

    author: str  #: display name
    text: str


@value
class Attachment:
    """A file that came with a message."""

    id: str
    name: str  #: empty: the platform did not say
    url: str  #: where the platform keeps it; empty: the platform did not say
    media_type: str
    size: int  #: bytes; 0: unknown
    found_in: str = ""  #: where the platform finds the file again, such as a workspace, in its own terms


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
    #: earlier messages of the thread, oldest first; context, never evidence
    thread_context: tuple[ThreadMessage, ...] = ()
    #: messages that it forwards or replies to; context, never evidence
    quoted: tuple[ThreadMessage, ...] = ()
    #: False: nobody called the bot. It is answered only if the evidence is strong; else nothing is said or kept.
    is_addressed: bool = True
    attachments: tuple[Attachment, ...] = ()
    reading_allowed_by: str | None = None  #: who let the attachments be read; None: nobody yet
    attached: tuple[str, ...] = ()  #: addresses of the attachments in the library, once they are read
    unreadable: tuple[str, ...] = ()  #: a sentence for each attachment that could not be read
    is_test: bool = False  #: it only tests the answers: it is not counted, and nothing of it goes to the web

    @property
    def unread(self) -> tuple[str, ...]:
        """The names of the attachments that nobody allowed to be read."""
        return () if self.reading_allowed_by else tuple(file.name for file in self.attachments)


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
    """Something else that a person asks of the bot; the platform's adapter carries it out."""

    id: str
    conversation: Conversation
    author: str
    name: str  #: as the person wrote it
    details: Mapping[str, Any] = field(default_factory=dict)  #: JSON types only
    said_at: float  #: seconds since the epoch
    is_apart: bool = False  #: carried out at once, in parallel with the turns of its conversation


@value
class Citation:
    """A footnote with its verbatim quote."""

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
    collection: str = ""  #: of a document; empty: unknown, or a web page
    changed_at: float | None = None  #: the document's last change, seconds since the epoch; None: unknown
    columns: str = ""  #: header row of the table whose rows the quote is, verbatim in the same passage
    #: set where the document was not seen at its source for longer than the operator allows: when it was, the last time
    unseen_since: float | None = None


@value
class Omission:
    """A sentence of a draft that was left out of the answer."""

    text: str
    reason: str  #: what of it the sources do not say, a few words; empty: unknown


@value
class Answer:
    """CommonMark text with ``[n]`` markers and the citations they name."""

    text: str
    citations: tuple[Citation, ...]
    grounding: Grounding
    composed: bool  #: False: verbatim quotes, no language model wrote this
    left_out: tuple[Omission, ...] = ()  #: what the draft said and its sources do not support
    missing: str = ""  #: what of the question the sources do not answer, a few words; empty: nothing
    is_sure: bool = True  #: False: a quote that may answer, and is shown as such
    unsettled: tuple[str, ...] = ()  #: sentences of it that no check settled, marked in the text
    is_newer_first: bool = False  #: its quotes differ, and the first is of the document that was changed last


@value
class Proposal:
    """A proposed web search: "May I search the web for this?" It ends only by a Decision, which may come of
    its time, or by retention."""

    id: str
    turn_id: str  #: the question's
    question: str
    asker: str
    query: str  #: exactly what was proposed; never changed: a card that shows it may still be on a screen
    allowed: str | None = None  #: exactly what a person allowed: the query, perhaps edited
    sent: tuple[str, ...] = ()  #: queries allowed earlier about this question
    standalone: str = ""  #: the question as it reads without its history
    sources: tuple[str, ...] = ()  #: the question's own sources to stay within
    reason: str  #: why the documents were not enough, for a person
    tried: tuple[str, ...]  #: queries already looked for, documents and web
    wordings: tuple[str, ...] = ()  #: queries to propose when this one is not enough, best first
    closest: tuple[Citation, ...] = ()
    dismissed: tuple[str, ...] = ()  #: ids of passages found to be about something else
    collections: tuple[str, ...] = ()  #: of the documents' passages that its words may come from
    documents: tuple[str, ...] = ()  #: the sources of these passages
    attempt: int = 1  #: 1 for the first web search about this question
    proposed_at: float = 0.0  #: seconds since the epoch; nobody saw it before
    verdict: Verdict | None = None  #: None while open
    decided_by: str | None = None
    decided_at: float | None = None
    expires_at: float | None = None  #: seconds since the epoch, from when nobody may decide; None: never

    @property
    def is_open(self) -> bool:
        return self.verdict is None

    def is_open_at(self, moment: float) -> bool:
        """True if it could be decided at this time. It expires by its time, not by when that is recorded."""
        return self.verdict is None and (self.expires_at is None or moment < self.expires_at)

    def with_decision(self, decision: Decision) -> "Proposal":
        """This proposal, decided, with the query that was allowed."""
        return replace(
            self,
            verdict=decision.verdict,
            allowed=(decision.query or self.query) if decision.verdict == "approve" else None,
            decided_by=decision.author,
            decided_at=decision.decided_at,
        )

    def without_decision(self) -> "Proposal":
        """This proposal, open again after a search that failed. It was decided in time, so time does not end
        it."""
        return replace(self, verdict=None, allowed=None, decided_by=None, decided_at=None, expires_at=None)


@value
class ModelTokens:
    """One model's share of a turn's tokens."""

    name: str  #: without its provider
    input_tokens: int = 0
    output_tokens: int = 0


@value
class ModelExchange:
    """One call to a model: what it was sent and what it said."""

    model: str  #: without its provider
    messages: tuple[tuple[str, str], ...]  #: who speaks, as system, human or ai, and the words
    reply: str  #: as it came; empty: none did
    trouble: str = ""  #: why none did, as a sentence


@value
class Usage:
    """The cost of a turn at its models."""

    name: str = "extractive"  #: the model that writes
    calls: int = 0
    round_trips: int = 0  #: calls that ran side by side count as one
    input_tokens: int = 0  #: of all models
    output_tokens: int = 0
    models: tuple[ModelTokens, ...] = ()  #: those that replied, in the order of their first reply
    cost: float | None = None  #: None: the operator set no prices
    currency: str = ""  #: ISO 4217, of the cost
    is_cost_shown: bool = False  #: whether people are told what it cost
    is_brief: bool = False  #: few calls, for a slow model: core.reasoning.brief


@value
class Outcome:
    """The ending of a turn. There is no sixth kind: silence is a bug."""

    kind: OutcomeKind
    turn_id: str
    answer: Answer | None = None
    proposal: Proposal | None = None  #: also with a partial or unsure answer: a search for the rest
    closest: tuple[Citation, ...] = ()
    reason: str | None = None  #: a sentence: why failed, why proposed, what to clarify, what the model lacked
    options: tuple[str, ...] = ()  #: readings to choose from when clarifying
    language: str = "en"  #: of the question, ISO 639-1; the outcome is written in it
    confidence: float = 0.0  #: how sure the documents answer the question, 0 to 1
    steps: tuple[str, ...] = ()  #: graph nodes in the order they ran
    usage: Usage = field(default_factory=Usage)
    timing_ms: dict[str, float] = field(default_factory=dict)
    ranked: tuple["Ranked", ...] = ()  #: the best retrieved passages, best first
    unread: tuple[str, ...] = ()  #: names of the question's attachments that nobody allowed to be read
    unreadable: tuple[str, ...] = ()  #: a sentence for each attachment that could not be read
    collections: tuple[str, ...] = ()  #: of the documents' passages that its words may come from
    documents: tuple[str, ...] = ()  #: the sources of these passages
    is_shown: bool = True  #: False: nobody called the bot, and it has no sure answer; nothing of it is kept

    def with_citations(self, change: Callable[[Sequence[Citation]], tuple[Citation, ...]]) -> "Outcome":
        """This outcome with other citations wherever it has some."""
        answer, proposal = self.answer, self.proposal
        return replace(
            self,
            answer=answer and replace(answer, citations=change(answer.citations)),
            closest=change(self.closest),
            proposal=proposal and replace(proposal, closest=change(proposal.closest)),
        )

    @property
    def is_declined(self) -> bool:
        """True after a person declined a search; its card above shows the closest passages."""
        return "decline" in self.steps

    @property
    def is_quoted(self) -> bool:
        """Answered with quotes in place of a model's words."""
        return self.answer is not None and not self.answer.composed

    @property
    def is_small_talk(self) -> bool:
        """A reply that answers no question: neither its time nor its use matters."""
        return "converse" in self.steps


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
    """One remembered question and its result, for follow-ups."""

    question: str
    answer: str  #: shortened text of the answer, or why there was none
    author: str
    sources: tuple[str, ...] = ()  #: documents that the answer is from, those cited first
    collections: tuple[str, ...] = ()  #: of the documents' passages that the answer's words may come from
    documents: tuple[str, ...] = ()  #: the sources of these passages


@value
class Progress:
    """The step that a running turn is at."""

    stage: Stage
    count: int | None = None  #: passages read or checked, turns ahead in the queue; None: unknown
    answer: Answer | None = None  #: its checked beginning, while the rest is written


def ignore_progress(_: Progress) -> None:
    """Ignore the progress of a turn that nobody watches."""


def is_unaddressed(turn: Turn | Command) -> TypeGuard[Question]:
    """True if nobody called the bot."""
    return isinstance(turn, Question) and not turn.is_addressed


def log_fields(turn: Turn | Command) -> dict[str, str]:
    """The fields of a line of the log about a turn or a command: never its words."""
    return {"turn": turn.id, "conversation": turn.conversation.id}


def check_question(text: str) -> str:
    """The question without white space around it; QuestionRejected when it is empty or too long."""
    stripped = storable(text).strip()
    if not stripped:
        raise QuestionRejected(Sentence("question_empty"))
    if len(stripped) > QUESTION_LIMIT:
        raise QuestionRejected(Sentence("question_too_long", length=len(stripped), limit=QUESTION_LIMIT))
    return stripped

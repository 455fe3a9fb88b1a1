"""What plans, grades, writes and checks: the port, and the values that pass through it.

Two reasoners stand behind it: a chat model (:mod:`core.reasoning.chat_model`) and an offline
extractive one (:mod:`core.reasoning.extractive`). Nothing here knows which is at work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal, Protocol

from core.conversation import Exchange, Omission, ThreadMessage, Usage, value
from core.library.documents import Retrieved

Route = Literal["none", "documents", "multi_hop", "web", "clarify"]
SPEAKING: frozenset[Route] = frozenset({"none", "clarify"})
"""Routes that answer with words of conversation, and are nothing without them."""

Relevance = Literal["correct", "ambiguous", "incorrect"]


@value
class Ask:
    """A question with what was said before it."""

    question: str  #: the person's own words, never rewritten
    history: tuple[Exchange, ...] = ()  #: oldest first
    thread_context: tuple[
        ThreadMessage, ...
    ] = ()  #: what people said in the thread before, oldest first; no evidence
    confidence: float = 0.0  #: local estimate that the retrieved documents answer it, 0 to 1
    weights: Mapping[str, float] = field(default_factory=dict)  #: how telling each term of the question is
    languages: tuple[str, ...] = ()  #: of the documents found, ISO 639-1, where they are not the question's


@value
class Plan:
    """How to go about a question."""

    route: Route
    standalone: str  #: the question as it reads without its history
    queries: tuple[str, ...] = ()  #: other wordings, or the steps of a multi-hop question
    web_query: str = ""  #: what would be asked of a search engine
    reply: str = ""  #: for route none: words of conversation; for clarify: the question to ask back
    options: tuple[str, ...] = ()  #: for clarify: the readings to choose from


@value
class Grade:
    """A verdict on one passage."""

    relevance: Relevance
    evidence: tuple[int, ...] = ()  #: sentences of the passage that help, as numbered by core.text.sentences


@value
class Grades:
    """A verdict on the passages seen together."""

    of: Mapping[str, Grade] = field(
        default_factory=dict
    )  #: by passage id; an id that is missing was not graded
    sufficient: bool | None = None  #: together they are enough to answer; None: no verdict
    missing: str = ""  #: when not enough, what to look for next


@value
class Strip:
    """A verbatim piece of a passage that is worth reading (CRAG's knowledge refinement)."""

    number: int  #: what the writer cites as ``[n]``; counts from 1
    retrieved: Retrieved
    text: str
    start: int  #: characters into the source's extracted text
    end: int


@value
class Draft:
    """An answer before it was verified: Markdown whose ``[n]`` name strips."""

    text: str
    composed: bool  #: False: verbatim quotes
    quotes: tuple[
        int, ...
    ] = ()  #: when not composed, the strips quoted, in order; the text is then made from them
    answers: bool = True  #: False: the writer says the strips do not answer the question


@value
class Rejected:
    """A draft whose main point did not stand."""

    failing: tuple[Omission, ...]  #: sentences that were cut, and why
    standing: str = ""  #: what of it stood


@value
class Statement:
    """A sentence of a draft as the judge is shown it."""

    number: int  #: counts from 1 in order of the draft
    text: str
    cites: tuple[int, ...]
    doubts: tuple[str, ...] = ()  #: what code did not find in the strips it cites


@value
class Grounded:
    """One vote on sentences of a draft, by their numbers."""

    judged: tuple[int, ...]
    unsupported: tuple[int, ...] = ()
    lacking: Mapping[int, str] = field(default_factory=dict)  #: what of an unsupported one no strip states
    elsewhere: Mapping[int, tuple[int, ...]] = field(
        default_factory=dict
    )  #: the strips that state a supported one, where it cites others or none
    idle: tuple[int, ...] = ()  #: those that claim nothing: greetings, offers
    absent: tuple[int, ...] = ()  #: those that say what the strips do not say
    leaning: tuple[int, ...] = ()  #: those that cannot be understood without the sentence before them


class Reasoner(Protocol):
    """One turn's thinking. Made anew for each turn, so that it can keep that turn's budget.

    Every method returns a usable value or raises ModelTrouble; each may be awaited
    side by side with the others.
    """

    @property
    def usage(self) -> Usage:
        """What this turn has cost so far."""
        ...

    @property
    def trouble(self) -> str | None:
        """Why some of the thinking was done without the model, as a sentence; None: nothing went wrong."""
        ...

    async def plan(self, ask: Ask) -> Plan: ...

    async def grade(self, ask: Ask, passages: tuple[Retrieved, ...]) -> Grades: ...

    async def write(self, ask: Ask, strips: tuple[Strip, ...], before: Rejected | None = None) -> Draft:
        """A draft; the second one knows what became of the first."""
        ...

    async def quote(self, ask: Ask, strips: tuple[Strip, ...]) -> Draft:
        """Verbatim quotes, for when what was composed could not stand."""
        ...

    async def check_grounding(
        self, statements: tuple[Statement, ...], strips: tuple[Strip, ...], ballot: int = 0
    ) -> Grounded:
        """One vote; another ballot is another order. Judged without the question: a judge that knows it
        forgives too much (46% to 9% recall)."""
        ...

    async def check_usefulness(self, ask: Ask, text: str) -> bool | None:
        """Whether the text answers the question; None: no verdict."""
        ...

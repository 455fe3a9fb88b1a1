"""The port that plans, grades, writes and checks, and its values.

It has two implementations: chat models (:mod:`core.reasoning.chat_model`) and an offline extractive
one (:mod:`core.reasoning.extractive`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, fields, replace
from typing import Any, Literal, Protocol

from core.conversation import Exchange, ModelExchange, Omission, ThreadMessage, Usage, value
from core.library.contents import Contents
from core.library.documents import Passage, Retrieved
from core.text.quoting import headings_over

Route = Literal["none", "documents", "multi_hop", "web", "clarify"]
SPEAKING: frozenset[Route] = frozenset({"none", "clarify"})
"""Routes that need a reply of the plan."""

Span = tuple[int, int]
"""(start, end), characters into a source's extracted text."""

DOCUMENT_ROUTES: frozenset[Route] = frozenset({"documents", "multi_hop"})

Relevance = Literal["correct", "ambiguous", "incorrect"]
BY_WORTH: tuple[Relevance, ...] = ("incorrect", "ambiguous", "correct")


@value
class Ask:
    """A question with its history."""

    question: str  #: the person's own words, never rewritten
    history: tuple[Exchange, ...] = ()  #: oldest first
    thread_context: tuple[ThreadMessage, ...] = ()  #: earlier messages of the thread; no evidence
    quoted: tuple[ThreadMessage, ...] = ()  #: messages that the question forwards or replies to; no evidence
    confidence: float = 0.0  #: local estimate that the retrieved documents answer it, 0 to 1
    files: tuple[str, ...] = ()  #: names of the files that came with the question and are read
    weights: Mapping[str, float] = field(default_factory=dict)  #: inverse document frequency of each term
    languages: tuple[str, ...] = ()  #: of the documents that may be read, ISO 639-1
    is_addressed: bool = True  #: False: nobody called the assistant; people may be talking to each other
    contents: tuple[Contents, ...] = ()  #: documents in which a judge may ask to search; empty: it may not
    steps_left: int = 0  #: of such a search
    steps_made: tuple[str, ...] = ()  #: those that were made, and how many passages each found


@value
class Plan:
    """A plan for a question: its route and its searches."""

    route: Route
    standalone: str  #: the question as it reads without its history
    queries: tuple[str, ...] = ()  #: other wordings, or the steps of a multi-hop question
    web_query: str | None = None  #: for a search engine; empty: only the team can know it; None: not planned
    reply: str = ""  #: for route none: small talk; for clarify: the question to ask back
    options: tuple[str, ...] = ()  #: for clarify: the readings to choose from
    is_for_assistant: bool = True  #: False: it was said to other people


@value
class Grade:
    """A verdict on one passage."""

    relevance: Relevance
    evidence: tuple[int, ...] = ()  #: units of the passage that help, numbered from 1 (core.text.sentences)
    is_doubted: bool = False  #: a later verdict found the passage incorrect

    def or_better(self, later: Grade) -> Grade:
        """The better of two verdicts on the same passage, with the evidence of both if they agree."""
        if later.relevance == self.relevance:
            return replace(later, evidence=tuple(sorted({*self.evidence, *later.evidence})))
        if BY_WORTH.index(later.relevance) > BY_WORTH.index(self.relevance):
            return later
        return replace(self, is_doubted=later.relevance == "incorrect")


@value
class SearchStep:
    """A step of the search that a judge asks for, where it did not find enough."""

    kind: Literal["search", "open", "find"]
    address: str = ""  #: of the document; empty: search in all
    source: str = ""  #: how people name that document
    words: str = ""  #: to search for, or the phrase to find; to open, what: a heading, or "page 61"
    path: tuple[str, ...] = ()  #: of the section to open
    page: int | None = None  #: to open

    def __str__(self) -> str:
        """The text for people, beside the other searches."""
        return f"{self.words} ({self.source})" if self.source else self.words


@value
class Grades:
    """Verdicts on the passages, one by one and together."""

    of: Mapping[str, Grade] = field(default_factory=dict)  #: by passage id
    sufficient: bool | None = None  #: together they are enough to answer; None: no verdict
    missing: str = ""  #: when not enough, what to look for next
    search_steps: tuple[SearchStep, ...] = ()  #: when not enough, where to look next
    #: by passage id of a person's answer, the ids of the documents' passages that say otherwise
    disputed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@value
class Strip:
    """A verbatim piece of a passage that the writer reads (CRAG's knowledge refinement)."""

    number: int  #: what the writer cites as ``[n]``; counts from 1
    retrieved: Retrieved
    text: str
    start: int  #: characters into the source's extracted text
    end: int
    #: its sentences that a judge named, as (start, end) like its own
    evidence: tuple[tuple[int, int], ...] = ()

    @property
    def passage(self) -> Passage:
        return self.retrieved.passage

    @property
    def within(self) -> Span:
        """Characters into its passage."""
        return self.start - self.passage.start, self.end - self.passage.start

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings right above it that its passage's path lacks: small sections are joined into one passage."""
        text, passage = self.passage.text, self.passage
        over = headings_over(text, self.within[0], (passage.title, *passage.path))
        return tuple(text[first:last] for first, last in over)


@value
class Draft:
    """An answer before verification: Markdown whose ``[n]`` name strips."""

    text: str
    composed: bool  #: False: verbatim quotes
    quotes: tuple[int, ...] = ()  #: strips quoted, in order, when not composed; the text is made from them
    is_cut_off: bool = False  #: the beginning of one whose rest never came
    answers: bool = True  #: False: the writer says the strips do not answer the question
    is_newer_first: bool = False  #: quotes of two documents differ, and the one changed last comes first


Strips = tuple[Strip, ...]

Hear = Callable[[Draft], None]
"""Told what is written of a draft by now."""

Oddity = Literal["language", "twice", "uncited"]
"""The fault of a draft as a whole: not in the question's language, or a paragraph said twice."""


@value
class Rejected:
    """A draft that a check refused: the sentences cut and left, or what is wrong with all of it."""

    failing: tuple[Omission, ...]
    standing: str = ""
    oddity: Oddity | None = None


@value
class Calculation:
    """A figure of a draft that code computed from numbers of the strips, or could not."""

    written: str  #: what the draft had instead
    #: the figure, and in parentheses how it comes about; of one that failed, what was to be computed
    shown: str
    inputs: str = ""  #: its numbers as the strips have them, with signs between them
    asked: tuple[str, ...] = ()  #: those of them that stand in the question
    #: The spans of its numbers, by strip; checkpointed under this name.
    places: Mapping[int, tuple[Span, ...]] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()
    fault: str = ""  #: why it failed, as a sentence for people; empty: it did not


@value
class Statement:
    """A sentence of a draft, as a judge sees it."""

    number: int  #: counts from 1, in the draft's order
    text: str
    cites: tuple[int, ...]
    doubts: tuple[str, ...] = ()  #: what code did not find in the strips it cites
    is_apart: bool = False  #: the strips it cites share little with it, though they are in its language
    is_close: bool = False  #: they say it nearly word for word
    calculations: tuple[Calculation, ...] = ()  #: its computed figures

    @property
    def fault(self) -> str:
        """The reason why one of its figures could not be computed: no judge is needed to cut it."""
        return next((each.fault for each in self.calculations if each.fault), "")


Statements = tuple[Statement, ...]


@value
class Grounded:
    """One vote on sentences of a draft, by their numbers."""

    judged: tuple[int, ...]
    unsupported: tuple[int, ...] = ()
    lacking: Mapping[int, str] = field(default_factory=dict)  #: what of an unsupported one no strip states
    #: the strips that state a supported one, where it cites others or none
    elsewhere: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    idle: tuple[int, ...] = ()  #: those that claim nothing: greetings, offers
    absent: tuple[int, ...] = ()  #: those that say what the strips do not say
    leaning: tuple[int, ...] = ()  #: those that cannot be understood without the sentence before them
    unsettled: tuple[int, ...] = ()  #: supported ones that stay in doubt
    #: by a sentence and a strip in another language, where that states it
    stated: Mapping[tuple[int, int], tuple[Span, ...]] = field(default_factory=dict)

    @property
    def share_unsupported(self) -> float:
        """Share of unsupported sentences among those that it judged, 0 to 1."""
        return len(self.unsupported) / max(len(self.judged), 1)

    def beside(self, other: Grounded) -> Grounded:
        """Two votes on different sentences as one."""
        both = ((each.name, getattr(self, each.name), getattr(other, each.name)) for each in fields(self))
        together: dict[str, Any] = {
            name: one | two if isinstance(one, dict) else (*one, *two) for name, one, two in both
        }
        return Grounded(**together)

    def against(self, faults: Mapping[int, str]) -> Grounded:
        """The vote with more sentences that nothing supports, each with what is wrong with it."""
        judged, unsupported = tuple(sorted((*self.judged, *faults))), (*self.unsupported, *faults)
        return replace(self, judged=judged, unsupported=unsupported, lacking={**self.lacking, **faults})


class Reasoner(Protocol):
    """One per turn, so that it can keep the turn's budget. Every method returns a usable value or raises
    ModelTrouble. Methods may run in parallel."""

    @property
    def usage(self) -> Usage:
        """The cost of this turn so far."""

    @property
    def exchanges(self) -> tuple[ModelExchange, ...]:
        """The messages of its models and their replies, if they are kept."""

    @property
    def trouble(self) -> str | None:
        """The reason why some steps were done without the model, as a sentence; None: nothing went wrong."""

    async def plan(self, ask: Ask) -> Plan: ...

    async def grade(self, ask: Ask, passages: tuple[Retrieved, ...]) -> Grades: ...

    async def write(
        self, ask: Ask, strips: Strips, before: Rejected | None = None, hear: Hear | None = None
    ) -> Draft:
        """A draft; ``before`` is the one that it replaces, and ``hear`` is called with it while it is written."""

    async def check_grounding(self, statements: Statements, strips: Strips, ballot: int = 0) -> Grounded:
        """One vote. The judge does not see the question: knowing it lowers recall from 46% to 9%."""

    async def confirm(self, statements: Statements, strips: Strips, ballot: int = 0) -> frozenset[int]:
        """One vote: the numbers of the sentences that the strips plainly state."""

    async def check_usefulness(self, ask: Ask, text: str) -> bool | None:
        """True if the text answers the question; None: no verdict."""

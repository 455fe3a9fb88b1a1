"""What a conversation remembers, and the work of its current turn.

Everything here is checkpointed after each node, so it is plain values of known types:
strict msgpack rebuilds these and nothing else. Use ``dict`` and ``tuple`` in annotations:
the allow list of types is derived from them.
"""

from __future__ import annotations

from dataclasses import field
from typing import Literal, TypedDict

from core.conversation import Exchange, Outcome, Proposal, Ranked, ThreadMessage, Turn, value
from core.library.documents import Retrieved
from core.reasoning.reasoner import Draft, Grade, Plan, Rejected
from core.text.followup import subjects

HISTORY_LIMIT = 12  # exchanges a conversation remembers
PROPOSAL_LIMIT = 50  # proposals a conversation remembers; the oldest settled ones go first
ANSWER_REMEMBERED = 1_000  # characters of an answer kept for follow-ups

Next = Literal["generate", "regrade", "propose", "give_up", "answer"]


@value
class Work:
    """The current turn's work in progress; a new turn begins with a new one."""

    question: str = ""  #: the person's own words; rewrites live beside it, never in its place
    asker: str = ""
    report_passages: int = 0
    sources: tuple[str, ...] = ()
    plan: Plan | None = None
    passages: tuple[Retrieved, ...] = ()  #: best first; web passages are kept nowhere else
    weights: dict[str, float] = field(default_factory=dict)  #: of the question's terms
    confidence: float = 0.0  #: of the documents
    web_coverage: float = 0.0  #: how much of the question the best web passage covers, 0 to 1
    grades: dict[str, Grade] = field(default_factory=dict)  #: by passage id
    sufficient: tuple[
        bool, ...
    ] = ()  #: what the last grade said of all passages together; empty: nothing said
    missing: str = ""  #: what the last grade said to look for next
    rewrites: int = 0  #: further document retrievals made
    drafts: int = 0
    draft: Draft | None = None
    is_ahead: bool = False  #: the draft was written beside its grades, from whole passages
    rejected: Rejected | None = None  #: what became of the last draft; None: all of it stood
    proposal: Proposal | None = None  #: the one that this turn decides
    tried: tuple[str, ...] = ()  #: queries looked for so far
    next: Next | None = None  #: what a node decided should follow
    ranked: tuple[Ranked, ...] = ()
    retrieve_ms: float = 0.0
    steps: tuple[str, ...] = ()


class State(TypedDict, total=False):
    """One LangGraph thread: a conversation."""

    thread_context: tuple[ThreadMessage, ...]  #: said before the bot was called in; of its first question
    history: tuple[Exchange, ...]
    proposals: tuple[Proposal, ...]
    turn: Turn
    work: Work
    outcome: Outcome | None


def proposal_by_id(state: State, proposal_id: str) -> Proposal | None:
    return next((p for p in state.get("proposals", ()) if p.id == proposal_id), None)


def with_proposal(proposals: tuple[Proposal, ...], proposal: Proposal) -> tuple[Proposal, ...]:
    """The proposals, oldest first, with this one in its place or last; bounded, settled ones go first."""
    if any(p.id == proposal.id for p in proposals):
        return tuple(proposal if p.id == proposal.id else p for p in proposals)
    kept = list(proposals)
    while len(kept) >= PROPOSAL_LIMIT:
        kept.remove(next((p for p in kept if not p.is_open), kept[0]))
    return (*kept, proposal)


def with_reopened(proposals: tuple[Proposal, ...], work: Work) -> tuple[Proposal, ...]:
    """The proposals, with the one open again whose decision this unfinished work was carrying out."""
    return with_proposal(proposals, work.proposal.reopened()) if work.proposal else proposals


def history_before(history: tuple[Exchange, ...], work: Work) -> tuple[Exchange, ...]:
    """What was said before the question: a decision may come long after it, and talk goes on meanwhile."""
    for index, exchange in enumerate(history):
        if (exchange.question, exchange.author) == (work.question, work.asker):
            return tuple(history[:index])
    has_fallen_out = work.proposal is not None and len(history) >= HISTORY_LIMIT
    return () if has_fallen_out else tuple(history)


def said_before(state: State, work: Work) -> tuple[Exchange, ...]:
    """What a question may lean on: what others said in the thread, then what was asked of the bot."""
    thread_context = subjects(state.get("thread_context", ()))
    heard = (Exchange(question=remark.text, answer="", author=remark.author) for remark in thread_context)
    return (*heard, *history_before(state.get("history", ()), work))


def with_exchange(history: tuple[Exchange, ...], exchange: Exchange) -> tuple[Exchange, ...]:
    """The history with this exchange last; an earlier ending of the same question is replaced."""
    others = [e for e in history if (e.question, e.author) != (exchange.question, exchange.author)]
    return (*others, exchange)[-HISTORY_LIMIT:]

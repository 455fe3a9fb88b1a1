"""The memory of a conversation, and the work of its current turn.

It is stored where :func:`costs_to_repeat` says so, and at the end of a turn. LangGraph's strict serializer rebuilds
known types only, and derives them from the annotations here: use ``dict`` and ``tuple`` there, no abstract types.
"""

from dataclasses import field, replace
from typing import Literal, Self, TypedDict

from core.conversation import (
    Decision,
    Exchange,
    Outcome,
    Proposal,
    Question,
    Ranked,
    ThreadMessage,
    Turn,
    value,
)
from core.library.documents import Retrieved
from core.reasoning.reasoner import Draft, Grade, Grades, Plan, Rejected, Relevance, SearchStep
from core.text.intent import hands_over, subjects

HISTORY_LIMIT = 12  # exchanges a conversation remembers
PROPOSAL_LIMIT = 50  # proposals a conversation remembers; the oldest decided ones go first
ANSWER_REMEMBERED = 1_000  # characters of an answer that follow-ups may need

Next = Literal["generate", "regrade", "propose", "web_search", "give_up", "answer"]


@value
class Work:
    """The current turn's work in progress; a new turn begins with a new one."""

    question: str = ""  #: in the person's own words; rewrites have fields of their own
    asker: str = ""
    is_addressed: bool = True  #: False: nobody called the bot
    report_passages: int = 0
    sources: tuple[str, ...] = ()
    attached: tuple[str, ...] = ()  #: addresses of the question's own files, which are looked into first
    in_files: int = 0  #: passages that these files have
    has_unread: bool = False  #: the question has files that nobody allowed to be read
    quoted: tuple[ThreadMessage, ...] = ()
    plan: Plan | None = None
    passages: tuple[Retrieved, ...] = ()  #: best first; web passages are kept nowhere else
    weights: dict[str, float] = field(default_factory=dict)  #: of the question's terms
    confidence: float = 0.0  #: of the documents
    languages: tuple[str, ...] = ()  #: of the documents that may be read, ISO 639-1
    web_coverage: float = 0.0  #: how much of the question the best web passage covers, 0 to 1
    looks: dict[str, int] = field(default_factory=dict)  #: by passage id, best first: what look brought it
    grades: dict[str, Grade] = field(default_factory=dict)  #: by passage id
    sufficient: tuple[bool, ...] = ()  #: the last verdict on all passages together; empty: none
    missing: str = ""  #: what the last grade said to look for next
    search_steps: tuple[SearchStep, ...] = ()  #: where the last grade said to look next
    steps_made: tuple[str, ...] = ()  #: of those that grades asked for, and how many passages each found
    rewrites: int = 0  #: further document retrievals made
    missed: int = 0  #: those before which a judge had not found enough, or nothing of a draft stood
    drafts: int = 0
    draft: Draft | None = None
    is_ahead: bool = False  #: the draft was written before its grades were there, from whole passages
    rejected: Rejected | None = None  #: what was cut from the last draft; None: nothing
    proposal: Proposal | None = None  #: the one that this turn decides
    tried: tuple[str, ...] = ()  #: queries looked for so far
    next: Next | None = None  #: what follows the current node
    ranked: tuple[Ranked, ...] = ()
    retrieve_ms: float = 0.0
    steps: tuple[str, ...] = ()  #: nodes that ran, in order

    def with_step(self, node: str) -> Self:
        return replace(self, steps=(*self.steps, node))

    def relevance_of(self, hit: Retrieved) -> Relevance | None:
        """The verdict on a passage; None: none."""
        grade = self.grades.get(hit.passage.id)
        return grade.relevance if grade else None

    @property
    def holds_correct(self) -> bool:
        """True if a passage was found to state the answer or a part of it."""
        return any(self.relevance_of(hit) == "correct" for hit in self.passages)

    def with_grades(self, grades: Grades) -> Self:
        """The better of old and new grades on each passage, and the last overall verdict."""
        own = self.grades
        again = {name: own[name].or_better(new) for name, new in grades.of.items() if name in own}
        return replace(
            self, grades={**own, **grades.of, **again}, missing=grades.missing,
            search_steps=grades.search_steps,
            sufficient=self.sufficient if grades.sufficient is None else (grades.sufficient,),
        )  # fmt: skip


class State(TypedDict, total=False):
    """One LangGraph thread: a conversation."""

    thread_context: tuple[ThreadMessage, ...]  #: from before the bot was called in; of its first question
    history: tuple[Exchange, ...]
    proposals: tuple[Proposal, ...]
    turn: Turn
    work: Work
    outcome: Outcome | None


def costs_to_repeat(state: State, *, is_queued: bool) -> bool:
    """True if the running turn must not be repeated after a kill, or would not be. It read a thread or the
    question's files, asked a model, or began to carry out a decision. ``is_queued``: it begins again by
    itself."""
    turn, work = state.get("turn"), state.get("work")
    if turn is None or work is None or state.get("outcome") is not None:  # it has not begun, or has ended
        return False
    was_read = isinstance(turn, Question) and bool(turn.thread_context or turn.attached)
    return not is_queued or isinstance(turn, Decision) or was_read or bool(work.steps)


def proposal_by_id(state: State, proposal_id: str) -> Proposal | None:
    return next((p for p in state.get("proposals", ()) if p.id == proposal_id), None)


def with_proposal(proposals: tuple[Proposal, ...], proposal: Proposal) -> tuple[Proposal, ...]:
    """The proposals, oldest first, with this one replaced or added; at the limit, decided ones go first."""
    if any(p.id == proposal.id for p in proposals):
        return tuple(proposal if p.id == proposal.id else p for p in proposals)
    kept = list(proposals)
    while len(kept) >= PROPOSAL_LIMIT:
        kept.remove(next((p for p in kept if not p.is_open), kept[0]))
    return (*kept, proposal)


def with_reopened(proposals: tuple[Proposal, ...], work: Work) -> tuple[Proposal, ...]:
    """The proposals; the one whose decision this unfinished work carried out is open again."""
    return with_proposal(proposals, work.proposal.without_decision()) if work.proposal else proposals


def history_before(state: State, work: Work) -> tuple[Exchange, ...]:
    """The history up to the question: a decision may come long after it, with other exchanges between."""
    history = tuple(state.get("history", ()))  # a checkpoint may return a list
    for index, exchange in enumerate(history):
        if (exchange.question, exchange.author) == (work.question, work.asker):
            return history[:index]
    has_fallen_out = work.proposal is not None and len(history) >= HISTORY_LIMIT
    return () if has_fallen_out else history


def subject_of_request(turn: Question) -> ThreadMessage | None:
    """The message that “Can you answer this?” is about. It is the quoted one, else the newest of its thread."""
    messages = turn.quoted or subjects(turn.thread_context)
    return messages[-1] if messages and hands_over(turn.text) else None


def context_of(state: State, work: Work) -> tuple[Exchange, ...]:
    """The texts that a question may refer to. They are those of its thread, asked of the bot before, and
    quoted by it."""
    thread, quoted = (
        [Exchange(question=each.text, answer="", author=each.author) for each in messages]
        for messages in (subjects(state.get("thread_context", ())), work.quoted)
    )
    return (*thread, *history_before(state, work), *quoted)


def with_exchange(history: tuple[Exchange, ...], exchange: Exchange) -> tuple[Exchange, ...]:
    """The history with this exchange last; it replaces an earlier one about the same question."""
    others = [e for e in history if (e.question, e.author) != (exchange.question, exchange.author)]
    return (*others, exchange)[-HISTORY_LIMIT:]

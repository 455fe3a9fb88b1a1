"""How a turn ends: the Outcome, what the conversation remembers of it, and the words for why.

A reason that is a Sentence is told in the language of the question.
"""

from __future__ import annotations

from dataclasses import replace

from core.conversation import Answer, Citation, Decision, Exchange, Outcome, Proposal, Question
from core.graph.policy import Policy
from core.graph.state import (
    ANSWER_REMEMBERED,
    State,
    Work,
    proposal_by_id,
    with_exchange,
    with_proposal,
    with_reopened,
)
from core.grounding.citations import footnotes_for, grounding_of
from core.grounding.strips import refine, shortened
from core.library.documents import Retrieved
from core.reasoning.reasoner import Strip
from core.text.language import language_of
from core.text.smalltalk import small_talk_language
from core.wording import Sentence, in_language

CLOSEST = 3  # passages shown when there is no answer
TALKED_OF = 2  # best passages whose documents a follow-up may be about, besides those cited
CLOSEST_LENGTH = 600  # characters of one shown quote, cut after a sentence


def answered(
    state: State, work: Work, answer: Answer, reason: str | None = None, beside: Proposal | None = None
) -> State:
    """``beside``: a search offered for what the answer leaves open."""
    outcome = _outcome(state, work, kind="answered", answer=answer, reason=reason, proposal=beside)
    ended = _ended(state, work, outcome, answer.text)
    proposals = state.get("proposals", ())
    return {**ended, "proposals": with_proposal(proposals, beside)} if beside else ended


def conversed(state: State, work: Work) -> State:
    """Words of conversation: an answer without footnotes, marked as such by its grounding."""
    reply = work.plan.reply if work.plan else ""
    answer = Answer(text=reply, citations=(), grounding=grounding_of(()), composed=True)
    return _ended(state, work, _outcome(state, work, kind="answered", answer=answer), reply)


def clarify(state: State, work: Work) -> State:
    question = work.plan.reply if work.plan else ""
    options = work.plan.options if work.plan else ()
    outcome = _outcome(state, work, kind="clarify", reason=question, options=options)
    return _ended(state, work, outcome, f"(asked back: {question})")


def approval_needed(state: State, work: Work, proposal: Proposal) -> State:
    outcome = _outcome(
        state,
        work,
        kind="approval_needed",
        proposal=proposal,
        closest=proposal.closest,
        reason=proposal.reason,
    )
    ended = _ended(state, work, outcome, "(not found in the documents; a web search was proposed)")
    return {**ended, "proposals": with_proposal(state.get("proposals", ()), proposal)}


def no_answer(state: State, work: Work, closest: tuple[Citation, ...], reason: str) -> State:
    outcome = _outcome(state, work, kind="no_answer", closest=closest, reason=reason)
    return _ended(state, work, outcome, "(no answer was found)")


def failed(state: State, work: Work, reason: str) -> State:
    """Nothing came of the turn, for a reason a person can use; the history stays as it was."""
    return {"work": Work(), "outcome": _outcome(state, work, kind="failed", reason=reason)}


def unfinished(state: State, work: Work, reason: str) -> State:
    """The turn could not be finished. A decision it was carrying out can be made again."""
    reopened = with_reopened(state.get("proposals", ()), work)
    return {**failed(state, work, reason), "proposals": reopened}


def closest_of(work: Work, policy: Policy) -> tuple[Citation, ...]:
    """The best strips of the best passages, when the library finds them close at all."""
    if work.confidence < policy.closest_at and not any(
        g.relevance == "correct" for g in work.grades.values()
    ):
        return ()
    # Those found correct first, then those left open; each with what was found telling in it.
    judged = sorted(work.passages, key=lambda hit: _order(work, hit))
    shown: dict[str, Strip] = {}
    for strip in refine(judged[: CLOSEST * 2], work.grades, around=0):
        shown.setdefault(strip.retrieved.passage.id, shortened(strip, CLOSEST_LENGTH))
    return footnotes_for(list(shown.values())[:CLOSEST])


def _order(work: Work, hit: Retrieved) -> int:
    grade = work.grades.get(hit.passage.id)
    return {"correct": 0, "ambiguous": 1, "incorrect": 3}[grade.relevance] if grade else 2


def what_is_missing(missing: str) -> str:
    """Why a search is offered beside an answer in part."""
    return Sentence("missing_in_documents", missing=missing.rstrip(" .?!"))


def why_not_enough(work: Work, closest: tuple[Citation, ...]) -> str:
    """Why the documents were not enough, for the person who decides."""
    if work.proposal is not None:
        return Sentence("web_not_enough", query=work.proposal.allowed or work.proposal.query)
    if not work.passages:
        return Sentence("not_about_this")
    if not closest:
        return Sentence("not_answered")
    if work.missing:
        return Sentence("close_but_missing", missing=work.missing.rstrip(" .?!"))
    return Sentence("not_clearly_answered")


def nothing_left(work: Work, *, has_web: bool) -> str:
    """Why the turn ends without an answer and without another proposal."""
    if work.proposal is not None:
        return Sentence("not_on_the_web")
    return Sentence("not_found" if has_web else "not_found_without_web")


def _outcome(state: State, work: Work, *, reason: str | None = None, **fields: object) -> Outcome:
    said = work.question or _asked(state)
    language = small_talk_language(said) or language_of(said)
    return Outcome(
        turn_id=state["turn"].id,
        reason=reason and in_language(reason, language),
        language=language,
        confidence=round(work.confidence, 4),
        steps=work.steps,
        ranked=work.ranked,
        timing_ms={"retrieve": round(work.retrieve_ms, 1)},
        **fields,  # type: ignore[arg-type]
    )


def _asked(state: State) -> str:
    """The question of a turn that did not begin."""
    turn = state["turn"]
    if isinstance(turn, Question):
        return turn.text
    proposal = proposal_by_id(state, turn.proposal_id)
    return proposal.question if proposal else ""


def _ended(state: State, work: Work, outcome: Outcome, remembered: str) -> State:
    """The outcome, the exchange for follow-ups, and no more work."""
    exchange = Exchange(
        question=work.question,
        answer=remembered[:ANSWER_REMEMBERED],
        author=work.asker,
        sources=_sources_of(work, outcome.answer),
    )
    history = state.get("history", ())
    if isinstance(state["turn"], Decision):
        exchange = _with_first_half(exchange, history, is_answered=outcome.answer is not None)
    return {"work": Work(), "outcome": outcome, "history": with_exchange(history, exchange)}


def _with_first_half(exchange: Exchange, history: tuple[Exchange, ...], *, is_answered: bool) -> Exchange:
    """What a decision came to, behind the answer that its search was proposed beside: that one still stands."""
    same = (e for e in history if (e.question, e.author) == (exchange.question, exchange.author))
    first = next(same, None)
    if first is None or not first.sources:  # the search was proposed instead of an answer
        return exchange
    if not is_answered:
        return first
    answer = f"{first.answer}\n\n{exchange.answer}"
    return replace(
        exchange,
        answer=answer[:ANSWER_REMEMBERED],
        sources=tuple(dict.fromkeys((*first.sources, *exchange.sources))),
    )


def _sources_of(work: Work, answer: Answer | None) -> tuple[str, ...]:
    """The documents that an answer cites, and those of the passages that fitted the question best."""
    if answer is None or not answer.citations:
        return ()
    cited = (citation.source for citation in answer.citations if citation.origin == "documents")
    best = (hit.passage.source for hit in work.passages[:TALKED_OF] if hit.passage.origin == "documents")
    return tuple(dict.fromkeys((*cited, *best)))

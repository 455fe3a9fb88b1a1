"""The ending of a turn: its Outcome, what the conversation remembers of it, and the sentence that says why.

A reason that is a Sentence is put in the language of the question.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath

from core.conversation import Answer, Citation, Decision, Exchange, Outcome, Proposal, Question, Turn
from core.graph.policy import Policy
from core.graph.rights import collections_behind
from core.graph.state import (
    ANSWER_REMEMBERED,
    State,
    Work,
    history_before,
    proposal_by_id,
    with_exchange,
    with_proposal,
    with_reopened,
)
from core.grounding.citations import footnotes_for, grounding_of
from core.grounding.strips import evidence_alone, refine, shortened
from core.reasoning.reasoner import Strip
from core.text.intent import small_talk_language
from core.text.language import language_of
from core.wording import Sentence, in_language

CLOSEST = 3  # passages shown when there is no answer
FOLLOWED = 2  # best passages whose documents a follow-up may be about, in addition to those cited


def end_with_answer(
    state: State, work: Work, answer: Answer, reason: str | None = None, beside: Proposal | None = None
) -> State:
    """``beside`` is a search proposed together with the answer, for what it leaves open."""
    outcome = _outcome(state, work, kind="answered", answer=answer, reason=reason, proposal=beside)
    end = _end(state, work, outcome, answer.text)
    proposals = state.get("proposals", ())
    return {**end, "proposals": with_proposal(proposals, beside)} if beside else end


def end_with_reply(state: State, work: Work) -> State:
    """Small talk: an answer without footnotes, whose grounding says so."""
    reply = work.plan.reply if work.plan else ""
    answer = Answer(text=reply, citations=(), grounding=grounding_of(()), composed=True)
    outcome = _outcome(state, work, kind="answered", answer=answer)
    return _end(state, work, replace(outcome, unread=()), reply)  # it asked nothing of its files


def end_with_clarification(state: State, work: Work) -> State:
    question = work.plan.reply if work.plan else ""
    options = work.plan.options if work.plan else ()
    names_all = bool(options) and all(option.casefold() in question.casefold() for option in options)
    asked = None if names_all else question  # the readings stand below it in any case
    outcome = _outcome(state, work, kind="clarify", reason=asked, options=options)
    return _end(state, work, outcome, f"(asked back: {question})")


def end_with_proposal(state: State, work: Work, proposal: Proposal) -> State:
    outcome = _outcome(
        state,
        work,
        kind="approval_needed",
        proposal=proposal,
        closest=proposal.closest,
        reason=proposal.reason,
    )
    end = _end(state, work, outcome, "(not found in the documents; a web search was proposed)")
    return {**end, "proposals": with_proposal(state.get("proposals", ()), proposal)}


def end_without_answer(state: State, work: Work, closest: tuple[Citation, ...], reason: str) -> State:
    outcome = _outcome(state, work, kind="no_answer", closest=closest, reason=reason)
    return _end(state, work, outcome, "(no answer was found)")


def is_about_its_files(work: Work) -> bool:
    """True if a question came with files that were read and no model judged: a search knows nothing of them."""
    return bool(work.attached) and not work.sufficient and work.proposal is None


def end_with_beginning(state: State, work: Work) -> State:
    """How the question's own files begin, and what more needs a model."""
    names = tuple(dict.fromkeys(PurePath(address).name for address in work.attached))
    own = sorted(
        (hit for hit in work.passages if hit.passage.source in names),
        key=lambda hit: (names.index(hit.passage.source), hit.passage.start),
    )
    strips = refine(own[:CLOSEST], {}, around=0)
    beginning = footnotes_for([shortened(strip) for strip in strips[:CLOSEST]])
    return end_without_answer(state, work, beginning, Sentence("needs_model", files=", ".join(names)))


def end_unshown(state: State, work: Work) -> State:
    """Nobody called the bot, and it has nothing sure to say: the conversation stays as it was."""
    return {"work": Work(), "outcome": unshown(state["turn"], work.confidence)}


def unshown(turn: Turn, confidence: float = 0.0) -> Outcome:
    return Outcome(kind="no_answer", turn_id=turn.id, is_shown=False, confidence=round(confidence, 4))


def end_with_failure(state: State, work: Work, reason: str) -> State:
    """No result, for a reason that a person can use; the history stays as it was."""
    return {"work": Work(), "outcome": _outcome(state, work, kind="failed", reason=reason)}


def end_unfinished(state: State, work: Work, reason: str) -> State:
    """A failure after which the decision that the turn carried out can be made again."""
    reopened = with_reopened(state.get("proposals", ()), work)
    return {**end_with_failure(state, work, reason), "proposals": reopened}


def closest_of(work: Work, policy: Policy) -> tuple[Citation, ...]:
    """The closest statements of the best passages, when the library finds them close at all."""
    is_stated = any(grade.relevance == "correct" for grade in work.grades.values())
    if work.confidence < policy.closest_at and not is_stated:
        return ()
    order = {"correct": 0, "ambiguous": 1, None: 2, "incorrect": 3}
    ordered = sorted(work.passages, key=lambda hit: order[work.relevance_of(hit)])
    shown: dict[str, Strip] = {}
    for strip in refine(ordered[: CLOSEST * 2], work.grades, around=0):
        shown.setdefault(strip.passage.id, shortened(evidence_alone(strip)))
    return footnotes_for(list(shown.values())[:CLOSEST])


def missing_of(work: Work) -> str:
    """The part that an answer leaves open: in the grader's words, or else what the plan would search for."""
    return work.missing or (work.plan.web_query or work.plan.standalone if work.plan else work.question)


def what_was_not_read(work: Work, policy: Policy) -> str | None:
    """That an answer rests on a part of the question's files. Where the library surely found the place that was
    asked for, as it does not for “summarise this”, the rest matters to nobody."""
    names = {PurePath(address).name for address in work.attached}
    read = sum(hit.passage.source in names for hit in work.passages)
    if not names or work.confidence >= policy.web_quote_at or read >= work.in_files:
        return None
    return Sentence("read_in_part", read=read, total=work.in_files)


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
    return Sentence("not_found" if has_web or work.has_unread else "not_found_without_web")


def _outcome(state: State, work: Work, *, reason: str | None = None, **fields: object) -> Outcome:
    turn = state["turn"]
    if isinstance(turn, Question):
        fields |= {"unread": turn.unread, "unreadable": turn.unreadable}
        question = work.question or turn.text
    else:
        proposal = proposal_by_id(state, turn.proposal_id)
        question = work.question or (proposal.question if proposal else "")
    language = small_talk_language(question) or language_of(question)
    return Outcome(
        turn_id=turn.id,
        reason=reason and in_language(reason, language),
        language=language,
        confidence=round(work.confidence, 4),
        steps=work.steps,
        ranked=work.ranked,
        collections=collections_behind(work, history_before(state, work)),
        timing_ms={"retrieve": round(work.retrieve_ms, 1)},
        **fields,  # type: ignore[arg-type]
    )


def _end(state: State, work: Work, outcome: Outcome, remembered: str) -> State:
    """The outcome, and the exchange that follow-ups need, with the documents of an answer and of the best passages."""
    citations = outcome.answer.citations if outcome.answer else ()
    cited = [each.source for each in citations if each.origin == "documents"]
    best = [hit.passage.source for hit in work.passages[:FOLLOWED] if hit.passage.origin == "documents"]
    exchange = Exchange(
        question=work.question,
        answer=remembered[:ANSWER_REMEMBERED],
        author=work.asker,
        sources=tuple(dict.fromkeys((*cited, *best))) if citations else (),
        collections=outcome.collections,
    )
    history = state.get("history", ())
    if isinstance(state["turn"], Decision):
        exchange = _with_first_answer(exchange, history, is_answered=outcome.answer is not None)
    return {"work": Work(), "outcome": outcome, "history": with_exchange(history, exchange)}


def _with_first_answer(exchange: Exchange, history: tuple[Exchange, ...], *, is_answered: bool) -> Exchange:
    """The result of a search, appended to the answer with which it was proposed."""
    same = (e for e in history if (e.question, e.author) == (exchange.question, exchange.author))
    first = next(same, None)
    if first is None or not first.sources:  # the search was proposed in place of an answer
        return exchange
    if not is_answered:
        return first
    answer = f"{first.answer}\n\n{exchange.answer}"
    return replace(
        exchange,
        answer=answer[:ANSWER_REMEMBERED],
        sources=tuple(dict.fromkeys((*first.sources, *exchange.sources))),
        collections=tuple(sorted({*first.collections, *exchange.collections})),
    )

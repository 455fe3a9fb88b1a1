"""The ending of a turn: its Outcome, what the conversation remembers of it, and the sentence that says why.

A reason that is a Sentence is put in the language of the question.
"""

from dataclasses import replace
from pathlib import PurePath
from typing import Any

from core.conversation import Answer, Citation, Decision, Exchange, Outcome, Proposal, Question, Turn
from core.graph import state as states
from core.graph.policy import Policy
from core.graph.rights import collections_behind, documents_behind
from core.graph.state import State, Work
from core.grounding.citations import footnotes_for
from core.grounding.strips import evidence_alone, refine, shorten
from core.reasoning.reasoner import Strip
from core.text.inline import without_markers
from core.text.intent import small_talk_language
from core.text.language import language_of
from core.wording import Sentence, in_language

CLOSEST = 3  # passages shown when there is no answer
FOLLOWED = 2  # best passages whose documents a follow-up may be about, in addition to those cited


def end_with_answer(
    state: State, work: Work, answer: Answer, reason: str | None = None, beside: Proposal | None = None
) -> State:
    """``beside`` is a search proposed together with the answer, for what it leaves open."""
    return end(state, work, answer.text, kind="answered", answer=answer, reason=reason, proposal=beside)


def end_without_answer(state: State, work: Work, closest: tuple[Citation, ...], reason: str) -> State:
    return end(state, work, "(no answer was found)", kind="no_answer", closest=closest, reason=reason)


def is_about_its_files(work: Work) -> bool:
    """True if a question came with files that were read and no model judged. A search knows nothing of
    them."""
    return bool(work.attached) and not work.sufficient and work.proposal is None


def end_with_beginning(state: State, work: Work) -> State:
    """End with the beginning of the question's own files; more needs a model."""
    names = tuple(dict.fromkeys(PurePath(address).name for address in work.attached))
    own = sorted(
        (hit for hit in work.passages if hit.passage.source in names),
        key=lambda hit: (names.index(hit.passage.source), hit.passage.start),
    )
    strips = refine(own[:CLOSEST], {}, around=0)
    beginning = footnotes_for([shorten(strip) for strip in strips[:CLOSEST]])
    return end_without_answer(state, work, beginning, Sentence("needs_model", files=", ".join(names)))


def end_unshown(state: State, work: Work) -> State:
    """End without a message: nobody called the bot, and it is not sure. The conversation stays as it was."""
    return {"work": Work(), "outcome": unshown(state["turn"], work.confidence)}


def unshown(turn: Turn, confidence: float = 0.0) -> Outcome:
    return Outcome(kind="no_answer", turn_id=turn.id, is_shown=False, confidence=round(confidence, 4))


def end_with_failure(state: State, work: Work, reason: str) -> State:
    """End without a result, with a reason that a person can use; the history stays as it was."""
    return {"work": Work(), "outcome": _outcome(state, work, kind="failed", reason=reason)}


def end_unfinished(state: State, work: Work, reason: str) -> State:
    """A failure after which the decision that the turn carried out can be made again."""
    reopened = states.with_reopened(state.get("proposals", ()), work)
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
        shown.setdefault(strip.passage.id, shorten(evidence_alone(strip)))
    return footnotes_for(list(shown.values())[:CLOSEST])


def what_was_not_read(work: Work, policy: Policy) -> str | None:
    """A remark that an answer rests on a part of the question's files. Where the library surely found what was
    asked for, as it does not for “summarise this”, the rest matters to nobody."""
    names = {PurePath(address).name for address in work.attached}
    read = sum(hit.passage.source in names for hit in work.passages)
    if not names or work.confidence >= policy.web_quote_at or read >= work.in_files:
        return None
    return Sentence("read_in_part", read=read, total=work.in_files)


def why_not_enough(work: Work, closest: tuple[Citation, ...]) -> str:
    """The reason why the documents were not enough, for the person who decides."""
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
    """The reason why the turn ends without an answer and without another proposal."""
    if work.proposal is not None:
        return Sentence("not_on_the_web")
    return Sentence("not_found" if has_web or work.has_unread else "not_found_without_web")


def end(state: State, work: Work, remembered: str, **fields: Any) -> State:
    """The outcome, and the exchange that follow-ups need, with the documents of an answer and of the best passages."""
    outcome = _outcome(state, work, **fields)
    citations = outcome.answer.citations if outcome.answer else ()
    cited = [each.source for each in citations if each.origin == "documents"]
    best = [hit.passage.source for hit in work.passages[:FOLLOWED] if hit.passage.origin == "documents"]
    exchange = Exchange(
        question=work.question,
        # The next draft has other strips: marks of this one would name some of them.
        answer=without_markers(remembered)[: states.ANSWER_REMEMBERED],
        author=work.asker,
        sources=tuple(dict.fromkeys((*cited, *best))) if citations else (),
        collections=outcome.collections,
        documents=outcome.documents,
    )
    history = state.get("history", ())
    if isinstance(state["turn"], Decision):
        exchange = _with_first_answer(exchange, history, is_answered=outcome.answer is not None)
    ended: State = {"work": Work(), "outcome": outcome, "history": states.with_exchange(history, exchange)}
    if outcome.proposal is None:
        return ended
    return {**ended, "proposals": states.with_proposal(state.get("proposals", ()), outcome.proposal)}


def _outcome(state: State, work: Work, *, reason: str | None = None, **fields: Any) -> Outcome:
    turn, question = state["turn"], work.question
    if isinstance(turn, Question):
        fields = {"unread": turn.unread, "unreadable": turn.unreadable, **fields}
        question = question or turn.text
    elif proposal := states.proposal_by_id(state, turn.proposal_id):
        question = question or proposal.question
    language = small_talk_language(question) or language_of(question)
    before = states.history_before(state, work)
    return Outcome(
        turn_id=turn.id,
        reason=reason and in_language(reason, language),
        language=language,
        confidence=round(work.confidence, 4),
        steps=work.steps,
        ranked=work.ranked,
        collections=collections_behind(work, before),
        documents=documents_behind(work, before),
        timing_ms={"retrieve": round(work.retrieve_ms, 1)},
        **fields,
    )


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
        answer=answer[: states.ANSWER_REMEMBERED],
        sources=tuple(dict.fromkeys((*first.sources, *exchange.sources))),
        collections=tuple(sorted({*first.collections, *exchange.collections})),
        documents=tuple(dict.fromkeys((*first.documents, *exchange.documents))),
    )

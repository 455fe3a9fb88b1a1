"""The graph's nodes: each does one thing and returns what it changed.

Nodes get their ports through ``Runtime[Deps]``. What follows is decided by the plain
functions of :mod:`core.decisions`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from time import perf_counter, time
from typing import Literal

from langgraph.runtime import Runtime

from core import endings
from core.citations import to_answer
from core.claims import Claim, claims_of, faults_of, without
from core.consent import already_decided, fault_of_query, may_decide, refusal
from core.conversation import Decision, Progress, Proposal, Question, Ranked
from core.decisions import (
    after_checking,
    after_looking,
    further_queries,
    may_quote,
    needs_more_votes,
    queries_sent,
    route_of,
    web_wordings,
)
from core.errors import SearchTrouble
from core.library.confidence import coverage_of
from core.library.documents import Retrieved
from core.policy import Policy
from core.ports import Deps
from core.reasoner import Ask, Draft, Grades, Grounded, Strip
from core.state import Next, State, Work, history_before, proposal_by_id, with_proposal, with_reopened
from core.strips import refine

COMPOSED_IN_VAIN = "What the model wrote did not stand up to its check, so these are quotes."
AROUND = 1  # sentences on each side of the evidence that a composing writer reads too


async def enter(state: State, runtime: Runtime[Deps]) -> State:
    """Begin a turn: fresh work, and for a decision the proposal it is about."""
    turn, proposals = state["turn"], state.get("proposals", ())
    if state.get("outcome") is None:  # the turn before was never finished: its decision can be made again
        proposals = with_reopened(proposals, state.get("work", Work()))
    state = {**state, "proposals": proposals}
    if isinstance(turn, Question):
        work = Work(
            question=turn.text, asker=turn.author, report_passages=turn.report_passages, sources=turn.sources
        )
        return {"work": work, "outcome": None, "proposals": proposals}
    proposal = proposal_by_id(state, turn.proposal_id)
    problem = _problem_with(turn, proposal, runtime.context)
    if proposal is None or problem:
        return {**endings.failed(state, Work(), problem or ""), "proposals": proposals}
    settled = proposal.settled(turn)
    work = Work(
        question=proposal.question,
        asker=proposal.asker,
        sources=proposal.sources,
        proposal=settled,
        tried=proposal.tried,
    )
    return {"work": work, "outcome": None, "proposals": with_proposal(proposals, settled)}


def _problem_with(turn: Decision, proposal: Proposal | None, deps: Deps) -> str | None:
    """Why a decision cannot be carried out, as a sentence."""
    if proposal is None:
        return f"There is no web search to decide with the id {turn.proposal_id} in this conversation."
    if not may_decide(proposal, turn, approval=deps.approval, approvers=deps.approvers):
        return refusal(proposal, approval=deps.approval)
    if not proposal.is_open:
        return already_decided(proposal)
    if turn.verdict == "approve" and deps.web is None:
        return "Web search is switched off."
    return fault_of_query(turn.query)


def after_enter(state: State) -> Literal["open", "web_search", "decline", "__end__"]:
    turn = state["turn"]
    if state.get("outcome"):
        return "__end__"
    if isinstance(turn, Question):
        return "open"
    return "web_search" if turn.verdict == "approve" else "decline"


async def open_question(state: State, runtime: Runtime[Deps]) -> State:
    """Retrieve, and in one round trip plan and grade."""
    deps, work = runtime.context, state["work"]
    deps.report(Progress(stage="reading"))
    began = perf_counter()
    limit = max(deps.policy.passages, work.report_passages)
    found = await deps.documents.retrieve(
        work.question,
        limit=limit,
        history=history_before(state.get("history", ()), work),
        within=work.sources,
    )
    elapsed = (perf_counter() - began) * 1000
    deps.report(Progress(stage="reading", count=found.searched))
    passages = found.passages[: deps.policy.passages]
    deps.report(Progress(stage="checking", count=len(passages)))
    work = replace(
        work,
        passages=passages,
        weights=dict(found.weights),
        confidence=found.confidence,
        ranked=tuple(_ranked(hit) for hit in found.passages[: work.report_passages]),
        retrieve_ms=elapsed,
        tried=(work.question,),
    )
    ask = _ask(state, work)
    plan, grades = await asyncio.gather(deps.reasoner.plan(ask), _grade(deps, ask, passages))
    work = _graded(replace(work, plan=plan), grades)
    return _step("open", replace(work, next=after_looking(work, deps.policy)))


def after_open(
    state: State, runtime: Runtime[Deps]
) -> Literal["converse", "clarify", "generate", "regrade", "propose", "give_up"]:
    work = state["work"]
    route = route_of(work, runtime.context.policy, has_web=runtime.context.web is not None)
    if route == "none":
        return "converse"
    if route == "clarify":
        return "clarify"
    return "propose" if route == "web" else _next(work)


async def regrade(state: State, runtime: Runtime[Deps]) -> State:
    """Retrieve with the wordings not tried yet; grade only passages not seen yet."""
    deps, work = runtime.context, state["work"]
    queries = further_queries(work)
    if deps.policy.weights is None:
        queries = queries[:1]  # the published graphs rewrite once per retrieval
    found = await asyncio.gather(
        *(deps.documents.retrieve(q, limit=deps.policy.passages, within=work.sources) for q in queries)
    )
    seen = {hit.passage.id for hit in work.passages}
    unseen = {
        hit.passage.id: hit for retrieval in found for hit in retrieval.passages if hit.passage.id not in seen
    }
    new = tuple(sorted(unseen.values(), key=lambda hit: -hit.score)[: deps.policy.passages])
    deps.report(Progress(stage="checking", count=len(new)))
    grades = await _grade(deps, _ask(state, work), new)
    merged = sorted((*work.passages, *new), key=lambda hit: -hit.score)
    work = replace(
        work, passages=tuple(merged), rewrites=work.rewrites + 1, tried=(*work.tried, *queries), draft=None
    )
    work = _graded(work, grades)
    return _step("regrade", replace(work, next=after_looking(work, deps.policy)))


def after_regrade(state: State) -> Literal["generate", "regrade", "propose", "give_up"]:
    return _next(state["work"])


async def generate(state: State, runtime: Runtime[Deps]) -> State:
    """Write a draft from the strips worth reading."""
    deps, work = runtime.context, state["work"]
    deps.report(Progress(stage="writing"))
    strips = strips_of(work, deps.policy)
    draft = await deps.reasoner.write(_ask(state, work), strips, work.failing)
    return _step("generate", replace(work, draft=draft, drafts=work.drafts + 1))


async def verify(state: State, runtime: Runtime[Deps]) -> State:
    """Check every claim against its strips, and the draft against the question; drop what fails."""
    deps, work = runtime.context, state["work"]
    strips, draft = strips_of(work, deps.policy), work.draft or Draft(text="", composed=True, answers=False)
    if not draft.composed:
        if draft.answers and may_quote(work, deps.policy):
            return _answered(state, work, draft, strips)
        return _step("verify", replace(work, next="propose"))
    deps.report(Progress(stage="verifying"))
    claims = claims_of(draft.text)
    judged, useful = await _checked(
        deps,
        ask=_ask(state, work),
        work=work,
        draft=draft,
        claims=tuple(c.text for c in claims),
        strips=strips,
    )
    by_number = {strip.number: strip for strip in strips}
    bad = [
        claim
        for number, claim in enumerate(claims, start=1)
        if faults_of(claim, by_number) or _outvoted(number, judged)
    ]
    kept = replace(draft, text=_supported(draft.text, bad, by_number))
    is_empty = not draft.answers or not claims_of(kept.text)
    work = replace(work, failing=tuple(claim.text for claim in bad))
    shares = [len(vote.unsupported) / max(len(claims), 1) for vote in judged]
    follows = after_checking(work, deps.policy, unsupported=shares, useful=useful, is_empty=is_empty)
    work = replace(work, next=follows)
    if follows == "answer":
        return _answered(state, work, kept, strips)
    may_quote_instead = deps.policy.weights is not None and may_quote(work, deps.policy)
    if follows == "propose" and is_empty and draft.answers and may_quote_instead:
        quotes = await deps.reasoner.quote(_ask(state, work), strips)
        return _answered(state, work, quotes, strips, reason=COMPOSED_IN_VAIN)
    return _step("verify", work)


def after_verify(state: State) -> Literal["generate", "regrade", "propose", "give_up", "__end__"]:
    return "__end__" if state.get("outcome") else _next(state["work"])


async def propose(state: State, runtime: Runtime[Deps]) -> State:
    """Ask a person whether this exact query may go to the web; or say that there is nothing left to try."""
    deps, work = runtime.context, state["work"]
    if deps.approval == "never_ask":  # what a grader makes of private passages does not go out unseen
        work = replace(work, missing="")
    wordings = web_wordings(work, deps.policy) if deps.web else ()
    closest = endings.closest_of(work, deps.policy)
    work = replace(work, steps=(*work.steps, "propose"), next=None)
    if not wordings:
        return endings.no_answer(
            state, work, closest, endings.nothing_left(work, has_web=deps.web is not None)
        )
    proposal = Proposal(
        id=_proposal_id(state["turn"].id, wordings[0]),
        turn_id=state["turn"].id,
        question=work.question,
        asker=work.asker,
        query=wordings[0],
        wordings=wordings[1:],
        reason=endings.why_not_enough(work, closest),
        tried=_tried_with(work),
        closest=closest,
        attempt=(work.proposal.attempt if work.proposal else 0) + 1,
        sent=queries_sent(work.proposal) if work.proposal else (),
        standalone=_standalone(work),
        sources=work.sources,
    )
    known = proposal_by_id(state, proposal.id)
    if known is not None and not known.is_open:  # an old turn came once more: what was decided stays decided
        return endings.no_answer(state, work, closest, already_decided(known))
    if deps.approval == "never_ask":
        allowed = replace(
            proposal, verdict="approve", allowed=proposal.query, decided_by="the operator", decided_at=time()
        )
        work = replace(work, proposal=allowed, next=None)
        return {"work": work, "proposals": with_proposal(state.get("proposals", ()), allowed)}
    return endings.approval_needed(state, work, proposal)


def after_propose(state: State) -> Literal["web_search", "__end__"]:
    return "__end__" if state.get("outcome") else "web_search"


async def web_search(state: State, runtime: Runtime[Deps]) -> State:
    """Search for exactly the query that was allowed, and grade what came back."""
    deps, work = runtime.context, state["work"]
    proposal = work.proposal
    if proposal is None or deps.web is None:
        return endings.unfinished(state, work, "Web search is switched off.")
    deps.report(Progress(stage="searching"))
    wanted = proposal.standalone or work.question
    try:
        hits, found = await asyncio.gather(
            deps.web.find(proposal.allowed or proposal.query, wanted, deps.report),
            deps.documents.retrieve(
                work.question,
                limit=deps.policy.passages,
                history=history_before(state.get("history", ()), work),
                within=work.sources,
            ),
        )
    except SearchTrouble as trouble:
        work = replace(work, steps=(*work.steps, "web_search"))
        if deps.approval == "never_ask":
            return endings.no_answer(state, work, proposal.closest, str(trouble))
        return endings.unfinished(state, work, str(trouble))
    kept = found.passages[: deps.policy.passages // 2] if deps.policy.web_joins else ()
    deps.report(Progress(stage="checking", count=len(hits)))
    work = replace(
        work,
        passages=(*hits, *kept),
        weights=dict(found.weights),
        confidence=found.confidence,
        web_coverage=coverage_of(wanted, hits),
        draft=None,
        drafts=0,
        failing=(),
    )
    grades = await _grade(deps, _ask(state, work), work.passages if deps.policy.grades_web else kept)
    work = _graded(replace(work, grades={}, sufficient=()), grades)
    follows: Next = "propose"
    if hits:
        follows = after_looking(work, deps.policy) if deps.policy.grades_web else "generate"
    return _step("web_search", replace(work, next=follows))


def after_web(state: State) -> Literal["generate", "propose", "__end__"]:
    if state.get("outcome"):
        return "__end__"
    return "generate" if state["work"].next == "generate" else "propose"


async def decline(state: State) -> State:
    """A person said no: the closest passages, and nothing was sent."""
    work = replace(state["work"], steps=(*state["work"].steps, "decline"))
    closest = work.proposal.closest if work.proposal else ()
    return endings.no_answer(state, work, closest, "Nothing was sent to the web.")


async def give_up(state: State, runtime: Runtime[Deps]) -> State:
    """The policy goes no further: the closest passages."""
    work = replace(state["work"], steps=(*state["work"].steps, "give_up"))
    closest = endings.closest_of(work, runtime.context.policy)
    return endings.no_answer(state, work, closest, endings.nothing_left(work, has_web=True))


async def converse(state: State) -> State:
    """Words of conversation that claim nothing."""
    return endings.conversed(state, replace(state["work"], steps=(*state["work"].steps, "converse")))


async def clarify(state: State) -> State:
    """Ask back which reading is meant."""
    return endings.clarify(state, replace(state["work"], steps=(*state["work"].steps, "clarify")))


def strips_of(work: Work, policy: Policy) -> tuple[Strip, ...]:
    """What the writer reads. Deterministic, so that it need not be kept in the checkpoint."""
    around = AROUND if work.sufficient else 0
    return refine(
        work.passages, work.grades, around=around, whole=not policy.refines and bool(work.sufficient)
    )


def _ask(state: State, work: Work) -> Ask:
    history = history_before(state.get("history", ()), work)
    return Ask(question=work.question, history=history, confidence=work.confidence, weights=work.weights)


async def _grade(deps: Deps, ask: Ask, passages: tuple[Retrieved, ...]) -> Grades:
    return await deps.reasoner.grade(ask, passages) if passages else Grades()


def _graded(work: Work, grades: Grades) -> Work:
    votes = () if grades.sufficient is None else (grades.sufficient,)
    return replace(
        work,
        grades={**work.grades, **grades.of},
        sufficient=votes or work.sufficient,
        missing=grades.missing,
    )


async def _checked(
    deps: Deps, *, ask: Ask, work: Work, draft: Draft, claims: tuple[str, ...], strips: tuple[Strip, ...]
) -> tuple[list[Grounded], list[bool]]:
    """Grounding and usefulness verdicts, all cast side by side; more of them where one may not decide."""
    if not draft.answers or not claims:
        return [], []
    policy = deps.policy
    votes = policy.votes if needs_more_votes(work, policy) else 1
    grounding = [
        deps.reasoner.check_grounding(claims, strips) for _ in range(votes * policy.checks_grounding)
    ]
    usefulness = [
        deps.reasoner.check_usefulness(ask, draft.text) for _ in range(votes * policy.checks_usefulness)
    ]
    judged, useful = await asyncio.gather(asyncio.gather(*grounding), asyncio.gather(*usefulness))
    return list(judged), [vote for vote in useful if vote is not None]


def _supported(text: str, bad: Sequence[Claim], strips: Mapping[int, Strip]) -> str:
    """The draft without its bad claims; cutting may join lines into new ones, which are checked in turn."""
    while bad:
        text = without(text, bad)
        bad = [claim for claim in claims_of(text) if faults_of(claim, strips)]
    return text


def _outvoted(number: int, judged: list[Grounded]) -> bool:
    """Whether at least half of the grounding verdicts name this claim."""
    return bool(judged) and 2 * sum(number in vote.unsupported for vote in judged) >= len(judged)


def _answered(
    state: State, work: Work, draft: Draft, strips: tuple[Strip, ...], *, reason: str | None = None
) -> State:
    work = replace(work, steps=(*work.steps, "verify"))
    return endings.answered(state, work, to_answer(draft, strips), reason)


def _step(name: str, work: Work) -> State:
    return {"work": replace(work, steps=(*work.steps, name))}


def _next(work: Work) -> Literal["generate", "regrade", "propose", "give_up"]:
    return work.next if work.next in ("generate", "regrade", "give_up") else "propose"


def _ranked(hit: Retrieved) -> Ranked:
    passage = hit.passage
    return Ranked(
        source=passage.source,
        location=passage.location,
        score=hit.score,
        start=passage.start,
        end=passage.end,
    )


def _tried_with(work: Work) -> tuple[str, ...]:
    sent = queries_sent(work.proposal) if work.proposal else ()
    return tuple(dict.fromkeys((*work.tried, *sent)))


def _standalone(work: Work) -> str:
    if work.proposal is not None:
        return work.proposal.standalone
    return work.plan.standalone if work.plan else work.question


def _proposal_id(turn_id: str, query: str) -> str:
    """Short enough to type, the same when a killed turn runs again."""
    return "p" + sha256(f"{turn_id}\n{query}".encode()).hexdigest()[:10]

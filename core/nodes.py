"""The graph's nodes: each does one thing and returns what it changed.

Here are those that read the documents, write and check; :mod:`core.web_nodes` has those on the
way to the web. Nodes get their ports through ``Runtime[Deps]``. What follows is decided by the plain
functions of :mod:`core.decisions`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
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
    certainty_of,
    further_queries,
    may_quote,
    needs_more_votes,
    route_of,
)
from core.library.documents import Retrieved
from core.model.plain import without_shaping
from core.policy import Policy
from core.ports import Deps
from core.reasoner import Ask, Draft, Grounded, Strip
from core.speculation import strips_ahead, with_draft, writing_ahead
from core.state import State, Work, proposal_by_id, said_before, with_proposal, with_reopened
from core.steps import ask_of, grade, graded, next_node, step, strips_of
from core.web_nodes import proposal_beside

COMPOSED_IN_VAIN = "What the model wrote did not stand up to its check, so these are quotes."


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
        begun: State = {"work": work, "outcome": None, "proposals": proposals}
        return {**begun, "overheard": turn.overheard} if turn.overheard else begun
    turn = replace(turn, query=turn.query and without_shaping(turn.query))
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
    """Retrieve, and in one round trip plan and grade; write as well, where the library is sure of itself."""
    deps, work = runtime.context, state["work"]
    deps.report(Progress(stage="reading"))
    began = perf_counter()
    limit = max(deps.policy.passages, work.report_passages)
    found = await deps.documents.retrieve(
        work.question,
        limit=limit,
        history=said_before(state, work),
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
    ask = ask_of(state, work)
    async with writing_ahead(deps, ask, work) as writing:
        plan, grades = await asyncio.gather(deps.reasoner.plan(ask), grade(deps, ask, passages))
        work = graded(replace(work, plan=plan), grades)
        work = await with_draft(replace(work, next=after_looking(work, deps.policy)), writing)
    return step("open", work)


def after_open(
    state: State, runtime: Runtime[Deps]
) -> Literal["converse", "clarify", "generate", "verify", "regrade", "propose", "give_up"]:
    work = state["work"]
    route = route_of(work, runtime.context.policy, has_web=runtime.context.web is not None)
    if route == "none":
        return "converse"
    if route == "clarify":
        return "clarify"
    if route == "web":
        return "propose"
    return "verify" if work.is_ahead else next_node(work)


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
    grades = await grade(deps, ask_of(state, work), new)
    # Each retrieval's best has the same score: of two that tie, the one found by the later wording goes first.
    merged = sorted((*new, *work.passages), key=lambda hit: -hit.score)
    work = replace(
        work,
        passages=tuple(merged),
        rewrites=work.rewrites + 1,
        tried=(*work.tried, *queries),
        draft=None,
        is_ahead=False,
    )
    work = graded(work, grades)
    return step("regrade", replace(work, next=after_looking(work, deps.policy)))


def after_regrade(state: State) -> Literal["generate", "regrade", "propose", "give_up"]:
    return next_node(state["work"])


async def generate(state: State, runtime: Runtime[Deps]) -> State:
    """Write a draft from the strips worth reading."""
    deps, work = runtime.context, state["work"]
    deps.report(Progress(stage="writing"))
    strips = strips_of(work, deps.policy)
    draft = await deps.reasoner.write(ask_of(state, work), strips, work.failing)
    return step("generate", replace(work, draft=draft, drafts=work.drafts + 1, is_ahead=False))


async def verify(state: State, runtime: Runtime[Deps]) -> State:
    """Check every claim against its strips, and the draft against the question; drop what fails."""
    deps, work = runtime.context, state["work"]
    strips, draft = _read(work, deps.policy), work.draft or Draft(text="", composed=True, answers=False)
    if not draft.composed:
        certainty = certainty_of(work, deps.policy) if draft.answers else "none"
        if certainty == "none":
            return step("verify", replace(work, next="propose"))
        if certainty == "sure":
            return _answered(state, work, draft, strips)
        first = replace(draft, quotes=draft.quotes[:1])
        work = replace(work, steps=(*work.steps, "verify"))
        return endings.shown(state, work, to_answer(first, strips), proposal_beside(state, work, deps))
    deps.report(Progress(stage="verifying"))
    claims = claims_of(draft.text)
    judged, useful = await _checked(
        deps,
        ask=ask_of(state, work),
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
        telling = strips_of(work, deps.policy)
        quotes = await deps.reasoner.quote(ask_of(state, work), telling)
        return _answered(state, work, quotes, telling, reason=COMPOSED_IN_VAIN)
    return step("verify", work)


def after_verify(state: State) -> Literal["generate", "regrade", "propose", "give_up", "__end__"]:
    return "__end__" if state.get("outcome") else next_node(state["work"])


async def converse(state: State) -> State:
    """Words of conversation that claim nothing."""
    return endings.conversed(state, replace(state["work"], steps=(*state["work"].steps, "converse")))


async def clarify(state: State) -> State:
    """Ask back which reading is meant."""
    return endings.clarify(state, replace(state["work"], steps=(*state["work"].steps, "clarify")))


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


def _read(work: Work, policy: Policy) -> tuple[Strip, ...]:
    """What the draft at hand was written from, under the numbers that it cites."""
    return strips_ahead(work) if work.is_ahead else strips_of(work, policy)


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


def _ranked(hit: Retrieved) -> Ranked:
    passage = hit.passage
    return Ranked(
        source=passage.source,
        location=passage.location,
        score=hit.score,
        start=passage.start,
        end=passage.end,
    )

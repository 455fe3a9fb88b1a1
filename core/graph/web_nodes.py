"""The nodes around a web search: the proposal, the search after an approval, the end after a denial."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256

from langgraph.func import task
from langgraph.runtime import Runtime

from core.characters import as_query
from core.conversation import QUERY_LIMIT, Citation, Decision, Progress, Proposal
from core.errors import SearchTrouble
from core.graph import outcomes
from core.graph.approval import already_decided
from core.graph.asking import ask_of, grade
from core.graph.context import Deps
from core.graph.rights import collections_behind, documents_behind, documents_of
from core.graph.routing import after_looking, may_be_on_web, queries_sent, web_wordings
from core.graph.state import State, Work, context_of, history_before, proposal_by_id, with_proposal
from core.library.confidence import coverage_of
from core.library.documents import Retrieval, Retrieved
from core.text.language import language_of
from core.web.request import WebResearch
from core.wording import Sentence, in_language


async def propose(state: State, runtime: Runtime[Deps]) -> State:
    """Ask a person whether this exact query may go to the web, or end without an answer."""
    deps, work = runtime.context, state["work"]
    if outcomes.is_about_its_files(work):
        return outcomes.end_with_beginning(state, work.with_step("propose"))
    if deps.approval == "never_ask":
        # A grader's words may come from private passages, and no person checks the query.
        work = replace(work, missing="")
    closest = outcomes.closest_of(work, deps.policy)
    work = replace(work.with_step("propose"), next=None)
    wordings = web_wordings(work, deps.policy) if deps.web and not work.has_unread else ()
    if not wordings:
        reason = outcomes.nothing_left(work, has_web=deps.web is not None)
        return outcomes.end_without_answer(state, work, closest, reason)
    reason = outcomes.why_not_enough(work, closest)
    proposal = proposal_of(state, work, deps, wordings, reason, closest=closest)
    known = proposal_by_id(state, proposal.id)
    if known is not None and not known.is_open:  # an old turn ran again: its decision counts
        return outcomes.end_without_answer(state, work, closest, already_decided(known))
    if deps.approval == "never_ask":
        allowed = replace(
            proposal,
            verdict="approve",
            allowed=proposal.query,
            decided_by="the operator",
            decided_at=deps.now(),
        )
        work = replace(work, proposal=allowed, next="web_search")
        return {"work": work, "proposals": with_proposal(state.get("proposals", ()), allowed)}
    return outcomes.end(
        state, work, "(not found in the documents; a web search was proposed)", kind="approval_needed",
        proposal=proposal, closest=closest, reason=proposal.reason,
    )  # fmt: skip


def proposal_of(
    state: State, work: Work, deps: Deps, wordings: tuple[str, ...], reason: str, *,
    closest: tuple[Citation, ...],
) -> Proposal:  # fmt: skip
    """A proposal of the first wording; the others are tried if it is not enough."""
    earlier, turn_id = work.proposal, state["turn"].id
    sent = queries_sent(earlier) if earlier else ()
    standalone = earlier.standalone if earlier else work.plan.standalone if work.plan else work.question
    before = history_before(state, work)
    # Short enough to type, and the same when a killed turn runs again.
    proposal_id = "p" + sha256(f"{turn_id}\n{wordings[0]}".encode()).hexdigest()[:10]
    return Proposal(
        id=proposal_id,
        turn_id=turn_id,
        question=work.question,
        asker=work.asker,
        query=wordings[0],
        wordings=wordings[1:],
        reason=in_language(reason, language_of(work.question)),
        tried=tuple(dict.fromkeys((*work.tried, *sent))),
        closest=closest,
        attempt=(earlier.attempt if earlier else 0) + 1,
        proposed_at=deps.now(),
        sent=sent,
        standalone=standalone,
        sources=work.sources,
        dismissed=tuple(
            name for name, one in work.grades.items() if one.relevance == "incorrect" or one.is_doubted
        ),
        collections=collections_behind(work, before),
        documents=documents_behind(work, before),
        expires_at=deps.now() + deps.proposals_expire if deps.proposals_expire else None,
    )


def propose_beside(
    state: State, work: Work, deps: Deps, reason: str, closest: tuple[Citation, ...] = ()
) -> Proposal | None:
    """A proposal together with an answer that leaves something open; None if no search can be proposed."""
    if deps.web is None or deps.approval == "never_ask" or work.proposal is not None or work.has_unread:
        return None
    if not may_be_on_web(work):
        return None
    wordings = (work.missing, *web_wordings(replace(work, missing=""), deps.policy))
    queries = tuple(dict.fromkeys(query for wording in wordings if (query := as_query(wording, QUERY_LIMIT))))
    if not queries:
        return None
    proposal = proposal_of(state, work, deps, queries, reason, closest=closest)
    known = proposal_by_id(state, proposal.id)
    return proposal if known is None or known.is_open else None


async def web_search(state: State, runtime: Runtime[Deps]) -> State:
    """Search for exactly the query that was allowed, and grade the hits."""
    deps, work = runtime.context, state["work"]
    proposal = work.proposal
    if proposal is None or deps.web is None:
        return outcomes.end_unfinished(state, work, Sentence("web_switched_off"))
    if proposal.allowed is None:  # no route leads here without it; nothing is sent if one ever does
        raise RuntimeError("a search needs a query that was allowed")
    # Of a decision, rights were looked up just now; a question may have been worked on for a while.
    now = deps.documents.collections if isinstance(state["turn"], Decision) else await deps.readable_now()
    if not await may_send(proposal, deps, now):
        return outcomes.end_unfinished(state, work, Sentence("no_longer_readable"))
    deps.report(Progress(stage="searching"))
    question = proposal.standalone or work.question
    documents = deps.documents.retrieve(
        work.question, limit=deps.policy.passages, history=context_of(state, work), within=work.sources
    )
    try:
        hits, found = await asyncio.gather(
            find_on_web(deps.web, proposal.allowed, question, deps.report), documents
        )
    except SearchTrouble as trouble:
        work = work.with_step("web_search")
        if deps.approval == "never_ask":
            return outcomes.end_without_answer(state, work, proposal.closest, trouble.sentence)
        return outcomes.end_unfinished(state, work, trouble.sentence)
    return await _with_hits(state, replace(work, web_coverage=coverage_of(question, hits)), deps, hits, found)


async def _with_hits(
    state: State, work: Work, deps: Deps, hits: tuple[Retrieved, ...], found: Retrieval
) -> State:
    """The work with the hits of a search and the documents' passages beside them, graded."""
    dismissed = work.proposal.dismissed if work.proposal else ()
    # The documents' passages that are read with the hits, without those dismissed before the search.
    joining = found.passages if deps.policy.web_joins else ()
    kept = tuple(hit for hit in joining if hit.passage.id not in dismissed)[: deps.policy.passages // 2]
    deps.report(Progress(stage="checking", count=len(hits)))
    work = replace(
        work, passages=(*hits, *kept), looks={}, weights=dict(found.weights), confidence=found.confidence,
        draft=None, drafts=0, rejected=None,
    )  # fmt: skip
    grades = await grade(deps, ask_of(state, work), work.passages if deps.policy.grades_web else kept)
    work = replace(work, grades={}, sufficient=()).with_grades(grades).with_step("web_search")
    if not hits:
        return {"work": replace(work, next="propose")}
    follows = after_looking(work, deps.policy) if deps.policy.grades_web else "generate"
    return {"work": replace(work, next=follows)}


async def may_send(proposal: Proposal, deps: Deps, readable: frozenset[str]) -> bool:
    """True if all that a query may have words of may be read, where these collections are."""
    if not readable.issuperset(proposal.collections):
        return False
    return not await deps.withdrawn(documents_of(proposal), proposal.collections, readable)


@task
async def find_on_web(
    web: WebResearch, query: str, question: str, report: Callable[[Progress], None]
) -> tuple[Retrieved, ...]:
    """The hits. A task's result is stored at once: after a kill during grading there is no second search."""
    return await web.find(query, question, report)


async def decline(state: State, _: Runtime[Deps]) -> State:
    """A person denied the search: the closest passages; nothing was sent."""
    work = state["work"].with_step("decline")
    closest = work.proposal.closest if work.proposal else ()
    return outcomes.end_without_answer(state, work, closest, Sentence("nothing_sent"))


async def give_up(state: State, runtime: Runtime[Deps]) -> State:
    """The policy goes no further: the closest passages."""
    work = state["work"].with_step("give_up")
    closest = outcomes.closest_of(work, runtime.context.policy)
    return outcomes.end_without_answer(state, work, closest, outcomes.nothing_left(work, has_web=True))

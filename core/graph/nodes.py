"""The nodes that read the documents, write and check; :mod:`core.graph.web_nodes` has the others.

Each returns only what it changes and gets its ports through ``Runtime[Deps]``. The plain functions of
:mod:`core.graph.routing` decide what follows. The routers await nothing; LangGraph would run a plain function in a
thread.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from time import perf_counter

from langgraph.graph import END
from langgraph.runtime import Runtime

from core.characters import without_shaping
from core.conversation import Answer, Decision, Exchange, Progress, Proposal, Question, Ranked
from core.graph import approval, asking, outcomes, routing
from core.graph import state as states
from core.graph.checking import cast_votes, usable
from core.graph.context import Deps
from core.graph.looking import asking_to_search
from core.graph.rights import history_within
from core.graph.state import State, Work
from core.graph.web_nodes import may_send, propose_beside
from core.grounding.calculations import as_written, calculate
from core.grounding.citations import grounding_of, to_answer
from core.grounding.claims import claims_of
from core.grounding.verdicts import Edited, remove_unsupported, rests_on_any, statements_of, verdicts_on
from core.library.documents import Retrieval, Retrieved
from core.reasoning.extractive import quote
from core.reasoning.reasoner import DOCUMENT_ROUTES, Draft, Plan, Rejected, Strips
from core.text.intent import asks_for_calculation, small_talk, with_earlier
from core.wording import Sentence


async def enter(state: State, runtime: Runtime[Deps]) -> State:
    """Begin a turn: fresh work, and for a decision the proposal it is about."""
    turn, proposals = state["turn"], state.get("proposals", ())
    if state.get("outcome") is None:  # the last turn was never finished: its decision can be made again
        proposals = states.with_reopened(proposals, state.get("work", Work()))
    history = await _history(state, runtime.context)
    state = {**state, "proposals": proposals, "history": history}
    if isinstance(turn, Question):
        beside, last = states.subject_of_request(turn), state.get("outcome")
        # The bot asked its author back just before.
        is_awaited = last is not None and last.kind == "clarify" and history[-1].author == turn.author
        work = Work(
            question=beside.text if beside else turn.text, asker=turn.author, report_passages=turn.report_passages,
            sources=turn.sources, is_addressed=turn.is_addressed or is_awaited,
            quoted=() if beside else turn.quoted, attached=turn.attached, has_unread=bool(turn.unread),
        )  # fmt: skip
        update: State = {"work": work, "outcome": None, "proposals": proposals, "history": history}
        return {**update, "thread_context": turn.thread_context} if turn.thread_context else update
    turn = replace(turn, query=turn.query and without_shaping(turn.query))
    proposal = states.proposal_by_id(state, turn.proposal_id)
    if turn.verdict == "expire":
        if proposal is None or not proposal.is_open or proposal.is_open_at(turn.decided_at):
            return {"work": Work(), "outcome": outcomes.unshown(turn)}
        problem = None
    else:
        problem = await _problem_with(turn, proposal, runtime.context)
    if proposal is None or problem:
        failure = outcomes.end_with_failure(state, Work(), problem or "")
        return {**failure, "proposals": proposals, "history": history}
    decided = proposal.with_decision(turn)
    work = Work(
        question=proposal.question, asker=proposal.asker, sources=proposal.sources, tried=proposal.tried,
        proposal=decided,
    )  # fmt: skip
    proposals = states.with_proposal(proposals, decided)
    return {"work": work, "outcome": None, "proposals": proposals, "history": history}


async def _history(state: State, deps: Deps) -> tuple[Exchange, ...]:
    """The thread so far, as far as it may still be read."""
    history, readable = state.get("history", ()), deps.documents.collections
    sources = [source for each in history for source in (*each.sources, *each.documents)]
    behind = frozenset(name for each in history for name in each.collections)
    withdrawn = await deps.withdrawn(sources, behind, readable) if sources else frozenset()
    return history_within(history, readable, withdrawn)


async def _problem_with(turn: Decision, proposal: Proposal | None, deps: Deps) -> str | None:
    """The reason why a decision cannot be carried out, as a sentence."""
    if proposal is None:
        return Sentence("no_such_proposal", id=turn.proposal_id)
    if not approval.may_decide(proposal, turn, approval=deps.approval, approvers=deps.approvers):
        return approval.refusal(proposal, approval=deps.approval)
    if not proposal.is_open_at(turn.decided_at):
        return approval.already_decided(proposal)
    if turn.verdict == "approve" and not await may_send(proposal, deps, deps.documents.collections):
        return Sentence("no_longer_readable")  # its query may have their words
    if turn.verdict == "approve" and deps.web is None:
        return Sentence("web_switched_off")
    return approval.fault_of_query(turn.query)


async def after_enter(state: State) -> str:
    turn = state["turn"]
    if state.get("outcome"):
        return END
    if isinstance(turn, Question):
        return "open"
    return "web_search" if turn.verdict == "approve" else "decline"


async def open_question(state: State, runtime: Runtime[Deps]) -> State:
    """Retrieve, then plan and grade in one round trip; also write, where local confidence is high."""
    deps, work = runtime.context, state["work"]
    if deps.policy.routes and (reply := small_talk(work.question)):  # needs neither the documents nor a model
        plan = Plan(route="none", standalone=work.question, reply=reply)
        return {"work": replace(work, plan=plan).with_step("open")}
    work = await _look_first(state, deps, work)
    passages = work.passages
    deps.report(Progress(stage="checking", count=len(passages)))
    if not work.is_addressed and not routing.may_join(work, deps.policy, state.get("history", ())):
        return outcomes.end_unshown(state, work)
    ask = asking.ask_of(state, work)
    if asks_for_calculation(work.question):  # its numbers may stand in several places
        ask = await asking_to_search(deps, work, ask, passages)
    async with asking.writing_ahead(deps, ask, work) as writing:
        plan, grades = await asyncio.gather(deps.reasoner.plan(ask), asking.grade(deps, ask, passages))
        work = replace(work, plan=plan).with_grades(grades)
        work = replace(work, next=routing.after_looking(work, deps.policy))
        work = await asking.with_draft(work, writing, deps)
    if not work.is_addressed and not routing.is_for_bot(work, deps.policy):
        return outcomes.end_unshown(state, work)
    return {"work": work.with_step("open")}


async def _look_first(state: State, deps: Deps, work: Work) -> Work:
    """The work with the best passages for the question, which is looked for as it is asked."""
    deps.report(Progress(stage="reading"))
    began = perf_counter()
    found = await _look(state, deps, work, max(deps.policy.passages, work.report_passages))
    elapsed = (perf_counter() - began) * 1000
    deps.report(Progress(stage="reading", count=found.searched))
    passages = found.passages[: deps.policy.passages]
    if work.attached:
        passages = await with_beginning(deps, work, passages)
    shown = ((hit.passage, hit.score) for hit in found.passages[: work.report_passages])
    return replace(
        work,
        passages=passages,
        looks=dict.fromkeys((hit.passage.id for hit in passages), 0),
        in_files=found.searched if work.attached else 0,
        weights=dict(found.weights),
        confidence=found.confidence,
        languages=found.languages,
        ranked=tuple(
            Ranked(source=one.source, location=one.location, score=score, start=one.start, end=one.end)
            for one, score in shown
        ),
        retrieve_ms=elapsed,
        tried=(work.question,),
    )


async def _look(state: State, deps: Deps, work: Work, limit: int) -> Retrieval:
    """The best passages, of the question's own files first; after others, where only those surely answer."""
    retrieve = partial(
        deps.documents.retrieve, work.question, limit=limit, history=states.context_of(state, work)
    )
    found = await retrieve(within=work.attached or work.sources)
    if not work.attached or found.confidence >= deps.policy.web_quote_at:
        return found
    everywhere = await retrieve(within=work.sources)
    if everywhere.confidence < deps.policy.quote_at:
        return found
    best = everywhere.passages[: deps.policy.passages // 2]
    known = {hit.passage.id for hit in best}
    rest = (hit for hit in (*found.passages, *everywhere.passages) if hit.passage.id not in known)
    merged = {hit.passage.id: hit for hit in (*best, *rest)}
    return replace(everywhere, passages=tuple(merged.values())[:limit])


async def with_beginning(deps: Deps, work: Work, passages: tuple[Retrieved, ...]) -> tuple[Retrieved, ...]:
    """The passages of a question's own files, and their beginnings: “summarise this” shares no words."""
    room = deps.policy.passages - len(passages)
    if room <= 0:
        return passages
    first = await deps.documents.beginning(work.attached, limit=deps.policy.passages)
    known = {hit.passage.id for hit in passages}
    new = (Retrieved(passage=passage, score=0.0) for passage in first if passage.id not in known)
    return (*passages, *islice(new, room))


async def after_open(state: State, runtime: Runtime[Deps]) -> str:
    if state.get("outcome"):
        return END
    work, deps = state["work"], runtime.context
    route = routing.route_of(work, deps.policy, has_web=deps.web is not None)
    if route in DOCUMENT_ROUTES:
        return "verify" if work.is_ahead else await after(state)
    return {"none": "converse", "clarify": "clarify"}.get(route, "propose")


async def after(state: State) -> str:
    """The next node, as the last one left it in the state."""
    return END if state.get("outcome") else state["work"].next or "propose"


async def generate(state: State, runtime: Runtime[Deps]) -> State:
    """Write a draft from the strips worth reading."""
    deps, work = runtime.context, state["work"]
    deps.report(Progress(stage="writing"))
    strips = asking.strips_of(work, deps.policy)
    hear = deps.early.begin(work, strips, counts=True)
    draft = await deps.reasoner.write(asking.ask_of(state, work), strips, work.rejected, hear)
    draft = draft if draft.composed else deps.early.shown or draft
    return {"work": replace(work, draft=draft, drafts=work.drafts + 1, is_ahead=False).with_step("generate")}


async def verify(state: State, runtime: Runtime[Deps]) -> State:
    """Check the draft. A question that nobody addressed to the bot ends here: with a plain answer, or unshown."""
    update = await _verify(state, runtime.context)
    work = state["work"]
    if work.is_addressed or routing.is_plain_answer(update.get("outcome")):
        return update
    return outcomes.end_unshown(state, work)


async def _verify(state: State, deps: Deps) -> State:
    """Check each claim against its strips, cut what is not supported, and check the rest for usefulness."""
    work = state["work"]
    # With the numbers by which the draft cites them.
    strips = asking.strips_ahead(work) if work.is_ahead else asking.strips_of(work, deps.policy)
    draft = work.draft or Draft(text="", composed=True, answers=False)
    if not draft.composed:
        return _answer_with_quotes(state, deps, work, draft, strips)
    deps.report(Progress(stage="verifying"))
    ask = asking.ask_of(state, work)
    text, calculations = calculate(draft.text, strips, with_earlier(ask.question, ask.history))
    claims = claims_of(text) if draft.answers else ()
    rests = rests_on_any(claims, strips)
    if oddity := routing.oddity_to_mend(work, deps.policy, draft, rests_on_any=rests):
        work = replace(work, rejected=Rejected(failing=(), standing=draft.text, oddity=oddity))
        return {"work": replace(work, next="generate").with_step("verify")}
    if draft.answers and not rests:  # no judge is needed to cut all of it
        return _answer_with_quotes(state, deps, work, quote(ask, strips), strips)
    statements = statements_of(claims, strips, calculations)
    votes, useful = await cast_votes(deps.early, ask, work, text, statements=statements, strips=strips)
    kept = remove_unsupported(text, verdicts_on(statements, votes), strips) if statements else Edited(text="")
    if kept.text and (kept.left_out or not useful) and deps.policy.checks_usefulness:
        useful = usable([await deps.reasoner.check_usefulness(ask, kept.text)])
    deps.tracer.note_check(work, strips, statements, votes=votes, useful=useful, left_out=kept.left_out)
    rejected = Rejected(failing=kept.left_out, standing=as_written(kept.text, calculations))
    work = replace(work, rejected=rejected if kept.left_out else None)
    work, leaves_open = routing.apply_check(work, deps.policy, kept, votes, useful)
    if work.next == "answer":
        figures = [each.shown for each in calculations]
        return _answer_with_draft(state, deps, work, kept, strips, figures=figures, leaves_open=leaves_open)
    may_quote_instead = work.next == "propose" and not kept.text and draft.answers and deps.policy.weights
    if may_quote_instead and routing.certainty_of(work, deps.policy) == "sure":
        strips = asking.strips_of(work, deps.policy)
        quotes = to_answer(quote(ask, strips), strips)
        return outcomes.end_with_answer(state, work, quotes, Sentence("composed_in_vain"))
    return {"work": work}


def _answer_with_quotes(state: State, deps: Deps, work: Work, draft: Draft, strips: Strips) -> State:
    """Answer with quotes; or, when unsure, with the first of them and a proposed search."""
    certainty = routing.certainty_of(work, deps.policy) if draft.answers else "none"
    if certainty == "none":
        return {"work": replace(work, next="propose").with_step("verify")}
    work = work.with_step("verify")
    if certainty == "sure":
        return outcomes.end_with_answer(state, work, to_answer(draft, strips))
    closest = outcomes.closest_of(work, deps.policy)
    reason = outcomes.why_not_enough(work, closest)
    beside = None if outcomes.is_about_its_files(work) else propose_beside(state, work, deps, reason, closest)
    shown = 2 if draft.is_newer_first else 1  # with what an older document says otherwise
    answer = replace(to_answer(replace(draft, quotes=draft.quotes[:shown]), strips), is_sure=False)
    return outcomes.end_with_answer(state, work, answer, reason if beside else None, beside)


def _answer_with_draft(
    state: State, deps: Deps, work: Work, kept: Edited, strips: Strips, *, figures: Sequence[str], leaves_open: bool,
) -> State:  # fmt: skip
    """Answer with the supported part of a draft, what was left out, and a search for what is missing."""
    missing = ""
    if leaves_open:  # in the grader's words, or else what the plan would search for
        planned = work.plan.web_query or work.plan.standalone if work.plan else work.question
        missing = work.missing or planned
    draft = Draft(text=kept.text, composed=True)
    answer = replace(
        to_answer(draft, strips, kept.stated, kept.unsettled, figures),
        left_out=kept.left_out,
        missing=missing,
    )
    reason = Sentence("missing_in_documents", missing=missing.rstrip(" .?!"))
    beside = propose_beside(state, work, deps, reason) if missing else None
    trouble = deps.reasoner.trouble if work.draft and work.draft.is_cut_off else None
    remark = trouble or outcomes.what_was_not_read(work, deps.policy)
    return outcomes.end_with_answer(state, work, answer, remark, beside)


async def converse(state: State, _: Runtime[Deps]) -> State:
    """Reply to small talk, which claims nothing: an answer without footnotes, whose grounding says so."""
    work = state["work"].with_step("converse")
    reply = work.plan.reply if work.plan else ""
    answer = Answer(text=reply, citations=(), grounding=grounding_of(()), composed=True)
    # It asked nothing of its files.
    return outcomes.end(state, work, reply, kind="answered", answer=answer, unread=())


async def clarify(state: State, _: Runtime[Deps]) -> State:
    """Ask which reading is meant."""
    work = state["work"].with_step("clarify")
    question, options = (work.plan.reply, work.plan.options) if work.plan else ("", ())
    names_all = bool(options) and all(option.casefold() in question.casefold() for option in options)
    asked = None if names_all else question  # the readings stand below it in any case
    return outcomes.end(
        state, work, f"(asked back: {question})", kind="clarify", reason=asked, options=options
    )

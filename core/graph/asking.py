"""The requests of the nodes to the reasoner: grades, and drafts, one of them ahead of its grades."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import PurePath

from core.conversation import Usage
from core.errors import ModelTrouble
from core.graph.context import Deps
from core.graph.policy import Policy
from core.graph.routing import route_of, surviving
from core.graph.state import State, Work, history_before
from core.grounding.claims import claims_of
from core.grounding.strips import refine
from core.library.documents import Retrieved
from core.reasoning.reasoner import DOCUMENT_ROUTES, Ask, Draft, Grades, Strips
from core.text.language import language_of

AROUND = 1  # sentences on each side of the evidence that a composing writer reads too
#: Quoting is local and needs the grades' evidence: a draft ahead of them gains nothing.
NO_MODEL = Usage().name


def ask_of(state: State, work: Work) -> Ask:
    """The question with its history and what the retrieval said of it."""
    return Ask(
        question=work.question,
        history=history_before(state, work),
        thread_context=state.get("thread_context", ()),
        quoted=work.quoted,
        confidence=work.confidence,
        weights=work.weights,
        languages=work.languages,
        is_addressed=work.is_addressed,
        files=tuple(PurePath(address).name for address in work.attached),
    )


async def grade(deps: Deps, ask: Ask, passages: tuple[Retrieved, ...]) -> Grades:
    """Verdicts on passages. That documents dispute what a person answered is noted for who reviews it."""
    if not passages:
        return Grades()
    grades = await deps.reasoner.grade(ask, passages)
    sources = {hit.passage.id: hit.passage.source for hit in passages}
    for answer, others in grades.disputed.items():
        await deps.note_dispute(sources[answer], [sources[other] for other in others])
    return grades


def strips_of(work: Work, policy: Policy) -> Strips:
    """The strips that the writer reads. Deterministic, so that the checkpoint need not hold them."""
    around = AROUND if work.sufficient else 0
    whole = not policy.refines and bool(work.sufficient)
    return refine(work.passages, surviving(work, policy), around=around, whole=whole)


def strips_ahead(work: Work) -> Strips:
    """Whole passages as numbered before grading; later without the incorrect ones, so numbers may have gaps."""
    strips = refine(work.passages, {}, around=0, whole=True)
    return tuple(strip for strip in strips if work.relevance_of(strip.retrieved) != "incorrect")


def may_pay(work: Work, deps: Deps) -> bool:
    """True if a draft ahead of its grades will probably be kept. Where local confidence is high, waiting for
    the grades costs a round trip and rarely changes it."""
    if deps.reasoner.usage.name == NO_MODEL or not work.is_addressed or not work.passages:
        return False
    is_in_language = not work.languages or language_of(work.question) in work.languages
    return is_in_language and work.confidence >= deps.policy.speculate_at


@asynccontextmanager
async def writing_ahead(deps: Deps, ask: Ask, work: Work) -> AsyncIterator[asyncio.Future[Draft] | None]:
    """A draft that is written while the block plans and grades; cancelled if unfinished at its end."""
    if not may_pay(work, deps):
        yield None
        return
    strips = strips_ahead(work)
    hear = deps.early.begin(work, strips, counts=False)
    writing = asyncio.ensure_future(deps.reasoner.write(ask, strips, None, hear))
    try:
        yield writing
    finally:
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)


async def with_draft(work: Work, writing: asyncio.Future[Draft] | None, deps: Deps) -> Work:
    """The graded work, with the draft ahead if it is kept; one that cannot be kept is not awaited."""
    if writing is None or work.next != "generate":
        return work
    if route_of(work, deps.policy, has_web=deps.web is not None) in DOCUMENT_ROUTES:
        deps.early.count(work, strips_ahead(work))
    try:
        draft = await writing
        draft = draft if draft.composed else deps.early.shown or draft
    except ModelTrouble:  # the node "generate" writes again and reports the trouble
        return work
    return replace(work, draft=draft, drafts=1, is_ahead=True) if is_confirmed(work, draft) else work


def is_confirmed(work: Work, draft: Draft) -> bool:
    """True if the grades say that it is enough, and the draft cites no incorrect passage."""
    cited = {number for claim in claims_of(draft.text) for number in claim.cited}
    remaining = {strip.number for strip in strips_ahead(work)}
    return work.next == "generate" and draft.composed and draft.answers and bool(cited) and cited <= remaining

"""A draft written ahead: beside plan and grades, from passages that nobody has judged yet.

Where the library is sure that its documents answer, waiting for the grades before writing
costs a round trip and seldom changes what is written. The draft is kept when the grades
bear out what it cites, and then checked like any other; else it is dropped.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from core.conversation import Usage
from core.errors import ModelTrouble
from core.graph.context import Deps
from core.graph.state import Work
from core.grounding.claims import claims_of
from core.grounding.strips import refine
from core.reasoning.reasoner import Ask, Draft, Strip

NO_MODEL = Usage().name  # quoting is local and wants the grades' evidence: nothing is gained ahead


def is_worth_it(work: Work, deps: Deps) -> bool:
    """Whether a draft ahead of the grades will probably be kept."""
    has_model = deps.reasoner.usage.name != NO_MODEL
    return has_model and bool(work.passages) and work.confidence >= deps.policy.speculate_at


def strips_ahead(work: Work) -> tuple[Strip, ...]:
    """Whole passages, numbered before they were graded; once they are, without the incorrect ones.

    Numbers stay what the writer saw, so that they may have gaps.
    """
    everything = refine(work.passages, {}, around=0, whole=True)
    return tuple(strip for strip in everything if not _is_incorrect(strip, work))


def is_borne_out(work: Work, draft: Draft) -> bool:
    """Whether the grades found enough, and nothing incorrect among what the draft cites."""
    cited = {number for claim in claims_of(draft.text) for number in claim.cited}
    standing = {strip.number for strip in strips_ahead(work)}
    return work.next == "generate" and draft.composed and draft.answers and bool(cited) and cited <= standing


@asynccontextmanager
async def writing_ahead(deps: Deps, ask: Ask, work: Work) -> AsyncIterator[asyncio.Future[Draft] | None]:
    """The draft, in the making while the block runs; what is not done by its end is called off."""
    if not is_worth_it(work, deps):
        yield None
        return
    writing = asyncio.ensure_future(deps.reasoner.write(ask, strips_ahead(work)))
    try:
        yield writing
    finally:
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)


async def with_draft(work: Work, writing: asyncio.Future[Draft] | None) -> Work:
    """The graded work, with the draft written ahead if it may be kept; not awaited when it may not."""
    if writing is None or work.next != "generate":
        return work
    try:
        draft = await writing
    except ModelTrouble:  # it is written again in its turn, and what troubles the model is told then
        return work
    return replace(work, draft=draft, drafts=1, is_ahead=True) if is_borne_out(work, draft) else work


def _is_incorrect(strip: Strip, work: Work) -> bool:
    grade = work.grades.get(strip.retrieved.passage.id)
    return grade is not None and grade.relevance == "incorrect"

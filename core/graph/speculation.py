"""A speculative draft, written in parallel with plan and grades from passages not graded yet.

Where local confidence is high, waiting for the grades costs a round trip and seldom changes the
draft. It is kept when the grades confirm what it cites, and then checked like any other.
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
from core.text.language import language_of

NO_MODEL = Usage().name  # quoting is local and needs the grades' evidence: speculation gains nothing


def may_pay(work: Work, deps: Deps) -> bool:
    """True if a speculative draft will probably be kept."""
    has_model = deps.reasoner.usage.name != NO_MODEL
    is_in_language = not work.languages or language_of(work.question) in work.languages
    return (
        has_model
        and work.is_addressed
        and is_in_language
        and bool(work.passages)
        and work.confidence >= deps.policy.speculate_at
    )


def strips_ahead(work: Work) -> tuple[Strip, ...]:
    """Whole passages as numbered before grading; later without the incorrect ones, so numbers may have gaps."""
    strips = refine(work.passages, {}, around=0, whole=True)
    return tuple(strip for strip in strips if not _is_incorrect(strip, work))


def is_confirmed(work: Work, draft: Draft) -> bool:
    """True if the grades say that it is enough, and the draft cites no incorrect passage."""
    cited = {number for claim in claims_of(draft.text) for number in claim.cited}
    remaining = {strip.number for strip in strips_ahead(work)}
    return work.next == "generate" and draft.composed and draft.answers and bool(cited) and cited <= remaining


@asynccontextmanager
async def writing_ahead(deps: Deps, ask: Ask, work: Work) -> AsyncIterator[asyncio.Future[Draft] | None]:
    """A draft that is written while the block runs; cancelled if unfinished at its end."""
    if not may_pay(work, deps):
        yield None
        return
    writing = asyncio.ensure_future(deps.reasoner.write(ask, strips_ahead(work)))
    try:
        yield writing
    finally:
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)


async def with_draft(work: Work, writing: asyncio.Future[Draft] | None) -> Work:
    """The graded work, with the speculative draft if it is kept; a draft that cannot be kept is not awaited."""
    if writing is None or work.next != "generate":
        return work
    try:
        draft = await writing
    except ModelTrouble:  # the node "generate" writes again and reports the trouble
        return work
    return replace(work, draft=draft, drafts=1, is_ahead=True) if is_confirmed(work, draft) else work


def _is_incorrect(strip: Strip, work: Work) -> bool:
    grade = work.grades.get(strip.retrieved.passage.id)
    return grade is not None and grade.relevance == "incorrect"

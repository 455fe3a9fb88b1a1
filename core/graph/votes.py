"""Inputs of the reasoner, the passages to grade and the strips, and the votes of the judges on a draft."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import PurePath

from core.graph.context import Deps
from core.graph.policy import Policy
from core.graph.routing import grounding_votes, strips_for, surviving, useful_votes
from core.graph.state import State, Work, history_before
from core.grounding.strips import refine
from core.grounding.verdicts import are_settled
from core.library.documents import Retrieved
from core.reasoning.reasoner import Ask, Draft, Grades, Grounded, Statement, Strip

AT_ONCE = 2  #: grounding votes; a third one decides nothing where two agree


async def cast_votes(
    deps: Deps,
    ask: Ask,
    *,
    work: Work,
    draft: Draft,
    statements: tuple[Statement, ...],
    strips: tuple[Strip, ...],
) -> tuple[list[Grounded], list[bool]]:
    """Grounding and usefulness votes, side by side; a further grounding vote only where it can change a verdict. A
    sentence with a figure that could not be computed is shown to no judge: every vote is against it.
    """
    faults = {each.number: each.fault for each in statements if each.fault}
    statements = tuple(each for each in statements if each.number not in faults)
    if not statements:
        return [_with_faults(Grounded(judged=()), faults)] if faults else [], []

    async def judge(ballot: int) -> Grounded:
        behind = strips_for(ballot, statements, strips)
        return await deps.reasoner.check_grounding(statements, behind, ballot)

    ballots = range(grounding_votes(deps.policy))
    usefulness = [
        deps.reasoner.check_usefulness(ask, draft.text) for _ in range(useful_votes(work, deps.policy))
    ]
    needs_all = any(each.is_apart for each in statements)  # there one vote of three can reject
    first = len(ballots) if needs_all else AT_ONCE
    cast, useful = await asyncio.gather(
        asyncio.gather(*map(judge, ballots[:first])), asyncio.gather(*usefulness)
    )
    grounded = list(cast)
    if not are_settled(statements, grounded):
        grounded += await asyncio.gather(*map(judge, ballots[first:]))
    return [_with_faults(vote, faults) for vote in grounded], usable(useful)


def _with_faults(vote: Grounded, faults: Mapping[int, str]) -> Grounded:
    return replace(
        vote,
        judged=tuple(sorted((*vote.judged, *faults))),
        unsupported=(*vote.unsupported, *faults),
        lacking={**vote.lacking, **faults},
    )


def usable(votes: Iterable[bool | None]) -> list[bool]:
    return [vote for vote in votes if vote is not None]


AROUND = 1  # sentences on each side of the evidence that a composing writer reads too


def ask_of(state: State, work: Work) -> Ask:
    """The question with its history and what the retrieval said of it."""
    return Ask(
        question=work.question,
        history=history_before(state.get("history", ()), work),
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


def strips_of(work: Work, policy: Policy) -> tuple[Strip, ...]:
    """The strips that the writer reads. Deterministic, so that the checkpoint need not hold them."""
    around = AROUND if work.sufficient else 0
    whole = not policy.refines and bool(work.sufficient)
    return refine(work.passages, surviving(work, policy), around=around, whole=whole)

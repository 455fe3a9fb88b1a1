"""The votes of the judges on a draft."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from core.graph.context import Deps
from core.graph.routing import grounding_votes, strips_for, useful_votes
from core.graph.state import Work
from core.grounding.verdicts import are_settled
from core.reasoning.reasoner import Ask, Draft, Grounded, Statement, Strip

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
    """Grounding and usefulness votes, side by side; a further grounding vote only where it can change a verdict."""
    if not statements:
        return [], []

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
    return grounded, usable(useful)


def usable(votes: Iterable[bool | None]) -> list[bool]:
    return [vote for vote in votes if vote is not None]

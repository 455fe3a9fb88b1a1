"""What the nodes give the reasoner: the question, the passages to grade, the strips to write from."""

from __future__ import annotations

from pathlib import PurePath

from core.graph.context import Deps
from core.graph.policy import Policy
from core.graph.routing import surviving
from core.graph.state import State, Work, history_before
from core.grounding.strips import refine
from core.library.documents import Retrieved
from core.reasoning.reasoner import Ask, Grades, Strip

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
    """What the writer reads. Deterministic, so that the checkpoint need not hold it."""
    around = AROUND if work.sufficient else 0
    whole = not policy.refines and bool(work.sufficient)
    return refine(work.passages, surviving(work, policy), around=around, whole=whole)

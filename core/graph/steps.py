"""What the nodes share: the question as it is put to the reasoner, grades, and the step to the next node."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from core.graph.context import Deps
from core.graph.policy import Policy
from core.graph.routing import surviving
from core.graph.state import State, Work, history_before
from core.grounding.strips import refine
from core.library.documents import Retrieved
from core.reasoning.reasoner import Ask, Grades, Strip
from core.text.language import language_of

LANGUAGES_READ = 4  # best passages whose languages further searches are put in
AROUND = 1  # sentences on each side of the evidence that a composing writer reads too


def strips_of(work: Work, policy: Policy) -> tuple[Strip, ...]:
    """What the writer reads. Deterministic, so that it need not be kept in the checkpoint."""
    around = AROUND if work.sufficient else 0
    return refine(
        work.passages,
        surviving(work, policy),
        around=around,
        whole=not policy.refines and bool(work.sufficient),
    )


def ask_of(state: State, work: Work) -> Ask:
    history = history_before(state.get("history", ()), work)
    return Ask(
        question=work.question,
        history=history,
        thread_context=state.get("thread_context", ()),
        confidence=work.confidence,
        weights=work.weights,
        languages=_other_languages(work),
    )


def _other_languages(work: Work) -> tuple[str, ...]:
    """Languages of the best passages, without the question's own."""
    found = (language_of(hit.passage.text) for hit in work.passages[:LANGUAGES_READ])
    return tuple(dict.fromkeys(name for name in found if name != language_of(work.question)))


async def grade(deps: Deps, ask: Ask, passages: tuple[Retrieved, ...]) -> Grades:
    return await deps.reasoner.grade(ask, passages) if passages else Grades()


def graded(work: Work, grades: Grades) -> Work:
    votes = () if grades.sufficient is None else (grades.sufficient,)
    return replace(
        work,
        grades={**work.grades, **grades.of},
        sufficient=votes or work.sufficient,
        missing=grades.missing,
    )


def step(name: str, work: Work) -> State:
    return {"work": replace(work, steps=(*work.steps, name))}


def next_node(work: Work) -> Literal["generate", "regrade", "propose", "give_up"]:
    return work.next if work.next in ("generate", "regrade", "give_up") else "propose"

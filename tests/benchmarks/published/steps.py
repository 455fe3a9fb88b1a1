"""The state and the nodes that the published graphs have in common."""

from __future__ import annotations

from typing import TypedDict

from langgraph.runtime import Runtime

from benchmarks.fallible import Script, ScriptedDraft

PASSAGES = 4  # retrieved for each question


class State(TypedDict, total=False):
    """One question on its way."""

    rewrites: int  #: of the question as it is looked for now
    documents: tuple[str, ...]
    has_irrelevant: bool
    share: float  #: of relevant passages among those graded
    draft: ScriptedDraft | None
    attempts: int


def wording(state: State, script: Script) -> str:
    """The question as it is looked for now; a rewriter that is given its own last words repeats them."""
    wordings = script.question.wordings
    return wordings[min(state.get("rewrites", 0), len(wordings) - 1)]


async def retrieve(state: State, runtime: Runtime[Script]) -> State:
    found = runtime.context.find(wording(state, runtime.context)).passages[:PASSAGES]
    return {"documents": tuple(hit.passage.text for hit in found)}


async def grade(state: State, runtime: Runtime[Script]) -> State:
    """One call for each passage; the irrelevant ones are dropped."""
    script, documents = runtime.context, state.get("documents", ())
    kept = [text for text in documents if await script.call(script.finds_relevant(text))]
    share = len(kept) / len(documents) if documents else 0.0
    return {"documents": tuple(kept), "share": share, "has_irrelevant": len(kept) < len(documents)}


async def rewrite(state: State, runtime: Runtime[Script]) -> State:
    return {"rewrites": await runtime.context.call(state.get("rewrites", 0) + 1)}


async def generate(state: State, runtime: Runtime[Script]) -> State:
    script, documents = runtime.context, state.get("documents", ())
    return {
        "draft": await script.call(script.writes(documents, has_answer=script.question.gold in documents))
    }


async def is_grounded(state: State, script: Script) -> bool:
    return await script.call(script.finds_grounded(draft_of(state)))


async def is_useful(state: State, script: Script) -> bool:
    return await script.call(script.finds_useful(draft_of(state)))


async def routes_to_documents(script: Script) -> bool:
    return await script.call(script.routes_to_documents())


def draft_of(state: State) -> ScriptedDraft:
    draft = state.get("draft")
    assert draft is not None, "checked before it was written"
    return draft

"""A further look into the documents: in other words, around what helped, and where a judge asks to look.

New passages never lower the worth of old ones: what was found correct stays so and ahead of the rest, and what
was enough to answer from stays enough, unless nothing of a draft stood.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice, zip_longest

from langgraph.runtime import Runtime

from core.conversation import Progress
from core.graph.asking import NO_MODEL, ask_of, grade
from core.graph.context import Deps
from core.graph.routing import after_looking, queries_to_try, steps_to_make
from core.graph.state import State, Work
from core.library.contents import holding, in_section, on_page
from core.library.documents import Passage, Retrieved, is_kept
from core.reasoning.reasoner import Ask, Grades, SearchStep
from core.text.terms import query_terms, terms

BESIDE = 0.5  # score of a neighbour of a passage that helped, next to the best of a retrieval
ASKED = 1.0  # of what a judge asked for: it goes before what the judge had seen
SAME = 0.85  # share of the terms of both that two passages have in common, if one repeats the other
LISTED = 4  # documents whose sections a judge is shown


async def regrade(state: State, runtime: Runtime[Deps]) -> State:
    """Look in new wordings, around what helped and where the last judge asked, and grade what that finds."""
    deps, work = runtime.context, state["work"]
    queries, steps = queries_to_try(work, deps.policy), steps_to_make(work, deps.policy)
    helped, limit = helpful(work), deps.policy.passages
    found, around, by_step = await asyncio.gather(
        asyncio.gather(*(deps.documents.retrieve(q, limit=limit, within=work.sources) for q in queries)),
        deps.documents.neighbours([hit.passage for hit in helped], work.sources),
        asyncio.gather(*(_take_step(deps, work, step, limit) for step in steps)),
    )
    new = unseen(work, [hit for each in found for hit in each.passages], around, limit)
    new = in_turn(work, by_step, new, limit + limit // 2 if steps else limit)
    deps.report(Progress(stage="checking", count=len(new)))
    judged = (*new, *helped) if deps.policy.weights is not None else new
    made = (f"{step.kind}: {step} – {len(hits)} passages" for step, hits in zip(steps, by_step, strict=True))
    work = replace(work, search_steps=(), steps_made=(*work.steps_made, *made))
    ask = await asking_to_search(deps, work, ask_of(state, work), (*helped, *new))
    grades = await grade(deps, ask, judged if new else ())
    surest = max(found, key=lambda each: each.confidence, default=None)
    if work.attached and surest is not None and surest.confidence > work.confidence:
        # The question's own files, looked into first, say less than the rest: that decides.
        work = replace(work, confidence=surest.confidence, weights=dict(surest.weights), attached=())
    work = replace(
        with_further(work, new, grades), rewrites=work.rewrites + 1, draft=None, is_ahead=False,
        tried=(*work.tried, *queries, *map(str, steps)),
    )  # fmt: skip
    return {"work": replace(work, next=after_looking(work, deps.policy)).with_step("regrade")}


async def asking_to_search(deps: Deps, work: Work, ask: Ask, hits: Sequence[Retrieved]) -> Ask:
    """The question with the documents in which a judge may ask to search, those of the best passages first."""
    left = deps.policy.search_steps - len(work.steps_made)
    if left <= 0 or deps.reasoner.usage.name == NO_MODEL:
        return ask
    passages = (hit.passage for hit in hits)
    known = [each for each in passages if each.origin == "documents" and not is_kept(each.source)]
    contents = await deps.documents.contents(known, work.sources, limit=LISTED)
    return replace(ask, contents=tuple(contents), steps_left=left, steps_made=work.steps_made)


async def _take_step(deps: Deps, work: Work, step: SearchStep, limit: int) -> list[Retrieved]:
    """The passages that a step finds, best first."""
    if step.kind == "search":
        within = (step.address,) if step.address else work.sources
        found = (await deps.documents.retrieve(step.words, limit=limit, within=within)).passages
        return [hit for hit in found if hit.passage.source == step.source or not step.address]
    passages = await deps.documents.reading(step.address)
    # Of a long document it takes a second or two, in which others must go on.
    return await asyncio.to_thread(pick_passages, work, step, passages, limit)


def pick_passages(work: Work, step: SearchStep, passages: Sequence[Passage], limit: int) -> list[Retrieved]:
    """The passages of a document that a step opens or finds. Those with the most words of the question come
    first."""
    if step.kind == "find":
        chosen = holding(passages, step.words)
    else:
        chosen = in_section(passages, step.path) if step.page is None else on_page(passages, step.page)
    asked = frozenset(query_terms(f"{work.question} {work.missing}"))
    shared = {each.id: len(asked & set(terms(each.text))) for each in chosen}
    best = sorted(chosen, key=lambda each: -shared[each.id])[:limit]
    return [Retrieved(passage=each, score=ASKED) for each in best]


def in_turn(
    work: Work, by_step: Sequence[Sequence[Retrieved]], others: Sequence[Retrieved], limit: int
) -> tuple[Retrieved, ...]:
    """The passages not graded yet that steps found, each step's best first, then others."""
    known = {hit.passage.id for hit in work.passages}
    dealt = (hit for hit in chain.from_iterable(zip_longest(*by_step)) if hit is not None)
    new = {hit.passage.id: hit for hit in (*dealt, *others) if hit.passage.id not in known}
    return tuple(islice(new.values(), limit))


def helpful(work: Work) -> tuple[Retrieved, ...]:
    """The documents' passages that were not graded incorrect."""
    graded = (hit for hit in work.passages if work.relevance_of(hit) in ("correct", "ambiguous"))
    return tuple(hit for hit in graded if hit.passage.origin == "documents")


def unseen(
    work: Work, found: Iterable[Retrieved], around: Sequence[Passage], limit: int
) -> tuple[Retrieved, ...]:
    """Passages not graded yet: half of them neighbours of correct ones, then the best; no repeats."""
    known = {hit.passage.id for hit in work.passages}
    hits = {hit.passage.id: hit for hit in sorted(found, key=lambda hit: hit.score)}
    beside = (Retrieved(passage=passage, score=BESIDE) for passage in around if passage.id not in hits)
    new = [hit for hit in (*hits.values(), *beside) if hit.passage.id not in known]
    new.sort(key=lambda hit: -hit.score)
    near = _near(work, [hit for hit in new if hit.passage.id in {each.id for each in around}])
    ordered = {hit.passage.id: hit for hit in (*near[: limit // 2], *new)}
    return tuple(islice(_without_repeats(work, ordered.values()), limit))


def with_further(work: Work, new: Sequence[Retrieved], grades: Grades) -> Work:
    """The work with the passages of a further look and their verdicts. Without new ones the last stand."""
    held, was_enough = work.holds_correct, any(work.sufficient)
    has_missed = bool(work.drafts) or not (held or was_enough)
    ranked = [hit.passage.id for hit in sorted(new, key=lambda hit: -hit.score)]
    looks = {**work.looks, **dict.fromkeys(ranked, work.rewrites + 1)}
    work = replace(work, looks=looks, missed=work.missed + has_missed)
    work = work.with_grades(grades) if new else work
    # The best of each retrieval has the same score; in a tie the later wording goes first.
    merged = sorted((*new, *work.passages), key=lambda hit: (work.relevance_of(hit) != "correct", -hit.score))
    sufficient = (True,) if held and was_enough and not work.drafts else work.sufficient
    return replace(work, passages=tuple(merged), sufficient=sufficient)


def _near(work: Work, beside: Iterable[Retrieved]) -> list[Retrieved]:
    """The passages in the documents of correct ones, the nearest first."""
    correct: dict[tuple[str, str], list[int]] = {}
    for hit in work.passages:
        if work.relevance_of(hit) == "correct":
            correct.setdefault(_document(hit), []).append(hit.passage.start)
    near = [hit for hit in beside if _document(hit) in correct]
    return sorted(near, key=lambda hit: min(abs(at - hit.passage.start) for at in correct[_document(hit)]))


def _document(hit: Retrieved) -> tuple[str, str]:
    return hit.passage.collection, hit.passage.source


def _without_repeats(work: Work, hits: Iterable[Retrieved]) -> Iterator[Retrieved]:
    """The passages without repeats. Those that repeat another one with a new number or a word that was asked
    for come last."""
    asked = set(query_terms(" ".join((work.question, *work.tried))))
    seen = [frozenset(terms(hit.passage.text)) for hit in work.passages]
    later: list[Retrieved] = []
    for hit in hits:
        words = frozenset(terms(hit.passage.text))
        same = next((each for each in seen if len(words & each) >= SAME * len(words | each)), None)
        if same is None:
            seen.append(words)
            yield hit
        elif any(word in asked or not word.isalpha() for word in words - same):
            later.append(hit)
    yield from later

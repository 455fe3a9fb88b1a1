"""Work beside a turn's first look: a further look into the documents, and a draft written ahead.

Where local confidence is high, waiting for the grades costs a round trip and seldom changes the
draft. It is kept when the grades confirm what it cites, and then checked like any other.

New passages never lower the worth of old ones: what was found correct stays so and ahead of the rest, and what
was enough to answer from stays enough, unless nothing of a draft stood.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import islice

from core.conversation import Usage
from core.errors import ModelTrouble
from core.graph.context import Deps
from core.graph.state import Work
from core.grounding.claims import claims_of
from core.grounding.strips import refine
from core.library.documents import Passage, Retrieved
from core.reasoning.reasoner import Ask, Draft, Grades, Strip
from core.text.language import language_of
from core.text.terms import query_terms, terms

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


BESIDE = 0.5  # score of a neighbour of a passage that helped, next to the best of a retrieval
SAME = 0.85  # share of the terms of both that two passages have in common, if one repeats the other


def helpful(work: Work) -> tuple[Retrieved, ...]:
    """The documents' passages that were not graded incorrect."""
    return tuple(
        hit
        for hit in work.passages
        if hit.passage.origin == "documents" and work.relevance_of(hit) in ("correct", "ambiguous")
    )


def unseen(
    work: Work, found: Iterable[Retrieved], around: Sequence[Passage], limit: int
) -> tuple[Retrieved, ...]:
    """Passages not graded yet: neighbours of correct ones in half of the places, then what ranks best; what says
    the same counts once."""
    known = {hit.passage.id for hit in work.passages}
    hits = {hit.passage.id: hit for hit in sorted(found, key=lambda hit: hit.score)}
    beside = (Retrieved(passage=passage, score=BESIDE) for passage in around if passage.id not in hits)
    new = [hit for hit in (*hits.values(), *beside) if hit.passage.id not in known]
    new.sort(key=lambda hit: -hit.score)
    near = _near(work, [hit for hit in new if hit.passage.id in {each.id for each in around}])
    ordered = {hit.passage.id: hit for hit in (*near[: limit // 2], *new)}
    return tuple(islice(_without_repeats(work, ordered.values()), limit))


def with_further(work: Work, new: Sequence[Retrieved], grades: Grades) -> Work:
    """The work with the passages of a further look and the verdicts on them; without new ones the last stand."""
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
    """The passages, those last that say the same as one before them with another number or a word that was asked
    for; without those that add neither."""
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

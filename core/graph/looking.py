"""A further look into the documents: which passages are graded, and what the turn knows afterwards.

New passages never lower the worth of old ones: what was found correct stays so and ahead of the rest, and what
was enough to answer from stays enough, unless nothing of a draft stood.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from core.graph.state import Work
from core.library.documents import Passage, Retrieved
from core.reasoning.reasoner import Grades
from core.text.terms import query_terms, terms

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

"""Of passages that say the same, the one whose document was changed last goes first.

Two editions of a handbook answer a question equally well, and one of them is out of date. Only documents whose dates
are known are compared, and only passages that share most of their words: everything else keeps its rank. What people
answered is compared with what others answered to the same question, in whatever words.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

from core.library.documents import Passage
from core.library.sameness import are_same, question_of

SAME = 0.6  # share of the terms of both that two passages have in common, if they are about the same

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dated:
    """What a passage is compared by."""

    document: str  #: the same for the passages of one document
    terms: frozenset[str]
    day: str  #: of its document's last change, ISO 8601, and of a person's answer the moment; empty: unknown
    score: float = 1.0
    question: str = ""  #: that a person answered; empty: it is no person's answer

    @classmethod
    def of(cls, passage: Passage, terms: Collection[str], score: float = 1.0) -> Self:
        question = question_of(passage)
        return cls(
            document=f"{passage.collection} {passage.source}", terms=frozenset(terms), score=score,
            day=f"{passage.changed_at or 0:020.6f}" if question else passage.changed_on, question=question,
        )  # fmt: skip


def newer_first(ranked: Sequence[T], of: Callable[[T], Dated], *, least: float = 0.0) -> list[T]:
    """The passages, best first, each behind those that say the same, are newer and score at least this share of its
    score.
    """
    order = [(of(each), each) for each in ranked]
    if len({dated.day for dated, _ in order} - {""}) < 2:
        return list(ranked)
    for place in range(len(order)):
        while newer := _newer_behind(order, place, least):
            latest = max(newer, key=lambda later: (order[later][0].day, -later))
            order.insert(place, order.pop(latest))
    return [each for _, each in order]


def _newer_behind(order: Sequence[tuple[Dated, T]], place: int, least: float) -> list[int]:
    here = order[place][0]
    behind = ((later, order[later][0]) for later in range(place + 1, len(order)))
    return [
        later
        for later, each in behind
        if is_newer(each, here) and (here.question or each.score >= least * here.score)
    ]


def is_newer(one: Dated, other: Dated) -> bool:
    """Whether it says the same as another document, or the opposite, and was changed on a later day."""
    is_later = bool(other.day) and one.day > other.day
    if not is_later or one.document == other.document:
        return False
    if one.question or other.question:
        return are_rivals(one, other)
    return _overlap(one.terms, other.terms) >= SAME


def are_rivals(one: Dated, other: Dated) -> bool:
    """Whether two people answered the same question."""
    is_other = bool(one.question and other.question) and one.document != other.document
    return is_other and are_same(one.question, other.question)


def differ(one: Dated, other: Dated) -> bool:
    """Whether each has a term that the other lacks, as another number or name; more words alone contradict nothing."""
    return bool(one.terms - other.terms and other.terms - one.terms)


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / (len(one | other) or 1)

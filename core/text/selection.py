"""Which sentences of a passage answer a question: scores from words, headings and meaning."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.library.documents import Retrieved
from core.text.sentences import Unit, split_units
from core.text.terms import terms

HEADING_CREDIT = 0.5  # of a question term that stands in the headings above a sentence, not in it
PASSAGE_CREDIT = 1.2  # how much the passage's own rank says about its sentences
MEANING_CREDIT = 0.8  # of the cosine between question and sentence
CUE_CREDIT = 0.12  # for a sentence that holds the kind of thing asked for
LONG_SENTENCE = 25  # words; beyond it more words find more of a question without saying more about it
LENGTH_COST = 0.006  # for each word beyond
SHORT_SENTENCE = 4  # words; below it a sentence rarely says anything alone

_CUES: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = (
    (re.compile(r"\b(?:when|what year|which year|what date|how long|since)\b", re.IGNORECASE), re.compile(r"\d|\b(?:January|February|March|April|May|June|July|August|September|October|November|December|century|minutes?|hours?|days?|years?)\b")),
    (re.compile(r"\bhow (?:many|much|often|big|large|fast|old)\b|\bwhat (?:number|percentage|share|limit)\b", re.IGNORECASE), re.compile(r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|dozen|hundred|thousand|million|half)\b")),
    (re.compile(r"\bwho(?:m|se)?\b", re.IGNORECASE), re.compile(r"(?<!^)(?<![.!?] )\b[A-Z][a-z]+")),
    (re.compile(r"\bwhere\b", re.IGNORECASE), re.compile(r"\b(?:in|at|on|near|from|to|under|inside)\s+(?:the\s+)?[`A-Z]")),
    (re.compile(r"\bwhy\b", re.IGNORECASE), re.compile(r"\b(?:because|since|so that|in order to|due to|reason|therefore|avoid|prevent)\b", re.IGNORECASE)),
    (re.compile(r"\bhow (?:do|can|to|should|would|does)\b", re.IGNORECASE), re.compile(r"\b(?:use|using|you can|set|pass|import|declare|create|add|run|call|install|with)\b", re.IGNORECASE)),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A unit of a passage with its score for one question."""

    passage: int  #: index into the passages
    unit: int  #: index into the passage's units, counts from 0
    span: Unit
    score: float
    coverage: float  #: share of the question's weight in the unit itself, 0 to 1


def candidates(
    question: str,
    weights: Mapping[str, float],
    passages: Sequence[Retrieved],
    meaning: Mapping[tuple[int, int], float] | None = None,
) -> list[Candidate]:
    """Every quotable unit of the passages, best first.

    ``meaning`` gives the cosine of (passage, unit) with the question where it is known.
    """
    total = sum(weights.values()) or 1.0
    cue = next((answer for asked, answer in _CUES if asked.search(question)), None)
    found = []
    for index, hit in enumerate(passages):
        text = hit.passage.text
        headings = frozenset(terms(" ".join((hit.passage.title, *hit.passage.path))))
        for number, unit in enumerate(split_units(text)):
            if unit.kind in ("heading", "markup"):
                continue
            words = text[unit.start : unit.end]
            present = frozenset(terms(words))
            own = sum(weight for term, weight in weights.items() if term in present) / total
            above = sum(w for term, w in weights.items() if term in headings and term not in present) / total
            score = own + HEADING_CREDIT * above + PASSAGE_CREDIT * hit.score
            score += MEANING_CREDIT * (meaning or {}).get((index, number), 0.0)
            score += _shape_credit(unit, words, cue)
            found.append(Candidate(passage=index, unit=number, span=unit, score=score, coverage=own))
    return sorted(found, key=lambda c: (-c.score, c.passage, c.unit))


def _shape_credit(unit: Unit, words: str, cue: re.Pattern[str] | None) -> float:
    """What the look of a unit says: kind, length, whether it asks rather than tells."""
    if unit.kind == "code":
        return -0.35
    if unit.kind == "table":
        return -0.1
    credit = CUE_CREDIT if cue and cue.search(words) else 0.0
    length = len(words.split())
    credit -= LENGTH_COST * max(0, length - LONG_SENTENCE)
    if length < SHORT_SENTENCE:
        credit -= 0.25
    if words.rstrip().endswith("?"):
        credit -= 0.3
    return credit

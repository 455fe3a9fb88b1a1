"""Sentences of a source that a claim restates, and what it may not change in them.

A claim that shares nearly all its telling words with a sentence says what that sentence says:
it must then give the same numbers and dates, and deny what the sentence denies.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from core.text.facts import missing_figures, stated_figures
from core.text.sentences import split_units
from core.text.terms import query_terms, terms
from core.text.vocabulary import DATE_WORDS, NUMBER_WORDS

RESTATED = 0.75  # share of a claim's telling words in a sentence that it restates
TELLING = 2  # telling words that a claim must have; fewer restate anything
ELSEWHERE = 0.8  # share of them in one sentence of another source that says it better …
BY_FAR = 0.4  # … by this much than any two neighbouring sentences of the source that is cited
BESIDE = 0.4  # share of them in a source that is cited for nothing, where another one holds …
HELD = 0.6  # … this much, and all that the first one does

_NEGATION = re.compile(
    r"\b(?:not|no(?!\.\s?\d)|never|none|nobody|nothing|nowhere|neither|nor|without|cannot|\w+n['’]t)\b",
    re.IGNORECASE,
)
_TURNED = re.compile(
    r"\b(?:only|unless|until|except|instead|rather|hardly|fails?|failed|avoids?|prevents?)\b", re.IGNORECASE
)
_UNTOLD = re.compile(
    rf"{_NEGATION.pattern}|\b(?:{'|'.join((*NUMBER_WORDS, *sorted(DATE_WORDS)))})\b", re.IGNORECASE
)
_DENIED = re.compile(
    rf"(?:{_NEGATION.pattern})(?:\s+(?:a|an|the|any|be|been|to))*\s+(\w+)", re.IGNORECASE
)  # what a negation is about
_PLAIN = ("sentence", "item")


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    words: frozenset[str]  #: telling ones
    is_plain: bool  #: prose that tells rather than asks

    @property
    def denies(self) -> bool:
        return bool(_NEGATION.search(self.text))

    @property
    def may_deny(self) -> bool:
        return self.denies or bool(_TURNED.search(self.text))


def telling_words(text: str) -> frozenset[str]:
    """Terms that carry what is said: no glue, numbers, dates or negations."""
    prose = _UNTOLD.sub(" ", text)
    return frozenset(term for term in query_terms(prose) if not term.isdecimal())


@lru_cache(maxsize=256)
def _sentences(text: str) -> tuple[_Sentence, ...]:
    found = []
    for unit in split_units(text):
        said = text[unit.start : unit.end]
        is_plain = unit.kind in _PLAIN and not said.rstrip().endswith("?")
        found.append(_Sentence(said, telling_words(said), is_plain))
    return tuple(found)


def changes(claim: str, sources: Sequence[str], above: str) -> list[str]:
    """What the claim says otherwise than the sentences that it restates, as sentences.

    Args:
        sources: texts that it cites
        above: headings and dates that belong to them
    """
    words = telling_words(claim)
    sentences = [sentence for source in sources for sentence in _sentences(source)]
    restated = [s for s in sentences if s.is_plain and len(words & s.words) >= RESTATED * len(words)]
    if len(words) < TELLING or not restated:
        return []
    rest = words.difference(*(s.words for s in restated))
    near = [*restated, *(s for s in sentences if s.words & rest)]
    return [*_changed_figures(claim, restated, near, above), *_turned_round(claim, words, restated, near)]


def _changed_figures(
    claim: str, restated: Sequence[_Sentence], near: Sequence[_Sentence], above: str
) -> list[str]:
    """Figures in the place of others: those may stand elsewhere in the source, but not there."""
    said, sentences = stated_figures(claim), "\n".join((above, *(s.text for s in near)))
    given = Counter(figure for figure, _ in stated_figures(sentences))
    counted = Counter(figure for figure, _ in said)
    lost = any(figure not in counted for s in restated for figure, _ in stated_figures(s.text))
    changed = [written for figure, written in said if counted[figure] > given[figure]] if lost else []
    other_unit = [
        written
        for written in missing_figures(claim, sentences)
        if all(figure in given for figure, _ in stated_figures(written))
    ]
    return [
        f"its source says something else than {written} there"
        for written in dict.fromkeys((*changed, *other_unit))
    ]


def _turned_round(
    claim: str, words: frozenset[str], restated: Sequence[_Sentence], near: Sequence[_Sentence]
) -> list[str]:
    said = _Sentence(claim, words, is_plain=True)
    if said.denies and not _TURNED.search(claim):
        return [] if any(s.may_deny for s in near) else ["it denies what its source says"]
    twins = [s for s in restated if len(words & s.words) >= RESTATED * len(s.words)]
    is_denied = bool(twins) and all(_denies_of(s.text, claim) and not _TURNED.search(s.text) for s in twins)
    return ["it says what its source denies"] if is_denied and not said.may_deny else []


def _denies_of(sentence: str, claim: str) -> bool:
    """Whether it denies something of which the claim speaks."""
    said = set(terms(claim))
    return any(said.issuperset(terms(match[1])) for match in _DENIED.finditer(sentence))


def is_misplaced(claim: str, own: Sequence[int], sources: Mapping[int, tuple[str, str]]) -> bool:
    """Whether another source says this, and those that the claim names do not, told by its words alone.

    Args:
        own: numbers that it names
        sources: headings and text by number
    """
    words = telling_words(claim)
    if len(words) <= TELLING:
        return False
    best = max((_pair_share(words, *sources[number]) for number in own), default=0.0)
    elsewhere = (s for number, (_, text) in sources.items() if number not in own for s in _sentences(text))
    other = max((len(words & s.words) / len(words) for s in elsewhere), default=0.0)
    return other >= ELSEWHERE and other - best >= BY_FAR


def idle(claim: str, own: Sequence[int], sources: Mapping[int, tuple[str, str]]) -> set[int]:
    """Numbers that the claim names for nothing: another one of them holds all that they do, and far more."""
    words = telling_words(claim)
    if len(words) <= TELLING or len(own) < 2:
        return set()
    held = {number: _pair_share(words, *sources[number]) for number in own}
    told = {number: _told(claim, words, *sources[number]) for number in own}
    kept = {number for number, share in held.items() if share > BESIDE}
    known = set().union(*(told[number] for number in kept))
    return {n for n in own if max(held.values()) >= HELD and n not in kept and told[n] <= known}


def _told(claim: str, words: frozenset[str], above: str, text: str) -> set[str]:
    """What of the claim stands anywhere in a source: telling words and figures."""
    source = f"{above}\n{text}"
    return {*(words & telling_words(source)), *(_figures(claim) & _figures(source))}


def _figures(text: str) -> set[str]:
    return {figure for figure, _ in stated_figures(text)}


def _pair_share(words: frozenset[str], above: str, text: str) -> float:
    """Largest share of the words in two neighbouring sentences, with their headings."""
    sentences = _sentences(text)
    pairs = (
        (
            first.words | second.words
            for first, second in zip(sentences, (*sentences[1:], sentences[-1]), strict=True)
        )
        if sentences
        else iter(())
    )
    headings = telling_words(above)
    return max((len(words & (pair | headings)) for pair in pairs), default=0) / len(words)

"""Contradictions: two sentences about the same thing that differ.

They differ in a number, a unit, a date, a name, a "not", or a word and its opposite.

Which sentences are about the same thing, their words tell: the rarest of each find the others, and what both say must
outweigh what only one says. Whether they contradict each other a model decides, where there is one. Without one, they
are shown as different, so here it is better to miss some than to be wrong: what tells their subjects apart silences
them.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import chain, product
from math import log
from typing import Literal

from core.conversation import value
from core.lint.assertions import Assertion
from core.lint.figures import StatedValue

Difference = Literal["number", "unit", "date", "name", "denial", "state"]

#: Claims of nobody, of which some hold each term: without them a word would weigh little in a library of a few pages.
BACKGROUND, BACKGROUND_HELD = 2_000, 2
RAREST = 7  # terms of a claim by which others are found
COMMON = 300  # claims with a term, from which it finds none
SHARED = 2  # of these terms that both must have
FAR = 60.0  # times: "30 minutes" and "two months" are hardly said of the same
POINTING = 24.0  # weight of what is said by both, from which "it" at the beginning tells nothing apart
LONGER_DENIED = 0.6  # the same where one denies, which may be said of what is said beside
LONGER = 0.4  # weight of what the longer of two claims says beside


@value
class PairBounds:
    """Bounds for how much two claims must have in common."""

    likeness: float  #: share of what both say in what either says, by weight
    weight: float  #: of what both say: a few common words are no subject


#: Without a model, by what differs.
SURE: Mapping[Difference, PairBounds] = {
    "number": PairBounds(likeness=0.52, weight=15), "unit": PairBounds(likeness=0.52, weight=15),
    "date": PairBounds(likeness=0.52, weight=15), "name": PairBounds(likeness=0.75, weight=17),
    "denial": PairBounds(likeness=0.6, weight=15), "state": PairBounds(likeness=0.6, weight=16),
}  # fmt: skip
NEAR = PairBounds(likeness=0.8, weight=20)  # in one document, which rarely contradicts itself
CONTACTS = PairBounds(likeness=0.6, weight=14)  # where each names another address or channel
LIKELY = PairBounds(likeness=0.4, weight=12)  # for a model, which decides


@value
class Pair:
    """Two claims that may contradict each other."""

    one: Assertion
    other: Assertion
    difference: Difference
    likeness: float  #: 0 to 1: how much of both is said by both, the difference aside
    weight: float  #: of what both say
    words: tuple[str, str]  #: in which they differ
    is_apart: bool  #: whether something tells their subjects apart


class Index:
    """Claims by their terms."""

    def __init__(self, claims: Sequence[Assertion]) -> None:
        self.claims = claims
        self._having = defaultdict[str, list[int]](list)
        for number, claim in enumerate(claims):
            for term in claim.terms:
                self._having[term].append(number)
        among = len(claims) + BACKGROUND
        self.weights = {term: log(1 + among / (len(n) + BACKGROUND_HELD)) for term, n in self._having.items()}

    def weight(self, terms: Iterable[str]) -> float:
        return sum(self.weights.get(term, 0.0) for term in terms)

    def near(self, number: int) -> Iterator[int]:
        """The claims that share the rare terms of this one."""
        claim = self.claims[number]
        rare = sorted(claim.terms, key=lambda term: (-self.weights[term], term))
        rare = [term for term in rare if 1 < len(self._having[term]) <= COMMON][:RAREST]
        counts = Counter(chain.from_iterable(self._having[term] for term in rare))
        least = min(SHARED, len(rare))
        yield from (other for other, count in counts.items() if count >= least and other != number)


def compare(index: Index, one: Assertion, other: Assertion) -> Pair | None:
    """The difference of two claims, if they differ in one thing that counts."""
    shared = one.terms & other.terms
    own, theirs, weight = one.terms - shared, other.terms - shared, index.weight(shared)
    if weight < LIKELY.weight:
        return None
    found = difference(one, other, own, theirs)
    if found is None:
        return None
    kind, words, apart = found
    own, theirs = own - apart, theirs - apart
    beside = sorted((index.weight(own), index.weight(theirs)))
    return Pair(
        one=one, other=other, difference=kind, words=words, weight=weight,
        likeness=weight / (weight + beside[0] + (LONGER_DENIED if kind == "denial" else LONGER) * beside[1]),
        is_apart=_are_apart(one, other, own, theirs, weight)
        or (kind in ("denial", "state") and one.is_conditional != other.is_conditional),
    )  # fmt: skip


Found = tuple[Difference, tuple[str, str], frozenset[str]]
_NONE: frozenset[str] = frozenset()


def difference(one: Assertion, other: Assertion, own: frozenset[str], theirs: frozenset[str]) -> Found | None:
    """The difference, how each says it, and the terms that say it. Of several the first of: figures, denial, state, name."""
    if (figures := figures_apart(one.figures, other.figures)) is not None:
        first, second = figures
        is_unit = first.unit != second.unit and first.digits == second.digits
        kind: Difference = "date" if first.kind == "date" else "unit" if is_unit else "number"
        return kind, (first.written, second.written), _NONE
    denied, said = one.denied | other.denied, other if one.denies else one
    if one.denies != other.denies and denied & said.asserted and not said.is_item:
        return "denial", ("", ""), _NONE
    if (states := _states_apart(one, other)) is not None:
        words = one.written[states[0]], other.written[states[1]]
        return None if denied.intersection(states) else ("state", words, frozenset(states))
    is_other = len(one.figures) != len(other.figures) and one.figures and other.figures
    if is_other or one.denies != other.denies or one.place.document == other.place.document:
        return None
    if not (one.contacts and other.contacts):
        return _names_apart(one, other, own, theirs)
    contacts = min(one.contacts), min(other.contacts)
    return None if one.contacts & other.contacts else ("name", contacts, _NONE)


def _states_apart(one: Assertion, other: Assertion) -> tuple[str, str] | None:
    """A term of one and its opposite in the other, where neither says both."""
    for (row, side), term in one.states.items():
        opposite = other.states.get((row, not side))
        if opposite and (row, side) not in other.states and (row, not side) not in one.states:
            return term, opposite
    return None


def _names_apart(
    one: Assertion, other: Assertion, own: frozenset[str], theirs: frozenset[str]
) -> Found | None:
    """The names that replace each other, unless the headings say that it is about that name."""
    if not (own & one.names and theirs & other.names):
        return None
    for mine, others in replaced_terms(one.order, other.order):
        if mine[0] == one.order[0] or others[0] == other.order[0]:
            continue  # a sentence begins with what it is about
        named, called = own.intersection(mine), theirs.intersection(others)
        is_name = named and called and named <= one.names and called <= other.names
        if is_name and not (named & one.subject or called & other.subject):
            words = (_in_words(mine, one), _in_words(others, other))
            return "name", words, named | called
    return None


def replaced_terms(one: Sequence[str], other: Sequence[str]) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """The terms of one text that the other replaces by terms of its own."""
    for tag, start, end, begin, until in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if tag == "replace":
            yield one[start:end], other[begin:until]


def _in_words(found: Sequence[str], claim: Assertion) -> str:
    return " ".join(dict.fromkeys(claim.written[term] for term in found))


def _are_apart(
    one: Assertion, other: Assertion, own: Collection[str], theirs: Collection[str], weight: float
) -> bool:
    """True if they are about different things. One has another word, or the thing of one is unknown."""
    is_near = one.place.document == other.place.document
    is_weak = is_near or weight < POINTING or one.denies != other.denies
    if (one.points or other.points) and is_weak:
        return True
    if is_near and one.place.path == other.place.path:
        return True
    return any(
        set(own).intersection(mine) and set(theirs).intersection(others)
        for mine, others in replaced_terms(one.order, other.order)
    )


def figures_apart(
    own: Sequence[StatedValue], theirs: Sequence[StatedValue]
) -> tuple[StatedValue, StatedValue] | None:
    """Figures that count the same and are another number in each; None if there are none."""
    for counts in dict.fromkeys(figure.counts for figure in own):
        mine = [figure for figure in own if figure.counts == counts]
        others = [figure for figure in theirs if figure.counts == counts]
        if not mine or not others or any(a.agrees(b) for a, b in product(mine, others)):
            continue
        first, second = mine[0], others[0]
        near = first.worth / max(second.worth, 1e-9)
        is_far = first.unit != second.unit and first.digits != second.digits and not 1 / FAR < near < FAR
        if {first.bound, second.bound} != {"least", "most"} and not is_far:
            return first, second
    if len(own) == len(theirs) == 1 and own[0].unit and theirs[0].unit and own[0].counts != theirs[0].counts:
        return (own[0], theirs[0]) if own[0].worth == theirs[0].worth else None
    return None


def is_sure(pair: Pair) -> bool:
    """True if the claims are about the same thing as far as their words tell."""
    is_near = pair.one.place.document == pair.other.place.document
    least = SURE[pair.difference]
    if is_near or (pair.one.contacts and pair.difference == "name"):
        least = NEAR if is_near else CONTACTS
    return not pair.is_apart and pair.likeness >= least.likeness and pair.weight >= least.weight


def is_likely(pair: Pair) -> bool:
    """True if a model is worth asking."""
    return pair.likeness >= LIKELY.likeness and pair.weight >= LIKELY.weight

"""Parts of a strip that show a sentence, by its words, numbers, code and identifiers.

Between languages they share few words; there it is what a judge named.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Self

from core.grounding.doubts import OWN_NAME, doubts_of
from core.reasoning.reasoner import Span, Strip
from core.text.inline import as_words, without_pictures, without_targets
from core.text.language import language_of
from core.text.quoting import quotable
from core.text.terms import COMMON, terms, weigh_terms

PAIR = 0.25  # of two words that are neighbours, as a share of the smaller weight
SIGN = 2.0  # of a number, code span or identifier
ASIDE = 0.7  # share that counts of a picture, a caption, and of code where the sentence has none
GAIN = 0.15  # share of a sentence's weight that a neighbour must add to be quoted too
FURTHER = 0.1  # share that what is quoted apart must hold, for a number, code or identifier of the sentence
APART = 0.3  # share that it must add else
NAMED_PARTS = 3  # parts that a judge named, or items of other lists that the sentence names
ITEMS = 8  # of one list that the sentence names
PRECISE = 0.2  # share of a piece's rank that its words lose which the sentence does not have
UNMATCHED = 400  # characters of a quote that has no word of its sentence

#: Where a judge found the sentences of a draft, by the text of the sentence and the number of the strip.
Stated = Mapping[tuple[str, int], tuple[Span, ...]]
Part = tuple[str, bool]  # a text, with whether it is code
Key = str | tuple[str, str]  # a term, two neighbouring ones, or a sign as a doubt names it

_WORD = re.compile(r"\w")
_ENDS = re.compile(r"[.!?:;…。！？：；।]\W*\Z")
_ANNOUNCES = re.compile(r"[:：][\s*_`]*\Z")


@dataclass(frozen=True, slots=True)
class Sought:
    """The words of a sentence that a source is to show, and of the code that it introduces."""

    parts: tuple[Part, ...]
    language: str  #: of the source, ISO 639-1
    weights: Mapping[Key, float]
    signs: frozenset[str]  #: its numbers, code and identifiers
    #: those of them with a name for the reader's own, which the source has to the letter
    exact: frozenset[str]
    total: float  #: weight
    has_code: bool

    @classmethod
    def of(cls, parts: Iterable[Part], source: str, beside: str = "") -> Self:
        """The words that a source is to show of these parts, with little weight for those ``beside`` them."""
        parts, language = tuple(parts), language_of(source)
        weights: dict[Key, float] = dict.fromkeys(terms(beside, language), COMMON)
        for text, _ in parts:
            words = weigh_terms(text, language)
            weights.update(words)
            for one, other in pairwise(terms(text, language)):
                weights[one, other] = PAIR * min(words[one], words[other])
        own = frozenset(sign for sign in _missing(parts, "", to_the_letter=True) if OWN_NAME.search(sign))
        exact = own - _missing(parts, source, to_the_letter=True) if own else own
        signs = exact | _missing(parts, "")
        weights.update(dict.fromkeys(signs, SIGN))
        has_code = any(is_code for _, is_code in parts)
        return cls(parts, language, weights, signs, exact, sum(weights.values()) or 1.0, has_code)

    def match(self, text: str) -> frozenset[Key]:
        """The part of it that a text has."""
        words = _keys(text, self.language).intersection(self.weights)
        if not self.signs:
            return words
        lacks = _missing(self.parts, text)
        if self.exact:
            lacks |= self.exact & _missing(self.parts, text, to_the_letter=True)
        return words | (self.signs - lacks)

    def share(self, held: Collection[Key]) -> float:
        """Its part of all that is sought, 0 to 1."""
        return sum(self.weights[key] for key in held) / self.total


def likeness(parts: Iterable[Part], source: str) -> float:
    """The share of a sentence that a source shows, 0 to 1."""
    sought = Sought.of(parts, source)
    return sought.share(sought.match(source))


@lru_cache(maxsize=1024)
def _keys(text: str, language: str) -> frozenset[Key]:
    found = terms(text, language)
    return frozenset((*found, *pairwise(found)))


def _missing(parts: Iterable[Part], text: str, *, to_the_letter: bool = False) -> frozenset[str]:
    return frozenset(
        doubt
        for said, is_code in parts
        for doubt in doubts_of(said, (text,), is_code=is_code, to_the_letter=to_the_letter)
    )


@dataclass(frozen=True, slots=True)
class _Piece:
    """A quotable part of a strip."""

    start: int  #: characters into the passage
    end: int
    kind: str
    held: frozenset[Key]
    share: float  #: of what is sought, less for what is beside the text
    rank: float  #: the share, less for words that the sentence does not have
    is_said: bool  #: an item of a list whose words the sentence has, all of them
    announces: bool  #: a list or code below it


def find_spans(
    parts: Iterable[Part], strip: Strip, named: Sequence[Span] = (), *, beside: str = "", least: float = 0.0
) -> tuple[Span, ...]:
    """The spans of a source that show a sentence. They are a sentence or row, perhaps with a neighbour, and
    another one that has its number, code or identifier. What a judge ``named`` goes before. If they share
    nothing, it is the strip's evidence, or its beginning; but nothing, where the ``least`` share must be
    shown. ``beside``: the header of a row."""
    passage = strip.passage
    sought = Sought.of(parts, passage.text, beside)
    pieces = list(_pieces(sought, strip))
    chosen = _within(pieces, named, passage.start) or _best(pieces, sought)
    if least and not (named or any(pieces[number].share >= least for number in chosen)):
        return ()
    if not chosen:
        return (_fallback_span(pieces, strip),)
    chosen += _further(pieces, chosen, sought)
    return tuple((passage.start + start, passage.start + end) for start, end in _join(pieces, chosen))


def _pieces(sought: Sought, strip: Strip) -> Iterator[_Piece]:
    text = strip.passage.text
    for start, end, kind in quotable(text, *strip.within):
        words = without_pictures(text[start:end])
        is_picture = words != text[start:end] and not _WORD.search(as_words(words))
        held = sought.match(text[start:end] if is_picture else words)
        is_caption = kind == "sentence" and not _ENDS.search(words)
        is_aside = is_picture or is_caption or (kind == "code" and not sought.has_code)
        share = sought.share(held) * (ASIDE if is_aside else 1)
        own = weigh_terms(without_targets(words), sought.language)
        precision = sum(own[key] for key in own.keys() & held) / (sum(own.values()) or 1)
        rank = share * (1 - PRECISE + PRECISE * precision)
        announces = bool(_ANNOUNCES.search(words))
        is_said = kind == "item" and not announces and held.issuperset(own)
        yield _Piece(start, end, kind, held, share, rank, is_said, announces)


def _within(pieces: Sequence[_Piece], spans: Sequence[Span], offset: int) -> list[int]:
    """The numbers of the pieces in which one of the spans lies."""
    return [
        number
        for number, piece in enumerate(pieces)
        if any(start < offset + piece.end and offset + piece.start < end for start, end in spans)
    ]


def _best(pieces: Sequence[_Piece], sought: Sought) -> list[int]:
    """The piece that shows most, with its neighbours that add much. Code that it announces is added where it
    has a sign of the sentence; none if nothing is shown."""
    best = max(range(len(pieces)), key=lambda number: pieces[number].rank, default=0)
    if not pieces or not pieces[best].held:
        return []
    if (listed := _list_below(pieces, sought, best)) is not None:
        return listed
    chosen = [best]
    for number in (best - 1, best + 1):
        if 0 <= number < len(pieces):
            piece = pieces[number]
            is_announced = piece.kind == "code" and number > best and pieces[best].announces
            adds_much = sought.share(piece.held - pieces[best].held) >= GAIN and _may_join(piece, sought)
            if (is_announced and piece.held & sought.signs) or adds_much:
                chosen.append(number)
    return chosen


def _list_below(pieces: Sequence[_Piece], sought: Sought, best: int) -> list[int] | None:
    """The lead of a list and its items in the sentence, if together they show more than the best."""
    lists: dict[int, list[int]] = {}
    above = -1
    for number, piece in enumerate(pieces):
        above = number if piece.kind != "item" else above
        if piece.is_said and above >= 0 and pieces[above].announces:
            lists.setdefault(above, [above]).append(number)
    held = {start: frozenset[Key]().union(*(pieces[n].held for n in named)) for start, named in lists.items()}
    most = max(held, key=lambda start: sought.share(held[start]), default=None)
    if most is None or sought.share(held[most]) <= pieces[best].share:
        return None
    return lists[most][: 1 + ITEMS]


def _further(pieces: Sequence[_Piece], chosen: Sequence[int], sought: Sought) -> list[int]:
    """The piece that has most of what those chosen lack. That is a sign of the sentence, or much of its
    words; and the items of a list that the sentence names."""
    have = frozenset[Key]().union(*(pieces[number].held for number in chosen))
    new = [piece.held - have for piece in pieces]
    near = [
        number
        for number, piece in enumerate(pieces)
        if (new[number] & sought.signs and sought.share(piece.held) >= FURTHER)
        or (sought.share(new[number]) >= APART and _may_join(piece, sought))
    ]
    most = max(near, key=lambda number: (len(new[number] & sought.signs), pieces[number].share), default=None)
    named = [
        number
        for number, piece in enumerate(pieces)
        if piece.is_said and number != most and any(sought.weights[key] >= 1 for key in new[number])
    ]
    return ([] if most is None else [most]) + named[:NAMED_PARTS]


def _may_join(piece: _Piece, sought: Sought) -> bool:
    """An item takes no code into its quote that its sentence does not show."""
    return piece.kind != "code" or sought.has_code


def _fallback_span(pieces: Sequence[_Piece], strip: Strip) -> Span:
    offset = strip.passage.start
    evident = [pieces[number] for number in _within(pieces, strip.evidence, offset)] or pieces
    if not evident:
        return strip.start, strip.end
    first = evident[0].start
    last = max((piece.end for piece in evident if piece.end <= first + UNMATCHED), default=evident[0].end)
    return offset + first, offset + last


def _join(pieces: Sequence[_Piece], chosen: Iterable[int]) -> list[Span]:
    """Their spans, as of the passage; neighbours as one, the first chosen first."""
    runs: list[list[int]] = []
    for number in chosen:
        run = next((run for run in runs if number in (run[0] - 1, run[-1] + 1)), None)
        if run is None:
            runs.append([number])
        else:
            run[:] = sorted({*run, number})
    return [(pieces[run[0]].start, pieces[run[-1]].end) for run in runs]

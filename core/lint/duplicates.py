"""Copies that drifted apart: two passages that say most of their sentences alike, and some of them differently.

Passages that share many runs of words are candidates. Their sentences are then laid side by side: what is alike on both
sides must be most of the shorter one, and what differs is shown. Pages that follow one pattern for two subjects are no
copies: there the words that differ are those of the headings.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import chain

from core.conversation import value
from core.lint.findings import QuotedPlace, Reading
from core.text.language import language_of
from core.text.sentences import STOP_WORDS
from core.text.terms import terms

RUN = 4  # words of a run
FEWEST = 40  # words of a passage that is compared; shorter ones are phrases that everybody uses
COMMON = 12  # passages with a run, from which it tells nothing
RUNS_SHARED = 0.4  # share of the runs of the shorter passage that both have
ALIKE = 0.6  # share of its words in sentences that both have
#: Or so much in the same sentences, and so much with those that were reworded.
SAME, NEAR = 0.25, 0.8
ALIKE_IN_ONE = 0.9  # share of the words of two passages of one document
REWORDED = 0.5  # likeness of two sentences, from which one is the other, changed

_WORD = re.compile(r"\w+(?:['’.-]\w+)*")


@value
class Line:
    """A sentence of a passage."""

    place: QuotedPlace
    words: tuple[str, ...]


@value
class Text:
    """A passage as it is compared."""

    place: QuotedPlace
    lines: tuple[Line, ...]
    runs: frozenset[int]
    length: int  #: in words
    subject: frozenset[str]


@value
class Copy:
    """Two passages, one made from the other."""

    one: Text
    other: Text
    alike: float  #: share of the words that both have
    changes: tuple[tuple[Line | None, Line | None], ...]  #: sentences that differ; None: the other has none


def text_of(reading: Reading) -> Text | None:
    """A passage as it is compared; None if it is too short for that."""
    lines = [
        Line(place=reading.place(sentence.start, sentence.end), words=tuple(own))
        for sentence in reading.sentences
        if (own := _WORD.findall(sentence.shown.casefold()))
    ]
    words = tuple(chain.from_iterable(each.words for each in lines))
    if len(words) < FEWEST:
        return None
    subject = frozenset(terms(reading.headings, language_of(reading.passage.text))) - STOP_WORDS
    return Text(
        place=reading.place(reading.sentences[0].start, reading.sentences[-1].end), lines=tuple(lines), length=len(words), subject=subject,
        runs=frozenset(hash(words[at : at + RUN]) for at in range(len(words) - RUN + 1)),
    )  # fmt: skip


class Runs:
    """Passages by the runs of words in them."""

    def __init__(self, texts: Sequence[Text]) -> None:
        self.texts = texts
        self._having = defaultdict[int, list[int]](list)
        for number, text in enumerate(texts):
            for run in text.runs:
                self._having[run].append(number)

    def near(self, number: int) -> Iterator[int]:
        """The passages that share many runs with this one."""
        text = self.texts[number]
        shared = Counter(
            other for run in text.runs if len(self._having[run]) <= COMMON for other in self._having[run]
        )
        for other, count in sorted(shared.items()):
            if other != number and count >= RUNS_SHARED * min(len(text.runs), len(self.texts[other].runs)):
                yield other


def find_copy(one: Text, other: Text) -> Copy | None:
    """The differences of two passages, if one is a changed copy of the other."""
    left, right = [each.words for each in one.lines], [each.words for each in other.lines]
    alike, changes = 0, list[tuple[Line | None, Line | None]]()
    codes = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    for number, (tag, start, end, begin, until) in enumerate(codes):
        if tag == "equal":
            alike += sum(map(len, left[start:end]))
            continue
        is_inside = 0 < number < len(codes) - 1
        changes += _pair(one.lines[start:end], other.lines[begin:until], is_inside=is_inside)
    near = sum(_likeness(a, b) * min(len(a.words), len(b.words)) for a, b in changes if a and b)
    share, shorter = 2 * (alike + near) / (one.length + other.length), min(one.length, other.length)
    # Parts of one document that are alike are mostly written so.
    least = ALIKE_IN_ONE if one.place.document == other.place.document else 0.0
    is_alike = alike >= ALIKE * shorter or (alike >= SAME * shorter and alike + near >= NEAR * shorter)
    is_copy = is_alike and share >= least
    if not changes or not is_copy or _are_patterned(one, other, changes):
        return None
    return Copy(one=one, other=other, alike=share, changes=tuple(changes))


def _pair(
    left: Sequence[Line], right: Sequence[Line], *, is_inside: bool
) -> Iterator[tuple[Line | None, Line | None]]:
    """Sentences that took the place of each other; of others only those between sentences that are alike."""
    rest = list(right)
    for line in left:
        likeness = [_likeness(line, each) for each in rest]
        best = max(range(len(rest)), key=likeness.__getitem__, default=None)
        if best is not None and likeness[best] >= REWORDED:
            yield line, rest.pop(best)
        elif is_inside:
            yield line, None
    if is_inside:
        yield from ((None, each) for each in rest)


def _likeness(one: Line, other: Line) -> float:
    return SequenceMatcher(None, one.words, other.words, autojunk=False).ratio()


def _are_patterned(one: Text, other: Text, changes: Iterable[tuple[Line | None, Line | None]]) -> bool:
    """True if the words that differ are those of what each is about."""
    pairs = [(a, b) for a, b in changes if a and b]
    if not pairs:
        return False
    own, theirs = set[str](), set[str]()
    for a, b in pairs:
        own |= {*a.words} - {*b.words}
        theirs |= {*b.words} - {*a.words}
    mine, others = (frozenset(terms(" ".join(sorted(words)))) - STOP_WORDS for words in (own, theirs))
    return bool(mine & one.subject - other.subject or others & other.subject - one.subject)

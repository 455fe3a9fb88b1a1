"""Claims: the sentences of the library that can contradict another, with the parts that can be compared.

Code, tables, headings, quotations, questions and examples claim nothing here, nor does what is only said "if" or "when"
something holds.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

from core.conversation import value
from core.library.sameness import DENIALS
from core.lint.figures import StatedValue, figures_in, words
from core.lint.findings import QuotedPlace, Reading
from core.text.inline import without_code
from core.text.language import language_of, stop_words
from core.text.sentences import STOP_WORDS
from core.text.terms import terms

SHORTEST, LONGEST = 3, 45  # terms of a claim that count; longer sentences say several things
GLUE = 2  # stop words of the shortest sentence; with fewer it is a label
DENIED = 3  # words behind a "not"; the first that counts is denied

_WORD = re.compile(r"[^\W_](?:[\w'’]|[-.](?=\w))*|[,;:()—–]")
_ADDRESS = re.compile(r"\bhttps?://\S+|\bwww\.\S+")
_CONTACT = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]*\w|(?<![\w/&#`])[#@][a-z][\w-]{2,}")
_LEAD = re.compile(
    r"(?i)\A\W*(?:please )?(?:(?:note|notice|remember|keep in mind|be aware|make sure)(?: that)?\b)",
)
_QUOTED = re.compile(r"[“\"][^“”\"]*[”\"]")
_QUESTION = re.compile(r"\?\W*\Z")


@value
class Assertion:
    """A sentence of a passage."""

    place: QuotedPlace
    order: tuple[str, ...]  #: its terms in reading order, without figures, denials and stop words
    terms: frozenset[str]  #: the same
    written: Mapping[str, str]  #: the words that they come from
    figures: tuple[StatedValue, ...]
    names: frozenset[str]  #: of its terms, but not those in quotation marks or behind an "if"
    contacts: frozenset[str]  #: e-mail addresses, channels and people named with a sign
    states: Mapping[tuple[int, bool], str]  #: by the row of the table of opposites and the side: the term
    asserted: frozenset[str]  #: the terms that it says without an "if", a "when" or a "that"
    denied: frozenset[str]  #: those of them before which a "not" stands
    denies: bool  #: whether there is any "not"
    subject: frozenset[str]  #: terms of the headings above it
    is_conditional: bool  #: whether an "if", a "when" or an "unless" stands anywhere
    is_item: bool  #: of a list, which may stand below "Do not:"
    points: bool  #: whether it begins with a word that stands for something else: "it", "this"


@cache
def _opposites() -> Mapping[str, frozenset[tuple[int, bool]]]:
    table: dict[str, set[tuple[int, bool]]] = {}
    for row, written in enumerate(words()["opposites"]):
        for side, named in enumerate(written.split(" / ")):
            for word in named.split():
                table.setdefault(word, set()).add((row, bool(side)))
    return {word: frozenset(sides) for word, sides in table.items()}


@cache
def _glue(language: str) -> frozenset[str]:
    return STOP_WORDS if language == "en" else STOP_WORDS | stop_words(language)


@cache
def _word_set(name: str) -> frozenset[str]:
    return frozenset(words()[name].split())


@cache
def _hedges() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, words()['hedges']))})", re.IGNORECASE)


def find_assertions(reading: Reading) -> Iterator[Assertion]:
    """The claims of a passage."""
    language = language_of(reading.passage.text)
    subject = frozenset(terms(reading.headings, language)) - STOP_WORDS
    for sentence in reading.sentences:
        place = reading.place(sentence.start, sentence.end)
        claim = claim_of(place, sentence.shown, language, subject, is_item=sentence.is_item)
        if claim is not None:
            yield claim


def claim_of(
    place: QuotedPlace, shown: str, language: str, subject: frozenset[str], *, is_item: bool = False
) -> Assertion | None:
    """The claim of a sentence; None if it claims nothing that can be compared."""
    if _QUESTION.search(shown) or _hedges().search(shown):
        return None
    prose = _LEAD.sub(_blank, _ADDRESS.sub(_blank, shown))
    bare = without_code(prose)
    figures, contacts = (
        figures_in(bare, language),
        frozenset(each[0].lower() for each in _CONTACT.finditer(bare)),
    )
    signs = list(_CONTACT.sub(_blank, prose))
    for figure in figures:
        signs[figure.start : figure.end] = " " * (figure.end - figure.start)
    said = _Said(language=language)
    unquoted = _QUOTED.sub(_blank, prose)
    for number, each in enumerate(_WORD.finditer("".join(signs))):
        said.take(each[0], number, is_quoted=unquoted[each.start()] == " ")
    denials = len(DENIALS[language].findall(prose)) if language in DENIALS else said.denials
    end = shown.rstrip(" *_")[-1:]
    least = GLUE - (end == ".") + 2 * (end == ":")
    if not SHORTEST <= len({*said.order}) <= LONGEST or said.glue < least:
        return None
    return Assertion(
        place=place, order=tuple(said.order), terms=frozenset(said.order), written=said.written, figures=figures,
        names=frozenset(said.names), contacts=contacts, states=said.states, asserted=frozenset(said.asserted),
        denied=frozenset(said.denied), denies=denials > 0, subject=subject, is_item=is_item, points=said.points,
        is_conditional=said.is_conditional,
    )  # fmt: skip


@dataclass(slots=True)
class _Said:
    """The words of a sentence, taken one after the other."""

    language: str
    order: list[str] = field(default_factory=list)
    written: dict[str, str] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    states: dict[tuple[int, bool], str] = field(default_factory=dict)
    asserted: set[str] = field(default_factory=set)
    denied: set[str] = field(default_factory=set)
    denials: int = 0
    glue: int = 0  #: stop words
    points: bool = False
    is_conditional: bool = False
    _is_first: bool = True
    _is_certain: bool = True  #: no "if" stands before it, up to the last comma
    _is_main: bool = True  #: and no "that"
    _denied_until: int = -1

    def take(self, word: str, number: int, *, is_quoted: bool) -> None:
        low = word.lower()
        if not low[0].isalnum():
            self._is_certain = self._is_main = True
            return
        self.points |= self._is_first and low in _word_set("pointing")
        self.glue += low in _glue(self.language)
        is_subordinating = low in _word_set("subordinating")
        self.is_conditional |= low in _word_set("conditional")
        self._is_certain = self._is_certain and not is_subordinating
        self._is_main = self._is_certain and self._is_main and low not in _word_set("relative")
        if low in _word_set("denials") and not is_quoted:
            self.denials += 1
            self._denied_until = number + DENIED if self._is_main else -1
        elif (low not in _glue(self.language) or low in _opposites()) and low not in _word_set("auxiliary"):
            self._count(word, low, number, is_quoted=is_quoted)
        self._is_first = False

    def _count(self, word: str, low: str, number: int, *, is_quoted: bool) -> None:
        if low.isdecimal():
            return
        own = terms(word, self.language)
        self.order += own
        self.written |= dict.fromkeys(own, word)
        is_capital = low != word and not (self._is_first and word[1:] == low[1:])
        if self._is_certain and is_capital and not is_quoted:
            self.names |= {*own}
        if self._is_main and not is_quoted:
            self.asserted |= {*own}
            self.states |= dict.fromkeys(_opposites().get(low, ()), own[0] if own else "")
        if number <= self._denied_until:
            self.denied |= {*own}
            self._denied_until = -1


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])

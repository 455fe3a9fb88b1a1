"""The beginnings and ends of sentences in a Markdown passage.

A unit is the least that is quoted: a sentence of prose or of a list item, a code block, a table, a heading.
Units never overlap; between them are only white space, list markers and quotation marks.
"""

import re
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

from core.text.blocks import split_blocks
from core.text.inline import code_spans
from core.text.language import language_of, stop_words, words_of


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: English words too common to search for.
STOP_WORDS = _words(
    "a about above after again all also am an and any are as at be because been before being below between both but "
    "by can could d did do does doing don down during each few for from further get had has have having he her here "
    "hers him his how i if in into is it its just know let ll m me more most my need no nor not now of off on once "
    "only or other our ours out over own please re s same she should so some such t tell than that the their theirs "
    "them then there these they this those through to too under until up us ve very want was we were what when where "
    "which while who whom whose why will with would you your yours "
    "aren arent cant couldn couldnt didn didnt doesn doesnt dont hadn hasn hasnt haven havent im isn isnt ive shouldn "
    "shouldnt thats theyre wasn wasnt weren werent weve whats wouldn wouldnt youre"
)


@cache
def _word_lists(name: str) -> dict[str, frozenset[str]]:
    """Word lists by language. ``abbreviations`` never end a sentence; the English ones apply to all, and
    those with a capital only count with it: "ms" and "st" are none. ``before_numbers`` are abbreviations
    there alone: "No. 5", "max. 10", but "The answer is no." ``maybe_last`` may also end a sentence, like
    initials and "U.S."; then one of ``openers`` follows with a capital."""
    return {language: _words(listed) for language, listed in words_of("sentences", name).items()}


#: Nouns among the German stop words: their capital does not show that a sentence begins ("am 3. Tag").
GERMAN_NOUNS = _words(
    "beispiel jahr jahre jahren mal mann mensch menschen mittel ordnung recht sache schluss startseite suche tag tage "
    "tagen teil uhr zeit"
)


UnitKind = Literal["sentence", "item", "code", "table", "heading", "markup"]

_CLOSERS = r"""["'“”‘’»«›‹)\]*_`」』）】》]*+"""
_FOOTNOTES = r"(?:\[\d{1,3}(?:[,;]\s?\d{1,3})*\])*"  # after the full stop: "… so.[3] Then …"
# A closing quotation mark after a blank: "… so . '' Then …"
_APART = r"(?:[ \t\xa0\u202f]++(?:''|[”’»)\]])(?=\s|\Z))*"
_UNSPACED = r"[\u3040-\u30ff\u3400-\u9fff]"  # kana and Chinese characters
_END = re.compile(
    rf"(?<![.!?…])[.!?…]++{_CLOSERS}{_FOOTNOTES}(?=\s|\Z){_APART}|(?<![。！？｡।])[。！？｡।]++{_CLOSERS}{_FOOTNOTES}"
    rf"|(?<={_UNSPACED})[!?]++{_CLOSERS}{_FOOTNOTES}(?={_UNSPACED}|[「『（])"
)
_WORD_BEFORE = re.compile(r"(?:(?<![^\W_])[^\W\d_]\.[ \t\xa0\u202f])*[^\s(\[\"'“„«‘*_`]+\Z")  # "z. B" as well
_SPACE = re.compile(r"\s")
_LETTER_AND_STOP = re.compile(r"[^\W\d_]\.")
_WORD_BEFORE_LIMIT = 16  # characters; every abbreviation is shorter
ORDINAL_LENGTH = 2  # digits: "am 31. Juli", but "Das war 2019."
_FIRST_WORD = re.compile(r"(?:[^\w\s$€£¥]|_)*([^\W\d_]+)")  # in "5 Mio. €) ist" there is none
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")  # "J", "U.S", "p.m"


@dataclass(frozen=True, slots=True)
class Unit:
    """``text[start:end]``, which can be quoted."""

    start: int
    end: int
    kind: UnitKind


def split_sentences(text: str) -> tuple[tuple[int, int], ...]:
    """(start, end) of every unit of the text, in order."""
    return tuple((unit.start, unit.end) for unit in split_units(text))


@lru_cache(maxsize=128)
def split_units(text: str) -> tuple[Unit, ...]:
    """The units of a passage, in order. They are kept for a while: one question looks at a passage several times."""
    units: list[Unit] = []
    for block in split_blocks(text):
        if block.kind == "prose":
            units += _sentences(text, block.start, block.end, "sentence")
        elif block.kind == "item":
            units += _sentences(text, block.start, block.end, "item")
        else:
            units.append(Unit(block.start, block.end, block.kind))
    return tuple(units)


def units_within(text: str, start: int, end: int) -> tuple[Unit, ...]:
    """The units of ``text[start:end]``, read in their context: an indented item is not code."""
    return tuple(unit for unit in split_units(text) if start <= unit.start and unit.end <= end)


def _sentences(text: str, start: int, end: int, kind: UnitKind) -> Iterator[Unit]:
    code = deque((start + first, start + last) for first, last in code_spans(text[start:end]))
    for match in _END.finditer(text, start, end):
        while code and code[0][1] <= match.start():
            code.popleft()
        if code and code[0][0] < match.start():
            continue
        last = min(match.end(), code[0][0] if code else end)
        # The next sentence may begin without a blank, with code or in bold: 。`.env`, 。**Build**.
        bold, goes_on = text.find("**", match.start(), last), last < len(text) and not text[last].isspace()
        if bold >= 0 and goes_on and text.count("**", start, bold) % 2 == 0:
            last = bold
        following = last
        while following < end and text[following].isspace():
            following += 1
        if following == end or _is_boundary(text, start, match, following):
            yield Unit(start, last, kind)
            start = following
    if start < end:
        yield Unit(start, end, kind)


def _is_boundary(text: str, begin: int, match: re.Match[str], following: int) -> bool:
    """True if the punctuation ends a sentence rather than an abbreviation, an initial or an ordinal."""
    if text[following].islower() or text[following] == "," or text.startswith("](", following - 1):
        return False  # a link's words may end like a sentence: [「急いでいますか？」](a.md)
    if match.group()[0] != ".":
        return True
    before = _WORD_BEFORE.search(text[max(begin, match.start() - _WORD_BEFORE_LIMIT) : match.start()])
    word = _SPACE.sub("", before.group()) if before else ""
    if not (len(word) == 1 and word.isupper()):
        # In English or in the language of the text, as written or in lower case.
        spelled, listed = {word, word.lower()}, _word_lists("abbreviations")
        is_abbreviation = any(
            spelled & known and name in ("en", language_of(text)) for name, known in listed.items()
        )
        if is_abbreviation or (len(word) == 1 and _LETTER_AND_STOP.match(text, following)):
            return False
        if word.lower() in _word_lists("before_numbers")["en"]:
            return not text[following].isdecimal()
    # A sentence may continue after an initial, or a German ordinal, and its full stop.
    is_initials = bool(_INITIALS.fullmatch(word)) and (len(word) > 1 or word.isupper())
    is_ordinal = len(word) <= ORDINAL_LENGTH and word.isdecimal() and language_of(text) == "de"
    if not (is_initials or is_ordinal or word.lower() in _word_lists("maybe_last")["en"]):
        return True
    first = _FIRST_WORD.match(text, following, following + _WORD_BEFORE_LIMIT)
    return first is not None and first[1][0].isupper() and first[1].lower() in _openers(language_of(text))


@cache
def _openers(language: str) -> frozenset[str]:
    """Words whose capital shows that a sentence begins."""
    own = stop_words(language) - GERMAN_NOUNS if language != "en" else frozenset()
    return _word_lists("openers")["en"].union(word for word in own if len(word) > 1)


#: Of sentences that share every word with a question and are no answer: they lack the "not", or say the opposite.
DENIAL = re.compile(
    r"\b(?:not|never|no|none|nobody|nothing|neither|nor|without|cannot|unable|fail(?:s|ed)? to)\b|n['’]t\b",
    re.IGNORECASE,
)
# "Why does it not …" and "how do I … without …": their answers rarely say "not".
_OF_TROUBLE = re.compile(
    r"^\W*(?:why|how (?:do|can|could|should|would|to))\b|\b(?:i|my|we|our|you)\b", re.IGNORECASE
)


@cache
def _opposites() -> Mapping[str, Sequence[str]]:
    """English words, and those that exclude them."""
    found = defaultdict[str, list[str]](list)
    for one, other in (pair.split("/") for pair in words_of("sentences", "opposites")["en"].split()):
        found[one].append(other)
        found[other].append(one)
    return found


def is_opposed(question: str, sentence: str) -> bool:
    """True if question and sentence contradict. One has a "not", or each has one word of a pair of
    opposites."""
    asks_denial = bool(DENIAL.search(question)) and not _OF_TROUBLE.search(question)
    if asks_denial and not DENIAL.search(sentence):
        return True
    asked, said = (set(re.findall(r"\w+", text.lower())) for text in (question, sentence))
    opposites = _opposites()
    return any(
        other in said and other not in asked and one not in said
        for one in asked & opposites.keys()
        for other in opposites[one]
    )

"""Finds out if a quote still stands in its documents, to the letter or in other words. Pure.

Nobody is told that an answer no longer holds while that is in doubt. A quote stands in other words where most of its
words stand near each other, with the same numbers, names, code, addresses and spans of time, and deny what it denied.
"""

import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal
from functools import cache, lru_cache
from typing import Literal

from core.conversation import value
from core.grounding.doubts import doubts_of, numbers_of
from core.library.sameness import DENIALS
from core.text.inline import as_words
from core.text.language import language_of, words_of
from core.text.quoting import quotable
from core.text.sentences import DENIAL, is_opposed
from core.text.terms import query_terms

Standing = Literal["stands", "reworded", "gone"]

#: Shares of a quote's words that another sentence has, and of the words of both that they share, to say the same: in the
#: same document, and in another one.
ALIKE, ALIKE_ELSEWHERE = (0.7, 0.5), (0.8, 0.6)
WHOLE = 0.85  # the first of these, for a sentence that says more, or for several
LONGER = 3.0  # times as many words
TOGETHER = 3  # sentences among which the words of one may be spread
REPLACED = (0.5, 0.4)  # as above, for the sentence that took its place
CLEARLY = 1.3  # times as much as the next one
ONE = frozenset((Decimal(1),))  #: as a word, it is an article in many languages
LINES_KEPT = 0.5  # share of the lines of a block of code

_TOKEN = re.compile(
    r"[぀-ヿ㐀-鿿]|(?:(?<!\w)[-+])?(?:[<>=!≤≥]+[ ]?)?[$€£¥]?\d+(?:[.,:]\d+)*[ ]?[%€$£¥°]?|[^\W_]+"
)
_SIGNED = re.compile(r"[-<>=!≤≥]+\d|[二三四五六七八九十百]")  # of Japanese, what stands within other signs
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—−", "-"))
_NAME = re.compile(r"(?<=[\w,;:] )[A-Z]\w+")  # a word with a capital inside a sentence
_MARKS = re.compile(r"[*`\"“”‘’«»]|(?<!\w)_|_(?!\w)")
_EXAMPLE = re.compile(
    r"\b(?:e\.g\.|for example|for instance|z\. ?B\.|zum Beispiel|par exemple|por ejemplo|por exemplo)|例えば",
    re.IGNORECASE,
)
_VERSION = re.compile(r"v?\d+(?:\.\d+){2,}")
_ADDRESS = re.compile(r"https?://[^\s)>\]]+[\w/]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+")


@value
class QuoteStanding:
    """The standing of a quote by now."""

    standing: Standing
    lost: str = ""  #: the sentence, item, row or code of it that no longer stands
    instead: str = ""  #: the sentence of the same document that clearly took its place


def standing_of(quote: str, document: str, others: Sequence[str] = ()) -> QuoteStanding:
    """The standing of a quote in what its document says now, or in these passages of others."""
    texts = (document, *others)
    if any(_tokens(quote) in _tokens(text) for text in texts):
        return QuoteStanding(standing="stands")
    units = [(quote[start:end], kind) for start, end, kind in quotable(quote, 0, len(quote))]
    for unit, kind in units or [(quote, "sentence")]:
        if any(_tokens(unit) in _tokens(text) for text in texts):
            continue
        if kind == "code":
            is_kept = any(_code_stands(unit, text) for text in texts)
        else:
            is_kept = _is_said_in(unit, document) or any(_is_said_elsewhere(unit, text) for text in others)
        if not is_kept:
            return QuoteStanding(standing="gone", lost=unit, instead=_replacement(unit, document))
    return QuoteStanding(standing="reworded")


@lru_cache(maxsize=256)
def _tokens(text: str) -> str:
    """Words and numbers alone, between blanks: without case, markup, punctuation and the breaks of lines."""
    plain = as_words(unicodedata.normalize("NFKC", text)).translate(_DASHES)
    return f" {' '.join(found.replace(' ', '') for found in _TOKEN.findall(plain.casefold()))} "


def _code_stands(block: str, text: str) -> bool:
    """True if most lines of a block of code stand there."""
    now = {" ".join(line.split()) for line in text.splitlines()}
    lines = [line for each in block.splitlines() if (line := " ".join(each.split())).strip("`~ ")]
    return bool(lines) and sum(line in now for line in lines) > LINES_KEPT * len(lines)


def _is_said_in(sentence: str, text: str) -> bool:
    """True if a document says it in other words: in one sentence, or in a few beside each other."""
    wanted, units = _terms(sentence), _units(text)
    for begin in range(len(units)):
        said = frozenset[str]()
        for end in range(begin, min(begin + TOGETHER, len(units))):
            said |= _terms(units[end])
            if len(said) > LONGER * len(wanted):
                break
            is_one = begin == end and _are_alike(wanted, said, ALIKE)
            if is_one or len(wanted & said) >= WHOLE * len(wanted):
                near = units[begin : end + 1]
                closest = max(near, key=lambda unit: len(wanted & _terms(unit)))
                if not _denies_otherwise(sentence, closest) and _has_facts_of(sentence, "\n".join(near)):
                    return True
    return False


def _is_said_elsewhere(sentence: str, text: str) -> bool:
    """The same of a document that may be about something else."""
    wanted = _terms(sentence)
    return any(
        _are_alike(wanted, _terms(unit), ALIKE_ELSEWHERE)
        and not _denies_otherwise(sentence, unit)
        and _has_facts_of(sentence, unit)
        for unit in _units(text)
    )


def _are_alike(one: frozenset[str], other: frozenset[str], least: tuple[float, float]) -> bool:
    shared = len(one & other)
    return bool(one) and shared >= least[0] * len(one) and shared >= least[1] * len(one | other)


def _has_facts_of(sentence: str, other: str) -> bool:
    """True if nothing that decides about a sentence is missing in another text."""
    if _EXAMPLE.search(sentence):  # whose versions grow with each release
        sentence, other = _VERSION.sub("", sentence), _VERSION.sub("", other)
    worded, now = as_words(sentence), _tokens(other)
    plain = _MARKS.sub("", worded)
    # In German, every noun is written like a name.
    names = [] if language_of(sentence) == "de" else _NAME.findall(plain)
    deciding = (
        each for each in _tokens(sentence).split() if each in _deciding_words() or _SIGNED.match(each)
    )
    facts = (*names, *_ADDRESS.findall(plain), *deciding)
    numbers = numbers_of(plain) - ONE - numbers_of(other)
    return not numbers and all(_tokens(fact) in now for fact in facts) and not doubts_of(worded, (other,))


def _denies_otherwise(one: str, other: str) -> bool:
    """True if one of two sentences denies something and the other does not, or says the opposite."""
    denial = DENIALS.get(language_of(one), DENIAL)
    is_other = bool(denial.search(one)) != bool(denial.search(other))
    return is_other or is_opposed(one, other) or is_opposed(other, one)


@cache
def _deciding_words() -> frozenset[str]:
    """Words for spans of time, days and months, and for what is on or off."""
    return frozenset(word for words in words_of("sentences", "deciding").values() for word in words.split())


def _replacement(lost: str, document: str) -> str:
    """The sentence of the document that is most like the one it lost; empty if none clearly is."""
    wanted = _terms(lost)
    terms = ((unit, _terms(unit)) for unit in _units(document))
    near = sorted((len(wanted & held) / (len(wanted | held) or 1), unit) for unit, held in terms)
    if not near or not _are_alike(wanted, _terms(near[-1][1]), REPLACED) or len(near[-1][1]) < len(lost) / 2:
        return ""
    return near[-1][1] if len(near) < 2 or near[-1][0] >= CLEARLY * near[-2][0] else ""


@lru_cache(maxsize=64)
def _units(text: str) -> tuple[str, ...]:
    return tuple(text[start:end] for start, end, _ in quotable(text, 0, len(text)))


@lru_cache(maxsize=8_192)
def _terms(text: str) -> frozenset[str]:
    return frozenset(query_terms(as_words(text), language_of(text)))

"""Words as the lexical index sees them: folded, split at identifier joints, stemmed.

The same function cuts documents and questions, so a term's document frequency means the
same on both sides. English stemming (Snowball); other alphabets pass through whole, and
scripts written without spaces become character pairs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from math import log
from threading import Lock
from typing import Any

from core.text.vocabulary import STOP_WORDS

BACKGROUND = 200  # passages of text in general that every library is thought to hold besides its own
BACKGROUND_HELD = 2  # of them that hold any one term
TERMS_VERSION = "2"  # part of the index's identity: change it when any term comes out differently

LONGEST_WORD = (
    64  # characters; what is longer is no word of a language, and is neither stemmed nor remembered
)

_WORD = re.compile(r"\w+")
_JOINTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
# Kana, Chinese characters, Hangul; Thai to Tibetan, Burmese, Khmer.
_UNSPACED = re.compile(
    r"([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff]+)"
)
_VOICING = "\u3099\u309a"  # the marks that make another kana of one
_LETTERS = {
    "ß": "ss",
    "ø": "o",
    "Ø": "O",
    "æ": "ae",
    "Æ": "AE",
    "œ": "oe",
    "Œ": "OE",
    "ł": "l",
    "Ł": "L",
    "đ": "d",
}


def terms(text: str) -> list[str]:
    """Index terms of a text in reading order; an identifier gives itself and its parts."""
    return [stem for word in _words(text) for stem in _stems(word)]


def query_terms(text: str) -> list[str]:
    """Distinct terms worth searching for, in order; all of them when only stop words are left."""
    found = list(_terms(text))
    telling = dict.fromkeys(stem for word, stem in found if word not in STOP_WORDS)
    return list(telling or dict.fromkeys(stem for _, stem in found))


def term_weights(words: Sequence[str], frequencies: Mapping[str, int], total: int) -> dict[str, float]:
    """Inverse document frequency of each term (BM25's, never negative), as if among BACKGROUND passages more.

    In a library of three passages every term is either in most of them or in none; the background
    keeps both from counting for nothing, or for everything.
    """
    among = total + BACKGROUND
    return {
        word: log(1 + (among - (n := frequencies.get(word, 0) + BACKGROUND_HELD) + 0.5) / (n + 0.5))
        for word in words
    }


class _Folding(dict[int, str]):
    """Each character without accent, vowel sign or compatibility form, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        sign = chr(code)
        bare = "".join(part for part in unicodedata.normalize("NFKD", sign) if _is_kept(part))
        self[code] = unicodedata.normalize("NFC", _LETTERS.get(bare, bare))
        return self[code]


def _is_kept(sign: str) -> bool:
    """Not a mark, and not one of the format characters that a word may hide: soft hyphens, joiners."""
    category = unicodedata.category(sign)
    return sign in _VOICING or not (category.startswith("M") or category == "Cf")


_FOLDING = _Folding()


def _terms(text: str) -> Iterator[tuple[str, str]]:
    """(word, stem) in reading order."""
    for word in _words(text):
        yield from _parts(word)


def _words(text: str) -> list[str]:
    folded = text if text.isascii() else unicodedata.normalize("NFC", text).translate(_FOLDING)
    found: list[str] = _WORD.findall(folded)
    return found


def _stems(word: str) -> tuple[str, ...]:
    """What a word gives; what is longer than any word of a language is not remembered."""
    return _known_stems(word) if len(word) <= LONGEST_WORD else tuple(stem for _, stem in _parts(word))


@lru_cache(maxsize=200_000)
def _known_stems(word: str) -> tuple[str, ...]:
    return tuple(stem for _, stem in _parts(word))


def _parts(word: str) -> Iterator[tuple[str, str]]:
    """The word and what it is made of."""
    if not word.isascii() and _UNSPACED.search(word):
        for run in _UNSPACED.split(word):
            yield from _pairs(run) if _UNSPACED.fullmatch(run) else _parts(run)
        return
    whole = word.replace("_", "").casefold()
    if whole:
        yield whole, _stem(whole)
    for joint in _JOINTS.findall(word) if word.isascii() else word.split("_"):
        part = joint.casefold()
        if len(part) > 1 and part != whole and not part.isdigit():
            yield part, _stem(part)


def _pairs(run: str) -> Iterator[tuple[str, str]]:
    """Neighbouring characters of a run without spaces; a lone one as it is."""
    for start in range(max(1, len(run) - 1)):
        pair = run[start : start + 2]
        yield pair, pair


_STEMMING = Lock()  # the stemmer keeps the word it works on in itself, and questions run side by side


@cache
def _stemmer() -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer("english")


def _stem(word: str) -> str:
    return _known_stem(word) if len(word) <= LONGEST_WORD else word


@lru_cache(maxsize=200_000)
def _known_stem(word: str) -> str:
    with _STEMMING:
        return str(_stemmer().stemWord(word))

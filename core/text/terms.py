"""Words as the lexical index sees them: without accents, identifiers split, stemmed.

Documents and questions go through the same function, so their terms match. Snowball stems by the language
of the text, then as English, since texts of every language hold English words. Scripts without spaces
become character pairs.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from math import log
from threading import Lock
from typing import Any

from core.text.language import LANGUAGES, language_of, stop_words
from core.text.sentences import GERMAN_NOUNS, STOP_WORDS

BACKGROUND = 200  # passages of general text added to every library's counts
BACKGROUND_HELD = 2  # how many of them hold any given term

COMMON = 0.2  # weight of a stop word, where another word has 1
LONGEST_WORD = 64  # characters; longer ones are neither stemmed nor cached
LOOKED_UP = 100  # words of a question whose stems in several languages are looked up

Count = Callable[[Collection[str]], Mapping[str, int]]  # term -> number of passages with it

#: Snowball's algorithms; other languages are stemmed only as English.
_ALGORITHMS = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "es": "spanish",
    "fa": "persian", "fi": "finnish", "fr": "french", "hu": "hungarian", "id": "indonesian", "it": "italian",
    "nl": "dutch", "no": "norwegian", "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian",
    "sv": "swedish", "tr": "turkish",
}  # fmt: skip
_EUROPEAN = 0x590  # letters below it are Latin, Greek, Cyrillic or Armenian

_WORD = re.compile(r"\w+")
_JOINTS = re.compile(r"[A-Z]{2,}(?=s(?![a-z]))|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
# Kana, Chinese characters, Hangul; Thai to Tibetan, Burmese, Khmer.
_UNSPACED = re.compile(
    r"([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff]+)"
)
_VOICING = "\u3099\u309a"  # marks that turn one kana into another
_LETTERS = {
    "ß": "ss", "ø": "o", "Ø": "O", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ł": "l", "Ł": "L", "đ": "d",
}  # fmt: skip


def terms(text: str, language: str = "en") -> list[str]:
    """Index terms of a text in reading order; an identifier yields itself and its parts."""
    return [stem for word in _words(text) for stem in _stems(word, language)]


def query_terms(text: str, language: str = "en") -> list[str]:
    """Distinct terms of a question without stop words; all of them if there are only stop words."""
    return list(dict.fromkeys(_stem(word, language) for word in _content_words(text, language)))


def weigh_terms(text: str, language: str) -> dict[str, float]:
    """The weights of a text's terms: 1, or COMMON for a stop word of any language."""
    parts = {part for word in _words(text) for part in _parts(word)}
    return {_stem(part, language): COMMON if part in _stop_words() else 1.0 for part in parts}


def known_terms(text: str, languages: Iterable[str], count: Count) -> list[str]:
    """Terms, stemmed by the question's language, or else by one of the documents that know the stem."""
    own = language_of(text)
    every = dict.fromkeys((own, *languages))
    words = [tuple(dict.fromkeys(_stem(word, name) for name in every)) for word in _content_words(text, own)]
    unsure = {stem for stems in words[:LOOKED_UP] if len(stems) > 1 for stem in stems}
    held = {stem for stem, passages in count(unsure).items() if passages} if unsure else unsure
    chosen: dict[str, None] = {}
    for first, *further in words:
        others = [] if first in held else [stem for stem in further if stem in held]
        chosen |= dict.fromkeys(others or [first])
    return list(chosen)


def term_weights(words: Sequence[str], frequencies: Mapping[str, int], total: int) -> dict[str, float]:
    """BM25's inverse document frequency of each term, with BACKGROUND passages added to the count. Without
    them, in a library of three passages, a term would be in most passages or in none, and its weight would
    mean little."""
    among = total + BACKGROUND
    return {
        word: log(1 + (among - (n := frequencies.get(word, 0) + BACKGROUND_HELD) + 0.5) / (n + 0.5))
        for word in words
    }


def weight_of(present: Collection[str], weights: Mapping[str, float]) -> float:
    """The weight of the terms that are present."""
    return sum(weight for term, weight in weights.items() if term in present)


def weights_among(question: str, texts: Sequence[str]) -> tuple[dict[str, float], list[frozenset[str]]]:
    """The term weights of a question, counted over these texts only, and the terms of each text."""
    languages = [language_of(text) for text in texts]
    found = [frozenset(terms(text, language)) for text, language in zip(texts, languages, strict=True)]

    def count(words: Collection[str]) -> dict[str, int]:
        return {word: sum(word in held for held in found) for word in words}

    words = known_terms(question, languages, count)
    return term_weights(words, count(words), len(texts)), found


class _Folding(dict[int, str]):
    """Characters without accent, vowel sign or compatibility form; filled at first use."""

    def __missing__(self, code: int) -> str:
        kinds = ((part, unicodedata.category(part)) for part in unicodedata.normalize("NFKD", chr(code)))
        # Neither a mark nor a format character such as a soft hyphen or a joiner.
        bare = "".join(part for part, kind in kinds if part in _VOICING or (kind[0] != "M" and kind != "Cf"))
        self[code] = unicodedata.normalize("NFC", _LETTERS.get(bare, bare))
        return self[code]


_FOLDING = _Folding()


class _Spelling(dict[int, str]):
    """Characters as stemmers expect them: European letters with accents, others folded."""

    def __missing__(self, code: int) -> str:
        composed = unicodedata.normalize("NFKC", chr(code))
        is_european = composed.isalpha() and all(ord(sign) < _EUROPEAN for sign in composed)
        self[code] = composed if is_european else _FOLDING[code]
        return self[code]


_SPELLING = _Spelling()


def _fold(word: str) -> str:
    return word if word.isascii() else word.translate(_FOLDING)


def comparable(text: str) -> str:
    """The text without case, accents and vowel signs, in which words are looked for as they are typed."""
    return _fold(text).casefold()


def _words(text: str) -> list[str]:
    spelled = text if text.isascii() else unicodedata.normalize("NFC", text).translate(_SPELLING)
    found: list[str] = _WORD.findall(spelled)
    return found


def _content_words(text: str, language: str) -> list[str]:
    """The words and their parts without stop words; all of them if nothing is left."""
    found = [part for word in _words(text) for part in _parts(word)]
    return [part for part in found if part not in _glue(language)] or found


def has_content(text: str, language: str) -> bool:
    """True if a word is no stop word. Some nouns are stop words where they are looked for in documents."""
    glue = _glue(language) - GERMAN_NOUNS
    return any(part not in glue for word in _words(text) for part in _parts(word))


@cache
def _stop_words() -> frozenset[str]:
    """The stop words of every language, since texts of one quote others; of English the common ones alone."""
    return STOP_WORDS.union(*(stop_words(name) for name in LANGUAGES if name != "en"))


@cache
def _glue(language: str) -> frozenset[str]:
    """Stop words with and without accents, since not everyone types accents."""
    own = stop_words(language) if language != "en" else frozenset()
    return STOP_WORDS | own | frozenset(map(_fold, own))


def _stems(word: str, language: str) -> tuple[str, ...]:
    """The terms of a word; cached unless it is too long, or one of the endless numbers."""
    if word.isascii() and word.isdigit():
        return (word,)
    known = _known_stems if len(word) <= LONGEST_WORD else _known_stems.__wrapped__
    return known(word, language)


@lru_cache(maxsize=200_000)
def _known_stems(word: str, language: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_stem(part, language) for part in _parts(word)))


def _parts(word: str) -> Iterator[str]:
    """The word and its parts, in lower case."""
    if not word.isascii() and _UNSPACED.search(word):
        for run in _UNSPACED.split(word):
            if not _UNSPACED.fullmatch(run):
                yield from _parts(run)
                continue
            # pairs of neighbouring characters; a single one as it is
            for start in range(max(1, len(run) - 1)):
                yield run[start : start + 2]
        return
    whole = word.replace("_", "").casefold()
    if whole:
        yield whole
    folded, joints = _fold(word), word.split("_")
    if folded.isascii():  # with accents, unless removing them changes its length
        spelled = word if len(word) == len(folded) else folded
        joints = [spelled[slice(*joint.span())] for joint in _JOINTS.finditer(folded)]
    for joint in joints:
        part = joint.casefold()
        if len(part) > 1 and _fold(part) != _fold(whole) and not part.isdigit():
            yield part


def _stem(word: str, language: str) -> str:
    """Stemmed by the language, without accents, then as English."""
    if len(word) > LONGEST_WORD:
        return _fold(word)
    own = _known_stem(word, _ALGORITHMS[language]) if language in _ALGORITHMS else word
    return _known_stem(_fold(own), "english")


_STEMMING = Lock()  # a stemmer has state, and questions run in parallel


@cache
def _stemmer(algorithm: str) -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer(algorithm)


@lru_cache(maxsize=200_000)
def _known_stem(word: str, algorithm: str) -> str:
    with _STEMMING:
        return str(_stemmer(algorithm).stemWord(word))

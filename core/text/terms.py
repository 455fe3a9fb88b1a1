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
from typing import Any

TERMS_VERSION = "1"  # part of the index's identity: change it when any term comes out differently

# Question words and glue: too common to find anything by.
STOP_WORDS = frozenset(
    [
        "a",
        "about",
        "above",
        "after",
        "again",
        "all",
        "also",
        "am",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "because",
        "been",
        "before",
        "being",
        "below",
        "between",
        "both",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "doing",
        "don",
        "down",
        "during",
        "each",
        "few",
        "for",
        "from",
        "further",
        "get",
        "had",
        "has",
        "have",
        "having",
        "he",
        "her",
        "here",
        "hers",
        "him",
        "his",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "just",
        "let",
        "me",
        "more",
        "most",
        "my",
        "no",
        "nor",
        "not",
        "now",
        "of",
        "off",
        "on",
        "once",
        "only",
        "or",
        "other",
        "our",
        "ours",
        "out",
        "over",
        "own",
        "please",
        "same",
        "she",
        "should",
        "so",
        "some",
        "such",
        "than",
        "that",
        "the",
        "their",
        "theirs",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "through",
        "to",
        "too",
        "under",
        "until",
        "up",
        "us",
        "very",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "while",
        "who",
        "whom",
        "whose",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
        "yours",
        "tell",
        "know",
        "want",
        "need",
        "there",
        "s",
        "t",
        "d",
        "ll",
        "m",
        "re",
        "ve",
    ]
)

_IDENTIFIER = re.compile(r"[^\W]*[^\W_][^\W]*")
_JOINTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]+")


def terms(text: str) -> list[str]:
    """Index terms of a text in reading order; an identifier gives itself and its parts."""
    return list(_terms(text))


def query_terms(text: str) -> list[str]:
    """Distinct terms worth searching for, in order; all of them when only stop words are left."""
    found = list(dict.fromkeys(_terms(text)))
    return [term for term in found if term not in _stemmed_stop_words()] or found


def term_weights(words: Sequence[str], frequencies: Mapping[str, int], total: int) -> dict[str, float]:
    """Inverse document frequency of each term (BM25's, never negative)."""
    return {word: log(1 + (total - (n := frequencies.get(word, 0)) + 0.5) / (n + 0.5)) for word in words}


def _terms(text: str) -> Iterator[str]:
    for match in _IDENTIFIER.finditer(text):
        yield from _word_terms(match.group())


@lru_cache(maxsize=200_000)
def _word_terms(word: str) -> tuple[str, ...]:
    if word.isascii():
        whole = word.replace("_", "").lower()
        parts = [part.lower() for part in _JOINTS.findall(word)]
        joined = (part for part in parts if len(part) > 1 and part != whole and not part.isdigit())
        return (_stem(whole), *(_stem(part) for part in joined))
    if _UNSPACED.search(word):
        return tuple(_pairs(word))
    folded = unicodedata.normalize("NFKD", word).casefold()
    bare = "".join(sign for sign in folded if not unicodedata.combining(sign))
    return tuple(_stem(part) for part in bare.split("_") if part)


def _pairs(word: str) -> Iterator[str]:
    """Character pairs of the unspaced runs of a word, and its other parts whole."""
    for run in re.split(f"({_UNSPACED.pattern})", word):
        if not run:
            continue
        if _UNSPACED.fullmatch(run) and len(run) > 1:
            yield from (run[i : i + 2] for i in range(len(run) - 1))
        else:
            yield run.lower()


@cache
def _stemmer() -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer("english")


@cache
def _stemmed_stop_words() -> frozenset[str]:
    return frozenset(_stem(word) for word in STOP_WORDS) | STOP_WORDS


@lru_cache(maxsize=200_000)
def _stem(word: str) -> str:
    return str(_stemmer().stemWord(word))

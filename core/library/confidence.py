"""The library's confidence that retrieved passages answer a question, without a model.

A logistic regression over how much of the question the passages cover and how far the best
ones stand out. ``tests/benchmarks/fit_confidence.py`` fits the coefficients and measures
their quality.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from itertools import chain, pairwise
from math import tanh
from pathlib import Path

from core.library.documents import Retrieved
from core.library.embedding.scale import REFERENCE
from core.library.lexical import highest
from core.text.language import language_of
from core.text.sentences import is_opposed, split_sentences
from core.text.terms import query_terms, terms, weight_of, weights_among

LOOKED_AT = 5  # best passages that the features read
CLOSEST = 3  # best passages in which a name or a number is searched
BACKGROUND = slice(10, 30)  # ranks whose scores are those of unrelated passages
SATURATION = 40.0  # few BM25 scores are higher
WORDS_ALONE = "words alone"  #: the name of the coefficients without vectors

Sentence = tuple[str, frozenset[str]]  # its text and its terms

# A name: a word written with a capital inside the sentence, or an identifier.
_IDENTIFIER = re.compile(r"\b\w+[_./]\w+|\b\w*[a-z][A-Z]\w*")
_NAME = re.compile(rf"(?<![.?!:] )(?<!^)\b[A-Z][\w.-]*\w|{_IDENTIFIER.pattern}")
_ASKS_QUANTITY = re.compile(
    r"(?i)\bhow (?:many|much|long|often|large|big|fast|old|high)\b|\bwhen (?:is|was|will|did)\b|"
    r"\b(?:what|which) (?:date|year|number|percentage|price|size|limit|port)\b|\bon what date\b",
)
_ASKS_AMOUNT = re.compile(r"\bhow (?:many|much|long|old|far|large|big)\b", re.IGNORECASE)
_AMOUNT = re.compile(
    r"(?i)\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|hundred|thousand|million|half|several|many|few|dozen)\b",
)
_NUMBER = re.compile(r"\d(?:[\d,.]*\d)?")
_QUANTITY = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|hundred|thousand|million)\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """The facts from which the confidence of one retrieval is estimated."""

    question: str
    passages: Sequence[Retrieved]  #: best first
    weights: Mapping[str, float]  #: by term of the question
    frequencies: Mapping[str, int]  #: passages of the scope that contain the term
    lexical: Sequence[float] = ()  #: BM25 of all candidates, best first
    #: cosines of all candidates, best first, on the scale of the fit; empty without vectors
    dense: Sequence[float] = ()
    network: str = ""  #: whose cosines they are


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """The inputs of the regression; every value about 0 to 1."""

    passage_coverage: float  #: best share of the question's weight in one passage and its headings
    sentence_coverage: float  #: best share in one sentence
    window_coverage: float  #: best share in two neighbouring sentences of the closest passages
    union_coverage: float  #: share in the best passages together
    term_coverage: float  #: best share of the question's terms in one passage, unweighted
    term_coverage_squared: float  #: its square, for a non-linear effect
    heading_coverage: float  #: best share of the question's weight in the headings of one passage
    bm25: float  #: best BM25, relative to the highest possible
    bm25_top: float  #: best BM25, over SATURATION
    bm25_gap: float  #: best BM25 less the background's mean, over SATURATION
    length: float  #: terms of the question, over 30
    cosine: float  #: best cosine
    cosine_second: float  #: second best
    cosine_gap: float  #: best less the background's mean
    agreement: float  #: 1 if the best passage by words is the best by meaning
    unknown_terms: float  #: share of the question's terms that no passage contains
    unknown_names: float  #: share of the question's weight in names that no passage contains
    missing_names: float  #: least share of the question's weight in names that one of the best passages lacks
    missing_quantity: float  #: 1 if a number or date is asked for and the best passages contain none
    opposed: float  #: 1 if the likeliest sentence says the opposite of what is asked
    missing_number: float  #: 1 if that sentence lacks a number of the question
    missing_amount: float  #: 1 if an amount is asked for and that sentence has none


def features_of(observation: Observation) -> Features:
    question, weights, best = observation.question, observation.weights, observation.passages[:LOOKED_AT]
    total = sum(weights.values()) or 1.0
    found = [_terms(hit, _all_text(hit)) for hit in best]
    headings = [_terms(hit, " ".join((hit.passage.title, *hit.passage.path))) for hit in best]
    names = names_of(question) & weights.keys()
    missing_names = min((weight_of(names - present, weights) for present in found[:CLOSEST]), default=0.0)
    unknown = [term for term in weights if not observation.frequencies.get(term)]
    sentences = [_sentences(hit) for hit in best]
    # The sentence with most of the question's weight, the first of these; and neighbours, a lone one beside itself.
    closest = sentences[:CLOSEST]
    likeliest, _ = max(chain(*closest), key=lambda one: weight_of(one[1], weights), default=("", frozenset()))
    neighbours = chain(*(pairwise([*each[:1], *each]) for each in closest))
    covered = max((len(weights.keys() & present) for present in found), default=0) / max(len(weights), 1)
    has_quantity = any(_QUANTITY.search(hit.passage.text) for hit in best[:CLOSEST])
    top_lexical, top_dense = max(observation.lexical, default=0.0), max(observation.dense, default=0.0)
    return Features(
        passage_coverage=_most(weights, found) / total,
        sentence_coverage=_most(weights, (present for each in sentences for _, present in each)) / total,
        window_coverage=_most(weights, (one | other for (_, one), (_, other) in neighbours)) / total,
        union_coverage=weight_of(frozenset().union(*found), weights) / total,
        term_coverage=covered,
        term_coverage_squared=covered**2,
        heading_coverage=_most(weights, headings) / total,
        bm25=min(top_lexical / (highest(weights) or 1.0), 2.0),
        bm25_top=min(top_lexical / SATURATION, 2.0),
        bm25_gap=_gap(observation.lexical) / SATURATION,
        length=min(len(weights), 30) / 30,
        cosine=top_dense,
        cosine_second=observation.dense[1] if len(observation.dense) > 1 else top_dense,
        cosine_gap=_gap(observation.dense),
        agreement=_agreement(best),
        unknown_terms=len(unknown) / max(len(weights), 1),
        unknown_names=weight_of(names.intersection(unknown), weights) / total,
        missing_names=missing_names / total,
        missing_quantity=float(bool(_ASKS_QUANTITY.search(question)) and not has_quantity),
        opposed=float(is_opposed(question, likeliest)),
        missing_number=float(any(number not in likeliest for number in _NUMBER.findall(question))),
        missing_amount=float(bool(_ASKS_AMOUNT.search(question)) and not _AMOUNT.search(likeliest)),
    )


@cache
def load_coefficients() -> Mapping[str, Mapping[str, float]]:
    """The coefficients by network, and for words alone: "bias", and a weight for each feature."""
    return tomllib.loads(Path(__file__).with_name("coefficients.toml").read_text(encoding="utf-8"))


def confidence_of(observation: Observation) -> float:
    """The probability that the passages contain the answer."""
    if not observation.passages:
        return 0.0
    features = features_of(observation)
    network = observation.network if observation.network in load_coefficients() else REFERENCE
    weights = load_coefficients()[network if observation.dense else WORDS_ALONE]
    values = ((each.name, getattr(features, each.name)) for each in fields(features))
    score = weights["bias"] + sum(weights.get(name, 0.0) * feature for name, feature in values)
    return (1 + tanh(score / 2)) / 2  # the logistic function, in a form that does not overflow


def names_of(question: str) -> frozenset[str]:
    """The terms of the names in a question, which are rarely paraphrased in an answer."""
    own = language_of(question)
    pattern = _IDENTIFIER if own == "de" else _NAME  # German capitalises every noun
    names = [match.group() for match in pattern.finditer(question)]
    return frozenset(each for name in names for kind in (own, "en") for each in query_terms(name, kind))


def coverage_of(question: str, passages: Sequence[Retrieved]) -> float:
    """Best share of a question's terms in one passage, 0 to 1, with weights from these passages alone."""
    weights, found = weights_among(question, [_all_text(hit) for hit in passages])
    total = sum(weights.values())
    return _most(weights, found) / total if total else 0.0


def shared_terms(question: str, hit: Retrieved) -> int:
    """The number of a question's own terms in a passage and its headings."""
    own = query_terms(question, language_of(hit.passage.text))
    return len(_terms(hit, _all_text(hit)).intersection(own))


def _gap(scores: Sequence[float]) -> float:
    """The best score less the mean of the background, which in a small library is the last rank."""
    if not scores:
        return 0.0
    background = scores[BACKGROUND] or scores[-1:]
    return scores[0] - sum(background) / len(background)


def _agreement(best: Sequence[Retrieved]) -> float:
    if not best or any(hit.dense is None for hit in best):
        return 0.0
    by_words = max(best, key=lambda hit: hit.lexical)
    return float(by_words is max(best, key=lambda hit: hit.dense or 0.0))


def _all_text(hit: Retrieved) -> str:
    passage = hit.passage
    return " ".join((passage.title, *passage.path, passage.text))


def _terms(hit: Retrieved, text: str) -> frozenset[str]:
    """The terms of a text in a passage or of its headings, in the passage's language."""
    return frozenset(terms(text, language_of(hit.passage.text)))


def _sentences(hit: Retrieved) -> list[Sentence]:
    text = hit.passage.text
    return [(text[a:b], _terms(hit, text[a:b])) for a, b in split_sentences(text)]


def _most(weights: Mapping[str, float], found: Iterable[frozenset[str]]) -> float:
    return max((weight_of(present, weights) for present in found), default=0.0)

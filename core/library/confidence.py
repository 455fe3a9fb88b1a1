"""How sure the library is that retrieved passages answer a question, without a model.

A logistic regression over how much of the question the passages cover and how far the best
ones stand out. ``tests/benchmarks/fit_confidence.py`` fits the coefficients and measures
their quality.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain, pairwise
from math import tanh

from core.library.documents import Retrieved
from core.library.lexical import highest
from core.text.intent import is_opposed
from core.text.language import language_of
from core.text.sentences import split_sentences
from core.text.terms import query_terms, terms, weight_of, weights_among

Coefficients = tuple[float, Mapping[str, float]]  # bias, then weight by feature name

# mtrag: AUC 0.883, false at 90% answered 0.28 | at 0.4: answered 0.95 from the right place 0.92, false 0.53 | at 0.5: answered 0.95 from the right place 0.92, false 0.40 | at 0.66: answered 0.92 from the right place 0.89, false 0.28 | at 0.8: answered 0.87 from the right place 0.85, false 0.23 | at 0.9: answered 0.77 from the right place 0.75, false 0.17
# clapnq: AUC 0.873, false at 90% answered 0.41 | at 0.4: answered 0.97 from the right place 0.97, false 0.58 | at 0.5: answered 0.93 from the right place 0.93, false 0.52 | at 0.66: answered 0.89 from the right place 0.89, false 0.37 | at 0.8: answered 0.83 from the right place 0.83, false 0.27 | at 0.9: answered 0.71 from the right place 0.71, false 0.15
# left_out: AUC 0.982, false at 90% answered 0.02 | at 0.4: answered 0.95 from the right place 0.93, false 0.10 | at 0.5: answered 0.93 from the right place 0.91, false 0.05 | at 0.66: answered 0.90 from the right place 0.88, false 0.02 | at 0.8: answered 0.85 from the right place 0.84, false 0.01 | at 0.9: answered 0.76 from the right place 0.75, false 0.00
# near: AUC 0.777, false at 90% answered 0.55 | at 0.4: answered 0.96 from the right place 0.94, false 0.78 | at 0.5: answered 0.94 from the right place 0.92, false 0.71 | at 0.66: answered 0.92 from the right place 0.90, false 0.61 | at 0.8: answered 0.87 from the right place 0.86, false 0.50 | at 0.9: answered 0.79 from the right place 0.78, false 0.37
# few: AUC 0.988, false at 90% answered 0.01 | at 0.4: answered 0.94 from the right place 0.92, false 0.03 | at 0.5: answered 0.93 from the right place 0.91, false 0.02 | at 0.66: answered 0.89 from the right place 0.87, false 0.00 | at 0.8: answered 0.83 from the right place 0.82, false 0.00 | at 0.9: answered 0.73 from the right place 0.73, false 0.00
# tiny: AUC 0.997, false at 90% answered 0.00 | at 0.4: answered 0.96 from the right place 0.96, false 0.00 | at 0.5: answered 0.95 from the right place 0.95, false 0.00 | at 0.66: answered 0.93 from the right place 0.93, false 0.00 | at 0.8: answered 0.87 from the right place 0.87, false 0.00 | at 0.9: answered 0.81 from the right place 0.81, false 0.00
# fastapi_questions: AUC 0.850, false at 90% answered 0.25 | at 0.4: answered 0.93 from the right place 0.93, false 0.30 | at 0.5: answered 0.90 from the right place 0.90, false 0.25 | at 0.66: answered 0.82 from the right place 0.82, false 0.20 | at 0.8: answered 0.72 from the right place 0.72, false 0.10 | at 0.9: answered 0.45 from the right place 0.45, false 0.10
# fastapi_training: AUC 0.899, false at 90% answered 0.30 | at 0.4: answered 0.86 from the right place 0.82, false 0.22 | at 0.5: answered 0.81 from the right place 0.80, false 0.18 | at 0.66: answered 0.74 from the right place 0.73, false 0.12 | at 0.8: answered 0.66 from the right place 0.65, false 0.07 | at 0.9: answered 0.57 from the right place 0.56, false 0.07
# fastapi_heldout: AUC 0.850, false at 90% answered 0.30 | at 0.4: answered 0.78 from the right place 0.70, false 0.20 | at 0.5: answered 0.65 from the right place 0.62, false 0.15 | at 0.66: answered 0.50 from the right place 0.50, false 0.05 | at 0.8: answered 0.45 from the right place 0.45, false 0.05 | at 0.9: answered 0.33 from the right place 0.33, false 0.05
WITH_VECTORS: Coefficients = (
    -8.9328,
    {
        "passage_coverage": -2.4402,
        "sentence_coverage": 1.6198,
        "window_coverage": 4.7345,
        "union_coverage": -1.2602,
        "term_coverage": 5.5847,
        "term_coverage_squared": -2.6021,
        "heading_coverage": -1.0327,
        "bm25": 1.4424,
        "bm25_top": 3.0762,
        "bm25_gap": -3.8745,
        "length": 6.0053,
        "cosine": 5.0802,
        "cosine_second": 3.4433,
        "cosine_gap": 5.2694,
        "agreement": 0.4426,
        "unknown_terms": 0.2587,
        "unknown_names": 0.1547,
        "missing_names": -5.8161,
        "missing_quantity": -6.7311,
        "opposed": -3.5524,
        "missing_number": -1.7213,
        "missing_amount": -2.7562,
    },
)
# mtrag: AUC 0.819, false at 90% answered 0.53 | at 0.4: answered 0.91 from the right place 0.85, false 0.55 | at 0.5: answered 0.86 from the right place 0.80, false 0.40 | at 0.66: answered 0.78 from the right place 0.74, false 0.30 | at 0.8: answered 0.66 from the right place 0.62, false 0.21 | at 0.9: answered 0.53 from the right place 0.53, false 0.09
# clapnq: AUC 0.787, false at 90% answered 0.57 | at 0.4: answered 0.86 from the right place 0.86, false 0.46 | at 0.5: answered 0.81 from the right place 0.81, false 0.37 | at 0.66: answered 0.73 from the right place 0.73, false 0.27 | at 0.8: answered 0.59 from the right place 0.59, false 0.17 | at 0.9: answered 0.45 from the right place 0.45, false 0.09
# left_out: AUC 0.969, false at 90% answered 0.06 | at 0.4: answered 0.94 from the right place 0.91, false 0.13 | at 0.5: answered 0.92 from the right place 0.89, false 0.08 | at 0.66: answered 0.86 from the right place 0.84, false 0.03 | at 0.8: answered 0.79 from the right place 0.77, false 0.01 | at 0.9: answered 0.66 from the right place 0.65, false 0.01
# near: AUC 0.751, false at 90% answered 0.62 | at 0.4: answered 0.95 from the right place 0.92, false 0.74 | at 0.5: answered 0.94 from the right place 0.91, false 0.70 | at 0.66: answered 0.89 from the right place 0.87, false 0.60 | at 0.8: answered 0.84 from the right place 0.82, false 0.47 | at 0.9: answered 0.73 from the right place 0.71, false 0.33
# few: AUC 0.981, false at 90% answered 0.02 | at 0.4: answered 0.91 from the right place 0.87, false 0.03 | at 0.5: answered 0.89 from the right place 0.85, false 0.01 | at 0.66: answered 0.85 from the right place 0.81, false 0.00 | at 0.8: answered 0.73 from the right place 0.70, false 0.00 | at 0.9: answered 0.58 from the right place 0.56, false 0.00
# tiny: AUC 0.989, false at 90% answered 0.01 | at 0.4: answered 0.94 from the right place 0.94, false 0.01 | at 0.5: answered 0.91 from the right place 0.91, false 0.01 | at 0.66: answered 0.86 from the right place 0.86, false 0.01 | at 0.8: answered 0.80 from the right place 0.80, false 0.01 | at 0.9: answered 0.70 from the right place 0.70, false 0.00
# fastapi_questions: AUC 0.846, false at 90% answered 0.40 | at 0.4: answered 0.90 from the right place 0.88, false 0.40 | at 0.5: answered 0.78 from the right place 0.78, false 0.30 | at 0.66: answered 0.68 from the right place 0.68, false 0.10 | at 0.8: answered 0.57 from the right place 0.57, false 0.05 | at 0.9: answered 0.35 from the right place 0.35, false 0.05
# fastapi_training: AUC 0.877, false at 90% answered 0.35 | at 0.4: answered 0.85 from the right place 0.78, false 0.28 | at 0.5: answered 0.79 from the right place 0.76, false 0.20 | at 0.66: answered 0.72 from the right place 0.71, false 0.13 | at 0.8: answered 0.66 from the right place 0.64, false 0.12 | at 0.9: answered 0.54 from the right place 0.53, false 0.05
# fastapi_heldout: AUC 0.869, false at 90% answered 0.30 | at 0.4: answered 0.78 from the right place 0.65, false 0.15 | at 0.5: answered 0.68 from the right place 0.57, false 0.15 | at 0.66: answered 0.40 from the right place 0.38, false 0.10 | at 0.8: answered 0.30 from the right place 0.28, false 0.00 | at 0.9: answered 0.15 from the right place 0.15, false 0.00
LEXICAL_ALONE: Coefficients = (
    -7.7376,
    {
        "passage_coverage": -1.5807,
        "sentence_coverage": 1.0382,
        "window_coverage": 4.4392,
        "union_coverage": -0.2544,
        "term_coverage": 8.5428,
        "term_coverage_squared": -5.3974,
        "heading_coverage": 0.7343,
        "bm25": 4.6896,
        "bm25_top": 3.9674,
        "bm25_gap": -2.3253,
        "length": 6.9164,
        "unknown_terms": 0.6444,
        "unknown_names": -0.5914,
        "missing_names": -5.7153,
        "missing_quantity": -3.2955,
        "opposed": -3.4432,
        "missing_number": -1.4149,
        "missing_amount": -2.3992,
    },
)


LOOKED_AT = 5  # best passages that the features read
CLOSEST = 3  # best passages in which a name or a number is searched
BACKGROUND = slice(10, 30)  # ranks whose scores are those of unrelated passages
SATURATION = 40.0  # few BM25 scores are higher

Sentence = tuple[str, frozenset[str]]  # its text and its terms

# A name: a word written with a capital inside the sentence, or an identifier.
_IDENTIFIER = re.compile(r"\b\w+[_./]\w+|\b\w*[a-z][A-Z]\w*")
_NAME = re.compile(rf"(?<![.?!:] )(?<!^)\b[A-Z][\w.-]*\w|{_IDENTIFIER.pattern}")
_ASKS_QUANTITY = re.compile(
    r"\bhow (?:many|much|long|often|large|big|fast|old|high)\b|\bwhen (?:is|was|will|did)\b|"
    r"\b(?:what|which) (?:date|year|number|percentage|price|size|limit|port)\b|\bon what date\b",
    re.IGNORECASE,
)
_ASKS_AMOUNT = re.compile(r"\bhow (?:many|much|long|old|far|large|big)\b", re.IGNORECASE)
_AMOUNT = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|hundred|thousand|million|half|several|many|few|dozen)\b",
    re.IGNORECASE,
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
    dense: Sequence[float] = ()  #: cosines of all candidates, best first; empty without vectors


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
    likeliest = _likeliest(sentences[:CLOSEST], weights)
    covered = max((len(weights.keys() & present) for present in found), default=0) / max(len(weights), 1)
    top_lexical, top_dense = max(observation.lexical, default=0.0), max(observation.dense, default=0.0)
    return Features(
        passage_coverage=_most(weights, found) / total,
        sentence_coverage=_most(weights, (present for each in sentences for _, present in each)) / total,
        window_coverage=_most(weights, chain(*map(_windows, sentences[:CLOSEST]))) / total,
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
        missing_quantity=float(_lacks_quantity(question, best[:CLOSEST])),
        opposed=float(is_opposed(question, likeliest)),
        missing_number=float(any(number not in likeliest for number in _NUMBER.findall(question))),
        missing_amount=float(bool(_ASKS_AMOUNT.search(question)) and not _AMOUNT.search(likeliest)),
    )


def _lacks_quantity(question: str, closest: Sequence[Retrieved]) -> bool:
    return bool(_ASKS_QUANTITY.search(question)) and not any(
        _QUANTITY.search(hit.passage.text) for hit in closest
    )


def confidence_of(observation: Observation) -> float:
    """The probability that the passages contain the answer."""
    if not observation.passages:
        return 0.0
    features = features_of(observation)
    bias, coefficients = WITH_VECTORS if observation.dense else LEXICAL_ALONE
    score = bias + sum(coefficients.get(f.name, 0.0) * getattr(features, f.name) for f in fields(features))
    return (1 + tanh(score / 2)) / 2  # the logistic function, in a form that does not overflow


def names_of(question: str) -> frozenset[str]:
    """The terms of the names in a question, which are seldom paraphrased in an answer."""
    own = language_of(question)
    pattern = _IDENTIFIER if own == "de" else _NAME  # German capitalises every noun
    names = [match.group() for match in pattern.finditer(question)]
    return frozenset(
        term for name in names for language in (own, "en") for term in query_terms(name, language)
    )


def coverage_of(question: str, passages: Sequence[Retrieved]) -> float:
    """Best share of a question's terms in one passage, 0 to 1, with weights from these passages alone."""
    weights, found = weights_among(question, [_all_text(hit) for hit in passages])
    total = sum(weights.values())
    return _most(weights, found) / total if total else 0.0


def shared_terms(question: str, hit: Retrieved) -> int:
    """How many of a question's own terms a passage and its headings contain."""
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


def _likeliest(sentences: Sequence[Sequence[Sentence]], weights: Mapping[str, float]) -> str:
    """The first sentence with most of the question's weight."""
    return max(
        chain(*sentences), key=lambda sentence: weight_of(sentence[1], weights), default=("", frozenset())
    )[0]


def _windows(sentences: Sequence[Sentence]) -> Iterator[frozenset[str]]:
    """The terms of each pair of neighbours; of a lone sentence, its own."""
    if len(sentences) == 1:
        yield sentences[0][1]
    for (_, one), (_, other) in pairwise(sentences):
        yield one | other


def _most(weights: Mapping[str, float], found: Iterable[frozenset[str]]) -> float:
    return max((weight_of(present, weights) for present in found), default=0.0)

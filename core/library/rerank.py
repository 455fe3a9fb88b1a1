"""Ranking candidates by their scores, and by where and how closely they contain the question's terms.

BM25 rewards a passage that repeats one rare word. A passage that answers contains most of the question's
terms, close together or in its headings, in a document about them. The credits were fitted as a conditional
logistic regression over questions as colleagues type them, SQuAD 2, MTRAG, CLAPNQ and FastAPI's headings,
and confirmed by cross-validation; tests/benchmarks/drafts_retrieval.py measures what they are worth.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from core.library.lexical import Words
from core.library.sameness import CHATTY, sameness
from core.text.terms import weight_of

LEXICAL_CREDIT = 1.0  # of a passage's BM25, relative to the best one's, without vectors
LEXICAL_BESIDE = 0.36  # of it beside vectors
MEANING_CREDIT = 1.31  # of the cosine, relative to the best one's
COVERAGE_CREDIT = 0.89  # of the question's share in the passage and its headings
HEADING_CREDIT = 0.82  # of how well the headings match the question
WINDOW_CREDIT = 0.7  # of the question's best share in WINDOW consecutive terms of the text
WINDOW = 15
DOCUMENT_CREDIT = 0.33  # of the question's share in the candidates of the same document together
LENGTH_CREDIT = 0.51  # of the number of terms, up to ENOUGH_TERMS: a passage of one line rarely answers
ENOUGH_TERMS = 40
#: Of how much the question that a person answered is the same as this one: their answer then goes before documents that
#: say as much. Judges decide about it as about any other passage.
ANSWERED_CREDIT = 1.5
NAMED_CREDIT = 0.6  # for a document that the question names, of how surely
CITED_CREDIT = 0.8  # for a document that the last answer cited, if the question points back to it

STEM = 4  # letters; if a term this long begins another, they may be the same word: repo, config, async
PREFIX_WEIGHT = 0.5  # the weight of such a term
#: The weight of words about how one asks, not about what.
CHATTY_WEIGHT = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A candidate with the scores of the indexes."""

    document: str  #: the same for the passages of one document
    words: Words
    lexical: float  #: BM25, relative to the best candidate's
    dense: float | None  #: cosine, relative to the best; None without vectors
    answered: frozenset[str] = frozenset()  #: terms of the question that it answers, of a person's answer
    closeness: float = 0.0  #: of that question to this one by meaning; 0 without vectors
    named: float = 0.0  #: how surely the question names its document, 0 to 1
    is_cited: bool = False  #: the last answer cited its document, and the question points back to it


def rerank(candidates: Mapping[str, Scored], weights: Mapping[str, float]) -> dict[str, float]:
    """Scores by id, 1 for the best candidate; ``weights`` are those of the question's terms."""
    adjusted = {term: w * (CHATTY_WEIGHT if term in CHATTY else 1.0) for term, w in weights.items()}
    total = sum(adjusted.values()) or 1.0
    question = {term: weight / total for term, weight in adjusted.items()}
    documents: dict[str, set[str]] = {}
    for each in candidates.values():
        documents.setdefault(each.document, set()).update(*each.words)
    shares = {document: weight_of(present, question) for document, present in documents.items()}
    scores = {
        number: _score(each, question) + DOCUMENT_CREDIT * shares[each.document]
        for number, each in candidates.items()
    }
    best = max(scores.values(), default=0.0) or 1.0
    return {number: max(score, 0.0) / best for number, score in scores.items()}


def _score(candidate: Scored, question: Mapping[str, float]) -> float:
    title, body = candidate.words
    found = LEXICAL_CREDIT * candidate.lexical
    if candidate.dense is not None:
        found = LEXICAL_BESIDE * candidate.lexical + MEANING_CREDIT * candidate.dense
    return (
        found
        + NAMED_CREDIT * candidate.named
        + CITED_CREDIT * candidate.is_cited
        + ANSWERED_CREDIT * (_sameness(candidate, question) if candidate.answered else 0.0)
        + COVERAGE_CREDIT * _prefix_share({*title, *body}, question)
        + HEADING_CREDIT * _agreement(frozenset(title), question)
        + WINDOW_CREDIT * _closest_share(body, question)
        + LENGTH_CREDIT * min(len(body) / ENOUGH_TERMS, 1.0)
    )


def _prefix_share(present: Collection[str], question: Mapping[str, float]) -> float:
    """The question's share in these terms; terms with the same beginning count in part."""
    joined, share = f" {' '.join(present)}", 0.0
    for term, weight in question.items():
        if term in present:
            share += weight
        elif len(term) >= STEM:
            begins_one = f" {term}" in joined
            if begins_one or any(term[:length] in present for length in range(STEM, len(term))):
                share += PREFIX_WEIGHT * weight
    return share


def _sameness(candidate: Scored, question: Mapping[str, float]) -> float:
    """Words about how one asks do not tell one question from another."""
    asked = {term: weight for term, weight in question.items() if term not in CHATTY} or question
    answered = candidate.answered - CHATTY or candidate.answered
    agreement = _agreement(answered, asked)
    return sameness(answered, asked.keys(), agreement=agreement, closeness=candidate.closeness)


def _agreement(title: Collection[str], question: Mapping[str, float]) -> float:
    """Harmonic mean of the question's share in the headings and of theirs in the question."""
    recall = weight_of(title, question)
    precision = sum(term in question for term in title) / max(len(title), 1)
    return 2 * recall * precision / (recall + precision) if recall and precision else 0.0


def _closest_share(body: Sequence[str], question: Mapping[str, float]) -> float:
    """The question's best share in WINDOW consecutive terms."""
    positions = [position for position, term in enumerate(body) if term in question]
    inside: Counter[str] = Counter()
    first, share, best = 0, 0.0, 0.0
    for position in positions:
        while positions[first] <= position - WINDOW:
            left = body[positions[first]]
            inside[left] -= 1
            share -= 0.0 if inside[left] else question[left]
            first += 1
        inside[body[position]] += 1
        share += question[body[position]] if inside[body[position]] == 1 else 0.0
        best = max(best, share)
    return best

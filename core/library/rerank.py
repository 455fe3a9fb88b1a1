"""The order of the candidates: where and how closely they hold what is asked, beside their scores.

BM25 rewards a passage that says one rare word often; an answer holds most of the question, close
together or in its headings, on a page about it. The credits were fitted as a conditional logistic
regression over questions as colleagues type them, SQuAD 2, MTRAG, CLAPNQ and FastAPI's headings, and
confirmed on folds left out; tests/benchmarks/drafts_retrieval.py says what they are worth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from core.library.lexical import Words

LEXICAL_CREDIT = 1.0  # of a passage's BM25 over the best one, where words are all there is
LEXICAL_BESIDE, MEANING_CREDIT = 0.36, 1.31  # of it beside vectors, and of the cosine over the best one
COVERAGE_CREDIT = 0.89  # of the share of the question in the passage and its headings
HEADING_CREDIT = 0.82  # for headings that say what is asked and little else
WINDOW_CREDIT = 0.7  # of the best share of the question in so many terms of the text:
WINDOW = 15
DOCUMENT_CREDIT = 0.33  # of the share that the candidates of the same document hold together
LENGTH_CREDIT = 0.51  # of the terms up to so many: a passage of one line seldom answers
ENOUGH_TERMS = 40
CITED_CREDIT = 0.8  # for a document that the talk is about, where the question points back to it

STEM = 4  # letters from which a term that begins another may be the same word: repo, config, async
KINSHIP = 0.5  # what such a term counts for
#: What words weigh that say how one asks rather than what about.
CHATTY_WEIGHT = 0.5
_CHATTY = """
    actual almost alreadi also alway anoth answer anyth around ask away back best better call chang come
    describ differ dont els end even ever everi everyth exact expect explain find first get give go gone
    good got happen hello help hi instead ive keep kind know last let like look lot make mean much must need
    never new next noth often old one otherwis part pleas possibl probabl put quit realli right same say see
    seem set shall show someth sometim soon sort start stay still stop sure take tell thank thing think
    though time tri two understand use usual want way well whats wonder work wrong yet
"""
CHATTY = frozenset(_CHATTY.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A candidate as the indexes found it."""

    document: str  #: the same for the passages of one document
    words: Words
    lexical: float  #: BM25 over that of the best candidate
    dense: float | None  #: cosine over that of the best; None where there are no vectors
    is_cited: bool = False  #: its document was cited by the last answer, to which the question points back


def rerank(candidates: Mapping[str, Scored], weights: Mapping[str, float]) -> dict[str, float]:
    """Scores by id, 1 for the best candidate; ``weights`` are those of the question's terms."""
    telling = {term: w * (CHATTY_WEIGHT if term in CHATTY else 1.0) for term, w in weights.items()}
    total = sum(telling.values()) or 1.0
    asked = {term: weight / total for term, weight in telling.items()}
    documents: dict[str, set[str]] = {}
    for each in candidates.values():
        documents.setdefault(each.document, set()).update(*each.words)
    shares = {document: _share(held, asked) for document, held in documents.items()}
    scores = {
        number: _score(each, asked) + DOCUMENT_CREDIT * shares[each.document]
        for number, each in candidates.items()
    }
    best = max(scores.values(), default=0.0) or 1.0
    return {number: max(score, 0.0) / best for number, score in scores.items()}


def _score(candidate: Scored, asked: Mapping[str, float]) -> float:
    title, body = candidate.words
    found = (
        LEXICAL_CREDIT * candidate.lexical
        if candidate.dense is None
        else LEXICAL_BESIDE * candidate.lexical + MEANING_CREDIT * candidate.dense
    )
    return (
        found
        + CITED_CREDIT * candidate.is_cited
        + COVERAGE_CREDIT * _kindred_share({*title, *body}, asked)
        + HEADING_CREDIT * _agreement(frozenset(title), asked)
        + WINDOW_CREDIT * _closest_share(body, asked)
        + LENGTH_CREDIT * min(len(body) / ENOUGH_TERMS, 1.0)
    )


def _share(held: Collection[str], asked: Mapping[str, float]) -> float:
    return sum(weight for term, weight in asked.items() if term in held)


def _kindred_share(held: Collection[str], asked: Mapping[str, float]) -> float:
    """The share of the question that these terms hold, terms of the same beginning counted in part."""
    told = f" {' '.join(held)}"
    return sum(
        weight if term in held else KINSHIP * weight * _has_kin(term, held, told)
        for term, weight in asked.items()
    )


def _has_kin(term: str, held: Collection[str], told: str) -> bool:
    """Whether one of the terms begins with this one, or this one with it."""
    return len(term) >= STEM and (
        f" {term}" in told or any(term[:length] in held for length in range(STEM, len(term)))
    )


def _agreement(title: Collection[str], asked: Mapping[str, float]) -> float:
    """Harmonic mean of the question's share in the headings, and of theirs in the question."""
    said = _share(title, asked)
    meant = sum(term in asked for term in title) / max(len(title), 1)
    return 2 * said * meant / (said + meant) if said and meant else 0.0


def _closest_share(body: Sequence[str], asked: Mapping[str, float]) -> float:
    """The best share of the question within WINDOW terms that follow one another."""
    places = [place for place, term in enumerate(body) if term in asked]
    inside: Counter[str] = Counter()
    first, share, best = 0, 0.0, 0.0
    for place in places:
        while places[first] <= place - WINDOW:
            left = body[places[first]]
            inside[left] -= 1
            share -= 0.0 if inside[left] else asked[left]
            first += 1
        inside[body[place]] += 1
        share += asked[body[place]] if inside[body[place]] == 1 else 0.0
        best = max(best, share)
    return best

"""The offline reasoner: finds, quotes and cites verbatim sentences; no language model.

Deterministic and local. It composes nothing, so what it writes is supported by
construction; whether it answers is what the library's confidence says.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from core.conversation import QUERY_LIMIT, Usage
from core.library.documents import Passage, Retrieved
from core.reasoning.reasoner import (
    Ask,
    Draft,
    Grade,
    Grades,
    Grounded,
    Plan,
    Rejected,
    Relevance,
    Statement,
    Strip,
)
from core.text.characters import one_line
from core.text.followup import (
    REMEMBERED_QUESTIONS,
    cited_before,
    is_whole,
    names_its_subject,
    needs_history,
    points_back,
    subjects,
)
from core.text.language import language_of
from core.text.quoting import is_quotable
from core.text.selection import Candidate, candidates
from core.text.sentences import STOP_WORDS, split_units
from core.text.smalltalk import small_talk
from core.text.terms import query_terms, terms, weights_among

#: cosines of texts with a question, in order; None where there are no vectors
Similarity = Callable[[str, Sequence[str]], Awaitable[Sequence[float]]]

SURVIVING = 2  # best-ranked passages that stay in whatever their words say
QUOTES = 3  # at most this many quotes in one answer
ENOUGH = 0.76  # a further quote must score this share of the best one,
RANK_CREDIT = 2.0  # of its passage's score, for its place among the quotes
ADDS = 0.05  # and hold this share of the question that the ones before it lack,
GAP = 2  # or begin where one ends: at most so many characters behind it
TALK_CREDIT = 0.3  # of the score, for a quote of what the last answer cited, where the question points back
SAID_AGAIN = 0.6  # of its score is left to a quote that the last answer held: a follow-up wants what is new
SAID_LENGTH = 60  # characters by which such a quote is recognised
EVIDENCE_ENOUGH = 0.78  # a further sentence must score this share of the best one to be evidence
EVIDENCE_PER_PASSAGE = 3  # sentences of one passage that may be quoted
MEANING_PASSAGES = 3  # best passages whose sentences are compared by meaning
MEANING_SENTENCES = 40  # sentences compared by meaning for one question
CORRECT, AMBIGUOUS = 0.55, 0.25  # share of the question's weight in a passage and its headings
NEAR, RELATED = 0.6, 0.35  # cosine of a passage with the question that says the same

_POLITE = re.compile(
    r"^(?:(?:hi|hello|hey|ok|please|so|well|um+)\b[\s,]*)*(?:(?:can|could|would) (?:you|someone|anyone) (?:please )?"
    r"(?:tell|explain|show|help)(?: me| us)?(?: with| about)?\s*|do you know\s*|i(?:'d| would) like to know\s*|"
    r"i (?:want|need) to know\s*|tell me(?: about)?\s*)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ExtractiveReasoner:
    """Quotes what the documents say; ``similarity`` adds meaning where there are vectors."""

    similarity: Similarity | None = None

    @property
    def usage(self) -> Usage:
        return Usage()

    @property
    def trouble(self) -> None:
        return None

    async def plan(self, ask: Ask) -> Plan:
        if reply := small_talk(ask.question):
            return Plan(route="none", standalone=ask.question, reply=reply)
        standalone = standalone_question(ask)
        return Plan(
            route="documents",
            standalone=standalone,
            queries=(keywords(standalone),),
            web_query=web_query(standalone),
        )

    async def grade(self, ask: Ask, passages: tuple[Retrieved, ...]) -> Grades:
        weights = _weights(ask, passages)
        ranked = await self.rank(ask, passages)
        return Grades(of={hit.passage.id: _grade(hit, i, weights, ranked) for i, hit in enumerate(passages)})

    async def rank(self, ask: Ask, passages: Sequence[Retrieved]) -> list[Candidate]:
        """The quotable units of the passages, likeliest first."""
        meaning = await self._meaning(ask, passages)
        return candidates(ask.question, _weights(ask, passages), passages, meaning)

    async def write(self, ask: Ask, strips: tuple[Strip, ...], before: Rejected | None = None) -> Draft:  # noqa: ARG002
        """The best strips as they stand, each with its footnote."""
        strips = tuple(strip for strip in strips if _is_quotable(strip))
        hits = tuple(strip.retrieved for strip in strips)
        weights = _weights(ask, hits)
        scores = [_strip_score(ask, weights, strip) for strip in strips]
        order = sorted(
            range(len(strips)),
            key=lambda i: (-scores[i] - RANK_CREDIT * strips[i].retrieved.score, strips[i].number),
        )
        enough = min(ENOUGH * max(scores, default=0.0), max(scores, default=0.0))  # a score may be below 0
        likely = [strips[i] for i in order if scores[i] >= enough]
        quotes = tuple(strip.number for strip in _quotes(likely, _own(ask, weights)))
        return Draft(text="", composed=False, quotes=quotes, answers=bool(quotes))

    async def quote(self, ask: Ask, strips: tuple[Strip, ...]) -> Draft:
        return await self.write(ask, strips)

    async def check_grounding(
        self,
        statements: tuple[Statement, ...],
        strips: tuple[Strip, ...],
        ballot: int = 0,  # noqa: ARG002
    ) -> Grounded:
        """A sentence is unsupported when too few of its words stand in any one strip."""
        return Grounded(
            judged=tuple(statement.number for statement in statements),
            unsupported=tuple(s.number for s in statements if not _is_held(s.text, strips)),
        )

    async def check_usefulness(self, ask: Ask, text: str) -> bool | None:  # noqa: ARG002
        """No verdict: whether quotes answer the question is what the library's confidence says."""
        return None

    async def _meaning(self, ask: Ask, passages: Sequence[Retrieved]) -> Mapping[tuple[int, int], float]:
        """Cosine of the best passages' sentences with the question, by (passage, unit)."""
        if self.similarity is None:
            return {}
        keys, texts = [], []
        for index, hit in enumerate(passages[:MEANING_PASSAGES]):
            for number, unit in enumerate(split_units(hit.passage.text)):
                if unit.kind in ("sentence", "item"):
                    keys.append((index, number))
                    texts.append(hit.passage.text[unit.start : unit.end])
        texts = texts[:MEANING_SENTENCES]
        return dict(zip(keys, await self.similarity(ask.question, texts), strict=False)) if texts else {}


def standalone_question(ask: Ask) -> str:
    """The question with its subject from the thread, where it leans on it and something there names one."""
    thread_context = [remark.text for remark in subjects(ask.thread_context)]
    earlier = [*thread_context, *(exchange.question for exchange in ask.history)][-REMEMBERED_QUESTIONS:]
    subject = next((asked for asked in reversed(earlier) if names_its_subject(asked)), None)
    if subject is None or is_whole(ask.question) or not _leans(ask):
        return ask.question
    return f"{subject.rstrip(' ?.!')} – {ask.question}"


def _leans(ask: Ask) -> bool:
    """Whether the retrieval took what was asked before as asked too; by the words alone where none was made."""
    own = _own_terms(ask.question)
    return any(term not in own for term in ask.weights) if ask.weights else needs_history(ask.question)


def keywords(question: str) -> str:
    """The telling words of a question, in order."""
    words = re.findall(r"[.#]?\w(?:[\w.+#'-]*\w)?", question)
    return " ".join(word for word in words if word.lower() not in STOP_WORDS) or question


def web_query(question: str) -> str:
    """What would be asked of a search engine: the question without its politeness, on one line."""
    line = one_line(question, len(question))
    return one_line(_POLITE.sub("", line).rstrip(" ?.!") or line, QUERY_LIMIT)


def _weights(ask: Ask, passages: Sequence[Retrieved]) -> Mapping[str, float]:
    """The retrieval's term weights; for web passages, which no index knows, weights among themselves."""
    if _own_terms(ask.question) & ask.weights.keys():
        return ask.weights
    return weights_among(ask.question, [hit.passage.text for hit in passages])[0]


def _own_terms(question: str) -> set[str]:
    """The terms of a question, by its own language and as English ones: documents may have either."""
    return {*query_terms(question), *query_terms(question, language_of(question))}


def _grade(hit: Retrieved, index: int, weights: Mapping[str, float], ranked: Sequence[Candidate]) -> Grade:
    passage = hit.passage
    text = " ".join((passage.title, *passage.path, passage.text))
    present = frozenset(terms(text, language_of(passage.text)))
    share = sum(w for term, w in weights.items() if term in present) / (sum(weights.values()) or 1.0)
    meaning = hit.dense or 0.0
    relevance: Relevance = "incorrect"
    if share >= CORRECT or meaning >= NEAR:
        relevance = "correct"
    elif share >= AMBIGUOUS or meaning >= RELATED or index < SURVIVING:
        relevance = "ambiguous"
    best = max((c.score for c in ranked), default=0.0)
    evidence = [c.unit + 1 for c in ranked if c.passage == index and c.score >= EVIDENCE_ENOUGH * best][
        :EVIDENCE_PER_PASSAGE
    ]
    top = [c.unit + 1 for c in ranked if c.passage == index][:1]
    return Grade(relevance=relevance, evidence=tuple(evidence or top))


def _strip_score(ask: Ask, weights: Mapping[str, float], strip: Strip) -> float:
    """How well a strip answers: its own best sentence within its passage's headings."""
    hit = strip.retrieved
    alone = Retrieved(passage=_cut(hit, strip), score=hit.score, lexical=hit.lexical, dense=hit.dense)
    ranked = candidates(ask.question, weights, (alone,))
    is_known = bool(ask.history) and strip.text[:SAID_LENGTH] in ask.history[-1].answer
    is_cited = points_back(ask.question) and hit.passage.source in cited_before(ask.history)
    score = (ranked[0].score if ranked else 0.0) * (SAID_AGAIN if is_known else 1.0)
    return score + TALK_CREDIT * is_cited


def _own(ask: Ask, weights: Mapping[str, float]) -> Mapping[str, float]:
    """The weights of the question's own terms; where it has none that tell, of what was asked before too."""
    own = _own_terms(ask.question)
    return {term: weight for term, weight in weights.items() if term in own} or weights


def _quotes(likely: Sequence[Strip], weights: Mapping[str, float]) -> list[Strip]:
    """The best strip, and of the others those that say what it leaves out or go on from it."""
    chosen = list(likely[:1])
    for strip in likely[1:]:
        if len(chosen) < QUOTES and (
            any(_follows(strip, other) for other in chosen) or _added(strip, chosen, weights) >= ADDS
        ):
            chosen.append(strip)
    return chosen[:QUOTES]


def _added(strip: Strip, chosen: Sequence[Strip], weights: Mapping[str, float]) -> float:
    """Share of the question that the strip holds, and neither the chosen ones nor their headings do."""
    said = {term for other in chosen for term in _terms_of(other)}
    new = set(terms(strip.text)) - said
    return sum(weight for term, weight in weights.items() if term in new) / (sum(weights.values()) or 1.0)


def _terms_of(strip: Strip) -> list[str]:
    passage = strip.retrieved.passage
    return terms(" ".join((passage.title, *passage.path, strip.text)))


def _follows(strip: Strip, before: Strip) -> bool:
    """Whether only white space lies between them."""
    one, other = strip.retrieved.passage, before.retrieved.passage
    return (one.collection, one.source) == (
        other.collection,
        other.source,
    ) and 0 <= strip.start - before.end <= GAP


def _is_quotable(strip: Strip) -> bool:
    """Whether it holds more than headings and markup."""
    passage = strip.retrieved.passage
    return is_quotable(passage.text, strip.start - passage.start, strip.end - passage.start)


def _cut(hit: Retrieved, strip: Strip) -> Passage:
    return replace(hit.passage, text=strip.text, start=strip.start, end=strip.end)


def _is_held(sentence: str, strips: Sequence[Strip]) -> bool:
    words = set(query_terms(sentence))
    return not words or any(len(words & set(terms(s.text))) >= 0.6 * len(words) for s in strips)

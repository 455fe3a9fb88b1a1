"""The offline reasoner: quotes sentences verbatim, without a language model.

It is deterministic. Quotes need no check; whether they answer is left to the library's confidence.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from core.characters import one_line
from core.conversation import QUERY_LIMIT, ModelExchange, Usage
from core.library.documents import Passage, Retrieved
from core.library.sameness import Dated, answers_another, are_rivals, differ, is_newer, newer_first
from core.reasoning.reasoner import Ask, Draft, Grade, Grades, Grounded, Plan, Statements, Strip, Strips
from core.reasoning.selection import Candidate, candidates
from core.text import intent
from core.text.language import language_of
from core.text.quoting import is_quotable
from core.text.sentences import STOP_WORDS, split_units
from core.text.terms import query_terms, terms, weights_among

#: The cosines of texts with a question, in order.
Similarity = Callable[[str, Sequence[str]], Awaitable[Sequence[float]]]

SURVIVING = 2  # best-ranked passages that are never graded incorrect
QUOTES = 3  # quotes in one answer, at most
# A further quote must score this share of the best one, and either add ADDS of the question's weight or begin
# at most GAP characters after another quote.
ENOUGH = 0.76
ADDS = 0.05
GAP = 2
RANK_CREDIT = 2.0  # of the passage's score, in the order of quotes
FOLLOW_UP_CREDIT = 0.3  # for a source of the last answer, if the question points back
REPEATED = 0.6  # of the score, for a quote of the last answer: a follow-up asks for something new
REPEATED_LENGTH = 60  # characters that are compared to recognise such a quote
EVIDENCE_ENOUGH = 0.78  # a further sentence of evidence must score this share of the best one
EVIDENCE_PER_PASSAGE = 3  # sentences of one passage that may be quoted
MEANING_PASSAGES = 3  # best passages whose sentences are compared by meaning
MEANING_SENTENCES = 40  # sentences compared by meaning for one question
CORRECT, AMBIGUOUS = 0.55, 0.25  # share of the question's weight in a passage and its headings
NEAR, RELATED = 0.6, 0.35  # the same by cosine of the passage with the question
SUPPORTING = 0.6  # share of a sentence's words that a strip must have to support it
ENTRIES, ENTRIES_SHARE = 4, 0.7  # of a table of contents, and their share of its lines

_ENTRY = re.compile(r"- .*\s(\d{1,4})")
_POLITE = re.compile(
    r"^(?:(?:hi|hello|hey|ok|please|so|well|um+)\b[\s,]*)*(?:(?:can|could|would) (?:you|someone|anyone) (?:please )?"
    r"(?:tell|explain|show|help)(?: me| us)?(?: with| about)?\s*|do you know\s*|i(?:'d| would) like to know\s*|"
    r"i (?:want|need) to know\s*|tell me(?: about)?\s*)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ExtractiveReasoner:
    similarity: Similarity | None = None  #: None: by words alone

    usage: Usage = field(default_factory=Usage, init=False)
    exchanges: tuple[ModelExchange, ...] = field(default=(), init=False)
    trouble: None = field(default=None, init=False)

    async def plan(self, ask: Ask) -> Plan:
        if reply := intent.small_talk(ask.question):
            return Plan(route="none", standalone=ask.question, reply=reply)
        asked = standalone_question(ask)
        queries = (keywords(asked),)
        return Plan(route="documents", standalone=asked, queries=queries, web_query=web_query(asked))

    async def grade(self, ask: Ask, passages: tuple[Retrieved, ...]) -> Grades:
        weights = _weights(ask, passages)
        ranked = await self.rank(ask, passages)
        is_substitution = _needs_subject(ask) and intent.replaces_subject(ask.question)
        grades = {hit.passage.id: _grade(hit, i, weights, ranked) for i, hit in enumerate(passages)}
        for passage in (hit.passage for hit in passages):
            is_beside = answers_another(ask.question, passage, is_substitution=is_substitution)
            if is_beside or lists_pages(passage):
                grades[passage.id] = Grade(relevance="incorrect")
        return Grades(of=grades)

    async def rank(self, ask: Ask, passages: Sequence[Retrieved]) -> list[Candidate]:
        """The quotable units of the passages, likeliest first, by their words and some by their meaning."""
        sentences = [
            ((index, number), hit.passage.text[unit.start : unit.end])
            for index, hit in enumerate(passages[:MEANING_PASSAGES] if self.similarity else ())
            for number, unit in enumerate(split_units(hit.passage.text))
            if unit.kind in ("sentence", "item")
        ][:MEANING_SENTENCES]
        meaning = {}
        if self.similarity and sentences:
            keys, texts = zip(*sentences, strict=True)
            meaning = dict(zip(keys, await self.similarity(ask.question, texts), strict=False))
        return candidates(ask.question, _weights(ask, passages), passages, meaning)

    async def write(self, ask: Ask, strips: Strips, before: object = None, hear: object = None) -> Draft:  # noqa: ARG002
        return quote(ask, strips)

    async def check_grounding(self, statements: Statements, strips: Strips, ballot: int = 0) -> Grounded:  # noqa: ARG002
        """A sentence is unsupported if no strip has enough of its words."""
        held, unsupported = [set(terms(strip.text)) for strip in strips], []
        for statement in statements:
            words = set(query_terms(statement.text))
            if words and not any(len(words & each) >= SUPPORTING * len(words) for each in held):
                unsupported.append(statement.number)
        return Grounded(judged=tuple(each.number for each in statements), unsupported=tuple(unsupported))

    async def confirm(self, statements: Statements, strips: Strips, ballot: int = 0) -> frozenset[int]:  # noqa: ARG002
        """Confirm nothing: words alone are not enough."""
        return frozenset()

    async def check_usefulness(self, ask: Ask, text: str) -> bool | None:  # noqa: ARG002
        """Give no verdict: the library's confidence decides."""
        return None


def quote(ask: Ask, strips: Strips) -> Draft:
    """A draft of the best strips, verbatim, each with its footnote."""
    strips = tuple(strip for strip in strips if is_quotable(strip.passage.text, *strip.within))
    if strips and ask.history and ask.weights and _needs_subject(ask):
        # A follow-up is about the document of its best passage: others share its few words by chance.
        best_of = max(strips, key=lambda strip: strip.retrieved.score + _follow_up_credit(ask, strip))
        strips = tuple(strip for strip in strips if _document_of(strip) == _document_of(best_of))
    weights = _weights(ask, tuple(strip.retrieved for strip in strips))
    scores = [_strip_score(ask, weights, strip) for strip in strips]
    order = sorted(
        range(len(strips)),
        key=lambda i: (-scores[i] - RANK_CREDIT * strips[i].retrieved.score, strips[i].number),
    )
    best = max(scores, default=0.0)
    least = min(ENOUGH * best, best)  # scores may be negative
    likely = newer_first(_likely([(strips[i], scores[i] >= least) for i in order]), _date)
    terms_asked = _own_terms(ask.question)
    own = {term: weight for term, weight in weights.items() if term in terms_asked} or weights
    chosen, is_newer_first = _with_older(_quotes(likely, own), likely)
    quotes = tuple(strip.number for strip in chosen)
    return Draft(text="", composed=False, quotes=quotes, answers=bool(quotes), is_newer_first=is_newer_first)


def _follow_up_credit(ask: Ask, strip: Strip) -> float:
    is_cited = strip.passage.source in intent.recent_sources(ask.history)
    return FOLLOW_UP_CREDIT * (is_cited and intent.points_back(ask.question))


def _document_of(strip: Strip) -> tuple[str, str]:
    return strip.passage.collection, strip.passage.source


def _likely(ordered: Sequence[tuple[Strip, bool]]) -> list[Strip]:
    """The strips worth a quote, and what else people answered to a question that one of them answers."""
    likely = [strip for strip, is_worth in ordered if is_worth]
    answers = [dated for strip in likely if (dated := _date(strip)).question]
    others = [strip for strip, is_worth in ordered if not is_worth]
    return likely + [each for each in others if any(are_rivals(_date(each), answer) for answer in answers)]


def standalone_question(ask: Ask) -> str:
    """The question, with its subject from an earlier question if it has none."""
    messages = [message.text for message in intent.subjects(ask.thread_context)]
    asked = (exchange.question for exchange in ask.history)
    earlier = [*messages, *asked, *(message.text for message in ask.quoted)][-intent.REMEMBERED_QUESTIONS :]
    others = (question for question in reversed(earlier) if question != ask.question)
    subject = next((question for question in others if intent.names_its_subject(question)), None)
    if subject is None or intent.is_whole(ask.question) or not _needs_subject(ask):
        return ask.question
    return f"{subject.rstrip(' ?.!')} – {ask.question}"


def _needs_subject(ask: Ask) -> bool:
    """True if the retrieval added terms of earlier questions; before a retrieval, by the question's words."""
    own = _own_terms(ask.question)
    return any(term not in own for term in ask.weights) if ask.weights else intent.needs_history(ask.question)


def keywords(question: str) -> str:
    """The words of a question without stop words, in order."""
    words = re.findall(r"[.#]?\w(?:[\w.+#'-]*\w)?", question)
    return " ".join(word for word in words if word.lower() not in STOP_WORDS) or question


def web_query(question: str) -> str:
    """The question for a search engine: on one line, without polite phrases."""
    line = one_line(question, len(question))
    return one_line(_POLITE.sub("", line).rstrip(" ?.!") or line, QUERY_LIMIT)


def _weights(ask: Ask, passages: Sequence[Retrieved]) -> Mapping[str, float]:
    """The retrieval's term weights; for web passages, which are not indexed, weights counted over them."""
    if _own_terms(ask.question) & ask.weights.keys():
        return ask.weights
    return weights_among(ask.question, [hit.passage.text for hit in passages])[0]


def _own_terms(question: str) -> set[str]:
    """The terms of a question, stemmed in its own language and as English."""
    return {*query_terms(question), *query_terms(question, language_of(question))}


def _grade(hit: Retrieved, index: int, weights: Mapping[str, float], ranked: Sequence[Candidate]) -> Grade:
    passage = hit.passage
    text = " ".join((passage.title, *passage.path, passage.text))
    present = frozenset(terms(text, language_of(passage.text)))
    share = sum(w for term, w in weights.items() if term in present) / (sum(weights.values()) or 1.0)
    meaning = hit.dense or 0.0
    least = EVIDENCE_ENOUGH * max((c.score for c in ranked), default=0.0)
    own = [c for c in ranked if c.passage == index]
    best = [c for c in own if c.score >= least][:EVIDENCE_PER_PASSAGE] or own[:1]
    evidence = tuple(c.unit + 1 for c in best)
    if share >= CORRECT or meaning >= NEAR:
        return Grade(relevance="correct", evidence=evidence)
    is_about_it = share >= AMBIGUOUS or meaning >= RELATED or index < SURVIVING
    return Grade(relevance="ambiguous" if is_about_it else "incorrect", evidence=evidence)


def _strip_score(ask: Ask, weights: Mapping[str, float], strip: Strip) -> float:
    """The score of its best sentence, read where it stands."""
    start, end = strip.within
    ranked = candidates(ask.question, weights, (strip.retrieved,))
    score = next((each.score for each in ranked if start <= each.span.start and each.span.end <= end), 0.0)
    is_repeated = bool(ask.history) and strip.text[:REPEATED_LENGTH] in ask.history[-1].answer
    return score * (REPEATED if is_repeated else 1.0) + _follow_up_credit(ask, strip)


def _quotes(likely: Sequence[Strip], weights: Mapping[str, float]) -> list[Strip]:
    """The best strip, and others that add something or directly follow a chosen one."""
    chosen = list(likely[:1])
    for strip in likely[1:]:
        beside = (other.end for other in chosen if _document_of(other) == _document_of(strip))
        is_next = any(0 <= strip.start - end <= GAP for end in beside)  # only white space lies between them
        if len(chosen) < QUOTES and (is_next or _gain(strip, chosen, weights) >= ADDS):
            chosen.append(strip)
    return chosen


def _with_older(chosen: Sequence[Strip], likely: Sequence[Strip]) -> tuple[list[Strip], bool]:
    """The quotes, and behind the first one what an older document says otherwise; whether one does."""
    if not chosen:
        return [], False
    first, *others = chosen
    newest = _date(first)
    dated = ((strip, _date(strip)) for strip in likely)
    older = [strip for strip, own in dated if is_newer(newest, own) and differ(newest, own)][:1]
    rest = [strip for strip in others if strip not in older]
    return [first, *older, *rest][:QUOTES], bool(older)


def _date(strip: Strip) -> Dated:
    return Dated.of(strip.passage, terms(strip.text, language_of(strip.text)))


def _gain(strip: Strip, chosen: Sequence[Strip], weights: Mapping[str, float]) -> float:
    """Share of the question's weight in the strip but not in the chosen strips or their headings."""
    known = (terms(" ".join((each.passage.title, *each.passage.path, each.text))) for each in chosen)
    new = set(terms(strip.text)).difference(*known)
    return sum(weight for term, weight in weights.items() if term in new) / (sum(weights.values()) or 1.0)


def lists_pages(passage: Passage) -> bool:
    """True for a part of a table of contents. Most of its lines are items that end with a page, which never
    falls."""
    lines = [line for line in passage.text.splitlines() if line.strip()]
    pages = [int(found[1]) for line in lines if (found := _ENTRY.fullmatch(line))]
    is_printed = passage.location.startswith("page")
    return is_printed and len(pages) >= max(ENTRIES, ENTRIES_SHARE * len(lines)) and pages == sorted(pages)

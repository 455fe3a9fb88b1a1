"""Selection of the sentences of a passage that answer a question: scores from words, headings, neighbours and meaning.

A sentence with every content word of the question scores 1; the credits are shares of that. They were fitted
on one half of the articles of SQuAD 2 and CLAPNQ, with and without vectors, and confirmed on the other half,
both ways round. ``tests/benchmarks/fit_selection.py`` searches for better ones.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise

from core.library.documents import Passage, Retrieved
from core.text.intent import Intent, intent_of, is_open
from core.text.language import language_of
from core.text.quoting import HEADING_SIGNS
from core.text.sentences import Unit, split_units
from core.text.terms import has_content, query_terms, terms

HEADING_CREDIT = 0.5  # for a question term in the headings above a sentence
PREVIOUS_CREDIT = 0.4  # for one in the sentence before
PRONOUN_CREDIT = 0.3  # added to it where the sentence begins with a pronoun
PHRASE_CREDIT = 0.6  # for neighbouring words that are neighbours in the question too
PASSAGE_CREDIT = 1.2  # of the passage's own score
MEANING_CREDIT = 0.65  # of the cosine between question and sentence
CUE_CREDIT = 0.28  # for a sentence that holds the kind of thing asked for
NAMES_CREDIT = 0.08  # for names that are not in the question: an answer says something new
#: For a heading above that names what is asked about, and nothing else.
SUBJECT_CREDIT: Mapping[Intent, float] = {"definition": 1.6, "instruction": 1.0}
LEAD = (1.0, 1.0, 0.7, 0.5)  # of it, for the first sentences below; LATER for others
LATER = 0.3
PAGE = 0.4  # of it, elsewhere below the title
DEFINITION_CREDIT = 0.4  # for a sentence that says what it is
STEP_CREDIT = 0.2  # for an item, or what announces code, where the question is how something is done
POINTER_CREDIT = -0.5  # for a sentence that only says where to read more
NAMED_CREDIT = 0.5  # for a command, an option or an identifier of the question, as it is written
REPEATED = 0.5  # of the question's weight in a sentence that may only repeat it
REPEATED_CREDIT = -1.0  # for a sentence without a word that is neither in the question nor in the headings
ASIDE_CREDIT = -0.2  # for one that only adds to what was said: “You can also …”
NAMES_COUNTED = 5
SHORT_SENTENCE = 4  # words; a shorter sentence rarely answers alone

_PRONOUN = re.compile(r"[\W_]*(?:it|its|this|these|those|they|their|he|she|his|her|such)\b", re.IGNORECASE)
_NAMED = re.compile(r"`([^`\n]+)`|(?<![\w-])(--?[a-zA-Z][\w-]*)|\b(\w+(?:_\w+)+|\w+\(\)|[a-z]+[A-Z]\w*)")
_NAME = re.compile(r"(?<=\w )[A-Z][a-z]+")

_CUES: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = (
    (re.compile(r"\b(?:when|what year|which year|what date|how long|since)\b", re.IGNORECASE), re.compile(r"\d|\b(?:January|February|March|April|May|June|July|August|September|October|November|December|century|minutes?|hours?|days?|years?)\b")),
    (re.compile(r"\bhow (?:many|much|often|big|large|fast|old)\b|\bwhat (?:number|percentage|share|limit)\b", re.IGNORECASE), re.compile(r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|dozen|hundred|thousand|million|half)\b")),
    (re.compile(r"\bwho(?:m|se)?\b", re.IGNORECASE), re.compile(r"(?<!^)(?<![.!?] )\b[A-Z][a-z]+")),
    (re.compile(r"\bwhere\b", re.IGNORECASE), re.compile(r"\b(?:in|at|on|near|from|to|under|inside)\s+(?:the\s+)?[`A-Z]")),
    (re.compile(r"\bwhy\b", re.IGNORECASE), re.compile(r"\b(?:because|since|so that|in order to|due to|reason|therefore|avoid|prevent)\b", re.IGNORECASE)),
    (re.compile(r"\bhow (?:do|can|to|should|would|does)\b", re.IGNORECASE), re.compile(r"\b(?:use|using|you can|set|pass|import|declare|create|add|run|call|install|with)\b", re.IGNORECASE)),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A unit of a passage with its score for one question."""

    passage: int  #: index into the passages
    unit: int  #: index into the passage's units, counts from 0
    span: Unit
    score: float
    coverage: float  #: share of the question's weight in the unit itself, 0 to 1


def candidates(
    question: str,
    weights: Mapping[str, float],
    passages: Sequence[Retrieved],
    meaning: Mapping[tuple[int, int], float] | None = None,
) -> list[Candidate]:
    """Every quotable unit of the passages, best first. ``meaning`` gives the cosine of (passage, unit) with
    the question where it is known."""
    query = _query(question, tuple(weights.items()))
    found = []
    for index, hit in enumerate(passages):
        for number, unit, own, coverage in _score(query, hit.passage):
            cosine = (meaning or {}).get((index, number), 0.0)
            score = own + PASSAGE_CREDIT * hit.score + MEANING_CREDIT * cosine
            found.append(Candidate(passage=index, unit=number, span=unit, score=score, coverage=coverage))
    return sorted(found, key=lambda c: (-c.score, c.passage, c.unit))


@dataclass(frozen=True, slots=True, eq=False)
class _Query:
    """The terms of a question by which sentences are scored; one is itself alone, so that scores are kept by it."""

    text: str
    weights: Mapping[str, float]
    total: float
    cue: re.Pattern[str] | None
    intent: Intent | None
    is_open: bool  #: not a question for yes or no
    named: frozenset[str]  #: commands, options and identifiers that the question names

    def share(self, present: Collection[str], elsewhere: Collection[str] = ()) -> float:
        """Share of the question's weight in these terms, except those in ``elsewhere``."""
        held = (w for term, w in self.weights.items() if term in present and term not in elsewhere)
        return sum(held) / self.total

    def agreement(self, heading: str, language: str) -> float:
        """The degree, 0 to 1, to which a heading or a part of it names the question's subject alone."""
        most = 0.0
        for part in (heading, *_HEADING_PARTS.split(heading)):
            words = (word for word in _HEADING_WORDS.split(part) if has_content(word, language))
            word_terms = [found for word in words if (found := terms(word, language))]
            named = sum(any(term in self.weights for term in word) for word in word_terms)
            share = self.share(frozenset(chain.from_iterable(word_terms)))
            most = max(most, share * (named / (len(word_terms) or 1)) ** 2)
        return most


# One question looks at a passage when it is graded, and again for each of its strips.
@lru_cache(maxsize=16)
def _query(question: str, weights: tuple[tuple[str, float], ...]) -> _Query:
    cue = next((answer for query, answer in _CUES if query.search(question)), None)
    named = frozenset(next(filter(None, found.groups())) for found in _NAMED.finditer(question))
    total = sum(weight for _, weight in weights) or 1.0
    return _Query(question, dict(weights), total, cue, intent_of(question), is_open(question), named)


@lru_cache(maxsize=128)
def _score(query: _Query, passage: Passage) -> tuple[tuple[int, Unit, float, float], ...]:
    """(number, unit, score, coverage) of each quotable unit, without the passage's own score."""
    language = language_of(passage.text)
    headings = frozenset(terms(" ".join((passage.title, *passage.path)), language))
    known, phrases = headings | query.weights.keys(), frozenset(pairwise(terms(query.text, language)))
    before, repeats_before = frozenset[str](), False
    above = (passage.title, *passage.path)
    section = _Section(page=max(query.agreement(each, language) for each in above))
    scored = []
    for number, unit in enumerate(split_units(passage.text)):
        words = passage.text[unit.start : unit.end]
        unit_terms = terms(words, language)
        present = frozenset(unit_terms)
        if unit.kind not in ("heading", "markup"):
            own = query.share(present)
            previous_credit = PREVIOUS_CREDIT + (PRONOUN_CREDIT if _PRONOUN.match(words) else 0.0)
            score = own + HEADING_CREDIT * query.share(headings, present)
            if repeats_before or not query.weights.keys() <= before:  # else the sentence before may tell all
                score += previous_credit * query.share(before, present | headings)
            together = len(phrases.intersection(pairwise(unit_terms))) / max(1, len(phrases))
            score += 0.0 if words.rstrip().endswith("?") else PHRASE_CREDIT * together
            score += _shape_credit(query, unit, words, passage.title)
            may_repeat = query.is_open and own >= REPEATED and unit.kind == "sentence"
            may_repeat = may_repeat and not _announces(words)
            repeats = may_repeat and known.issuperset(query_terms(words, language))
            score += REPEATED_CREDIT * repeats
            score += NAMED_CREDIT * any(each in words for each in query.named)
            if query.intent:
                score += _intent_credit(query, unit, words, language, section)
            section.sentences += 1
            repeats_before = repeats
            scored.append((number, unit, score, own))
        elif unit.kind == "heading":
            section.own, section.sentences = query.agreement(HEADING_SIGNS.sub("", words), language), 0
        before = present
    return tuple(scored)


@dataclass(slots=True)
class _Section:
    """The facts about the headings above a unit."""

    page: float  #: agreement of the question with the page's title, or with another heading far above
    own: float = 0.0  #: of the heading right above
    sentences: int = len(LEAD)  #: since that heading; a passage that begins without one goes on somewhere

    def credit(self) -> float:
        lead = LEAD[self.sentences] if self.sentences < len(LEAD) else LATER
        return max(self.own * lead, PAGE * self.page)


_HEADING_PARTS = re.compile(r"\s*[()]\s*|\s+[-–—]\s+|:\s+")  # “CORS (Cross-Origin Resource Sharing)”
_HEADING_WORDS = re.compile(r"[\s/_-]+|(?<=[a-z])(?=[A-Z])")  # “Use `StaticFiles`” names static files
_COPULA = re.compile(
    r"\b(?:is|are|means|refers to|stands for|lets|allows|ist|sind|bedeutet|heißt|est|sont|signifie|es|son|significa|é|são)\b|とは|は"
)
_POINTER = re.compile(
    r"\b(?:read more|see also|you (?:will|can|'ll) (?:\w+ )?(?:learn|read|see|find) (?:\w+ )?(?:more |about|how|later)|for more (?:details|info)|"
    r"check (?:the|out|their)|keep in mind|spoiler alert|reference (?:information|docs) for|mehr dazu|siehe auch|weitere informationen|"
    r"voir aussi|en savoir plus|véase|más información|veja também|saiba mais)\b|(?:詳しく|詳細)は",
    re.IGNORECASE,
)


_ASIDE = re.compile(
    r"(?:\W*\w+){0,3}\W*\b(?:also|auch|außerdem|aussi|también|também)\b|(?:\W*\w+)?\W*また", re.IGNORECASE
)


def _intent_credit(query: _Query, unit: Unit, words: str, language: str, section: _Section) -> float:
    """The credit for what explains or instructs, where the question asks for that."""
    if _POINTER.search(words):
        return POINTER_CREDIT
    assert query.intent is not None
    credit = SUBJECT_CREDIT[query.intent] * section.credit() + (ASIDE_CREDIT if _ASIDE.match(words) else 0.0)
    if query.intent == "definition" and (copula := _COPULA.search(words)):
        credit += DEFINITION_CREDIT * query.agreement(words[: copula.start()], language)
    if query.intent == "instruction" and (unit.kind == "item" or _announces(words)):
        credit += STEP_CREDIT
    return credit


def _shape_credit(query: _Query, unit: Unit, words: str, title: str) -> float:
    """The credit for a unit's kind, length and names; negative for code, tables and questions."""
    if unit.kind == "code":
        return -0.35
    if unit.kind == "table":
        return -0.1
    credit = CUE_CREDIT if query.cue and query.cue.search(words) else 0.0
    known = f"{query.text}{title}".lower()
    names = sum(name.lower() not in known for name in _NAME.findall(words))
    credit += NAMES_CREDIT * min(names, NAMES_COUNTED) / NAMES_COUNTED
    if len(words.split()) < SHORT_SENTENCE:
        credit -= 0.25
    return credit - 0.3 if words.rstrip().endswith("?") else credit


def _announces(words: str) -> bool:
    return words.rstrip("*_` \n").endswith((":", "："))

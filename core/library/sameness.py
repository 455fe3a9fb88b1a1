"""The sameness of a question and an answered one, by words, and by meaning with vectors.

The answer is worth a credit in the ranking and no more: judges decide about it as about any other passage. So it
is better to miss a question in other words than to take another question for it. `python -m benchmarks same_question`
measures both; SAME_MEANING was chosen on the half of its pairs that may be looked at, the other bounds on all.

Vectors and shared words alone take the boiling point of mercury for that of ethanol. What tells such questions apart
is a word, a name or a number in the place of another, or that one asks for the opposite.

Two editions of a handbook answer a question equally well, and one of them is out of date. Only documents whose dates
are known are compared, and only passages that share most of their words: everything else keeps its rank. What people
answered is compared with what others answered to the same question, in whatever words.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import combinations
from statistics import fmean
from threading import Lock
from typing import Self, TypeVar

from core.characters import storable
from core.library.documents import Passage, is_kept
from core.library.embedding import Vectors
from core.library.embedding.embedder import Embedder
from core.text.language import language_of
from core.text.sentences import is_opposed
from core.text.terms import query_terms, terms

#: Words about how one asks, not about what, as terms.
_CHATTY = """
    actual almost alreadi also alway anoth answer anyth around ask away back best better call chang come
    describ differ dont els end even ever everi everyth exact expect explain find first get give go gone
    good got happen hello help hi instead ive keep kind know last let like look lot make mean much must need
    never new next noth often old one otherwis part pleas possibl probabl put quit realli right same say see
    seem set shall show someth sometim soon sort start stay still stop sure take tell thank thing think
    though time tri two understand use usual want way well whats wonder work wrong yet
"""
CHATTY = frozenset(_CHATTY.split())

SAME_WORDS = 0.6  # agreement of the words of two questions from which they are the same
SAME_MEANING = 0.62  # closeness of their vectors from which they are
#: Of two questions that share this part of their words, each with a word of its own, one has a word in the place of
#: the other's: another year, another city. Vectors do not see that: such questions are closer than most rewordings.
NEARLY_SAME = 0.5
STEM = 3  # letters: a term that begins with such a one is the same word, as application and app
REMEMBERED = 1_000  # vectors of questions

#: About nothing in common. How close their vectors are is no closeness at all; models differ much in that.
UNRELATED = (
    "How do I reset my password?",
    "When was the cathedral built?",
    "What does the blood carry to the lungs?",
    "Who pays for travel to a conference?",
    "Which team won the cup last year?",
    "How long must rice be cooked?",
)


#: Words that deny, beside the English ones of :func:`is_opposed`; in Japanese, endings.
DENIALS: Mapping[str, re.Pattern[str]] = {
    name: re.compile(rf"\b(?:{words})\b" if name != "ja" else words, re.IGNORECASE)
    for name, words in {
        "de": r"nicht|kein\w*|nie|niemals|niemand|nichts|ohne",
        "es": r"no|nunca|jamás|sin|ningun[ao]s?|ningún|nadie|nada",
        "fr": r"pas|jamais|sans|aucune?s?|rien|personne",
        "pt": r"não|nunca|jamais|sem|nenhum[a]?|ninguém|nada",
        "ja": r"ない|なく|ません|ずに",
    }.items()
}
_DIGITS = re.compile(r"\d+")
_COUNTS = re.compile(r"(?i)\b(?:one|two|three|four|five|six|seven|eight|nine|ten|first|second|third)\b")
_NAME = re.compile(r"(?<=[\w,] )[A-Z][a-z]+\b")  # a word with a capital inside a sentence


def sameness(
    answered: Collection[str], question: Collection[str], *, agreement: float, closeness: float
) -> float:
    """The likeness of two questions, 0 to 1; 0 if they are not the same.

    ``answered``: the terms of the one that was answered, ``question``: those of the other, ``agreement``: of the terms,
    ``closeness``: of the vectors; 0 without any.
    """
    if not answered or has_swapped_words(answered, question):
        return 0.0
    return max(agreement if agreement >= SAME_WORDS else 0.0, closeness if closeness >= SAME_MEANING else 0.0)


def are_distinct(answered: str, question: str) -> bool:
    """True if one has a name or number that the other lacks, or asks for the opposite, however alike."""
    counts, others = (set(_COUNTS.findall(each.lower())) for each in (answered, question))
    return (
        set(_DIGITS.findall(answered)) != set(_DIGITS.findall(question))
        or bool(counts - others and others - counts)
        or bool(_names_beside(answered, question) or _names_beside(question, answered))
        or are_opposed(answered, question)
    )


def answered_terms(answered: str, question: str) -> frozenset[str]:
    """The terms of a question that a person answered, for :func:`sameness`; none if the two are distinct."""
    if not answered or are_distinct(answered, question):
        return frozenset()
    return frozenset(query_terms(answered, language_of(answered)))


def are_same(one: str, other: str) -> bool:
    """True if two questions that people answered are the same, by their words."""
    language = language_of(one)
    own, theirs = subject_terms(one, language), subject_terms(other, language)
    shared = len(own) - len(_unmatched_terms(own, theirs))
    is_near = shared >= SAME_WORDS * (
        shared + len(_unmatched_terms(own, theirs)) + len(_unmatched_terms(theirs, own))
    )
    return is_near and not has_swapped_words(own, theirs) and not are_distinct(one, other)


def question_of(passage: Passage) -> str:
    """The question to which it is the answer of a person; empty for any other passage."""
    return passage.path[0] if passage.path and is_kept(passage.source) else ""


def answers_another(question: str, passage: Passage, *, is_substitution: bool) -> bool:
    """True if it answers almost this question, and does not say what this one asks for.

    ``is_substitution``: the question only names what takes the place of the subject before it: “and of mercury?”.
    """
    answered, text = question_of(passage), passage.text
    if not answered:
        return False
    language = language_of(answered)
    own, theirs = subject_terms(answered, language), subject_terms(question, language)
    lacking = _unmatched_terms(theirs, own | frozenset(terms(text, language)))
    if is_substitution:
        return bool(lacking)
    if not _share_most(own, theirs):
        return False
    return (
        bool(lacking and _unmatched_terms(own, theirs))
        or bool(set(_DIGITS.findall(question)).difference(_DIGITS.findall(f"{answered} {text}")))
        or bool(_names_beside(question, f"{answered} {text}"))
        or are_opposed(answered, question)
    )


def subject_terms(question: str, language: str) -> frozenset[str]:
    """Its terms without the words about how one asks."""
    found = frozenset(query_terms(question, language))
    return found - CHATTY or found


def _names_beside(text: str, other: str) -> set[str]:
    """Names in a text that another one lacks. German writes every noun like a name."""
    if language_of(text) == "de":
        return set()
    words = set(terms(other))
    return {name for name in _NAME.findall(text) if not words.issuperset(terms(name))}


def are_opposed(one: str, other: str) -> bool:
    denial = DENIALS.get(language_of(one))
    if denial is not None:
        return bool(denial.search(one)) != bool(denial.search(other))
    return is_opposed(one, other) or is_opposed(other, one)


def _share_most(one: Collection[str], other: Collection[str]) -> bool:
    """True if they are nearly the same, or the same except for one word of each."""
    own, theirs = _unmatched_terms(one, other), _unmatched_terms(other, one)
    shared = len(one) - len(own)
    is_one_swapped = len(own) == len(theirs) == 1
    return bool(shared) and (is_one_swapped or shared >= NEARLY_SAME * (shared + len(own) + len(theirs)))


def has_swapped_words(one: Collection[str], other: Collection[str]) -> bool:
    """True if each has words of its own though they share most."""
    return bool(_unmatched_terms(one, other) and _unmatched_terms(other, one)) and _share_most(one, other)


def _unmatched_terms(one: Collection[str], other: Collection[str]) -> set[str]:
    """The terms of one that are no term of the other, nor begin one or with one."""
    return {
        term
        for term in set(one).difference(other)
        if not any(
            min(len(term), len(each)) >= STEM and (term.startswith(each) or each.startswith(term))
            for each in other
        )
    }


@dataclass(slots=True)
class QuestionVectors:
    """Vectors of questions that people answered, each made once in a process; the words are not kept."""

    _vectors: dict[tuple[str, bytes], Vectors] = field(default_factory=dict, repr=False)
    _usual: dict[str, float] = field(default_factory=dict, repr=False)  #: by the name of the model
    _lock: Lock = field(default_factory=Lock, repr=False)

    def closeness(self, embedder: Embedder, vector: Vectors, questions: Sequence[str]) -> list[float]:
        """The closeness of a question to each: 1 for the same, 0 for unrelated. Raises as the embedder does."""
        if embedder.name not in self._usual:
            vectors = [embedder.embed_query(text) for text in UNRELATED]
            self._usual[embedder.name] = fmean(float(one @ other) for one, other in combinations(vectors, 2))
        usual = self._usual[embedder.name]
        cosines = [float(self._vector(embedder, text) @ vector) for text in questions]
        return [(cosine - usual) / max(1 - usual, 1e-9) for cosine in cosines]

    def _vector(self, embedder: Embedder, text: str) -> Vectors:
        key = (embedder.name, sha256(storable(text).encode()).digest())
        vector = self._vectors.get(key)
        if vector is None:
            vector = embedder.embed_query(storable(text))
            with self._lock:
                while len(self._vectors) >= REMEMBERED:
                    del self._vectors[next(iter(self._vectors))]
                self._vectors[key] = vector
        return vector


SAME = 0.6  # share of the terms of both that two passages have in common, if they are about the same

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dated:
    """The fields by which passages are compared."""

    document: str  #: the same for the passages of one document
    terms: frozenset[str]
    day: str  #: of its document's last change, ISO 8601, and of a person's answer the moment; empty: unknown
    score: float = 1.0
    question: str = ""  #: that a person answered; empty: it is no person's answer

    @classmethod
    def of(cls, passage: Passage, terms: Collection[str], score: float = 1.0) -> Self:
        question = question_of(passage)
        return cls(
            document=f"{passage.collection} {passage.source}", terms=frozenset(terms), score=score,
            day=f"{passage.changed_at or 0:020.6f}" if question else passage.changed_on, question=question,
        )  # fmt: skip


def newer_first(ranked: Sequence[T], of: Callable[[T], Dated], *, least: float = 0.0) -> list[T]:
    """The passages, best first, each behind newer ones that say the same and score ``least`` of its own."""
    order = [(of(each), each) for each in ranked]
    if len({dated.day for dated, _ in order} - {""}) < 2:
        return list(ranked)
    for index in range(len(order)):
        while newer := _newer_behind([dated for dated, _ in order], index, least):
            latest = max(newer, key=lambda later: (order[later][0].day, -later))
            order.insert(index, order.pop(latest))
    return [each for _, each in order]


def _newer_behind(order: Sequence[Dated], index: int, least: float) -> list[int]:
    here = order[index]
    return [
        later
        for later, each in enumerate(order[index + 1 :], start=index + 1)
        if is_newer(each, here) and (here.question or each.score >= least * here.score)
    ]


def is_newer(one: Dated, other: Dated) -> bool:
    """True if it says the same as another document, or the opposite, and was changed on a later day."""
    is_later = bool(other.day) and one.day > other.day
    if not is_later or one.document == other.document:
        return False
    if one.question or other.question:
        return are_rivals(one, other)
    return len(one.terms & other.terms) / (len(one.terms | other.terms) or 1) >= SAME


def are_rivals(one: Dated, other: Dated) -> bool:
    """True if two people answered the same question."""
    is_other = bool(one.question and other.question) and one.document != other.document
    return is_other and are_same(one.question, other.question)


def differ(one: Dated, other: Dated) -> bool:
    """True if each has a term that the other lacks, as another name; more words contradict nothing."""
    return bool(one.terms - other.terms and other.terms - one.terms)

"""Questions that need the history of their thread, and how the two are merged."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cache

from core.conversation import Exchange, ThreadMessage
from core.text.language import language_of, words_of
from core.text.terms import query_terms, terms

SHORT = 4  # words; a question this short needs its thread (CANARD: precision .978, recall .821)
REMEMBERED_QUESTIONS = 3  # earlier questions that are merged
REMEMBERED_ANSWER = 400  # characters of the last answer that are merged

_POINTERS = re.compile(
    r"\b(?:it|its|they|them|their|theirs|this|that|these|those|he|she|him|her|his|hers|there|then|one|ones|"
    r"same|former|latter|else|such|instead|too|also|both|either|neither|another|previous|above)\b",
    re.IGNORECASE,
)
# "that" as a conjunction or relative pronoun, and "there is", do not point back.
_NOT_POINTERS = re.compile(
    r"\b(?:is|are|was|were)\s+there\b|\bthere\s+(?:is|are|a|any)\b|\b\w+\s+that\s+(?:\w+s|are|is|can|has|have|will)\b"
    r"|\bboth\s+\w+\s+and\b|\beither\s+\w+\s+or\b|\bthis\s+(?:file|page|project|library|framework)\b|\bone\s+of\b",
    re.IGNORECASE,
)
_OPENERS = re.compile(r"^\s*(?:and|but|or|so|what about|how about|why not|why\s*\?|then)\b", re.IGNORECASE)
_BARE = re.compile(
    r"^\s*(?:how\s+(?:many|much|long|often|far|old)|which|what\s+(?:kind|sort|type))\b", re.IGNORECASE
)
# A question that begins with a question word or verb; and one of the form “what is X”.
_WHOLE = re.compile(
    r"^\W*(?:what|who|whose|where|when|why|how|which|is|are|was|were|do|does|did|can|could|will|would|should|has|have|"
    r"wer|was|wo|wann|wie|warum|wieso|welche[rsnm]?|kann|darf|muss|ist|sind|gibt|"
    r"qui|que|où|quand|comment|pourquoi|combien|quel(?:le)?s?|"
    r"qué|quién|dónde|cuándo|cómo|cuántos?|cuál|quem|onde|quando|como|quantos?|qual)\b",
    re.IGNORECASE,
)
_SUBSTITUTION = re.compile(
    r"^\W*(?:(?:and|or|but|und|oder|aber|et|ou|mais|y|o|pero|e)\b(?!\W*(?:what|how) about\b)|"
    r"(?:(?:and|but)\s+)?(?:what|how) about\b|(?:und\s+)?(?:was ist|wie (?:ist es|sieht es)) mit\b)",
    re.IGNORECASE,
)
_OF_ONE = re.compile(
    r"^\s*(?:what|who|where|when|how)(?:'s|\s+(?:is|are|was|were))\s+(?!(?:more|most|less|least|better|best|worse)\b)\w",
    re.IGNORECASE,
)


@cache
def _pointers_of(language: str) -> re.Pattern[str] | None:
    """Pointer words anywhere, and openers at the beginning; None for English and languages without words of theirs."""
    pointers, openers = (words_of("follow_up", name).get(language) for name in ("pointers", "openers"))
    return re.compile(rf"{pointers}|^\W*(?:{openers})", re.IGNORECASE) if pointers else None


def needs_history(question: str, known: Collection[str] = ()) -> bool:
    """True if it points back, or has at most four words that mean little alone, as all do whose terms the documents
    do not know."""
    return points_back(question) or (_words(question) <= SHORT and not _stands_alone(question, known))


def is_whole(question: str) -> bool:
    """True if it begins like a full question and names its subject."""
    return bool(_WHOLE.match(question)) and names_its_subject(question)


def _stands_alone(question: str, known: Collection[str]) -> bool:
    """True if a short question is complete and the documents know its words: “How fast is ingestion?”"""
    own = query_terms(question, language_of(question))
    is_found = all(term in known for term in own)
    return bool(is_whole(question) and is_found and (len(own) > 1 or _OF_ONE.match(question)))


def points_back(question: str) -> bool:
    """True if a word of the question refers to its history."""
    if elsewhere := _pointers_of(language_of(question)):
        return bool(elsewhere.search(question))
    return bool(_POINTERS.search(_NOT_POINTERS.sub(" ", question)) or _OPENERS.match(question))


def replaces_subject(question: str) -> bool:
    """True if it only names what takes the place of the subject before it: “And of mercury?”."""
    opened = _SUBSTITUTION.match(question)
    rest = question[opened.end() :] if opened else ""
    words = re.findall(r"\w+", rest)
    return bool(words) and not any(map(_WHOLE.match, words)) and not _POINTERS.search(rest)


def names_its_subject(question: str) -> bool:
    """True if it names a subject for later questions; “How many people?” does not."""
    return not points_back(question) and not (_words(question) < SHORT and _BARE.match(question))


def _words(question: str) -> int:
    """The number of words; of character pairs in a script without spaces."""
    return len(question.split()) if question.isascii() else max(len(question.split()), len(terms(question)))


def subjects(messages: Sequence[ThreadMessage]) -> tuple[ThreadMessage, ...]:
    """The questions among the messages; all messages if there are none."""
    questions = tuple(message for message in messages if "?" in message.text)
    return questions or tuple(messages)


def asked_before(history: Sequence[Exchange]) -> str:
    """The last few questions, one a line."""
    return "\n".join(exchange.question for exchange in history[-REMEMBERED_QUESTIONS:])


def cited_before(history: Sequence[Exchange]) -> tuple[str, ...]:
    """The sources of the last answer with sources."""
    return next((exchange.sources for exchange in reversed(history) if exchange.sources), ())


def merged_with(question: str, history: Sequence[Exchange]) -> str:
    """The earlier questions, the beginning of the last answer, and the question."""
    last_answer = history[-1].answer[:REMEMBERED_ANSWER] if history else ""
    return "\n".join(part for part in (asked_before(history), last_answer, question) if part)

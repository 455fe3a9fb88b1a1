"""What is to be thought of an answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from bots.eval.questions import Expected
from bots.eval.shelf import Shelf
from core.conversation import Outcome, value

Verdict = Literal[
    "right",  # answered, from an acceptable file, with the expected words
    "rightly held back",
    "answered",  # nothing to judge it by
    "not answered",  # same
    "from the web",  # a person allows that, or the operator did beforehand
    "held back",  # though the documents answer it
    "words missing",
    "failed",
    "wrong file",
    "falsely answered",  # though the documents do not answer it
]
GOOD: frozenset[Verdict] = frozenset({"right", "rightly held back"})
#: The worst first; of two with the same verdict the more confident one is worse.
BAD: tuple[Verdict, ...] = ("falsely answered", "wrong file", "words missing", "failed", "held back")

#: What no answer is, by whether the documents hold one.
HELD_BACK: Mapping[bool | None, Verdict] = {
    None: "not answered",
    True: "held back",
    False: "rightly held back",
}

_MARKS = re.compile(r"\[\d+\]|[*_`]")  # footnotes and emphasis, which no expected words would hold


@value
class Judged:
    """A question and what came of it."""

    expected: Expected
    outcome: Outcome
    verdict: Verdict
    right_source: bool | None = None  #: a footnote leads into an acceptable file; None: not judged
    words_found: tuple[bool, ...] = ()  #: for each of the expected words
    gold_quoted: bool | None = None  #: None: not judged
    verbatim: tuple[bool | None, ...] = ()  #: for each quote shown; None: no file to look into

    @property
    def answered(self) -> bool:
        return self.outcome.kind == "answered"

    @property
    def is_bad(self) -> bool:
        return self.verdict in BAD


def judge(expected: Expected, outcome: Outcome, shelf: Shelf) -> Judged:
    """An outcome beside what was expected of it."""
    citations = outcome.answer.citations if outcome.answer else ()
    said = folded(" ".join((outcome.answer.text if outcome.answer else "", *(c.quote for c in citations))))
    right_source = _cites(outcome, expected, shelf) if expected.sources and expected.answerable else None
    words_found = tuple(occurs(words, said) for words in expected.words)
    return Judged(
        expected=expected,
        outcome=outcome,
        verdict=verdict_of(expected, outcome, right_source=right_source, words_found=words_found),
        right_source=right_source,
        words_found=words_found,
        gold_quoted=any(folded(each) in said for each in expected.gold) if expected.gold else None,
        verbatim=tuple(map(shelf.holds, (*citations, *(() if outcome.answer else outcome.closest)))),
    )


def _cites(outcome: Outcome, expected: Expected, shelf: Shelf) -> bool:
    meant = frozenset[str]().union(*map(shelf.meant_by, expected.sources))
    return outcome.answer is not None and any(c.source in meant for c in outcome.answer.citations)


def verdict_of(
    expected: Expected, outcome: Outcome, *, right_source: bool | None, words_found: Sequence[bool]
) -> Verdict:
    if outcome.kind == "failed":
        return "failed"
    if outcome.answer is None:
        return HELD_BACK[expected.answerable]
    if expected.answerable is None:
        return "answered"
    if outcome.answer.grounding == "web":
        return "from the web"
    wrongs: tuple[tuple[bool, Verdict], ...] = (
        (not expected.answerable, "falsely answered"),
        (right_source is False, "wrong file"),
        (not all(words_found), "words missing"),
    )
    return next((verdict for is_so, verdict in wrongs if is_so), "right")


def occurs(words: str, said: str) -> bool:
    """Whether the words stand in a folded text, not as a part of longer ones: "18" is not in "180"."""
    return re.search(rf"(?<!\w){re.escape(folded(words))}(?!\w)", said) is not None


def folded(text: str) -> str:
    """Case, white space, emphasis and footnote marks apart."""
    return " ".join(_MARKS.sub("", text).casefold().split())

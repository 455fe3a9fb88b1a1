"""Comparing an outcome with what was expected, and every quote with its file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from bots.eval.questions import EvalQuestion
from core.conversation import Citation, Outcome, value
from core.errors import DocumentError
from core.library.formats.read import read_document

Verdict = Literal[
    "right",  # answered, from an acceptable file, with the expected words
    "rightly held back",
    "answered",  # nothing was expected
    "not answered",  # same
    "from the web",  # a person or the operator allowed it
    "held back",  # though the documents answer it
    "words missing",
    "failed",
    "wrong file",
    "falsely answered",  # though the documents do not answer it
]
GOOD: frozenset[Verdict] = frozenset({"right", "rightly held back"})
#: Worst first.
BAD: tuple[Verdict, ...] = ("falsely answered", "wrong file", "words missing", "failed", "held back")

#: The verdict without an answer, by whether the documents contain one.
HELD_BACK: Mapping[bool | None, Verdict] = {
    None: "not answered",
    True: "held back",
    False: "rightly held back",
}

#: Files whose offsets count characters of the file itself, so that no loader is needed.
PLAIN_TEXT = frozenset(
    {".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".txt", ".text", ".rst", ".log"}
)

_MARKS = re.compile(r"\[\d+\]|[*_`]")  # footnotes and emphasis, which expected words do not have


@value
class Judgement:
    """A question, its outcome and the verdict."""

    question: EvalQuestion
    outcome: Outcome
    verdict: Verdict
    right_source: bool | None = None  #: whether a footnote cites an acceptable file; None: not judged
    words_found: tuple[bool, ...] = ()  #: for each of the expected words
    gold_quoted: bool | None = None  #: None: not judged
    verbatim: tuple[bool | None, ...] = ()  #: for each quote shown; None: no file to check

    @property
    def is_answered(self) -> bool:
        return self.outcome.kind == "answered"

    @property
    def is_bad(self) -> bool:
        return self.verdict in BAD


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """The documents as they are on the disk now."""

    files: Mapping[str, tuple[str, ...]]  #: source -> absolute paths or URLs of that name
    _texts: dict[str, str | None] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, places: Iterable[tuple[str, str]]) -> Corpus:
        """From pairs of source and address."""
        files: dict[str, tuple[str, ...]] = {}
        for source, address in places:
            files[source] = (*files.get(source, ()), address)
        return cls(files=files)

    def sources_named(self, name: str) -> frozenset[str]:
        """The sources with exactly this name or path; otherwise those whose path ends with it."""
        exact = frozenset(
            source
            for source, addresses in self.files.items()
            if name in (source, source.partition("/")[2], *addresses)
        )
        return exact or frozenset(source for source in self.files if source.endswith(f"/{name}"))

    def contains(self, citation: Citation) -> bool | None:
        """True if the file has the quote verbatim at its offsets; None: no file to check."""
        addresses = self.files.get(citation.source, ())
        texts = [text for address in addresses if (text := self._text(address)) is not None]
        if citation.origin == "web" or not texts:
            return None
        return any(text[citation.start : citation.end] == citation.quote for text in texts)

    def _text(self, address: str) -> str | None:
        if address not in self._texts:
            self._texts[address] = None if "://" in address else _text_of(Path(address))
        return self._texts[address]


def _text_of(file: Path) -> str:
    """The text that offsets refer to; empty if the file cannot be read any more, so that no quote matches."""
    try:
        if file.suffix.lower() in PLAIN_TEXT:
            return file.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        pass  # it is gone or has another encoding: the loader decides
    try:
        return read_document(file).text
    except DocumentError:
        return ""


def judge(question: EvalQuestion, outcome: Outcome, corpus: Corpus) -> Judgement:
    """The verdict on one outcome."""
    citations = outcome.answer.citations if outcome.answer else ()
    text = outcome.answer.text if outcome.answer else ""
    answer = normalized(" ".join((text, *(citation.quote for citation in citations))))
    right_source = None
    if question.sources and question.answerable:
        acceptable = frozenset[str]().union(*map(corpus.sources_named, question.sources))
        right_source = any(citation.source in acceptable for citation in citations)
    words_found = tuple(occurs(words, answer) for words in question.words)
    return Judgement(
        question=question,
        outcome=outcome,
        verdict=verdict_of(question, outcome, right_source=right_source, words_found=words_found),
        right_source=right_source,
        words_found=words_found,
        gold_quoted=any(normalized(each) in answer for each in question.gold) if question.gold else None,
        verbatim=tuple(map(corpus.contains, citations if outcome.answer else outcome.closest)),
    )


def verdict_of(
    question: EvalQuestion, outcome: Outcome, *, right_source: bool | None, words_found: Sequence[bool]
) -> Verdict:
    if outcome.kind == "failed":
        return "failed"
    if outcome.answer is None:
        return HELD_BACK[question.answerable]
    if question.answerable is None:
        return "answered"
    if outcome.answer.grounding == "web":
        return "from the web"
    faults: tuple[tuple[bool, Verdict], ...] = (
        (not question.answerable, "falsely answered"),
        (right_source is False, "wrong file"),
        (not all(words_found), "words missing"),
    )
    return next((verdict for is_so, verdict in faults if is_so), "right")


def occurs(words: str, text: str) -> bool:
    """True if a normalized text has these words as whole words: not "18" in "180"."""
    return re.search(rf"(?<!\w){re.escape(normalized(words))}(?!\w)", text) is not None


def normalized(text: str) -> str:
    """The text in lower case without emphasis and footnote markers, white space collapsed."""
    return " ".join(_MARKS.sub("", text).casefold().split())

"""A team's own questions and the answers they expect: reading the file, asking them all, and judging what comes back.

One JSON object a line: ``{"id", "question", "thread"?, "source"?, "answerable"?, "answer"?, "gold"?,
"kind"?}``; other fields are ignored.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from bots.record import failed
from bots.terminal.receive import CommandTurns, ask
from bots.terminal.session import conversation_named, fresh_conversation, situation
from core.conversation import EVALUATION, Citation, Outcome, Question, check_question, value
from core.errors import DocumentError, SettingsError
from core.library.formats.read import read_document

logger = logging.getLogger(__name__)


@value
class EvalQuestion:
    """A question, and what is expected of its answer."""

    line: int  #: counts from 1
    id: str  #: default: the number of the line
    question: str
    thread: str | None = None  #: questions of one thread are asked in order, in one conversation
    sources: tuple[str, ...] = ()  #: files that may be cited, by name or by the end of their path
    answerable: bool | None = None  #: whether the documents answer it; None: not judged
    words: tuple[str, ...] = ()  #: each should occur in the answer
    gold: tuple[str, ...] = ()  #: sentences of the documents, one of which should be quoted
    kind: str = ""  #: the group it is counted in


def read_questions(file: Path) -> tuple[EvalQuestion, ...]:
    """All questions of a file; SettingsError names every line with a fault."""
    try:
        lines = file.read_bytes().split(b"\n")
    except OSError as fault:
        raise SettingsError(f"{file} cannot be read: {(fault.strerror or 'unknown').lower()}.") from fault
    found: dict[str, EvalQuestion] = {}
    faults: list[str] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            read = read_line(line, number)
        except SettingsError as fault:
            faults.append(f"Line {number}: {fault}")
            continue
        first = found.setdefault(read.id, read)
        if first is not read:
            faults.append(f"Line {number}: the id “{read.id}” is used on line {first.line} already.")
    if faults:
        raise SettingsError(f"{file} cannot be used. " + " ".join(faults))
    if not found:
        raise SettingsError(f"{file} holds no questions.")
    return tuple(found.values())


def read_line(line: bytes, number: int) -> EvalQuestion:
    """One line; SettingsError says what is wrong with it."""
    try:
        fields = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise SettingsError("not a JSON object.")
    sources = _texts(fields, "source", "sources")
    words, gold = _texts(fields, "answer", "answers"), _texts(fields, "gold")
    own_id = fields.get("id", number)
    if isinstance(own_id, bool) or not isinstance(own_id, str | int):
        raise SettingsError("“id” must be a text or a number.")
    question = check_question(_text(fields, "question"))
    thread = None if fields.get("thread") is None else _text(fields, "thread")
    if thread is not None:
        conversation_named(thread)  # raises if the name is not valid
    answerable = fields.get("answerable")
    if not isinstance(answerable, bool | None):
        raise SettingsError("“answerable” must be true or false.")
    if answerable is None and (sources or words or gold):
        answerable = True
    return EvalQuestion(
        line=number, id=str(own_id), question=question, thread=thread, sources=sources, answerable=answerable,
        words=words, gold=gold, kind=_text(fields, "kind") if fields.get("kind") is not None else "",
    )  # fmt: skip


def _text(fields: dict[str, Any], key: str) -> str:
    content = fields.get(key)
    if not isinstance(content, str):
        raise SettingsError(f"“{key}” is missing or is not a text.")
    return content


def _texts(fields: dict[str, Any], *keys: str) -> tuple[str, ...]:
    """The texts in these fields."""
    found: list[str] = []
    for key in keys:
        content = fields.get(key)
        texts = [content] if isinstance(content, str) else content or []
        if not isinstance(texts, list) or not all(isinstance(each, str) and each.strip() for each in texts):
            raise SettingsError(f"“{key}” must be a text or a list of texts.")
        found += texts
    return tuple(found)


async def ask_all(
    questions: Sequence[EvalQuestion], assistant: CommandTurns, *, sources: tuple[str, ...],
    concurrency: int, on_answer: Callable[[], None],
) -> list[Outcome]:  # fmt: skip
    """The outcome of each question, in their order; every conversation is forgotten afterwards.

    ``sources`` are the paths or URLs that may be cited; ``on_answer`` is called after each outcome.
    """
    threads: dict[str | int, list[EvalQuestion]] = {}
    for each in questions:
        threads.setdefault(each.thread or each.line, []).append(each)
    outcomes: dict[str, Outcome] = {}
    slots = asyncio.Semaphore(concurrency)

    async def ask_thread(thread: Sequence[EvalQuestion]) -> None:
        conversation = fresh_conversation(EVALUATION)
        try:
            for each in thread:
                async with slots:
                    asked = ask(each.question, situation(conversation, sources=sources))
                    outcomes[each.id] = await _outcome(each.id, assistant, asked)
                on_answer()
        finally:
            await assistant.forget(conversation)

    await asyncio.gather(*map(ask_thread, threads.values()))
    return [outcomes[each.id] for each in questions]


async def _outcome(name: str, assistant: CommandTurns, question: Question) -> Outcome:
    try:
        return await assistant.run(question)
    except Exception as fault:
        # The boundary of one question: the others continue.
        logger.exception("question %r failed", name)
        return failed(f"Footnote has a fault of its own ({type(fault).__name__}).")


# Judging: an outcome beside what was expected, and every quote beside its file

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
        question=question, outcome=outcome,
        verdict=verdict_of(question, outcome, right_source=right_source, words_found=words_found),
        right_source=right_source, words_found=words_found,
        gold_quoted=any(normalized(each) in answer for each in question.gold) if question.gold else None,
        verbatim=tuple(map(corpus.contains, citations if outcome.answer else outcome.closest)),
    )  # fmt: skip


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

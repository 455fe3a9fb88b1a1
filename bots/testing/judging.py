"""An outcome beside what must hold of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from bots.testing.cases import Case
from core.conversation import Answer, Citation, Outcome, Usage, value
from core.errors import DocumentError
from core.grounding.claims import claims_of
from core.grounding.doubts import doubts_of
from core.grounding.quotes import likeness
from core.grounding.verdicts import statements_of
from core.library.documents import Passage, Retrieved
from core.library.formats.markdown import heading_text
from core.library.formats.read import read_document
from core.reasoning.reasoner import Reasoner, Strip

#: "asked": nothing must hold. "flaky": it held in some runs.
Verdict = Literal["holds", "asked", "flaky", "fails", "failed"]
GOOD: tuple[Verdict, ...] = ("holds", "asked")
Quotes = tuple[tuple[str, str], ...]  # each with its source

#: Share of the words of a sentence that an answer must have to say it. Of 150 answers that people wrote for CLAPNQ,
#: 97% are so found in the sentences that they are from, 1% in others of the same passage.
SAID = 0.6

_MARKS = re.compile(r"\[\d+\]|[*_`]")  # footnotes and emphasis, which expected words do not have


@value
class Judgement:
    """A question, its outcome, and what of it does not hold."""

    case: Case
    outcome: Outcome
    broken: tuple[str, ...] = ()  #: what was expected and is not so, in words
    verdict: Verdict
    held: int = 0  #: runs in which it held
    runs: int = 1

    @property
    def quotes(self) -> Quotes:
        """The quotes of the answer; without one, the closest passages that are shown."""
        cited = self.outcome.answer.citations if self.outcome.answer else self.outcome.closest
        return tuple(dict.fromkeys((each.quote, each.source) for each in cited))


@dataclass(frozen=True, slots=True)
class Corpus:
    """The documents that were searched: by source, the absolute paths or URLs of that name."""

    files: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, documents: Iterable[tuple[str, str]]) -> Corpus:
        """A corpus from pairs of source and address."""
        files: dict[str, tuple[str, ...]] = {}
        for source, address in documents:
            files[source] = (*files.get(source, ()), address)
        return cls(files)

    def sources_named(self, name: str) -> frozenset[str]:
        """The sources with exactly this name or path; otherwise those whose path ends with it."""
        exact = frozenset(
            source
            for source, addresses in self.files.items()
            if name in (source, source.partition("/")[2], *addresses)
        )
        return exact or frozenset(source for source in self.files if source.endswith(f"/{name}"))

    def is_cited(self, wanted: str, citation: Citation) -> bool:
        """True if a footnote is of this document or this heading of one, or its quote has these words."""
        if citation.source in self.sources_named(wanted):
            return True
        name, _, heading = wanted.rpartition("#")
        if heading and citation.source in self.sources_named(name):
            location = citation.location
            parts = [citation.title, *location.split(" > "), *re.split(" > |, ", location)]
            for address in self.files[citation.source]:  # a short passage may go over several headings
                parts += headings_above(address, citation.start)
            return _slug(heading) in map(_slug, parts)
        return normalized(wanted) in normalized(citation.quote)


def headings_above(address: str, start: int) -> tuple[str, ...]:
    """The headings over an offset in a file on the disk, outermost first; none of what lies elsewhere or cannot be read."""
    above: list[tuple[int, str]] = []
    for begin, level, text in _headings(address):
        if begin <= start:
            del above[sum(higher < level for higher, _ in above) :]
            above.append((level, text))
    return tuple(text for _, text in above)


@cache
def _headings(address: str) -> tuple[tuple[int, int, str], ...]:
    """The headings of a file: where they begin, their levels and their words."""
    try:
        document = read_document(Path(address)) if address.startswith("/") else None
    except DocumentError:
        document = None
    if document is None:
        return ()
    headings = (each for each in document.blocks if each.kind == "heading")
    return tuple(
        (each.start, each.level, heading_text(document.text[each.start : each.end])) for each in headings
    )


def judge(case: Case, outcome: Outcome, corpus: Corpus, unsaid: Sequence[str] | None = None) -> Judgement:
    """The verdict on one outcome. ``unsaid``: the facts of the reference that a model misses; None: code looks."""
    broken: tuple[str, ...] = ()
    if outcome.kind == "failed":
        return Judgement(case=case, outcome=outcome, broken=("an answer",), verdict="failed")
    if case.is_answerable is None:
        return Judgement(case=case, outcome=outcome, verdict="asked", held=1)
    if outcome.answer is not None:
        broken = tuple(_broken(case, outcome.answer, corpus, unsaid))
    elif case.is_answerable:
        broken = ("an answer",)
    return Judgement(
        case=case,
        outcome=outcome,
        broken=broken,
        verdict="fails" if broken else "holds",
        held=int(not broken),
    )


def _broken(case: Case, answer: Answer, corpus: Corpus, unsaid: Sequence[str] | None) -> Iterator[str]:
    """The conditions that an answer does not fulfil."""
    if case.unanswerable:
        yield "no answer: the documents have none"
        return
    shown = normalized(said_by(answer))
    yield from (f"“{words}”" for words in case.contains if not occurs(words, shown))
    missing = facts_missing(case.answer, said_by(answer)) if unsaid is None else unsaid
    yield from (f"that it says: {fact}" for fact in missing)
    if case.cites and not any(corpus.is_cited(each, one) for each in case.cites for one in answer.citations):
        sources = [
            each if corpus.sources_named(each.partition("#")[0]) else f"“{each}”" for each in case.cites
        ]
        yield f"a footnote of {' or '.join(sources)}"


def said_by(answer: Answer) -> str:
    """The text of an answer with its quotes."""
    return "\n".join((answer.text, *(citation.quote for citation in answer.citations)))


def facts_missing(reference: str, said: str) -> tuple[str, ...]:
    """The sentences of a reference that a text does not say: it lacks a number, a name in code, or most of the words."""
    return tuple(
        claim.text
        for claim in claims_of(reference)
        if doubts_of(claim.text, (said,), is_code=claim.kind == "code")
        or likeness(((claim.text, claim.kind == "code"),), said) < SAID
    )


async def facts_unsaid(reasoner: Reasoner, reference: str, said: str) -> tuple[str, ...]:
    """The same as a model finds it, in whatever words they are said. Raises ModelTrouble."""
    facts = claims_of(reference)
    passage = Passage(
        id="answer",
        collection="",
        source="answer",
        title="Answer",
        location="",
        text=said,
        start=0,
        end=len(said),
    )
    strip = Strip(
        number=1, retrieved=Retrieved(passage=passage, score=1.0), text=said, start=0, end=len(said)
    )
    vote = await reasoner.check_grounding(
        statements_of([replace(each, cited=(1,)) for each in facts], (strip,)), (strip,)
    )
    return tuple(each.text for number, each in enumerate(facts, start=1) if number in vote.unsupported)


def together(one: Usage, other: Usage) -> Usage:
    """The usage of a turn and of its judge."""
    names = ("calls", "round_trips", "input_tokens", "output_tokens")
    cost = None if one.cost is None else one.cost + (other.cost or 0.0)
    return replace(one, cost=cost, **{name: getattr(one, name) + getattr(other, name) for name in names})


def occurs(words: str, text: str) -> bool:
    """True if a normalized text has these words as whole words: not "18" in "180"."""
    return re.search(rf"(?<!\w){re.escape(normalized(words))}(?!\w)", text) is not None


def normalized(text: str) -> str:
    """The text in lower case without emphasis and footnote markers, white space collapsed."""
    return " ".join(_MARKS.sub("", text).casefold().split())


def _slug(heading: str) -> str:
    """The heading as in an address: "Use CORS" and "use-cors" are the same."""
    return re.sub(r"[\W_]+", "-", heading.casefold()).strip("-")

"""Footnotes: a draft cites strips as ``[n]``; an answer cites footnotes.

Equal footnotes are merged and numbered in order of appearance. Each has a verbatim quote of its source. People
see one number for each location in a document, and the quotes behind it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from types import MappingProxyType

from core.conversation import Answer, Citation, Grounding
from core.grounding.claims import Claim, claims_of, marks_of, rewritten
from core.grounding.quotes import Part, Stated, find_spans
from core.reasoning.reasoner import Draft, Strip
from core.text.blocks import split_blocks
from core.text.quoting import as_quoted, heading_words, is_quotable

IN_DOUBT = "(?)"  # after a sentence that no check settled; with a space before it, it makes no link of a mark
JOINED = " – "  # between the first and the last section of a passage
OWN = 0.3  # share of a row, quotation or code that a quote of its own must show
_DELIMITERS = re.compile(r"(?=.*-)[|:\s-]+")  # between the header of a table and its rows


def to_answer(
    draft: Draft,
    strips: Sequence[Strip],
    stated: Stated = MappingProxyType({}),
    unsettled: tuple[str, ...] = (),
    figures: Sequence[str] = (),
) -> Answer:
    """The draft with footnotes in place of strip numbers, and a mark after sentences that stay in doubt. No source has
    the computed ``figures``."""
    footnotes = _Footnotes({strip.number: strip for strip in strips}, figures)
    text = _compose(draft.text, footnotes, stated, unsettled) if draft.composed else ""
    quotes = () if draft.composed else draft.quotes
    for strip in (footnotes.strips[number] for number in quotes if number in footnotes.strips):
        if is_quotable(strip.passage.text, *strip.within):  # verbatim, each with its footnote
            marker = marks_of([footnotes.number(strip, strip.start, strip.end)])
            quote = as_quoted(strip.passage.text, *strip.within, marker)
            text = f"{text}\n\n{quote}" if text else quote
    citations = tuple(footnotes.citations.values())
    return Answer(
        text=text, citations=citations, grounding=grounding_of(citations), composed=draft.composed,
        is_newer_first=draft.is_newer_first, unsettled=unsettled,
    )  # fmt: skip


class _Footnotes:
    """Numbers footnotes in order of first use; the same quote keeps its number."""

    def __init__(self, strips: Mapping[int, Strip], figures: Sequence[str]) -> None:
        self.strips, self.figures = strips, figures
        self.citations: dict[tuple[str, str, int, int], Citation] = {}

    def number(self, strip: Strip, start: int, end: int) -> int:
        key = (strip.passage.collection, strip.passage.source, start, end)
        return self.citations.setdefault(key, _citation(len(self.citations) + 1, strip, start, end)).number

    def numbers(self, claim: Claim, parts: Sequence[Part], stated: Stated) -> Iterator[int]:
        """The footnotes of a claim; those of what introduces it only where a quote shows it. Of several markers within a
        sentence each stands for the words before it."""
        cited, least = (claim.cited, OWN) if claim.takes_footnotes else (claim.own, 0.0)
        for strip in (self.strips[number] for number in cited if number in self.strips):
            own = claim.said.get(strip.number, "")
            sought = tuple(
                (reduce(lambda left, figure: left.replace(figure, ""), self.figures, each), is_code)
                for each, is_code in ((text if is_code else own or text, is_code) for text, is_code in parts)
            )
            named = [span for text, _ in parts for span in stated.get((text, strip.number), ())]
            for start, end in find_spans(sought, strip, named, beside=claim.above, least=least):
                yield self.number(strip, start, end)


def _compose(text: str, footnotes: _Footnotes, stated: Stated, unsettled: Sequence[str]) -> str:
    """The text with the marks of footnotes; rows, quotations and code have their own where another quote shows them."""
    claims = claims_of(text)
    marks: dict[int, str] = {}
    before, is_covered = frozenset[int](), False
    for number, claim in enumerate(claims):
        # The code block that a claim introduces, which its footnote stands for too; an item does so with a colon.
        below = claims[number + 1 : number + 2]
        is_code = bool(below) and below[0].kind == "code" and below[0].takes_footnotes
        code = below if is_code and (claim.kind == "sentence" or claim.announces) else ()
        marks[number] = ""
        if not is_covered:
            parts = ((claim.text, claim.kind == "code"), *((each.text, True) for each in code))
            numbers = frozenset(footnotes.numbers(claim, parts, stated))
            is_shown = claim.takes_footnotes and numbers <= before
            marks[number] = "" if is_shown else marks_of(sorted(numbers))
            before = before if claim.takes_footnotes else numbers
        if claim.text in unsettled:
            marks[number] = f"{marks[number]} {IN_DOUBT}".strip()
        is_covered = bool(code)
    return _mark(text, claims, marks)


def _mark(text: str, claims: Sequence[Claim], marks: dict[int, str]) -> str:
    """Sentences of a paragraph with the same footnotes show them once, after the last.

    One without marks between them has those of the next.
    """
    following: Claim | None = None  #: the next one with marks
    below = ""
    for number in reversed(range(len(claims))):
        claim, own = claims[number], marks.get(number, "")
        if own and own == below and following and claim.block == following.block and claim.kind != "row":
            marks[number] = ""
        elif own:
            following, below = claim, own
    return rewritten(text, claims, (), marks)


def _citation(number: int, strip: Strip, start: int, end: int) -> Citation:
    passage = strip.passage
    location = _section(strip, start, end) if JOINED in passage.location else passage.location
    return Citation(
        number=number, title=passage.title, location=location, source=passage.source, url=passage.url,
        quote=strip.text[start - strip.start : end - strip.start], start=start, end=end,
        origin=passage.origin,
        collection=passage.collection if passage.origin == "documents" else "", published=passage.published,
        columns=_columns(passage.text, start - passage.start, end - passage.start),
        changed_at=passage.changed_at,
    )  # fmt: skip


def _section(strip: Strip, start: int, end: int) -> str:
    """The location of a quote: of the sections "A > B – D" that were joined into one passage, the one it stands in."""
    location, path = strip.passage.location, " > ".join(strip.passage.path)
    first, last = (replace(strip, start=at).headings for at in (start, end - 1))
    pages, joined, _ = location.rpartition(f"{path} > ")
    if not (first == last and first and joined and path):
        return location
    return pages + joined + " > ".join(map(heading_words, first))


def _columns(text: str, start: int, end: int) -> str:
    """The header row of the table in which ``text[start:end]`` lies below it; empty where there is none."""
    for table in split_blocks(text):
        if table.kind == "table" and table.start < start and end <= table.end:
            header, _, below = text[table.start : table.end].partition("\n")
            begins_below = start > table.start + len(header)
            if begins_below and _DELIMITERS.fullmatch(below.partition("\n")[0].strip()):
                return header.strip()
    return ""


def merge_footnotes(answer: Answer) -> Answer:
    """The answer as people read it: footnotes to one location of a document share a number. Numbers count from 1
    in order of appearance; every citation keeps its quote."""
    shared: dict[tuple[str | None, ...], int] = {}
    numbers: dict[int, int] = {}
    for one in answer.citations:
        address = (one.url or "").partition("#")[0]  # the anchor leads to the quote
        key = (one.origin, one.collection, one.source, one.title, one.location, address)
        numbers[one.number] = shared.setdefault(key, len(shared) + 1)
    if len(shared) == len(answer.citations):
        return answer
    claims = claims_of(answer.text)
    marks = {
        index: marks_of(sorted({numbers.get(number, number) for number in claim.own}))
        for index, claim in enumerate(claims)
        if claim.own
    }
    citations = (replace(one, number=numbers[one.number]) for one in answer.citations)
    ordered = tuple(sorted(citations, key=lambda one: one.number))
    return replace(answer, text=_mark(answer.text, claims, marks), citations=ordered)


def footnotes_for(strips: Sequence[Strip]) -> tuple[Citation, ...]:
    """Citations of whole strips, for "the closest passages"."""
    return tuple(_citation(number, each, each.start, each.end) for number, each in enumerate(strips, start=1))


def grounding_of(citations: Sequence[Citation]) -> Grounding:
    """The origin of the footnotes."""
    origins = {citation.origin for citation in citations}
    if len(origins) == 2:
        return "both"
    return origins.pop() if origins else "none"

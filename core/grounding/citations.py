"""Footnotes: a draft cites strips as ``[n]``; an answer cites footnotes.

Equal footnotes are merged and numbered in order of appearance. Each has a verbatim quote of its source. People
see one number for each place of a document, and the quotes behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, zip_longest

from core.conversation import Answer, Citation, Grounding
from core.grounding.claims import Claim, claims_of, rewritten
from core.reasoning.reasoner import Draft, Strip
from core.text.blocks import split_blocks
from core.text.quoting import as_quoted, is_quotable, quotable
from core.text.terms import query_terms, terms

QUOTE_GAIN = 0.25  # share of a claim's words that a second sentence must add to be quoted too
UNMATCHED = 400  # characters of a quote that has no word of its claim

_DELIMITERS = re.compile(r"(?=.*-)[|:\s-]+")  # between the header of a table and its rows


def to_answer(draft: Draft, strips: Sequence[Strip]) -> Answer:
    """The draft with footnotes in place of strip numbers."""
    footnotes = _Footnotes({strip.number: strip for strip in strips})
    text = _composed(draft.text, footnotes) if draft.composed else _quotes(draft.quotes, footnotes)
    citations = footnotes.citations
    return Answer(
        text=text, citations=citations, grounding=grounding_of(citations), composed=draft.composed,
        is_newer_first=draft.is_newer_first,
    )  # fmt: skip


class _Footnotes:
    """Numbers footnotes in order of first use; the same quote keeps its number."""

    def __init__(self, strips: Mapping[int, Strip]) -> None:
        self._strips = strips
        self._citations: dict[tuple[str, str, int, int], Citation] = {}

    def existing(self, numbers: Iterable[int]) -> list[Strip]:
        return [self._strips[number] for number in numbers if number in self._strips]

    def number(self, strip: Strip, start: int, end: int) -> int:
        passage = strip.retrieved.passage
        key = (passage.collection, passage.source, start, end)
        return self._citations.setdefault(key, _citation(len(self._citations) + 1, strip, start, end)).number

    @property
    def citations(self) -> tuple[Citation, ...]:
        return tuple(self._citations.values())


def _composed(text: str, footnotes: _Footnotes) -> str:
    claims = claims_of(text)
    marks = {
        number: _marks(claim, _said(claim, following), footnotes)
        for number, (claim, following) in enumerate(zip_longest(claims, claims[1:]))
    }
    return _marked(text, claims, marks)


def _marked(text: str, claims: Sequence[Claim], marks: dict[int, str]) -> str:
    """Neighbouring sentences of a paragraph with the same footnotes show them once, after the last."""
    for number, (claim, following) in enumerate(pairwise(claims)):
        is_same = number in marks and marks[number] == marks.get(number + 1)
        if is_same and claim.block == following.block and claim.kind != "row":
            marks[number] = ""
    return rewritten(text, claims, (), marks)


def _said(claim: Claim, following: Claim | None) -> str:
    """The claim with the code that it introduces, which its footnote stands for too."""
    has_code = following is not None and following.kind == "code" and following.takes_footnotes
    return f"{claim.text}\n{following.text}" if following and has_code else claim.text


def _marks(claim: Claim, said: str, footnotes: _Footnotes) -> str:
    strips = footnotes.existing(claim.own)
    return _written(footnotes.number(strip, *_quoted(said, strip)) for strip in strips)


def _written(numbers: Iterable[int]) -> str:
    """As people expect footnotes: in order, each once."""
    return "".join(f"[{number}]" for number in sorted(set(numbers)))


def _quotes(numbers: Sequence[int], footnotes: _Footnotes) -> str:
    """The strips verbatim, each with its footnote."""
    paragraphs = []
    for strip in footnotes.existing(numbers):
        passage = strip.retrieved.passage
        start, end = strip.start - passage.start, strip.end - passage.start
        if is_quotable(passage.text, start, end):
            marker = f"[{footnotes.number(strip, strip.start, strip.end)}]"
            paragraphs.append(as_quoted(passage.text, start, end, marker))
    return "\n\n".join(paragraphs)


def _quoted(said: str, strip: Strip) -> tuple[int, int]:
    """The span of the strip that best supports what is said: a sentence or row, or two adjacent ones.

    If they share no word, as in two languages, it is what a judge named of the strip, or its beginning.
    """
    passage = strip.retrieved.passage
    wanted = set(query_terms(said))
    spans = list(quotable(passage.text, strip.start - passage.start, strip.end - passage.start))
    held = [wanted & set(terms(passage.text[start:end])) for start, end in spans]
    if not any(held):
        named = [span for span in spans if _is_named(strip, *span)] or spans
        last = [end for _, end in named if end <= named[0][0] + UNMATCHED]
        return (passage.start + named[0][0], passage.start + last[-1]) if last else (strip.start, strip.end)
    first = last_one = max(range(len(spans)), key=lambda number: len(held[number]))
    for neighbour in (first - 1, first + 1):
        if 0 <= neighbour < len(spans) and len(held[neighbour] - held[last_one]) >= QUOTE_GAIN * len(wanted):
            first, last_one = min(first, neighbour), max(last_one, neighbour)
    return passage.start + spans[first][0], passage.start + spans[last_one][1]


def _is_named(strip: Strip, start: int, end: int) -> bool:
    """Whether a judge named what stands from ``start`` to ``end`` of the passage."""
    offset = strip.retrieved.passage.start
    return any(first < offset + end and offset + start < last for first, last in strip.evidence)


def _citation(number: int, strip: Strip, start: int, end: int) -> Citation:
    passage = strip.retrieved.passage
    return Citation(
        number=number,
        title=passage.title,
        location=passage.location,
        source=passage.source,
        url=passage.url,
        quote=strip.text[start - strip.start : end - strip.start],
        start=start,
        end=end,
        origin=passage.origin,
        published=passage.published,
        collection=passage.collection if passage.origin == "documents" else "",
        changed_at=passage.changed_at,
        columns=_columns(passage.text, start - passage.start, end - passage.start),
    )


def _columns(text: str, start: int, end: int) -> str:
    """The header row of the table in which ``text[start:end]`` lies below it; empty where there is none."""
    within = (
        one for one in split_blocks(text) if one.kind == "table" and one.start < start and end <= one.end
    )
    for table in within:
        header, _, below = text[table.start : table.end].partition("\n")
        begins_below = start > table.start + len(header)
        if begins_below and _DELIMITERS.fullmatch(below.partition("\n")[0].strip()):
            return header.strip()
    return ""


def by_place(answer: Answer) -> Answer:
    """The answer as people read it: footnotes at one place of a document share a number.

    Numbers count from 1 in order of appearance; every citation keeps its quote.
    """
    places: dict[tuple[str | None, ...], int] = {}
    numbers = {one.number: places.setdefault(_place(one), len(places) + 1) for one in answer.citations}
    if len(places) == len(answer.citations):
        return answer
    claims = claims_of(answer.text)
    marks = {
        index: _written(numbers.get(number, number) for number in claim.own)
        for index, claim in enumerate(claims)
        if claim.own
    }
    citations = (replace(one, number=numbers[one.number]) for one in answer.citations)
    ordered = tuple(sorted(citations, key=lambda one: one.number))
    return replace(answer, text=_marked(answer.text, claims, marks), citations=ordered)


def _place(citation: Citation) -> tuple[str | None, ...]:
    address = (citation.url or "").partition("#")[0]  # the anchor leads to the quote
    return citation.origin, citation.collection, citation.source, citation.title, citation.location, address


def footnotes_for(strips: Sequence[Strip]) -> tuple[Citation, ...]:
    """Each strip as a citation, for "the closest passages"."""
    return tuple(
        _citation(number, strip, strip.start, strip.end) for number, strip in enumerate(strips, start=1)
    )


def grounding_of(citations: Sequence[Citation]) -> Grounding:
    """Where the footnotes come from."""
    origins = {citation.origin for citation in citations}
    if len(origins) == 2:
        return "both"
    return origins.pop() if origins else "none"

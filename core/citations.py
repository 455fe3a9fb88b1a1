"""Footnotes: a draft cites strips as ``[n]``; an answer cites footnotes.

Duplicates are merged and numbers follow the order of appearance. Each footnote has a quote
that stands verbatim in its source.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from core.claims import Claim, claims_of, readable, without_unfounded_headings
from core.conversation import Answer, Citation, Grounding
from core.reasoner import Draft, Strip
from core.text.inline import MARKER, outside_code, without_markers
from core.text.quoting import as_quoted, is_quotable
from core.text.restated import idle
from core.text.sentences import units_within
from core.text.terms import query_terms, terms

QUOTE_GAIN = 0.25  # share of a claim's words that a second sentence must add to be quoted too

_BEHIND_ROW = re.compile(
    rf"^([ \t]*\|.*?)[ \t]*\|[ \t]*((?:{MARKER.pattern})+)[ \t]*$", re.MULTILINE
)  # no cell: not shown
_LINK_ADDRESS = re.compile(
    r"^ {0,3}\[[^\]\n]++\]:.*\n?", re.MULTILINE
)  # "[1]: https://…" lists sources of its own


def to_answer(draft: Draft, strips: Sequence[Strip]) -> Answer:
    """The draft with footnotes in place of strips; citations in order of appearance."""
    footnotes = _Footnotes({strip.number: strip for strip in strips})
    written = without_unfounded_headings(draft.text, strips)
    text = _composed(written, footnotes) if draft.composed else _quotes(draft.quotes, footnotes)
    citations = footnotes.citations
    return Answer(text=text, citations=citations, grounding=grounding_of(citations), composed=draft.composed)


class _Footnotes:
    """Hands out footnote numbers in order of first use; the same quote keeps its number."""

    def __init__(self, strips: Mapping[int, Strip]) -> None:
        self._strips = strips
        self._given: dict[tuple[str, str, int, int], Citation] = {}

    def existing(self, numbers: Iterable[int]) -> list[Strip]:
        return [self._strips[number] for number in numbers if number in self._strips]

    def number(self, strip: Strip, start: int, end: int) -> int:
        passage = strip.retrieved.passage
        key = (passage.collection, passage.source, start, end)
        return self._given.setdefault(key, _citation(len(self._given) + 1, strip, start, end)).number

    @property
    def citations(self) -> tuple[Citation, ...]:
        return tuple(self._given.values())


def _composed(text: str, footnotes: _Footnotes) -> str:
    parts: list[str] = []
    position = 0
    for claim in claims_of(text):
        parts += [_between(text[position : claim.start]), _renumbered(text, claim, footnotes)]
        position = claim.end
    return "".join((*parts, _between(text[position:]))).strip("\n").rstrip()


def _between(text: str) -> str:
    """Headings and rules; a marker there would cite nothing."""
    return "\n".join(without_markers(line) for line in _LINK_ADDRESS.sub("", text).split("\n"))


def _renumbered(text: str, claim: Claim, footnotes: _Footnotes) -> str:
    """The claim's own words, its footnotes behind them; in a table, in their cells.

    A sentence loses the footnotes that say nothing of it.
    """
    named = {strip.number: strip for strip in footnotes.existing(claim.own)}
    sources = {number: readable(strip) for number, strip in named.items()}
    needless = idle(claim.text, list(named), sources) if claim.kind in ("sentence", "item") else set()
    given = {
        number: f"[{footnotes.number(strip, *_quoted(claim, strip))}]"
        for number, strip in named.items()
        if number not in needless
    }
    if claim.kind == "table" and claim.own:
        written = _BEHIND_ROW.sub(r"\1 \2 |", text[claim.start : claim.end])
        return outside_code(written, lambda prose: MARKER.sub(lambda found: _marks(found, given), prose))
    marks = "".join(dict.fromkeys(given.values()))
    gap = "\n\n" if claim.kind == "code" else " "
    return claim.text + gap + marks if marks else claim.text


def _marks(found: re.Match[str], given: Mapping[int, str]) -> str:
    """The footnotes for one marker of a draft."""
    numbers = (int(number) for number in re.split(r"[,;]", found[1]))
    return "".join(dict.fromkeys(given[number] for number in numbers if number in given))


def _quotes(numbers: Sequence[int], footnotes: _Footnotes) -> str:
    """Strips as they stand, each with its footnote."""
    paragraphs = []
    for strip in footnotes.existing(numbers):
        passage = strip.retrieved.passage
        start, end = strip.start - passage.start, strip.end - passage.start
        if is_quotable(passage.text, start, end):
            marker = f"[{footnotes.number(strip, strip.start, strip.end)}]"
            paragraphs.append(as_quoted(passage.text, start, end, marker))
    return "\n\n".join(paragraphs)


def _quoted(claim: Claim, strip: Strip) -> tuple[int, int]:
    """The stretch of the strip that best carries the claim: one sentence, or two that stand together."""
    passage = strip.retrieved.passage
    wanted = set(query_terms(claim.text))
    within = units_within(passage.text, strip.start - passage.start, strip.end - passage.start)
    units = [unit for unit in within if unit.kind not in ("heading", "markup")]
    if not units or not wanted:
        return strip.start, strip.end
    held = [wanted & set(terms(passage.text[unit.start : unit.end])) for unit in units]
    best = max(range(len(units)), key=lambda i: len(held[i]))
    first = last = best
    for neighbour in (best - 1, best + 1):
        if 0 <= neighbour < len(units) and len(held[neighbour] - held[best]) >= QUOTE_GAIN * len(wanted):
            first, last = min(first, neighbour), max(last, neighbour)
    return passage.start + units[first].start, passage.start + units[last].end


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
    )


def footnotes_for(strips: Sequence[Strip]) -> tuple[Citation, ...]:
    """Strips as citations of their own, for "the closest passages"."""
    return tuple(
        _citation(number, strip, strip.start, strip.end) for number, strip in enumerate(strips, start=1)
    )


def grounding_of(citations: Sequence[Citation]) -> Grounding:
    """Where the footnotes come from."""
    origins = {citation.origin for citation in citations}
    if len(origins) == 2:
        return "both"
    return origins.pop() if origins else "none"

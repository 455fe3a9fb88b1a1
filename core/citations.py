"""Claims and their footnotes: reading markers, local checks, numbering.

A draft cites strips as ``[n]``. What leaves here cites footnotes: duplicates merged,
numbered in order of appearance, each with a quote that stands verbatim in its source.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from core.conversation import Answer, Citation, Grounding
from core.reasoner import Draft, Strip
from core.text.sentences import Unit, split_units
from core.text.terms import query_terms, terms

CODE_NAMES_FOUND = (
    0.8  # share of a code block's names that its passages must hold; the rest may be placeholders
)
QUOTE_GAIN = 0.25  # share of a claim's words that a second sentence must add to be quoted too

_MARKER = re.compile(r"\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\]")
_LEADING_MARKERS = re.compile(rf"(?:\s*{_MARKER.pattern})+[.,;]?")
_LINK = re.compile(r"!?\[([^\]\[]*)\]\([^()\s]*(?:\s+\"[^\"]*\")?\)(?:\{[^}]*\})?")
_MARKUP_BETWEEN = re.compile(r"[^\s>*+\-\d.)]")  # more than white space and a list marker
_INLINE_CODE = re.compile(r"`+[^`]+`+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NAME = re.compile(r"\b[A-Z][\w.+#-]*\w|\b[A-Z]\b")
_CODE_NAME = re.compile(r"[^\W\d]\w{2,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A sentence, list item, code block or table of a draft, and the strips it cites."""

    start: int  #: characters into the draft, markers included
    end: int
    kind: str  #: as core.text.sentences names it
    text: str  #: without markers
    cited: tuple[int, ...]  #: strip numbers; a code block or an introduction inherits its neighbour's


def claims_of(text: str) -> tuple[Claim, ...]:
    """The claims of a draft in order; headings and rules claim nothing."""
    spans = _with_trailing_markers(
        text, [u for u in split_units(text) if u.kind not in ("heading", "markup")]
    )
    claims = [
        Claim(
            start=unit.start,
            end=unit.end,
            kind=unit.kind,
            text=_without_markers(text[unit.start : unit.end], unit.kind),
            cited=() if unit.kind == "code" else _cited(text[unit.start : unit.end]),
        )
        for unit in spans
    ]
    return tuple(_inherited(claims, index) for index in range(len(claims)))


def _with_trailing_markers(text: str, units: Sequence[Unit]) -> list[Unit]:
    """Units whose boundaries are moved so that ``One. [1] Two.`` gives the marker to One."""
    moved: list[Unit] = []
    for unit in units:
        start = unit.start
        leading = None if unit.kind == "code" else _LEADING_MARKERS.match(text, start, unit.end)
        if leading and moved:
            start = leading.end()
            moved[-1] = replace(moved[-1], end=start) if moved[-1].kind != "code" else moved[-1]
        while start < unit.end and text[start].isspace():
            start += 1
        if start < unit.end:
            moved.append(replace(unit, start=start))
    return moved


def _inherited(claims: Sequence[Claim], index: int) -> Claim:
    """A code block or table leans on what introduces it; an introduction on what follows."""
    claim = claims[index]
    if claim.cited:
        return claim
    if claim.kind in ("code", "table") and index:
        return replace(claim, cited=claims[index - 1].cited)
    if claim.text.rstrip().endswith(":") and index + 1 < len(claims):
        following = claims[index + 1 :]
        return replace(claim, cited=next((c.cited for c in following if c.cited), ()))
    return claim


def _cited(text: str) -> tuple[int, ...]:
    bare = _INLINE_CODE.sub(lambda match: " " * len(match.group()), text)
    numbers = (int(n) for group in _MARKER.findall(bare) for n in re.split(r"[,;]", group))
    return tuple(dict.fromkeys(numbers))


def _without_markers(text: str, kind: str) -> str:
    return (
        text
        if kind == "code"
        else _outside_code(text, lambda part: re.sub(rf"\s*{_MARKER.pattern}", "", part))
    )


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    """The text with what stands outside inline code changed."""
    parts, position = [], 0
    for match in _INLINE_CODE.finditer(text):
        parts += [change(text[position : match.start()]), match.group()]
        position = match.end()
    return "".join((*parts, change(text[position:])))


def faults_of(claim: Claim, strips: Mapping[int, Strip]) -> tuple[str, ...]:
    """Why a claim may not stand, as far as can be told without a model; empty: nothing found."""
    if not claim.cited:
        return ("it has no footnote",)
    if any(number not in strips for number in claim.cited):
        return ("its footnote does not exist",)
    source = "\n".join(_readable(strips[number]) for number in claim.cited)
    if claim.kind == "code":
        names = set(_CODE_NAME.findall(claim.text))
        found = sum(name in source for name in names)
        return (
            () if not names or found / len(names) >= CODE_NAMES_FOUND else ("its code is not in the source",)
        )
    faults = [
        f"the number {n} is not in its source" for n in _numbers(claim.text) if n not in _numbers(source)
    ]
    folded = source.casefold()
    faults += [
        f"“{name}” is not in its source" for name in _names(claim.text) if name.casefold() not in folded
    ]
    return tuple(faults)


def _readable(strip: Strip) -> str:
    passage = strip.retrieved.passage
    return "\n".join((passage.title, *passage.path, strip.text))


def _numbers(text: str) -> set[str]:
    return {number.replace(",", "").rstrip(".") for number in _NUMBER.findall(text)}


def _names(text: str) -> list[str]:
    """Proper names and inline code of a claim; its first word is capital anyway."""
    code = [match.strip("`").strip() for match in _INLINE_CODE.findall(text)]
    prose = re.sub(r"[*_>#\"“”(]", " ", _INLINE_CODE.sub(" ", text)).strip()
    _, _, rest = prose.partition(" ")
    inner = [name for name in _NAME.findall(rest) if name != "I" and not _opens_sentence(rest, name)]
    return list(dict.fromkeys((*(c for c in code if c), *inner)))


def _opens_sentence(text: str, name: str) -> bool:
    at = text.find(name)
    return at > 0 and text[:at].rstrip()[-1:] in ".!?:"


def without(text: str, claims: Sequence[Claim]) -> str:
    """The draft with these claims cut out, and no empty list items left behind."""
    for claim in sorted(claims, key=lambda c: -c.start):
        line_start = text.rfind("\n", 0, claim.start) + 1
        lead = text[line_start : claim.start]
        begins_item = claim.kind == "item" and re.fullmatch(r"\s*(?:[-*+]|\d+[.)])\s+", lead)
        rest = text[claim.end :].split("\n", 1)[0].strip()
        start = line_start if begins_item and not rest else claim.start
        text = text[:start] + text[claim.end :]
    text = re.sub(r"[ \t]+\n", "\n", re.sub(r"(?<=\S)[ \t]{2,}", " ", text))
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def to_answer(draft: Draft, strips: Sequence[Strip]) -> Answer:
    """The draft with footnotes in place of strips; citations in order of appearance."""
    footnotes = _Footnotes({strip.number: strip for strip in strips})
    text = _composed(draft.text, footnotes) if draft.composed else _quotes(draft.quotes, footnotes)
    citations = footnotes.citations
    return Answer(text=text, citations=citations, grounding=grounding_of(citations), composed=draft.composed)


class _Footnotes:
    """Hands out footnote numbers in order of first use; the same quote keeps its number."""

    def __init__(self, strips: Mapping[int, Strip]) -> None:
        self.strips = strips
        self._given: dict[tuple[str, int, int], Citation] = {}

    def number(self, strip: Strip, start: int, end: int) -> int:
        key = (strip.retrieved.passage.source, start, end)
        return self._given.setdefault(key, _citation(len(self._given) + 1, strip, start, end)).number

    @property
    def citations(self) -> tuple[Citation, ...]:
        return tuple(self._given.values())


def _composed(text: str, footnotes: _Footnotes) -> str:
    parts: list[str] = []
    position = 0
    for claim in claims_of(text):
        cited = [strip for number in claim.cited if (strip := footnotes.strips.get(number))]
        numbers = dict.fromkeys(footnotes.number(strip, *_quoted(claim, strip)) for strip in cited)
        written = text[claim.start : claim.end]
        parts += [text[position : claim.start], _renumbered(written, claim, tuple(numbers))]
        position = claim.end
    return "".join((*parts, text[position:])).strip()


def _quotes(numbers: Sequence[int], footnotes: _Footnotes) -> str:
    """Strips as they stand, each with its footnote behind the prose and before any code."""
    paragraphs = []
    for strip in (footnotes.strips[number] for number in numbers):
        marker = f"[{footnotes.number(strip, strip.start, strip.end)}]"
        units = [unit for unit in split_units(strip.text) if unit.kind != "markup"]
        last_prose = max((i for i, unit in enumerate(units) if unit.kind in ("sentence", "item")), default=-1)
        shown = [_shown(strip.text, units, index) for index in range(len(units))]
        if last_prose < 0:
            shown.append(f"\n\n{marker}")
        else:
            shown[last_prose] += f" {marker}"
        paragraphs.append("".join(shown).strip())
    return "\n\n".join(paragraphs)


def _shown(text: str, units: Sequence[Unit], index: int) -> str:
    """A unit with the white space and list marker before it, as an answer shows it.

    A source's own ``[3]`` would pass for a footnote of ours and is shown as ``(3)``; links of a
    source lead nowhere from here, so only their words are kept.
    """
    unit = units[index]
    lead = text[units[index - 1].end : unit.start] if index else text[: unit.start]
    lead = "\n\n" if _MARKUP_BETWEEN.search(lead) else lead
    words = text[unit.start : unit.end]
    if unit.kind == "code":
        return lead + words
    return lead + _outside_code(_LINK.sub(r"\1", words), lambda prose: _MARKER.sub(r"(\1)", prose))


def _renumbered(written: str, claim: Claim, numbers: tuple[int, ...]) -> str:
    """The claim's own words, its footnotes behind them; code and introductions carry none."""
    if claim.kind == "code" or not _cited(written):
        return written
    return claim.text.rstrip() + " " + "".join(f"[{number}]" for number in numbers) if numbers else claim.text


def _quoted(claim: Claim, strip: Strip) -> tuple[int, int]:
    """The stretch of the strip that best carries the claim: one sentence, or two that stand together."""
    wanted = set(query_terms(claim.text))
    units = [u for u in split_units(strip.text) if u.kind not in ("heading", "markup")]
    if not units or not wanted:
        return strip.start, strip.end
    held = [wanted & set(terms(strip.text[u.start : u.end])) for u in units]
    best = max(range(len(units)), key=lambda i: len(held[i]))
    first = last = best
    for neighbour in (best - 1, best + 1):
        if 0 <= neighbour < len(units) and len(held[neighbour] - held[best]) >= QUOTE_GAIN * len(wanted):
            first, last = min(first, neighbour), max(last, neighbour)
    return strip.start + units[first].start, strip.start + units[last].end


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

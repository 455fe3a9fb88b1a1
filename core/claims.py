"""The claims of a draft: what each says, which strips it cites, what is wrong with it, the draft without it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from core.reasoner import Strip
from core.text.blocks import LIST_MARKER, QUOTATION_MARK, stretches
from core.text.facts import missing_code, missing_figures, missing_identifiers, missing_names
from core.text.inline import MARKER, cited, without_markers
from core.text.listings import holds_code_block
from core.text.quotations import is_verbatim, missing_quotations
from core.text.restated import changes, is_misplaced
from core.text.sentences import Unit, split_units

_ONLY_MARKERS = re.compile(rf"(?:\s*+{MARKER.pattern}[.,;]?)++")
_LEADING_MARKERS = re.compile(rf"(?:[ \t]*+{MARKER.pattern})++[.,;]?")
_LINE_LEAD = re.compile(rf"(?:{QUOTATION_MARK})?[ \t]*+(?:{LIST_MARKER}[ \t]+)?")
_ITEM_LEAD = re.compile(rf"(?:{QUOTATION_MARK})?(?P<indent>[ \t]*){LIST_MARKER}[ \t]+")
_ITEM_NUMBER = re.compile(r"\A([ \t]*)(\d{1,9})(?=[.)])")
_HASHES = re.compile(r"#{1,6}")
_COUNTED = re.compile(r"\A#*\s*(?:\w+\s+)?\d{1,2}\s*(?:[.):–-]|\Z)")  # "Step 2: …", "3. …"
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")  # where all begin with a capital letter, they are no names


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A sentence, list item, code block or table of a draft, and the strips it cites."""

    start: int  #: characters into the draft, markers included
    end: int
    kind: str  #: as core.text.sentences names it
    text: str  #: without markers
    own: tuple[int, ...]  #: strip numbers that it names itself
    cited: tuple[int, ...]  #: its own, or what a code block or an introduction inherits of its neighbour
    is_quotation: bool = False  #: it stands in a block quotation, as somebody else's words


def claims_of(text: str) -> tuple[Claim, ...]:
    """The claims of a draft in order; headings and rules claim nothing."""
    claims: list[Claim] = []
    leads = False  # markers stand before what they belong to: "[1] One. [2] Two."
    for unit in split_units(text):
        if unit.kind in ("heading", "markup"):
            continue
        start, marks = unit.start, _leading_markers(text, unit)
        are_alone = marks is not None and marks.end() == unit.end
        before = text[claims[-1].end : start] if claims else "\n\n"
        if "\n" in before:
            leads = marks is not None and not are_alone and ("\n\n" in before or bool(claims[-1].own))
        if marks and claims and (are_alone or not leads):
            claims[-1] = _with_markers(claims[-1], text, marks.end())
            start = marks.end()
        start += len(text[start : unit.end]) - len(text[start : unit.end].lstrip())
        if start < unit.end:
            claims.append(_claim(text, start, unit.end, unit.kind))
    return _inherited(claims)


def _leading_markers(text: str, unit: Unit) -> re.Match[str] | None:
    """The markers that a unit begins with, or is made of."""
    if unit.kind == "code":
        return None
    alone = _ONLY_MARKERS.fullmatch(text, unit.start, unit.end)
    return alone or _LEADING_MARKERS.match(text, unit.start, unit.end)


def _claim(text: str, start: int, end: int, kind: str) -> Claim:
    written = text[start:end]
    own = () if kind == "code" else cited(written)
    words = written if kind == "code" else without_markers(written).strip()
    line = text[text.rfind("\n", 0, start) + 1 : start]
    is_quotation = kind != "code" and bool(re.match(QUOTATION_MARK, line))
    return Claim(start=start, end=end, kind=kind, text=words, own=own, cited=own, is_quotation=is_quotation)


def _with_markers(claim: Claim, text: str, end: int) -> Claim:
    """The claim with the markers that follow it."""
    own = tuple(dict.fromkeys((*claim.own, *cited(text[claim.end : end]))))
    return replace(claim, end=end, own=own, cited=own)


def _inherited(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """An introduction leans on what follows it; a code block or table on what stands before."""
    following: tuple[int, ...] = ()
    backward: list[Claim] = []
    for claim in reversed(claims):
        following = claim.own or following
        introduces = not claim.own and _introduces(claim)
        backward.append(replace(claim, cited=following) if introduces else claim)
    forward: list[Claim] = []
    for claim in reversed(backward):
        leans = not claim.own and claim.kind in ("code", "table") and forward
        forward.append(replace(claim, cited=forward[-1].cited) if leans else claim)
    return tuple(forward)


def _introduces(claim: Claim) -> bool:
    return claim.kind in ("sentence", "item") and claim.text.rstrip("*_").endswith((":", "："))


def faults_of(claim: Claim, strips: Mapping[int, Strip]) -> tuple[str, ...]:
    """Why a claim may not stand, as far as can be told without a model; empty: nothing found."""
    if not claim.cited:
        return ("it has no footnote",)
    if any(number not in strips for number in claim.cited):
        return ("its footnote does not exist",)
    read = {number: readable(strip) for number, strip in strips.items()}
    source = "\n".join("\n".join(read[number]) for number in claim.cited)
    if claim.kind == "code":
        return () if holds_code_block(claim.text, source) else ("its code is not in the source",)
    named = claim.text.partition("\n")[2] if claim.kind == "table" else claim.text  # a header names nothing
    named = "" if claim.is_quotation else named
    unknown = (
        *(f"the number {number} is not in its source" for number in missing_figures(claim.text, source)),
        *(f"“{name}” is not in its source" for name in missing_names(named, source)),
        *(f"“{code}” is not in its source" for code in missing_code(claim.text, source)),
        *(f"“{name}” is not in its source" for name in missing_identifiers(claim.text, source)),
    )
    return unknown or tuple(_altered(claim, read))


def _altered(claim: Claim, read: Mapping[int, tuple[str, str]]) -> Iterator[str]:
    """What the claim makes of its sources' own words, and whether they are the ones that say it."""
    texts = [text for number in claim.cited for text in read[number]]
    if claim.is_quotation:
        if not is_verbatim(claim.text, texts):
            yield "it is no quotation of its source"
        return
    yield from (f"its source does not say “{words}”" for words in missing_quotations(claim.text, texts))
    if claim.kind in ("sentence", "item"):
        above = "\n".join(read[number][0] for number in claim.cited)
        yield from changes(claim.text, [read[number][1] for number in claim.cited], above)
        if is_misplaced(claim.text, claim.own, read):
            yield "another source says this, not the one it names"


def readable(strip: Strip) -> tuple[str, str]:
    """What a reader sees above the strip, and the strip."""
    passage = strip.retrieved.passage
    return "\n".join((passage.title, *passage.path, passage.published or "")), strip.text


def without(text: str, claims: Sequence[Claim]) -> str:
    """The draft with these claims cut out, and with them what cannot stand alone: code that leans on
    them, introductions to nothing, empty list items and headings."""
    if not claims:
        return text
    everything = claims_of(text)
    doomed = _doomed(everything, {claim.start for claim in claims})
    for claim in reversed(everything):
        if claim.start in doomed:
            text = _cut(text, claim)
    return _without_empty_headings(text).strip("\n").rstrip()


def _doomed(claims: Sequence[Claim], cut: Collection[int]) -> set[int]:
    """Starts of the claims to cut, with those that depend on them."""
    doomed = set(cut)
    for before, claim in pairwise(claims):
        if claim.kind in ("code", "table") and not claim.own and before.start in doomed:
            doomed.add(claim.start)
    for number in reversed(range(len(claims) - 1)):
        introduced = _introduced(claims, number)
        if introduced and all(claim.start in doomed for claim in introduced):
            doomed.add(claims[number].start)
    return doomed


def _introduced(claims: Sequence[Claim], number: int) -> Sequence[Claim]:
    """What an introduction announces: the list, or the one thing, that follows it."""
    if not _introduces(claims[number]):
        return ()
    last = number + 1
    while claims[last].kind == "item" and last + 1 < len(claims) and claims[last + 1].kind == "item":
        last += 1
    return claims[number + 1 : last + 1]


def _cut(text: str, claim: Claim) -> str:
    """The text without the claim, and without its lines where it filled them."""
    begin = text.rfind("\n", 0, claim.start) + 1
    end = text.find("\n", claim.end)
    end = len(text) if end < 0 else end
    rest = text[claim.end : end]
    if rest.strip():
        return text[: claim.start] + text[claim.end :].lstrip(" \t")
    lead = text[begin : claim.start]
    if not _LINE_LEAD.fullmatch(lead):
        return text[: claim.start].rstrip(" \t") + text[end:]
    if any(stretch.start <= claim.start and end < stretch.end for stretch in stretches(text)):
        return text[: claim.start] + _LINE_LEAD.sub("", text[end + 1 :], count=1)
    before, after = text[:begin], text[end + 1 :]
    if item := _ITEM_LEAD.fullmatch(lead):
        after = "".join(_closed_ranks(after, len(item["indent"])))
    return before + (after.lstrip("\n") if before.endswith("\n\n") else after)


def _closed_ranks(after: str, indent: int) -> Iterator[str]:
    """The lines after an item that was cut: its inner items moved out, the next ones counted anew."""
    outward: int | None = None  # columns; until the next item of its own list
    is_below = True
    for line in after.splitlines(keepends=True):
        depth = len(line) - len(line.lstrip())
        is_below = is_below and (depth > indent or not line.strip() or bool(_ITEM_LEAD.match(line)))
        if not is_below or not line.strip():
            yield line
        elif depth > indent:
            outward = depth - indent if outward is None else outward
            yield line[min(outward, depth) :]
        else:
            outward = 0
            yield _ITEM_NUMBER.sub(lambda found: f"{found[1]}{max(1, int(found[2]) - 1)}", line)


def without_unfounded_headings(text: str, strips: Sequence[Strip]) -> str:
    """The draft without headings that state a number, or name a thing, that no strip knows.

    They carry no footnote, so that nobody would look there; a heading that counts steps states nothing.
    """
    source = "\n".join("\n".join(readable(strip)) for strip in strips)
    for unit in reversed([unit for unit in split_units(text) if unit.kind == "heading"]):
        said = _COUNTED.sub("", without_markers(text[unit.start : unit.end]))
        is_titled = not any(word.islower() for word in _LONG_WORD.findall(said))
        names = [] if is_titled else missing_names(said, source)
        if names or missing_figures(said, source) or missing_code(said, source):
            text = text[: unit.start] + text[unit.end :].lstrip("\n")
    return text


def _without_empty_headings(text: str) -> str:
    below: int | None = 1  # level of the heading that comes next; None: there is something to read before it
    for unit in reversed([unit for unit in split_units(text) if unit.kind != "markup"]):
        if unit.kind != "heading":
            below = None
            continue
        level = len(hashes[0]) if (hashes := _HASHES.match(text, unit.start)) else 1
        if below is not None and level >= below:
            text = text[: unit.start] + text[unit.end :].lstrip("\n")
        else:
            below = level
    return text

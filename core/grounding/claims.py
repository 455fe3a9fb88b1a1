"""The claims of a draft, the strips that each cites, and the draft without some of them.

Footnotes are read as people read them. A marker at the end of a paragraph or item covers the sentences
before it that have none. An introduction gets the footnotes of what it introduces; "Yes." those of the next
sentence. Code, tables and quotations without a marker get those of what introduces them.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, takewhile

from core.text.blocks import LIST_MARKER, QUOTATION_MARK, split_blocks
from core.text.inline import MARKER, citation_numbers, without_code, without_markers
from core.text.sentences import Unit, split_units

SHORT_WORDS, SHORT_LENGTH, SHORT_UNSPACED = 3, 30, 8  # "Short answer: no."; characters; those of 「はい。」

_ONLY_MARKERS = re.compile(rf"(?:\s*+{MARKER.pattern}[.,;。]?)+")
_LEADING_MARKERS = re.compile(rf"(?:[ \t]*+{MARKER.pattern})+[.,;]?")
_LINE_LEAD = re.compile(rf"(?:{QUOTATION_MARK})?[ \t]*+(?:{LIST_MARKER}[ \t]+)?")
_GAP = re.compile(rf"(?:(?:(?<=\n)|\s*\n){QUOTATION_MARK})*\s*+")
_ITEM_LEAD = re.compile(rf"(?:{QUOTATION_MARK})?(?P<indent>[ \t]*){LIST_MARKER}[ \t]+")
_ITEM_NUMBER = re.compile(r"\A([ \t]*)(\d{1,9})(?=[.)])")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_UNSPACED_END = re.compile(r"[。！？：；、，｡」』）】》][*_]*\Z")  # has its space within the sign
_COLON = re.compile(r"\s*([:：])(?=[*_ ]*\Z)")
_BOLD = re.compile(r"\*\*[^*\n]+\*\*")  # a former heading
_DELIMITER_ROW = re.compile(r"^[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A sentence, list item, code block or table row of a draft, and the strips it cites."""

    start: int  #: characters into the draft, markers included
    end: int
    kind: str  #: of core.text.sentences, or "row" of a table
    text: str  #: without markers
    above: str = ""  #: for a row: the header of its table
    own: tuple[int, ...]  #: strip numbers in its own markers
    cited: tuple[int, ...]  #: its own, or those of the claim that covers it
    block: int  #: number of its paragraph, item, code block or table, from 0
    depth: int = 0  #: columns before a list marker
    is_quotation: bool = False  #: in a block quotation
    #: by strip, the words before each of several markers
    said: Mapping[int, str] = field(default_factory=dict)

    @property
    def as_judged(self) -> str:
        """Its text; a row is judged with the header of its table."""
        return f"{self.above}\n{self.text}" if self.above else self.text

    @property
    def takes_footnotes(self) -> bool:
        """True if it takes its footnotes from what introduces it."""
        return not self.own and (self.kind in ("code", "row") or self.is_quotation)

    @property
    def is_heading(self) -> bool:
        return self.kind == "sentence" and bool(_BOLD.fullmatch(self.text))

    @property
    def announces(self) -> bool:
        is_said = self.kind in ("sentence", "item")
        return self.is_heading or (is_said and self.text.rstrip("*_ ").endswith((":", "：")))


def claims_of(text: str) -> tuple[Claim, ...]:
    """The claims of a draft in order, without headings and rules."""
    blocks = list(split_blocks(text))
    claims: list[Claim] = []
    leads = False  # markers come before their claims: "[1] One. [2] Two."
    number = 0
    for unit in split_units(text):
        while blocks[number].end < unit.end:
            number += 1
        if unit.kind in ("heading", "markup"):
            continue
        if unit.kind == "table":
            claims += _rows(text, unit, number)
            continue
        start, marks = unit.start, None
        if unit.kind != "code":  # a unit may have nothing else
            alone = _ONLY_MARKERS.fullmatch(text, start, unit.end)
            marks = alone or _LEADING_MARKERS.match(text, start, unit.end)
        are_alone = marks is not None and marks.end() == unit.end
        before = text[claims[-1].end : start] if claims else "\n\n"
        if "\n" in before:
            begins = "\n\n" in before or bool(claims[-1].own) or claims[-1].block != number
            leads = marks is not None and not are_alone and begins
        if marks and claims and (are_alone or not leads):
            start = marks.end()
            # Below code that a sentence announces, they are that sentence's.
            is_announced = claims[-1].kind == "code" and len(claims) > 1 and claims[-2].announces
            marked = -2 if is_announced else -1
            own = tuple(dict.fromkeys((*claims[marked].own, *citation_numbers(text[claims[-1].end : start]))))
            claims[-1] = replace(claims[-1], end=start)
            claims[marked] = replace(claims[marked], own=own, cited=own)
        gap = _GAP.match(text, start, unit.end)
        start = gap.end() if gap else start
        if start < unit.end:
            claims.append(_claim(text, start, unit.end, unit.kind, number))
    return _cover(_join(text, claims))


def _rows(text: str, unit: Unit, block: int) -> Iterator[Claim]:
    """The rows of a table below its header; all rows if it has none."""
    delimiter = _DELIMITER_ROW.search(text, unit.start, unit.end)
    above = text[unit.start : delimiter.start()].strip() if delimiter else ""
    start = delimiter.end() if delimiter else unit.start
    for line in re.finditer(r"[^\n]+", text[start : unit.end]):
        if line.group().strip():
            row = _claim(text, start + line.start(), start + line.end(), "row", block)
            yield replace(row, above=above)


def _claim(text: str, start: int, end: int, kind: str, block: int) -> Claim:
    written = text[start:end]
    own = () if kind == "code" else citation_numbers(written)
    words = written if kind == "code" else without_markers(written).strip()
    line = text[text.rfind("\n", 0, start) + 1 : start]
    is_quotation = kind != "code" and bool(re.match(QUOTATION_MARK, line))
    depth = len(line) - len(line.lstrip()) if kind == "item" else 0
    return Claim(
        start=start, end=end, kind=kind, text=words, own=own, cited=own, block=block, depth=depth,
        is_quotation=is_quotation, said=_words_before_markers(written) if len(own) > 1 else {},
    )  # fmt: skip


def _words_before_markers(written: str) -> dict[int, str]:
    """The words behind the marker before, by the number of each; nothing where all stand in one place."""
    said: dict[int, list[str]] = {}
    words, position = "", 0
    for marker in MARKER.finditer(without_code(written)):
        before = written[position : marker.start()].strip(" ,;")
        words, position = before if len(before.split()) >= SHORT_WORDS else words, marker.end()
        for number in citation_numbers(marker[0]):
            said.setdefault(number, []).append(words)
    found = {number: " ".join(dict.fromkeys(each)) for number, each in said.items()}
    return found if len(set(found.values())) > 1 and all(found.values()) else {}


def _join(text: str, claims: Sequence[Claim]) -> list[Claim]:
    """ "Yes." at the beginning of a block is joined with the next sentence into one claim."""
    joined: list[Claim] = []
    for claim in claims:
        opener = joined[-1] if joined else None
        is_first = opener is not None and (len(joined) == 1 or joined[-2].block != opener.block)
        if opener and is_first and opener.block == claim.block and _is_short(opener):
            both = _claim(text, opener.start, claim.end, claim.kind, claim.block)
            joined[-1] = replace(both, own=claim.own, cited=claim.own)
        else:
            joined.append(claim)
    return joined


def _is_short(claim: Claim) -> bool:
    words = claim.text.split()
    limit = SHORT_LENGTH if len(words) > 1 or claim.text.isascii() else SHORT_UNSPACED
    is_said = claim.kind in ("sentence", "item") and not claim.own
    return is_said and len(words) <= SHORT_WORDS and len(claim.text) <= limit


def _cover(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Gives strips to claims without markers. They are those of, in this order: the next marker in the block,
    all that they announce, the last marker in the block, what they introduce, what comes before, what comes
    after."""
    covered = list(claims)
    forward, backward = range(len(claims)), range(len(claims) - 1, -1, -1)
    _fill(covered, backward, within_blocks=True)
    for number in backward:
        if covered[number].announces and not covered[number].cited:
            announced = claims_below(covered, number)
            strips = dict.fromkeys(strip for claim in announced for strip in claim.cited)
            covered[number] = replace(covered[number], cited=tuple(strips))
    _fill(covered, forward, within_blocks=True)
    for number in backward:
        below = claims_below(covered, number)
        if not covered[number].cited and below:
            covered[number] = replace(covered[number], cited=below[0].cited)
    _fill(covered, forward)
    _fill(covered, backward)
    return tuple(covered)


def _fill(claims: list[Claim], order: Iterable[int], *, within_blocks: bool = False) -> None:
    """Give each claim that cites nothing the strips of the nearest one before it in this order."""
    last: Claim | None = None
    for number in order:
        claim = claims[number]
        if not claim.cited and last and (not within_blocks or last.block == claim.block):
            claims[number] = replace(claim, cited=last.cited)
        last = claims[number] if claims[number].cited else last


def claims_below(claims: Sequence[Claim], number: int) -> Sequence[Claim]:
    """The claims below an introduction: a list, a table or one other block; for an item, its inner items."""
    claim, first = claims[number], claims[number + 1] if number + 1 < len(claims) else None
    if first is None or first.block == claim.block or claim.kind not in ("sentence", "item"):
        return ()
    if claim.own and not claim.announces:
        return ()
    below = (claims[each] for each in range(number + 1, len(claims)))
    if claim.is_heading:
        return tuple(takewhile(lambda other: not other.is_heading, below))
    if claim.kind == "item" and first.kind == "item":
        return tuple(takewhile(lambda other: other.kind == "item" and other.depth > claim.depth, below))
    if first.kind in ("item", "row"):
        return tuple(takewhile(lambda other: other.kind == first.kind, below))
    return (first,) if claim.announces or first.takes_footnotes or _is_short(claim) else ()


def dependent(claims: Sequence[Claim], cut: Collection[int]) -> set[int]:
    """The claims to cut, by number, with those that make no sense without them. These are code after its
    introduction, and an introduction when all that it introduces is cut. One of code that has a mark of its
    own stays: it says something without the code."""
    doomed = set(cut)
    for before, number in pairwise(range(len(claims))):
        if before in doomed and claims[number].takes_footnotes and claims[number].kind != "row":
            doomed.add(number)
    for number in reversed(range(len(claims))):
        below = claims_below(claims, number)
        is_empty = below and all(number + 1 + offset in doomed for offset in range(len(below)))
        says_something = bool(claims[number].own) and len(claims[number].text.split()) > SHORT_WORDS
        if is_empty and not (says_something and below[0].kind == "code"):
            doomed.add(number)
    return doomed


def without_lost_code(claims: Sequence[Claim], cut: Collection[int]) -> tuple[Claim, ...]:
    """The claims, with a period in place of the colon before code that is cut."""
    lost = {number - 1 for number in cut if claims[number].kind == "code"} - set(cut)
    return tuple(
        replace(claim, text=_COLON.sub(lambda found: "。" if found[1] == "：" else ".", claim.text))
        if number in lost and claim.announces
        else claim
        for number, claim in enumerate(claims)
    )


def marks_of(numbers: Iterable[int]) -> str:
    """Markers as a draft and an answer have them: ``[1][2]``."""
    return "".join(f"[{number}]" for number in numbers)


def rewritten(text: str, claims: Sequence[Claim], cut: Collection[int], marks: Mapping[int, str]) -> str:
    """The draft without the claims that are ``cut``, by number from 0, and with new ``marks`` on others."""
    block = None  # of the nearest claim below that is kept
    for number in reversed(range(len(claims))):
        claim = claims[number]
        if number in cut:
            goes_on = claim.block == block
            if claim.above and not goes_on and (number == 0 or claims[number - 1].block != claim.block):
                claim = replace(claim, start=text.rindex(claim.above, 0, claim.start))  # no row is kept
            text = _remove(text, claim, goes_on=goes_on)
            continue
        block = claim.block
        if number in marks:
            marked, rest = _mark(claim, marks[number]), text[claim.end :]
            if not marks[number] and _UNSPACED_END.search(claim.text):
                rest = rest.lstrip(" ")
            gap = " " if marked.endswith("]") and marks[number] and rest[:1].strip() else ""
            text = text[: claim.start] + marked + gap + rest
    return text.strip("\n").rstrip()


def _mark(claim: Claim, marks: str) -> str:
    if not marks:
        return claim.text
    if claim.kind == "row":
        row = claim.text.rstrip()
        return f"{row[:-1].rstrip()} {marks} |" if row.endswith("|") else f"{row} {marks}"
    if claim.kind == "code":
        return f"{claim.text}\n\n{marks}"
    return f"{claim.text}{'' if _UNSPACED_END.search(claim.text) else ' '}{marks}"


def _remove(text: str, claim: Claim, *, goes_on: bool) -> str:
    """The text without the claim, below which its block ``goes_on``, and without lines that this leaves empty."""
    begin = text.rfind("\n", 0, claim.start) + 1
    end = text.find("\n", claim.end)
    end = len(text) if end < 0 else end
    rest = text[claim.end : end]
    if rest.strip():
        return text[: claim.start] + text[claim.end :].lstrip(" \t")
    lead = text[begin : claim.start]
    if not _LINE_LEAD.fullmatch(lead):
        return text[: claim.start].rstrip(" \t") + text[end:]
    if goes_on:
        return text[: claim.start] + _LINE_LEAD.sub("", text[end + 1 :], count=1)
    before, after = text[:begin], text[end + 1 :]
    if item := _ITEM_LEAD.fullmatch(lead):
        after = "".join(_renumber(after, len(item["indent"])))
    return before + (after.lstrip("\n") if before.endswith("\n\n") else after)


def _renumber(after: str, indent: int) -> Iterator[str]:
    """The lines after an item that was cut. Inner items move out, the next ones get lower numbers."""
    outward: int | None = None  # columns by which inner items move
    position = 0
    for match in _LINE.finditer(after):
        line = match.group()
        depth = len(line) - len(line.lstrip())
        if line.strip() and depth > indent:
            outward = depth - indent if outward is None else outward
            yield line[min(outward, depth) :]
        elif line.strip() and (depth < indent or not _ITEM_NUMBER.match(line)):
            break
        elif line.strip():
            outward = 0
            yield _ITEM_NUMBER.sub(lambda found: f"{found[1]}{max(1, int(found[2]) - 1)}", line)
        else:
            yield line
        position = match.end()
    yield after[position:]

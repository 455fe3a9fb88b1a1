"""Knowledge refinement (Corrective RAG): from graded passages to the strips that the writer reads.

A strip is an evidence sentence with the neighbours it needs: the sentence that a pronoun refers to, the code
block or list after a colon, also where the colon ends a neighbour. Adjacent strips of a passage are merged.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from core.library.documents import Retrieved
from core.reasoning.reasoner import Grade, Strip, Strips
from core.text.blocks import LIST_MARKER
from core.text.sentences import Unit, split_units, units_within

STRIP_LIMIT = 12  # strips in one draft's context
STATING = 40  # the same where that many state a part of the answer: "list all of them"
STRIP_LENGTH = 2_400  # characters; strips are not merged beyond this
PREVIOUS_SENTENCES = 2  # that a sentence may refer back to
SHORTENED = 600  # characters of a strip that is shown where there is no answer
LIST_ITEMS = 12  # items of a list after a colon
LIST_LENGTH = 1_000  # characters of a list that is kept whole for one of its items

PROSE = ("sentence", "item")  # kinds of units

# Beginnings of a sentence that refers to the one before it.
_REFERS_BACK = re.compile(
    r"^[*_`\"'(]*(?:it|its|this|that|these|those|they|them|their|he|she|his|her|such|so|but|and|or|also|then|"
    r"(?:all|both|each|either|neither|none|one|some|any|most) of (?:them|these|those|this|that|it)|both|neither|"
    r"however|therefore|otherwise|instead|in (?:this|that|these) cases?|for example|the (?:same|latter|former))\b",
    re.IGNORECASE,
)

_ITEM_SIGN = re.compile(rf"\n[ \t>]*(?:{LIST_MARKER}[ \t]|<)")
_LETTER = re.compile(r"[^\W\d_]")  # between two sentences of a list stands at most its sign or number


def refine(
    passages: Sequence[Retrieved], grades: Mapping[str, Grade], *, around: int, whole: bool = False
) -> Strips:
    """Numbered strips of the passages that were not graded incorrect, best passage first. ``around``
    sentences on each side are kept too. Passages stay whole if ``whole`` is set, or if their evidence has
    nothing quotable."""
    strips: list[Strip] = []
    stating = 0  # how many of them are of passages that a judge found to state the answer, or a part of it
    for hit in passages:
        grade = grades.get(hit.passage.id)
        if grade is not None and grade.relevance == "incorrect":
            continue
        evidence = grade.evidence if grade else ()
        text = hit.passage.text
        units, offset = split_units(text), hit.passage.start
        known = [number - 1 for number in sorted(set(evidence)) if 1 <= number <= len(units)]
        spans = [] if whole else _spans(text, units, known, around)
        named = [units[number] for number in known if units[number].kind not in ("heading", "markup")]
        for start, end in spans or [(0, len(text))]:
            inside = (unit for unit in named if start <= unit.start < end)
            evident = tuple((offset + unit.start, offset + unit.end) for unit in inside)
            at, until = offset + start, offset + end
            strip = Strip(
                number=0, retrieved=hit, text=text[start:end], start=at, end=until, evidence=evident
            )
            strips.append(strip)
        stating = len(strips) if grade and grade.relevance == "correct" and around else stating
    limit = max(STRIP_LIMIT, min(stating, STATING))
    shown = [strip for strip in strips if strip.text.strip()][:limit]
    return tuple(replace(strip, number=number) for number, strip in enumerate(shown, start=1))


def evidence_alone(strip: Strip) -> Strip:
    """The first sentence that a judge named, with named ones that follow it; all of it where none was."""
    if not strip.evidence:
        return strip
    (start, end), *others = strip.evidence
    for first, last in others:
        if _LETTER.search(strip.text, end - strip.start, first - strip.start):
            break
        end = last
    return replace(strip, text=strip.text[start - strip.start : end - strip.start], start=start, end=end)


def shorten(strip: Strip) -> Strip:
    """The first sentences that fit in SHORTENED, at least one; never more than twice as much."""
    units = units_within(strip.passage.text, *strip.within)
    ends = [strip.passage.start + unit.end for unit in units if unit.kind not in ("heading", "markup")]
    fitting = [end for end in ends if end - strip.start <= SHORTENED] or ends[:1]
    end = min(fitting[-1] if fitting else strip.end, strip.start + 2 * SHORTENED)
    return replace(strip, text=strip.text[: end - strip.start], end=end)


def _spans(text: str, units: Sequence[Unit], evidence: Sequence[int], around: int) -> list[tuple[int, int]]:
    """Spans of the text with the evidence (numbers of units, from 0) and what it needs."""
    keep = set[int]().union(*(_collect_context(text, units, number, around) for number in evidence))
    spans: list[tuple[int, int]] = []
    last = -2
    for index in sorted(keep):
        unit = units[index]
        if index == last + 1 and unit.end - spans[-1][0] <= STRIP_LENGTH:
            spans[-1] = (spans[-1][0], unit.end)
        else:
            spans.append((unit.start, unit.end))
        last = index
    return spans


def _collect_context(text: str, units: Sequence[Unit], index: int, around: int) -> set[int]:
    """The numbers of the unit, of its neighbours, and of what it refers to or introduces."""
    first = last = index
    for _ in range(PREVIOUS_SENTENCES):
        unit = units[first]
        refers_back = unit.kind == "sentence" and _REFERS_BACK.match(text[unit.start : unit.end])
        if refers_back and (before := _prose_before(units, first)) is not None:
            first = before
    if units[index].kind in ("code", "table"):
        introduction = _prose_before(units, index)
        first = index if introduction is None else introduction
    if units[index].kind == "item":
        first, last = _whole_list(text, units, index)
    if _announces(text, units[index]):
        last = max(last, _end_of_announced(text, units, index))
    first, last = max(0, first - around), min(len(units) - 1, last + around)
    # An item is whole: its exceptions may stand at its end.
    pairs = [(one.kind, other.kind, text[one.end : other.start + 1]) for one, other in pairwise(units)]
    goes_on = [one == other == "item" and not _ITEM_SIGN.search(gap) for one, other, gap in pairs]
    while first and goes_on[first - 1]:
        first -= 1
    while last < len(goes_on) and goes_on[last]:
        last += 1
    content = [i for i in range(first, last + 1) if units[i].kind not in ("heading", "markup")]
    if not content:
        return set()
    first, last = content[0], content[-1]
    while _announces(text, units[last]) and (end := _end_of_announced(text, units, last)) > last:
        last = end
    return set(range(first, last + 1))


def _prose_before(units: Sequence[Unit], index: int) -> int | None:
    """The sentence or item right before this unit, apart from markup."""
    before = index - 1
    while before >= 0 and units[before].kind == "markup":
        before -= 1
    return before if before >= 0 and units[before].kind in PROSE else None


def _announces(text: str, unit: Unit) -> bool:
    return unit.kind in PROSE and text[unit.start : unit.end].rstrip("*_` ").endswith((":", "："))


def _whole_list(text: str, units: Sequence[Unit], index: int) -> tuple[int, int]:
    """The list around an item, with its introduction. Only the item if the list is too long."""
    first, last = index, index
    while first and units[first - 1].kind == "item":
        first -= 1
    while last + 1 < len(units) and units[last + 1].kind == "item":
        last += 1
    is_announced = bool(first) and _announces(text, units[first - 1])
    first -= is_announced
    fits = last - first <= LIST_ITEMS and units[last].end - units[first].start <= LIST_LENGTH
    return (first, last) if is_announced and fits else (index, index)


def _end_of_announced(text: str, units: Sequence[Unit], index: int) -> int:
    """The last unit of the code block, table, list or paragraph after a colon."""
    following = index + 1
    while following < len(units) and units[following].kind == "markup":
        following += 1
    if following >= len(units) or units[following].kind == "heading":
        return index
    for last, after in pairwise(units[following : index + LIST_ITEMS + 1]):
        is_near = last.kind == "item" or text.count("\n", last.end, after.start) < 2
        if last.kind not in PROSE or after.kind != last.kind or not is_near:
            break
        following += 1
    return following

"""The beginning of a draft, which is judged and shown while the rest is written.

It ends where what follows could still change it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from core.conversation import Answer
from core.grounding.citations import merge_footnotes, to_answer
from core.grounding.claims import Claim, claims_below, claims_of
from core.grounding.quotes import find_spans
from core.grounding.strips import refine
from core.grounding.verdicts import Verdict, remove_unsupported
from core.reasoning.reasoner import Draft, Grade, Statement, Strip, Strips
from core.text.blocks import LIST_MARKER, QUOTATION_MARK
from core.text.inline import MARKER
from core.text.sentences import split_units

#: What follows in the same line is a sentence, and no marker that is being written.
_GOES_ON = re.compile(rf"(?:\s*{MARKER.pattern})*\s*[^\s\[\](){{}}【]")
#: A line that is known by now to be prose, an item or code: two words, or a fence.
_KNOWN_LINE = re.compile(
    rf"(?:{QUOTATION_MARK})?[ \t]*(?:{LIST_MARKER}[ \t]+)?(?:```|~~~|[^\s|`~]\S*[ \t]+\S)"
)
_LAST_MARKS = re.compile(rf"\s*(?:{MARKER.pattern})+\Z")
_ENDED = re.compile(rf"[.!?。！？][*_\"'”’»)」]*\s*(?:{MARKER.pattern}\s*)+\Z")
CUT = Verdict(is_supported=False, cites=())


def closed_claims(text: str) -> tuple[Claim, ...]:
    """The first claims of an unfinished draft that its continuation cannot change. A claim that announces
    others may still gain strips. ``text`` is what is written so far."""
    claims = claims_of(text)
    until = len(claims)
    last = claims[-1] if claims else None
    # The last that was written is over where no sign can still be part of it, footnotes included.
    if last and not (last.kind == "sentence" and last.own and _ENDED.search(text, last.start)):
        until -= 1
        if until and not _is_known(text, claims[until - 1], claims[until]):
            until -= 1
    for number, claim in enumerate(claims[:until]):
        later = (other.block for other in claims[number + 1 : until] if other.own)
        is_covered = bool(claim.own) or claim.block in later
        if not (is_covered or (claim.announces and claim.cited)) or "{" in claim.text:
            return claims[:number]
    return claims[:until]


def _is_known(text: str, claim: Claim, following: Claim) -> bool:
    """True if the one that follows is known as far as it may change how this one is read."""
    if "\n" in text[claim.end : following.start]:
        line = text.rfind("\n", 0, following.start) + 1
        return following.kind in ("row", "code") or bool(_KNOWN_LINE.match(text, line))
    return bool(_GOES_ON.match(text, following.start))


def beginning(
    text: str, claims: Sequence[Claim], verdicts: Mapping[int, Verdict], strips: Sequence[Strip]
) -> Answer | None:
    """The checked beginning of an answer; None if nothing can be shown yet. ``text`` is the draft as far as
    it is written, ``claims`` are its claims by now, and ``verdicts``, by number from 1, those on the closed
    ones."""
    kept = [number - 1 for number, verdict in verdicts.items() if verdict.is_supported]
    while kept and (kept[-1] + 1 == len(claims) or claims_below(claims, kept[-1])):  # what follows may cut it
        kept.pop()
    if not kept:
        return None
    last, judged = kept[-1], text[: claims[len(verdicts) - 1].end]
    later = {number: CUT for number in verdicts if number - 1 > last}
    if len(claims_of(judged)) != len(verdicts):
        return None  # by itself it is taken for another language, whose sentences end elsewhere
    shown = remove_unsupported(judged, {**verdicts, **later}, strips)
    answer = merge_footnotes(to_answer(Draft(text=shown.text, composed=True), strips, shown.stated))
    if claims[last + 1].block == claims[last].block:  # the next sentence may take over its footnotes
        answer = replace(answer, text=_LAST_MARKS.sub("", answer.text))
    return answer if answer.text else None


def around_quotes(strip: Strip, statements: Sequence[Statement]) -> Strips:
    """The parts of a whole passage that a footnote to it would quote for these sentences, with their neighbours."""
    offset, units = strip.passage.start, split_units(strip.passage.text)
    if strip.text != strip.passage.text:
        return (strip,)
    citing = (each for each in statements if strip.number in each.cites)
    spans = [span for each in citing for span in find_spans(((each.text, False),), strip)]
    evidence = tuple(
        number
        for number, unit in enumerate(units, start=1)
        if any(start < offset + unit.end and offset + unit.start < end for start, end in spans)
    )
    grades = {strip.passage.id: Grade(relevance="correct", evidence=evidence)}
    return tuple(replace(part, number=strip.number) for part in refine([strip.retrieved], grades, around=1))

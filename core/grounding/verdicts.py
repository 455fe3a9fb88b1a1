"""The verdict on each sentence of a draft from its votes, and the draft after the cuts."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from core.conversation import Omission
from core.grounding.claims import Claim, claims_of, dependent, marks_of, rewritten, without_lost_code
from core.grounding.doubts import doubts_of
from core.grounding.quotes import NAMED_PARTS, Stated, likeness
from core.library.documents import is_kept
from core.reasoning.reasoner import Calculation, Grounded, Span, Statement, Statements, Strip
from core.text.language import sure_language

APART = 2  # what a vote against a sentence counts whose cited strips share little with it
ENOUGH_TO_TELL = 3  # sentences; with fewer no judge is called erratic
ERRATIC = 0.67  # share of sentences with split votes; a judge that errs on one in ten has .27
LITTLE = 0.4  # share of a claim below which the strips that it cites share little with it
NEARLY_ALL = 0.95  # the same from which they say it nearly word for word
NEAR = 0.5  # share of a claim that a strip shows which may become its missing footnote


#: As judges name them, in six languages; people never saw their numbers.
_NUMBERED = re.compile(
    r"(?:\b(?:the |de[nrms]? |die |das |les? |la |los |las |el |os? |as? )?"
    r"(?:strips?|streifen|auszug|auszüge|extraits?|bandes?|fragmentos?|tiras?|trechos?)|ストリップ|抜粋)"
    r"\s*#?\[?\d{1,3}(?:\]?\s*(?:,|&|and|und|et|y|e|と|、)\s*\[?\d{1,3})*\]?|(?<!\w)\[\d{1,3}\]",
    re.IGNORECASE,
)
_SMALL_NUMBER = re.compile(r"(?<![\d.])\d{1,3}(?![\d.])")
_UNNUMBERED = re.compile(r"\b(no|any|all|the|these|cited|other) strip(s?)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The result of the votes on one sentence."""

    is_supported: bool
    cites: tuple[int, ...]  #: the strips that state it; those that the votes name, if they name others
    reason: str = ""  #: what is not supported, in the judge's words
    is_idle: bool = False  #: claims nothing: a greeting, an offer
    is_absent: bool = False  #: says that something is not in the strips
    names_gap: bool = False  #: at least one vote says that it does
    needs_previous: bool = False  #: cannot be understood without the sentence before it
    is_unsettled: bool = False  #: in doubt, which no vote settled
    #: where, by strip, in another language
    stated: Mapping[int, tuple[Span, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """A draft after its check."""

    text: str  #: with a marker on every claim; empty: nothing is left
    left_out: tuple[Omission, ...] = ()
    names_gap: bool = False  #: what is left says that something is not stated
    stated: Stated = field(default_factory=dict)
    unsettled: tuple[str, ...] = ()  #: sentences of the text that stay in doubt


def readable(strip: Strip) -> str:
    """The strip as the judge sees it; its file without numbers that could be of anything, such as days."""
    passage = strip.passage
    is_file = passage.origin == "documents" and not is_kept(passage.source)
    file = _SMALL_NUMBER.sub("", passage.source) if is_file else ""
    dates = (passage.published or "", passage.changed_on)
    return "\n".join((passage.title, file, *passage.path, *strip.headings, *dates, strip.text))


def statements_of(
    claims: Sequence[Claim], strips: Sequence[Strip], calculations: Sequence[Calculation] = ()
) -> Statements:
    """The claims as the judge sees them. Of a computed figure its sources need only hold the inputs."""
    sources = {strip.number: readable(strip) for strip in strips}
    language = sure_language("\n".join(claim.text for claim in claims))
    statements = []
    for number, claim in enumerate(claims, start=1):
        cites = tuple(cited for cited in claim.cited if cited in sources)
        own = tuple(each for each in calculations if each.shown in claim.text)
        stated, is_code = claim.text, claim.kind == "code"
        for each in own:
            stated = stated.replace(each.shown, each.inputs)
        asked = ", ".join(number for each in own for number in each.asked)
        doubts = doubts_of(stated, [*(sources[cited] for cited in cites), asked], is_code=is_code)
        doubts += tuple(doubt for each in own for doubt in each.doubts)
        source = "\n".join(sources[cited] for cited in cites)
        is_introduction = replace(claim, text=stated).announces  # it has words of its own
        is_comparable = source and language == sure_language(source) != "" and not is_introduction
        shared = likeness(((stated, is_code),), source) if is_comparable else None
        statement = Statement(
            number=number, text=claim.as_judged, cites=cites, doubts=doubts if cites else (),
            is_apart=shared is not None and shared < LITTLE,
            is_close=shared is not None and shared >= NEARLY_ALL, calculations=own,
        )  # fmt: skip
        statements.append(statement)
    return tuple(statements)


def rests_on_any(claims: Sequence[Claim], strips: Sequence[Strip]) -> bool:
    """True if a draft cites a strip, or one shows half of a sentence. Else a judge would leave nothing."""
    sources = {strip.number: readable(strip) for strip in strips}
    return any(sources.keys() & set(claim.cited) or _nearest(claim, sources, NEAR) for claim in claims)


def verdicts_on(statements: Sequence[Statement], votes: Sequence[Grounded]) -> dict[int, Verdict]:
    """Verdicts by the number of the statement. Half of the votes are enough to reject it; a quarter, if the
    strips that it cites share little with it. If the votes are split on most of the draft, the judge is
    erratic: then only all votes together reject a statement that is not doubted either way."""
    split = 0
    for each in statements:
        judged = [each.number in vote.unsupported for vote in votes if each.number in vote.judged]
        split += any(judged) and not all(judged)
    is_erratic = len(statements) >= ENOUGH_TO_TELL and split > ERRATIC * len(statements)
    return {
        each.number: _verdict(each, votes, needs_all=is_erratic and not (each.doubts or each.is_apart))
        for each in statements
    }


def are_settled(statements: Sequence[Statement], votes: Sequence[Grounded]) -> bool:
    """True if a third vote can change no verdict of two, since they agree on every sentence."""

    def said_of(number: int, vote: Grounded) -> tuple[object, ...]:
        kinds = (vote.judged, vote.unsupported, vote.idle, vote.absent, vote.leaning)
        return (*(number in kind for kind in kinds), vote.elsewhere.get(number, ()))

    return all(len({said_of(each.number, vote) for vote in votes}) == 1 for each in statements)


def _verdict(statement: Statement, votes: Sequence[Grounded], *, needs_all: bool) -> Verdict:
    number = statement.number
    judged = [vote for vote in votes if number in vote.judged]
    against = [vote for vote in judged if number in vote.unsupported]
    weight = APART if statement.is_apart else 1
    is_rejected = len(against) == len(judged) if needs_all else 2 * weight * len(against) >= len(judged)
    agreeing = [vote for vote in judged if number not in vote.unsupported]
    named = Counter(strip for vote in agreeing for strip in vote.elsewhere.get(number, ()))
    corrected = tuple(strip for strip, count in named.items() if 2 * count > len(agreeing))
    is_idle = _is_most(number in vote.idle for vote in judged)
    stated = {
        strip: spans[:NAMED_PARTS]
        for vote in agreeing
        for (sentence, strip), spans in vote.stated.items()
        if sentence == number
    }
    computed = {strip: spans for each in statement.calculations for strip, spans in each.places.items()}
    return Verdict(
        is_supported=is_idle or not (judged and is_rejected),
        cites=corrected or statement.cites,
        reason=next((vote.lacking[number] for vote in against if number in vote.lacking), ""),
        is_idle=is_idle,
        is_absent=_is_most(number in vote.absent for vote in judged),
        names_gap=any(number in vote.absent for vote in judged),
        needs_previous=_is_most(number in vote.leaning for vote in judged),
        is_unsettled=not is_idle and any(number in vote.unsettled for vote in votes),
        stated=stated | computed,
    )


def _is_most(ballots: Iterable[bool]) -> bool:
    votes = list(ballots)
    return 2 * sum(votes) > len(votes)


def remove_unsupported(text: str, verdicts: Mapping[int, Verdict], strips: Sequence[Strip]) -> Edited:
    """The draft without unsupported claims, what depends on them, and small talk at its beginning and end."""
    claims = claims_of(text)
    held = {strip.number: readable(strip) for strip in strips}
    marks = {number: _marks(claim, verdicts[number + 1], held) for number, claim in enumerate(claims)}
    rejected = {n for n, mark in marks.items() if mark is None or not verdicts[n + 1].is_supported}
    for number in range(1, len(claims)):
        if number - 1 in rejected and verdicts[number + 1].needs_previous:
            rejected.add(number)
    lost = dependent(claims, rejected)
    gone = lost | _idle_ends(claims, verdicts, lost)
    claims = without_lost_code(claims, gone)
    kept = {number: mark for number, mark in marks.items() if mark is not None and number not in gone}
    shown = _place_markers(claims, verdicts, kept)
    if not any(shown.values()):
        gone = set(marks)  # a draft that only says what is unknown is no answer
    within = (number for number, claim in enumerate(claims) if claim.said)
    in_place = {number for number in within if shown.get(number) == marks_of(claims[number].own)}
    return Edited(
        text=rewritten(text, claims, gone, {n: mark for n, mark in shown.items() if n not in in_place}),
        left_out=tuple(
            Omission(text=claims[number].text, reason=_with_titles(verdicts[number + 1].reason, strips))
            for number in sorted(lost)
            if not claims[number].announces
        ),
        names_gap=any(verdicts[number + 1].names_gap for number in marks.keys() - gone),
        stated={
            (claim.text, strip): spans
            for number, claim in enumerate(claims)
            for strip, spans in verdicts[number + 1].stated.items()
        },
        unsettled=tuple(claims[n].text for n in marks.keys() - gone if verdicts[n + 1].is_unsettled),
    )


def _with_titles(reason: str, strips: Sequence[Strip]) -> str:
    """The judge's reason, with the titles of strips; nothing if it names one that is not there."""
    titles = {strip.number: f"“{strip.passage.title}”" for strip in strips}

    def name_titles(found: re.Match[str]) -> str:
        known = (titles[int(number)] for number in re.findall(r"\d+", found[0]) if int(number) in titles)
        return ", ".join(dict.fromkeys(known)) or found[0]

    titled = _UNNUMBERED.sub(r"\1 source\2", _NUMBERED.sub(name_titles, reason))
    return "" if _NUMBERED.search(titled) else titled


def _place_markers(
    claims: Sequence[Claim], verdicts: Mapping[int, Verdict], marks: dict[int, str]
) -> dict[int, str]:
    """The markers, also for claims that took theirs from one that is cut or shows none."""
    for before, number in zip((None, *marks), marks, strict=False):
        is_covered = before is not None and bool(marks[before] or claims[before].takes_footnotes)
        verdict = verdicts[number + 1]
        says_nothing = verdict.is_idle or verdict.is_absent
        if claims[number].takes_footnotes and not (is_covered or says_nothing):
            marks[number] = marks[number] or marks_of(verdict.cites)
    return marks


def _idle_ends(claims: Sequence[Claim], verdicts: Mapping[int, Verdict], lost: set[int]) -> set[int]:
    """Numbers of the sentences that claim nothing before the first claim and after the last."""
    idle: set[int] = set()
    for order in (range(len(claims)), range(len(claims) - 1, -1, -1)):
        for number in order:
            if number not in lost and (claims[number].own or not verdicts[number + 1].is_idle):
                break
            idle.add(number)
    return idle


def _marks(claim: Claim, verdict: Verdict, held: Mapping[int, str]) -> str | None:
    """The markers after a claim; None: it needs a footnote and has none. Introductions, what they introduce,
    and sentences that claim nothing show no marker. A sentence that is covered by another one's marker gets
    the strips that show most of it. ``held``: what is read of each strip."""
    if verdict.is_idle or verdict.is_absent or (claim.announces and not claim.own):
        return ""
    existing = {number: text for number, text in held.items() if number in verdict.cites}
    if claim.takes_footnotes and existing:
        return ""
    if not existing:
        nearest = _nearest(claim, held, NEAR)
        return marks_of(nearest) if nearest else None
    is_named = bool(claim.own) or verdict.cites != claim.cited
    return marks_of(existing if is_named else _nearest(claim, existing) or existing)


def _nearest(claim: Claim, held: Mapping[int, str], least: float = 0.0) -> list[int]:
    """The strips that show most of a claim, if it is more than ``least``."""
    parts = ((claim.text, claim.kind == "code"),)
    shares = {number: likeness(parts, text) for number, text in held.items()}
    best = max(shares.values(), default=0.0)
    return [number for number, share in shares.items() if share == best and share > least]

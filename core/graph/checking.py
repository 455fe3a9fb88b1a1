"""The check of a draft by votes, and the one of its first sentences while the rest is written."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from core.conversation import Answer, Progress, ignore_progress
from core.graph.policy import Policy
from core.graph.routing import grounding_votes, strips_for, useful_votes
from core.graph.state import Work
from core.grounding.beginning import around_quotes, beginning, closed_claims
from core.grounding.claims import Claim, claims_of
from core.grounding.doubts import oddity_of
from core.grounding.verdicts import Verdict, are_settled, statements_of
from core.reasoning.prompts import foreign_strips
from core.reasoning.reasoner import Ask, Draft, Grounded, Hear, Reasoner, Statements, Strips

AT_ONCE = 2  #: grounding votes; a third one decides nothing where two agree


BATCHES = 2  # of sentences; each takes as many calls as there are votes at once
NEXT = 600  # characters of new sentences from which a second call is worth its instructions
NOTHING = Draft(text="", composed=True)


@dataclass(slots=True, kw_only=True)
class EarlyCheck:
    """The check of a turn's first draft while it is written. It confirms sentences that are plainly stated by what they
    cite, with as many votes as reject one later; all others are left for the check of the whole draft."""

    reasoner: Reasoner
    policy: Policy
    watcher: Callable[[Progress], None]
    readable: Callable[[], Awaitable[frozenset[str]]]  #: the collections that may be read by now
    #: Of sources cited from some collections, those that may not be quoted where these others are readable.
    withdrawn: Callable[[Sequence[str], Collection[str], Collection[str]], Awaitable[frozenset[str]]]
    answer: Answer | None = None  #: its beginning that is shown by now
    shown: Draft | None = None  #: the part of the draft from which that is made
    _question: str = ""
    _strips: Strips = ()  #: of the draft
    _counts: bool = False  #: whether the draft does: one ahead of its grades may be written in vain
    _draft: Draft = NOTHING  #: as far as it is written
    _judged: Statements = ()
    _judging: asyncio.Future[None] | None = None
    _batches: int = 0
    _confirmed: Statements = ()
    _standing: int = 0  #: confirmed sentences that are shown with all their footnotes
    _readable: frozenset[str] = frozenset()
    #: Sources of the confirmed sentences that may not be quoted any more.
    _withdrawn: frozenset[str] = frozenset()

    def begin(self, work: Work, strips: Strips, *, counts: bool) -> Hear | None:
        """The listener of a draft from these strips. Whether one ahead of its grades ``counts`` is known later."""
        self.cancel()
        self._question, self._strips, self._draft, self.shown = work.question, strips, NOTHING, None
        self._judged, self._judging, self._confirmed, self._batches, self._standing = (), None, (), 0, 0
        self._counts = counts and (any(work.sufficient) or not self.policy.judges_passages)
        is_first = work.is_addressed and not work.drafts
        is_checked = self.policy.weights and self.policy.checks_grounding
        return self.hear if is_first and is_checked and self.watcher is not ignore_progress else None

    def count(self, work: Work, strips: Strips) -> None:
        """Let the draft ahead count. What is confirmed of it may be shown, as far as it rests on the strips
        that are left."""
        self._strips, self._counts = strips, any(work.sufficient)
        self.hear(self._draft)

    def hear(self, draft: Draft) -> None:
        """The draft as far as it is written by now."""
        self._draft = draft
        is_idle = self._judging is None or self._judging.done()
        if draft.answers and is_idle and self._batches < BATCHES and self._confirmed == self._judged:
            self._judge(closed_claims(draft.text))
        if self._counts and len(self._confirmed) > self._standing:
            self._show(claims_of(draft.text))

    def list_judged(self, statements: Statements) -> frozenset[int]:
        """The numbers of the claims that are confirmed, or may yet be. They stay the same, though an
        introduction may cite more by now."""
        early = self._confirmed if self._judging is None or self._judging.done() else self._judged
        return frozenset(
            one.number
            for one, each in zip(early, statements, strict=False)
            if one.text == each.text and set(one.cites) <= set(each.cites)
        )

    async def wait_for_confirmed(self) -> frozenset[int]:
        """The numbers of the sentences that are confirmed; of those that are being judged, as soon as they are."""
        if self._judging is not None:
            await self._judging
        return frozenset(each.number for each in self._confirmed)

    def cancel(self) -> None:
        if self._judging is not None:
            self._judging.cancel()

    def _judge(self, claims: Sequence[Claim]) -> None:
        """Begin to judge the next sentences, except those that need a closer look."""
        before = len(self._judged)
        is_soon = before and sum(len(claim.text) for claim in claims[before:]) < NEXT
        if is_soon or not claims[before:] or claims[-1].announces:
            return
        if oddity_of(self._draft.text, self._question):
            return
        known = {strip.number for strip in self._strips}
        statements = zip(statements_of(claims, self._strips), claims, strict=True)
        plain: Statements = ()
        for each, claim in statements:
            is_repeated = any(each.text == one.text for one in plain)  # some models do not stop
            is_plain = bool(each.cites) and not (each.doubts or each.is_apart)
            if is_repeated or not (known.issuperset(claim.cited) and is_plain):
                break
            plain += (each,)
        new = plain[before:]
        if new and plain[:before] == self._judged and not foreign_strips(plain, self._strips):
            self._judged, self._judging = plain, asyncio.ensure_future(self._check(new))
            self._batches += 1

    async def _check(self, statements: Statements) -> None:
        cited = {number for each in statements for number in each.cites}
        behind = tuple(
            part
            for strip in self._strips
            if strip.number in cited
            for part in around_quotes(strip, statements)
        )
        votes = await asyncio.gather(*(self.reasoner.confirm(statements, behind, n) for n in range(AT_ONCE)))
        agreed = set(votes[0]).intersection(*votes[1:])
        self._confirmed += tuple(takewhile(lambda each: each.number in agreed, statements))
        self._readable = await self.readable()
        cites = [each.passage for each in behind if each.passage.origin == "documents"]
        from_sources, collections = [each.source for each in cites], {each.collection for each in cites}
        self._withdrawn |= await self.withdrawn(from_sources, collections, self._readable)
        self.hear(self._draft)

    def _show(self, claims: Sequence[Claim]) -> None:
        """Show the confirmed sentences as far as what follows cannot change them."""
        known = {strip.number for strip in self._strips}
        verdicts: dict[int, Verdict] = {}
        for claim, one in zip(claims, self._confirmed, strict=False):
            if claim.as_judged != one.text or not known.issuperset(claim.cited):
                break
            verdicts[one.number] = Verdict(is_supported=True, cites=claim.cited)
        answer = beginning(self._draft.text, claims, verdicts, self._strips)
        shown = self.answer.text if self.answer else ""
        if answer is None or len(answer.text) <= len(shown) or not answer.text.startswith(shown):
            return
        if all(
            each.origin == "web" or (each.collection in self._readable and each.source not in self._withdrawn)
            for each in answer.citations
        ):
            self.answer = answer
            end = claims[len(verdicts) - 1].end
            self.shown = Draft(text=self._draft.text[:end], composed=True, is_cut_off=True)
            has_footnotes = answer.text.endswith("]")  # else the last ones come with what follows
            self._standing = len(self._confirmed) if has_footnotes else 0
            self.watcher(Progress(stage="writing", answer=answer))


async def cast_votes(
    early: EarlyCheck, ask: Ask, work: Work, text: str, *,
    statements: Statements, strips: Strips,
) -> tuple[list[Grounded], list[bool]]:  # fmt: skip
    """Grounding and usefulness votes, side by side, with those that were cast while the draft was written. A
    sentence with a figure that could not be computed is shown to no judge: every vote is against it."""
    faults = {each.number: each.fault for each in statements if each.fault}
    statements = tuple(each for each in statements if each.number not in faults)
    if not statements:
        return [Grounded(judged=()).against(faults)] if faults else [], []
    judged = early.list_judged(statements)
    left = tuple(each for each in statements if each.number not in judged)

    async def votes_on_whole() -> list[bool | None]:
        ballots = range(useful_votes(work, early.policy))
        return await asyncio.gather(*(early.reasoner.check_usefulness(ask, text) for _ in ballots))

    first, useful, confirmed = await asyncio.gather(
        _check_grounding(early, left, strips), votes_on_whole(), early.wait_for_confirmed()
    )
    not_plain = tuple(each for each in statements if each.number in judged - confirmed)
    second = await _check_grounding(early, not_plain, strips)
    before = [Grounded(judged=tuple(sorted(judged & confirmed)))]
    return [vote.against(faults) for vote in _together(first, second, before)], usable(useful)


def usable(votes: Iterable[bool | None]) -> list[bool]:
    return [vote for vote in votes if vote is not None]


async def _check_grounding(early: EarlyCheck, statements: Statements, strips: Strips) -> list[Grounded]:
    """The grounding votes on some sentences; a further one only where it can change a verdict."""
    if not statements:
        return []

    async def judge(ballot: int) -> Grounded:
        behind = strips_for(ballot, statements, strips)
        return await early.reasoner.check_grounding(statements, behind, ballot)

    ballots = range(grounding_votes(early.policy))
    needs_all = any(each.is_apart for each in statements)  # there one vote of three can reject
    first = len(ballots) if needs_all else AT_ONCE
    grounded = await asyncio.gather(*map(judge, ballots[:first]))
    if not are_settled(statements, grounded):
        grounded += await asyncio.gather(*map(judge, ballots[first:]))
    return grounded


def _together(*parts: list[Grounded]) -> list[Grounded]:
    """The votes on the whole, from those on its parts. On a part that was settled before, the last one stands
    for more."""
    most = max(AT_ONCE, *map(len, parts))
    votes = [Grounded(judged=())] * most
    for part in filter(None, parts):
        filled = [*part, *part[-1:] * (most - len(part))]
        votes = [one.beside(other) for one, other in zip(votes, filled, strict=True)]
    return votes

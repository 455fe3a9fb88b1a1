"""An outcome or a trace -> what the page shows of it. The library is asked for the paragraphs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Literal

from markupsafe import Markup

from bots.chat import texts
from bots.chat.markdown.safe import names_another_host, web_link
from bots.chat.platform import Excerpt
from bots.chat.proposals import in_utc, would_search
from bots.chat.quotes import footnotes_of, places_in
from bots.page.sessions import PageSession
from bots.page.site import Site
from bots.page.templating import to_html
from bots.page.threads import PageTurn
from core.conversation import Citation, Decision, Outcome, Proposal, Question, value
from core.grounding.citations import by_place
from core.library.documents import Passage, Scope
from core.library.readers import base_of
from core.library.store import DocumentStore
from core.settings import WebSearch
from core.traces.trace import Trace, TracedPassage, TracedStrip


@value
class ShownQuote:
    """A footnote and its quotes, each in its paragraph."""

    number: int
    title: str
    origin: str
    link: str
    excerpts: tuple[Excerpt, ...]


@value
class ShownProposal:
    """ "May I search the web for this?", and what became of it."""

    id: str
    request: str  #: "I would search DuckDuckGo for:"
    query: str
    decided: str  #: who said what when; empty: it is open


@value
class ShownTurn:
    """One turn of a thread."""

    id: str
    author: str
    said_at: float
    said: str  #: the question, or the decision in words
    language: str
    stage: str  #: what it is doing; empty: it has ended
    kind: str  #: of the outcome; empty: it runs
    lead: str = ""  #: where an answer comes from
    answer: Markup = Markup("")
    reason: str = ""
    notes: tuple[str, ...] = ()
    quotes: tuple[ShownQuote, ...] = ()
    options: tuple[str, ...] = ()
    closing: str = ""  #: how long it took, from how many passages
    proposal: ShownProposal | None = None


async def shown_thread(
    site: Site, turns: Sequence[PageTurn], collections: frozenset[str]
) -> tuple[ShownTurn, ...]:
    """The turns in their order; ``collections``: what may be read around the quotes."""
    return tuple([await asyncio.to_thread(_shown, site, turn, turns, collections) for turn in turns])


def _shown(site: Site, held: PageTurn, turns: Sequence[PageTurn], collections: frozenset[str]) -> ShownTurn:
    turn, outcome = held.turn, held.outcome
    said_at = turn.asked_at if isinstance(turn, Question) else turn.decided_at
    basis = ShownTurn(
        id=turn.id,
        author=turn.author,
        said_at=said_at,
        said=_said(turn),
        language=outcome.language if outcome else texts.language_of_turn(turn),
        stage=held.stage or "Waiting…" if outcome is None else "",
        kind=outcome.kind if outcome else "",
    )
    if outcome is None:
        return basis
    return _ended(basis, site, outcome, turns, collections)


def _ended(
    basis: ShownTurn, site: Site, outcome: Outcome, turns: Sequence[PageTurn], collections: frozenset[str]
) -> ShownTurn:
    from dataclasses import replace

    answer = by_place(outcome.answer) if outcome.answer else None
    cited = answer.citations if answer else outcome.closest
    read_from = {*outcome.collections, *(each.collection for each in cited)} - {""}
    if closed := read_from - collections:
        names = ", ".join(sorted(set(map(base_of, closed))))
        return replace(basis, reason=f"This read {names}, which you may not read any more.")
    return replace(
        basis,
        lead=texts.provenance(outcome, outcome.answer) if outcome.answer else "",
        answer=to_html(answer.text, turn=basis.id, numbers={each.number for each in cited}) if answer else Markup(""),
        reason=outcome.reason or "",
        notes=(*texts.remarks(outcome), *texts.omissions(outcome)),
        quotes=_quotes(site, outcome, collections),
        options=outcome.options,
        closing=texts.answered_in(outcome) if outcome.answer else "",
        proposal=_proposal(outcome.proposal, turns, site.settings.web_search) if outcome.proposal else None,
    )  # fmt: skip


def _quotes(site: Site, outcome: Outcome, collections: frozenset[str]) -> tuple[ShownQuote, ...]:
    shown = footnotes_of(outcome, site.library.store, collections)
    return tuple(_quote(place, excerpts, outcome.language) for place, excerpts in places_in(shown))


def _quote(place: Citation, excerpts: Sequence[Excerpt], language: str) -> ShownQuote:
    title, origin = texts.place_of(place, language)
    link = web_link(place.url) or ""
    return ShownQuote(
        number=place.number,
        title=title,
        origin=origin,
        link="" if link and names_another_host(title, link) else link,
        excerpts=tuple(excerpts),
    )


def _proposal(proposal: Proposal, turns: Sequence[PageTurn], engine: WebSearch) -> ShownProposal:
    from bots.chat.platform import CardContext

    return ShownProposal(
        id=proposal.id,
        request=would_search(proposal, CardContext(engine=texts.ENGINE_NAMES[engine])),
        query=proposal.query,
        decided=_decision(proposal, turns),
    )


def _decision(proposal: Proposal, turns: Sequence[PageTurn]) -> str:
    """The newest decision about it that did not fail: a search that failed can be allowed again."""
    for held in reversed(turns):
        turn = held.turn
        if isinstance(turn, Decision) and turn.proposal_id == proposal.id:
            if held.outcome is not None and held.outcome.kind == "failed":
                return ""
            did = "allowed this search" if turn.verdict == "approve" else "said no"
            return f"{turn.author} {did} at {in_utc(turn.decided_at)}."
    return ""


def _said(turn: Question | Decision) -> str:
    if isinstance(turn, Question):
        return turn.text
    if turn.verdict == "deny":
        return "No web search."
    return f"Search the web: {turn.query}" if turn.query else "Search the web."


Standing = Literal["here", "changed", "forgotten", "closed", "web"]


@value
class PassageWords:
    """A passage of a trace, and its words today."""

    traced: TracedPassage
    standing: Standing
    text: str = ""  #: empty where it cannot or may not be shown
    strips: tuple[TracedStrip, ...] = ()  #: of the newest draft, in reading order

    @property
    def pieces(self) -> tuple[tuple[str, int], ...]:
        """Its text in pieces, each with the number of the strip that it is; 0: of none."""
        found: list[tuple[str, int]] = []
        at, begins = 0, self.traced.start
        for strip in self.strips:
            start, end = max(strip.start - begins, at), min(strip.end - begins, len(self.text))
            if start < end:
                found += [(self.text[at:start], 0), (self.text[start:end], strip.number)]
                at = end
        return tuple((text, number) for text, number in (*found, (self.text[at:], 0)) if text)


def words_of(trace: Trace, store: DocumentStore, session: PageSession) -> tuple[PassageWords, ...]:
    """The passages in the order of the trace. Blocks."""
    collections = store.collections()
    open_to = collections if session.collections is None else collections & session.collections
    ids = [one.id for one in trace.passages if one.origin == "documents" and one.id.isdecimal()]
    found = store.passages(ids, Scope(collections=open_to)) if ids and open_to else {}
    strips = trace.drafts[-1].strips if trace.drafts else ()
    return tuple(_words(one, found, strips, store, open_to) for one in trace.passages)


def _words(
    traced: TracedPassage,
    found: dict[str, Passage],
    strips: Iterable[TracedStrip],
    store: DocumentStore,
    open_to: frozenset[str],
) -> PassageWords:
    if traced.origin == "web":
        return PassageWords(traced=traced, standing="web")
    if traced.collection not in open_to:
        is_gone = traced.collection not in store.collections()
        return PassageWords(traced=traced, standing="forgotten" if is_gone else "closed")
    passage = found.get(traced.id)
    if passage is not None and (passage.source, passage.start, passage.end) == (
        traced.source, traced.start, traced.end,
    ):  # fmt: skip
        own = sorted((each for each in strips if each.passage == traced.id), key=lambda each: each.start)
        return PassageWords(traced=traced, standing="here", text=passage.text, strips=tuple(own))
    is_known = bool(store.named(traced.collection, traced.source))
    return PassageWords(traced=traced, standing="changed" if is_known else "forgotten")

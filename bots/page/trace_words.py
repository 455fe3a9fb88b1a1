"""A trace with the words that its passages have in the library today."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from bots.page.sessions import PageSession
from core.conversation import value
from core.library.documents import Passage, Scope
from core.library.store import DocumentStore
from core.traces.trace import Trace, TracedPassage, TracedStrip

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

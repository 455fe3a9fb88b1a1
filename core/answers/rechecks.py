"""Answers that stay true: when a document changes, the answers that quote it are looked at again.

A sync reports no changes; versions are compared: so nothing is missed, whichever process syncs and however
often one is killed. A document counts as gone only where that is certain: one that cannot be read now, on a disk that
is not there or of a source that cannot be reached, changes nothing.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from core.answers.answers import Answers
from core.answers.standing import QuoteStanding, standing_of
from core.conversation import Citation, Outcome, Question, Turn, value
from core.errors import FootnoteError
from core.library.documents import Scope, is_kept
from core.library.entries import Entry
from core.library.library import Library
from core.library.readers import base_of
from core.library.retriever import Query, Retriever
from core.library.roots import is_within
from core.sources.store import SourceStore
from core.traces.log import QuestionLog
from core.traces.quoted import QuotedDocument
from core.turns.archive import outcome_of, turn_and_route
from core.turns.messenger import ReplyRoute
from core.turns.queue import RETENTION

logger = logging.getLogger(__name__)

SETTLING = 600.0  # seconds for which a library that changes all the time is left alone
LOOK_EVERY = 60.0  # seconds between two looks at a library that does not change
FOUND = 10  # passages of other documents in which a quote is looked for
SEARCHED = 1_000  # characters of a quote that are searched for


@value
class LostQuote:
    """A quote of a posted answer that no longer stands."""

    question: Question
    citation: Citation
    finding: QuoteStanding
    changed_at: float  #: seconds since the epoch
    collection: str  #: in which the document is now; empty: it was removed


#: The collections that may be read where a question was asked.
Readable = Callable[[Question], Awaitable[frozenset[str]]]


@dataclass(slots=True, kw_only=True)
class AnswerChecks:
    """Raises StoreUnavailable when nothing can be read or written now."""

    log: QuestionLog
    answers: Answers
    library: Library
    sources: SourceStore
    platforms: frozenset[str]  #: whose answers can be marked now
    keep: float  #: seconds after a question for which its answer is looked at
    readable: Readable
    #: how the roots of documents begin that are talk, which is deleted for its own reasons
    talks: tuple[str, ...] = ()
    now: Callable[[], float] = time.time
    outcomes: Callable[[str], Awaitable[Outcome | None]] = outcome_of
    stored: Callable[[str], Awaitable[tuple[Turn, ReplyRoute] | None]] = turn_and_route
    _state: int | None = None  #: of the library, at the last look
    _settled_at: float = 0.0
    #: the state that every answer was looked at with, and when
    _looked: tuple[int | None, float] = (None, 0.0)

    async def remember(self, platform: str) -> None:
        """Note which documents the answers quote that are not looked at yet."""
        now = self.now()
        await self.log.quoted.expire(now - self.keep)
        for turn in await self.log.quoted.unknown(platform, now - min(self.keep, RETENTION.total_seconds())):
            outcome = await self.outcomes(turn)
            if outcome is not None:
                sources = {each.source for each in _quotes(outcome)}
                entries = await asyncio.to_thread(self._entries, sources, _quotes(outcome))
                self._looked = None, 0.0
                # Nobody knows in which version the quotes were found.
                await self.log.quoted.put(turn, [_to_quoted(each, version="") for each in entries])
            elif await self.stored(turn) is None:  # the conversation was forgotten
                await self.log.quoted.put(turn, ())

    async def find_lost(self, tell: Callable[[LostQuote, ReplyRoute], Awaitable[None]], most: int) -> int:
        """Tell of at most so many answers whose quotes no longer stand, each once; how many there were."""
        state, now = await asyncio.to_thread(self.library.store.state), self.now()
        is_settled, self._state = state == self._state, state
        self._settled_at = self._settled_at or now
        if not is_settled and now - self._settled_at < SETTLING:
            return 0  # a sync may be under way: what one document lost, another may have at its end
        self._settled_at = now
        if state == self._looked[0] and 0 <= now - self._looked[1] < LOOK_EVERY:
            return 0
        reported, self._looked = 0, (None, 0.0)
        for turn in await self._turns_to_look_at():
            if reported >= most:
                return reported  # the others are found the next time
            stored, outcome = await self.stored(turn), await self.outcomes(turn)
            question, route = stored or (None, {})
            if outcome is None or not isinstance(question, Question):
                await self.log.quoted.put(turn, ())
                continue
            if question.conversation.platform not in self.platforms:
                continue
            found = await self._look_at(question, outcome)
            if isinstance(found, LostQuote):
                try:  # kept answers of the same thread, or with the same words, come up for review at once
                    await self.answers.dispute(
                        question.conversation, found.finding.lost, found.citation.source
                    )
                except FootnoteError:
                    logger.exception("kept answers could not be put up for review")
                await tell(found, route)  # killed in between, it is reported again, under the same id
                await self.log.quoted.lose(turn, self.now())
                reported += 1
            else:
                await self.log.quoted.put(turn, found)
        self._looked = state, now
        return reported

    async def _turns_to_look_at(self) -> list[str]:
        """The turns that quote another version of a document than the library has, the newest first."""
        quoted = await self.log.quoted.documents()
        changed = await asyncio.to_thread(self._find_changed, quoted)
        turns = [turn for each in changed for turn in await self.log.quoted.turns_quoting(each)]
        return list(dict.fromkeys(turns))

    def _find_changed(self, quoted: Sequence[QuotedDocument]) -> list[QuotedDocument]:
        hashes = self.library.store.hashes([each.address for each in quoted])
        stored = {(base_of(collection), address, version) for collection, address, version in hashes}
        there = {(collection, address) for collection, address, _ in stored}
        return [
            each
            for each in quoted
            if (each.collection, each.address, each.version) not in stored
            and ((each.collection, each.address) in there or self._is_gone(each))
        ]

    def _is_gone(self, document: QuotedDocument) -> bool:
        """True if a document that is no longer in the library is certain to be gone. Its root must be
        there."""
        if document.address.startswith("/") and Path(document.address).exists():
            return False  # it could not be read
        for record in self.sources.all():
            if is_within(document.address, record.address):
                item = document.address.removeprefix(record.address_of(""))
                if self.sources.find(record.number, [item]):
                    return False
        return any(
            base_of(each) == document.collection
            for each in self.library.store.collections_with(document.root)
        )

    async def _look_at(self, question: Question, outcome: Outcome) -> LostQuote | list[QuotedDocument]:
        """The first of its quotes that no longer stands, else the documents in which they stand now."""
        quotes, readable = _quotes(outcome), await self.readable(question)
        cited = {each.source for each in quotes}
        known: dict[str, list[QuotedDocument]] = {}
        for each in await self.log.quoted.of_turn(question.id):  # under "" those that a quote moved to
            known.setdefault(each.source if each.source in cited else "", []).append(each)
        found: list[QuotedDocument] = []
        for citation in quotes:
            names = known.get(citation.source) or known.get("")
            if not names:
                continue  # it was forgotten, or is not looked at
            before = names[0]
            sources = {each.source for each in names}
            entries = await asyncio.to_thread(self._entries, sources, [citation])
            if not entries and not await asyncio.to_thread(self._is_gone, before):
                found.append(before)
                continue
            open_ones = [each for each in entries if each.collection in readable]
            if entries and not open_ones:  # who reads the answer may not read the document any more
                found += map(_to_quoted, entries)
                continue
            finding, holders = await asyncio.to_thread(self._find, citation, open_ones, readable)
            if finding.standing == "gone":
                shown = citation
                if open_ones and open_ones[0].source != citation.source:  # it had moved
                    there = open_ones[0]
                    shown = replace(citation, source=there.source, title=there.title, url=there.url)
                changed = max((each.changed_at or 0.0 for each in open_ones), default=0.0)
                return LostQuote(
                    question=question, citation=shown, finding=finding,
                    changed_at=changed if changed > question.asked_at else self.now(),
                    collection=open_ones[0].collection if open_ones else "",
                )  # fmt: skip
            found += map(_to_quoted, holders)
        return found

    def _find(
        self, citation: Citation, entries: Sequence[Entry], readable: frozenset[str]
    ) -> tuple[QuoteStanding, Sequence[Entry]]:
        """The standing of a quote, and the documents in which it stands."""
        text = "\n\n".join(map(self._text, entries))
        finding = standing_of(citation.quote, text)
        if finding.standing != "gone":
            return finding, entries
        query = Query(text=citation.quote[:SEARCHED], scope=Scope(collections=readable), limit=FOUND)
        hits = Retriever(self.library.store).retrieve(query).passages
        own = {each.source for each in entries}
        found = (hit.passage for hit in hits)
        others = {(each.collection, each.source) for each in found if each.source not in own}
        for collection, source in others:
            if is_kept(source):
                continue
            moved = self.library.store.find_named(collection, source)
            elsewhere = standing_of(citation.quote, text, [*map(self._text, moved)])
            if elsewhere.standing != "gone":
                return elsewhere, [*entries, *moved]
        return finding, entries

    def _text(self, entry: Entry) -> str:
        scope = Scope(collections=frozenset([entry.collection]))
        return "\n\n".join(each.text for each in self.library.store.reading(entry.address, scope))

    def _entries(self, sources: Iterable[str], citations: Sequence[Citation]) -> list[Entry]:
        """The documents of these names that are looked at, in the collections that were cited or beside them."""
        bases = {base_of(each.collection) for each in citations}
        return [
            each
            for each in self.library.store.with_sources(sources)
            if base_of(each.collection) in bases and not each.root.startswith(self.talks)
        ]


def _quotes(outcome: Outcome) -> list[Citation]:
    """The footnotes of documents. Kept answers have a review of their own; pages of a search are not kept."""
    cited = outcome.answer.citations if outcome.answer else ()
    return [each for each in cited if each.origin == "documents" and not is_kept(each.source)]


def _to_quoted(entry: Entry, *, version: str | None = None) -> QuotedDocument:
    return QuotedDocument(
        collection=base_of(entry.collection), address=entry.address, source=entry.source, root=entry.root,
        version=entry.hash if version is None else version,
    )  # fmt: skip

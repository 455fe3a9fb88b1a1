"""Passages that a search finds, as footnotes; and as JSON, for a process that asks another to search."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

from core.conversation import Answer, Citation, Outcome, value
from core.library.documents import Passage, Scope
from core.library.library import ScopedDocuments
from core.library.store import DocumentStore


@value
class PassageHit:
    """A passage that a search found, as its footnote would be, and the number of its document."""

    citation: Citation
    score: float  #: 0 to 1 within one search
    document: int


@value
class Hits:
    """Everything that a search found, best first."""

    hits: tuple[PassageHit, ...] = ()
    confidence: float = 0.0

    def outcome(self, turn_id: str, language: str, milliseconds: float) -> Outcome:
        """The outcome for the log of questions: answered by passages, which nobody has checked."""
        cited = tuple(hit.citation for hit in self.hits)
        answer = Answer(text="", citations=cited, grounding="documents", composed=False, is_sure=False)
        return Outcome(
            kind="answered" if cited else "no_answer", turn_id=turn_id, answer=answer if cited else None, language=language,
            confidence=self.confidence, steps=("search",), timing_ms={"total": milliseconds, "retrieve": milliseconds},
        )  # fmt: skip


async def find_passages(
    documents: ScopedDocuments, query: str, *, limit: int, complete: Callable[[Outcome], Outcome] | None
) -> Hits:
    """Best first; ``complete`` puts links to their documents into an outcome."""
    found = await documents.retrieve(query, limit=limit)
    cited = tuple(_citation(number, each.passage) for number, each in enumerate(found.passages, 1))
    outcome = Outcome(kind="no_answer", turn_id="", closest=cited)
    if complete is not None:
        outcome = await asyncio.to_thread(complete, outcome)
    passages = [each.passage for each in found.passages]
    numbers = await asyncio.to_thread(
        document_numbers, documents.library.store, ((each.collection, each.source) for each in passages)
    )
    hits = tuple(
        PassageHit(
            citation=citation,
            score=each.score,
            document=numbers[each.passage.collection, each.passage.source],
        )
        for citation, each in zip(outcome.closest, found.passages, strict=True)
        if (each.passage.collection, each.passage.source) in numbers  # else it went meanwhile
    )
    return Hits(hits=hits, confidence=round(found.confidence, 4))


def document_numbers(store: DocumentStore, named: Iterable[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """The documents' numbers by collection and source. Blocks."""
    found = (each for name in sorted(set(named)) for each in store.find_named(*name))
    return {(each.collection, each.source): each.id for each in found}


def text_of_document(store: DocumentStore, number: str, scope: Scope) -> str | None:
    """The text of a document as far as its passages hold it. None for none in the scope. Blocks."""
    entry = store.document(int(number)) if number.isdecimal() and len(number) < 16 else None
    if entry is None or entry.collection not in scope.collections:
        return None
    parts: list[str] = []
    end = 0
    for passage in store.reading(entry.address, Scope(collections=frozenset({entry.collection}))):
        parts += ["\n" * (passage.start - end), passage.text[max(0, end - passage.start) :]]
        end = max(end, passage.start + len(passage.text))
    return "".join(parts)


def plain_hits(hits: Hits) -> dict[str, Any]:
    """The hits for JSON."""
    return {"hits": [asdict(each) for each in hits.hits], "confidence": hits.confidence}


def hits_in(record: dict[str, Any]) -> Hits:
    """The hits that :func:`plain_hits` wrote."""
    hits = (PassageHit(**{**each, "citation": Citation(**each["citation"])}) for each in record["hits"])
    return Hits(hits=tuple(hits), confidence=record["confidence"])


def _citation(number: int, passage: Passage) -> Citation:
    return Citation(
        number=number, title=passage.title, location=passage.location, source=passage.source, url=passage.url,
        quote=passage.text, start=passage.start, end=passage.end, collection=passage.collection,
        changed_at=passage.changed_at,
    )  # fmt: skip

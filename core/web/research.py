"""An allowed query -> passages: one per hit, from its page where that can be read, else from its snippet."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.conversation import Progress
from core.errors import FetchRefused, SearchTrouble
from core.library.chunking import cut
from core.library.documents import Passage, Piece, Retrieved
from core.library.formats import markdown
from core.priority import waiting
from core.text.terms import weight_of, weights_among
from core.web.hosts import host_of
from core.web.request import Hit, Page, PageFetcher, SearchEngine, filter_hits

HITS = 6  # results read for one search
PAGES = 3  # of the best of them, whose pages are fetched

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebResearch:
    """A search engine and a page fetcher under the operator's host rules."""

    engine: SearchEngine
    fetcher: PageFetcher
    trusted: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()

    async def find(
        self, query: str, question: str, report: Callable[[Progress], None]
    ) -> tuple[Retrieved, ...]:
        """One passage per hit, best first. Raises SearchTrouble when the search itself fails."""
        with waiting():
            found = await self.engine.search(query, limit=HITS * 2)
        hits = filter_hits(found, trusted=self.trusted, blocked=self.blocked)[:HITS]
        report(Progress(stage="fetching", count=min(len(hits), PAGES)))
        pages = await asyncio.gather(*(self._page(hit) for hit in hits[:PAGES]))
        texts = [*pages, *([None] * (len(hits) - len(pages)))]
        passages = await asyncio.to_thread(_passages, hits, texts, question)
        return tuple(
            Retrieved(passage=passage, score=1 - index / (2 * len(passages)))
            for index, passage in enumerate(passages)
        )

    async def _page(self, hit: Hit) -> Page | None:
        """The hit's page; None when it cannot be read."""
        try:
            with waiting():
                return await self.fetcher.fetch(hit.url)
        except (FetchRefused, SearchTrouble) as reason:
            logger.info("the page of %s was not read: %s", host_of(hit.url), reason)
            return None


def _passages(hits: Sequence[Hit], pages: Sequence[Page | None], question: str) -> list[Passage]:
    """A passage for each hit that has text. Cutting a large page takes a second: call it in a thread."""
    found = (_passage(i, hit, page, question) for i, (hit, page) in enumerate(zip(hits, pages, strict=True)))
    return [passage for passage in found if passage.text.strip()]


def _passage(index: int, hit: Hit, page: Page | None, question: str) -> Passage:
    text, start = hit.snippet, 0
    path: tuple[str, ...] = ()
    if page is not None and (piece := best_piece(page, f"{question} {hit.snippet}")):
        text, start, path = piece.text, piece.start, piece.path
    return Passage(
        id=f"web{index + 1}",
        collection="",
        source=hit.url,
        title=hit.title or host_of(hit.url),
        path=path,
        location=host_of(hit.url),
        text=text,
        start=start,
        end=start + len(text),
        url=hit.url,
        origin="web",
        published=hit.published,
    )


def best_piece(page: Page, wanted: str) -> Piece | None:
    """The piece of a page that covers most of what is wanted; None for a page without text."""
    pieces = cut(markdown.parse(page.text))
    weights, present = weights_among(wanted, [" ".join((*piece.path, piece.text)) for piece in pieces])
    covered = [weight_of(found, weights) for found in present]
    return pieces[covered.index(max(covered))] if pieces else None

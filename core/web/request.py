"""A web search: one query to one engine, with safe results, and passages from their pages.

A query is sent again at most once. A result is shown in place of a page that cannot be read.
"""

import asyncio
import logging
import re
import unicodedata
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from html import unescape
from itertools import zip_longest
from math import ceil
from typing import Protocol

from core.characters import JOINERS, one_line
from core.conversation import Progress
from core.errors import FetchRefused, SearchTrouble
from core.library.chunking import cut
from core.library.documents import Passage, Retrieved
from core.library.formats import markdown
from core.priority import waiting
from core.text.terms import weight_of, weights_among
from core.web.hosts import host_of, is_allowed, parse
from core.wording import Sentence

logger = logging.getLogger(__name__)


REPLY_LIMIT = 2_000_000  # bytes; twenty results with their snippets are under 200,000
PAUSE_LIMIT = 3.0  # seconds; there is no retry when an engine asks for a longer wait
WAIT_LIMIT = 86_400.0  # seconds; a longer wait is shown as a day
RATE_PAUSE = 1.0  # seconds before the retry when a rate limit does not say how long to wait
FAULT_PAUSE = 0.2  # seconds before the retry after a broken connection or a fault of the engine

OK = 200
TOO_MANY_REQUESTS = 429
SERVER_FAULT = 500  # and above


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineReply:
    """The reply of a search engine."""

    status: int  #: HTTP
    body: bytes = field(default=b"", repr=False)
    retry_after: float | None = None  #: seconds the engine asks us to wait


Send = Callable[[], Awaitable[EngineReply]]
"""Sends the query once. Raises ConnectionError when no reply comes, TimeoutError when none comes in time."""


async def ask(engine: str, send: Send, *, within: float) -> EngineReply:
    """The last reply, after one retry where it may help, ``within`` seconds. SearchTrouble for none."""
    deadline = asyncio.get_running_loop().time() + within
    try:
        async with asyncio.timeout_at(deadline):
            try:
                first = await send()
            except ConnectionError:
                await asyncio.sleep(FAULT_PAUSE)
                return await send()
            pause = pause_before_retry(first)
            if pause is None or asyncio.get_running_loop().time() + pause >= deadline:
                return first
            await asyncio.sleep(pause)
            return await send()
    except TimeoutError:
        raise SearchTrouble(Sentence("search_slow", engine=engine, seconds=within)) from None
    except ConnectionError as trouble:
        logger.warning("%s could not be reached: %s", engine, trouble)
        raise SearchTrouble(Sentence("search_unreachable", engine=engine)) from None
    except UnicodeError:
        raise SearchTrouble(Sentence("search_broken_query")) from None


def pause_before_retry(reply: EngineReply) -> float | None:
    """Seconds to wait before the retry; None when a retry would not help."""
    if reply.status >= SERVER_FAULT:
        return FAULT_PAUSE
    if reply.status != TOO_MANY_REQUESTS:
        return None
    pause = RATE_PAUSE if reply.retry_after is None else reply.retry_after
    return pause if pause <= PAUSE_LIMIT else None


def seconds_asked(retry_after: str | None, *, now: datetime | None = None) -> float | None:
    """A Retry-After header in seconds from now: a number or an HTTP date (RFC 9110, 10.2.3)."""
    if not retry_after:
        return None
    if retry_after.strip().isdecimal():
        return min(float(retry_after), WAIT_LIMIT)
    moment = http_moment(retry_after)
    wait = None if moment is None else max(0.0, moment - (now or datetime.now(UTC)).timestamp())
    return None if wait is None else min(wait, WAIT_LIMIT)


def http_moment(text: str) -> float | None:
    """A date of HTTP in seconds since the epoch; None for anything else."""
    try:
        moment = parsedate_to_datetime(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, IndexError, OverflowError):
        return None


def require_ok(engine: str, reply: EngineReply, sentences: Mapping[int, str]) -> None:
    """SearchTrouble unless the status is 200; ``sentences`` are for statuses that this engine gives a meaning."""
    if reply.status == OK:
        return
    logger.warning("%s answered HTTP %d", engine, reply.status)
    if reply.status in sentences:
        raise SearchTrouble(sentences[reply.status])
    if reply.status == TOO_MANY_REQUESTS:
        raise rate_limited(engine, reply.retry_after)
    if reply.status >= SERVER_FAULT:
        raise SearchTrouble(Sentence("search_failing", engine=engine, status=reply.status))
    raise SearchTrouble(Sentence("search_refused", engine=engine, status=reply.status))


def rate_limited(engine: str, retry_after: float | None = None) -> SearchTrouble:
    wait = Sentence("minutes", count=max(1, ceil((retry_after or 0) / 60)))
    return SearchTrouble(Sentence("search_rate_limited", engine=engine, wait=wait))


def unreadable(engine: str) -> SearchTrouble:
    return SearchTrouble(Sentence("search_unreadable", engine=engine))


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One result of a web search."""

    title: str
    url: str
    snippet: str
    published: str | None = None  #: as the search engine gave it


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A fetched page, reduced to readable Markdown."""

    url: str  #: after redirects
    title: str
    text: str


class SearchEngine(Protocol):
    """Asks a search engine. Raises SearchTrouble with a sentence when it fails."""

    @property
    def name(self) -> str:
        """The name that people know: "DuckDuckGo"."""

    async def search(self, query: str, *, limit: int) -> tuple[Hit, ...]: ...


class PageFetcher(Protocol):
    """Fetches a public page. Raises FetchRefused or SearchTrouble."""

    async def fetch(self, url: str) -> Page: ...


TITLE_LIMIT = 200  # characters; engines cut titles near 70
SNIPPET_LIMIT = 1_000  # characters; Tavily sends up to 500 in a chunk, the others fewer
DATE_LIMIT = 40  # characters; an ISO 8601 date with time and zone has 32

# A terminal's escape sequence. Removing the control character alone would leave its letters.
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_TAG = re.compile(r"<[a-zA-Z/!?][^<>]*>")


def clean_hits(hits: Iterable[Hit], *, limit: int) -> tuple[Hit, ...]:
    """At most ``limit`` hits with plain text, each page once, the first: a fragment makes no other page.
    Dropped is a URL that is not an absolute http(s) one, or has a user name in it, which can look like another
    host."""
    kept: dict[str, Hit] = {}
    for hit in hits:
        url = page_url(hit.url)
        if url and url not in kept:
            kept[url] = Hit(
                title=plain(hit.title, TITLE_LIMIT) or host_of(url),
                url=url,
                snippet=plain(hit.snippet, SNIPPET_LIMIT),
                published=plain(hit.published or "", DATE_LIMIT) or None,
            )
        if len(kept) >= limit:
            break
    return tuple(kept.values())


def filter_hits(
    hits: Iterable[Hit], *, trusted: Sequence[str] = (), blocked: Sequence[str] = ()
) -> tuple[Hit, ...]:
    """The hits that may be read, in their order."""
    return tuple(hit for hit in hits if is_allowed(hit.url, trusted=trusted, blocked=blocked))


def page_url(url: str) -> str:
    """The URL without its fragment; empty when it should not be followed."""
    try:
        parsed = parse(url)
    except FetchRefused:
        return ""
    if parsed.scheme not in ("http", "https") or parsed.userinfo or not host_of(url):
        return ""
    return str(parsed.copy_with(fragment=None))


def plain(text: str, limit: int) -> str:
    """Text without markup, entities, control characters and repeated spaces, cut between words."""
    text = unescape(text[: limit * 8])  # bounds the work on a hostile text
    text = "".join(
        sign
        for sign in _ESCAPE.sub("", text)
        if sign.isspace() or sign in JOINERS or unicodedata.category(sign)[0] != "C"
    )
    while (shorter := _TAG.sub("", text)) != text:  # a round removes the innermost of nested tags
        text = shorter
    return one_line(text, limit)


HITS = 6  # results read for one search
PAGES = 3  # of the best of them, whose pages are fetched


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

        def excerpt_passages() -> list[Passage]:
            numbered = enumerate(zip_longest(hits, pages))
            found = (_passage(number, hit, page, question) for number, (hit, page) in numbered)
            return [passage for passage in found if passage.text.strip()]

        passages = await asyncio.to_thread(excerpt_passages)  # cutting a large page takes a second
        return tuple(
            Retrieved(passage=passage, score=1 - index / (2 * len(passages)))
            for index, passage in enumerate(passages)
        )

    async def _page(self, hit: Hit) -> Page | None:
        try:
            with waiting():
                return await self.fetcher.fetch(hit.url)
        except (FetchRefused, SearchTrouble) as reason:
            logger.info("the page of %s was not read: %s", host_of(hit.url), reason)
            return None


def _passage(index: int, hit: Hit, page: Page | None, question: str) -> Passage:
    """The piece of a hit's page that covers most of the question, or what the engine says of it."""
    text, start = hit.snippet, 0
    path: tuple[str, ...] = ()
    if page is not None and (pieces := cut(markdown.parse(page.text))):
        weights, present = weights_among(
            f"{question} {hit.snippet}", [" ".join((*piece.path, piece.text)) for piece in pieces]
        )
        covered = [weight_of(found, weights) for found in present]
        best = pieces[covered.index(max(covered))]
        text, start, path = best.text, best.start, best.path
    return Passage(
        id=f"web{index + 1}", collection="", source=hit.url, title=hit.title or host_of(hit.url), path=path,
        location=host_of(hit.url), text=text, start=start, end=start + len(text), url=hit.url, origin="web",
        published=hit.published,
    )  # fmt: skip

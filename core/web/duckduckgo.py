"""DuckDuckGo's page of results without JavaScript, requested and parsed with ``ddgs``.

Only ddgs's DuckDuckGo engine is used. Its ``DDGS`` class raises the same exception for "nothing
found", "blocked" and "unreachable", and its ``auto`` backend sends the query to half a dozen
other companies, although the person allowed a search with DuckDuckGo alone.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from core.web.request import (
    REPLY_LIMIT,
    EngineReply,
    ask,
    rate_limited,
    require_ok,
    seconds_asked,
    unreadable,
)
from core.web.results import Hit, clean_hits

REGION = "us-en"  # ddgs's own default; the query is sent in whatever language it is
CHUNK = 65_536  # bytes read at a time

BLOCKED_STATUSES = (202, 403, 429)  # 202: the page that asks whether a person is there
BLOCKED_MARKS = ("anomaly-modal", "anomaly.js", "challenge-form")  # the same page, sent as 200
NOTHING_MARKS = ("no-results", "result--no-result")

# A "!bang" in the query makes DuckDuckGo redirect it to another site, which no person allowed.
SENTENCES = dict.fromkeys(
    (301, 302, 303, 307, 308),
    "DuckDuckGo would pass this query on to another site; edit it so that no word starts with “!”.",
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DuckDuckGo:
    """The search engine that needs no key."""

    timeout: float = 20.0  #: seconds for one search, its retry included
    name: ClassVar[str] = "DuckDuckGo"

    async def search(self, query: str, *, limit: int) -> tuple[Hit, ...]:
        # ddgs is synchronous. Its thread ends by itself at the same timeout.
        send = partial(asyncio.to_thread, post_query, query, self.timeout)
        reply = await ask(self.name, send, within=self.timeout)
        found = await asyncio.to_thread(read_results, reply)
        return clean_hits(found, limit=limit)


def post_query(query: str, seconds: float) -> EngineReply:
    """DuckDuckGo's reply to the query. Blocking.

    Raises ConnectionError, TimeoutError, UnicodeError or SearchTrouble.
    """
    import primp
    from ddgs.engines.duckduckgo import Duckduckgo

    query.encode()  # for a lone surrogate; primp would report a failed request
    engine = Duckduckgo()
    form = engine.build_payload(query, region=REGION, safesearch="moderate", timelimit=None)
    try:
        response = engine.http_client.client.request(
            engine.search_method,
            engine.search_url,
            data=form,
            timeout=seconds,
            stream=True,
            follow_redirects=False,
        )
        with closing(response):
            body = bytearray()
            for chunk in response.iter_bytes(CHUNK):
                body += chunk
                if len(body) > REPLY_LIMIT:
                    raise unreadable(DuckDuckGo.name)
        return EngineReply(
            status=response.status_code,
            body=bytes(body),
            retry_after=seconds_asked(response.headers.get("retry-after")),
        )
    except primp.TimeoutError:
        raise TimeoutError from None
    except primp.PrimpError as trouble:
        raise ConnectionError(repr(trouble)) from trouble


def read_results(reply: EngineReply) -> list[Hit]:
    """The results in DuckDuckGo's order; SearchTrouble when the reply is not a page of results."""
    page = reply.body.decode("utf-8", errors="replace")
    hits = results_on(page) if reply.status == 200 else []
    if hits:
        return hits
    if reply.status in BLOCKED_STATUSES or any(mark in page for mark in BLOCKED_MARKS):
        raise rate_limited(DuckDuckGo.name, reply.retry_after)
    require_ok(DuckDuckGo.name, reply, SENTENCES)
    if not any(mark in page for mark in NOTHING_MARKS):
        logger.warning("DuckDuckGo's page holds neither results nor its note that there are none")
    return hits


def results_on(page: str) -> list[Hit]:
    from ddgs.engines.duckduckgo import Duckduckgo

    engine = Duckduckgo()
    # The prefix gives lxml a document even if the page is blank or starts with a declaration.
    rows = engine.post_extract_results(engine.extract_results("<html><body>" + page))
    hits = (Hit(title=row.title, url=target_of(row.href), snippet=row.body) for row in rows)
    return [hit for hit in hits if hit.url.startswith(("http://", "https://"))]


def target_of(href: str) -> str:
    """Where a link of the page leads, without DuckDuckGo's redirect around it.

    ddgs has percent-decoded the link already, so the target ends at the redirect's last parameter.
    """
    _, redirect, target = href.partition("duckduckgo.com/l/?uddg=")
    return (target.rpartition("&rut=")[0] or target) if redirect else href

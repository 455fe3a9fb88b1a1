"""Requests to GitHub's API, one at a time, as GitHub asks; and the lists that it need not send again.

What is said of limits stands in "Rate limits for the REST API" and "Best practices for using the REST API" at
https://docs.github.com/en/rest/using-the-rest-api.

What is remembered, titles and marks of versions, lies in the source's folder and may vanish: what was said anew since
the last sync, in issues that did not change themselves, is missed then.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from core.errors import FootnoteError
from core.sources.github.convert import IssuesAddress, listed
from core.sources.http import (
    FORBIDDEN,
    GONE,
    NOT_FOUND,
    UNAUTHORIZED,
    HostClient,
    Response,
    only_if_changed,
    open_http,
    throttle,
)
from core.sources.source import ItemGone, ItemUnreadable, SourceThrottled, SourceUnavailable
from core.web.request import OK, SERVER_FAULT, TOO_MANY_REQUESTS, seconds_asked

RATE_PAUSE = 60.0  # seconds after a secondary limit that says no more: "at least one minute"
FAULT_PAUSE = 30.0  # seconds after which a server that is out of order is asked again
NOT_MODIFIED = 304
GONE_ISSUE = frozenset({301, NOT_FOUND, GONE})  # transferred, not to be seen, deleted: "Get an issue"
_NEXT = re.compile(r'<([^>]+)>;\s*rel="next"')  # of the header Link, "Using pagination in the REST API"

_ELSEWHERE = "{host} says that {repository} is elsewhere now: ingest its new address, and forget this one."
_NOT_LET = (
    "{host} does not let Footnote read the {kind} of {repository}: set GIT_TOKENS={host}=TOKEN with a token that may"
    " read them."
)
#: What a person reads of a refusal, by its status.
SENTENCES: Mapping[int, str] = {
    **dict.fromkeys((301, 302, 307, 308), _ELSEWHERE),
    **dict.fromkeys((UNAUTHORIZED, FORBIDDEN, NOT_FOUND), _NOT_LET),
    GONE: "{repository} has no {kind}.",
}

LISTS = "list"  # in the memory
Cached = Sequence[Any]
"""The ETag and the date of an answer, what is kept of it, and where the list goes on."""

logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class GitHubRepository:
    """One repository. Its methods raise SourceUnavailable and SourceThrottled."""

    address: IssuesAddress
    http: HostClient
    api: str  #: where the API is
    lists: dict[str, Cached]  #: answers, by their URLs, so that an unchanged one is not sent again
    has_token: bool = False
    now: float = field(default_factory=time.time)  #: seconds since the epoch, by the last answer
    used: set[str] = field(default_factory=set)  #: URLs of lists that were asked for
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def issue(self, number: int) -> Mapping[str, Any]:
        """An issue, or a pull request as one. ItemGone, ItemUnreadable."""
        found, _ = await self._ask(f"{self._base}/issues/{number}", number)
        if not isinstance(found, dict):
            raise ItemUnreadable("is not what GitHub's API says that it sends")
        return found

    async def of_issue(self, number: int, path: str) -> list[Mapping[str, Any]]:
        """The comments or reviews at a path: ``issues/7/comments``, ``pulls/7/reviews``. ItemGone, ItemUnreadable."""
        return [each async for page in self.pages(f"{path}?per_page=100", number) for each in page]

    def forget_lists(self, part: str) -> list[str]:
        """Forget those with this in their URL that were not asked for; their URLs."""
        old = [url for url in self.lists if part in url and url not in self.used]
        for url in old:
            del self.lists[url]
        return old

    @property
    def _base(self) -> str:
        return f"{self.api}/repos/{self.address.repository}"

    async def pages(
        self, path: str, number: int | None = None
    ) -> AsyncGenerator[list[Mapping[str, Any]], None]:
        """The pages of a list. ``number``: of the issue that it is about."""
        url: str | None = f"{self._base}/{path}"
        while url is not None:
            found, url = await self._ask(url, number)
            if not isinstance(found, list):
                raise SourceUnavailable(f"{self.address.host} does not answer as GitHub does.")
            yield found

    async def _ask(self, url: str, number: int | None) -> tuple[Any, str | None]:
        """The content at an address, and where a list goes on. ``number``: of the issue that it is about."""
        known = self.lists.get(url)
        etag, modified = known[:2] if known is not None else (None, None)
        async with self._turn:
            response = await self.http.ask(url, headers=only_if_changed(etag, modified))
        self.now = response.date or self.now
        if known is not None and response.status == NOT_MODIFIED:
            self.used.add(url)
            return known[2], known[3]
        if response.status != OK:
            raise self._told(response) if number is None else self._told_of(number, response)
        found, more = response.json(), _NEXT.search(response.headers.get("link", ""))
        following = more[1] if more else None
        if isinstance(found, list) and "sort" in parse_qs(urlsplit(url).query):
            self.used.add(url)
            marks = response.headers.get("etag"), response.headers.get("last-modified")
            self.lists[url] = (*marks, [listed(each) for each in found], following)
        return found, following

    def _told_of(self, number: int, response: Response) -> FootnoteError:
        if throttled := self._throttled(response):
            return throttled
        if response.status in GONE_ISSUE:
            return ItemGone(f"{self.address.repository}#{number} is gone.")
        if response.status == UNAUTHORIZED:
            return self._told(response)
        return ItemUnreadable(f"could not be read: GitHub answered HTTP {response.status}")

    def _told(self, response: Response) -> FootnoteError:
        address = self.address
        logger.info("%s answered HTTP %d: %s", address.host, response.status, _message(response))
        if throttled := self._throttled(response):
            return throttled
        told = {"host": address.host, "repository": address.repository, "kind": address.kind}
        sentence = SENTENCES.get(response.status, f"{{host}} answered HTTP {response.status}.")
        return SourceUnavailable(sentence.format(**told))

    def _throttled(self, response: Response) -> SourceThrottled | None:
        """The error for a limit, which GitHub tells by its headers or its message, and for a fault of its own."""
        host, headers = self.address.host, response.headers
        if response.status >= SERVER_FAULT:
            return throttle(response, host, pause=FAULT_PAUSE, is_patient=True)
        is_limit = (
            response.status == TOO_MANY_REQUESTS
            or "retry-after" in headers
            or headers.get("x-ratelimit-remaining") == "0"
            or "rate limit" in _message(response).lower()
        )
        if response.status not in (FORBIDDEN, TOO_MANY_REQUESTS) or not is_limit:
            return None
        reset, pause = headers.get("x-ratelimit-reset", ""), RATE_PAUSE
        if headers.get("x-ratelimit-remaining") == "0" and reset.isdecimal():
            pause = max(1.0, float(reset) - self.now)
        asked = seconds_asked(headers.get("retry-after"))
        more = f" With a token in GIT_TOKENS={host}=TOKEN it may be asked more often."
        sentence = f"{host} asks to be asked again later.{'' if self.has_token else more}"
        return SourceThrottled(sentence, retry_after=pause if asked is None else asked)


def _message(response: Response) -> str:
    """Why GitHub refused, in its own words."""
    told = response.json()
    return str(told.get("message") or "") if isinstance(told, dict) else ""


@asynccontextmanager
async def open_repository(
    address: IssuesAddress, api: str, *, private: Sequence[str], token: str, lists: dict[str, Cached]
) -> AsyncIterator[GitHubRepository]:
    """``token``: TOKEN, or USER:TOKEN; empty for none."""
    headers = {"Accept": "application/vnd.github.v3+json"}
    if token:
        headers["Authorization"] = f"token {token.rpartition(':')[2]}"
    async with open_http(api, private=private, connections=1, name=address.host, headers=headers) as http:
        yield GitHubRepository(address=address, http=http, api=api, lists=lists, has_token=bool(token))

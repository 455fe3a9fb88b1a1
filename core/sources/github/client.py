"""Requests to GitHub's API, through gidgethub: one at a time, as GitHub asks, and never again by themselves.

What is said of limits stands in "Rate limits for the REST API" and "Best practices for using the REST API" at
https://docs.github.com/en/rest/using-the-rest-api.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import UserDict
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
from gidgethub import GitHubException, HTTPException
from gidgethub.abc import GitHubAPI

from core.errors import FootnoteError
from core.sources.github.address import IssuesAddress
from core.sources.github.convert import listed
from core.sources.pinned import open_pinned
from core.sources.source import ItemGone, ItemUnreadable, SourceThrottled, SourceUnavailable
from core.web.request import SERVER_FAULT, seconds_asked

AGENT = "footnote"
RATE_PAUSE = 60.0  # seconds after a secondary limit that says no more: "at least one minute"
FAULT_PAUSE = 30.0  # seconds after which a server that is out of order is asked again
LIMITED = frozenset({403, 429})  # statuses of limits, if the headers or the message say so
GONE = frozenset({301, 404, 410})  # transferred, not to be seen, deleted: "Get an issue"

Cached = tuple[str | None, str | None, Any, str | None]
"""The ETag and the date of an answer, what is kept of it, and where the list goes on."""

logger = logging.getLogger(__name__)


class ListCache(UserDict[str, Cached]):
    """Answers that are lists, by their URLs, so that an unchanged one is answered with 304. Of others nothing is kept."""

    def __init__(self, kept: Mapping[str, Cached]) -> None:
        super().__init__()
        self.data = dict(kept)
        self.used: set[str] = set()  #: URLs that were asked for

    def __getitem__(self, url: str) -> Cached:
        self.used.add(url)
        return super().__getitem__(url)

    def __setitem__(self, url: str, answer: Cached) -> None:
        etag, modified, data, more = answer
        self.used.add(url)
        if isinstance(data, list) and "sort" in parse_qs(urlsplit(url).query):
            super().__setitem__(url, (etag, modified, [listed(each) for each in data], more))


class PinnedGitHub(GitHubAPI):
    """gidgethub on a client that reaches one host."""

    def __init__(self, client: httpx.AsyncClient, *, token: str, base_url: str, cache: ListCache) -> None:
        super().__init__(AGENT, oauth_token=token or None, cache=cache, base_url=base_url)
        self._client, self._turn = client, asyncio.Lock()
        self.now = time.time()  #: seconds since the epoch, by the last answer

    async def _request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
    ) -> tuple[int, Mapping[str, str], bytes]:
        async with self._turn:
            response = await self._client.request(method, url, headers=dict(headers), content=body)
        try:
            self.now = parsedate_to_datetime(response.headers.get("date", "")).timestamp()
        except (ValueError, IndexError, OverflowError):
            logger.info("GitHub did not say what time it is")
        return response.status_code, response.headers, response.content

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class GitHubRepository:
    """One repository. Its methods raise SourceUnavailable and SourceThrottled."""

    address: IssuesAddress
    client: PinnedGitHub
    has_token: bool = field(default=False)

    @property
    def now(self) -> float:
        return self.client.now

    async def issue(self, number: int) -> Mapping[str, Any]:
        """An issue, or a pull request as one. ItemGone, ItemUnreadable."""
        try:
            found = await self.client.getitem(f"/repos/{self.address.repository}/issues/{number}")
        except HTTPException as refused:
            raise self._told_of(number, refused) from None
        except (GitHubException, httpx.HTTPError, ValueError) as trouble:
            raise _unreachable(self.address.host, trouble) from None
        if not isinstance(found, dict):
            raise ItemUnreadable("is not what GitHub's API says that it sends")
        return found

    async def of_issue(self, number: int, path: str) -> list[Mapping[str, Any]]:
        """What was said: ``issues/7/comments``, ``pulls/7/reviews``. ItemGone, ItemUnreadable."""
        try:
            return [each async for each in self.client.getiter(f"{self._base}/{path}?per_page=100")]
        except HTTPException as refused:
            raise self._told_of(number, refused) from None
        except (GitHubException, httpx.HTTPError, ValueError) as trouble:
            raise _unreachable(self.address.host, trouble) from None

    async def all(self, path: str) -> AsyncGenerator[Mapping[str, Any], None]:
        """Everything of a list, page after page."""
        try:
            async with aclosing(self.client.getiter(f"{self._base}/{path}")) as found:
                async for each in found:
                    yield each
        except HTTPException as refused:
            raise self._told(refused) from None
        except (GitHubException, httpx.HTTPError, ValueError) as trouble:
            raise _unreachable(self.address.host, trouble) from None

    @property
    def _base(self) -> str:
        return f"/repos/{self.address.repository}"

    def _told_of(self, number: int, refused: HTTPException) -> FootnoteError:
        if throttled := self._throttled(refused):
            return throttled
        if refused.status_code in GONE:
            return ItemGone(f"{self.address.repository}#{number} is gone.")
        if refused.status_code == 401:
            return self._told(refused)
        return ItemUnreadable(f"could not be read: GitHub answered HTTP {refused.status_code}")

    def _told(self, refused: HTTPException) -> FootnoteError:
        address = self.address
        logger.info("%s answered HTTP %d: %s", address.host, refused.status_code, refused)
        if throttled := self._throttled(refused):
            return throttled
        if refused.status_code in (301, 302, 307, 308):
            return SourceUnavailable(
                f"{address.host} says that {address.repository} is elsewhere now: ingest its new address, and forget this one."
            )
        if refused.status_code in (401, 403, 404):
            return SourceUnavailable(
                f"{address.host} does not let Footnote read the {address.kind} of {address.repository}: set "
                f"GIT_TOKENS={address.host}=TOKEN with a token that may read them."
            )
        if refused.status_code == 410:
            return SourceUnavailable(f"{address.repository} has no {address.kind}.")
        return SourceUnavailable(f"{address.host} answered HTTP {refused.status_code}.")

    def _throttled(self, refused: HTTPException) -> SourceThrottled | None:
        headers, status = refused.headers, refused.status_code
        asked = seconds_asked(headers.get("retry-after"))
        if status >= SERVER_FAULT:
            pause = FAULT_PAUSE if asked is None else asked
            return SourceThrottled(f"{self.address.host} is out of order (HTTP {status}).", retry_after=pause)
        if status not in LIMITED:
            return None
        more = (
            ""
            if self.has_token
            else f" With a token in GIT_TOKENS={self.address.host}=TOKEN it may be asked more often."
        )
        sentence = f"{self.address.host} asks to be asked again later.{more}"
        if asked is not None:
            return SourceThrottled(sentence, retry_after=asked)
        if headers.get("x-ratelimit-remaining") == "0":
            reset = headers.get("x-ratelimit-reset", "")
            wait = float(reset) - self.now if reset.isdecimal() else RATE_PAUSE
            return SourceThrottled(sentence, retry_after=max(1.0, wait))
        is_limit = status == 429 or "rate limit" in str(refused).lower()
        return SourceThrottled(sentence, retry_after=RATE_PAUSE) if is_limit else None


def _unreachable(host: str, trouble: Exception) -> SourceUnavailable:
    logger.info("%s: %r", host, trouble)
    return SourceUnavailable(f"{host} could not be reached, or broke the connection off.")


@asynccontextmanager
async def open_repository(
    address: IssuesAddress, api: str, addresses: Sequence[str], *, token: str, cache: ListCache
) -> AsyncIterator[GitHubRepository]:
    parts = urlsplit(api)
    async with open_pinned(f"{parts.scheme}://{parts.netloc}", addresses, connections=1) as http:
        client = PinnedGitHub(http, token=token.rpartition(":")[2], base_url=api, cache=cache)
        yield GitHubRepository(address=address, client=client, has_token=bool(token))

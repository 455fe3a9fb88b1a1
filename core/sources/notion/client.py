"""Requests to Notion's API, through notion-client, of the version 2025-09-03 with its data sources.

Requests are spread over time, and what Notion refuses becomes an error of a source: the library waits and tries again,
not the client.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, cast

from core.conversation import value
from core.errors import FootnoteError, SettingsError
from core.sources.source import SourceThrottled, SourceUnavailable
from core.web.request import SERVER_FAULT, TOO_MANY_REQUESTS, seconds_asked

if TYPE_CHECKING:
    from notion_client import AsyncClient

ORIGIN = "https://api.notion.com"
HOST = "api.notion.com"
API_VERSION = "2025-09-03"  # https://developers.notion.com/reference/changes-by-version
PAGE_SIZE = 100  # results of one answer, Notion "Pagination"
INTERVAL = 1 / 3  # seconds between requests: an average of three a second, Notion "Request limits"
RATE_PAUSE = 30.0  # seconds to wait where Notion does not say how long
CONFLICT_PAUSE = 2.0  # seconds after which data that was being written can be read
TIMEOUT = 90_000  # milliseconds; Notion gives up after 60 seconds

MISSING_EXTRA = "Notion is read with the extra notion: .uv/bin/uv sync --no-dev --inexact --extra notion."
REFUSED = "Notion does not take the token: set NOTION_TOKEN to that of an integration of your workspace."
BUSY = "Notion asks to be asked again later."
OUT_OF_ORDER = "Notion is out of order (HTTP {status})."
NO_RIGHT = "may not be read with NOTION_TOKEN: its integration needs the capability to read content"

logger = logging.getLogger(__name__)


class NotionMissing(FootnoteError):
    """What was asked for is not there, or is not shared with the integration."""


class NotionRefused(FootnoteError):
    """Notion does not answer this; the sentence completes "PAGE …"."""


class CursorLost(FootnoteError):
    """Notion does not know any more where the list went on."""


@value
class ResultPage:
    """A part of a list."""

    results: Sequence[Mapping[str, Any]]
    next_cursor: str | None  #: None: it was the last
    is_cut_off: bool = False  #: whether there are more results than Notion lists


@dataclass(slots=True, kw_only=True)
class NotionApi:
    """Asks Notion. Its methods raise SourceThrottled, SourceUnavailable, NotionRefused, and what they name."""

    client: AsyncClient
    interval: float = INTERVAL  #: seconds between two requests, on average
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    now: float = 0.0  #: seconds since the epoch, by the last answer
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _free_at: float = 0.0  #: seconds of the event loop's clock

    async def search(self, cursor: str | None) -> ResultPage:
        """Pages and data sources that are shared, those first that changed longest ago. CursorLost."""
        order = {"timestamp": "last_edited_time", "direction": "ascending"}
        return _page(await self._list(lambda: self.client.search(sort=order, **_at(cursor)), cursor))

    async def rows(
        self, data_source: str, cursor: str | None, *, since: str = "", is_brief: bool = False
    ) -> ResultPage:
        """Rows of a data source, the oldest first. NotionMissing, CursorLost.

        ``since``: ISO 8601; those that were made then or later. ``is_brief``: without their properties.
        """
        asked: dict[str, Any] = {"sorts": [{"timestamp": "created_time", "direction": "ascending"}]}
        if since:
            asked["filter"] = {"timestamp": "created_time", "created_time": {"on_or_after": since}}
        if is_brief:
            asked["filter_properties"] = ["title"]
        asked |= {"result_type": "page", **_at(cursor)}
        return _page(await self._list(lambda: self.client.data_sources.query(data_source, **asked), cursor))

    async def children(self, block: str, cursor: str | None) -> ResultPage:
        """The blocks within one. NotionMissing, CursorLost."""
        return _page(await self._list(lambda: self.client.blocks.children.list(block, **_at(cursor)), cursor))

    async def page(self, page: str) -> Mapping[str, Any]:
        """NotionMissing."""
        return await self._ask(lambda: self.client.pages.retrieve(page))

    async def database(self, database: str) -> Mapping[str, Any]:
        """NotionMissing."""
        return await self._ask(lambda: self.client.databases.retrieve(database))

    async def data_source(self, data_source: str) -> Mapping[str, Any]:
        """NotionMissing."""
        return await self._ask(lambda: self.client.data_sources.retrieve(data_source))

    async def block(self, block: str) -> Mapping[str, Any]:
        """NotionMissing."""
        return await self._ask(lambda: self.client.blocks.retrieve(block))

    async def _list(self, ask: Callable[[], Any], cursor: str | None) -> Mapping[str, Any]:
        """A part of a list. Where a cursor is not known any more, Notion says that the request is not valid."""
        try:
            return await self._ask(ask)
        except NotionRefused as refused:
            if cursor is not None and "start_cursor" in str(refused):
                raise CursorLost(str(refused)) from refused
            raise

    async def _ask(self, ask: Callable[[], Any]) -> Mapping[str, Any]:
        import httpx
        from notion_client.errors import HTTPResponseError, NotionClientErrorBase

        await self._await_turn()
        try:
            answer = await ask()
        except HTTPResponseError as refused:
            logger.info("Notion answered HTTP %d: %s", refused.status, refused)
            raise _told(refused.status, str(refused), refused.headers) from None
        except (httpx.HTTPError, NotionClientErrorBase, ValueError) as trouble:
            logger.info("Notion: %r", trouble)
            raise SourceUnavailable("Notion could not be reached, or broke the connection off.") from None
        if not isinstance(answer, dict):
            raise SourceUnavailable("Notion answered with something else than its API does.")
        return answer

    async def _await_turn(self) -> None:
        async with self._turn:
            clock = asyncio.get_running_loop().time
            if (wait := self._free_at - clock()) > 0:
                await self.pause(wait)
            self._free_at = max(self._free_at, clock()) + self.interval

    async def note_time(self, response: Any) -> None:
        """Note what time it is for Notion, whose clock the times of changes are of."""
        try:
            self.now = parsedate_to_datetime(response.headers.get("date", "")).timestamp()
        except (ValueError, IndexError, OverflowError):
            logger.info("Notion did not say what time it is")


def _at(cursor: str | None) -> dict[str, Any]:
    return {"page_size": PAGE_SIZE} | ({"start_cursor": cursor} if cursor else {})


def _page(answer: Mapping[str, Any]) -> ResultPage:
    """https://developers.notion.com/reference/intro#pagination; of request_status says the guide "Query large data
    sources": a list ends after 10,000 results.
    """
    status = answer.get("request_status") or {}
    cursor = answer.get("next_cursor") if answer.get("has_more") else None
    return ResultPage(
        results=cast("Sequence[Mapping[str, Any]]", answer.get("results") or ()),
        next_cursor=str(cursor) if cursor else None,
        is_cut_off=status.get("type") == "incomplete",
    )


def _told(status: int, reason: str, headers: Mapping[str, str]) -> FootnoteError:
    """What an answer means: https://developers.notion.com/reference/status-codes."""
    asked = seconds_asked(headers.get("retry-after"))
    if status == TOO_MANY_REQUESTS or status >= SERVER_FAULT:
        sentence = OUT_OF_ORDER.format(status=status) if status >= SERVER_FAULT else BUSY
        return SourceThrottled(sentence, retry_after=RATE_PAUSE if asked is None else asked)
    answers: Mapping[int, FootnoteError] = {
        401: SourceUnavailable(REFUSED),
        403: NotionRefused(NO_RIGHT),
        404: NotionMissing("Notion has it not, or it is not shared with the integration."),
        409: SourceThrottled("Notion is writing what was asked for.", retry_after=CONFLICT_PAUSE),
    }
    return answers.get(status) or NotionRefused(f"was refused by Notion: {reason}")


@asynccontextmanager
async def open_api(
    token: str,
    addresses: Sequence[str],
    *,
    origin: str = ORIGIN,
    interval: float = INTERVAL,
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    connections: int,
) -> AsyncIterator[NotionApi]:
    """SettingsError where notion-client is not installed."""
    try:
        from notion_client import AsyncClient
        from notion_client.client import ClientOptions
    except ImportError:
        raise SettingsError(MISSING_EXTRA) from None
    from core.sources.pinned import open_pinned

    async with open_pinned(origin, addresses, connections=connections) as transport:
        options = ClientOptions(
            auth=token, base_url=origin, retry=False, notion_version=API_VERSION, timeout_ms=TIMEOUT,
            logger=logging.getLogger(f"{__name__}.library"), log_level=logging.ERROR,
        )  # fmt: skip
        api = NotionApi(client=AsyncClient(options, client=transport), interval=interval, pause=pause)
        transport.event_hooks = {"response": [api.note_time]}
        yield api

"""Requests to Notion's API, in its version 2025-09-03 with data sources, and addresses in Notion.

``notion:`` is all that is shared with the integration, ``notion:ID`` a page or a database and what lies below it.
People may type the address of its page on the web instead. An ID has 32 hexadecimal digits; in addresses they end the
last part of the path.

Requests are spread over time, and what Notion refuses becomes an error of a source: the library waits and tries again,
not the client.
"""

import asyncio
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast
from urllib.parse import parse_qs, urlencode, urlsplit

from core.conversation import value
from core.errors import FootnoteError, SettingsError
from core.settings import Settings
from core.sources import http as web
from core.sources.source import Credential, ItemUnreadable, SourceGuide, SourceThrottled, SourceUnavailable
from core.web.request import OK

ORIGIN = "https://api.notion.com"
API_VERSION = "2025-09-03"  # https://developers.notion.com/reference/changes-by-version
PAGE_SIZE = 100  # results of one answer, Notion "Pagination"
INTERVAL = 1 / 3  # seconds between requests: an average of three a second, Notion "Request limits"
RATE_PAUSE = 30.0  # seconds to wait where Notion does not say how long
CONFLICT_PAUSE = 2.0  # seconds after which data that was being written can be read

NAME, FILES_NAME = "Notion", "The server of Notion's files"
CONFLICT = 409
REFUSED = "Notion does not take the token: set NOTION_TOKEN to that of an integration of your workspace."
NO_RIGHT = "may not be read with NOTION_TOKEN: its integration needs the capability to read content"

logger = logging.getLogger(__name__)


ThingKind = Literal["page", "database", "data_source", "block"]


class NotionMissing(FootnoteError):
    """The thing asked for is not there, or is not shared with the integration."""


class NotionRefused(FootnoteError):
    """Notion does not answer this; the sentence completes "PAGE …"."""


class CursorLost(FootnoteError):
    """Notion does not know any more where the list went on."""


@value
class ResultPage:
    """A part of a list."""

    results: Sequence[web.Json]
    next_cursor: str | None  #: None: it was the last
    is_cut_off: bool = False  #: whether there are more results than Notion lists


@dataclass(slots=True, kw_only=True)
class NotionApi:
    """Asks Notion. Its methods raise SourceThrottled, SourceUnavailable, NotionRefused, and what they name."""

    http: web.HostClient
    origin: str
    serves: Callable[[str], bool]  #: whether files are read at an address
    interval: float = INTERVAL  #: seconds between two requests, on average
    now: float = 0.0  #: seconds since the epoch, by the last answer
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _free_at: float = 0.0  #: seconds of the event loop's clock

    async def search(self, cursor: str | None) -> ResultPage:
        """Pages and data sources that are shared, those first that changed longest ago. CursorLost."""
        order = {"timestamp": "last_edited_time", "direction": "ascending"}
        return await self._list("search", cursor, body={"sort": order})

    async def rows(
        self, data_source: str, cursor: str | None, *, since: str = "", is_brief: bool = False
    ) -> ResultPage:
        """Rows, the oldest first, made ``since`` then; ``is_brief``: bare. NotionMissing, CursorLost."""
        order = {"timestamp": "created_time", "direction": "ascending"}
        asked: dict[str, Any] = {"sorts": [order], "result_type": "page"}
        if since:
            asked["filter"] = {"timestamp": "created_time", "created_time": {"on_or_after": since}}
        brief = "?filter_properties=title" if is_brief else ""
        return await self._list(f"data_sources/{data_source}/query{brief}", cursor, body=asked)

    async def children(self, block: str, cursor: str | None) -> ResultPage:
        """The blocks within one. NotionMissing, CursorLost."""
        return await self._list(f"blocks/{block}/children", cursor)

    async def one(self, kind: ThingKind, this: str) -> web.Json:
        """A thing by its ID. NotionMissing."""
        return await self._ask(f"{kind}s/{this}")

    async def _list(self, path: str, cursor: str | None, *, body: web.Json | None = None) -> ResultPage:
        """A part of a list. Where a cursor is not known any more, Notion says that the request is not valid."""
        part = {"page_size": PAGE_SIZE} | ({"start_cursor": cursor} if cursor else {})
        asked = f"{path}?{urlencode(part)}" if body is None else path
        try:
            answer = await self._ask(asked, None if body is None else {**body, **part})
        except NotionRefused as refused:
            if cursor is not None and "start_cursor" in str(refused):
                raise CursorLost(str(refused)) from refused
            raise
        # "Pagination"; of request_status says the guide "Query large data sources": a list ends after 10,000 results.
        following = answer.get("next_cursor") if answer.get("has_more") else None
        return ResultPage(
            results=cast("Sequence[web.Json]", answer.get("results") or ()),
            next_cursor=str(following) if following else None,
            is_cut_off=(answer.get("request_status") or {}).get("type") == "incomplete",
        )

    async def _ask(self, path: str, body: web.Json | None = None) -> web.Json:
        """The answer of an endpoint; with a body, it is posted."""
        async with self._turn:
            clock = asyncio.get_running_loop().time
            if (wait := self._free_at - clock()) > 0:
                await asyncio.sleep(wait)
            self._free_at = max(self._free_at, clock()) + self.interval
        url = f"{self.origin}/v1/{path}"
        response = await (self.http.ask(url) if body is None else self.http.post_json(url, body))
        self.now = response.date or self.now  # the times of changes are of Notion's clock
        if response.status != OK:
            reason = str(response.fields().get("message") or "")
            logger.info("Notion answered HTTP %d: %s", response.status, reason)
            raise _error(response, reason)
        answer = response.json()
        if not isinstance(answer, dict):
            raise SourceUnavailable("Notion answered with something else than its API does.")
        return answer


def _error(response: web.Response, reason: str) -> FootnoteError:
    """The error for an answer that is none: https://developers.notion.com/reference/status-codes."""
    if (throttled := web.throttle(response, NAME, pause=RATE_PAUSE, is_patient=True)) is not None:
        return throttled
    answers: Mapping[int, FootnoteError] = {
        web.UNAUTHORIZED: SourceUnavailable(REFUSED),
        web.FORBIDDEN: NotionRefused(NO_RIGHT),
        web.NOT_FOUND: NotionMissing("Notion has it not, or it is not shared with the integration."),
        CONFLICT: SourceThrottled("Notion is writing what was asked for.", retry_after=CONFLICT_PAUSE),
    }
    return answers.get(response.status) or NotionRefused(f"was refused by Notion: {reason}")


async def read_file(url: str, private: Sequence[str]) -> bytes:
    """The bytes at an address that is signed. ItemUnreadable, SourceThrottled, SourceUnavailable."""
    async with web.open_http(url, private=private, connections=1) as http:
        response = await http.ask(url, headers={"Accept": "*/*"})
    if (throttled := web.throttle(response, FILES_NAME, pause=RATE_PAUSE, is_patient=True)) is not None:
        raise throttled
    if response.status != OK:
        raise ItemUnreadable(f"is not given out by Notion (HTTP {response.status})")
    return response.body


PREFIX = "notion:"
HOSTS = ("notion.so", "notion.site", "notion.com")  #: and what lies below them
LABEL = "Notion"  # begins the names of pages

_ID = re.compile(r"(?:^|[-/])([0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12})/?$", re.IGNORECASE)


def canonical_address(text: str) -> str:
    """The address as it is kept; SettingsError for an invalid one."""
    bare = text.removeprefix(PREFIX).strip("/")
    if not bare:
        return PREFIX
    found = _ID.search(bare)
    if found is None:
        expected = "notion: for all that is shared, or notion:ID, as in the page's link."
        raise SettingsError(f"{text} names no page of Notion: {expected}")
    return PREFIX + bare_id(found[1])


def page_address(url: str) -> str | None:
    """The address of the page or database that a link leads to; None for any other link."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
    except ValueError:
        return None
    if parts.scheme != "https" or not any(host == each or host.endswith(f".{each}") for each in HOSTS):
        return None
    for name in (parts.path, *parse_qs(parts.query).get("p", ())):  # p: a page that is opened beside another
        if found := _ID.search(name):
            return PREFIX + bare_id(found[1])
    return None


def bare_id(text: str) -> str:
    """An ID without hyphens, in lower case."""
    return text.replace("-", "").lower()


def typed_address(typed: str) -> str:
    """An address as it is kept, of a link to a page, an ID alone, or a kept one."""
    kept = typed if typed.startswith(PREFIX) else f"{PREFIX}{typed}"
    return page_address(typed) or canonical_address(kept)


def credentials_of(_text: str, settings: Settings) -> Sequence[Credential]:
    """The token of an integration, with which the pages are shared."""
    token = Credential(
        setting="NOTION_TOKEN", entry="TOKEN", made_at="https://www.notion.so/profile/integrations",
        rights="Read content; share the pages with the integration", is_set=bool(settings.notion_token),
    )  # fmt: skip
    return (token,)


GUIDE = SourceGuide(
    title="Pages and databases of Notion",
    asks="The link of a page; notion: for all that is shared with the integration", example="notion:",
    address=typed_address, credentials=credentials_of,
)  # fmt: skip

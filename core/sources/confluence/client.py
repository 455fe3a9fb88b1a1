"""Requests to one Confluence, through atlassian-python-api, and what its errors mean to a sync.

The client's own waiting is switched off, and it follows no redirect. A file of the cloud lies on another host, to
which its address redirects: that host is checked like any other, and gets no credentials.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from core.errors import FootnoteError, SettingsError
from core.sources.confluence.address import ConfluenceAddress
from core.sources.hosts import addresses_of
from core.sources.source import ItemGone, ItemUnreadable, SourceThrottled, SourceUnavailable
from core.web.request import OK, TOO_MANY_REQUESTS, seconds_asked

if TYPE_CHECKING:
    from atlassian.rest_client import AtlassianRestAPI
    from requests import Response, Session

CONNECTIONS = 4  # at once
RATE_PAUSE = 60.0  # seconds to wait where a limit does not say how long
REDIRECTS = frozenset({301, 302, 303, 307, 308})
#: How the old remote API refuses; it sends those who have to confirm that they administer to a page.
CALL_REFUSALS = REDIRECTS | {401, 403, 404, 405}
HOPS = 3  # redirects of one file
UNAUTHORIZED, FORBIDDEN, NOT_FOUND, UNAVAILABLE = 401, 403, 404, 503
MISSING = (
    "Confluence is read with the extra confluence: .uv/bin/uv sync --no-dev --inexact --extra confluence."
)

logger = logging.getLogger(__name__)

Json = Mapping[str, Any]


class RecordRefused(FootnoteError):
    """What was asked for is not there, or not for this account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfluenceClient:
    """Asks one Confluence. Its methods raise SourceThrottled, SourceUnavailable."""

    address: ConfluenceAddress
    api: AtlassianRestAPI = field(repr=False)
    open_host: Callable[[str, int], Awaitable[Session]] = field(
        repr=False
    )  #: to another, without credentials

    async def get(self, path: str, **asked: str | int) -> Json:
        """What an endpoint answers; a bare list as one that has no next page. ``path``: below the context, or a link
        to a next page.

        RecordRefused where it is not there or may not be seen.
        """
        response = await self._reached(self._get, path.lstrip("/"), asked)
        if response.status_code in (FORBIDDEN, NOT_FOUND):
            raise RecordRefused(f"{path} is not there, or not for this account.")
        self._require_ok(response, path)
        return self._json_of(response)

    async def call(self, path: str, method: str, *values: str) -> Sequence[Any]:
        """What a method of the old remote API lists. RecordRefused where that is switched off, or not for this
        account.
        """
        response = await self._reached(self._call, path, method, values)
        if response.status_code in CALL_REFUSALS:
            raise RecordRefused(f"{method} is not there, or not for this account.")
        self._require_ok(response, path)
        found = self._json_of(response).get("result")
        if not isinstance(found, list):
            raise RecordRefused(f"{method} is not for this account.")
        return found

    def _json_of(self, response: Response) -> Json:
        try:
            answer = response.json()
        except ValueError:
            answer = None
        if isinstance(answer, list):
            return {"results": answer}
        if not isinstance(answer, dict):
            raise SourceUnavailable(f"{self.address.base} does not answer as Confluence does.")
        return answer

    async def read(self, path: str) -> bytes:
        """The bytes of a file. ItemGone, ItemUnreadable."""
        response = await self._reached(
            _get_plain, self.api.session, f"{self.address.base}/{path.lstrip('/')}"
        )
        for _ in range(HOPS):
            if response.status_code not in REDIRECTS:
                break
            response = await self._follow(response)
        if response.status_code in (FORBIDDEN, NOT_FOUND):
            raise ItemGone(f"{path} is gone.")
        self._require_ok(response, path)
        return response.content

    async def _follow(self, response: Response) -> Response:
        """What lies where a file's address leads: on this host with credentials, on any other without."""
        target = urljoin(response.url, response.headers.get("Location", ""))
        parts = urlsplit(target)
        if f"{parts.scheme}://{parts.netloc}" == f"https://{self.address.place}":
            return await self._reached(_get_plain, self.api.session, target)
        if parts.scheme != "https" or not parts.hostname or parts.username is not None:
            raise ItemUnreadable("lies at an address that is not followed")
        session = await self.open_host(parts.hostname, parts.port or 443)
        try:
            return await self._reached(_get_plain, session, target)
        finally:
            session.close()

    def _get(self, path: str, asked: Mapping[str, str | int]) -> Response:
        return self.api.request("GET", path, params=dict(asked), advanced_mode=True, allow_redirects=False)

    def _call(self, path: str, method: str, values: Sequence[str]) -> Response:
        """As JSON-RPC 2.0."""
        asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(values)}
        return self.api.request("POST", path, data=asked, advanced_mode=True, allow_redirects=False)

    def next_of(self, answer: Json) -> str | None:
        """The path of the next page of a list, below the context; None for the last."""
        link = answer.get("_links", {}).get("next")
        if not link:
            return None
        parts = urlsplit(link)  # whatever host it names
        path = parts.path.removeprefix(self.address.context) or parts.path
        return f"{path}?{parts.query}" if parts.query else path

    async def _reached(self, ask: Callable[..., Response], *values: Any) -> Response:
        from requests.exceptions import RequestException

        from core.sources.confluence.session import BodyTooLarge

        try:
            return await asyncio.to_thread(ask, *values)
        except BodyTooLarge:
            raise ItemUnreadable("is larger than 32 MB") from None
        except (RequestException, OSError, ValueError) as trouble:
            logger.info("%s: %r", self.address.host, trouble)
            raise SourceUnavailable(
                f"{self.address.host} could not be reached, or broke the connection off."
            ) from None

    def _require_ok(self, response: Response, path: str) -> None:
        host, status = self.address.host, response.status_code
        if status == OK:
            return
        logger.info("%s answered HTTP %d to %s", host, status, path.partition("?")[0])
        asked = seconds_asked(response.headers.get("Retry-After"))
        if status == TOO_MANY_REQUESTS or (status == UNAVAILABLE and asked is not None):
            raise SourceThrottled(
                f"{host} asks to be asked again later.", retry_after=RATE_PAUSE if asked is None else asked
            )
        if status == UNAUTHORIZED:
            raise SourceUnavailable(not_taken(host))
        if status in REDIRECTS:
            raise SourceUnavailable(f"There is no Confluence at {self.address.base}: it leads elsewhere.")
        raise SourceUnavailable(f"{host} answered HTTP {status}.")


def not_taken(host: str) -> str:
    """The sentence about a token that a Confluence does not take."""
    return f"{host} does not take the token that CONFLUENCE_TOKENS has for it: it may have expired."


def _get_plain(session: Session, url: str) -> Response:
    from core.sources.confluence.session import SILENCE

    return session.get(url, timeout=SILENCE, allow_redirects=False)


def client_of(
    address: ConfluenceAddress,
    tokens: Mapping[str, str],
    addresses: Sequence[str],
    private: Sequence[str],
) -> ConfluenceClient:
    """A client of a host whose IP addresses were checked. SourceUnavailable without a token, SettingsError without the
    library.
    """
    token = tokens.get(address.host)
    if not token:
        raise SourceUnavailable(
            f"There is no token for {address.host}: set CONFLUENCE_TOKENS={address.host}=E-MAIL:TOKEN for the cloud,"
            f" CONFLUENCE_TOKENS={address.host}=TOKEN for a Data Center."
        )
    try:
        from atlassian.rest_client import AtlassianRestAPI

        from core.sources.confluence.session import SILENCE, pinned_session
    except ImportError:
        raise SettingsError(MISSING) from None
    logging.getLogger("atlassian").setLevel(logging.INFO)  # below, it writes whole pages into the log
    user, colon, password = token.partition(":")
    api = AtlassianRestAPI(
        address.base,
        timeout=int(SILENCE),
        session=pinned_session(address.host, addresses, connections=CONNECTIONS),
        retry_with_header=False,
        backoff_and_retry=False,
        username=user if colon else None,
        password=password if colon else None,
        token=None if colon else token,
    )

    async def open_host(host: str, port: int) -> Session:
        return pinned_session(host, await addresses_of(host, port, private), connections=1)

    return ConfluenceClient(address=address, api=api, open_host=open_host)

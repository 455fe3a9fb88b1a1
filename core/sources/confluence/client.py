"""Requests to one Confluence, with answers in one form for both of its kinds, and its addresses.

An address is ``confluence+https://HOST/CONTEXT/spaces/KEY``, or what people paste for it. The context is ``/wiki`` in
the cloud, and what the operator of a Data Center chose, often nothing. Without a key every space is meant that the
account may read. The address of a page means that page and what lies below it.

A file of the cloud lies on another host, to which its address redirects: that host is checked like any other, and
gets no credentials.
"""

import logging
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import parse_qs, parse_qsl, quote, unquote_plus, urlencode, urljoin, urlsplit

from core.conversation import value
from core.errors import FootnoteError, SettingsError
from core.settings import Settings
from core.sources import http as web
from core.sources import source
from core.web.hosts import canonical
from core.web.request import OK

PREFIXES = ("confluence+https://",)
MARK = "confluence+"
CLOUD_HOSTS = (".atlassian.net", ".jira.com")  # how the names of hosts in the cloud end
CLOUD_CONTEXT = "/wiki"

#: The paths of Confluence itself, before which the context ends.
_OWN_PATH = re.compile(
    r"/(?:spaces|display|pages|x|rest|plugins|dashboard\.action|index\.action|login\.action)(?=/|$)"
)
_KEY = re.compile(r"~?[\w.:@-]+")  # of a space; that of a person begins with a tilde
_ID = re.compile(r"[0-9]+")
_FORMS = (
    r"/spaces/(?P<key>[^/]+)/pages/(?P<page>\d+)(?:/.*)?",
    r"/spaces/(?P<key>[^/]+)(?:/(?:overview|pages|blog|blogs))?/?", r"/display/(?P<key>[^/]+)/?",
    r"/display/(?P<key>[^/]+)/(?P<title>[^/]+)", r"/pages/(?P<page>\d+)",
    r"(?:/(?:dashboard|index)\.action)?",
)  # fmt: skip


@value
class ConfluenceAddress:
    """A Confluence, and what is read of it."""

    netloc: str  #: its host, with the port if it is not 443
    context: str = ""  #: the path before its own, with a slash at the beginning and none at the end
    key: str = ""  #: of one space; empty: all of them, unless a page is named
    page: str = ""  #: the id of the page at the top of what is read
    title: str = ""  #: the same page, where the address names it by its title

    @property
    def base(self) -> str:
        """The URL below which Confluence lies."""
        return f"https://{self.netloc}{self.context}"

    @property
    def host(self) -> str:
        return urlsplit(self.base).hostname or ""

    @property
    def is_page(self) -> bool:
        return bool(self.page or self.title)

    @property
    def address(self) -> str:
        """The form that is kept."""
        key = quote(self.key, safe="~:@")
        if self.title:
            return f"{MARK}{self.base}/display/{key}/{quote(self.title, safe='')}"
        space = f"/spaces/{key}" if key else ""
        return f"{MARK}{self.base}{space}" + (f"/pages/{self.page}" if self.page else "")


def parse(text: str) -> ConfluenceAddress:
    """SettingsError for what is no such address, or has a password in it."""
    bare = text.removeprefix(MARK)
    try:
        url = urlsplit(bare)
        port, host = url.port, canonical(url.hostname or "")
    except ValueError:
        raise _no_address(bare) from None
    if url.username is not None:
        raise SettingsError(  # not repeated: it may hold a password
            "An address with a user or a password in it is not kept. Put a token into CONFLUENCE_TOKENS."
        )
    if url.scheme != "https" or not host:
        raise _no_address(bare)
    found = _OWN_PATH.search(url.path)
    context = (url.path[: found.start()] if found else url.path).rstrip("/")
    if not context and host.endswith(CLOUD_HOSTS):
        context = CLOUD_CONTEXT
    named = f"[{host}]" if ":" in host else host
    netloc = named if port in (None, 443) else f"{named}:{port}"
    key, page, title = _parse(url.path[found.start() :] if found else "", url.query)
    if key is None:
        raise _no_address(bare)
    return ConfluenceAddress(netloc=netloc, context=context, key=key, page=page, title=title)


def _no_address(text: str) -> SettingsError:
    return SettingsError(
        f"{text} is not an address of a space or a page of Confluence: https://HOST/wiki/spaces/KEY,"
        " or https://HOST/display/KEY."
    )


def _parse(path: str, query: str) -> tuple[str | None, str, str]:
    """The key of the space, and the id or title of the page. None for an address without pages."""
    if path == "/pages/viewpage.action":
        asked = {name: texts[0] for name, texts in parse_qs(query).items()}
        key, page, title = asked.get("spaceKey", ""), asked.get("pageId", ""), asked.get("title", "")
    else:
        found = next((found for form in _FORMS if (found := re.fullmatch(form, path))), None)
        if found is None:
            return None, "", ""
        named = {name: unquote_plus(text or "") for name, text in found.groupdict().items()}
        key, page, title = (named.get(name, "") for name in ("key", "page", "title"))
    is_valid = _KEY.fullmatch(key) if key else bool(page) or not path.startswith("/pages/")
    if not is_valid or (page and not _ID.fullmatch(page)):
        return None, "", ""
    return key, page, "" if page else title


def parse_pasted(name: str, hosts: Collection[str]) -> str | None:
    """The kept form of an address of the web on one of these hosts; None for any other."""
    if not name.startswith("https://"):
        return None
    try:
        host = canonical(urlsplit(name).hostname or "")
    except ValueError:
        return None
    return parse(name).address if host in hosts else None


def label_of(address: str) -> str:
    """The name of a source of Confluence for people: its host and its path."""
    return address.removeprefix(f"{MARK}https://")


CONNECTIONS = 4  # at once
REFUSALS = frozenset({web.FORBIDDEN, web.NOT_FOUND})
#: What a Data Center says to who may not see the permissions of a space: CONFSERVER-99908.
PERMISSION_REFUSALS = REFUSALS | {500}
#: How the old remote API refuses; it sends those who have to confirm that they administer to a page.
CALL_REFUSALS = PERMISSION_REFUSALS | web.REDIRECTS | {401, 405}
HOPS = 3  # redirects of one file
ANY = {"Accept": "*/*"}  # kind of file

logger = logging.getLogger(__name__)

T = TypeVar("T")


class RecordRefused(FootnoteError):
    """The thing asked for is not there, or not for this account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfluenceClient:
    """Asks one Confluence. What it read of a list is kept: one that is asked to wait at its last page goes on there. Its
    methods raise SourceThrottled, SourceUnavailable."""

    address: ConfluenceAddress
    http: web.HostClient
    private: Sequence[str] = ()  #: hosts that may be private
    #: what was read of lists, and the next page: by the list and the page
    _read: dict[tuple[str, str], tuple[list[Any], str | None]] = field(default_factory=dict)

    async def get(self, path: str, *, refusals: Collection[int] = REFUSALS, **asked: str | int) -> web.Json:
        """An endpoint's answer; a bare list has no next page. RecordRefused where it may not be seen."""
        response = await self.http.ask(self._url(f"{path}?{urlencode(asked)}" if asked else path))
        if response.status in refusals:
            raise RecordRefused(f"{path} is not there, or not for this account.")
        self._require_ok(response, path)
        return self._json_of(response)

    async def call(self, path: str, method: str, *values: str) -> Sequence[Any]:
        """The list of a method of the old JSON-RPC 2.0 API. RecordRefused where it is off, or not for this account."""
        asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": values}
        response = await self.http.post_json(self._url(path), asked)
        if response.status in CALL_REFUSALS:
            raise RecordRefused(f"{method} is not there, or not for this account.")
        self._require_ok(response, path)
        found = self._json_of(response).get("result")
        if not isinstance(found, list):
            raise RecordRefused(f"{method} is not for this account.")
        return found

    async def read(self, path: str) -> bytes:
        """The bytes of a file. ItemGone, ItemUnreadable."""
        url = self._url(path)
        response = await self.http.ask(url, headers=ANY)
        for _ in range(HOPS):
            if response.status not in web.REDIRECTS:
                break
            url = urljoin(url, response.headers.get("location", ""))
            response = await self._follow(url)
        if response.status in REFUSALS:
            raise source.ItemGone(f"{path} is gone.")
        self._require_ok(response, path)
        return response.body

    async def _follow(self, url: str) -> web.Response:
        """The answer of where a file's address leads: this host with credentials, any other without."""
        parts = urlsplit(url)
        if f"{parts.scheme}://{parts.netloc}" == f"https://{self.address.netloc}":
            return await self.http.ask(url, headers=ANY)
        if parts.scheme != "https" or not parts.hostname or parts.username is not None:
            raise source.ItemUnreadable("lies at an address that is not followed")
        async with web.open_http(url, private=self.private, connections=1, name=self.address.host) as other:
            return await other.ask(url, headers=ANY)

    def _url(self, path: str) -> str:
        return f"{self.address.base}/{path.lstrip('/')}"

    def _json_of(self, response: web.Response) -> web.Json:
        answer = response.json()
        if isinstance(answer, list):
            return {"results": answer}
        if not isinstance(answer, dict):
            raise source.SourceUnavailable(f"{self.address.base} does not answer as Confluence does.")
        return answer

    async def all(self, path: str, asked: Mapping[str, str | int], entry: Callable[[web.Json], T]) -> list[T]:
        """The entries of a list. SourceUnavailable where it may not be read: what it has is not gone."""
        try:
            return await self.all_if_shown(path, asked, entry)
        except RecordRefused as refused:
            raise source.SourceUnavailable(
                f"{self.address.host} does not let this account read {path}."
            ) from refused

    async def all_if_shown(
        self, path: str, asked: Mapping[str, str | int], entry: Callable[[web.Json], T]
    ) -> list[T]:
        """The same. RecordRefused where it may not be read."""
        at, found = f"{path}?{urlencode(asked)}", list[T]()
        link: str | None = at
        seen = set[str]()
        while link is not None:
            if link in seen:
                raise source.SourceUnavailable(f"A list of {self.address.host} goes round in a circle.")
            seen.add(link)
            if (at, link) not in self._read:
                answer = await self.get(link)
                try:
                    entries = [entry(each) for each in answer.get("results") or ()]
                    self._read[at, link] = entries, self._next_page(answer, link)
                except (KeyError, TypeError, ValueError, AttributeError) as strange:
                    reason = f"{self.address.host} answers in a form that is not known."
                    raise source.SourceUnavailable(reason) from strange
            entries, link = self._read[at, link]
            found += entries
        return found

    def _next_page(self, answer: web.Json, before: str) -> str | None:
        """The path of the next page of a list, below the context; None for the last. Its link, of whatever
        host, need not repeat everything that was asked for."""
        link = answer.get("_links", {}).get("next")
        if not link:
            return None
        parts = urlsplit(link)
        asked = dict(parse_qsl(before.partition("?")[2], keep_blank_values=True))
        named = dict(parse_qsl(parts.query, keep_blank_values=True))
        if "cursor" in named or "start" in named:
            asked = {name: text for name, text in asked.items() if name not in ("cursor", "start")}
        return f"{parts.path.removeprefix(self.address.context) or parts.path}?{urlencode(asked | named)}"

    def is_long(self, path: str, asked: Mapping[str, str | int]) -> bool:
        """True if a list that was read has several pages."""
        at = f"{path}?{urlencode(asked)}"
        return self._read[at, at][1] is not None

    def forget_lists(self) -> None:
        self._read.clear()

    def _require_ok(self, response: web.Response, path: str) -> None:
        host = self.address.host
        if response.status == OK:
            return
        logger.info("%s answered HTTP %d to %s", host, response.status, path.partition("?")[0])
        if (throttled := web.throttle(response, host)) is not None:
            raise throttled
        if response.status == web.UNAUTHORIZED:
            raise source.SourceUnavailable(not_taken(host))
        if response.status in web.REDIRECTS:
            raise source.SourceUnavailable(
                f"There is no Confluence at {self.address.base}: it leads elsewhere."
            )
        raise source.SourceUnavailable(f"{host} answered HTTP {response.status}.")


def not_taken(host: str) -> str:
    """The sentence about a token that a Confluence does not take."""
    return f"{host} does not take the token that CONFLUENCE_TOKENS has for it: it may have expired."


def credentials_of(text: str, settings: Settings) -> Sequence[source.Credential]:
    """A token of somebody who may read the spaces."""
    address = parse(text)
    if address.host.endswith(CLOUD_HOSTS):
        entry, rights = "YOU@EXAMPLE.ORG:TOKEN", ""
        page = "https://id.atlassian.com/manage-profile/security/api-tokens"
    else:
        entry, rights = "TOKEN", "View and administer the spaces: others are not shown who may view them"
        # "Using personal access tokens" of the documentation of Data Center
        page = f"{address.base}/plugins/personalaccesstokens/usertokens.action"
    token = source.Credential(
        setting="CONFLUENCE_TOKENS", entry=f"{address.host}={entry}", made_at=page, rights=rights,
        is_set=bool(settings.confluence_tokens.get(address.host)),
    )  # fmt: skip
    return (token,)


GUIDE = source.SourceGuide(
    title="A space or a page of Confluence", asks="Its address in a browser",
    example="https://acme.atlassian.net/wiki/spaces/ENG",
    address=lambda typed: parse(source.with_scheme(typed)).address, credentials=credentials_of,
)  # fmt: skip

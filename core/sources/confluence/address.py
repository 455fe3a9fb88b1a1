"""Addresses of Confluence: ``confluence+https://HOST/CONTEXT/spaces/KEY``, and what people paste for them.

The context is ``/wiki`` in the cloud, and what the operator of a Data Center chose, often nothing. Without a key every
space is meant that the account may read. The address of a page means that page and what lies below it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import parse_qs, quote, unquote_plus, urlsplit

from core.conversation import value
from core.errors import SettingsError
from core.web.hosts import canonical

PREFIXES = ("confluence+https://",)
MARK = "confluence+"
CLOUD_HOSTS = (".atlassian.net", ".jira.com")  # how the names of hosts in the cloud end
CLOUD_CONTEXT = "/wiki"

#: Where the context ends and what Confluence itself calls its places begins.
_PLACE = re.compile(
    r"/(?:spaces|display|pages|x|rest|plugins|dashboard\.action|index\.action|login\.action)(?=/|$)"
)
_KEY = re.compile(r"~?[\w.:@-]+")  # of a space; that of a person begins with a tilde
_ID = re.compile(r"[0-9]+")
_FORMS = tuple(
    map(
        re.compile,
        (
            r"/spaces/(?P<key>[^/]+)/pages/(?P<page>\d+)(?:/.*)?",
            r"/spaces/(?P<key>[^/]+)(?:/(?:overview|pages|blog|blogs))?/?",
            r"/display/(?P<key>[^/]+)/?",
            r"/display/(?P<key>[^/]+)/(?P<title>[^/]+)",
            r"/pages/(?P<page>\d+)",
            r"(?:/(?:dashboard|index)\.action)?",
        ),
    )
)


@value
class ConfluenceAddress:
    """A Confluence, and what is read of it."""

    place: str  #: its host, with the port if it is not 443
    context: str = ""  #: the path before its own, with a slash at the beginning and none at the end
    key: str = ""  #: of one space; empty: all of them, unless a page is named
    page: str = ""  #: the id of the page at the top of what is read
    title: str = ""  #: the same page, where the address names it by its title

    @property
    def base(self) -> str:
        """The URL below which Confluence lies."""
        return f"https://{self.place}{self.context}"

    @property
    def host(self) -> str:
        return urlsplit(self.base).hostname or ""

    @property
    def port(self) -> int:
        return urlsplit(self.base).port or 443

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
    found = _PLACE.search(url.path)
    context = (url.path[: found.start()] if found else url.path).rstrip("/")
    if not context and host.endswith(CLOUD_HOSTS):
        context = CLOUD_CONTEXT
    named = f"[{host}]" if ":" in host else host
    place = named if port in (None, 443) else f"{named}:{port}"
    key, page, title = _named(url.path[found.start() :] if found else "", url.query)
    if key is None:
        raise _no_address(bare)
    return ConfluenceAddress(place=place, context=context, key=key, page=page, title=title)


def _no_address(text: str) -> SettingsError:
    return SettingsError(
        f"{text} is not an address of a space or a page of Confluence: https://HOST/wiki/spaces/KEY,"
        " or https://HOST/display/KEY."
    )


def _named(path: str, query: str) -> tuple[str | None, str, str]:
    """The key of the space, and the id or the title of the page; None for a place that holds no pages."""
    if path == "/pages/viewpage.action":
        asked = {name: texts[0] for name, texts in parse_qs(query).items()}
        key, page, title = asked.get("spaceKey", ""), asked.get("pageId", ""), asked.get("title", "")
    else:
        found = next((found for form in _FORMS if (found := form.fullmatch(path))), None)
        if found is None:
            return None, "", ""
        named = {name: unquote_plus(text or "") for name, text in found.groupdict().items()}
        key, page, title = (named.get(name, "") for name in ("key", "page", "title"))
    is_place = _KEY.fullmatch(key) if key else bool(page) or not path.startswith("/pages/")
    if not is_place or (page and not _ID.fullmatch(page)):
        return None, "", ""
    return key, page, "" if page else title


def canonical_address(text: str) -> str:
    """An address as it is kept; SettingsError for what is none."""
    return parse(text).address


def pasted_address(name: str, hosts: Collection[str]) -> str | None:
    """The kept form of an address of the web on one of these hosts; None for any other."""
    if not name.startswith("https://"):
        return None
    try:
        host = canonical(urlsplit(name).hostname or "")
    except ValueError:
        return None
    return canonical_address(name) if host in hosts else None


def label_of(address: str) -> str:
    """The name of a source of Confluence for people: its host and its path."""
    return address.removeprefix(f"{MARK}https://")


def typed_address(typed: str) -> str:
    """An address as it is kept, of one with its scheme or without."""
    return canonical_address(typed if "://" in typed else f"https://{typed}")

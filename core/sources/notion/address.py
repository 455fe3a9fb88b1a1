"""Addresses in Notion: ``notion:`` for all that is shared with the integration, ``notion:ID`` for a page or a database
and what lies below it.

People may type the address of its page on the web instead. An ID has 32 hexadecimal digits; in addresses they end the
last part of the path.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

from core.errors import SettingsError

PREFIX = "notion:"
HOSTS = ("notion.so", "notion.site", "notion.com")  #: and what lies below them
LABEL = "Notion"  # begins the names of pages

_ID = re.compile(
    r"(?:^|[-/])([0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12})/?$", re.IGNORECASE
)


def canonical_address(text: str) -> str:
    """An address as it is kept; SettingsError for what is none."""
    bare = text.removeprefix(PREFIX).strip("/")
    if not bare:
        return PREFIX
    found = _ID.search(bare)
    if found is None:
        raise SettingsError(
            f"{text} names no page of Notion: notion: for all that is shared, or notion:ID, as in the page's link."
        )
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


def root_of(address: str) -> str:
    """The ID of the page or database that a kept address names; empty for all that is shared."""
    return address.removeprefix(PREFIX)


def bare_id(text: str) -> str:
    """An ID without hyphens, in lower case."""
    return text.replace("-", "").lower()


def typed_address(typed: str) -> str:
    """An address as it is kept, of a link to a page, an ID alone, or a kept one."""
    if (found := page_address(typed)) is not None:
        return found
    return canonical_address(typed if typed.startswith(PREFIX) else f"{PREFIX}{typed}")

"""Which hosts may be read: the operator's trusted and blocked lists, as plain functions.

A URL is read here exactly as it is read when it is fetched, so no spelling of a host is
judged as one machine and visited as another. A pattern covers its subdomains.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from ipaddress import IPv6Address
from typing import TYPE_CHECKING

from core.errors import FetchRefused, SettingsError
from core.web.results import Hit

if TYPE_CHECKING:
    import httpx

URL_LIMIT = 2_000  # characters; the shortest limit of common browsers and servers is near 2,083

_NAME = re.compile(r"[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*")
_ENDS_IN_NUMBER = re.compile(r"(.*\.)?(\d+|0x[0-9a-f]*)")


def parse(url: str) -> httpx.URL:
    """A web address as httpx reads it; FetchRefused when it is none."""
    import httpx

    if len(url) > URL_LIMIT:
        raise FetchRefused(f"This web address is too long ({URL_LIMIT:,} characters at most).")
    try:
        return httpx.URL(url.strip())
    except (httpx.InvalidURL, ValueError):
        raise FetchRefused("This is not a web address.") from None


def host_of(url: str) -> str:
    """The machine that the URL really names, in one canonical spelling; empty when it names none."""
    try:
        return canonical(parse(url).raw_host.decode("ascii"))
    except FetchRefused:
        return ""


def canonical(host: str) -> str:
    """A host in lower case and punycode without its final dot, an IP address in its usual form.

    Empty when no browser would take it for a host. As in browsers, a host whose last label
    is a number is an IPv4 address, however it is spelled: ``0x7f.1`` is ``127.0.0.1``.
    """
    if ":" in host:
        address = IPv6Address(host)
        if address.scope_id is not None:
            return ""
        return str(address.ipv4_mapped or address)
    name = host.lower().removesuffix(".")
    if not _NAME.fullmatch(name):
        return ""
    if not _ENDS_IN_NUMBER.fullmatch(name):
        return name
    try:
        return socket.inet_ntoa(socket.inet_aton(name))
    except OSError:
        return ""


def pattern(text: str) -> str:
    """The host that an entry of a list covers; SettingsError when it names none.

    ``example.org``, ``*.example.org``, ``.example.org.`` and a whole URL mean the same host.
    """
    bare = text.strip().removeprefix("*").removeprefix(".")
    spelled = f"[{bare}]" if bare.count(":") > 1 and "/" not in bare and "[" not in bare else bare
    host = host_of(spelled if "://" in spelled else f"http://{spelled}/")
    if not host:
        raise SettingsError(f"{text!r} is not the name of a host.")
    return host


def is_blocked(url: str, blocked: Iterable[str]) -> bool:
    """Whether the URL's host is on the list, or there is no host to judge."""
    host = host_of(url)
    return not host or _covered(host, blocked)


def is_trusted(url: str, trusted: Iterable[str]) -> bool:
    """Whether the URL's host is on the list."""
    host = host_of(url)
    return bool(host) and _covered(host, trusted)


def is_allowed(url: str, *, trusted: Iterable[str] = (), blocked: Iterable[str] = ()) -> bool:
    """Whether the URL may be read: blocked always wins, and a trusted list admits nobody else."""
    trusted = tuple(trusted)
    return not is_blocked(url, blocked) and (not trusted or is_trusted(url, trusted))


def filter_hits(
    hits: Iterable[Hit], *, trusted: Iterable[str] = (), blocked: Iterable[str] = ()
) -> tuple[Hit, ...]:
    """The hits that may be read, in their order."""
    trusted, blocked = tuple(trusted), tuple(blocked)
    return tuple(hit for hit in hits if is_allowed(hit.url, trusted=trusted, blocked=blocked))


def _covered(host: str, patterns: Iterable[str]) -> bool:
    return any(host == each or host.endswith("." + each) for each in map(pattern, patterns))

"""Rules for the hosts and IP addresses that may be visited, as plain functions.

A URL is parsed here exactly as it is parsed when it is fetched, so no spelling of a host is
checked as one machine and visited as another. A pattern covers its subdomains.

An IPv4 address is public unless a registry says otherwise. An IPv6 address is public only
inside 2000::/3, the one block that IANA assigns as global unicast: that excludes mapped,
compatible, local and link-local spellings of IPv4 addresses without listing them.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import TYPE_CHECKING

from core.errors import FetchRefused, SettingsError

if TYPE_CHECKING:
    import httpx


IPAddress = IPv4Address | IPv6Address

# IANA IPv4 Special-Purpose Address Registry, multicast (RFC 5771) and the reserved class E.
_SPECIAL_V4 = (
    "0.0.0.0/8",  # this network
    "10.0.0.0/8",  # private
    "100.64.0.0/10",  # carrier-grade NAT; also Alibaba's metadata service
    "127.0.0.0/8",  # loopback
    "168.63.129.16/32",  # Azure's host agent: a public number, answered inside its network only
    "169.254.0.0/16",  # link-local, and the metadata service of most clouds
    "172.16.0.0/12",  # private
    "192.0.0.0/24",  # protocol assignments; also Oracle's metadata service
    "192.0.2.0/24",  # documentation
    "192.31.196.0/24",  # AS112
    "192.52.193.0/24",  # multicast tunnelling
    "192.88.99.0/24",  # 6to4 relays
    "192.168.0.0/16",  # private
    "192.175.48.0/24",  # AS112
    "198.18.0.0/15",  # benchmarks
    "198.51.100.0/24",  # documentation
    "203.0.113.0/24",  # documentation
    "224.0.0.0/4",  # multicast
    "240.0.0.0/4",  # reserved, and broadcast
)
SPECIAL_V4 = tuple(map(IPv4Network, _SPECIAL_V4))

GLOBAL_UNICAST = IPv6Network("2000::/3")  # IANA IPv6 Global Unicast Address Assignments

# IANA IPv6 Special-Purpose Address Registry: its entries inside 2000::/3.
_SPECIAL_V6 = (
    "2001::/23",  # protocol assignments, among them Teredo, which embeds an IPv4 address
    "2001:db8::/32",  # documentation
    "2002::/16",  # 6to4, which embeds an IPv4 address; no site is reached this way any more (RFC 7526)
    "2620:4f:8000::/48",  # AS112
    "3fff::/20",  # documentation
)
SPECIAL_V6 = tuple(map(IPv6Network, _SPECIAL_V6))

NAT64 = IPv6Network("64:ff9b::/96")  # RFC 6052: all of IPv4, as an IPv6-only network sees it
ISATAP = 0x5EFE  # RFC 5214: the third and fourth last groups are 0[2]00:5efe, then an IPv4 address


def is_public(address: IPAddress) -> bool:
    """True if the address means the same machine everywhere on the internet."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in SPECIAL_V4)
    if address in NAT64:
        return is_public(IPv4Address(int(address) & 0xFFFF_FFFF))
    is_isatap = (int(address) >> 32) & 0xFDFF_FFFF == ISATAP
    return (
        address.scope_id is None
        and address in GLOBAL_UNICAST
        and not any(address in network for network in SPECIAL_V6)
        and not is_isatap
    )


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
    """The host that a URL names, in its canonical spelling; empty when it names none."""
    try:
        return canonical(parse(url).raw_host.decode("ascii"))
    except FetchRefused:
        return ""


def canonical(host: str) -> str:
    """A host as browsers write it; empty if no browser takes it for a host. That is lower case and punycode
    without the final dot, or an IP address in its usual form. As in browsers, a host whose last label is a
    number is an IPv4 address, however it is spelled: ``0x7f.1`` is ``127.0.0.1``."""
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
    """The host that an entry names, as ``*.example.org`` or a whole URL; SettingsError when it names none."""
    bare = text.strip().removeprefix("*").removeprefix(".")
    spelled = f"[{bare}]" if bare.count(":") > 1 and "/" not in bare and "[" not in bare else bare
    host = host_of(spelled if "://" in spelled else f"http://{spelled}/")
    if not host:
        raise SettingsError(f"{text!r} is not the name of a host.")
    return host


def is_allowed(url: str, *, trusted: Sequence[str] = (), blocked: Sequence[str] = ()) -> bool:
    """True if the URL may be read: blocked hosts never, and where there are trusted hosts, those alone."""
    host = host_of(url)
    return bool(host) and not _is_covered(host, blocked) and (not trusted or _is_covered(host, trusted))


def _is_covered(host: str, patterns: Sequence[str]) -> bool:
    return any(host == each or host.endswith("." + each) for each in map(pattern, patterns))

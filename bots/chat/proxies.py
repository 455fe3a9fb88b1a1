"""Whether a host is reached through the proxy that the environment names."""

from __future__ import annotations

from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass


def is_reached_directly(url: str) -> bool:
    """Whether NO_PROXY covers the host; platforms' libraries do not all ask that."""
    return bool(proxy_bypass(urlsplit(url).hostname or ""))


def proxy_for(url: str) -> str | None:
    """The proxy to go through, if any."""
    return None if is_reached_directly(url) else getproxies().get(urlsplit(url).scheme)

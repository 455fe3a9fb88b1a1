"""Which hosts the operator's sources may be read from: public ones, and those that PRIVATE_HOSTS names.

What people say and what the web returns never comes here: :mod:`core.web.fetch` refuses private addresses to both.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from ipaddress import ip_address

from core.sources.source import SourceUnavailable
from core.web.fetch import resolve_host
from core.web.hosts import is_allowed, is_public

Resolve = Callable[[str, int], Awaitable[list[str]]]


async def addresses_of(
    host: str, port: int, private: Sequence[str], *, resolve: Resolve = resolve_host
) -> tuple[str, ...]:
    """The IP addresses of a host that may be read. SourceUnavailable for one that may not be, or is not found."""
    try:
        found = tuple(dict.fromkeys(await resolve(host, port)))
    except (OSError, UnicodeError):
        found = ()
    if not found:
        raise SourceUnavailable(f"{host} could not be found.")
    named = f"[{host}]" if ":" in host else host
    is_named = bool(private) and is_allowed(f"https://{named}/", trusted=private)
    if not is_named and not all(is_public(ip_address(each)) for each in found):
        raise SourceUnavailable(
            f"{host} is not a public address. PRIVATE_HOSTS={host} lets your own `footnote ingest` read it."
        )
    return found

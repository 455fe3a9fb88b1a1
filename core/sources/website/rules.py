"""What a website's robots.txt allows us (RFC 9309)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.sources.source import SourceUnavailable
from core.sources.website.address import normal_url
from core.sources.website.client import SiteClient, SiteSilent
from core.sources.website.page import AGENT
from core.web.request import OK, SERVER_FAULT

if TYPE_CHECKING:
    from collections.abc import Sequence

SIZE_LIMIT = 500 * 1024  # bytes that are read of it, RFC 9309, 2.5
RULES_HOPS = 5  # that are followed, RFC 9309, 2.3.1.2
LONGEST_DELAY = 60.0  # seconds between two requests; what asks for more gets this


@dataclass(frozen=True, slots=True)
class RobotRules:
    """What may be asked for, and how fast."""

    parsed: Any = None  #: of protego; None: everything is allowed

    def allows(self, url: str) -> bool:
        return self.parsed is None or bool(self.parsed.can_fetch(url, AGENT))

    @property
    def delay(self) -> float:
        """Seconds between two requests."""
        asked = self.parsed.crawl_delay(AGENT) if self.parsed is not None else None
        return min(float(asked or 0.0), LONGEST_DELAY)

    @property
    def sitemaps(self) -> Sequence[str]:
        return () if self.parsed is None else tuple(self.parsed.sitemaps)


def parse_rules(text: bytes) -> RobotRules:
    from protego import Protego

    return RobotRules(Protego.parse(text[:SIZE_LIMIT].decode("utf-8", "replace").removeprefix("\ufeff")))


async def read_rules(client: SiteClient) -> RobotRules:
    """The rules of a website. SourceUnavailable where they cannot be read: then nothing is allowed."""
    url = f"{client.origin}/robots.txt"
    for _ in range(RULES_HOPS + 1):
        try:
            reply = await client.get(url, sitemap=True)
        except SiteSilent as silent:
            raise SourceUnavailable(f"{client.origin} {silent}.") from None
        if reply.status >= SERVER_FAULT:
            raise SourceUnavailable(
                f"{url} answered HTTP {reply.status}. What it allows is not known, so nothing is read."
            )
        if reply.location is None:
            return parse_rules(reply.body) if reply.status == OK else RobotRules()
        target = normal_url(reply.location, url)
        if target is None or not target.startswith(f"{client.origin}/"):
            raise SourceUnavailable(led_elsewhere(url, target or reply.location))
        url = target
    return RobotRules()


def led_elsewhere(url: str, target: str) -> str:
    """The sentence about a website that has moved."""
    return f"{url} leads to {target}, which is not followed: ingest that address, if it is meant."

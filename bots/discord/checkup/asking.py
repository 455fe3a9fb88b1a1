"""Questions to Discord's API, of those that only read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Any

from bots.chat.proxies import proxy_for
from bots.discord.settings import DiscordSettings
from core.values import value

if TYPE_CHECKING:
    from aiohttp import ClientSession

PATIENCE = 5.0  # seconds for one request, and for the gateway's first word
USER_AGENT = "DiscordBot (footnote, 0.1)"  # "API Reference, User Agent": requests without one may be blocked


class Refused(Exception):
    """Something other than what was asked for came back."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status  # 200 where it was no JSON


class Silent(Exception):
    """Nothing came back."""


@value
class Asking:
    """One bot's view of the API."""

    session: ClientSession
    headers: Mapping[str, str] = field(repr=False)
    api_url: str
    proxy: str | None

    async def get(self, path: str) -> Any:
        """What Discord answers. Raises Refused and Silent."""
        from aiohttp import ClientError

        try:
            async with self.session.get(
                self.api_url + path, headers=self.headers, proxy=self.proxy, allow_redirects=False
            ) as reply:
                if reply.status != 200:
                    raise Refused(reply.status)
                return await reply.json(content_type=None)
        except ValueError as error:
            raise Refused(200) from error
        except (ClientError, OSError) as error:  # a TimeoutError is an OSError
            raise Silent from error


@asynccontextmanager
async def open_asking(settings: DiscordSettings) -> AsyncIterator[Asking]:
    from aiohttp import ClientSession, ClientTimeout

    headers = {"Authorization": f"Bot {settings.token}", "User-Agent": USER_AGENT}
    address, proxy = settings.api_url, proxy_for(settings.api_url)
    async with ClientSession(timeout=ClientTimeout(total=PATIENCE)) as session:
        yield Asking(session=session, headers=headers, api_url=address, proxy=proxy)

"""The operators' page as people run it: ``footnote page``, alone or beside a process that serves the same stores."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field

from fakes.desk import Browser, cookie_at
from fakes.served import PATIENCE, Served

LINK = re.compile(r"(http://127\.0\.0\.1:\d+)(/enter/[\w-]+)")
LOOK_EVERY = 0.05  # seconds


async def seen(look):
    """What ``look`` finds, once that is something."""
    async with asyncio.timeout(PATIENCE):
        while not (found := await look()):  # noqa: ASYNC110 - another process changes it
            await asyncio.sleep(LOOK_EVERY)
    return found


@dataclass
class ServedPage(Served):
    """One process that serves the page, on a port that is free."""

    arguments: tuple[str, ...] = ("page", "--page", "0")
    browser: Browser = field(default_factory=lambda: Browser(""))  #: of somebody who came in
    links: int = 0  #: that were printed so far

    @property
    def platforms(self):
        return {}

    async def until_connected(self) -> None:
        """Served again, it is the same browser that looks, at another port."""

        async def printed():
            return LINK.findall(self.log)[self.links :]

        ((url, path),) = await seen(printed)
        self.links, self.browser.url = self.links + 1, url
        if not self.browser.cookie:
            _, _, headers = await self.browser.post(path, name="Olga")
            self.browser.cookie = headers["Set-Cookie"].partition(";")[0]
        # Its name has the port; an operator's page keeps its own.
        self.browser.cookie = f"{cookie_at(url)}={self.browser.cookie.partition('=')[2]}"

    async def until_shows(self, path: str, words: str) -> str:
        """The page at this address, once these words stand in it."""

        async def shown():
            _, page = await self.browser.get(path)
            return page if words in page else ""

        return await seen(shown)

"""The real discord.py, made to talk to the local server."""

from __future__ import annotations

import asyncio
import contextlib
import warnings
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

import yarl

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # its voice part imports audioop, which 3.13 drops
    import discord
    from discord.gateway import DiscordWebSocket
    from discord.http import Route

if TYPE_CHECKING:
    from fakes.discord.server import FakeDiscord

READY_WITHIN = 0.05  # seconds without another server after which discord.py calls itself ready; it takes 2


@contextlib.contextmanager
def pointed_at(fake: FakeDiscord) -> Iterator[None]:
    """Every discord.py client in this process talks to this server; afterwards to where it did before."""
    before = Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY
    Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY = fake.api_url, yarl.URL(fake.gateway_url)
    try:
        yield
    finally:
        Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY = before


class Prompt(discord.Client):
    """A client that identifies anew at once, where discord.py waits 5 seconds for Discord's sake."""

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        pass


def client(**options: Any) -> discord.Client:
    """A client that hears of everything a bot can be granted without asking for members."""
    intents = discord.Intents.default()
    intents.message_content = True
    defaults = {"intents": intents, "proxy": None, "guild_ready_timeout": READY_WITHIN}
    return Prompt(**(defaults | options))


@contextlib.asynccontextmanager
async def connected(fake: FakeDiscord, bot: discord.Client) -> AsyncIterator[discord.Client]:
    """A client that runs and is ready, and that is closed at the end."""
    with pointed_at(fake):
        running = asyncio.create_task(bot.start(fake.token))
        try:
            await fake.until(lambda: bot.is_ready() or running.done())
            if running.done():
                await running
            yield bot
        finally:
            await bot.close()
            await asyncio.gather(running, return_exceptions=True)

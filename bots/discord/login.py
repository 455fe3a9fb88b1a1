"""discord.py's client, logged in: with the token checked, and at the address of the settings."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from bots.discord.commands import Application, application_of
from bots.discord.settings import API_URL, DiscordSettings
from core.errors import SettingsError

if TYPE_CHECKING:
    from bots.discord.client import FootnoteClient

logger = logging.getLogger(__name__)


@asynccontextmanager
async def open_client(settings: DiscordSettings) -> AsyncIterator[tuple[FootnoteClient, Application]]:
    """Without a connection to the gateway. Raises SettingsError when Discord does not know the token."""
    application = await application_of(settings)

    from bots.discord.client import FootnoteClient

    _use_api_of(settings, application)
    async with FootnoteClient(settings, application) as client:
        await _log_in(client, settings)
        yield client, application


def _use_api_of(settings: DiscordSettings, application: Application) -> None:
    """Point the library at DISCORD_API_URL: it keeps both of its addresses as constants."""
    if settings.api_url == API_URL:
        return
    from discord.gateway import DiscordWebSocket
    from discord.http import Route
    from yarl import URL

    Route.BASE = settings.api_url
    DiscordWebSocket.DEFAULT_GATEWAY = URL(application.gateway)


async def _log_in(client: FootnoteClient, settings: DiscordSettings) -> None:
    from aiohttp import ClientError
    from discord.errors import DiscordException

    try:
        await client.login(settings.token)
    except (DiscordException, ClientError, TimeoutError, OSError) as fault:
        logger.info("could not log in", exc_info=True)
        raise SettingsError("Discord cannot be reached; try again in a while.") from fault

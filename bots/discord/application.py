"""What Discord says of the bot's application, asked before anything is opened."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime
from typing import Any

from bots.chat.proxies import proxy_for
from bots.discord.settings import DiscordSettings
from core.errors import SettingsError
from core.values import value

#: Of the application's flags, "Application Flags": the intent is granted to a verified bot, or switched on.
READS_CONTENT = (1 << 18) | (1 << 19)
TIMEOUT = 10.0  # seconds


@value
class Application:
    """One application with its bot."""

    id: str
    name: str
    reads_content: bool  #: whether it may read messages that do not mention it
    gateway: str  #: where events come from
    ahead: float = 0.0  #: seconds that this machine's clock is ahead of Discord's


async def application_of(settings: DiscordSettings) -> Application:
    """Raises SettingsError with a sentence when Discord does not know the token or is not there."""
    about, date = await _asked(settings, "/applications/@me")
    gateway = await ask(settings, "/gateway")
    return Application(
        id=str(about["id"]),
        name=str(about.get("name", "")),
        reads_content=bool(int(about.get("flags") or 0) & READS_CONTENT),
        gateway=str(gateway["url"]),
        ahead=_ahead(date, time.time()),
    )


def _ahead(date: str, now: float) -> float:
    """Of the date of a reply, which has whole seconds; nothing where it has none."""
    try:
        return now - parsedate_to_datetime(date).timestamp()
    except ValueError:
        return 0.0


async def ask(settings: DiscordSettings, path: str, *, method: str = "GET", json: Any = None) -> Any:
    """One request with the bot's token, outside of any client."""
    reply, _ = await _asked(settings, path, method=method, json=json)
    return reply


async def _asked(
    settings: DiscordSettings, path: str, *, method: str = "GET", json: Any = None
) -> tuple[Any, str]:
    """What Discord replied, and when by its own clock."""
    from aiohttp import ClientError, ClientSession, ClientTimeout

    headers = {"Authorization": f"Bot {settings.token}"}
    url = settings.api_url + path
    try:
        async with (
            ClientSession(timeout=ClientTimeout(total=TIMEOUT), headers=headers) as session,
            session.request(method, url, json=json, proxy=proxy_for(url)) as reply,
        ):
            if reply.status == 401:
                raise SettingsError("Discord refused DISCORD_TOKEN: it does not know it.")
            if reply.status >= 400:
                raise SettingsError(f"Discord answered {reply.status}; check DISCORD_API_URL or try again.")
            return await reply.json(content_type=None), reply.headers.get("Date", "")
    except (ClientError, TimeoutError, ValueError) as lost:
        raise SettingsError("Discord cannot be reached; check the network and DISCORD_API_URL.") from lost

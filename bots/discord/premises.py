"""Discord's files."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from bots.chat.proxies import proxy_for
from bots.chat.said import Attachment
from bots.chat.uploads import content_of
from bots.discord.settings import DiscordSettings
from core.errors import DocumentError

FILES_HOSTS = ("cdn.discordapp.com", "media.discordapp.net")  # "Image Formatting", and what attachments name
TIMEOUT = 60.0  # seconds for one file


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordPremises:
    """The files that came with messages."""

    settings: DiscordSettings

    async def fetch(self, file: Attachment) -> bytes:
        from aiohttp import ClientError, ClientSession, ClientTimeout

        if not _is_of_discord(file.url, self.settings.api_url):
            raise DocumentError(f"{file.name} is not kept in Discord, so I cannot fetch it.")
        try:
            async with (
                ClientSession(timeout=ClientTimeout(total=TIMEOUT)) as session,
                session.get(file.url, allow_redirects=False, proxy=proxy_for(file.url)) as reply,
            ):
                if reply.status == 200:
                    return await content_of(reply, file.name)
        except (ClientError, TimeoutError) as fault:
            raise DocumentError(f"{file.name} could not be fetched from Discord.") from fault
        raise DocumentError(f"{file.name} could not be fetched from Discord: attach it once more.")


def _is_of_discord(url: str, api_url: str) -> bool:
    """Only Discord's own hosts are asked, or the one that the operator named in their place."""
    parts, own = urlsplit(url), urlsplit(api_url)
    if (parts.scheme, parts.netloc) == (own.scheme, own.netloc):
        return True
    return parts.scheme == "https" and parts.hostname in FILES_HOSTS

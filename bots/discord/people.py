"""People's names and roles in a server, and the files that they attach."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from bots.chat.incoming import Attachment
from bots.chat.platform import Refused
from bots.chat.proxies import proxy_for
from bots.chat.uploads import content_of
from bots.discord.calls import DiscordCalls
from bots.discord.route import DIRECT
from bots.discord.settings import DiscordSettings
from core.errors import DocumentError
from core.turns.messenger import ReplyRoute, Unreachable

logger = logging.getLogger(__name__)

FILES_HOSTS = ("cdn.discordapp.com", "media.discordapp.net")  # "Image Formatting", and what attachments name
TIMEOUT = 60.0  # seconds for one file


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordPeople:
    """If Discord does not answer, a person's name is the id, and the person has no role."""

    calls: DiscordCalls

    async def names(self, route: ReplyRoute, users: Iterable[str | None]) -> dict[str, str]:
        return {user: await self._name(route, user) for user in users if user}

    async def groups_of(self, route: ReplyRoute, user: str, among: Iterable[str]) -> tuple[str, ...]:
        """Asked each time, so that a lost role counts at once."""
        wanted = tuple(among)
        if not wanted:
            return ()
        roles = (await self._member(route, user)).get("roles") or ()
        return tuple(role for role in wanted if role in roles)

    async def _name(self, route: ReplyRoute, user: str) -> str:
        member = await self._member(route, user)
        person = member.get("user") or {}
        return str(member.get("nick") or person.get("global_name") or person.get("username") or user)

    async def _member(self, route: ReplyRoute, user: str) -> Mapping[str, Any]:
        try:
            if route["server"] == DIRECT:
                return {"user": await self.calls.call("GET", "/users/{user_id}", user_id=user)}
            path = "/guilds/{guild_id}/members/{user_id}"
            member: Mapping[str, Any] = await self.calls.call(
                "GET", path, guild_id=route["server"], user_id=user
            )
        except (Refused, Unreachable):
            logger.warning("a person could not be looked up", extra={"user": user})
            return {}
        return member


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordUploads:
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
    """Only Discord's own hosts, or the one that the operator set in their place."""
    parts, own = urlsplit(url), urlsplit(api_url)
    if (parts.scheme, parts.netloc) == (own.scheme, own.netloc):
        return True
    return parts.scheme == "https" and parts.hostname in FILES_HOSTS

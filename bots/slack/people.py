"""The people of a Slack workspace, their user groups, and the files that they attach."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from bots.chat.incoming import Attachment
from bots.chat.uploads import content_of
from bots.slack.calls import SlackCalls, SlackRefused
from bots.slack.settings import SlackSettings
from core.errors import DocumentError
from core.turns.messenger import ReplyRoute, Unreachable

logger = logging.getLogger(__name__)

REMEMBERED = 300.0  # seconds that the members of a group are cached


@dataclass(slots=True, kw_only=True)
class SlackPeople:
    """Names and groups. If Slack does not say, a person has no name but the id, and is in no group."""

    calls: SlackCalls
    _names: dict[str, str] = field(default_factory=dict)
    _groups: dict[str, tuple[float, frozenset[str]]] = field(default_factory=dict)  #: until when, who

    async def names(self, _route: ReplyRoute, users: Iterable[str | None]) -> dict[str, str]:
        return {user: await self._name(user) for user in users if user}

    async def groups_of(self, _route: ReplyRoute, user: str, among: Iterable[str]) -> tuple[str, ...]:
        """Which of these user groups the person is in; ids of people are ignored."""
        return tuple(
            [group for group in among if group.startswith("S") and user in await self._members(group)]
        )

    async def _name(self, user: str) -> str:
        if user not in self._names:
            try:
                found = (await self.calls.call("users.info", user=user))["user"]
            except (SlackRefused, Unreachable):
                return user
            profile = found.get("profile") or {}
            self._names[user] = profile.get("display_name") or found.get("real_name") or found["name"]
        return self._names[user]

    async def _members(self, group: str) -> frozenset[str]:
        now = asyncio.get_running_loop().time()
        until, members = self._groups.get(group, (0.0, frozenset()))
        if now < until:
            return members
        try:
            reply = await self.calls.call("usergroups.users.list", usergroup=group)
        except (SlackRefused, Unreachable):
            logger.warning("members of a user group could not be read", extra={"group": group})
            return frozenset()
        members = frozenset(reply.get("users", ()))
        self._groups[group] = now + REMEMBERED, members
        return members


_HOST = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)+", re.IGNORECASE | re.ASCII)
FILES_HOSTS = ("files.slack.com", "slack.com")  # where the bot's token may go, "Working with files"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackUploads:
    """The files of one workspace."""

    settings: SlackSettings
    calls: SlackCalls

    async def fetch(self, file: Attachment) -> bytes:
        from aiohttp import ClientError

        if not _may_have_token(file.url, self.settings.api_url):
            raise DocumentError(f"{file.name} is not kept in Slack, so I cannot fetch it.")
        session = self.calls.client.session
        assert session is not None
        headers = {"Authorization": f"Bearer {self.settings.bot_token}"}
        try:
            # The token must not go elsewhere, so no redirect is followed.
            async with session.get(file.url, headers=headers, allow_redirects=False) as reply:
                if reply.status == 200 and not reply.content_type.startswith("text/html"):
                    return await content_of(reply, file.name)
        except (ClientError, TimeoutError) as fault:
            raise DocumentError(f"{file.name} could not be fetched from Slack.") from fault
        raise DocumentError(f"{file.name} could not be fetched: the app needs the scope files:read.")


def _may_have_token(url: str, api_url: str) -> bool:
    """Whether the host may get the token: Slack's own, or the one of SLACK_API_URL."""
    parts, own = urlsplit(url), urlsplit(api_url)
    if (parts.scheme, parts.netloc) == (own.scheme, own.netloc):
        return True
    # Only a plain host name: URL parsers disagree about other characters, and one of them sends the token.
    host = parts.netloc.lower() if _HOST.fullmatch(parts.netloc) else ""
    return parts.scheme == "https" and (host in FILES_HOSTS or host.endswith(".slack.com"))

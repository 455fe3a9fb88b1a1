"""Slack's files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from bots.chat.said import Attachment
from bots.chat.uploads import content_of
from bots.slack.calls import SlackCalls
from bots.slack.settings import SlackSettings
from core.errors import DocumentError

_HOST = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)+", re.IGNORECASE | re.ASCII)
FILES_HOSTS = ("files.slack.com", "slack.com")  # where the bot's token may go, "Working with files"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackPremises:
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
            # Elsewhere the token must not go, so no redirect is followed.
            async with session.get(file.url, headers=headers, allow_redirects=False) as reply:
                if reply.status == 200 and not reply.content_type.startswith("text/html"):
                    return await content_of(reply, file.name)
        except (ClientError, TimeoutError) as fault:
            raise DocumentError(f"{file.name} could not be fetched from Slack.") from fault
        raise DocumentError(f"{file.name} could not be fetched: the app needs the scope files:read.")


def _may_have_token(url: str, api_url: str) -> bool:
    """Only Slack's own hosts are sent the token, or the one that the operator named in its place."""
    parts, own = urlsplit(url), urlsplit(api_url)
    if (parts.scheme, parts.netloc) == (own.scheme, own.netloc):
        return True
    # Nothing but a plain name: readers of addresses disagree about other signs, and the token goes to one of them.
    host = parts.netloc.lower() if _HOST.fullmatch(parts.netloc) else ""
    return parts.scheme == "https" and (host in FILES_HOSTS or host.endswith(".slack.com"))

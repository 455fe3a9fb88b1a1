"""The commands that people find under "/" and in a message's menu, as Discord is told of them.

Source of the fields: "Application Commands". They are registered when an operator says so
(``footnote manifest discord --sync``): Discord takes 200 new ones a day, and a restart changes nothing.

What Discord says of the bot's application, asked before anything is opened.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any

from bots.chat.proxies import proxy_for
from bots.discord.settings import DiscordSettings
from core.conversation import QUESTION_LIMIT, value
from core.errors import SettingsError

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


STRING, ATTACHMENT = 3, 11  # types of an option
IN_A_MESSAGES_MENU = 3  # the type of such a command
EVERYWHERE = [0, 1]  # in servers and in direct messages with the bot, "Interaction Context Types"

ApplicationCommand = Mapping[str, Any]

COMMANDS: Sequence[ApplicationCommand] = (
    {
        "name": "ask",
        "description": "Ask your documents",
        "options": [
            {
                "type": STRING,
                "name": "question",
                "description": "What you want to know",
                "required": True,
                "max_length": QUESTION_LIMIT,
            }
        ],
        "contexts": EVERYWHERE,
    },
    {"name": "help", "description": "What I read here, and what I know", "contexts": EVERYWHERE},
    {"name": "sources", "description": "The documents that this channel reads", "contexts": EVERYWHERE},
    {"name": "forget", "description": "Delete what I remember of this thread", "contexts": EVERYWHERE},
    {
        "name": "follow",
        "description": "Which messages of a thread I answer without a mention",
        "options": [
            {
                "type": STRING,
                "name": "whom",
                "description": "In this channel",
                "choices": [
                    {"name": "only who mentions me", "value": "mention"},
                    {"name": "whoever asked first", "value": "asker"},
                    {"name": "everybody in the thread", "value": "thread"},
                ],
            }
        ],
        "contexts": EVERYWHERE,
    },
    {
        "name": "learn",
        "description": "Read a file or a page, for this channel",
        "options": [
            {"type": ATTACHMENT, "name": "file", "description": "A document"},
            {"type": STRING, "name": "url", "description": "The address of a page"},
        ],
        "contexts": EVERYWHERE,
    },
    {"type": IN_A_MESSAGES_MENU, "name": "Ask about this", "contexts": EVERYWHERE},
)

#: What the bot may do where it is invited -> the bit of it, "Permissions".
PERMISSIONS: Mapping[str, int] = {
    "View Channels": 1 << 10,
    "Send Messages": 1 << 11,
    "Read Message History": 1 << 16,
    "Create Public Threads": 1 << 35,
    "Send Messages in Threads": 1 << 38,
}


def invite_url(application_id: str) -> str:
    """Where an administrator adds the bot to a server."""
    allowed = sum(PERMISSIONS.values())
    scopes = "bot+applications.commands"
    return f"https://discord.com/oauth2/authorize?client_id={application_id}&scope={scopes}&permissions={allowed}"

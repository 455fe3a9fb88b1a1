"""The app at Discord as an operator sets it up: its settings, its application, the commands it registers and the
permissions it needs.

Commands are registered by ``footnote manifest discord --sync`` and not at start, because Discord accepts only
200 new ones a day. Their fields are described in "Application Commands".
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bots.chat.platform import Refused, proxy_for
from bots.chat.texts import clipped
from core.conversation import QUESTION_LIMIT, value
from core.errors import SettingsError
from core.setting_values import is_address
from core.settings import read_env_file
from core.turns.messenger import Unreachable
from core.wording import Wording

if TYPE_CHECKING:
    from aiohttp import ClientSession


API_URL = "https://discord.com/api/v10"  # "API Reference", the version that discord.py 2.7 speaks

_SPACE = re.compile(r"\s")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordSettings:
    """The token and address of one bot."""

    token: str = field(repr=False)
    api_url: str = API_URL  #: without a slash at its end


def read_discord_settings(
    environment: Mapping[str, str], env_file: Path | None = Path(".env")
) -> DiscordSettings | None:
    """The settings; None if no token is set. SettingsError names every fault, but no token."""
    values = {**read_env_file(env_file), **environment}
    token, address = (values.get(name, "").strip() for name in ("DISCORD_TOKEN", "DISCORD_API_URL"))
    if not token:
        return None
    checks = (
        (token.isascii() and not _SPACE.search(token), "DISCORD_TOKEN has characters that no token has"),
        (not address or is_address(address), "DISCORD_API_URL must be an http or https address"),
        ("@" not in address, "DISCORD_API_URL must not contain a login: the bot logs in with its token"),
        (
            not address or address.rstrip("/").endswith("/api/v10"),
            "DISCORD_API_URL must end in /api/v10, the supported version",
        ),
    )
    if faults := [sentence for is_met, sentence in checks if not is_met]:
        raise SettingsError("; ".join(faults) + ".")
    return DiscordSettings(token=token, api_url=(address or API_URL).rstrip("/"))


#: "Application Flags": the message content intent, once Discord has reviewed it and before.
REVIEWED_CONTENT = 1 << 18
READS_CONTENT = REVIEWED_CONTENT | (1 << 19)
VERIFIED_BOT = 1 << 16  # "User Flags"
SERVERS_PAGE = 200  # servers in one reply at most, "Get Current User Guilds"
TIMEOUT = 10.0  # seconds
USER_AGENT = "DiscordBot (footnote, 0.1)"  # "API Reference, User Agent": requests without one may be blocked


@value
class DiscordApi:
    """Requests with the bot's token, without discord.py and without retries."""

    session: ClientSession
    headers: Mapping[str, str] = field(repr=False)
    api_url: str
    proxy: str | None

    async def get(self, path: str) -> Any:
        answer, _ = await self.request("GET", path)
        return answer

    async def request(self, method: str, path: str, *, json: Any = None) -> tuple[Any, str]:
        """Discord's reply and its Date header. Raises Refused with the HTTP status, or Unreachable."""
        from aiohttp import ClientError

        url = self.api_url + path
        try:
            async with self.session.request(
                method, url, json=json, headers=self.headers, proxy=self.proxy, allow_redirects=False
            ) as reply:
                if reply.status != 200:
                    raise Refused(str(reply.status))
                return await reply.json(content_type=None), reply.headers.get("Date", "")
        except ValueError as error:  # no JSON
            raise Refused("200") from error
        except (ClientError, OSError) as error:  # a TimeoutError is an OSError
            raise Unreachable from error


@asynccontextmanager
async def open_api(settings: DiscordSettings, seconds: float) -> AsyncIterator[DiscordApi]:
    from aiohttp import ClientSession, ClientTimeout

    headers = {"Authorization": f"Bot {settings.token}", "User-Agent": USER_AGENT}
    async with ClientSession(timeout=ClientTimeout(total=seconds)) as session:
        proxy = proxy_for(settings.api_url)
        yield DiscordApi(session=session, headers=headers, api_url=settings.api_url, proxy=proxy)


@value
class Application:
    """One application with its bot, as "Get Current Application" shows it."""

    id: str
    name: str
    user_id: str  #: of the bot
    user_name: str
    reads_content: bool  #: whether the bot may read messages that do not mention it
    is_reviewed: bool  #: whether Discord has reviewed that
    is_verified: bool
    needs_code: bool  #: whether adding it to a server needs an OAuth2 code, which Footnote does not support
    posts_interactions: bool  #: whether interactions are sent to a URL instead of the gateway
    gateway: str = ""  #: URL of the events
    ahead: float = 0.0  #: seconds that this machine's clock is ahead of Discord's


def read_application(about: Any) -> Application:
    """Raises Refused if the reply is not an application."""
    try:
        user = about.get("bot") or {"id": about["id"], "username": about["name"]}
        return Application(
            id=about["id"], name=about["name"], user_id=user["id"], user_name=user["username"],
            reads_content=bool(int(about.get("flags") or 0) & READS_CONTENT),
            is_reviewed=bool(int(about.get("flags") or 0) & REVIEWED_CONTENT),
            is_verified=bool(int(user.get("public_flags") or 0) & VERIFIED_BOT),
            needs_code=bool(about.get("bot_require_code_grant")),
            posts_interactions=bool(about.get("interactions_endpoint_url")),
        )  # fmt: skip
    except (AttributeError, KeyError, TypeError) as error:
        raise Refused("200") from error


async def fetch_application(settings: DiscordSettings) -> Application:
    """The application of the token. Raises SettingsError when Discord refuses it or cannot be reached."""
    async with _startup_api(settings) as api:
        about, date = await api.request("GET", "/applications/@me")
        gateway = await api.get("/gateway")
        ahead = 0.0  # without a Date header
        with suppress(ValueError):
            ahead = time.time() - parsedate_to_datetime(date).timestamp()
        return replace(read_application(about), gateway=gateway["url"], ahead=ahead)


async def register_commands(settings: DiscordSettings, application_id: str) -> list[str]:
    """Let people install the application, and replace all its commands; returns their names. Raises SettingsError."""
    commands = [dict(command) for command in COMMANDS]
    async with _startup_api(settings) as api:
        about = await api.get("/applications/@me")
        installed = {"0": {}, **(about.get("integration_types_config") or {})}
        if "1" not in installed:  # else Discord refuses commands that people bring along
            both = {"integration_types_config": {**installed, "1": FOR_PEOPLE}}
            await api.request("PATCH", "/applications/@me", json=both)
        registered, _ = await api.request("PUT", f"/applications/{application_id}/commands", json=commands)
    return [command["name"] for command in registered]


@asynccontextmanager
async def _startup_api(settings: DiscordSettings) -> AsyncIterator[DiscordApi]:
    try:
        async with open_api(settings, TIMEOUT) as api:
            yield api
    except Refused as refused:
        if refused.code == "401":
            raise SettingsError("Discord refused DISCORD_TOKEN: the token is not valid.") from refused
        why = f"Discord answered {refused.code}; check DISCORD_API_URL or try again."
        raise SettingsError(why) from refused
    except Unreachable as lost:
        raise SettingsError("Discord cannot be reached; check the network and DISCORD_API_URL.") from lost


STRING, ATTACHMENT = 3, 11  # types of an option
IN_A_MESSAGES_MENU = 3  # type of a command in the context menu of messages
#: "Application Integration Types": servers and people install it; "Interaction Context Types": in servers, in direct
#: messages with the bot, and in those between others.
WHERE_THE_BOT_IS: Mapping[str, Any] = {"integration_types": [0], "contexts": [0, 1]}
EVERYWHERE: Mapping[str, Any] = {"integration_types": [0, 1], "contexts": [0, 1, 2]}
#: What a person installs who brings the bot along, "Application Integration Type Configuration Object".
FOR_PEOPLE = {"oauth2_install_params": {"scopes": ["applications.commands"], "permissions": 0}}

KEEP = "Keep this answer"  # in the menu of a message

ApplicationCommand = Mapping[str, Any]

FOLLOW_LABELS = {
    "mention": "only who mentions me",
    "asker": "whoever asked first",
    "thread": "everybody in the thread",
    "channel": "also questions in the channel",
}


def _command(
    name: str, description: str, *options: Mapping[str, Any], offered: Mapping[str, Any] = WHERE_THE_BOT_IS
) -> ApplicationCommand:
    given = {"options": [*options]} if options else {}
    return {"name": name, "description": description, **given, **offered}


def _option(kind: int, name: str, description: str, **more: Any) -> Mapping[str, Any]:
    return {"type": kind, "name": name, "description": description, **more}


COMMANDS: Sequence[ApplicationCommand] = (
    _command(
        "ask", "Ask your documents",
        _option(STRING, "question", "What you want to know", required=True, max_length=QUESTION_LIMIT),
        offered=EVERYWHERE,
    ),
    _command("help", "What I read here, and what I know"),
    _command("sources", "The documents that this channel reads"),
    _command("forget", "Delete what I remember of this thread"),
    _command(
        "follow", "Which messages of a thread I answer without a mention",
        _option(
            STRING, "whom", "In this channel",
            choices=[{"name": label, "value": value} for value, label in FOLLOW_LABELS.items()],
        ),
    ),
    _command(
        "learn", "Read a file or a page, for this channel",
        _option(ATTACHMENT, "file", "A document"), _option(STRING, "url", "The address of a page"),
    ),
    {"type": IN_A_MESSAGES_MENU, "name": "Ask about this", **EVERYWHERE},
    {"type": IN_A_MESSAGES_MENU, "name": KEEP, **WHERE_THE_BOT_IS},
)  # fmt: skip

#: Those that are typed, each with its option for words; the others stand in a menu.
SLASH_COMMANDS: Mapping[str, str] = {
    each["name"]: next((one["name"] for one in each.get("options", ()) if one["type"] == STRING), "")
    for each in COMMANDS
    if each.get("type") != IN_A_MESSAGES_MENU
}

#: Permission that the bot needs -> its bit, "Permissions".
PERMISSIONS: Mapping[str, int] = {
    "View Channels": 1 << 10,
    "Send Messages": 1 << 11,
    "Read Message History": 1 << 16,
    "Create Public Threads": 1 << 35,
    "Send Messages in Threads": 1 << 38,
}


def invite_url(application_id: str) -> str:
    """The URL that lets an administrator add the bot to a server."""
    allowed = sum(PERMISSIONS.values())
    scopes = "bot+applications.commands"
    return f"https://discord.com/oauth2/authorize?client_id={application_id}&scope={scopes}&permissions={allowed}"


EVERYTHING = -1  # every bit
ADMINISTRATOR, MANAGE_THREADS = 1 << 3, 1 << 34  # "Permissions"

VIEW, SEND, HISTORY, OPEN, SEND_IN_THREADS = (
    "View Channels", "Send Messages", "Read Message History", "Create Public Threads",
    "Send Messages in Threads",
)  # fmt: skip

#: What a channel's type needs, "Channel Types"; others hold no messages.
NEEDED_PERMISSIONS: Mapping[int, tuple[str, ...]] = {
    0: (VIEW, SEND, HISTORY, OPEN, SEND_IN_THREADS),  # text
    2: (VIEW, SEND, HISTORY),  # voice
    5: (VIEW, SEND, HISTORY, OPEN, SEND_IN_THREADS),  # announcements
    15: (VIEW, HISTORY, SEND_IN_THREADS),  # forum
    16: (VIEW, HISTORY, SEND_IN_THREADS),  # media
}
THREADS = (10, 11, 12)  # "Channel Types"
TROUBLE = 150  # characters of Discord's own words that are shown

#: Error codes of a rule that blocks what would be said, "JSON Error Codes".
BLOCKED = frozenset({"200000", "200001"})


def server_permissions(server: Mapping[str, Any], member: Mapping[str, Any]) -> int:
    """The permissions of all a member's roles together, before the overwrites of a channel."""
    mine = {server["id"], *member["roles"]}  # the role of everybody has the server's id
    permissions = 0
    for role in server["roles"]:
        permissions |= int(role["permissions"]) if role["id"] in mine else 0
    return EVERYTHING if permissions & ADMINISTRATOR else permissions


def channel_permissions(
    channel: Mapping[str, Any], member: Mapping[str, Any], user_id: str, permissions: int
) -> int:
    """The permissions after the overwrites for everybody, for roles, and for the bot ("Permission Overwrites")."""
    if permissions & ADMINISTRATOR:
        return permissions
    overwrites = {each["id"]: each for each in channel.get("permission_overwrites") or ()}
    for subjects in ([channel["guild_id"]], member["roles"], [user_id]):
        applied = [overwrites[subject] for subject in subjects if subject in overwrites]
        permissions = permissions & ~_union(applied, "deny") | _union(applied, "allow")
    return permissions


def _union(overwrites: Iterable[Mapping[str, Any]], field: str) -> int:
    bits = 0
    for each in overwrites:
        bits |= int(each[field])
    return bits


def names(permissions: int) -> frozenset[str]:
    return frozenset(name for name, bit in PERMISSIONS.items() if permissions & bit)


def obstacle(refused: Refused, channel: Mapping[str, Any], permissions: int, say: Wording) -> str:
    """The obstacle of a message, as a sentence; ``permissions`` are the bot's in the channel."""
    if refused.code in BLOCKED:
        return say("blocked_by_rule")
    is_thread = channel["type"] in THREADS
    needed = (VIEW, SEND_IN_THREADS) if is_thread else NEEDED_PERMISSIONS.get(channel["type"], (VIEW, SEND))
    lacking = [name for name in needed if name != HISTORY and name not in names(permissions)]
    if lacking:
        return say("may_not_write", rights=", ".join(lacking))
    if (channel.get("thread_metadata") or {}).get("locked") and not permissions & MANAGE_THREADS:
        return say("thread_locked", rights="Manage Threads")
    return say("refused_there", trouble=clipped(" ".join(refused.text.split()) or refused.code, TROUBLE))

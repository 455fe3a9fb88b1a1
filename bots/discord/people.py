"""People's names and roles in a server, and the files that they attach."""

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from bots.chat.channels import ELSEWHERE
from bots.chat.platform import Approver, Refused, proxy_for
from bots.chat.uploads import content_of
from bots.discord.calls import CHANNEL, MESSAGES, DiscordCalls, Handle
from bots.discord.content import PRIVATE_THREAD, permissions_in
from bots.discord.receive import attachment_of
from bots.discord.route import DIRECT, DISCORD, DiscordRoute
from bots.discord.settings import VIEW, DiscordSettings
from core.conversation import Attachment, Conversation
from core.errors import DocumentError
from core.turns.messenger import ReplyRoute, Unreachable

logger = logging.getLogger(__name__)

FILES_HOSTS = ("cdn.discordapp.com", "media.discordapp.net")  # "Image Formatting", and what attachments name
UNKNOWN_MEMBER = "10007"  # "JSON Error Codes"
TIMEOUT = 60.0  # seconds for one file
#: A mention whose name did not come with the message, and one in an option of a command; ids have 17 digits or more.
MENTION = re.compile(r"(?:<@[!&]?|@)(\d{17,20})>?")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordPeople:
    """If Discord does not answer, a person's name is the id, and the person has no role."""

    calls: DiscordCalls
    mention: re.Pattern[str] = MENTION

    async def names(self, route: ReplyRoute, users: Iterable[str | None]) -> dict[str, str]:
        return {user: _name_in(await self._member(route, user)) or user for user in users if user}

    async def groups_of(self, route: ReplyRoute, user: str, among: Iterable[str]) -> tuple[str, ...]:
        """The roles among these that the person has, asked each time, so that a lost role counts at once."""
        wanted = tuple(among)
        if not wanted:
            return ()
        roles = (await self._member(route, user)).get("roles") or ()
        return tuple(role for role in wanted if role in roles)

    async def channel_name(self, route: ReplyRoute) -> str:
        if self.is_direct(route):
            return ""
        try:
            channel = await self.calls.call("GET", CHANNEL, channel_id=route["channel"])
        except (Refused, Unreachable):
            logger.warning("the name of a channel could not be read", extra={"channel": route["channel"]})
            return ""
        return f"#{channel['name']}"

    def is_direct(self, route: ReplyRoute) -> bool:
        return route["server"] in (DIRECT, ELSEWHERE)  # there nobody else sees what the bot says

    def is_direct_message(self, conversation: Conversation) -> bool:
        return conversation.space == DIRECT

    def route_in(self, conversation: Conversation) -> DiscordRoute:
        return DiscordRoute(
            server=conversation.space, channel=conversation.channel, thread=conversation.thread,
            place=conversation.channel, message="", user="",
        )  # fmt: skip

    async def is_private(self, conversation: Conversation) -> bool:
        """True if the role of all members may not view it, or it is a private thread."""
        if self.is_direct_message(conversation):
            return True
        server = conversation.space
        try:
            channel: Any = await self.calls.call("GET", CHANNEL, channel_id=conversation.channel)
            roles: Any = await self.calls.call("GET", "/guilds/{guild_id}/roles", guild_id=server)
        except (Refused, Unreachable):
            extra = {"channel": conversation.channel}
            logger.warning("whether a channel is private could not be read", extra=extra)
            return True
        return channel["type"] == PRIVATE_THREAD or VIEW not in permissions_in(channel, server, roles)

    async def is_shared(self, conversation: Conversation) -> bool:  # noqa: ARG002 - the port has it
        """False: a channel has the members of its server alone ("Channels Resource")."""
        return False

    async def member_of(self, space: str, user: str, among: Iterable[str]) -> frozenset[str]:  # noqa: ARG002 - the port has it
        """The groups that a person is in. Each role's server is asked each time, as a direct message has none."""
        servers: dict[str, set[str]] = {}
        for rule in among:
            platform, _, role = rule.partition("/")
            if platform == DISCORD:
                servers.setdefault(role.partition("/")[0], set()).add(rule)
        found: set[str] = set()
        for server, rules in servers.items():
            path = "/guilds/{guild_id}/members/{user_id}"
            try:
                member: Any = await self.calls.call("GET", path, guild_id=server, user_id=user)
            except Refused as refused:
                if refused.code != UNKNOWN_MEMBER:
                    raise
                continue
            # The id of the role of all members is the server's.
            roles = {server, *(member.get("roles") or ())}
            found |= {rule for rule in rules if rule.rpartition("/")[2] in roles}
        return frozenset(found)

    async def email_of(self, space: str, user: str) -> str:  # noqa: ARG002 - the port has them
        """Empty: Discord shows bots no e-mail addresses ("OAuth2")."""
        return ""

    async def approvers(self, route: ReplyRoute, among: Iterable[str]) -> tuple[Approver, ...]:
        """The roles and members of this server; others may decide elsewhere."""
        roles = {} if self.is_direct(route) else await self._roles(route)
        known = []
        for one in filter(str.isdecimal, among):
            name = roles.get(one) or _name_in(await self._member(route, one))
            if name:
                known.append(Approver(id=one, name=name, is_group=one in roles))
        return tuple(known)

    async def _roles(self, route: ReplyRoute) -> Mapping[str, str]:
        try:
            roles = await self.calls.call("GET", "/guilds/{guild_id}/roles", guild_id=route["server"])
        except (Refused, Unreachable):
            logger.warning("the roles of a server could not be read", extra={"server": route["server"]})
            return {}
        return {role["id"]: role["name"] for role in roles}

    async def _member(self, route: ReplyRoute, user: str) -> Mapping[str, Any]:
        try:
            if self.is_direct(route):
                return {"user": await self.calls.call("GET", "/users/{user_id}", user_id=user)}
            path = "/guilds/{guild_id}/members/{user_id}"
            member: Mapping[str, Any] = await self.calls.call(
                "GET", path, guild_id=route["server"], user_id=user
            )
        except (Refused, Unreachable):
            logger.warning("a person could not be looked up", extra={"user": user})
            return {}
        return member


def _name_in(member: Mapping[str, Any]) -> str:
    """A member's name; empty if Discord did not say."""
    person = member.get("user") or {}
    return str(member.get("nick") or person.get("global_name") or person.get("username") or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordUploads:
    """The files that came with messages."""

    settings: DiscordSettings
    calls: DiscordCalls

    async def fetch(self, file: Attachment) -> tuple[str, bytes]:
        """The file's name and content. A URL expires after a day; the message then has a new one."""
        content = await self._download(file)
        if content is None and file.found_in:
            content = await self._download(await self._look_up(file))
        if content is None:
            raise DocumentError(f"{file.name} could not be fetched from Discord: attach it once more.")
        return file.name, content

    async def _look_up(self, file: Attachment) -> Attachment:
        ids = Handle.parse(file.found_in).ids
        try:
            message: Any = await self.calls.call("GET", f"{MESSAGES}/{{message_id}}", **ids)
        except Refused as refused:
            raise DocumentError(f"{file.name} could not be fetched: its message is gone.") from refused
        for found in message["attachments"]:
            if str(found["id"]) == file.id:
                return attachment_of(found)
        raise DocumentError(f"{file.name} was removed from its message.")

    async def _download(self, file: Attachment) -> bytes | None:
        """The file's content; None if Discord does not give it under this URL."""
        from aiohttp import ClientError, ClientSession, ClientTimeout

        # Only Discord's own hosts, or the one that the operator set in their place.
        parts, own = urlsplit(file.url), urlsplit(self.settings.api_url)
        is_own = (parts.scheme, parts.netloc) == (own.scheme, own.netloc)
        if not is_own and not (parts.scheme == "https" and parts.hostname in FILES_HOSTS):
            raise DocumentError(f"{file.name} is not kept in Discord, so I cannot fetch it.")
        try:
            async with (
                ClientSession(timeout=ClientTimeout(total=TIMEOUT)) as session,
                session.get(file.url, allow_redirects=False, proxy=proxy_for(file.url)) as reply,
            ):
                return await content_of(reply, file.name) if reply.status == 200 else None
        except (ClientError, TimeoutError) as fault:
            raise DocumentError(f"{file.name} could not be fetched from Discord.") from fault

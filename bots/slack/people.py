"""The people of a Slack workspace, their user groups, and the files that they attach."""

import asyncio
import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from bots.chat.platform import Approver
from bots.chat.uploads import content_of
from bots.slack.calls import MissingScope, SlackCalls, SlackRefused
from bots.slack.receive import attachment_of
from bots.slack.route import DIRECT, SLACK, SlackRoute
from bots.slack.settings import SlackSettings
from core.conversation import Attachment, Conversation
from core.errors import DocumentError
from core.traces.names import ShownNames
from core.turns.messenger import ReplyRoute, Unreachable

logger = logging.getLogger(__name__)

REMEMBERED = 60.0  # seconds that the groups and their members are cached
EMAIL_REMEMBERED = 180.0  # seconds that an e-mail address is cached
UNKNOWN_USER = frozenset({"user_not_found", "user_not_visible"})  # errors of "users.info"
UNKNOWN_GROUP = "no_such_subteam"  # error of "usergroups.users.list"
PERSON = ("U", "W")  # how the ids of people begin
#: A mention as :func:`bots.slack.route.spoken` leaves it; ids have nine characters or more.
MENTION = re.compile(r"@([UW][A-Z0-9]{8,})")


@dataclass(slots=True, kw_only=True)
class SlackPeople:
    """Names and groups. If Slack refuses, a person's name is the id, and the person is in no group."""

    calls: SlackCalls
    shown_names: ShownNames | None = None  #: where names are noted for operators
    mention: re.Pattern[str] = MENTION
    _names: dict[tuple[str, str], str] = field(default_factory=dict)  #: by team and user
    #: Until when, and who; by team and group.
    _groups: dict[tuple[str, str], tuple[float, frozenset[str]]] = field(default_factory=dict)
    #: Until when, and the address; by team and user.
    _emails: dict[tuple[str, str], tuple[float, str]] = field(default_factory=dict)
    #: Until when, and names by id; by team.
    _group_names: dict[str, tuple[float, Mapping[str, str]]] = field(default_factory=dict)

    async def names(self, route: ReplyRoute, users: Iterable[str | None]) -> dict[str, str]:
        names = {user: await self._known_name(route["team"], user) or user for user in users if user}
        if self.shown_names is not None:
            await self.shown_names.note("person", names)
        return names

    async def groups_of(self, route: ReplyRoute, user: str, among: Iterable[str]) -> tuple[str, ...]:
        """The user groups among these that the person is in; ids of people are ignored. Raises Unreachable."""
        found = []
        for group in filter(lambda each: each.startswith("S"), among):
            try:
                members = await self._members(route["team"], group)
            except SlackRefused:  # nobody, if Slack does not say who
                logger.warning("members of a user group could not be read", extra={"group": group})
                continue
            found += [group] if user in members else []
        return tuple(found)

    async def channel_name(self, route: ReplyRoute) -> str:
        if self.is_direct(route):
            return ""
        try:
            reply = await self.calls.call("conversations.info", team=route["team"], channel=route["channel"])
        except (SlackRefused, MissingScope, Unreachable):
            logger.warning("the name of a channel could not be read", extra={"channel": route["channel"]})
            return ""
        return f"#{name}" if (name := reply["channel"].get("name")) else ""

    def is_direct(self, route: ReplyRoute) -> bool:
        return bool(route.get("is_direct"))

    def is_direct_message(self, conversation: Conversation) -> bool:
        return conversation.channel.startswith(DIRECT)

    def route_in(self, conversation: Conversation) -> SlackRoute:
        return SlackRoute(
            team=conversation.space, channel=conversation.channel, thread=conversation.thread,
            message=conversation.thread, user="", is_direct=self.is_direct_message(conversation),
        )  # fmt: skip

    async def is_private(self, conversation: Conversation) -> bool:
        if self.is_direct_message(conversation):
            return True
        team, channel = conversation.space, conversation.channel
        try:
            reply = await self.calls.call("conversations.info", team=team, channel=channel)
        except (SlackRefused, Unreachable):
            logger.warning("whether a channel is private could not be read", extra={"channel": channel})
            return True
        return bool(reply["channel"].get("is_private", True))

    async def is_shared(self, conversation: Conversation) -> bool:
        team, channel = conversation.space, conversation.channel
        try:
            known = (await self.calls.call("conversations.info", team=team, channel=channel))["channel"]
        except (SlackRefused, Unreachable):
            logger.warning("whether a channel is shared could not be read", extra={"channel": channel})
            return True
        return any(known.get(each) for each in ("is_ext_shared", "is_pending_ext_shared", "is_org_shared"))

    async def member_of(self, space: str, user: str, among: Iterable[str]) -> frozenset[str]:
        """The groups of access rules that a person is in; those of other workspaces have no members here."""
        prefix = f"{SLACK}/{space}/"
        ours = {rule: rule.removeprefix(prefix) for rule in among}
        groups = {rule: group for rule, group in ours.items() if group.startswith("S")}
        members = self._members
        return frozenset([rule for rule, group in groups.items() if user in await members(space, group)])

    async def email_of(self, space: str, user: str) -> str:
        """The e-mail address of a member; empty without the scope users:read.email."""
        now = asyncio.get_running_loop().time()
        until, email = self._emails.get((space, user), (0.0, ""))
        if now >= until:
            found: Mapping[str, Any] = {}
            if user.startswith(PERSON):
                try:
                    found = (await self.calls.call("users.info", team=space, user=user))["user"]
                except SlackRefused as refused:
                    if refused.code not in UNKNOWN_USER:
                        raise
            email = confirmed_email(found, space)
            self._emails[space, user] = now + EMAIL_REMEMBERED, email
        return email

    async def approvers(self, route: ReplyRoute, among: Iterable[str]) -> tuple[Approver, ...]:
        """The people and groups by name; a group's handle as plain words pings nobody."""
        known, team = [], route["team"]
        for one in among:
            is_group = one.startswith("S")
            name = (await self._handles(team)).get(one) if is_group else await self._known_name(team, one)
            if name:
                known.append(Approver(id=one, name=name, is_group=is_group))
        return tuple(known)

    async def _known_name(self, team: str, user: str) -> str | None:
        if (team, user) not in self._names:
            if not user.startswith(PERSON):
                return None
            try:
                found = (await self.calls.call("users.info", team=team, user=user))["user"]
            except (SlackRefused, Unreachable):
                return None
            profile = found.get("profile") or {}
            name = profile.get("display_name") or found.get("real_name") or found.get("name") or user
            self._names[team, user] = name
        return self._names[team, user]

    async def _handles(self, team: str) -> Mapping[str, str]:
        now = asyncio.get_running_loop().time()
        until, handles = self._group_names.get(team, (0.0, {}))
        if now >= until:
            try:
                reply = await self.calls.call("usergroups.list", team=team)
            except (SlackRefused, Unreachable):
                logger.warning("user groups could not be read")
                return {}
            handles = {group["id"]: group.get("handle") or group["name"] for group in reply["usergroups"]}
            self._group_names[team] = now + REMEMBERED, handles
        return handles

    async def _members(self, team: str, group: str) -> frozenset[str]:
        """The members of a group; none if it is of another workspace. Raises SlackRefused and Unreachable."""
        now = asyncio.get_running_loop().time()
        until, members = self._groups.get((team, group), (0.0, frozenset()))
        if now < until:
            return members
        try:
            reply = await self.calls.call("usergroups.users.list", team=team, usergroup=group)
        except SlackRefused as refused:
            if refused.code != UNKNOWN_GROUP:
                raise
            reply = {}
        members = frozenset(reply.get("users", ()))
        self._groups[team, group] = now + REMEMBERED, members
        return members


#: What a user object has who is no full member of the workspace, "User object type".
_NO_MEMBER = (
    "deleted", "is_bot", "is_workflow_bot", "is_connector_bot", "is_restricted", "is_ultra_restricted",
    "is_stranger", "is_invited_user",
)  # fmt: skip


def confirmed_email(user: Mapping[str, Any], team: str) -> str:
    """A member's confirmed address; empty for guests and people of other workspaces, who set theirs elsewhere."""
    grid = user.get("enterprise_user") or {}
    teams = {user.get("team_id"), *(grid.get("teams") or ())}
    if any(user.get(each) for each in _NO_MEMBER) or team not in teams:
        return ""
    if user.get("is_email_confirmed") is not True:
        return ""
    return str((user.get("profile") or {}).get("email") or "")


#: By the mode of a file object, and by the error of "files.info".
_GONE = {
    "tombstone": "was deleted",
    "file_deleted": "was deleted",
    "hidden_by_limit": "is hidden by the limits of the workspace's plan",
    "file_not_found": "is gone, or not shared with me",
    "missing_scope": "could not be fetched: the app needs the scope files:read",
}

_HOST = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)+", re.IGNORECASE | re.ASCII)
FILES_HOSTS = ("files.slack.com", "slack.com")  # where the bot's token may go, "Working with files"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackUploads:
    """The files of every workspace, each fetched with the workspace's own token."""

    settings: SlackSettings
    calls: SlackCalls

    async def fetch(self, file: Attachment) -> tuple[str, bytes]:
        """The file's name and content; what the event left out is looked up."""
        from aiohttp import ClientError

        file = file if file.url else await self._look_up(file)
        if not _may_have_token(file.url, self.settings.api_url):
            raise DocumentError(f"{file.name} is not kept in Slack, so I cannot fetch it.")
        session, installation = self.calls.client.session, await self.calls.installation(file.found_in)
        assert session is not None
        headers = {"Authorization": f"Bearer {installation.token}"} if installation else {}
        try:
            # The token must not go elsewhere, so no redirect is followed.
            async with session.get(file.url, headers=headers, allow_redirects=False) as reply:
                if reply.status == 200 and not reply.content_type.startswith("text/html"):
                    return file.name, await content_of(reply, file.name)
        except (ClientError, TimeoutError) as fault:
            raise DocumentError(f"{file.name} could not be fetched from Slack.") from fault
        await self._look_up(file)  # of a file that is gone it says so; with a revoked token the file can wait
        raise DocumentError(f"{file.name} could not be fetched: the app needs the scope files:read.")

    async def _look_up(self, file: Attachment) -> Attachment:
        """The file as Slack knows it now; events name only the id of a shared one ("check_file_info")."""
        called = file.name or "The file"
        try:
            known = (await self.calls.call("files.info", team=file.found_in, file=file.id))["file"]
        except (SlackRefused, MissingScope) as refused:
            why = _GONE.get(refused.code, "could not be fetched from Slack")
            raise DocumentError(f"{called} {why}.") from refused
        found = attachment_of(known, file.found_in)
        if (mode := known.get("mode")) in _GONE:
            raise DocumentError(f"{found.name or called} {_GONE[mode]}.")
        return replace(found, name=found.name or found.id)


def _may_have_token(url: str, api_url: str) -> bool:
    """True if the host may get the token: Slack's own, or the one of SLACK_API_URL."""
    parts, own = urlsplit(url), urlsplit(api_url)
    if (parts.scheme, parts.netloc) == (own.scheme, own.netloc):
        return True
    # Only a plain host name: URL parsers disagree about other characters, and one of them sends the token.
    host = parts.netloc.lower() if _HOST.fullmatch(parts.netloc) else ""
    return parts.scheme == "https" and (host in FILES_HOSTS or host.endswith(".slack.com"))

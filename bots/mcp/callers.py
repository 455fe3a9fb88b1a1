"""Callers over MCP and their rights, which are decided as in a direct message."""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from urllib.parse import quote

from bots.chat.platform import Approver, People
from bots.page.threads import PAGE, named_channel
from core.conversation import Conversation, value
from core.errors import SettingsError
from core.library.readers import whole_address
from core.turns.messenger import ReplyRoute, Unreachable

MCP = "mcp"
BY_EMAIL = "email"  # the space of people who are known by an address alone
#: Begins the channel of a person of Slack: what is open to them in a direct message is. Ids of channels have no small
#: letters, so that it is none of Slack's.
SLACK, OF_SLACK = "slack", "Dmcp"
DISCORD, OF_DISCORD = "discord", "@me"  # every direct message's server
_SLACK_PERSON = re.compile(r"(?:slack/(T[A-Z0-9]+|E[A-Z0-9]+)/)?([UW][A-Z0-9]{8,})")
_DISCORD_PERSON = re.compile(r"(?:discord/)?(\d{15,20})")
_THREAD = re.compile(r"[\w.-]{1,64}", re.ASCII)

#: Takes sentences about the steps that a turn is at.
Note = Callable[[str], None]


@value
class Caller:
    """The caller of the tools. Each has a channel alone, and its questions are conversations there."""

    platform: str
    space: str
    channel: str
    author: str

    @property
    def id(self) -> str:
        return f"{self.platform}/{self.space}/{self.channel}/{self.author}"

    def conversation(self, thread: str) -> Conversation:
        """The caller's conversation of this thread; SettingsError for an invalid name."""
        if not _THREAD.fullmatch(thread):
            raise SettingsError("A thread is called what `thread` said with an earlier answer.")
        return Conversation(platform=self.platform, space=self.space, channel=self.channel, thread=thread)

    def owns(self, conversation: Conversation) -> bool:
        """True if this is one of their conversations."""
        return conversation.channel_id == f"{self.platform}/{self.space}/{self.channel}"


def person_of_slack(team: str, user: str) -> Caller:
    return Caller(platform=SLACK, space=team, channel=f"{OF_SLACK}{user}", author=user)


def person_by_email(address: str) -> Caller:
    """The caller with this address, who reads what is open to everybody and to the address."""
    whole = whole_address(address)
    if not whole:
        raise SettingsError(f"{address} is no e-mail address.")
    return Caller(platform=MCP, space=BY_EMAIL, channel=quote(whole, safe=""), author=whole)


def caller_named(typed: str, name: str, collections: Iterable[str]) -> Caller:
    """The caller of ``--as``: a person of Slack or Discord, an address, or a collection; SettingsError.

    ``name``: of the token, which is who asks where a collection is read. A person of Slack without a workspace has an
    empty space, which is the only one that is served.
    """
    if found := _SLACK_PERSON.fullmatch(typed):
        return person_of_slack(found[1] or "", found[2])
    if found := _DISCORD_PERSON.fullmatch(typed):
        return Caller(platform=DISCORD, space=OF_DISCORD, channel=f"{MCP}{found[1]}", author=found[1])
    if "@" in typed:
        return person_by_email(typed)
    if typed not in (known := set(collections)):
        raise SettingsError(
            f"{typed} is no person's id, no e-mail address and no collection; there is {', '.join(sorted(known))}."
        )
    space = f"{MCP}-{quote(name, safe='')}"  # tokens of one collection share no conversation
    return Caller(platform=PAGE, space=space, channel=named_channel({typed}), author=name)


_CHANNELS = (
    (SLACK, re.compile(r"(?:slack/)?(?:([TE][A-Z0-9]+)/)?([CG][A-Z0-9]{8,})")),
    (DISCORD, re.compile(r"discord/(\d{15,20})/(\d{15,20})")),
)
EVERYONE, ANYWHERE = "everyone", "-"


def reader_named(typed: str, name: str, collections: Iterable[str]) -> Caller:
    """The caller with whose rights a question is tested: of ``--as``, ``everyone``, or a channel."""
    if typed == EVERYONE:
        return Caller(platform=MCP, space=EVERYONE, channel=EVERYONE, author=EVERYONE)
    for platform, pattern in _CHANNELS:
        if found := pattern.fullmatch(typed):
            return Caller(platform=platform, space=found[1] or ANYWHERE, channel=found[2], author=name)
    caller = caller_named(typed, name, collections)
    return replace(caller, space=caller.space or ANYWHERE)


class PeopleByEmail:
    """The People of callers known by an address alone."""

    mention = re.compile(r"(?!)(.)")  # nobody is mentioned by an id

    async def names(self, route: ReplyRoute, users: Iterable[str | None]) -> dict[str, str]:  # noqa: ARG002 - a port
        return {user: user for user in users if user}

    async def groups_of(self, route: ReplyRoute, user: str, among: Iterable[str]) -> tuple[str, ...]:  # noqa: ARG002 - a port
        return ()

    async def channel_name(self, route: ReplyRoute) -> str:  # noqa: ARG002 - a port
        return ""

    def is_direct(self, route: ReplyRoute) -> bool:  # noqa: ARG002 - a port
        return True

    def is_direct_message(self, conversation: Conversation) -> bool:  # noqa: ARG002 - a port
        return True

    def route_in(self, conversation: Conversation) -> ReplyRoute:  # noqa: ARG002 - a port
        return {}

    async def is_private(self, conversation: Conversation) -> bool:  # noqa: ARG002 - a port
        return True

    async def is_shared(self, conversation: Conversation) -> bool:  # noqa: ARG002 - a port
        return False

    async def member_of(self, space: str, user: str, among: Iterable[str]) -> frozenset[str]:  # noqa: ARG002 - a port
        return frozenset()

    async def email_of(self, space: str, user: str) -> str:  # noqa: ARG002 - a port
        return user

    async def approvers(self, route: ReplyRoute, among: Iterable[str]) -> tuple[Approver, ...]:  # noqa: ARG002 - a port
        return ()


class RememberedPeople(PeopleByEmail):
    """The People of a platform that is not asked: rules for ids and stated addresses count."""

    def is_direct_message(self, conversation: Conversation) -> bool:
        return conversation.channel.startswith((OF_SLACK, MCP))

    async def member_of(self, space: str, user: str, among: Iterable[str]) -> frozenset[str]:  # noqa: ARG002 - a port
        raise Unreachable

    async def email_of(self, space: str, user: str) -> str:  # noqa: ARG002 - a port
        raise Unreachable


def remembered_people() -> dict[str, People]:
    """People of every platform, for a process that serves none."""
    return {SLACK: RememberedPeople(), DISCORD: RememberedPeople(), MCP: PeopleByEmail()}

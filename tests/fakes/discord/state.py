"""What Discord holds: servers, channels, threads, people, messages. It outlives every client."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from fakes.discord.permissions import BOTS, EVERYBODYS, bits

if TYPE_CHECKING:
    from fakes.discord.rendering import Link, Pings

EPOCH = 1_420_070_400_000  # milliseconds, the first of 2015: "Snowflakes"
TYPES = {
    "text": 0, "dm": 1, "voice": 2, "category": 4, "news": 5, "news_thread": 10, "public_thread": 11,
    "private_thread": 12, "forum": 15,
}  # fmt: skip
THREADS = (10, 11, 12)

SUPPRESS_EMBEDS = 1 << 2
HAS_THREAD = 1 << 5
EPHEMERAL = 1 << 6
LOADING = 1 << 7
SUPPRESS_NOTIFICATIONS = 1 << 12
COMPONENTS_V2 = 1 << 15

DEFAULT, THREAD_CREATED, REPLY, CHAT_INPUT, THREAD_STARTER, CONTEXT_MENU = 0, 18, 19, 20, 21, 23

Json = dict[str, Any]
Action = Literal["create", "edit"]


class Clock:
    """Wall time plus what a test adds to it, so that nothing has to be waited for."""

    def __init__(self) -> None:
        self.ahead = 0.0  #: seconds
        self._last = 0

    def now(self) -> float:
        return time.time() + self.ahead

    def snowflake(self) -> int:
        """An id that says when: unique, and greater than every one before."""
        self._last = max(self._last + 1, (int(self.now() * 1000) - EPOCH) << 22)
        return self._last

    def iso(self) -> str:
        return datetime.fromtimestamp(self.now(), UTC).isoformat()


@dataclass(kw_only=True, eq=False)
class User:
    id: int
    name: str
    is_bot: bool = False

    @property
    def mention(self) -> str:
        return f"<@{self.id}>"


@dataclass(kw_only=True, eq=False)
class Role:
    id: int
    name: str
    permissions: int
    position: int = 1
    is_mentionable: bool = False
    is_managed: bool = False

    @property
    def mention(self) -> str:
        return f"<@&{self.id}>"


@dataclass(kw_only=True, eq=False)
class Member:
    user: User
    joined_at: str
    roles: list[Role] = field(default_factory=list)
    nick: str | None = None


@dataclass(kw_only=True, eq=False)
class Guild:
    id: int
    name: str
    owner_id: int
    everyone: Role
    bot_role: Role
    roles: dict[int, Role]
    members: dict[int, Member] = field(default_factory=dict)
    channels: dict[int, Channel] = field(default_factory=dict)  #: threads are not among them
    threads: dict[int, Channel] = field(default_factory=dict)
    has_bot: bool = True
    crowd: int = 0  #: members in all, where so many are not made here


@dataclass(kw_only=True, eq=False)
class Channel:
    """A channel, a forum, a thread or a direct channel."""

    id: int
    type: int
    name: str = ""
    guild: Guild | None = None
    position: int = 0
    overwrites: dict[int, tuple[int, int]] = field(default_factory=dict)  #: role or user -> allowed, denied
    recipients: list[User] = field(default_factory=list)  #: of a direct channel
    messages: dict[int, Message] = field(default_factory=dict)
    parent: Channel | None = None  #: of a thread
    owner_id: int = 0
    created_at: str = ""
    thread_members: dict[int, str] = field(default_factory=dict)  #: user -> when joined
    is_archived: bool = False
    is_locked: bool = False
    archive_after: int = 1440  #: minutes
    typings: list[float] = field(default_factory=list)  #: the clock's seconds at which the bot began to type

    @property
    def is_thread(self) -> bool:
        return self.type in THREADS

    @property
    def is_private_thread(self) -> bool:
        return self.type == TYPES["private_thread"]

    @property
    def is_dm(self) -> bool:
        return self.type == TYPES["dm"]

    @property
    def mention(self) -> str:
        return f"<#{self.id}>"


@dataclass(kw_only=True, eq=False)
class Attachment:
    id: int
    filename: str
    content: bytes
    content_type: str
    url: str
    description: str | None = None
    signature: int = 0  #: of its address; an older one has expired

    @property
    def address(self) -> str:
        """Signed, and good for a day. Source: "CDN, Signed Attachment URLs"."""
        return f"{self.url}?ex={self.signature:x}&is={self.signature:x}&hm={self.signature:x}"

    def as_json(self) -> Json:
        data: Json = {
            "id": str(self.id), "filename": self.filename, "size": len(self.content), "url": self.address,
            "proxy_url": self.address, "content_type": self.content_type,
        }  # fmt: skip
        return data | ({"description": self.description} if self.description else {})


@dataclass(frozen=True, kw_only=True)
class Revision:
    """One state of a message, at the moment people came to see it."""

    at: float  #: seconds of the server's clock
    action: Action
    content: str
    embeds: list[Json]
    components: list[Json]
    flags: int
    attachments: list[Attachment]
    visible: str  #: the plain text that a reader sees
    pings: Pings  #: whom this create or edit notifies
    links: list[Link]
    images: list[str]  #: URLs of what is shown as a picture


@dataclass(kw_only=True, eq=False)
class Message:
    id: int
    channel: Channel
    author: User
    content: str = ""
    type: int = DEFAULT
    flags: int = 0
    embeds: list[Json] = field(default_factory=list)
    components: list[Json] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)
    reference: Json | None = None
    referenced: Message | None = None
    snapshots: list[Json] = field(default_factory=list)  #: of a forwarded message
    poll: Json | None = None
    nonce: str | int | None = None
    created_at: str = ""
    edited_at: str | None = None
    mentions: list[User] = field(default_factory=list)  #: whom its newest state notifies by name
    thread: Channel | None = None
    interaction: Any = None  #: the Interaction that it responds to
    ephemeral_for: User | None = None
    is_deleted: bool = False
    revisions: list[Revision] = field(default_factory=list)  #: every state it was ever seen in, oldest first
    oddities: Json = field(default_factory=dict)  #: what its JSON has in place of what was ever described

    @property
    def visible(self) -> str:
        return self.revisions[-1].visible

    @property
    def pings(self) -> Pings:
        """Everybody whom it notified when it was posted and at every edit."""
        first, *rest = (one.pings for one in self.revisions)
        for one in rest:
            first |= one
        return first

    @property
    def links(self) -> list[Link]:
        return self.revisions[-1].links

    @property
    def images(self) -> list[str]:
        return self.revisions[-1].images

    @property
    def is_v2(self) -> bool:
        return bool(self.flags & COMPONENTS_V2)

    @property
    def suppresses_embeds(self) -> bool:
        """Whether no link in it grows a preview; with Components V2 none does."""
        return bool(self.flags & (SUPPRESS_EMBEDS | COMPONENTS_V2))

    @property
    def is_loading(self) -> bool:
        return bool(self.flags & LOADING)


@dataclass(kw_only=True, eq=False)
class Modal:
    """A form that is open before one person."""

    user: User
    interaction: Any  #: the Interaction that it answers
    payload: Json
    is_open: bool = True

    @property
    def custom_id(self) -> str:
        return str(self.payload["custom_id"])

    @property
    def title(self) -> str:
        return str(self.payload["title"])


class State:
    def __init__(self) -> None:
        self.clock = Clock()
        self.users: dict[int, User] = {}
        self.guilds: dict[int, Guild] = {}
        self.channels: dict[int, Channel] = {}  #: all of them: threads and direct channels too
        self.attachments: dict[int, Attachment] = {}
        self.interactions: dict[str, Any] = {}  #: by token
        self.ephemerals: list[Message] = []
        self.modals: list[Modal] = []
        self.deleted: list[Message] = []
        self.commands: dict[int, list[Json]] = {0: []}  #: guild, or 0 for everywhere -> application commands
        self.positions = itertools.count()

    def guild(self, name: str, bot: User) -> Guild:
        """A server with the bot in it."""
        number = self.clock.snowflake()
        everyone = Role(id=number, name="@everyone", permissions=bits(*EVERYBODYS), position=0)
        bot_role = Role(id=self.clock.snowflake(), name=bot.name, permissions=bits(*BOTS), is_managed=True)
        guild = Guild(
            id=number, name=name, owner_id=self.clock.snowflake(), everyone=everyone, bot_role=bot_role,
            roles={number: everyone, bot_role.id: bot_role},
        )  # fmt: skip
        guild.members[bot.id] = Member(user=bot, joined_at=self.clock.iso(), roles=[bot_role])
        self.guilds[number] = guild
        return guild

    def direct(self, *users: User) -> Channel:
        """The direct channel of these users, opened when there is none yet."""
        for one in self.channels.values():
            if one.is_dm and set(one.recipients) == set(users):
                return one
        new = Channel(id=self.clock.snowflake(), type=TYPES["dm"], recipients=list(users))
        self.channels[new.id] = new
        return new

    def message(self, channel_id: int, message_id: int) -> Message | None:
        found = self.channels[channel_id].messages.get(message_id)
        return None if found is None or found.is_deleted else found

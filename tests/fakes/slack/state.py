"""What the workspaces hold: people, conversations, messages, files, views. It outlives every client."""

from __future__ import annotations

import itertools
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from fakes.slack.rendering import Entity, Names, entities_of, visible_text

Kind = Literal["channel", "group", "im", "mpim"]
Action = Literal["post", "update", "delete", "ephemeral", "status", "title", "prompts", "view"]
Blocks = list[dict[str, Any]]

STREAM_LIFETIME = 300.0  # seconds until an open stream dies, slackapi/python-slack-sdk#1859
STATUS_LIFETIME = 120.0  # seconds a status stays without a post, "assistant.threads.setStatus"


class Clock:
    """Wall time plus what a test adds to it, so that nothing has to be waited for."""

    def __init__(self) -> None:
        self.ahead = 0.0  #: seconds
        self._last = 0

    def now(self) -> float:
        return time.time() + self.ahead

    def ts(self) -> str:
        """A message's timestamp and name: unique, and later than every one before."""
        self._last = max(self._last + 1, int(self.now() * 1_000_000))
        return f"{self._last // 1_000_000}.{self._last % 1_000_000:06d}"


@dataclass(kw_only=True)
class User:
    id: str
    team: str
    name: str
    is_bot: bool = False
    bot_id: str = ""
    app_id: str = ""
    email: str = ""
    is_email_confirmed: bool = True
    is_deleted: bool = False
    is_restricted: bool = False  #: a guest

    def as_json(self) -> dict[str, Any]:
        """As "users.info" returns it to a token that may read addresses."""
        profile = {"display_name": self.name, "real_name": self.name, "bot_id": self.bot_id}
        if self.email:
            profile["email"] = self.email
        return {
            "id": self.id, "team_id": self.team, "name": self.name, "real_name": self.name,
            "is_bot": self.is_bot, "deleted": self.is_deleted, "is_app_user": False, "tz": "Etc/UTC",
            "is_restricted": self.is_restricted, "is_ultra_restricted": False,
            "is_email_confirmed": self.is_email_confirmed, "profile": profile,
        }  # fmt: skip


@dataclass(kw_only=True)
class File:
    id: str
    team: str
    user: str
    name: str
    mimetype: str
    content: bytes = field(repr=False)
    url: str  #: `url_private`: answers only to a token that may read files
    channels: list[str] = field(default_factory=list)
    is_from_elsewhere: bool = False  #: shared over Slack Connect: events name its id alone
    mode: str = "hosted"  #: "tombstone" once it was deleted, "hidden_by_limit", "external"

    def as_event_json(self) -> dict[str, Any]:
        """As a message has it. Source: "Working with channels between organizations", "check_file_info"."""
        if self.mode in ("tombstone", "hidden_by_limit"):
            return {"id": self.id, "mode": self.mode}
        if self.is_from_elsewhere:
            return {
                "id": self.id, "mode": "file_access", "file_access": "check_file_info",
                "created": 0, "timestamp": 0, "user": "",
            }  # fmt: skip
        return self.as_json()

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id, "name": self.name, "title": self.name, "mimetype": self.mimetype,
            "filetype": self.name.rpartition(".")[2], "user": self.user, "user_team": self.team,
            "size": len(self.content), "mode": self.mode, "is_external": self.mode == "external", "url_private": self.url,
            "url_private_download": f"{self.url}?download=1", "channels": self.channels,
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Shown:
    """One thing that the app put before people's eyes, at the moment it did."""

    at: float  #: seconds of the server's clock
    action: Action
    channel: str = ""
    ts: str = ""
    thread_ts: str = ""
    user: str = ""  #: the only one who sees it, where it is not for everybody
    text: str = ""
    blocks: Blocks = field(default_factory=list, repr=False)
    metadata: dict[str, Any] | None = None
    link_names: bool = False
    names: Names = field(default=str, repr=False)

    @cached_property
    def visible(self) -> str:
        return visible_text(self.text, self.blocks, self.names)

    @cached_property
    def entities(self) -> list[Entity]:
        """Mentions, links and images that a client makes of it, of the blocks and of the fallback text."""
        return entities_of(self.text, self.blocks, self.names, link_names=self.link_names)


@dataclass(kw_only=True)
class Message:
    ts: str
    channel: str
    team: str
    user: str = ""
    bot_id: str = ""
    app_id: str = ""
    text: str = ""
    blocks: Blocks = field(default_factory=list, repr=False)
    #: Forwarded messages, an app's cards, previews.
    attachments: list[dict[str, Any]] = field(default_factory=list, repr=False)
    thread_ts: str = ""  #: empty for a message that is no reply
    subtype: str = ""
    parent_user_id: str = ""
    client_msg_id: str = ""
    metadata: dict[str, Any] | None = None
    files: list[File] = field(default_factory=list, repr=False)
    reactions: dict[str, list[str]] = field(default_factory=dict)
    edited: dict[str, str] | None = None
    unfurl_links: bool = True
    unfurl_media: bool = True
    link_names: bool = False
    ephemeral_for: str = ""
    is_deleted: bool = False
    #: What its JSON has in place of what is described.
    oddities: dict[str, Any] = field(default_factory=dict, repr=False)
    stream_until: float = 0.0  #: the clock's second at which an open stream dies; 0 when none is open
    is_stopped: bool = False  #: a person stopped the stream
    takes_chunks: bool | None = None  #: what the stream began with; None: with nothing
    has_plan: bool = False  #: whether its tasks stand together
    #: Every state it was ever seen in, oldest first.
    revisions: list[Shown] = field(default_factory=list, repr=False)

    @property
    def root(self) -> str:
        """The timestamp of the thread it belongs to or could begin."""
        return self.thread_ts or self.ts

    @property
    def visible(self) -> str:
        return self.revisions[-1].visible

    @property
    def is_unfinished(self) -> bool:
        """A stream without an answer, open or not."""
        is_plan = self.blocks and all(block["type"] in ("plan", "task_card") for block in self.blocks)
        return bool(self.stream_until > 0 or is_plan)

    @property
    def entities(self) -> list[Entity]:
        return self.revisions[-1].entities

    def as_json(self, *, with_metadata: bool = False) -> dict[str, Any]:
        """The message object of the Web API and of events; absent fields are absent, as they are there."""
        data = {
            "type": "message", "ts": self.ts, "team": self.team, "user": self.user, "text": self.text,
            "blocks": self.blocks, "attachments": self.attachments, "subtype": self.subtype,
            "thread_ts": self.thread_ts,
            "parent_user_id": self.parent_user_id, "bot_id": self.bot_id, "app_id": self.app_id,
            "client_msg_id": self.client_msg_id, "edited": self.edited,
            "files": [file.as_event_json() for file in self.files],
            "metadata": self.metadata if with_metadata else None,
            "reactions": [
                {"name": name, "users": users, "count": len(users)} for name, users in self.reactions.items()
            ],
        }  # fmt: skip
        known = {name: value for name, value in data.items() if value or name in ("text", "ts")}
        return known | self.oddities


@dataclass(frozen=True, kw_only=True)
class Notification:
    """What somebody's phone shows."""

    user: str
    ts: str
    text: str


@dataclass(kw_only=True)
class Conversation:
    id: str
    team: str
    name: str
    kind: Kind
    members: list[str] = field(default_factory=list)
    is_archived: bool = False
    shared_with: list[str] = field(default_factory=list)  #: other workspaces, "Slack Connect"
    refusal: str = ""  #: the error of whoever posts, where a preference of the workspace forbids it
    messages: dict[str, Message] = field(default_factory=dict, repr=False)
    #: By first message.
    threads: dict[str, list[Message]] = field(default_factory=lambda: defaultdict(list), repr=False)

    @property
    def is_private(self) -> bool:
        return self.kind != "channel"

    def thread(self, root: str) -> list[Message]:
        return [message for message in self.threads.get(root, []) if not message.is_deleted]

    def as_json(self, viewer: str) -> dict[str, Any]:
        data: dict[str, Any] = {
            "id": self.id, "name": self.name, "context_team_id": self.team, "is_private": self.is_private,
            "is_channel": self.kind == "channel", "is_group": self.kind == "group",
            "is_im": self.kind == "im", "is_mpim": self.kind == "mpim",
            "is_member": viewer in self.members, "is_archived": self.is_archived,
            "is_ext_shared": bool(self.shared_with),
        }  # fmt: skip
        if self.kind == "im":
            data["user"] = next((member for member in self.members if member != viewer), viewer)
        return data


@dataclass(kw_only=True)
class UserGroup:
    id: str
    team: str
    handle: str
    users: list[str]


@dataclass(kw_only=True)
class View:
    id: str
    team: str
    user: str
    payload: dict[str, Any] = field(repr=False)  #: as the app sent it, block ids filled in
    hash: str
    root: str = ""
    previous: str = ""
    is_open: bool = True

    def as_json(self, values: dict[str, Any] | None = None) -> dict[str, Any]:
        defaults = {"private_metadata": "", "callback_id": "", "external_id": "", "clear_on_close": False}
        return defaults | self.payload | {
            "id": self.id, "team_id": self.team, "hash": self.hash, "state": {"values": values or {}},
            "root_view_id": self.root or self.id, "previous_view_id": self.previous or None,
            "app_installed_team_id": self.team,
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Installation:
    """The app in one workspace: what its bot token stands for."""

    token: str
    team: str
    bot: User
    scopes: frozenset[str]


class State:
    """All workspaces, one namespace of ids."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self.clock = Clock()
        self.changed = changed
        self.teams: dict[str, str] = {}  #: id -> name
        self.users: dict[str, User] = {}
        self.conversations: dict[str, Conversation] = {}
        self.files: dict[str, File] = {}
        self.usergroups: dict[str, UserGroup] = {}
        self.views: dict[str, View] = {}
        self.installations: dict[str, Installation] = {}  #: by token
        self.shown: list[Shown] = []
        self.ephemerals: list[Message] = []
        self.notifications: list[Notification] = []
        self._numbers = itertools.count(1)

    def id(self, prefix: str) -> str:
        return f"{prefix}{next(self._numbers):08X}"

    def name_of(self, id: str) -> str:
        """What a client shows for an id: a person's name, a channel's, a group's handle."""
        if id in self.users:
            return self.users[id].name
        if id in self.conversations:
            return self.conversations[id].name
        return self.usergroups[id].handle if id in self.usergroups else id

    def bot(self, team: str) -> User:
        return self.installation(team).bot

    def installation(self, team: str) -> Installation:
        """The newest one."""
        return next(one for one in reversed(self.installations.values()) if one.team == team)

    def direct(self, team: str, users: Sequence[str]) -> Conversation:
        """The direct conversation of exactly these users, opened when there is none yet."""
        members = sorted(set(users))
        for one in self.conversations.values():
            if one.kind in ("im", "mpim") and sorted(one.members) == members:
                return one
        kind: Kind = "im" if len(members) <= 2 else "mpim"
        new = Conversation(
            id=self.id("D" if kind == "im" else "G"), team=team, name="", kind=kind, members=members
        )
        self.conversations[new.id] = new
        return new

    def add(self, message: Message) -> Message:
        conversation = self.conversations[message.channel]
        if message.thread_ts:
            message.parent_user_id = conversation.messages[message.thread_ts].user
        conversation.messages[message.ts] = message
        conversation.threads[message.root].append(message)
        self.show(message, "post")
        return message

    def send_ephemeral(self, message: Message) -> Message:
        """Adds what one person sees and nobody keeps: it is no message of the conversation."""
        self.ephemerals.append(message)
        self.show(message, "ephemeral")
        return message

    def notify(self, message: Message) -> None:
        """Tell those who follow a thread, or are in a direct conversation, that there is something new."""
        conversation = self.conversations[message.channel]
        wrote = [one.user for one in conversation.thread(message.root)] if message.thread_ts else []
        for user in dict.fromkeys([*wrote, *(conversation.members if conversation.kind == "im" else ())]):
            if user in self.users and not self.users[user].is_bot:
                self.notifications.append(Notification(user=user, ts=message.ts, text=message.text))

    def show(self, message: Message, action: Action) -> None:
        """Takes down the state a message is in now, for whoever saw it."""
        shown = Shown(
            at=self.clock.now(), action=action, channel=message.channel, ts=message.ts, text=message.text,
            thread_ts=message.thread_ts, user=message.ephemeral_for, blocks=message.blocks,
            metadata=message.metadata, link_names=message.link_names, names=self.name_of,
        )  # fmt: skip
        message.revisions.append(shown)
        if message.app_id:
            self.note(shown)

    def note(self, shown: Shown) -> None:
        self.shown.append(shown)
        self.changed()

    def messages(self) -> Iterator[Message]:
        for conversation in self.conversations.values():
            yield from conversation.messages.values()

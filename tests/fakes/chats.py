"""A bot that is served to a Slack or to a Discord, and the people there: the same acts and looks on both."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from fakes.discord import FakeDiscord
from fakes.discord.components import custom_ids
from fakes.discord_server import Server
from fakes.office import Office
from fakes.patience import PATIENCE
from fakes.served import LOOKS, RETRIES
from fakes.slack import DUPLICATES, FakeSlack
from fakes.slack.blocks import interactive

T = TypeVar("T")
File = tuple[str, bytes]  #: its name and its content


class Chat(Protocol):
    """The process, which is not yet begun, and two people in a channel. Messages are the platform's own."""

    platform: str
    folder: Path
    settings: dict[str, str]
    constants: dict[str, float]
    ann: Any
    bob: Any
    general: Any
    keeps_order: bool  #: whether of two presses at once the one that came first counts
    keeps_root: bool  #: whether the model is told how a long thread began
    everyone: str  #: what notifies all in a channel

    @property
    def me(self) -> str:
        """A mention of the bot."""
        ...

    @property
    def faults(self) -> list[dict]: ...

    @property
    def rejected(self) -> list[str]:
        """What the platform refused or found wrong."""
        ...

    async def open(self) -> None: ...

    async def stop(self) -> int: ...

    async def kill(self) -> None:
        """The process, until the platform knows that it is gone."""
        ...

    async def until(self, condition: Callable[[], T], *, within: float = PATIENCE) -> T: ...

    async def until_answered(self, asked: Any, count: int = 1, *, within: float = PATIENCE) -> list[Any]: ...

    def add_channel(self, name: str, *members: Any, is_private: bool = False) -> Any: ...

    def add_group(self, name: str, *members: Any) -> str:
        """The id of a group that can be called."""
        ...

    def id_of(self, what: Any) -> str:
        """Of a person or a message, as settings and logs have it."""
        ...

    async def mention(
        self, user: Any, channel: Any, text: str, below: Any = None, *, files: Sequence[File] = ()
    ) -> Any:
        """``below``: in the thread of a message."""
        ...

    async def say(self, user: Any, channel: Any, text: str, below: Any = None) -> Any: ...

    async def dm(self, user: Any, text: str, below: Any = None) -> Any: ...

    async def forward(self, user: Any, message: Any, channel: Any, below: Any = None) -> Any: ...

    async def post_ticket(self, channel: Any, text: str) -> Any:
        """What another bot posts, with the text in a box."""
        ...

    async def edit(self, message: Any, text: str) -> None: ...

    async def erase(self, message: Any) -> None: ...

    async def unfurl(self, message: Any) -> None: ...

    async def bring_again(self, message: Any) -> None:
        """In every way in which the platform does it."""
        ...

    async def open_again(self) -> None:
        """After a kill; the platform brings what was not taken."""
        ...

    async def press(self, message: Any, action: str, user: Any, *, as_seen: Any = None) -> Any:
        """A button by its action; ``as_seen``: as an earlier revision has it."""
        ...

    async def fill_in(self, pressed: Any, user: Any, values: dict[str, Any]) -> None:
        """The form that a press opened."""
        ...

    async def rate(self, message: Any, user: Any, *, is_positive: bool) -> Any: ...

    def replies(self, asked: Any) -> list[Any]: ...

    def told(self, user: Any) -> list[Any]:
        """What only this person sees."""
        ...

    def buttons(self, message: Any) -> set[str]:
        """The actions of those that can be pressed."""
        ...

    def pings(self) -> set[tuple[str, str]]:
        """Whom the bot notified, and by which message."""
        ...

    def notification(self, message: Any) -> str:
        """What a notification says of it."""
        ...

    def is_below(self, message: Any, root: Any) -> bool:
        """Whether it stands in the thread of another."""
        ...

    def refers_to(self, answer: Any, message: Any) -> bool:
        """Whether a client shows what it answers."""
        ...

    def links(self, message: Any) -> list[str]: ...

    def address(self, message: Any) -> str:
        """Where a client shows the message."""
        ...


@dataclass
class SlackChat(Office):
    platform = "slack"
    keeps_order = keeps_root = True
    everyone = "<!channel>"
    ann: str = ""
    bob: str = ""
    general: str = ""
    constants: dict[str, float] = field(
        # Seconds between two calls that read a channel; this Slack allows it.
        default_factory=lambda: LOOKS | RETRIES | {"bots.slack.channel_source:INTERVAL": 0.1}
    )

    def __post_init__(self) -> None:
        self.ann, self.bob = self.slack.add_user("ann"), self.slack.add_user("bob")
        self.general = self.slack.add_channel("general", self.ann, self.bob)

    @property
    def me(self) -> str:
        return f"<@{self.slack.bot}>"

    @property
    def rejected(self) -> list[str]:
        return self.slack.rejected

    async def kill(self) -> None:
        await super().kill()
        await self.slack.until(lambda: not self.slack.sockets.live)

    async def until(self, condition: Callable[[], T], *, within: float = PATIENCE) -> T:
        return await self.slack.until(condition, within=within)

    def add_channel(self, name: str, *members: str, is_private: bool = False) -> str:
        return self.slack.add_channel(name, *members, is_private=is_private)

    def add_group(self, name: str, *members: str) -> str:
        return self.slack.add_usergroup(name, *members)

    def id_of(self, what: Any) -> str:
        return what if isinstance(what, str) else str(what.ts)

    async def mention(
        self, user: str, channel: str, text: str, below: Any = None, *, files: Sequence[File] = ()
    ) -> Any:
        return await self.slack.mention(user, channel, text, below.ts if below else "", files=files)

    async def say(self, user: str, channel: str, text: str, below: Any = None) -> Any:
        return await self.slack.say(user, channel, text, below.ts if below else "")

    async def dm(self, user: str, text: str, below: Any = None) -> Any:
        return await self.slack.dm(user, text, below.ts if below else "")

    async def forward(self, user: str, message: Any, channel: str, below: Any = None) -> Any:
        forwarded = await self.slack.forward(user, message, channel, "", below.ts if below else "")
        await self.slack.until_acked(forwarded)
        return forwarded

    async def post_ticket(self, channel: str, text: str) -> Any:
        ticket = {"title": "Ticket 7", "text": text, "fields": [{"title": "From", "value": "a visitor"}]}
        bot = self.slack.add_bot("tickets")
        return await self.slack.bot_says(channel, "", bot=bot, attachments=[ticket])

    async def edit(self, message: Any, text: str) -> None:
        await self.slack.edit(message, text)

    async def erase(self, message: Any) -> None:
        await self.slack.erase(message)

    async def unfurl(self, message: Any) -> None:
        await self.slack.unfurl(message)

    async def open_again(self) -> None:
        await self.open()
        await self.slack.redeliver()

    async def bring_again(self, message: Any) -> None:
        for kind in DUPLICATES:
            await self.slack.duplicate(message, kind)

    async def press(self, message: Any, action: str, user: str, *, as_seen: Any = None) -> Any:
        return await self.slack.press(message, action, user, as_seen=as_seen)

    async def fill_in(self, pressed: Any, user: str, values: dict[str, Any]) -> None:
        form = await self.slack.until(lambda: self.slack.modal(user))
        await self.slack.submit(form, values)

    async def rate(self, message: Any, user: str, *, is_positive: bool) -> Any:
        return await self.slack.feedback(message, user, positive=is_positive)

    def replies(self, asked: Any) -> list[Any]:
        return self.slack.replies(asked.channel, asked.ts)

    def told(self, user: str) -> list[Any]:
        return self.slack.ephemerals(user)

    def buttons(self, message: Any) -> set[str]:
        return {str(element["action_id"]) for _, element in interactive(message.blocks)}

    def pings(self) -> set[tuple[str, str]]:
        return {(entity.target, shown.ts) for shown, entity in self.slack.entities() if entity.is_ping}

    def notification(self, message: Any) -> str:
        return str(message.text)

    def is_below(self, message: Any, root: Any) -> bool:
        return message.thread_ts == root.ts

    def refers_to(self, answer: Any, message: Any) -> bool:
        return answer.thread_ts == (message.thread_ts or message.ts)

    def links(self, message: Any) -> list[str]:
        return [one.target for one in message.entities if one.kind == "link"]

    def address(self, message: Any) -> str:
        place = f"{self.slack.url}/archives/{message.channel}/p{message.ts.replace('.', '')}"
        return f"{place}?thread_ts={message.thread_ts}&cid={message.channel}" if message.thread_ts else place


@dataclass
class DiscordChat(Server):
    platform = "discord"
    keeps_order = keeps_root = False
    everyone = "@everyone"
    ann: Any = None
    bob: Any = None
    general: Any = None

    def __post_init__(self) -> None:
        self.discord.hasten()
        self.ann, self.bob = self.discord.add_user("ann"), self.discord.add_user("bob")
        self.general = self.discord.add_channel("general")

    @property
    def me(self) -> str:
        return self.discord.bot.mention

    @property
    def rejected(self) -> list[str]:
        return [*self.discord.violations, *self.discord.rejected, *map(str, self.discord.failed)]

    async def kill(self) -> None:
        await super().kill()
        await self.discord.until(lambda: not self.discord.gateway.live)

    async def until(self, condition: Callable[[], T], *, within: float = PATIENCE) -> T:
        return await self.discord.until(condition, within=within)

    def add_channel(self, name: str, *members: Any, is_private: bool = False) -> Any:
        return self.discord.add_channel(name, only_for=[*members, self.discord.bot] if is_private else None)

    def add_group(self, name: str, *members: Any) -> str:
        role = self.discord.add_role(name, is_mentionable=True)
        for each in members:
            self.discord.guild.members[each.id].roles.append(role)
        return str(role.id)

    def id_of(self, what: Any) -> str:
        return str(what.id)

    async def mention(
        self, user: Any, channel: Any, text: str, below: Any = None, *, files: Sequence[File] = ()
    ) -> Any:
        return await self.discord.mention(user, self._place(user, channel, below), text, files=files)

    async def say(self, user: Any, channel: Any, text: str, below: Any = None) -> Any:
        return await self.discord.post(user, self._place(user, channel, below), text)

    def _place(self, user: Any, channel: Any, below: Any) -> Any:
        if below is None:
            return channel
        found = self.discord.thread_of(below)
        return found or self.discord.open_thread(channel, "thread", user, starter=below)

    async def dm(self, user: Any, text: str, below: Any = None) -> Any:
        return await self.discord.dm(user, text)

    async def forward(self, user: Any, message: Any, channel: Any, below: Any = None) -> Any:
        return await self.discord.forward(user, message, channel)

    async def post_ticket(self, channel: Any, text: str) -> Any:
        fields = [{"name": "Asks", "value": text, "inline": True}]
        bot = self.discord.add_user("tickets", is_bot=True)
        ticket = {"type": "rich", "title": "Ferry", "fields": fields}
        return await self.discord.post(bot, channel, "", embeds=[ticket])

    async def edit(self, message: Any, text: str) -> None:
        await self.discord.edit(message, text)

    async def erase(self, message: Any) -> None:
        await self.discord.erase(message)

    async def unfurl(self, message: Any) -> None:
        await self.discord.unfurl(message)

    async def open_again(self) -> None:
        await self.open()

    async def bring_again(self, message: Any) -> None:
        await self.discord.duplicate(message)

    async def press(self, message: Any, action: str, user: Any, *, as_seen: Any = None) -> Any:
        seen = as_seen or message
        return await self.discord.press(message, custom_ids(seen.components)[action], user, as_seen=as_seen)

    async def fill_in(self, pressed: Any, user: Any, values: dict[str, Any]) -> None:
        chosen = {"fault"}  # lists, in Discord
        sent = {name: [value] if name in chosen else value for name, value in values.items()}
        await self.discord.submit(pressed.modal, sent)

    async def rate(self, message: Any, user: Any, *, is_positive: bool) -> Any:
        return await self.press(message, "good" if is_positive else "bad", user)

    def replies(self, asked: Any) -> list[Any]:
        return self.discord.replies(asked)

    def told(self, user: Any) -> list[Any]:
        return [*self.discord.ephemerals(user), *self.discord.said(self.discord.dm_of(user))]

    def buttons(self, message: Any) -> set[str]:
        return set(custom_ids(message.components))

    def pings(self) -> set[tuple[str, str]]:
        return {
            (str(whom), str(one.id))
            for one in self.discord.pinging()
            for whom in [*one.pings.users, *one.pings.roles, *(["everyone"] if one.pings.everyone else [])]
        }

    def notification(self, message: Any) -> str:
        return str(message.visible)

    def is_below(self, message: Any, root: Any) -> bool:
        return message.channel is self.discord.thread_of(root)

    def refers_to(self, answer: Any, message: Any) -> bool:
        return answer.referenced is message

    def links(self, message: Any) -> list[str]:
        return [one.url for one in message.links]

    def address(self, message: Any) -> str:
        return f"https://discord.com/channels/{self.discord.guild.id}/{message.channel.id}/{message.id}"


@asynccontextmanager
async def open_chat(platform: str, template: Path, folder: Path) -> AsyncIterator[Chat]:
    if platform == "slack":
        async with FakeSlack() as slack, SlackChat.copied(template, folder, slack) as office:
            yield office
    else:
        async with FakeDiscord() as discord, DiscordChat.copied(template, folder, discord) as server:
            yield server

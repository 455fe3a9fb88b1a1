"""What people do in Discord."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from fakes.discord import permissions
from fakes.discord.commands import command_data
from fakes.discord.components import BUTTON, buttons, walk
from fakes.discord.forms import submitted
from fakes.discord.interactions import COMMAND, COMPONENT, SUBMIT, Interaction
from fakes.discord.message_routes import point_to
from fakes.discord.payloads import message_json
from fakes.discord.posting import add_file, show
from fakes.discord.state import Channel, Message, Modal, Revision, User
from fakes.discord.world import World

Upload = tuple[str, bytes]  #: a file's name and content
Json = dict[str, Any]


class People(World):
    """The acts of people; presses, commands and forms return when the bot has responded, or should have."""

    application_id: int
    failed: list[Interaction]
    respond_within: float
    happens: Callable[[Callable[[], Any], float], Awaitable[bool]]
    spawn: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]
    changed: Callable[[], None]

    async def mention(self, user: User, channel: Channel, text: str, **more: Any) -> Message:
        return await self.post(user, channel, f"{self.bot.mention} {text}".strip(), **more)

    async def reply(
        self, user: User, message: Message, text: str, *, ping: bool = True, **more: Any
    ) -> Message:
        """Answers a message; its author is told of it unless the person switched that off."""
        return await self.post(user, message.channel, text, to=message, ping=ping, **more)

    async def dm(self, user: User, text: str, **more: Any) -> Message:
        return await self.post(user, self.state.direct(self.bot, user), text, **more)

    async def post(
        self, user: User, channel: Channel, text: str, *, files: Sequence[Upload] = (),
        to: Message | None = None, ping: bool = True, embeds: Sequence[Json] = (), poll: Json | None = None,
        components: Sequence[Json] = (),
    ) -> Message:  # fmt: skip
        right = "send_messages_in_threads" if channel.is_thread else "send_messages"
        assert permissions.sees(channel, user), f"{user.name} does not see {channel.name}"
        assert not channel.is_locked, f"{channel.name} is locked"
        assert permissions.may(channel, user, right), f"{user.name} may not write in {channel.name}"
        message = Message(
            id=self.state.clock.snowflake(), channel=channel, author=user, content=text,
            created_at=self.state.clock.iso(), embeds=list(embeds), poll=poll, components=list(components),
        )  # fmt: skip
        message.attachments = [add_file(self, channel.id, *file) for file in files]  # type: ignore[arg-type]
        if to is not None:
            point_to(message, to)
        allowed = {"parse": ["users", "roles", "everyone"], "replied_user": ping}
        show(self, message, "create", allowed=allowed)  # type: ignore[arg-type]
        self.add(message)
        return message

    async def forward(self, user: User, message: Message, channel: Channel) -> Message:
        """Sends a copy of a message elsewhere; a client sends a word about it as another message."""
        copied = ("type", "content", "embeds", "attachments", "timestamp", "edited_timestamp", "flags",
                  "mentions", "mention_roles", "components")  # fmt: skip
        data = message_json(message)
        forward = Message(
            id=self.state.clock.snowflake(), channel=channel, author=user, created_at=self.state.clock.iso(),
            flags=1 << 14, snapshots=[{"message": {name: data[name] for name in copied}}],
            reference={"type": 1, "channel_id": str(message.channel.id), "message_id": str(message.id)},
        )  # fmt: skip
        show(self, forward, "create", allowed=None)  # type: ignore[arg-type]
        self.add(forward)
        return forward

    async def post_in_forum(self, user: User, forum: Channel, title: str, text: str, **more: Any) -> Message:
        """Opens a post; its first message, which has the thread's id, is returned."""
        thread = self.open_thread(forum, title, user)
        message = Message(
            id=thread.id, channel=thread, author=user, content=text, created_at=self.state.clock.iso()
        )
        files = more.get("files", ())
        message.attachments = [add_file(self, thread.id, *file) for file in files]  # type: ignore[arg-type]
        show(self, message, "create", allowed=None)  # type: ignore[arg-type]
        self.add(message)
        return message

    async def edit(self, message: Message, text: str) -> None:
        message.content, message.edited_at = text, self.state.clock.iso()
        show(self, message, "edit", allowed=None)  # type: ignore[arg-type]
        self.events.message(message, "MESSAGE_UPDATE")

    async def unfurl(self, message: Message, title: str = "A preview") -> None:
        """What Discord does by itself with a link: an update that is no edit."""
        assert not message.suppresses_embeds, "the message suppresses its embeds"
        message.embeds = [*message.embeds, {"type": "link", "url": message.links[0].url, "title": title}]
        self.events.message(message, "MESSAGE_UPDATE")

    async def erase(self, message: Message) -> None:
        self.remove(message)

    async def purge(self, *messages: Message) -> None:
        """What a moderator's bot deletes at once, of one channel ("Bulk Delete Messages")."""
        for each in messages:
            each.is_deleted = True
            self.state.deleted.append(each)
        self.events.messages_deleted(messages[0].channel, messages)

    async def press(
        self, message: Message, name: str, user: User, *, as_seen: Revision | None = None, wait: bool = True
    ) -> Interaction:
        """Presses a button by its label or custom id.

        ``as_seen`` is an earlier revision, for a client that has not yet seen the newest.
        """
        self._check_view(message, user)
        offered = buttons(as_seen.components if as_seen else message.components)
        found = [one for one in offered if name in (one.get("label"), one.get("custom_id"))]
        there = [(one.get("label"), one.get("custom_id")) for one in offered if not one.get("disabled")]
        assert found, f"there is no button {name}, only {there}"
        button = found[0]
        assert not button.get("disabled"), f"the button {name} is disabled"
        assert button.get("custom_id"), f"the button {name} is a link to {button.get('url')}"
        data = {"custom_id": button["custom_id"], "component_type": BUTTON, "id": button["id"]}
        return await self._act(COMPONENT, user, message.channel, data, message=message, wait=wait)

    async def choose(
        self, message: Message, custom_id: str, values: Sequence[str], user: User, *, wait: bool = True
    ) -> Interaction:
        """Picks options of a select."""
        self._check_view(message, user)
        found = [one for one in walk(message.components) if one.get("custom_id") == custom_id]
        assert found, f"there is no select {custom_id}"
        select = found[0]
        known = [one["value"] for one in select.get("options", [])]
        assert not select.get("disabled"), f"the select {custom_id} is disabled"
        assert not known or set(values) <= set(known), f"{custom_id} offers only {known}"
        data = {
            "custom_id": custom_id, "component_type": select["type"], "id": select["id"],
            "values": list(values),
        }  # fmt: skip
        return await self._act(COMPONENT, user, message.channel, data, message=message, wait=wait)

    async def submit(
        self, modal: Modal, values: Mapping[str, Any], *, wait: bool = True,
        files: Mapping[str, Sequence[tuple[str, bytes]]] = MappingProxyType({}),
    ) -> Interaction:  # fmt: skip
        """Sends a form off; ``values`` and ``files``, each a name and content, by custom id."""
        assert modal.is_open, "the form is closed"
        files = {
            name: [add_file(self, modal.interaction.channel.id, *one) for one in given]
            for name, given in files.items()
        }
        data = submitted(
            modal.payload, {**values, **{name: [str(one.id) for one in each] for name, each in files.items()}}
        )
        if attached := {str(one.id): one.as_json() for each in files.values() for one in each}:
            data["resolved"] = {"attachments": attached}
        opened_by = modal.interaction
        outcome = await self._act(
            SUBMIT, modal.user, opened_by.channel, data, message=opened_by.message, wait=wait
        )
        modal.is_open = outcome.is_failed
        return outcome

    async def slash(
        self, user: User, channel: Channel, command: str, *, wait: bool = True, **options: Any
    ) -> Interaction:
        """Runs a command that the bot has registered; a file is given as a name and content."""
        data = command_data(self, channel, user, command, options)
        return await self._act(COMMAND, user, channel, data, wait=wait)

    async def context_menu(
        self, user: User, message: Message, command: str, *, wait: bool = True
    ) -> Interaction:
        """Runs a command from a message's menu."""
        data = command_data(self, message.channel, user, command, {}, target=message)
        return await self._act(COMMAND, user, message.channel, data, wait=wait)

    async def _act(
        self, kind: int, user: User, channel: Channel, data: dict[str, Any], *,
        message: Message | None = None, wait: bool = True,
    ) -> Interaction:  # fmt: skip
        interaction = Interaction(
            id=self.state.clock.snowflake(), token=f"interaction-{uuid.uuid4().hex}", type=kind, user=user,
            channel=channel, data=data, at=self.state.clock.now(), application_id=self.application_id,
            message=message,
        )  # fmt: skip
        self.state.interactions[interaction.token] = interaction
        self.events.interaction(interaction.as_json(self.bot))
        watching = self.spawn(self._watch(interaction))
        if wait:
            await watching
        return interaction

    async def _watch(self, interaction: Interaction) -> None:
        """Takes an interaction for failed when its time is over."""
        if not await self.happens(lambda: interaction.response is not None, self.respond_within):
            interaction.is_failed = True
            self.failed.append(interaction)
            self.changed()

    def _check_view(self, message: Message, user: User) -> None:
        assert not message.is_deleted, "the message is deleted"
        assert permissions.sees(message.channel, user), f"{user.name} does not see {message.channel.name}"
        assert message.ephemeral_for in (None, user), f"{user.name} does not see this message"

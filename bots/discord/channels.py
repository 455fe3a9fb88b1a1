"""Messages in channels, threads and direct messages, as they are posted, changed and found again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from bots.discord import calls
from bots.discord.calls import DiscordCalls, DiscordRefused
from bots.discord.marks import began, mark_of, mark_on
from bots.discord.message import Message
from bots.discord.receive import thread_name

PAGE, PAGES = 100, 10  # messages of a channel that are read at a time, "Get Channel Messages", and how often
ARCHIVED_AFTER = 1_440  # minutes without a word until a thread leaves the list, "Start Thread from Message"

IS_COMPONENTS_V2, EPHEMERAL, SUPPRESS_EMBEDS = 1 << 15, 1 << 6, 1 << 2  # "Message Flags"
NOBODY: Mapping[str, Any] = {"parse": [], "replied_user": False}  # whom a message may notify

MESSAGES = "/channels/{channel_id}/messages"


def content_of(message: Message, flags: int = SUPPRESS_EMBEDS) -> dict[str, Any]:
    """What the API is given; an edit needs all of it too, or it is read with the default allowances."""
    return {
        "components": list(message.components),
        "allowed_mentions": dict(NOBODY),
        "flags": IS_COMPONENTS_V2 | flags,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordChannels:
    """Places to write in, by their ids; a handle is "channel/message". Raises DiscordRefused and Unreachable."""

    calls: DiscordCalls
    my_user_id: str

    async def post(self, place: str, message: Message, *, nonce: str, replied: str = "") -> str:
        """The handle; ``replied`` is the message that it answers, if that may be shown."""
        content = content_of(message) | {"nonce": nonce, "enforce_nonce": True}
        if replied:
            reference = {"message_reference": {"message_id": replied, "fail_if_not_exists": False}}
            try:
                return await self._send(place, content | reference)
            except DiscordRefused as refused:
                if refused.code not in (calls.NO_HISTORY, calls.INVALID_FORM):
                    raise
        return await self._send(place, content)

    async def write_to(self, user: str, message: Message, *, nonce: str) -> None:
        """In a direct message."""
        talk = await self.calls.call("POST", "/users/@me/channels", json={"recipient_id": user})
        await self.post(talk["id"], message, nonce=nonce)

    async def edit(self, handle: str, message: Message) -> None:
        """A thread that went to sleep has to be woken first; a new message would wake it by itself."""
        try:
            await self._edit(handle, message)
        except DiscordRefused as refused:
            if refused.code != calls.IS_ARCHIVED:
                raise
            thread = handle.partition("/")[0]
            await self.calls.call(
                "PATCH", "/channels/{channel_id}", channel_id=thread, json={"archived": False}
            )
            await self._edit(handle, message)

    async def open_thread(self, channel: str, message: str, title: str) -> None:
        """On a message, whose id it then has; nothing where there is one."""
        try:
            await self.calls.call(
                "POST",
                f"{MESSAGES}/{{message_id}}/threads",
                channel_id=channel,
                message_id=message,
                json={"name": thread_name(title), "auto_archive_duration": ARCHIVED_AFTER},
            )
        except DiscordRefused as refused:
            if refused.code != calls.THREAD_EXISTS:
                raise

    async def find(self, place: str, turn: str, part: int) -> str | None:
        """The id of a message of ours; what a turn says comes after what began it."""
        wanted = mark_of(turn, part)
        async for message in self._messages(place, after=began(turn)):
            if mark_on(message) == wanted and message["author"]["id"] == self.my_user_id:
                return str(message["id"])
        return None

    async def _send(self, place: str, content: Mapping[str, Any]) -> str:
        made: Any = await self.calls.call("POST", MESSAGES, channel_id=place, json=dict(content))
        return f"{place}/{made['id']}"

    async def _edit(self, handle: str, message: Message) -> None:
        channel, _, own = handle.partition("/")
        path = f"{MESSAGES}/{{message_id}}"
        await self.calls.call("PATCH", path, channel_id=channel, message_id=own, json=content_of(message))

    async def _messages(self, place: str, *, after: str) -> AsyncIterator[dict[str, Any]]:
        """Of a channel, oldest first."""
        for _ in range(PAGES):
            page: list[dict[str, Any]] = await self.calls.call(
                "GET", MESSAGES, channel_id=place, limit=PAGE, after=after
            )
            for message in reversed(page):
                yield message
            if len(page) < PAGE:
                return
            after = page[0]["id"]

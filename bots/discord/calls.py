"""Calls to Discord's REST API through discord.py, which keeps the rate limits and repeats what failed.

A repeated post is safe: its nonce makes Discord give back the first one.

A small memory of what is newest.

How a message of ours is known again: the nonce for some minutes, a mark in the message for ever.

Messages in channels, threads and direct messages, as they are posted, changed and found again.

What presses, forms and commands are answered themselves: at once, or privately for 15 minutes.
"""

from __future__ import annotations

import asyncio
from base64 import b32encode
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakValueDictionary

from bots.chat.platform import Refused
from bots.discord.receive import thread_name
from bots.discord.render import Message
from bots.discord.route import InteractionToken
from core.turns.messenger import Unreachable

if TYPE_CHECKING:
    from discord.errors import HTTPException
    from discord.http import HTTPClient

TIMEOUT = 30.0  # seconds for one try; discord.py would wait for five minutes

#: Error codes that decide what is done next, "Opcodes and Status Codes".
UNKNOWN_CHANNEL, UNKNOWN_MESSAGE, UNKNOWN_INTERACTION = "10003", "10008", "10062"
MISSING_ACCESS, MISSING_PERMISSIONS, NO_HISTORY = "50001", "50013", "160002"
CANNOT_MESSAGE_USER, ALREADY_ACKNOWLEDGED, IS_ARCHIVED = "50007", "40060", "50083"
THREAD_EXISTS, INVALID_FORM, BAD_TOKEN = "160004", "50035", "50027"


class DiscordRefused(Refused):
    """Discord will never do this; ``code`` is its error code, as a string."""


@dataclass(frozen=True, slots=True)
class DiscordCalls:
    """The REST API for one bot."""

    http: HTTPClient
    #: By route: discord.py lets others of a route pass while one waits for its Retry-After.
    _turns: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    async def call(self, method: str, path: str, /, *, json: Any = None, **within: Any) -> Any:
        """What Discord answers. ``path`` names ids as ``{channel_id}``; those in ``within`` that it does not
        name go into the query. Raises DiscordRefused and Unreachable.
        """
        from aiohttp import ClientError, ClientTimeout
        from discord.errors import HTTPException
        from discord.http import Route

        named = {name: within.pop(name) for name in list(within) if f"{{{name}}}" in path}
        more = ({"json": json} if json is not None else {}) | ({"params": within} if within else {})
        route = Route(method, path, **named)
        turn = self._turns.setdefault(f"{method} {route.url}", asyncio.Lock())
        try:
            async with turn:
                return await self.http.request(route, **more, timeout=ClientTimeout(total=TIMEOUT))
        except HTTPException as error:
            if _may_pass(error):
                raise Unreachable from error
            raise DiscordRefused(str(error.code or error.status)) from error
        except (ClientError, TimeoutError, OSError) as error:
            raise Unreachable from error


def _may_pass(error: HTTPException) -> bool:
    """Whether it is no answer to the request: trouble of Discord's, or a token that was replaced meanwhile."""
    is_of_discord = bool(error.code)
    return error.status >= 500 or error.status == 429 or (error.status in (401, 403) and not is_of_discord)


KEPT = 1_000  # threads, commands and interactions that are known of

Kept = TypeVar("Kept")


def keep(known: dict[str, Kept], key: str, new: Kept) -> None:
    """Only the newest are kept."""
    known[key] = new
    if len(known) > KEPT:
        del known[next(iter(known))]


NONCE = 24  # characters; 25 at most, "Create Message"


def nonce_of(turn: str, part: int) -> str:
    return b32encode(sha256(f"{turn}/{part}".encode()).digest()).decode()[:NONCE]


def mark_of(turn: str, part: int) -> int:
    """The id of the first component of a message, by which it is found again; 31 bits, "Component"."""
    return 1 + int.from_bytes(sha256(f"mark/{turn}/{part}".encode()).digest()[:4]) % (2**31 - 1)


def marked(message: Message, turn: str, part: int) -> Message:
    first, *others = message.components
    return Message(text=message.text, components=({**first, "id": mark_of(turn, part)}, *others))


def mark_on(message: Mapping[str, Any]) -> int | None:
    first: Mapping[str, Any] = next(iter(message.get("components") or ()), {})
    return first.get("id")


def began(turn: str) -> str:
    """The id of the message or the interaction that a turn began with: ``discord/server/channel/id~2``."""
    return turn.split("/")[3].partition("~")[0]


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
                if refused.code not in (NO_HISTORY, INVALID_FORM):
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
            if refused.code != IS_ARCHIVED:
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
            if refused.code != THREAD_EXISTS:
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


MESSAGE, UPDATE_LATER, MODAL = 4, 6, 9  # "Interaction Callback Type"


@dataclass(slots=True, kw_only=True)
class DiscordResponses:
    """Raises DiscordRefused and Unreachable."""

    calls: DiscordCalls
    my_user_id: str
    _first: dict[str, asyncio.Task[Any]] = field(default_factory=dict)  #: by interaction

    async def give(
        self, interaction: InteractionToken, kind: int, data: Mapping[str, Any] | None = None
    ) -> None:
        """The first response; it has three seconds, and what follows waits for it."""
        response = self.calls.call(
            "POST",
            "/interactions/{webhook_id}/{webhook_token}/callback",
            webhook_id=interaction["id"],
            webhook_token=interaction["token"],
            json={"type": kind} | ({"data": data} if data else {}),
        )
        responding = asyncio.create_task(response)
        keep(self._first, interaction["id"], responding)
        await responding

    async def send_ephemeral(self, interaction: InteractionToken, message: Message) -> None:
        """Only whoever pressed sees it."""
        content = content_of(message, EPHEMERAL)
        if first := self._first.get(interaction["id"]):
            await asyncio.wait([first])
        else:
            try:
                await self.give(interaction, MESSAGE, content)
                return
            except DiscordRefused as refused:
                if refused.code != ALREADY_ACKNOWLEDGED:
                    raise
        path = "/webhooks/{webhook_id}/{webhook_token}"
        await self.calls.call(
            "POST", path, webhook_id=self.my_user_id, webhook_token=interaction["token"], json=content
        )

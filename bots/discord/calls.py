"""Discord's REST API: calls with retries and rate limits, messages, and responses to interactions.

discord.py keeps the rate limits and repeats what failed. A repeated post is safe for some minutes, as its
nonce makes Discord return the first one. Later a message is found by its mark, an id inside it. A run that goes
on in another process changes nothing any more.
"""

from __future__ import annotations

import asyncio
import re
from base64 import b32encode
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar
from weakref import WeakValueDictionary

from bots.chat.platform import Refused
from bots.chat.texts import clipped
from bots.discord.render import Message
from bots.discord.route import InteractionToken, origin_of
from core.characters import plain
from core.turns.messenger import Unreachable
from core.turns.replicas import OWNERSHIP

if TYPE_CHECKING:
    from discord.http import HTTPClient

THREAD_NAME = 90  # characters; 100 are allowed, "Start Thread from Message"
NONCE = 24  # characters; 25 at most, "Create Message"
MESSAGES_PAGE = 100  # messages of a channel that are read at a time, "Get Channel Messages"
TIMEOUT = 30.0  # seconds for one try; discord.py would wait for five minutes
PARTS = 25  # messages of one outcome that are looked for
PAGES = 10  # pages of a channel that are searched for a message
ARCHIVED_AFTER = 1_440  # minutes of silence until a thread leaves the list, "Start Thread from Message"
REMEMBERED = 1_000  # threads, commands and interactions

#: Error codes that decide what is done next, "Opcodes and Status Codes".
UNKNOWN_CHANNEL, UNKNOWN_MESSAGE = "10003", "10008"
NO_HISTORY, ALREADY_ACKNOWLEDGED, IS_ARCHIVED, THREAD_EXISTS, INVALID_FORM = (
    "160002",
    "40060",
    "50083",
    "160004",
    "50035",
)

IS_COMPONENTS_V2, EPHEMERAL, SUPPRESS_EMBEDS = 1 << 15, 1 << 6, 1 << 2  # "Message Flags"
MESSAGE, LATER, UPDATE_LATER, MODAL = 4, 5, 6, 9  # "Interaction Callback Type"
NO_MENTIONS: Mapping[str, Any] = {"parse": [], "replied_user": False}  # a message notifies nobody

CHANNEL = "/channels/{channel_id}"
MESSAGES = f"{CHANNEL}/messages"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DiscordCalls:
    """The REST API for one bot."""

    http: HTTPClient
    #: By route: discord.py lets other calls of a route overtake one that waits for its Retry-After.
    _locks: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    async def call(self, method: str, path: str, /, *, json: Any = None, **parameters: Any) -> Any:
        """Parameters that ``path`` names go into it. Raises Refused with Discord's error code, and Unreachable."""
        from aiohttp import ClientError, ClientTimeout
        from discord.errors import HTTPException
        from discord.http import Route

        ids = {name: parameters.pop(name) for name in list(parameters) if f"{{{name}}}" in path}
        content = {"json": json} if json is not None else {}
        content |= {"params": parameters} if parameters else {}
        route = Route(method, path, **ids)
        lock = self._locks.setdefault(f"{method} {route.url}", asyncio.Lock())
        try:
            async with lock:
                if method != "GET":
                    await OWNERSHIP.get().confirm()
                return await self.http.request(route, **content, timeout=ClientTimeout(total=TIMEOUT))
        except HTTPException as error:
            # Trouble at Discord, a proxy's refusal, or a token that was replaced meanwhile.
            is_foreign = error.status in (401, 403) and not error.code  # Discord itself gives a code
            if error.status >= 500 or error.status == 429 or is_foreign:
                raise Unreachable from error
            raise Refused(str(error.code or error.status), error.text) from error
        except (ClientError, TimeoutError, OSError) as error:
            raise Unreachable from error


def remember(known: dict[str, T], key: str, new: T) -> None:
    """Remember a value; only the newest are kept."""
    known[key] = new
    if len(known) > REMEMBERED:
        del known[next(iter(known))]


def nonce_of(turn: str, part: int) -> str:
    return b32encode(sha256(f"{turn}/{part}".encode()).digest()).decode()[:NONCE]


def mark_of(turn: str, part: int) -> int:
    """The id of a message's first component, which marks its turn and part; 31 bits, "Component"."""
    return 1 + int.from_bytes(sha256(f"mark/{turn}/{part}".encode()).digest()[:4]) % (2**31 - 1)


def add_mark(message: Message, turn: str, part: int) -> Message:
    first, *others = message.components
    return replace(message, components=({**first, "id": mark_of(turn, part)}, *others))


def mark_in(message: Mapping[str, Any], author: str) -> int:
    """The mark of a message of this author; 0 for one of another or of another shape."""
    try:
        return int(message["components"][0]["id"]) if message["author"]["id"] == author else 0
    except (LookupError, TypeError, ValueError):
        return 0


def is_note(message: Mapping[str, Any]) -> bool:
    """True if a message of ours shows progress: a note ends in "…", and nothing final does."""
    return str(message["components"][-1].get("content", "")).rstrip().endswith("…")


def content_of(message: Message, flags: int = SUPPRESS_EMBEDS) -> dict[str, Any]:
    """The message as the API takes it; an edit without ``allowed_mentions`` would notify people."""
    users = [one.id for one in message.pings if not one.is_group]
    roles = [one.id for one in message.pings if one.is_group]
    named = {"users": users, "roles": roles} if message.pings else {}
    return {
        "components": list(message.components),
        "allowed_mentions": {**NO_MENTIONS, **named},
        "flags": IS_COMPONENTS_V2 | flags,
    }


class Handle(NamedTuple):
    """A message, and the channel or thread that holds it."""

    channel: str
    message: str

    def __str__(self) -> str:
        return f"{self.channel}/{self.message}"

    @classmethod
    def parse(cls, handle: str) -> Self:
        channel, _, message = handle.partition("/")
        return cls(channel, message)

    @property
    def ids(self) -> Mapping[str, str]:
        """The parameters of a path of the API."""
        return {"channel_id": self.channel, "message_id": self.message}


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordChannels:
    """Messages in channels and threads, by the texts of their handles. Raises Refused and Unreachable."""

    calls: DiscordCalls
    my_user_id: str

    async def post(self, channel: str, message: Message, *, nonce: str, reply_to: str = "") -> str:
        """The handle; the post is no reply where the bot may not read ``reply_to``."""
        content = content_of(message) | {"nonce": nonce, "enforce_nonce": True}
        shown: Any = None
        if reply_to:
            reference = {"message_reference": {"message_id": reply_to, "fail_if_not_exists": False}}
            try:
                shown = await self._reopening(channel, partial(self._post, channel, content | reference))
            except Refused as refused:
                if refused.code not in (NO_HISTORY, INVALID_FORM):
                    raise
        shown = shown or await self._reopening(channel, partial(self._post, channel, content))
        handle = str(Handle(channel, shown["id"]))
        if is_note(shown) and not is_note(content):  # the first sign, of the same nonce, whose reply was lost
            await self.edit(handle, message)
        return handle

    async def edit(self, handle: str, message: Message) -> None:
        there, path, content = Handle.parse(handle), f"{MESSAGES}/{{message_id}}", content_of(message)
        edit = partial(self.calls.call, "PATCH", path, **there.ids, json=content)
        await self._reopening(there.channel, edit)

    async def delete(self, handle: str) -> None:
        await self.calls.call("DELETE", f"{MESSAGES}/{{message_id}}", **Handle.parse(handle).ids)

    async def _reopening(self, thread: str, act: Callable[[], Awaitable[T]]) -> T:
        """Reopen a thread that is archived and try again: an edit does not reopen it."""
        try:
            return await act()
        except Refused as refused:
            if refused.code != IS_ARCHIVED:
                raise
            await self.calls.call("PATCH", CHANNEL, channel_id=thread, json={"archived": False})
            return await act()

    async def open_thread(self, channel: str, message: str, title: str) -> None:
        """Open a thread on a message, unless it has one; the thread gets the message's id."""
        try:
            path = f"{MESSAGES}/{{message_id}}/threads"
            content = {"name": thread_name(title), "auto_archive_duration": ARCHIVED_AFTER}
            await self.calls.call("POST", path, channel_id=channel, message_id=message, json=content)
        except Refused as refused:
            if refused.code != THREAD_EXISTS:
                raise

    async def find(self, channel: str, turn: str, part: int) -> str | None:
        """The id of a message of the bot, among those after the start of the turn."""
        mark = mark_of(turn, part)
        async for message in self._messages(channel, after=origin_of(turn)):
            if mark_in(message, self.my_user_id) == mark:
                return str(message["id"])
        return None

    async def doubles(self, channel: str, turn: str) -> list[str]:
        """The handles of messages of a turn beside the oldest one of each part that is no note of progress."""
        shown: dict[int, list[Mapping[str, Any]]] = {mark_of(turn, part): [] for part in range(PARTS)}
        async for message in self._messages(channel, after=origin_of(turn)):
            shown.get(mark_in(message, self.my_user_id), []).append(message)
        ended = [each for each in shown.values() if not all(map(is_note, each))]
        kept = {next(each["id"] for each in messages if not is_note(each)) for messages in ended}
        doubled = (each["id"] for part in ended for each in part if each["id"] not in kept)
        return [str(Handle(channel, each)) for each in doubled]

    async def _post(self, channel: str, content: Mapping[str, Any]) -> Any:
        return await self.calls.call("POST", MESSAGES, channel_id=channel, json=dict(content))

    async def _messages(self, channel: str, *, after: str) -> AsyncIterator[dict[str, Any]]:
        for _ in range(PAGES):
            page: list[dict[str, Any]] = await self.calls.call(
                "GET", MESSAGES, channel_id=channel, limit=MESSAGES_PAGE, after=after
            )
            for message in reversed(page):
                yield message
            if len(page) < MESSAGES_PAGE:
                return
            after = page[0]["id"]


@dataclass(slots=True, kw_only=True)
class DiscordResponses:
    """Responses to interactions: at once, or privately for 15 minutes. Raises Refused and Unreachable."""

    calls: DiscordCalls
    my_user_id: str
    _first: dict[str, asyncio.Task[Any]] = field(default_factory=dict)  #: by interaction

    async def respond(
        self, interaction: InteractionToken, kind: int, data: Mapping[str, Any] | None = None
    ) -> None:
        """The first response; it has three seconds, and later ones wait for it."""
        response = self.calls.call(
            "POST", "/interactions/{webhook_id}/{webhook_token}/callback", webhook_id=interaction["id"],
            webhook_token=interaction["token"], json={"type": kind} | ({"data": data} if data else {}),
        )  # fmt: skip
        task = asyncio.create_task(response)
        remember(self._first, interaction["id"], task)
        await task

    async def defer(self, interaction: InteractionToken) -> None:
        """Show one person that an answer will come, once; in any process."""
        if first := self._first.get(interaction["id"]):
            await asyncio.wait([first])
            return
        try:
            await self.respond(interaction, LATER, {"flags": EPHEMERAL})
        except Refused as refused:
            if refused.code != ALREADY_ACKNOWLEDGED:
                raise

    async def answer(self, interaction: InteractionToken, part: int, message: Message) -> None:
        """Replace the deferred response or the pressed message; what does not fit follows in messages."""
        if first := self._first.get(interaction["id"]):
            await asyncio.wait([first])
        token = {"webhook_id": self.my_user_id, "webhook_token": interaction["token"]}
        path, method = "/webhooks/{webhook_id}/{webhook_token}", "POST"
        content = content_of(message, EPHEMERAL)
        if part == 0:
            path, method, content = f"{path}/messages/@original", "PATCH", content_of(message)
        await self.calls.call(method, path, **token, json=content)

    async def send_ephemeral(self, interaction: InteractionToken, message: Message) -> None:
        content = content_of(message, EPHEMERAL)
        if first := self._first.get(interaction["id"]):
            await asyncio.wait([first])
        else:
            try:
                await self.respond(interaction, MESSAGE, content)
                return
            except Refused as refused:
                if refused.code != ALREADY_ACKNOWLEDGED:
                    raise
        path = "/webhooks/{webhook_id}/{webhook_token}"
        token = {"webhook_id": self.my_user_id, "webhook_token": interaction["token"]}
        await self.calls.call("POST", path, **token, json=content)


_CODE_BLOCK = re.compile(r"```(?:[\w+#-]*\n)?(.*?)(?:```|\Z)", re.DOTALL)
#: What Markdown, mentions and emoji leave in a name that shows none of them.
_MARKS = re.compile(
    r"(?m)^\s*(?:#{1,3}|-#|>{1,3}|[-*])\s+|\*+(?=\S)|(?<=\S)\*+|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)|~~|\|\||`+"
    r"|(?<!\w):\w{2,}:(?!\w)|(?<![\w/.])@(?=\w)"
)
_LINK = re.compile(r"\[([^\]\n]+)\]\(<?https?://[^)\s]+\)|<(https?://[^>\s]+)>")


def thread_name(text: str) -> str:
    """The question as the name of its thread: in plain words, without code if there are others."""
    text = plain(text)  # a mark of writing direction would turn what stands beside the name
    for words in (_CODE_BLOCK.sub(" ", text), _CODE_BLOCK.sub(r" \1 ", text)):
        name = _MARKS.sub("", _LINK.sub(lambda link: link[1] or link[2], words))
        if any(sign.isalnum() for sign in name):
            return clipped(name, THREAD_NAME)
    return clipped(text, THREAD_NAME)

"""Saying a thing once: every message carries the turn and part it is, and is looked for before it is repeated."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, TypedDict, cast

from bots.slack.calls import Reply, SlackCalls, SlackRefused, Unsure
from bots.slack.read import Address
from bots.slack.write import Message
from core.turns import Unreachable

logger = logging.getLogger(__name__)

EVENT_TYPE = "footnote_turn"  # of the metadata that every message of ours carries
PAGE = 200  # messages of a thread that are read at a time, "conversations.replies" recommends no more
PAGES = 10  # of a thread that are looked through
LOOKS = 4  # times a post whose reply was lost is looked for and made again
PAUSE = 0.5  # seconds before each

#: Slack lost or locked what was to be changed: it is said anew.
_GONE = frozenset({"message_not_found", "cant_update_message", "edit_window_closed"})
#: It does not like the layout: the words alone will do.
_MALFORMED = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long"})


class Mark(TypedDict):
    """What a message of ours is, as its metadata says."""

    turn: str
    part: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Posts:
    """Messages in threads, by the turn and part they are."""

    calls: SlackCalls

    async def say(self, address: Address, turn: str, part: int, message: Message, *, is_again: bool) -> str:
        """The message's timestamp. ``is_again``: it may be there already, and is looked for."""
        for attempt in range(LOOKS):
            if is_again and (found := await self.find(address, turn, part)):
                return found
            try:
                return str((await self._post(address, turn, part, message))["ts"])
            except Unsure:
                is_again = True
                await asyncio.sleep(PAUSE * attempt)
        raise Unreachable

    async def change(self, address: Address, ts: str, turn: str, part: int, message: Message) -> None:
        """Put a message in the place of one; said anew where that one is gone."""
        content = _content(message) | _marked(turn, part)
        try:
            await self.calls.call("chat.update", channel=address["channel"], ts=ts, **content)
        except SlackRefused as refused:
            if refused.code in _MALFORMED:
                logger.exception("layout refused", extra={"turn": turn})
                plain = _content(Message(text=message.text, blocks=())) | _marked(turn, part)
                await self.calls.call("chat.update", channel=address["channel"], ts=ts, **plain)
            elif refused.code in _GONE:
                await self.say(address, turn, part, message, is_again=False)
            else:
                raise

    async def find(self, address: Address, turn: str, part: int = 0) -> str | None:
        """The timestamp of a message of ours in this thread."""
        wanted = _marked(turn, part)["metadata"]["event_payload"]
        async for message in self._ours(address):
            if _mark_of(message) == wanted:
                return str(message["ts"])
        return None

    async def find_button(self, address: Address, value: str) -> tuple[str, Mark] | None:
        """The message of ours with a button of this value: its timestamp, and which turn and part it is."""
        async for message in self._ours(address):
            if value in _button_values(message):
                return str(message["ts"]), cast("Mark", _mark_of(message))
        return None

    async def _ours(self, address: Address) -> AsyncIterator[Reply]:
        cursor = ""
        for _ in range(PAGES):
            more: dict[str, Any] = {"cursor": cursor} if cursor else {}
            reply = await self.calls.call(
                "conversations.replies",
                channel=address["channel"],
                ts=address["thread"],
                include_all_metadata="true",
                limit=PAGE,
                **more,
            )
            for message in reply.get("messages", ()):
                if _mark_of(message):
                    yield message
            cursor = (reply.get("response_metadata") or {}).get("next_cursor") or ""
            if not cursor:
                return

    async def whisper(self, address: Address, message: Message) -> None:
        """Only the one who spoke or pressed sees it; never the only copy of an answer."""
        await self.calls.call(
            "chat.postEphemeral",
            channel=address["channel"],
            thread_ts=address["thread"],
            user=address["user"],
            **_content(message),
        )

    async def _post(self, address: Address, turn: str, part: int, message: Message) -> Reply:
        place = {"channel": address["channel"], "thread_ts": address["thread"]}
        content = {"unfurl_links": False, "unfurl_media": False} | _marked(turn, part)
        try:
            return await self.calls.call(
                "chat.postMessage", is_repeatable=False, **place, **content, **_content(message)
            )
        except SlackRefused as refused:
            if refused.code not in _MALFORMED:
                raise
            logger.exception("layout refused", extra={"turn": turn})
            plain = _content(Message(text=message.text, blocks=()))
            return await self.calls.call("chat.postMessage", is_repeatable=False, **place, **content, **plain)


def _content(message: Message) -> dict[str, Any]:
    return {"text": message.text, "blocks": list(message.blocks)}


def _marked(turn: str, part: int) -> dict[str, Any]:
    return {"metadata": {"event_type": EVENT_TYPE, "event_payload": {"turn": turn, "part": part}}}


def _mark_of(message: Reply) -> Any:
    metadata = message.get("metadata") or {}
    return metadata.get("event_payload") if metadata.get("event_type") == EVENT_TYPE else None


def _button_values(message: Reply) -> set[str]:
    elements = (element for block in message.get("blocks") or () for element in block.get("elements") or ())
    return {str(element["value"]) for element in elements if isinstance(element, dict) and "value" in element}

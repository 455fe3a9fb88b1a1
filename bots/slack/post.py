"""Posts each message once: its metadata names its turn and part, by which it is found before it is repeated."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from bots.chat.texts import clipped
from bots.slack.calls import Reply, SlackCalls, SlackRefused, Unsure
from bots.slack.render import Message
from bots.slack.route import spoken
from core.conversation import ThreadMessage
from core.turns.messenger import ReplyRoute, Unreachable

logger = logging.getLogger(__name__)

EVENT_TYPE = "footnote_turn"  # of the metadata of our messages
PAGE = 200  # messages of a thread that are read at a time, as "conversations.replies" recommends
PAGES = 10  # of a thread that are looked through
LOOKS = 4  # tries of a post whose reply was lost
PAUSE = 0.5  # seconds before each

THREAD_CONTEXT = 20  # messages of a thread that are read when the bot is called into it
MESSAGE_LENGTH = 500  # characters of each

#: Errors of an app that will never have a native status.
_NO_STATUS = frozenset({"missing_scope", "unknown_method", "not_allowed_token_type"})

#: Errors of a message that cannot be changed any more: it is posted again.
_GONE = frozenset({"message_not_found", "cant_update_message", "edit_window_closed"})
#: Errors that the operator can fix; the message is kept until then.
_MENDABLE = frozenset(
    {"missing_scope", "invalid_auth", "token_revoked", "token_expired", "account_inactive", "not_authed"}
)
#: Errors of the layout: the text alone is posted.
_MALFORMED = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long"})


@dataclass(slots=True, kw_only=True)
class SlackPosts:
    """Our messages in threads, by their turn and part."""

    calls: SlackCalls
    my_user_id: str
    _has_status: bool = True  #: whether this app may set the native status

    async def say(self, route: ReplyRoute, turn: str, part: int, message: Message, *, is_again: bool) -> str:
        """Post a message and return its timestamp. ``is_again``: it may be there already, so look first."""
        for attempt in range(LOOKS):
            if is_again and (found := await self.find(route, turn, part)):
                return found
            try:
                return str((await self._post(route, turn, part, message))["ts"])
            except Unsure:
                is_again = True
                await asyncio.sleep(PAUSE * attempt)
        raise Unreachable

    async def change(self, route: ReplyRoute, ts: str, turn: str, part: int, message: Message) -> None:
        """Replace a message; post it again if it is gone."""
        try:
            await self.calls.call(
                "chat.update", channel=route["channel"], ts=ts, **_content(message, turn, part)
            )
        except SlackRefused as refused:
            if refused.code in _MALFORMED:
                logger.exception("layout refused", extra={"turn": turn})
                plain = _content(Message(text=message.text), turn, part)
                await self.calls.call("chat.update", channel=route["channel"], ts=ts, **plain)
            elif refused.code in _GONE:
                await self.say(route, turn, part, message, is_again=False)
            else:
                raise

    async def find(self, route: ReplyRoute, turn: str, part: int = 0) -> str | None:
        """The timestamp of one of our messages in this thread."""
        async for message in self._thread(route):
            metadata = message.get("metadata") or {}
            payload = metadata.get("event_payload")
            if metadata.get("event_type") == EVENT_TYPE and payload == {"turn": turn, "part": part}:
                return str(message["ts"])
        return None

    async def thread_context(self, route: ReplyRoute) -> tuple[ThreadMessage, ...]:
        """The thread's first message and the newest before the mention."""
        if route["thread"] == route["message"]:
            return ()
        first: list[ThreadMessage] = []
        others: deque[ThreadMessage] = deque(maxlen=THREAD_CONTEXT - 1)
        async for message in self._thread(route, latest=route["message"]):
            if message["ts"] != route["message"] and (read := self._thread_message(message)):
                (others if first else first).append(read)
        return (*first, *others)

    def _thread_message(self, message: Reply) -> ThreadMessage | None:
        author = message.get("user") or message.get("username") or message.get("bot_id") or "somebody"
        text = spoken(message.get("text") or "", self.my_user_id).text
        is_read = text and author != self.my_user_id
        return ThreadMessage(author=str(author), text=clipped(text, MESSAGE_LENGTH)) if is_read else None

    async def _thread(self, route: ReplyRoute, **within: str) -> AsyncIterator[Reply]:
        cursor = ""
        for _ in range(PAGES):
            more: dict[str, Any] = {**within, "cursor": cursor} if cursor else dict(within)
            reply = await self.calls.call(
                "conversations.replies",
                channel=route["channel"],
                ts=route["thread"],
                include_all_metadata="true",
                limit=PAGE,
                **more,
            )
            for message in reply.get("messages", ()):
                yield message
            cursor = (reply.get("response_metadata") or {}).get("next_cursor") or ""
            if not cursor:
                return

    async def send_ephemeral(self, route: ReplyRoute, message: Message) -> None:
        """Only the one who spoke or pressed sees it; never the only copy of an answer."""
        await self.calls.call(
            "chat.postEphemeral",
            channel=route["channel"],
            thread_ts=route["thread"],
            user=route["user"],
            text=message.text,
            blocks=list(message.blocks),
        )

    async def send_direct(self, route: ReplyRoute, turn: str, message: Message) -> None:  # noqa: ARG002 - others need the turn
        await self.send_ephemeral(route, message)

    async def open_editor(self, route: ReplyRoute, editor: Any) -> None:
        await self.calls.call("views.open", trigger_id=route.get("trigger", ""), view=editor)

    async def set_status(self, route: ReplyRoute, status: str) -> None:
        if not self._has_status:
            return
        thread: dict[str, Any] = {"channel_id": route["channel"], "thread_ts": route["thread"]}
        try:
            await self.calls.call("assistant.threads.setStatus", **thread, status=status)
        except SlackRefused as refused:
            # An app that is no agent has none; its first message says the same.
            logger.info("no native status", extra={"reason": refused.code})
            self._has_status = refused.code not in _NO_STATUS

    async def _post(self, route: ReplyRoute, turn: str, part: int, message: Message) -> Reply:
        thread = {
            "channel": route["channel"], "thread_ts": route["thread"], "unfurl_links": False, "unfurl_media": False
        }  # fmt: skip
        try:
            return await self.calls.call(
                "chat.postMessage", is_repeatable=False, **thread, **_content(message, turn, part)
            )
        except SlackRefused as refused:
            if refused.code in _MENDABLE:
                logger.exception("the app may not write; `footnote doctor slack` says why")
                raise Unreachable from refused
            if refused.code not in _MALFORMED:
                raise
            logger.exception("layout refused", extra={"turn": turn})
            plain = _content(Message(text=message.text), turn, part)
            return await self.calls.call("chat.postMessage", is_repeatable=False, **thread, **plain)


def _content(message: Message, turn: str, part: int) -> dict[str, Any]:
    metadata = {"event_type": EVENT_TYPE, "event_payload": {"turn": turn, "part": part}}
    return {"text": message.text, "blocks": list(message.blocks), "metadata": metadata}

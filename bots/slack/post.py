"""Posts each message once: its metadata names its turn and part, and it is looked for before a retry."""

import asyncio
import logging
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from bots.chat.platform import THREAD_CONTEXT, ProgressNote, Refused, Said, Unreadable
from bots.slack import parts
from bots.slack.calls import MissingScope, Reply, SlackCalls, SlackRefused, Unsure
from bots.slack.content import said, thread_message
from bots.slack.render import LAYOUT, Message
from bots.slack.sessions import PLANS, PlanStream, SessionStatus, SlackSessions, streamed
from core.conversation import ThreadMessage
from core.turns.messenger import ReplyRoute, Unreachable
from core.wording import Wording

logger = logging.getLogger(__name__)

EVENT_TYPE = "footnote_turn"  # of the metadata of our messages
SIGN = -1  # the part of a sign of work that is a message
# Handles of signs: the status, perhaps with a plan; a stream, before its timestamp.
STATUS, STREAM = "status", "stream "
PAGE = 200  # messages of a thread that are read at a time, as "conversations.replies" recommends
PAGES = 10  # of a thread that are looked through
LOOKS = 4  # tries of a post whose reply was lost
PAUSE = 0.5  # seconds before each

#: Errors of a message that cannot be changed any more: it is posted again.
_GONE = frozenset({"message_not_found", "cant_update_message", "edit_window_closed"})
#: What is in the way, by Slack's error -> the sentence that says so, "chat.postMessage" and "chat.update".
_OBSTACLES: Mapping[str, str] = {
    "channel_not_found": "channel_gone",
    "thread_not_found": "channel_gone",
    "is_archived": "channel_archived",
    "is_inactive": "channel_archived",
    "not_in_channel": "not_a_member",
}
#: How the errors of other preferences of a workspace begin.
_RESTRICTED = ("restricted_action", "thread_locked", "cannot_reply_to_message")
#: Errors of the layout: the text alone is posted.
_MALFORMED = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long"})


@dataclass(slots=True, kw_only=True)
class SlackPosts:
    """Our messages in threads, by their turn and part."""

    calls: SlackCalls
    unreadable: Unreadable = field(default_factory=Unreadable)
    sessions: SlackSessions = field(init=False)
    #: Signs that this process showed and that still stand, by turn; a message has no plan.
    _signs: dict[str, PlanStream | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sessions = SlackSessions(calls=self.calls)

    async def say(self, route: ReplyRoute, turn: str, part: int, message: Message, *, is_again: bool) -> str:
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
        try:
            await self._update(route, ts, turn, part, message)
        except SlackRefused as refused:
            if refused.code not in _GONE:
                raise
            await self.say(route, turn, part, message, is_again=False)

    async def begin(self, route: ReplyRoute, turn: str, work: ProgressNote, *, is_again: bool) -> str:
        """The status alone; before a search is sent, or where no status is shown, a plan at once, and where there is none
        either, a message: so it is known that the answer can be shown there.
        """
        if is_again:
            written, others = await self._look(route, turn, SIGN)
            await self._delete_all(route, others)
            if written:
                return written
        plan = PlanStream(first=work)
        is_shown = await self.sessions.set_status(route, "processing", work.sentence)
        if is_shown and work.stage != "searching":
            handle = STATUS
        elif await self.sessions.start_plan(route, plan, work) and plan.ts:
            handle = f"{STREAM}{plan.ts}"
        elif is_shown and not self.sessions.has(route, PLANS):
            handle = STATUS
        else:
            try:
                handle = await self.say(route, turn, SIGN, LAYOUT.note(work.sentence), is_again=False)
            except SlackRefused:
                await self.sessions.rest(route, "active")
                raise
        if plan.ts != "":  # else a stream may stand there, to be looked for at the end
            self._signs[turn] = plan if handle == STATUS or plan.ts else None
        return handle

    async def progress(
        self, route: ReplyRoute, handle: str, turn: str, work: ProgressNote, *, is_new: bool
    ) -> None:
        plan = self._signs.get(turn)
        if plan and plan.ts:
            if is_new:
                await self.sessions.update_plan(route, plan, work)
        elif plan and plan.ts is None and work.stage != plan.first.stage and self.sessions.has(route, PLANS):
            await self.sessions.start_plan(route, plan, work)
        elif not handle.startswith(STREAM):
            if is_new and handle != STATUS:
                await self._update(route, handle, turn, SIGN, LAYOUT.under_way(work))
            await self.sessions.set_status(route, "processing", work.sentence)

    async def finish(
        self, route: ReplyRoute, handle: str, turn: str, message: Message, *, is_again: bool, is_waiting: bool
    ) -> None:
        """Close the plan with the message; without an open plan, post the message and take the sign away."""
        status: SessionStatus = "suspended" if is_waiting else "active"
        plan = self._signs.get(turn)
        if plan and plan.ts and await self._close(route, plan, turn, message, status):
            del self._signs[turn]
            return
        signs = () if handle == STATUS else (handle,)
        written = None
        if is_again or (plan and plan.ts is not None) or (handle and turn not in self._signs):
            written, others = await self._look(route, turn, 0)
            signs = (*dict.fromkeys((*signs, *others)),)
        self._signs.pop(turn, None)
        if written:
            await self.change(route, written, turn, 0, message)
        else:
            await self.say(route, turn, 0, message, is_again=False)
        if signs:
            await self._delete_all(route, (sign for sign in signs if sign.removeprefix(STREAM) != written))
        await self.sessions.rest(route, status)

    async def _close(
        self, route: ReplyRoute, plan: PlanStream, turn: str, message: Message, status: SessionStatus
    ) -> bool:
        """True if Slack took the message. A stream that a person stopped, that is too old, or whose text is no beginning
        of the message takes none."""
        last = streamed(message, plan)
        if last is None:
            return False
        try:
            await self.calls.call(
                "chat.stopStream", is_repeatable=False, team=route["team"], channel=route["channel"], ts=plan.ts,
                **last, session_status=status,
                metadata={"event_type": EVENT_TYPE, "event_payload": {"turn": turn, "part": 0}},
            )  # fmt: skip
        except (SlackRefused, Unsure) as failure:
            logger.info("the plan took no answer", extra={"turn": turn, "reason": str(failure)})
            return False
        return True

    async def _look(self, route: ReplyRoute, turn: str, part: int) -> tuple[str | None, tuple[str, ...]]:
        """The message of a part, and other signs of the turn: messages, and streams that were never closed.

        A stream has no metadata before: one that was left after this turn's question is of this turn.
        """
        written, signs = None, []
        my_user_id = await self.calls.user_id(route["team"])
        async for message in self._thread(route, oldest=route["message"]):
            with self.unreadable.skipped():
                payload = _payload_of(message)
                is_stream = "streaming_state" in message and message.get("user") == my_user_id
                if payload == {"turn": turn, "part": part}:
                    written = str(message["ts"])
                elif payload == {"turn": turn, "part": SIGN}:
                    signs.append(str(message["ts"]))
                elif is_stream and not payload and float(message["ts"]) > float(route["message"]):
                    signs.append(f"{STREAM}{message['ts']}")
        return written, tuple(signs)

    async def remove_doubles(self, route: ReplyRoute, turn: str) -> None:
        shown: dict[int, list[str]] = defaultdict(list)  # by part
        async for message in self._thread(route, oldest=route["message"]):
            with self.unreadable.skipped():
                payload = _payload_of(message) or {}
                if payload.get("turn") == turn:
                    shown[payload["part"]].append(str(message["ts"]))
        if 0 in shown:
            signs = shown.pop(SIGN, [])
            doubles = [each for posted in shown.values() for each in sorted(posted, key=float)[1:]]
            await self._delete_all(route, (*signs, *doubles))

    async def delete(self, route: ReplyRoute, handle: str) -> None:
        try:
            await self._delete(route, handle)
        finally:
            await self.sessions.rest(route, "active")

    async def _delete(self, route: ReplyRoute, handle: str) -> None:
        """Delete a sign of work; if it may not be deleted, it becomes an arrow to the message below."""
        if handle in ("", STATUS):
            return
        ts, target = handle.removeprefix(STREAM), {"team": route["team"], "channel": route["channel"]}
        if ts != handle:
            await self.sessions.stop_plan(route, ts)
        try:
            await self.calls.call("chat.delete", **target, ts=ts)
        except SlackRefused as refused:
            if refused.code != "message_not_found":
                await self.calls.call("chat.update", **target, ts=ts, text="↓", blocks=[])

    async def _delete_all(self, route: ReplyRoute, handles: Iterable[str]) -> None:
        for handle in handles:
            try:
                await self._delete(route, handle)
            except SlackRefused as refused:
                logger.warning("a sign of work is left", extra={"reason": refused.code})

    async def rest(self, route: ReplyRoute) -> None:
        await self.sessions.rest(route, "active")

    async def find(self, route: ReplyRoute, turn: str, part: int = 0) -> str | None:
        wanted = {"turn": turn, "part": part}
        async for message in self._thread(route):
            with self.unreadable.skipped():
                if _payload_of(message) == wanted:
                    return str(message["ts"])
        return None

    async def thread_context(self, route: ReplyRoute) -> tuple[ThreadMessage, ...]:
        if route["thread"] == route["message"]:
            return ()
        first: list[ThreadMessage] = []
        others: deque[ThreadMessage] = deque(maxlen=THREAD_CONTEXT - 1)
        my_user_id = await self.calls.user_id(route["team"])
        try:
            async for message in self._thread(route, latest=route["message"]):
                with self.unreadable.skipped():
                    read = thread_message(message, my_user_id)
                    if read and message["ts"] != route["message"]:
                        (others if first else first).append(read)
        except MissingScope as withheld:  # a question needs no thread
            raise SlackRefused(withheld.code) from withheld
        return (*first, *others)

    async def said(self, route: ReplyRoute, message: str = "") -> tuple[Said, ...]:  # noqa: ARG002 - a thread has all
        found: list[Said | None] = []
        my_user_id = await self.calls.user_id(route["team"])
        async for each in self._thread(route):
            with self.unreadable.skipped():
                found.append(said(each, my_user_id, route))
        return tuple(filter(None, found))

    async def link(self, route: ReplyRoute, message: str) -> str | None:
        try:
            reply = await self.calls.call(
                "chat.getPermalink", team=route["team"], channel=route["channel"], message_ts=message
            )
        except SlackRefused as refused:
            logger.warning("a message has no link", extra={"reason": refused.code})
            return None
        return str(reply["permalink"])

    async def starter(self, route: ReplyRoute) -> ThreadMessage | None:
        async for message in self._thread(route):
            return thread_message(message, await self.calls.user_id(route["team"]))
        return None

    async def _thread(self, route: ReplyRoute, **within: str) -> AsyncIterator[Reply]:
        """The messages of a thread, or of the channel since then for a route without one."""
        if "is_in_channel" in route:
            method, within = "conversations.history", {**within, "oldest": route["message"]}
        else:
            method, within = "conversations.replies", {**within, "ts": route["thread"]}
        cursor = ""
        for _ in range(PAGES):
            more: dict[str, Any] = {**within, "cursor": cursor} if cursor else dict(within)
            reply = await self.calls.call(
                method, team=route["team"], channel=route["channel"], include_all_metadata="true", limit=PAGE,
                **more,
            )  # fmt: skip
            for message in reply.get("messages", ()):
                yield message
            cursor = (reply.get("response_metadata") or {}).get("next_cursor") or ""
            if not cursor:
                return

    async def send_ephemeral(self, route: ReplyRoute, message: Message) -> None:
        """Show a message only to the person who wrote or pressed; never the only copy of an answer.

        In a thread without replies nobody would, "chat.postEphemeral": there it stands in the channel.
        """
        is_first = route["thread"] == route["message"]
        await self.calls.call(
            "chat.postEphemeral", team=route["team"], channel=route["channel"], user=route["user"],
            **({} if is_first else {"thread_ts": route["thread"]}),
            text=message.text, blocks=list(message.blocks),
        )  # fmt: skip

    async def send_direct(
        self, route: ReplyRoute, turn: str, message: Message, *, may_be_public: bool
    ) -> None:
        """Send an ephemeral message, or a direct one where nothing can be shown in the channel."""
        try:
            await self.send_ephemeral(route, message)
        except SlackRefused:
            channels = (route["user"], route["channel"]) if may_be_public else (route["user"],)
            for channel in channels:  # the channel itself, where only the thread is closed
                try:
                    await self._post({**route, "channel": channel, "thread": ""}, turn, 0, message)
                except Unsure:
                    logger.info("a direct message may have been sent", extra={"turn": turn})
                except SlackRefused:
                    if channel == channels[-1]:
                        raise
                    continue
                return

    async def explain(self, route: ReplyRoute, refused: Refused, say: Wording) -> str:  # noqa: ARG002 - others read the channel
        if refused.code.startswith(_RESTRICTED):
            return say("channel_restricted")
        trouble = refused.code.replace("_", " ")
        return say(_OBSTACLES.get(refused.code, "refused_there"), trouble=trouble)

    async def open_editor(self, route: ReplyRoute, editor: Any) -> None:
        trigger = route.get("trigger", "")
        await self.calls.call("views.open", team=route["team"], trigger_id=trigger, view=editor)

    async def _update(self, route: ReplyRoute, ts: str, turn: str, part: int, message: Message) -> None:
        await self._show(route, turn, part, message, "chat.update", ts=ts)

    async def _post(self, route: ReplyRoute, turn: str, part: int, message: Message) -> Reply:
        is_threaded = route["thread"] and "is_in_channel" not in route
        thread = {"thread_ts": route["thread"]} if is_threaded else {}
        return await self._show(
            route, turn, part, message, "chat.postMessage",
            is_repeatable=False, unfurl_links=False, unfurl_media=False, **thread,
        )  # fmt: skip

    async def _show(
        self, route: ReplyRoute, turn: str, part: int, message: Message, method: str, **arguments: Any
    ) -> Reply:
        """Show a message; if Slack refuses the layout, its words alone."""
        call = partial(
            self.calls.call, method, team=route["team"], channel=route["channel"],
            metadata={"event_type": EVENT_TYPE, "event_payload": {"turn": turn, "part": part}}, **arguments,
        )  # fmt: skip
        try:
            return await call(text=message.text, blocks=list(message.blocks))
        except SlackRefused as refused:
            if refused.code not in _MALFORMED:
                raise
            logger.exception("layout refused", extra={"turn": turn})
            longest = parts.CHANGED_TEXT if method == "chat.update" else parts.FALLBACK_TEXT
            return await call(text=(message.words or message.text)[:longest], blocks=[])


def _payload_of(message: Reply) -> Any:
    metadata = message.get("metadata") or {}
    return metadata.get("event_payload") if metadata.get("event_type") == EVENT_TYPE else None

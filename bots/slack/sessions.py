"""The session of an agent while a turn runs: a status, with which Slack offers its Stop, and a plan.

The plan is a streamed message; its tasks are the stages of the turn, and the checked answer is put
beneath them as a whole. What only shows work is tried once, since an answer comes without it too; what
takes a sign of work away is repeated.
Sources: "Agent sessions", "chat.startStream", "chat.stopStream".
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from itertools import compress, groupby
from typing import Any, Literal

from bots.chat.markdown.blocks import plain_words
from bots.chat.markdown.safe import is_blank
from bots.chat.platform import ProgressNote
from bots.chat.texts import clipped
from bots.slack import parts
from bots.slack.calls import NotAuthorized, Reply, SlackCalls, SlackRefused, Unsure
from bots.slack.render import Message
from core.text.inline import without_markers
from core.turns.messenger import ReplyRoute, Unreachable

logger = logging.getLogger(__name__)

STATUS = "agents.sessions.setStatus"
REST = 10.0  # seconds to set the status of a session at rest, where it did not work at once

SessionStatus = Literal["processing", "suspended", "active"]

#: Errors of an app that does not have the method; one that is no agent is not authorized for sessions.
_ABSENT = frozenset({"unknown_method", "not_allowed_token_type", "not_authorized"})


Task = dict[str, Any]  #: a ``task_update`` chunk of a streamed plan


def task_of(work: ProgressNote) -> Task:
    title = clipped(work.sentence.rstrip("…"), parts.TASK_TITLE)
    return {"type": "task_update", "id": work.stage, "title": title, "status": "in_progress"}


def streamed(message: Message, task: Task) -> dict[str, Any]:
    """A whole message beneath a plan whose last task is this, as ``chat.stopStream`` takes it.

    A streamed message has no ``text``: a notification shows the Markdown that was streamed, and the
    titles of the tasks. So Markdown is streamed; a message whose Markdown says nothing, as beneath an
    answer that is a table, gives its words to the last task.
    """
    is_markdown = [block["type"] == "markdown" for block in message.blocks]
    end = len(is_markdown) - is_markdown[::-1].index(True) if any(is_markdown) else 0
    is_told = any(  # something beside its footnotes
        not is_blank(plain_words(without_markers(block["text"])))
        for block in compress(message.blocks, is_markdown)
    )
    words = {} if is_told else {"title": clipped(message.text, parts.TASK_TITLE)}
    chunks: list[dict[str, Any]] = [{**task, **words, "status": "complete"}]
    for kind, group in groupby(message.blocks[:end], lambda block: block["type"] == "markdown"):
        if kind:
            chunks.append({"type": "markdown_text", "text": "\n\n".join(block["text"] for block in group)})
        else:
            chunks.append({"type": "blocks", "blocks": list(group)})
    return {"chunks": chunks, "blocks": list(message.blocks[end:])}


@dataclass(slots=True, kw_only=True)
class PlanStream:
    """A stream that this process began, and that is open as far as it knows."""

    ts: str  #: empty: it is not known whether it was begun
    task: Task  #: the one that runs


@dataclass(slots=True, kw_only=True)
class SlackSessions:
    """Statuses and plans. One session is one thread."""

    calls: SlackCalls
    #: Workspaces, each with a method that the app does not have there.
    _absent: set[tuple[str, str]] = field(default_factory=set)

    def has(self, route: ReplyRoute, method: str) -> bool:
        return (route["team"], method) not in self._absent

    async def set_status(self, route: ReplyRoute, status: SessionStatus, sentence: str = "") -> bool:
        """True if it is shown: as the session's status, or without sessions as words under the thread."""
        if "is_in_channel" in route:  # outside of any thread, so of any session
            return False
        for method, shown in ((STATUS, status), ("assistant.threads.setStatus", sentence)):
            if await self._attempt(route, method, **_thread(route), status=shown) is not None:
                return True
            if self.has(route, method):
                return False
        return False

    async def rest(self, route: ReplyRoute, status: SessionStatus) -> None:
        """Set the status that stays when the work is done: a session that seems to work would mislead."""
        if await self.set_status(route, status) or "is_in_channel" in route or not self.has(route, STATUS):
            return
        try:
            async with asyncio.timeout(REST):
                await self.calls.call(STATUS, team=route["team"], **_thread(route), status=status)
        except (SlackRefused, Unreachable, TimeoutError) as trouble:
            logger.warning("a session seems to work on", extra={"reason": str(trouble)})

    async def start_plan(self, route: ReplyRoute, work: ProgressNote) -> PlanStream | None:
        """None where there is no stream."""
        thread = {"channel": route["channel"], "thread_ts": route["thread"], "task_display_mode": "plan"}
        # In a channel one person sees the plan grow; a direct message takes no recipient.
        home = route.get("user_team") or route["team"]
        recipient = {"recipient_user_id": route["user"], "recipient_team_id": home}
        recipient = {} if route.get("is_direct") else recipient
        task = task_of(work)
        reply = await self._attempt(
            route, "chat.startStream", **thread, **recipient,
            chunks=[task], unfurl_links=False, unfurl_media=False,
        )  # fmt: skip
        return None if reply is None else PlanStream(ts=str(reply.get("ts", "")), task=task)

    async def update_plan(self, route: ReplyRoute, plan: PlanStream, work: ProgressNote) -> None:
        task = task_of(work)
        before = [{**plan.task, "status": "complete"}] if plan.task["id"] != task["id"] else []
        plan.task = task
        await self._attempt(
            route, "chat.appendStream", channel=route["channel"], ts=plan.ts, chunks=[*before, task]
        )

    async def stop_plan(self, route: ReplyRoute, ts: str) -> None:
        """End a stream without an answer, in as many tries as it takes: an open one cannot be deleted."""
        try:
            await self.calls.call("chat.stopStream", team=route["team"], channel=route["channel"], ts=ts)
        except SlackRefused as refused:
            logger.info("refused", extra={"method": "chat.stopStream", "reason": refused.code})

    async def _attempt(self, route: ReplyRoute, method: str, **arguments: Any) -> Reply | None:
        """None: it was not done. Without contents: it is not known whether it was."""
        if not self.has(route, method):
            return None
        try:
            return await self.calls.attempt(method, team=route["team"], **arguments)
        except (SlackRefused, NotAuthorized) as refused:
            logger.info("refused", extra={"method": method, "reason": refused.code})
            if refused.code in _ABSENT:
                self._absent.add((route["team"], method))
        except Unreachable:
            logger.info("left out", extra={"method": method})
        except Unsure:
            return {}
        return None


def _thread(route: ReplyRoute) -> dict[str, Any]:
    return {"channel_id": route["channel"], "thread_ts": route["thread"]}

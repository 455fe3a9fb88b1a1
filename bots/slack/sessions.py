"""The agent's session while a turn runs: a status, beside which Slack offers Stop, and a plan.

A quick look shows a status alone; a plan begins with the second stage that there is time to show. It is a streamed
message: its title says where the turn is and in the end what came of it, its tasks are the stages, and the checked
answer is put beneath them as a whole. What only shows work is tried once, since an answer comes without it too;
what takes a sign of work away is repeated.
Sources: "Agent sessions", "chat.startStream", "chat.stopStream", and "Agent Progress Design" of slack-skills-plugin.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import compress, groupby
from typing import Any, Literal

from bots.chat.markdown.blocks import plain_words
from bots.chat.markdown.safe import is_blank
from bots.chat.platform import ProgressNote
from bots.chat.render import Block
from bots.chat.texts import clipped
from bots.slack import parts
from bots.slack.calls import NotAuthorized, Reply, SlackCalls, SlackRefused, Unsure
from bots.slack.render import LAYOUT, Message
from core.text.inline import without_markers
from core.turns.messenger import ReplyRoute, Unreachable

logger = logging.getLogger(__name__)

STATUS, PLANS = "agents.sessions.setStatus", "chat.startStream"
REST = 10.0  # seconds to set the status of a session at rest, where it did not work at once

SessionStatus = Literal["processing", "suspended", "active"]

#: Errors of an app that does not have the method; one that is no agent is not authorized for sessions.
_ABSENT = frozenset({"unknown_method", "not_allowed_token_type", "not_authorized"})

Chunk = dict[str, Any]  #: of a stream
Task = Chunk  #: a ``task_update`` of a plan


@dataclass(slots=True, kw_only=True)
class PlanStream:
    """The stages of a turn that this process shows."""

    first: ProgressNote  #: shown by the status alone, until a stream is begun
    tasks: dict[str, Task] = field(default_factory=dict)  #: by stage; the last one runs
    said: Sequence[Chunk] | None = ()  #: of the answer so far; None: it is not known what was taken
    ts: str | None = None  #: of its stream; None: none was begun; empty: it is not known whether one was

    def grow(self, work: ProgressNote) -> list[dict[str, Any]]:
        title = clipped(work.sentence.rstrip("…"), parts.TASK_TITLE)
        others = {stage: task for stage, task in self.tasks.items() if stage != work.stage}
        done = {stage: {**task, "status": "complete"} for stage, task in others.items()}
        task = {"type": "task_update", "id": work.stage, "title": title, "status": "in_progress"}
        self.tasks = {**done, work.stage: task}
        return [{"type": "plan_update", "title": title}, *self.tasks.values()]


def streamed(message: Message, plan: PlanStream) -> dict[str, Any] | None:
    """A whole message beneath a plan, as ``chat.stopStream`` takes it; None if it does not go on from what was streamed.
    Its sources stand on the task that read them.

    A streamed message has no ``text``: a notification shows the Markdown that was streamed, and the
    titles of the tasks. So Markdown is streamed; a message whose Markdown says nothing, as beneath an
    answer that is a table, gives its words to the last task.
    """
    is_markdown = [block["type"] == "markdown" for block in message.blocks]
    end = len(is_markdown) - is_markdown[::-1].index(True) if any(is_markdown) else 0
    has_text = any(  # something beside its footnotes
        not is_blank(plain_words(without_markers(block["text"])))
        for block in compress(message.blocks, is_markdown)
    )
    left = _beyond(plan.said, _chunks(message.blocks[:end]))
    if left is None:
        return None
    last, ending = next(reversed(plan.tasks)), message.ending
    tasks = {stage: {**task, "status": "complete"} for stage, task in plan.tasks.items()}
    if ending and ending.sources:
        tasks["searching" if "searching" in tasks else next(iter(tasks))]["sources"] = list(ending.sources)
    if ending and ending.is_failed:
        tasks[last]["status"] = "error"
    if not has_text:
        tasks[last]["title"] = clipped(message.text, parts.TASK_TITLE)
    title = [{"type": "plan_update", "title": ending.title}] if ending else []
    return {"chunks": [*title, *tasks.values(), *left], "blocks": list(message.blocks[end:])}


def _chunks(blocks: Sequence[Block]) -> list[Chunk]:
    chunks: list[Chunk] = []
    for kind, group in groupby(blocks, lambda block: block["type"] == "markdown"):
        if kind:
            chunks.append({"type": "markdown_text", "text": "\n\n".join(block["text"] for block in group)})
        else:
            chunks.append({"type": "blocks", "blocks": list(group)})
    return chunks


def _beyond(said: Sequence[Chunk] | None, chunks: Sequence[Chunk]) -> list[Chunk] | None:
    """The chunks without those that were streamed before; None if they do not begin with these."""
    if said is None:
        return None
    left = list(chunks)
    for before in said:
        text = before.get("text", "")
        match left:
            case [chunk, *rest] if chunk == before:
                left = rest
            case [{"text": str(more)} as chunk, *rest] if text and more.startswith(text):
                left = [{**chunk, "text": more.removeprefix(text)}, *rest]
            case _:
                return None
    return left


@dataclass(slots=True, kw_only=True)
class SlackSessions:
    """Statuses and plans. One session is one thread."""

    calls: SlackCalls
    #: Workspaces, each with a method that the app does not have there.
    _absent: set[tuple[str, str]] = field(default_factory=set)

    def has(self, route: ReplyRoute, method: str) -> bool:
        return (route["team"], method) not in self._absent

    async def set_status(self, route: ReplyRoute, status: SessionStatus, sentence: str = "") -> bool:
        """Set the session's status, or without sessions words under the thread; True if it is shown."""
        if "is_in_channel" in route:  # outside of any thread, so of any session
            return False
        thread = {"channel_id": route["channel"], "thread_ts": route["thread"]}
        for method, shown in ((STATUS, status), ("assistant.threads.setStatus", sentence)):
            if await self._attempt(route, method, **thread, status=shown) is not None:
                return True
            if self.has(route, method):
                return False
        return False

    async def rest(self, route: ReplyRoute, status: SessionStatus) -> None:
        """Set the status that stays after the work, so that the session does not seem to work."""
        if await self.set_status(route, status) or "is_in_channel" in route or not self.has(route, STATUS):
            return
        try:
            async with asyncio.timeout(REST):
                thread = {"channel_id": route["channel"], "thread_ts": route["thread"]}
                await self.calls.call(STATUS, team=route["team"], **thread, status=status)
        except (SlackRefused, Unreachable, TimeoutError) as trouble:
            logger.warning("a session seems to work on", extra={"reason": str(trouble)})

    async def start_plan(self, route: ReplyRoute, plan: PlanStream, work: ProgressNote) -> bool:
        """Start the stream of a plan; True if it exists, or may."""
        plan.grow(plan.first)
        thread = {"channel": route["channel"], "thread_ts": route["thread"], "task_display_mode": "plan"}
        # In a channel one person sees the plan grow; a direct message takes no recipient.
        home = route.get("user_team") or route["team"]
        recipient = {"recipient_user_id": route["user"], "recipient_team_id": home}
        recipient = {} if route.get("is_direct") else recipient
        target = {**thread, **recipient, "unfurl_links": False, "unfurl_media": False}
        reply = await self._grow(route, plan, work, PLANS, **target)
        plan.ts = None if reply is None else str(reply.get("ts", ""))
        return plan.ts is not None

    async def update_plan(self, route: ReplyRoute, plan: PlanStream, work: ProgressNote) -> None:
        await self._grow(route, plan, work, "chat.appendStream", channel=route["channel"], ts=plan.ts)

    async def _grow(
        self, route: ReplyRoute, plan: PlanStream, work: ProgressNote, method: str, **target: Any
    ) -> Reply | None:
        now = _chunks(LAYOUT.beginning(work.answer, work.language)) if work.answer else []
        new = _beyond(plan.said, now) or []
        reply = await self._attempt(route, method, **target, chunks=[*plan.grow(work), *new])
        if new and reply is not None:
            plan.said = now if reply else None
        return reply

    async def stop_plan(self, route: ReplyRoute, ts: str) -> None:
        """End a stream without an answer, in as many tries as it takes: an open one cannot be deleted."""
        try:
            await self.calls.call("chat.stopStream", team=route["team"], channel=route["channel"], ts=ts)
        except SlackRefused as refused:
            logger.info("refused", extra={"method": "chat.stopStream", "reason": refused.code})

    async def _attempt(self, route: ReplyRoute, method: str, **arguments: Any) -> Reply | None:
        """The reply to one try. None: it failed; empty: it may have succeeded."""
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

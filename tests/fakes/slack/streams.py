"""``chat.*Stream`` and ``agents.sessions.*``: what an agent shows while it works.

Where Slack's pages are silent, it does as was measured by others: an open stream takes no
``chat.update`` (``streaming_state_conflict``) and no ``chat.delete`` (``cant_delete_message``), one that
is over takes neither ``appendStream`` nor ``stopStream`` (python-slack-sdk#1859), and a stream keeps to
text or to chunks as it began. Its end notifies, however it ends; its start and an edit do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakes.slack.blocks import is_too_long, message_faults, with_ids
from fakes.slack.chat_methods import MARKDOWN_TEXT, WRITE, metadata, new_message, writable
from fakes.slack.rendering import escape, visible_text
from fakes.slack.state import STREAM_LIFETIME, Blocks, Conversation, Installation, Message
from fakes.slack.web_api import Call, Method, Refused, conversation_of, message_of
from slack_sdk.models.messages.chunk import Chunk

if TYPE_CHECKING:
    from fakes.slack.server import FakeSlack

TASK_TEXT = 256  # characters of a task's title, "task_update chunk"
TASK_STATUSES = {"pending", "in_progress", "complete", "error"}  # "Task card block"
DISPLAY_MODES = {"timeline", "plan", "dense"}  # "chat.startStream"
STATUSES = {"processing", "suspended", "active", "closed"}  # "agents.sessions.setStatus"
TITLE = 200  # characters, "agents.sessions.setStatus"
UNSTOPPABLE = "missing_agent_session_stopped_event_subscription"


async def start(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    conversation = writable(slack, call["channel"], installation)
    call["thread_ts"]
    _check_recipient(slack, call, conversation)
    if call.get("task_display_mode", "timeline") not in DISPLAY_MODES:
        raise Refused("invalid_arguments", "task_display_mode")
    message = new_message(slack, call, installation, conversation)
    message.stream_until = slack.state.clock.now() + STREAM_LIFETIME
    message.unfurl_links = call.is_true("unfurl_links")  # "ChatStartStreamArguments" of node-slack-sdk
    message.unfurl_media = call.is_true("unfurl_media", default=True)
    message.has_plan = call.get("task_display_mode") == "plan"
    _grow(slack, message, call)
    slack.state.add(message)
    slack.clear_status(conversation.id, message.root)
    _move_session(slack, message, "processing")
    slack.announce(message)
    return {"channel": conversation.id, "ts": message.ts}


async def append(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    message = _open_stream(slack, call, installation)
    _grow(slack, message, call)
    slack.state.show(message, "update")
    return {"channel": message.channel, "ts": message.ts}


async def stop(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    message = _open_stream(slack, call, installation)
    status = call.get("session_status", "active")
    if status not in STATUSES:
        raise Refused("invalid_arguments", f"session_status must be one of {sorted(STATUSES)}")
    before, streamed = message.as_json(), message.blocks
    below, described = with_ids(call.get("blocks", []), message.ts), metadata(call)
    _check(below)
    _grow(slack, message, call)
    message.blocks = [*message.blocks, *below]
    try:
        _check([block for block in message.blocks if block["type"] not in ("plan", "task_card")])
    except Refused:
        message.blocks = streamed
        raise
    message.text = _text_of(slack, message)
    message.metadata, message.stream_until = described, 0.0
    slack.state.show(message, "update")
    slack.state.notify(message)
    _move_session(slack, message, status)
    slack.announce_change(message, before)
    return {"channel": message.channel, "ts": message.ts, "message": message.as_json(with_metadata=True)}


async def set_session_status(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    conversation = conversation_of(slack, call["channel_id"], installation)
    if not slack.app.is_agent:
        raise Refused("not_authorized")  # as it is for an app that is not declared an agent
    if call["status"] not in STATUSES:
        raise Refused("invalid_arguments", f"status must be one of {sorted(STATUSES)}")
    if call["thread_ts"] not in conversation.messages:
        raise Refused("thread_not_found")
    session, title = (conversation.id, call["thread_ts"]), call.get("title", "")
    if len(title) > TITLE:
        raise Refused("invalid_arguments", "title")
    if title and session not in slack.sessions:
        slack.titles[session] = title
    slack.sessions.setdefault(session, []).append(call["status"])
    warning = {} if "agent_session_stopped" in slack.app.events else {"warning": UNSTOPPABLE}
    return {"status": call["status"], "agent_status": call["status"], **warning}


async def rename_session(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    session = conversation_of(slack, call["channel_id"], installation).id, call["thread_ts"]
    if session not in slack.sessions:
        raise Refused("not_authorized")
    slack.titles[session] = call["title"]
    return {}


def _move_session(slack: FakeSlack, message: Message, status: str) -> None:
    """A stream is part of its thread's session: its start begins work, its end says what comes then."""
    statuses = slack.sessions.setdefault((message.channel, message.root), [])
    if slack.app.is_agent and statuses[-1:] != [status]:
        statuses.append(status)


def _check_recipient(slack: FakeSlack, call: Call, conversation: Conversation) -> None:
    """In channels somebody is named, who alone sees it grow; a direct conversation takes no name."""
    names = ("recipient_team_id", "recipient_user_id")
    if conversation.kind == "im":
        if any(call.get(name) for name in names):
            raise Refused("invalid_arguments", "recipient_user_id")
        return
    for name in names:
        if not call.get(name):
            raise Refused(f"missing_{name}")
    person = slack.state.users.get(call["recipient_user_id"])
    if person is None or person.team != call["recipient_team_id"]:
        raise Refused("user_not_found")


def _open_stream(slack: FakeSlack, call: Call, installation: Installation) -> Message:
    conversation = conversation_of(slack, call["channel"], installation)
    message = message_of(conversation, call["ts"])
    if message.app_id != installation.bot.app_id:
        raise Refused("message_not_owned_by_app")
    if message.is_stopped and call.method == "chat.appendStream":
        raise Refused("stopped_by_user")
    if message.is_stopped or not slack.is_streaming(message):
        raise Refused("message_not_in_streaming_state")
    return message


def _grow(slack: FakeSlack, message: Message, call: Call) -> None:
    """Add what is streamed: text grows the last Markdown block, a task is known by its id."""
    text, chunks = call.get("markdown_text"), call.get("chunks")
    if text and chunks:
        raise Refused("cannot_provide_both_markdown_text_and_chunks")
    if text or chunks:
        if message.takes_chunks not in (None, bool(chunks)):
            raise Refused("streaming_mode_mismatch")
        message.takes_chunks = bool(chunks)
    blocks = [dict(block) for block in message.blocks]
    for chunk in chunks or ([{"type": "markdown_text", "text": text}] if text else []):
        if not isinstance(chunk, dict) or Chunk.parse(chunk) is None:
            raise Refused("invalid_chunks")
        _GROWTH[chunk["type"]](message, blocks, chunk)
    message.blocks = blocks


def _text_of(slack: FakeSlack, message: Message) -> str:
    """A streamed message has no ``text`` of the app's: Slack's is what was streamed and the tasks' titles."""
    tasks = [task for block in message.blocks for task in (block, *block.get("tasks", []))]
    titles = [task["title"] for task in tasks if task["type"] == "task_card"]
    texts = [block for block in message.blocks if block["type"] == "markdown"]
    return escape(" ".join([visible_text("", texts, slack.state.name_of), *titles]).strip())


def _add_text(_message: Message, blocks: Blocks, chunk: dict[str, Any]) -> None:
    if not chunk.get("text"):
        raise Refused("invalid_chunks")
    last = blocks.pop()["text"] if blocks and blocks[-1]["type"] == "markdown" else ""
    if len(last + chunk["text"]) > MARKDOWN_TEXT:
        raise Refused("msg_too_long")
    blocks.append({"type": "markdown", "text": last + chunk["text"]})


def _add_blocks(message: Message, blocks: Blocks, chunk: dict[str, Any]) -> None:
    _check(chunk["blocks"])
    blocks += with_ids(chunk["blocks"], f"{message.ts}.{len(blocks)}")


def _add_task(message: Message, blocks: Blocks, chunk: dict[str, Any]) -> None:
    """In a plan the tasks stand together, else each is a card in its place."""
    if chunk["status"] not in TASK_STATUSES or not 0 < len(chunk["title"]) <= TASK_TEXT:
        raise Refused("invalid_chunks")
    card = {"type": "task_card", "task_id": chunk["id"], "title": chunk["title"], "status": chunk["status"]}
    for name in ("details", "output"):  # "Send a task's details once": they are appended
        if len(chunk.get(name) or "") > TASK_TEXT:
            raise Refused("invalid_chunks")
    sources = chunk.get("sources") or []
    if not all(
        one.get("type") == "url" and one.get("url") and len(one.get("text") or "") > 0 for one in sources
    ):
        raise Refused("invalid_chunks")  # "URL source element"
    card |= {"sources": sources} if sources else {}
    tasks = _plan(blocks)["tasks"] if message.has_plan else blocks
    known = [number for number, one in enumerate(tasks) if one.get("task_id") == chunk["id"]]
    tasks[slice(known[0], known[0] + 1) if known else slice(len(tasks), None)] = [card]


def _name_plan(_message: Message, blocks: Blocks, chunk: dict[str, Any]) -> None:
    if not 0 < len(chunk["title"]) <= TASK_TEXT:
        raise Refused("invalid_chunks")
    _plan(blocks)["title"] = chunk["title"]


def _plan(blocks: Blocks) -> dict[str, Any]:
    """The plan of a message, with tasks of its own: earlier revisions keep theirs."""
    number = next((number for number, block in enumerate(blocks) if block["type"] == "plan"), None)
    if number is None:
        blocks.insert(0, {"type": "plan", "title": "", "tasks": []})
        return blocks[0]
    blocks[number] |= {"tasks": list(blocks[number]["tasks"])}
    return blocks[number]


def _check(blocks: Any) -> None:
    faults = message_faults(blocks) if blocks else []
    if faults:
        raise Refused("invalid_blocks", *faults, errors=faults)
    if is_too_long(blocks):
        raise Refused("msg_blocks_too_long")


_GROWTH = {
    "markdown_text": _add_text,
    "blocks": _add_blocks,
    "task_update": _add_task,
    "plan_update": _name_plan,
}

METHODS = {
    "chat.startStream": Method(start, WRITE),
    "chat.appendStream": Method(append, WRITE),
    "chat.stopStream": Method(stop, WRITE),
    "agents.sessions.setStatus": Method(set_session_status, WRITE),
    "agents.sessions.rename": Method(rename_session, WRITE),
}

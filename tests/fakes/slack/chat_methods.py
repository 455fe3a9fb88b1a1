"""``chat.*``: what the app says, changes and takes back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakes.slack.blocks import is_too_long, message_faults, with_ids
from fakes.slack.state import STREAM_LIFETIME, Blocks, Conversation, Installation, Message
from fakes.slack.web_api import Call, Method, Refused, conversation_of, message_of
from slack_sdk.models.messages.chunk import Chunk

if TYPE_CHECKING:
    from fakes.slack.server import FakeSlack

TEXT = 40_000  # characters of `text`, "chat.postMessage"; 4,000 are recommended
UPDATE_TEXT = 4_000  # characters of `text`, "chat.update": msg_too_long
MARKDOWN_TEXT = 12_000  # characters of `markdown_text`, "chat.startStream" and its kin
WRITE = ("chat:write",)


async def post_message(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    conversation = _writable(slack, call["channel"], installation)
    message = _new(slack, call, installation, conversation)
    check_content(call, TEXT)
    message.text = call.get("text", "")
    message.blocks = content_blocks(call, message.ts)
    message.metadata = metadata(call)
    message.unfurl_links = call.is_true("unfurl_links")  # Slack's default for apps
    message.unfurl_media = call.is_true("unfurl_media", default=True)
    if message.thread_ts and call.is_true("reply_broadcast"):
        message.subtype = "thread_broadcast"
    slack.state.add(message)
    slack.clear_status(conversation.id, message.root)
    slack.announce(message)
    return {"channel": conversation.id, "ts": message.ts, "message": message.as_json(with_metadata=True)}


async def update(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    """Fields that are not given stay as they were, the blocks too (slackapi/python-slack-sdk#523)."""
    conversation = conversation_of(slack, call["channel"], installation)
    message = message_of(conversation, call["ts"])
    if message.app_id != installation.bot.app_id:
        raise Refused("cant_update_message")
    if _is_streaming(slack, message):
        raise Refused("streaming_state_conflict")
    check_content(call, UPDATE_TEXT)
    before = message.as_json()
    if "text" in call.args:
        message.text = call.get("text", "")
    if "blocks" in call.args or "markdown_text" in call.args:
        message.blocks = content_blocks(call, f"{message.ts}.{len(message.revisions)}")
    if "metadata" in call.args:
        message.metadata = metadata(call)
    message.link_names = _links_names(call)
    message.edited = {"user": installation.bot.id, "ts": slack.state.clock.ts()}
    slack.state.show(message, "update")
    slack.announce_change(message, before)
    return {
        "channel": conversation.id, "ts": message.ts, "text": message.text,
        "message": message.as_json(with_metadata=True),
    }  # fmt: skip


async def delete(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    conversation = conversation_of(slack, call["channel"], installation)
    message = message_of(conversation, call["ts"])
    if message.app_id != installation.bot.app_id or _is_streaming(slack, message):
        raise Refused("cant_delete_message")
    slack.remove(message)
    return {"channel": conversation.id, "ts": message.ts}


async def post_ephemeral(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    conversation = _writable(slack, call["channel"], installation)
    if call["user"] not in conversation.members:
        raise Refused("user_not_in_channel")
    message = _new(slack, call, installation, conversation)
    check_content(call, TEXT)
    message.text, message.ephemeral_for = call.get("text", ""), call["user"]
    message.blocks = content_blocks(call, message.ts)
    return {"message_ts": slack.state.send_ephemeral(message).ts}


async def permalink(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    conversation = conversation_of(slack, call["channel"], installation)
    message = message_of(conversation, call["message_ts"])
    link = f"{slack.url}/archives/{conversation.id}/p{message.ts.replace('.', '')}"
    reply = f"?thread_ts={message.thread_ts}&cid={conversation.id}" if message.thread_ts else ""
    return {"channel": conversation.id, "permalink": link + reply}


async def start_stream(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    conversation = _writable(slack, call["channel"], installation)
    call["thread_ts"]
    for name in ("recipient_team_id", "recipient_user_id"):
        if conversation.kind != "im" and not call.get(name):
            raise Refused(f"missing_{name}")
    message = _new(slack, call, installation, conversation)
    message.blocks = _streamed(call, [])
    message.stream_until = slack.state.clock.now() + STREAM_LIFETIME
    slack.state.add(message)
    slack.clear_status(conversation.id, message.root)
    slack.announce(message)
    return {"channel": conversation.id, "ts": message.ts}


async def append_stream(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    message = _open_stream(slack, call, installation)
    message.blocks = _streamed(call, message.blocks)
    slack.state.show(message, "update")
    return {"channel": message.channel, "ts": message.ts}


async def stop_stream(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    message = _open_stream(slack, call, installation)
    before = message.as_json()
    blocks = _streamed(call, message.blocks) + with_ids(call.get("blocks", []), message.ts)
    if blocks:
        _check_blocks(blocks)
    message.blocks, message.metadata, message.stream_until = blocks, metadata(call), 0.0
    slack.state.show(message, "update")
    slack.announce_change(message, before)
    shown = message.as_json(with_metadata=True)
    return {"channel": message.channel, "ts": message.ts, "message": shown}


def check_content(call: Call, longest_text: int) -> None:
    """The refusals that a message's text and blocks can meet, in Slack's words."""
    text, blocks, markdown = call.get("text"), call.get("blocks"), call.get("markdown_text")
    if markdown and (text or blocks):
        raise Refused("markdown_text_conflict")
    if not (text or blocks or markdown or call.get("attachments")):
        raise Refused("no_text")
    if len(text or "") > longest_text or len(markdown or "") > MARKDOWN_TEXT:
        raise Refused("msg_too_long")
    if blocks:
        _check_blocks(blocks)


def content_blocks(call: Call, salt: str) -> Blocks:
    if call.get("markdown_text"):
        return [{"type": "markdown", "text": call["markdown_text"]}]
    attached = [block for one in call.get("attachments", []) for block in _attachment(one)]
    return with_ids([*call.get("blocks", []), *attached], salt)


def metadata(call: Call) -> dict[str, Any] | None:
    """ "Message metadata": a name and a flat payload."""
    given = call.get("metadata")
    if not given:
        return None
    is_well_formed = isinstance(given, dict) and isinstance(given.get("event_payload"), dict)
    if not is_well_formed or not isinstance(given.get("event_type"), str):
        raise Refused("invalid_metadata_format")
    return {name: given[name] for name in ("event_type", "event_payload")}


def _check_blocks(blocks: Any) -> None:
    faults = message_faults(blocks)
    if faults:
        raise Refused("invalid_blocks", *faults, errors=faults)
    if is_too_long(blocks):
        raise Refused("msg_blocks_too_long")


def _attachment(one: dict[str, Any]) -> Blocks:
    """The old kind of attachment, shown as the blocks it amounts to."""
    texts = [one[name] for name in ("pretext", "title", "text", "fallback") if one.get(name)]
    shown = [{"type": "section", "text": {"type": "mrkdwn", "text": text}} for text in texts[:3]]
    return [*shown, *one.get("blocks", [])]


def _writable(slack: FakeSlack, where: str, installation: Installation) -> Conversation:
    """Where the app may post: its own conversations, and a person by id in a direct message."""
    if where in slack.state.users:
        where = slack.state.direct(installation.team, [where, installation.bot.id]).id
    conversation = conversation_of(slack, where, installation)
    if installation.bot.id not in conversation.members and "chat:write.public" not in installation.scopes:
        raise Refused("not_in_channel")
    if conversation.is_archived:
        raise Refused("is_archived")
    if conversation.kind == "im" and not slack.app.messages_tab:
        raise Refused("messages_tab_disabled")
    return conversation


def _new(slack: FakeSlack, call: Call, installation: Installation, conversation: Conversation) -> Message:
    thread_ts = call.get("thread_ts", "")
    if thread_ts:
        parent = conversation.messages.get(thread_ts)
        if parent is None:
            raise Refused("thread_not_found")
        if parent.thread_ts or parent.subtype in ("channel_join", "channel_leave"):
            raise Refused("cannot_reply_to_message")
    bot = installation.bot
    return Message(
        ts=slack.state.clock.ts(), channel=conversation.id, team=installation.team, user=bot.id,
        bot_id=bot.bot_id, app_id=bot.app_id, thread_ts=thread_ts, link_names=_links_names(call),
    )  # fmt: skip


def _links_names(call: Call) -> bool:
    """Whether bare @names in the text are made into mentions."""
    return call.is_true("link_names") or call.get("parse") == "full"


def _is_streaming(slack: FakeSlack, message: Message) -> bool:
    return message.stream_until > slack.state.clock.now()


def _open_stream(slack: FakeSlack, call: Call, installation: Installation) -> Message:
    conversation = conversation_of(slack, call["channel"], installation)
    message = message_of(conversation, call["ts"])
    if message.app_id != installation.bot.app_id:
        raise Refused("message_not_owned_by_app")
    if message.is_stopped and call.method == "chat.appendStream":
        raise Refused("stopped_by_user")
    if not _is_streaming(slack, message):
        raise Refused("message_not_in_streaming_state")
    return message


def _streamed(call: Call, blocks: Blocks) -> Blocks:
    """What was streamed so far and what is added: text grows the last Markdown block."""
    given = call.get("chunks", [])
    chunks = [{"type": "markdown_text", "text": call["markdown_text"]}] if call.get("markdown_text") else []
    blocks = list(blocks)
    for chunk in [*chunks, *given]:
        if not isinstance(chunk, dict) or Chunk.parse(chunk) is None:
            raise Refused("invalid_chunks")
        if chunk["type"] == "blocks":
            blocks += chunk["blocks"]
            continue
        text = chunk.get("text") or f"{chunk['title']}\n\n"
        last = blocks.pop()["text"] if blocks and blocks[-1]["type"] == "markdown" else ""
        if len(last + text) > MARKDOWN_TEXT:
            raise Refused("msg_too_long")
        blocks.append({"type": "markdown", "text": last + text})
    return blocks


METHODS = {
    "chat.postMessage": Method(post_message, WRITE),
    "chat.update": Method(update, WRITE),
    "chat.delete": Method(delete, WRITE),
    "chat.postEphemeral": Method(post_ephemeral, WRITE),
    "chat.getPermalink": Method(permalink),
    "chat.startStream": Method(start_stream, WRITE),
    "chat.appendStream": Method(append_stream, WRITE),
    "chat.stopStream": Method(stop_stream, WRITE),
}

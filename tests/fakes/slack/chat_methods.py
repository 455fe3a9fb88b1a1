"""``chat.*``: what the app says, changes and takes back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakes.slack.blocks import is_too_long, message_faults, with_ids
from fakes.slack.state import Blocks, Conversation, Installation, Message
from fakes.slack.web_api import Call, Method, Refused, conversation_of, message_of

if TYPE_CHECKING:
    from fakes.slack.server import FakeSlack

TEXT = 40_000  # characters of `text`, "chat.postMessage"; 4,000 are recommended
UPDATE_TEXT = 4_000  # characters of `text`, "chat.update": msg_too_long
MARKDOWN_TEXT = 12_000  # characters of `markdown_text`, "chat.startStream" and its kin
WRITE = ("chat:write",)


async def post_message(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    conversation = writable(slack, call["channel"], installation)
    message = new_message(slack, call, installation, conversation)
    check_content(call, TEXT)
    message.text = call.get("text", "")
    message.blocks = content_blocks(call, message.ts)
    message.metadata = metadata(call)
    message.unfurl_links = call.is_true("unfurl_links")  # Slack's default for apps
    message.unfurl_media = call.is_true("unfurl_media", default=True)
    if message.thread_ts and call.is_true("reply_broadcast"):
        message.subtype = "thread_broadcast"
    slack.state.add(message)
    slack.state.notify(message)
    slack.clear_status(conversation.id, message.root)
    slack.announce(message)
    return {"channel": conversation.id, "ts": message.ts, "message": message.as_json(with_metadata=True)}


async def update(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    """Fields that are not given stay as they were, the blocks too (slackapi/python-slack-sdk#523)."""
    conversation = conversation_of(slack, call["channel"], installation)
    message = message_of(conversation, call["ts"])
    if conversation.is_archived:
        raise Refused("is_inactive")
    if message.app_id != installation.bot.app_id:
        raise Refused("cant_update_message")
    if slack.is_streaming(message):
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
    if message.app_id != installation.bot.app_id or slack.is_streaming(message):
        raise Refused("cant_delete_message")
    slack.remove(message)
    return {"channel": conversation.id, "ts": message.ts}


async def post_ephemeral(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    conversation = writable(slack, call["channel"], installation)
    if call["user"] not in conversation.members:
        raise Refused("user_not_in_channel")
    message = new_message(slack, call, installation, conversation)
    check_content(call, TEXT)
    message.text, message.ephemeral_for = call.get("text", ""), call["user"]
    message.blocks = content_blocks(call, message.ts)
    if (
        not message.thread_ts or conversation.thread(message.root)[1:]
    ):  # else nobody sees it, without an error
        slack.state.send_ephemeral(message)
    return {"message_ts": message.ts}


async def permalink(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    conversation = conversation_of(slack, call["channel"], installation)
    message = message_of(conversation, call["message_ts"])
    link = f"{slack.url}/archives/{conversation.id}/p{message.ts.replace('.', '')}"
    reply = f"?thread_ts={message.thread_ts}&cid={conversation.id}" if message.thread_ts else ""
    return {"channel": conversation.id, "permalink": link + reply}


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


def writable(slack: FakeSlack, where: str, installation: Installation) -> Conversation:
    """Where the app may post: its own conversations, and a person by id in a direct message."""
    if where in slack.state.users:
        where = slack.state.direct(installation.team, [where, installation.bot.id]).id
    conversation = conversation_of(slack, where, installation)
    if installation.bot.id not in conversation.members and "chat:write.public" not in installation.scopes:
        raise Refused("not_in_channel")
    if conversation.is_archived:
        raise Refused("is_archived")
    if conversation.refusal:
        raise Refused(conversation.refusal)
    if conversation.kind == "im" and not slack.app.messages_tab:
        raise Refused("messages_tab_disabled")
    return conversation


def new_message(
    slack: FakeSlack, call: Call, installation: Installation, conversation: Conversation
) -> Message:
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


METHODS = {
    "chat.postMessage": Method(post_message, WRITE),
    "chat.update": Method(update, WRITE),
    "chat.delete": Method(delete, WRITE),
    "chat.postEphemeral": Method(post_ephemeral, WRITE),
    "chat.getPermalink": Method(permalink, takes_json=False),
}

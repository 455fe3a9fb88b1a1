"""Where a payload comes from and where its answer goes, and the text of a message as its author reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from core.conversation import Conversation, value

PLATFORM = "slack"

Payload = Mapping[str, Any]


class SlackRoute(TypedDict):
    """All that an answer needs; JSON types only, so that it can be stored."""

    team: str
    channel: str
    thread: str  #: timestamp of the thread's first message
    message: str  #: timestamp of the message that was written, or whose button was pressed
    user: str
    is_direct: bool  #: between one person and the bot
    trigger: NotRequired[str]  #: of a press; opens a modal, valid for seconds


@value
class Me:
    """The bot as Slack knows it."""

    user_id: str
    bot_id: str
    team_id: str = ""  #: empty: the payload's


def route_of(payload: Payload, me: Me | None = None) -> SlackRoute:
    """Where an answer to this payload goes."""
    if payload.get("type") == "view_submission":
        card: SlackRoute = json.loads(payload["view"]["private_metadata"])["address"]
        return {**card, "user": payload["user"]["id"]}
    if payload.get("type") == "block_actions":
        container, message = payload["container"], payload.get("message") or {}
        channel, at = container["channel_id"], container["message_ts"]
        thread = container.get("thread_ts") or message.get("thread_ts") or at
        team, user = (payload.get("team") or {}).get("id", ""), payload["user"]["id"]
    else:
        event = payload["event"]
        channel, at = event["channel"], event.get("ts") or event.get("event_ts", "")
        thread = event.get("thread_ts") or at
        team, user = payload.get("team_id", ""), event.get("user", "")
    route = SlackRoute(
        team=(me.team_id if me else "") or team,
        channel=channel,
        thread=thread,
        message=at,
        user=user,
        is_direct=channel.startswith("D"),
    )
    return {**route, "trigger": payload["trigger_id"]} if "trigger_id" in payload else route


def metadata_of(proposal_id: str, route: Mapping[str, Any]) -> str:
    """The edit modal's metadata, by which its submission names the proposal and the thread."""
    return json.dumps({"proposal": proposal_id, "address": route}, separators=(",", ":"))


def conversation_of(route: SlackRoute) -> Conversation:
    return Conversation(
        platform=PLATFORM, space=route["team"], channel=route["channel"], thread=route["thread"]
    )


def id_of(route: SlackRoute) -> str:
    return f"{PLATFORM}/{route['team']}/{route['channel']}/{route['message']}"


# The markup of incoming messages. Source: "Formatting text for app surfaces".
_ENTITY = re.compile(r"<([^<>\n]+)>")
_LEADING_MENTIONS = re.compile(r"\s*(?:<@([UW][A-Z0-9]+)(?:\|[^<>]*)?>[\s,:]*)+")
_MENTION = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^<>]*)?>")
_EMOJI = re.compile(r"(?<!\S)(?::[a-z0-9_+'-]+:)+(?!\S)[ \t]?")  # as Slack writes them; they ask nothing
_ESCAPES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))  # in this order, so that &amp;lt; stays &lt;


@value
class Spoken:
    """A message as its author reads it, without the bot's own mention."""

    text: str
    mentions_me: bool
    addresses_another: bool  #: begins with somebody else's mention, and not with the bot's


def spoken(raw: str, my_user_id: str) -> Spoken:
    """Read an event's ``text``; links become "label (URL)", mentions become names or ids."""
    leading = _LEADING_MENTIONS.match(raw)
    called = _MENTION.findall(leading[0]) if leading else []
    mine = re.compile(rf"[ \t]?<@{re.escape(my_user_id)}(?:\|[^<>]*)?>")
    text, count = mine.subn("", raw)
    text = _ENTITY.sub(_decode, text)
    for escaped, sign in _ESCAPES:
        text = text.replace(escaped, sign)
    return Spoken(
        text=_EMOJI.sub("", text).strip().lstrip(",:;").strip(),
        mentions_me=count > 0,
        addresses_another=bool(called) and my_user_id not in called,
    )


def _decode(entity: re.Match[str]) -> str:
    content, _, label = entity[1].partition("|")
    if content.startswith(("@", "#")):
        return content[0] + (label.lstrip("@#") or content[1:])
    if content.startswith("!"):
        name = content[1:].partition("^")[0]
        return label or f"@{name}"
    if ":" not in content:
        return entity[0]
    return _link(content, label)


def _link(url: str, label: str) -> str:
    """Slack turns "README.md" into a link by itself; the label is what was typed."""
    address = url.removeprefix("mailto:")
    if not label or label == address:
        return address
    if label.rstrip("/") == re.sub(r"^https?://", "", address).rstrip("/"):
        return label
    return f"{label} ({address})"

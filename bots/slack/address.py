"""Where a payload comes from, and where its answer goes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from core.conversation import Conversation
from core.values import value

PLATFORM = "slack"

Payload = Mapping[str, Any]


class Address(TypedDict):
    """Everything that an answer needs to find its way back; JSON types alone, so it can be stored."""

    team: str
    channel: str
    thread: str  #: timestamp of the thread's first message
    message: str  #: timestamp of what was written, or of the message whose button was pressed
    user: str
    is_direct: bool  #: between one person and the bot
    trigger: NotRequired[str]  #: of a press, by which a modal is opened within seconds


@value
class Me:
    """The bot as Slack knows it."""

    user_id: str
    bot_id: str
    team_id: str = ""  #: empty: the payload's


def address_of(payload: Payload, me: Me | None = None) -> Address:
    """Where an answer to this payload goes; KeyError for a payload that comes from no conversation."""
    if payload.get("type") == "view_submission":
        asked_in: Address = json.loads(payload["view"]["private_metadata"])["address"]
        return {**asked_in, "user": payload["user"]["id"]}
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
    address = Address(
        team=(me.team_id if me else "") or team,
        channel=channel,
        thread=thread,
        message=at,
        user=user,
        is_direct=channel.startswith("D"),
    )
    return {**address, "trigger": payload["trigger_id"]} if "trigger_id" in payload else address


def metadata_of(proposal_id: str, address: Mapping[str, Any]) -> str:
    """What the edit modal carries, so that its submission finds the proposal and the thread again."""
    return json.dumps({"proposal": proposal_id, "address": address}, separators=(",", ":"))


def conversation_of(address: Address) -> Conversation:
    return Conversation(
        platform=PLATFORM, space=address["team"], channel=address["channel"], thread=address["thread"]
    )


def id_of(address: Address) -> str:
    return f"{PLATFORM}/{address['team']}/{address['channel']}/{address['message']}"

"""A Slack payload -> a turn, a word to the bot, or nothing. Pure: what it depends on is handed in.

What arrives twice is read as the same id: from workspace, channel and timestamp for a message,
whichever event names it, and from the press's own timestamp for a button.
"""

from __future__ import annotations

from bots.chat.incoming import Attachment, ChatCommand, Incoming, IncomingMessage, ThreadContext, interpret
from bots.slack.interactions import press, submission
from bots.slack.route import Me, Payload, Spoken, conversation_of, id_of, route_of, spoken
from core.conversation import Question

#: Message subtypes that people write; all others are notices, edits and other bots. A reply that is also
#: sent to the channel has one timestamp in both places, so it is one turn.
_WRITTEN = (None, "file_share", "thread_broadcast")


def read(payload: Payload, me: Me, context: ThreadContext, *, now: float = 0.0) -> Incoming | None:
    """None for what the bot leaves alone; QuestionRejected when what is said is too long or empty.

    ``now`` is in seconds since the epoch: a modal carries no time of its own.
    """
    if payload.get("type") == "view_submission":
        return submission(payload, me, now)
    if payload.get("type") == "block_actions":
        return press(payload, me)
    event = payload.get("event") or {}
    kind = event.get("type")
    if kind == "agent_session_stopped" and event.get("thread_ts"):
        return _heard(payload, me, "", is_called=True).word("stop")
    if kind not in ("app_mention", "message") or not _is_written_by_a_person(event, me):
        return None
    return _message(payload, me, context)


def _is_written_by_a_person(event: Payload, me: Me) -> bool:
    return (
        event.get("subtype") in _WRITTEN
        and not event.get("hidden")
        and not event.get("edited")
        and not event.get("bot_id")
        and not event.get("bot_profile")
        and event.get("user") not in (None, "", "USLACKBOT", me.user_id)
    )


def _message(payload: Payload, me: Me, context: ThreadContext) -> Question | ChatCommand | None:
    event = payload["event"]
    said = spoken(event.get("text") or "", me.user_id)
    is_called = said.mentions_me or event["type"] == "app_mention" or route_of(payload, me)["is_direct"]
    if not is_called and not _is_follow_up(event, said, context):
        return None
    return interpret(_heard(payload, me, said.text, is_called=is_called))


def _heard(payload: Payload, me: Me, text: str, *, is_called: bool) -> IncomingMessage:
    event, route = payload["event"], route_of(payload, me)
    return IncomingMessage(
        id=id_of(route),
        conversation=conversation_of(route),
        author=route["user"],
        text=text,
        said_at=float(route["message"]),
        files=tuple(_attachment(file) for file in event.get("files") or ()),
        is_called=is_called,
    )


def _is_follow_up(event: Payload, said: Spoken, context: ThreadContext) -> bool:
    is_for_us = context.follows(event["user"], said.text, float(event["ts"])) or bool(
        event.get("files") and context.asker == event["user"]
    )
    return bool(event.get("thread_ts")) and not said.addresses_another and is_for_us


def _attachment(file: Payload) -> Attachment:
    return Attachment(
        id=file["id"],
        name=file.get("name") or file["id"],
        url=file.get("url_private_download") or file.get("url_private") or "",
        media_type=file.get("mimetype") or "",
        size=int(file.get("size") or 0),
    )

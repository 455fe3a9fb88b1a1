"""A Slack payload -> what a person asked by it. Pure: what it depends on is passed in.

A payload that arrives twice is read with the same id: of a message from workspace, channel and
timestamp, whichever event names it, and of a press from its own timestamp.
"""

from __future__ import annotations

from collections.abc import Callable

from bots.chat.incoming import (
    Attachment,
    ChatCommand,
    Incoming,
    IncomingMessage,
    Rejection,
    Request,
    ThreadState,
    interpret,
)
from bots.slack.interactions import CALLBACK, press, submission, typed
from bots.slack.route import Me, Payload, SlackRoute, Spoken, conversation_of, id_of, route_of, spoken
from core.conversation import Conversation, Question
from core.errors import QuestionRejected
from core.text.language import language_of
from core.wording import in_language

#: Message subtypes that people write; all others are notices, edits and other bots. A reply that is also
#: sent to the channel has one timestamp in both places, so it is one turn.
_WRITTEN = (None, "file_share", "thread_broadcast")


def receive(
    payload: Payload, me: Me, thread_state: Callable[[Conversation], ThreadState], *, now: float = 0.0
) -> Incoming | None:
    """None for a payload that is not for the bot.

    ``now`` is in seconds since the epoch: a submitted modal has no timestamp.
    """
    if not _is_relevant(payload, me):
        return None
    route = route_of(payload, me)
    conversation = conversation_of(route)
    thread = thread_state(conversation)
    request: Request | None
    try:
        if payload.get("type") == "view_submission":
            request = submission(payload, route, now)
        elif payload.get("type") == "block_actions":
            request = press(payload, route)
        else:
            request = _message(payload["event"], route, me, thread)
    except QuestionRejected as rejection:
        sentence = in_language(rejection.sentence, language_of(_text(payload)))
        request = Rejection(
            id=id_of(route), conversation=conversation, author=route["user"], sentence=sentence
        )
    if request is None:
        return None
    has_files = bool(payload.get("event", {}).get("files"))
    return Incoming(request=request, route=route, is_follow_up=thread.knows_thread, has_files=has_files)


def _is_relevant(payload: Payload, me: Me) -> bool:
    if payload.get("type") == "view_submission":
        return bool(payload["view"].get("callback_id") == CALLBACK)
    if payload.get("type") == "block_actions":  # a button elsewhere than on a message is not ours
        container = payload.get("container") or {}
        return bool(container.get("channel_id") and container.get("message_ts"))
    event = payload.get("event") or {}
    if event.get("type") == "agent_session_stopped":
        return bool(event.get("thread_ts"))
    return (
        event.get("type") in ("app_mention", "message")
        and event.get("subtype") in _WRITTEN
        and not any(event.get(sign) for sign in ("hidden", "edited", "bot_id", "bot_profile"))
        and event.get("user") not in (None, "", "USLACKBOT", me.user_id)
    )


def _message(event: Payload, route: SlackRoute, me: Me, thread: ThreadState) -> Question | ChatCommand | None:
    is_stop = event["type"] == "agent_session_stopped"
    said = spoken(event.get("text") or "", me.user_id)
    is_called = said.mentions_me or event["type"] != "message" or route["is_direct"]
    if not is_called and not _is_follow_up(event, said, thread):
        return None
    message = IncomingMessage(
        id=id_of(route),
        conversation=conversation_of(route),
        author=route["user"],
        text=said.text,
        said_at=float(route["message"]),
        files=tuple(_attachment(file) for file in event.get("files") or ()),
        is_called=is_called,
    )
    return message.command("stop") if is_stop else interpret(message)


def _is_follow_up(event: Payload, said: Spoken, thread: ThreadState) -> bool:
    is_for_us = thread.follows(event["user"], said.text, float(event["ts"])) or bool(
        event.get("files") and thread.asker == event["user"]
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


def _text(payload: Payload) -> str:
    """What a person typed, by which their language is known."""
    if payload.get("type") == "view_submission":
        return typed(payload)
    return str(payload.get("event", {}).get("text") or "")

"""A Slack payload -> what a person asked by it. Pure: what it depends on is passed in.

A payload that arrives twice is read with the same id: of a message from workspace, channel and
timestamp, whichever event names it, and of a press from its own timestamp.
"""

from __future__ import annotations

from dataclasses import replace

from bots.chat.incoming import (
    EDIT_LIMIT,
    ChatCommand,
    FollowUp,
    Incoming,
    IncomingMessage,
    Rejection,
    Request,
    ThreadState,
    interpret,
    is_small_talk,
)
from bots.slack.content import WRITTEN, forwarded, written
from bots.slack.interactions import (
    CALLBACK,
    EXPLAIN,
    KEEP,
    explained,
    press,
    shortcut,
    submission,
    typed,
)
from bots.slack.route import Me, Payload, SlackRoute, Spoken, conversation_of, id_of, route_of, spoken
from core.conversation import Attachment, Conversation, Question
from core.errors import QuestionRejected
from core.text.language import language_of
from core.wording import in_language


def conversation_in(payload: Payload, me: Me) -> Conversation | None:
    """Where it was said; None for a payload that is not for the bot."""
    if not _is_relevant(payload, me):
        return None
    route = route_of(payload, me)
    if me.space not in ("", route["team"]):  # a modal of another installation
        return None
    return conversation_of(route)


def receive(payload: Payload, me: Me, thread: ThreadState, *, now: float = 0.0) -> Incoming | None:
    """None for a payload that is not for the bot; ``thread`` is of the conversation in it.

    ``now`` is in seconds since the epoch: a submitted modal has no timestamp.
    """
    conversation = conversation_in(payload, me)
    if conversation is None:
        return None
    route = route_of(payload, me)
    request: Request | None
    try:
        if payload.get("type") == "view_submission":
            is_query = payload["view"]["callback_id"] == CALLBACK
            request = (submission if is_query else explained)(payload, route, now)
        elif payload.get("type") == "message_action":
            request = shortcut(payload, route)
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
    event: Payload = payload.get("event") or {}
    is_in_place = is_small_talk(request) and bool(event) and not event.get("thread_ts")
    return Incoming(
        request=request,
        route={**route, "is_in_channel": True} if is_in_place else route,
        is_follow_up=thread.knows_thread,
        is_edit=bool(event.get("edited")),
        is_in_place=is_in_place,
    )


def _is_relevant(payload: Payload, me: Me) -> bool:
    if payload.get("type") == "view_submission":
        return payload["view"].get("callback_id") in (CALLBACK, EXPLAIN)
    if payload.get("type") == "message_action":
        return bool(payload.get("callback_id") == KEEP)
    if payload.get("type") == "block_actions":  # a button elsewhere than on a message is not ours
        container = payload.get("container") or {}
        return bool(container.get("channel_id") and container.get("message_ts"))
    event = payload.get("event") or {}
    if event.get("type") == "agent_session_stopped":
        return bool(event.get("thread_ts"))
    return (
        event.get("type") in ("app_mention", "message")
        and event.get("subtype") in WRITTEN
        and not any(event.get(sign) for sign in ("hidden", "bot_id", "bot_profile"))
        and _is_new(event)
        and event.get("user") not in (None, "", "USLACKBOT", me.user_id)
    )


def _is_new(event: Payload) -> bool:
    """A mention that an edit adds arrives as an "app_mention" with the message's own timestamp, bolt-js#960."""
    if not (edited := event.get("edited")):
        return True
    return event["type"] == "app_mention" and float(edited["ts"]) - float(event["ts"]) < EDIT_LIMIT


def _message(event: Payload, route: SlackRoute, me: Me, thread: ThreadState) -> Question | ChatCommand | None:
    is_stop = event["type"] == "agent_session_stopped"
    said = spoken(written(event), me.user_id)
    is_called = said.mentions_me or event["type"] != "message" or route["is_direct"]
    follow_up = "addressed" if is_called else _follow_up(event, said, thread)
    if follow_up is None:
        return None
    message = IncomingMessage(
        id=id_of(route),
        conversation=conversation_of(route),
        author=route["user"],
        text=said.text,
        said_at=float((event.get("edited") or {"ts": route["message"]})["ts"]),
        files=tuple(attachment_of(file, route["team"]) for file in event.get("files") or ()),
        quoted=forwarded(event, me.user_id),
        is_called=is_called,
        is_addressed=follow_up == "addressed",
        is_in_thread=bool(event.get("thread_ts")),
        is_edit=bool(event.get("edited")),
    )
    request = message.command("stop") if is_stop else interpret(message)
    if isinstance(request, Question) and request.text == said.text:
        return replace(request, text=said.question)
    return request


def _follow_up(event: Payload, said: Spoken, thread: ThreadState) -> FollowUp | None:
    if event.get("thread_ts"):
        return thread.follow_up(event["user"], said.text, float(event["ts"]))
    return thread.opening(said.text)


def attachment_of(file: Payload, team: str) -> Attachment:
    return Attachment(
        id=file["id"],
        name=file.get("name") or "",
        url=file.get("url_private_download") or file.get("url_private") or "",
        media_type=file.get("mimetype") or "",
        size=int(file.get("size") or 0),
        found_in=team,
    )


def _text(payload: Payload) -> str:
    """The text of a person, by which their language is known."""
    if payload.get("type") == "view_submission":
        return typed(payload)
    return written(payload.get("event") or {})

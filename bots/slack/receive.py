"""A Slack payload -> the request of a person. Pure: what it depends on is passed in.

A payload that arrives twice is read with the same id: of a message from workspace, channel and
timestamp, whichever event names it, and of a press from its own timestamp.
"""

import json
from dataclasses import replace
from typing import Any

from bots.chat import incoming
from bots.slack.content import WRITTEN, forwarded, moment, written
from bots.slack.route import Me, Payload, SlackRoute, conversation_of, id_of, route_of, spoken
from bots.slack.settings import KEEP
from core.conversation import Attachment, Conversation, Decision, Question
from core.errors import QuestionRejected
from core.text.language import language_of
from core.wording import in_language

CALLBACK = "edit_query"  # the callback id of the modal in which a query is edited
EXPLAIN = "explain"  # that of the modal in which a person says what was wrong


def press(payload: Payload, route: SlackRoute) -> incoming.Request | None:
    """The request of a button, None for an unknown one; an action's id begins with what it does."""
    action = payload["actions"][0]
    name = action.get("action_id", "").partition(":")[0]
    if name != "feedback" and name not in incoming.BUTTONS:
        return None
    carried = (action.get("selected_option") or action).get("value") or ""
    # Of two presses within a millisecond, the queue takes the one whose id sorts first.
    request_id = "/".join((id_of(route), action["action_ts"], action["action_id"], route["user"]))
    made = _press(request_id, route, moment(action["action_ts"]))
    if name == "choose":  # the option's own text
        return made.question(carried)
    if name == "feedback":  # "good" or "bad", before the turn
        name, _, carried = carried.partition(" ")
    return incoming.pressed(made, name, carried)


def submission(payload: Payload, route: SlackRoute, now: float) -> Decision:
    return _submitted(payload, route, now).decision("approve", _subject(payload), typed(payload))


def explained(payload: Payload, route: SlackRoute, now: float) -> incoming.Feedback:
    values = payload["view"]["state"]["values"]
    return _submitted(payload, route, now).explanation(
        _subject(payload),
        fault=values["fault"]["fault"]["selected_option"]["value"],
        remark=str(values["remark"]["remark"].get("value") or ""),
        wants_person=bool(values.get("person", {}).get("person", {}).get("selected_options")),
    )


def shortcut(payload: Payload, route: SlackRoute) -> incoming.ChatCommand | None:
    if payload.get("callback_id") != KEEP:
        return None
    request_id = "/".join((id_of(route), payload["action_ts"], KEEP, route["user"]))
    return _press(request_id, route, moment(payload["action_ts"])).command("keep", route["message"])


def _press(request_id: str, route: SlackRoute, at: float) -> incoming.Press:
    return incoming.Press(id=request_id, conversation=conversation_of(route), author=route["user"], at=at)


def _submitted(payload: Payload, route: SlackRoute, now: float) -> incoming.Press:
    """The press of a submitted modal; its id is the request's, as it is submitted once."""
    return _press(id_of({**route, "message": payload["view"]["id"]}), route, now)


def _subject(payload: Payload) -> str:
    """The proposal or the turn that a modal is about."""
    metadata: dict[str, Any] = json.loads(payload["view"]["private_metadata"])
    return str(metadata["proposal"])


def typed(payload: Payload) -> str:
    """The text of a submitted modal."""
    return str(payload["view"]["state"]["values"]["query"]["query"].get("value") or "")


def conversation_in(payload: Payload, me: Me) -> Conversation | None:
    """The conversation of a payload; None if it is not for the bot."""
    if not _is_relevant(payload, me):
        return None
    route = route_of(payload, me)
    if me.space not in ("", route["team"]):  # a modal of another installation
        return None
    return conversation_of(route)


def receive(
    payload: Payload, me: Me, thread: incoming.ThreadState, *, now: float = 0.0
) -> incoming.Incoming | None:
    """The request in a payload; None if it is not for the bot. ``now`` dates a modal, which has no timestamp."""
    conversation = conversation_in(payload, me)
    if conversation is None:
        return None
    route = route_of(payload, me)
    request: incoming.Request | None
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
        request = incoming.Rejection(
            id=id_of(route), conversation=conversation, author=route["user"], sentence=sentence
        )
    if request is None:
        return None
    event: Payload = payload.get("event") or {}
    is_in_place = incoming.is_small_talk(request) and bool(event) and not event.get("thread_ts")
    return incoming.Incoming(
        request=request, route={**route, "is_in_channel": True} if is_in_place else route,
        is_follow_up=thread.knows_thread, is_edit=bool(event.get("edited")), is_in_place=is_in_place,
    )  # fmt: skip


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
        # A mention that an edit adds arrives as an "app_mention" with the message's timestamp, bolt-js#960.
        and (not event.get("edited") or (event["type"] == "app_mention" and _is_edited_soon(event)))
        and event.get("user") not in (None, "", "USLACKBOT", me.user_id)
    )


def _is_edited_soon(event: Payload) -> bool:
    return moment(event["edited"]["ts"]) - moment(event["ts"]) < incoming.EDIT_LIMIT


def _message(
    event: Payload, route: SlackRoute, me: Me, thread: incoming.ThreadState
) -> Question | incoming.ChatCommand | None:
    is_stop = event["type"] == "agent_session_stopped"
    said = spoken(written(event), me.user_id)
    is_called = said.mentions_me or event["type"] != "message" or route["is_direct"]
    follow_up: incoming.FollowUp | None = "addressed"
    if not is_called and event.get("thread_ts"):
        follow_up = thread.follow_up(event["user"], said.text, moment(event["ts"]))
    elif not is_called:
        follow_up = thread.opening(said.text)
    if follow_up is None:
        return None
    message = incoming.IncomingMessage(
        id=id_of(route),
        conversation=conversation_of(route),
        author=route["user"],
        text=said.text,
        said_at=moment((event.get("edited") or {"ts": route["message"]})["ts"]),
        files=tuple(attachment_of(file, route["team"]) for file in event.get("files") or ()),
        quoted=forwarded(event, me.user_id),
        is_called=is_called,
        is_addressed=follow_up == "addressed",
        is_in_thread=bool(event.get("thread_ts")),
        is_edit=bool(event.get("edited")),
    )
    request = message.command("stop") if is_stop else incoming.interpret(message)
    if isinstance(request, Question) and request.text == said.text:
        return replace(request, text=said.question)
    return request


def attachment_of(file: Payload, team: str) -> Attachment:
    return Attachment(
        id=file["id"], name=file.get("name") or "", media_type=file.get("mimetype") or "",
        url=file.get("url_private_download") or file.get("url_private") or "",
        size=int(file.get("size") or 0), found_in=team,
    )  # fmt: skip


def _text(payload: Payload) -> str:
    """The text that shows a person's language."""
    if payload.get("type") == "view_submission":
        return typed(payload)
    return written(payload.get("event") or {})


def deleted(payload: Payload) -> tuple[str, str] | None:
    """The channel and the timestamp of a message that was deleted; a thread's first one leaves a tombstone."""
    event = payload.get("event") or {}
    subtype, message = event.get("subtype"), event.get("message") or {}
    if event.get("type") != "message" or not isinstance(event.get("channel"), str):
        return None
    if subtype == "message_deleted" and isinstance(event.get("deleted_ts"), str):
        return event["channel"], event["deleted_ts"]
    if subtype == "message_changed" and message.get("subtype") == "tombstone":
        return event["channel"], message["ts"]
    return None

"""A pressed button, a submitted modal or a used shortcut -> what a person asked by it. Pure."""

from __future__ import annotations

import json
from typing import Any

from bots.chat.incoming import BUTTONS, ChatCommand, Feedback, Press, Request
from bots.slack.route import PLATFORM, Payload, SlackRoute, conversation_of, id_of
from core.conversation import Decision

CALLBACK = "edit_query"  # the callback id of the modal in which a query is edited
EXPLAIN = "explain"  # that of the modal in which a person says what was wrong
KEEP = "keep_answer"  # that of the shortcut in the menu of a message


def press(payload: Payload, route: SlackRoute) -> Request | None:
    """None for a button that is not ours; the part of an action's id before a colon says what it does."""
    action = payload["actions"][0]
    name = action.get("action_id", "").partition(":")[0]
    if name != "feedback" and name not in BUTTONS:
        return None
    carried = (action.get("selected_option") or action).get("value") or ""
    # Of two presses within a millisecond, the queue takes the one whose id sorts first.
    request_id = "/".join((id_of(route), action["action_ts"], action["action_id"], route["user"]))
    pressed = _press(request_id, route, float(action["action_ts"]))
    if name == "choose":  # the option's own text
        return pressed.question(carried)
    if name == "feedback":  # "good" or "bad", before the turn
        name, _, carried = carried.partition(" ")
    read = BUTTONS.get(name)
    return read(pressed, carried) if read else None


def submission(payload: Payload, route: SlackRoute, now: float) -> Decision:
    """The edited query of a modal."""
    return _submitted(payload, route, now).decision("approve", _subject(payload), typed(payload))


def explained(payload: Payload, route: SlackRoute, now: float) -> Feedback:
    """A person's explanation of what is wrong."""
    values = payload["view"]["state"]["values"]
    return _submitted(payload, route, now).explanation(
        _subject(payload),
        fault=values["fault"]["fault"]["selected_option"]["value"],
        remark=str(values["remark"]["remark"].get("value") or ""),
        wants_person=bool(values.get("person", {}).get("person", {}).get("selected_options")),
    )


def shortcut(payload: Payload, route: SlackRoute) -> ChatCommand | None:
    """The reply whose menu was used is to be kept."""
    if payload.get("callback_id") != KEEP:
        return None
    request_id = "/".join((id_of(route), payload["action_ts"], KEEP, route["user"]))
    return _press(request_id, route, float(payload["action_ts"])).command("keep", route["message"])


def _press(request_id: str, route: SlackRoute, at: float) -> Press:
    return Press(id=request_id, conversation=conversation_of(route), author=route["user"], at=at)


def _submitted(payload: Payload, route: SlackRoute, now: float) -> Press:
    """A modal is submitted once, so its id is the request's."""
    return _press(f"{PLATFORM}/{route['team']}/{route['channel']}/{payload['view']['id']}", route, now)


def _subject(payload: Payload) -> str:
    """The proposal or the turn that a modal is about."""
    metadata: dict[str, Any] = json.loads(payload["view"]["private_metadata"])
    return str(metadata["proposal"])


def typed(payload: Payload) -> str:
    """The text of a submitted modal."""
    return str(payload["view"]["state"]["values"]["query"]["query"].get("value") or "")

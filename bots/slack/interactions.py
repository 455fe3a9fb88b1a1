"""A pressed button or a submitted modal -> what a person asked by it. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace

from bots.chat.incoming import ChatCommand, CommandName, Feedback, Request
from bots.slack.route import PLATFORM, Payload, SlackRoute, conversation_of, id_of
from core.conversation import Conversation, Decision, Question, Verdict, check_question, value
from core.graph.approval import checked_query

CALLBACK = "edit_query"  # the callback id of the modal in which a query is edited


@value
class _Press:
    """A button with what it carries."""

    id: str
    conversation: Conversation
    author: str
    at: float  #: seconds since the epoch
    value: str


def press(payload: Payload, route: SlackRoute) -> Request | None:
    """None for a button that is not ours."""
    action = payload["actions"][0]
    name = action.get("action_id", "").partition(":")[0]
    if name not in _PRESSES:
        return None
    pressed = _Press(
        # Of two presses within a millisecond, the queue takes the one whose id sorts first.
        id="/".join((id_of(route), action["action_ts"], action["action_id"], route["user"])),
        conversation=conversation_of(route),
        author=route["user"],
        at=float(action["action_ts"]),
        value=(action.get("selected_option") or action).get("value") or "",
    )
    return _PRESSES[name](pressed)


def _decide(verdict: Verdict) -> Callable[[_Press], Decision]:
    return lambda pressed: Decision(
        id=pressed.id,
        conversation=pressed.conversation,
        author=pressed.author,
        proposal_id=pressed.value,
        verdict=verdict,
        decided_at=pressed.at,
    )


def _say(name: CommandName) -> Callable[[_Press], ChatCommand]:
    return lambda pressed: ChatCommand(
        name=name,
        argument=pressed.value,
        id=pressed.id,
        conversation=pressed.conversation,
        author=pressed.author,
        said_at=pressed.at,
    )


def _choose(pressed: _Press) -> Question:
    return Question(
        id=pressed.id,
        conversation=pressed.conversation,
        author=pressed.author,
        text=check_question(pressed.value),
        asked_at=pressed.at,
    )


def _rate(pressed: _Press) -> Feedback:
    verdict, _, turn_id = pressed.value.partition(" ")
    return Feedback(
        id=pressed.id,
        turn_id=turn_id,
        is_positive=verdict == "good",
        conversation=pressed.conversation,
        author=pressed.author,
        given_at=pressed.at,
    )


def _reply_to_keep(pressed: _Press) -> ChatCommand:
    """The newest one: the button stands under the request to experts."""
    return replace(_say("keep")(pressed), argument="")


#: What a press asks, by the button's action id up to a colon.
_PRESSES: Mapping[str, Callable[[_Press], Request]] = {
    "approve": _decide("approve"),
    "deny": _decide("deny"),
    "edit": _say("edit"),
    "footnotes": _say("footnotes"),
    "again": _say("again"),
    "withdraw": _say("withdraw"),
    "read": _say("read"),
    "choose": _choose,
    "consult": _say("consult"),
    "keep": _reply_to_keep,
    "unkeep": _say("unkeep"),
    "feedback": _rate,
}


def submission(payload: Payload, route: SlackRoute, now: float) -> Decision:
    """The edited query of a modal; a modal is submitted once, so its id is the turn's."""
    view = payload["view"]
    return Decision(
        id=f"{PLATFORM}/{route['team']}/{route['channel']}/{view['id']}",
        conversation=conversation_of(route),
        author=route["user"],
        proposal_id=json.loads(view["private_metadata"])["proposal"],
        verdict="approve",
        query=checked_query(typed(payload)),
        decided_at=now,
    )


def typed(payload: Payload) -> str:
    """The text of a submitted modal."""
    return str(payload["view"]["state"]["values"]["query"]["query"].get("value") or "")

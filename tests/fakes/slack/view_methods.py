"""Modals and home tabs, and what an agent shows beside its messages: status, title, prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakes.slack.blocks import view_faults, with_ids
from fakes.slack.state import STATUS_LIFETIME, Installation, Shown, View
from fakes.slack.web_api import Call, Method, Refused, conversation_of

if TYPE_CHECKING:
    from fakes.slack.server import FakeSlack

TRIGGER_LIFETIME = 3.0  # seconds, "views.open"
VIEW_STACK = 3  # views of one modal, "views.push"
LOADING_MESSAGES = 10  # "assistant.threads.setStatus"
PROMPTS = 4  # "assistant.threads.setSuggestedPrompts"
_ASSISTANT = ("assistant:write",)


async def open_view(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    user, _ = _exchange(slack, call)
    return {"view": _show(slack, call, installation, user).as_json()}


async def push_view(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    user, view_id = _exchange(slack, call)
    if view_id not in slack.state.views:
        raise Refused("invalid_trigger_id")
    below = slack.state.views[view_id]
    root = below.root or below.id
    if (
        sum((view.root or view.id) == root and view.is_open for view in slack.state.views.values())
        >= VIEW_STACK
    ):
        raise Refused("push_limit_reached")
    view = _show(slack, call, installation, user)
    view.root, view.previous = root, below.id
    return {"view": view.as_json()}


async def update_view(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    by_id, by_name = call.get("view_id"), call.get("external_id")
    open_views = [
        view for view in slack.state.views.values() if view.is_open and view.team == installation.team
    ]
    found = [v for v in open_views if v.id == by_id or (by_name and v.payload.get("external_id") == by_name)]
    if not found:
        raise Refused("not_found")
    if call.get("hash", found[0].hash) != found[0].hash:
        raise Refused("hash_conflict")
    return {"view": replace_view(slack, found[0], checked(call)).as_json()}


async def publish_view(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    """The home tab of one person: one view, replaced each time."""
    user = slack.state.users.get(call["user_id"])
    if user is None or user.team != installation.team:
        raise Refused("user_not_found")
    if checked(call)["type"] != "home":
        raise Refused("invalid_arguments", "the view must be a home view")
    home = slack.home(user.id)
    if home is None:
        return {"view": _show(slack, call, installation, user.id).as_json()}
    if call.get("hash", home.hash) != home.hash:
        raise Refused("hash_conflict")
    return {"view": replace_view(slack, home, checked(call)).as_json()}


async def set_status(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    channel, thread_ts = _thread(slack, call, installation)
    messages = call.get("loading_messages", [])
    if "status" not in call.args or len(messages) > LOADING_MESSAGES:
        raise Refused("invalid_arguments")
    status = str(call.args["status"])
    slack.statuses[channel, thread_ts] = (status, slack.state.clock.now() + STATUS_LIFETIME)
    _note(slack, "status", channel, thread_ts, "\n".join([status, *messages]))
    return {}


async def set_title(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    channel, thread_ts = _thread(slack, call, installation)
    slack.titles[channel, thread_ts] = call["title"]
    _note(slack, "title", channel, thread_ts, call["title"])
    return {}


async def set_prompts(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    """In a thread of a direct message, or for the whole of it when no thread is named."""
    conversation = conversation_of(slack, call["channel_id"], installation)
    prompts = call["prompts"]
    is_well_formed = all(isinstance(one, dict) and one.get("title") and one.get("message") for one in prompts)
    if conversation.kind != "im" or not is_well_formed or not 1 <= len(prompts) <= PROMPTS:
        raise Refused("invalid_arguments")
    thread_ts = call.get("thread_ts", "")
    slack.prompts[conversation.id, thread_ts] = prompts
    words = [one[part] for one in prompts for part in ("title", "message")]
    _note(slack, "prompts", conversation.id, thread_ts, "\n".join([call.get("title", ""), *words]))
    return {}


def checked(call: Call) -> dict[str, Any]:
    view: dict[str, Any] = call["view"]
    faults = view_faults(view)
    if faults:
        raise Refused("invalid_arguments", *faults)
    return view


def replace_view(slack: FakeSlack, view: View, payload: dict[str, Any]) -> View:
    view.payload = payload | {"blocks": with_ids(payload["blocks"], view.id)}
    view.hash = slack.state.clock.ts()
    _note_view(slack, view)
    return view


def _show(slack: FakeSlack, call: Call, installation: Installation, user: str) -> View:
    payload = checked(call)
    view = View(id=slack.state.id("V"), team=installation.team, user=user, payload=payload, hash="")
    slack.state.views[view.id] = view
    return replace_view(slack, view, payload)


def _exchange(slack: FakeSlack, call: Call) -> tuple[str, str]:
    """A trigger is good once and for three seconds; it names the person, and the view it was pressed in."""
    trigger = slack.triggers.get(call["trigger_id"])
    if trigger is None:
        raise Refused("invalid_trigger_id")
    if trigger.is_exchanged:
        raise Refused("exchanged_trigger_id")
    if slack.state.clock.now() > trigger.at + TRIGGER_LIFETIME:
        raise Refused("expired_trigger_id")
    checked(call)
    trigger.is_exchanged = True
    return trigger.user, trigger.view


def _thread(slack: FakeSlack, call: Call, installation: Installation) -> tuple[str, str]:
    conversation = conversation_of(slack, call["channel_id"], installation)
    if call["thread_ts"] not in conversation.messages:
        raise Refused("invalid_thread_ts")
    return conversation.id, call["thread_ts"]


def _note(slack: FakeSlack, action: Any, channel: str, thread_ts: str, text: str) -> None:
    at = slack.state.clock.now()
    slack.state.note(
        Shown(
            at=at, action=action, channel=channel, thread_ts=thread_ts, text=text, names=slack.state.name_of
        )
    )


def _note_view(slack: FakeSlack, view: View) -> None:
    labels = {"type": "view"} | {name: view.payload.get(name) for name in ("title", "submit", "close")}
    words = [{"type": "context", "elements": [text for text in labels.values() if isinstance(text, dict)]}]
    at = slack.state.clock.now()
    shown = Shown(
        at=at,
        action="view",
        ts=view.id,
        user=view.user,
        blocks=words + view.payload["blocks"],
        names=slack.state.name_of,
    )
    slack.state.note(shown)


METHODS = {
    "views.open": Method(open_view),
    "views.push": Method(push_view),
    "views.update": Method(update_view),
    "views.publish": Method(publish_view),
    "assistant.threads.setStatus": Method(set_status, ("chat:write", "assistant:write")),
    "assistant.threads.setTitle": Method(set_title, _ASSISTANT),
    "assistant.threads.setSuggestedPrompts": Method(set_prompts, _ASSISTANT),
}

"""The app as Slack knows it, and the payloads it is sent: pure functions of the state's values."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from fakes.slack.rendering import mrkdwn
from fakes.slack.state import Conversation, Installation, Message, State, User

# The scope without which an event never comes, "Events"; where several are named, any of them.
EVENT_SCOPES: dict[str, tuple[str, ...]] = {
    "app_mention": ("app_mentions:read",),
    "message.channels": ("channels:history",),
    "message.groups": ("groups:history",),
    "message.im": ("im:history",),
    "message.mpim": ("mpim:history",),
    "member_joined_channel": ("channels:read", "groups:read"),
    "reaction_added": ("reactions:read",),
    "agent_session_stopped": ("chat:write",),
    "app_home_opened": (),
    "app_uninstalled": (),
    "tokens_revoked": (),
}
_EVENT_OF_KIND = {
    "channel": "message.channels", "group": "message.groups", "im": "message.im", "mpim": "message.mpim",
}  # fmt: skip
ALL_SCOPES = frozenset(
    scope for scopes in EVENT_SCOPES.values() for scope in scopes
) | {
    "assistant:write", "files:read", "users:read", "users:read.email", "usergroups:read", "reactions:write", "team:read", "im:write",
    "mpim:write", "im:read", "mpim:read",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class App:
    """What an app's manifest sets."""

    id: str = "A0FAKEAPP"
    name: str = "footnote"
    scopes: frozenset[str] = ALL_SCOPES
    app_scopes: frozenset[str] = frozenset({"connections:write"})  #: of the app-level token
    events: frozenset[str] = frozenset(EVENT_SCOPES)  #: subscribed
    interactivity: bool = True
    messages_tab: bool = True  #: whether people can write to it directly
    is_agent: bool = True

    @classmethod
    def from_manifest(cls, manifest: dict[str, Any]) -> App:
        """The app that somebody gets who pastes this manifest, "App manifests"."""
        settings, features = manifest.get("settings", {}), manifest.get("features", {})
        home = features.get("app_home", {})
        return cls(
            name=features["bot_user"]["display_name"],
            scopes=frozenset(manifest["oauth_config"]["scopes"]["bot"]),
            events=frozenset(settings.get("event_subscriptions", {}).get("bot_events", [])),
            interactivity=settings.get("interactivity", {}).get("is_enabled", False),
            is_agent="agent_view" in features,
            messages_tab=home.get("messages_tab_enabled", False) or "agent_view" in features,
        )


@dataclass
class Trigger:
    """What a press allows once: to open a view."""

    at: float  #: the clock's seconds
    user: str
    view: str = ""  #: where it was pressed, when in a view
    is_exchanged: bool = False


@dataclass
class ResponseUrl:
    """Where an interaction can be answered without a token."""

    message: Message = field(repr=False)
    user: str  #: who pressed
    used: int = 0


@dataclass(frozen=True, kw_only=True)
class Envelope:
    """Builds payloads for one installation."""

    app: App = field(repr=False)
    state: State = field(repr=False)
    installation: Installation = field(repr=False)

    def event(self, subscription: str, event: dict[str, Any]) -> dict[str, Any] | None:
        """The outer event, unless the app is not subscribed to it or lacks its scope."""
        scopes = EVENT_SCOPES.get(subscription, ())
        if subscription not in self.app.events or (scopes and not self.installation.scopes & set(scopes)):
            return None
        team, bot = self.installation.team, self.installation.bot.id
        return {
            "token": "verification", "type": "event_callback", "team_id": team, "context_team_id": team,
            "context_enterprise_id": None, "api_app_id": self.app.id, "event_id": self.state.id("Ev"),
            "event_time": int(self.state.clock.now()), "event_context": f"4-{self.state.id('')}",
            "is_ext_shared_channel": False, "event": {"event_ts": self.state.clock.ts()} | event,
            "authorizations": [
                {
                    "enterprise_id": None, "team_id": team, "user_id": bot, "is_bot": True,
                    "is_enterprise_install": False,
                }
            ],
        }  # fmt: skip

    def shared(self, payload: dict[str, Any] | None, author: User) -> dict[str, Any] | None:
        """As an event comes from a shared channel: it names the workspace of whoever wrote, "Slack Connect"."""
        if payload is None:
            return None
        event = payload["event"] | {"team": author.team, "user_team": author.team, "source_team": author.team}
        return payload | {"team_id": author.team, "is_ext_shared_channel": True, "event": event}

    def message(self, message: Message, conversation: Conversation) -> dict[str, Any] | None:
        data = shown_to_app(message) | {"channel": message.channel, "channel_type": conversation.kind}
        if message.subtype == "thread_broadcast":
            data["root"] = shown_to_app(conversation.messages[message.thread_ts])
        return self.event(_EVENT_OF_KIND[conversation.kind], data | {"event_ts": message.ts})

    def mention(self, message: Message) -> dict[str, Any] | None:
        """Not sent in direct conversations of two; carries no channel_type."""
        data = shown_to_app(message) | {"type": "app_mention", "channel": message.channel}
        data.pop("subtype", None)
        return self.event("app_mention", data | {"event_ts": message.ts})

    def change(
        self, message: Message, before: dict[str, Any], conversation: Conversation
    ) -> dict[str, Any] | None:
        """message_changed, or message_deleted when there is no message any more."""
        ts = self.state.clock.ts()
        data: dict[str, Any] = {
            "type": "message", "hidden": True, "channel": message.channel, "ts": ts, "event_ts": ts,
            "channel_type": conversation.kind, "previous_message": before,
        }  # fmt: skip
        if message.is_deleted:
            data |= {"subtype": "message_deleted", "deleted_ts": message.ts}
        else:
            data |= {"subtype": "message_changed", "message": shown_to_app(message)}
        return self.event(_EVENT_OF_KIND[conversation.kind], data)

    def interaction(self, kind: str, user: User, trigger_id: str, **more: Any) -> dict[str, Any]:
        team = {"id": self.installation.team, "domain": self.state.teams[self.installation.team]}
        person = {"id": user.id, "username": user.name, "name": user.name, "team_id": user.team}
        return {
            "type": kind, "user": person, "team": team, "api_app_id": self.app.id, "token": "verification",
            "trigger_id": trigger_id, "enterprise": None, "is_enterprise_install": False, **more,
        }  # fmt: skip


def shown_to_app(message: Message) -> dict[str, Any]:
    """A message in an event: people's words come as rich text too, as their clients send them."""
    data = message.as_json()
    if not message.blocks and message.text:
        data["blocks"] = [{"type": "rich_text", "block_id": _block_id(message), "elements": [_rich(message)]}]
    return data


def _rich(message: Message) -> dict[str, Any]:
    elements: list[dict[str, Any]] = []
    for span in mrkdwn(message.text, str):
        match span.entity.kind if span.entity else "":
            case "user":
                elements.append({"type": "user", "user_id": span.entity.target})
            case "link":
                elements.append({"type": "link", "url": span.entity.target})
            case _ if span.text:
                elements.append({"type": "text", "text": span.text})
    return {"type": "rich_text_section", "elements": elements}


def _block_id(message: Message) -> str:
    return hashlib.sha256(message.ts.encode()).hexdigest()[:5]

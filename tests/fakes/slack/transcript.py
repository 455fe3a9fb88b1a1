"""What there is to see in Slack now, for tests to assert."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakes.slack.state import Message, Notification, Shown, View

if TYPE_CHECKING:
    from fakes.slack.deliveries import Deliveries, Delivery
    from fakes.slack.events import App
    from fakes.slack.rendering import Entity
    from fakes.slack.state import State
    from fakes.slack.web_api import Call, WebApi


class Transcript:
    app: App
    api: WebApi
    state: State
    deliveries: Deliveries
    statuses: dict[tuple[str, str], tuple[str, float]]
    sessions: dict[tuple[str, str], list[str]]

    def thread(self, channel: str, ts: str) -> list[Message]:
        """A thread as people see it now, its first message first."""
        return self.state.conversations[channel].thread(ts)

    def replies(self, channel: str, ts: str) -> list[Message]:
        """What the app says in a thread now."""
        return [one for one in self.thread(channel, ts) if one.app_id == self.app.id]

    def finals(self, channel: str, ts: str) -> list[Message]:
        """The app's messages in a thread that are no progress: no open streams, and no notes, which end in "…"."""
        notes = (one for one in self.replies(channel, ts) if not one.is_unfinished)
        return [one for one in notes if not one.visible.rstrip().endswith("…")]

    def posts(self) -> list[Message]:
        """Everything the app says now, anywhere."""
        return [one for one in self.state.messages() if one.app_id == self.app.id and not one.is_deleted]

    @property
    def shown(self) -> list[Shown]:
        """Everything the app ever showed anybody: posts, updates, ephemerals, views, statuses, in order."""
        return self.state.shown

    def entities(self) -> list[tuple[Shown, Entity]]:
        """Every mention, link and image that ever passed, with where it was."""
        return [(shown, entity) for shown in self.shown for entity in shown.entities]

    def ephemerals(self, user: str) -> list[Message]:
        """The ephemeral messages that one person saw."""
        return [one for one in self.state.ephemerals if one.ephemeral_for == user and not one.is_deleted]

    def status(self, channel: str, thread_ts: str) -> str:
        """The status line under a thread; a post clears it, and two minutes."""
        text, until = self.statuses.get((channel, thread_ts), ("", 0.0))
        return text if self.state.clock.now() < until else ""

    def session(self, channel: str, thread_ts: str) -> str:
        """The status of an agent session; empty where there is none."""
        return (self.sessions.get((channel, thread_ts)) or [""])[-1]

    def shows_stop(self, channel: str, thread_ts: str) -> bool:
        """Whether the client offers its own Stop, "agent_session_stopped"."""
        return self.session(channel, thread_ts) == "processing" and "agent_session_stopped" in self.app.events

    def notified(self, user: str) -> list[Notification]:
        """What somebody's phone showed, oldest first."""
        return [one for one in self.state.notifications if one.user == user]

    def modal(self, user: str) -> View | None:
        """The modal in front of somebody."""
        modals = [
            view
            for view in self.state.views.values()
            if view.user == user and view.is_open and view.payload["type"] == "modal"
        ]
        return modals[-1] if modals else None

    def home(self, user: str) -> View | None:
        """The app's home tab as somebody sees it."""
        homes = (
            one for one in self.state.views.values() if one.user == user and one.payload["type"] == "home"
        )
        return next(homes, None)

    @property
    def calls(self) -> list[Call]:
        return self.api.calls

    def calls_of(self, method: str) -> list[Call]:
        return [call for call in self.calls if call.method == method]

    @property
    def early_retries(self) -> list[Call]:
        """Requests that were repeated before the Retry-After of their 429 was over."""
        return [call for call in self.calls if call.early_by > 0]

    @property
    def early_calls(self) -> list[Call]:
        """Requests of any content that came before a 429 of their method and channel was over."""
        return [call for call in self.calls if call.early_there > 0]

    def deliveries_of(self, message: Message) -> list[Delivery]:
        """The events that told the app of a new message."""
        return [
            one
            for one in self.deliveries.all
            if one.event.get("ts") == message.ts and one.event.get("channel") == message.channel
        ]

    def ack_latencies(self) -> list[float]:
        """Seconds each acknowledged delivery took, the shortest first."""
        return sorted(one.latency for one in self.deliveries.all if one.is_acked)

    def told(self, name: str) -> list[dict[str, Any]]:
        """The payloads of one event type or interaction type that the app was sent."""
        return [one.payload for one in self.deliveries.all if one.name == name]

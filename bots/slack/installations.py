"""The workspaces in which the app is installed: who the bot is in each, and its token there.

An installation is known by the space of its conversations, so that no call is made with another's token.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from bots.slack.route import Me, Payload, spaces_of, spoken
from core.conversation import value


@value
class Installation:
    """The app in one workspace, or in all of an organization."""

    me: Me
    token: str = field(repr=False)


@dataclass(slots=True)
class Installations:
    """Those that are served now."""

    _by_space: dict[str, Installation] = field(default_factory=dict)

    def add(self, installation: Installation) -> None:
        """A newer one of the same workspace replaces the older."""
        self._by_space[installation.me.space] = installation

    def remove(self, space: str) -> None:
        self._by_space.pop(space, None)

    def get(self, space: str) -> Installation | None:
        """An empty space, which earlier versions stored, is meant where there is only one."""
        if not space and len(self._by_space) == 1:
            return next(iter(self._by_space.values()))
        return self._by_space.get(space)

    def spaces(self) -> tuple[str, ...]:
        return tuple(self._by_space)

    def of(self, payload: Payload) -> Installation | None:
        """Whom a payload is for; None for a workspace in which the app is not installed."""
        known = [each for space in spaces_of(payload) if (each := self._by_space.get(space))]
        event = payload.get("event") or {}
        if known and payload.get("is_ext_shared_channel") and event.get("type") == "app_mention":
            # Of the installations in a shared channel an event names any: the mention says which is meant.
            text = str(event.get("text"))
            served = self._by_space.values()
            meant = [each for each in served if spoken(text, each.me.user_id).mentions_me]
            known = meant or known
        return known[0] if known else None

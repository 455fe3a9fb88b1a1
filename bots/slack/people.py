"""Who people are: what they are called, and which of the groups that matter they are in."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass, field

from bots.slack.calls import SlackCalls, SlackRefused
from core.turns.messenger import Address, Unreachable

logger = logging.getLogger(__name__)

REMEMBERED = 300.0  # seconds that a group's members are taken as known


@dataclass(slots=True, kw_only=True)
class SlackPeople:
    """What cannot be asked counts as unknown: a person has no name but the id, and is in no group."""

    calls: SlackCalls
    _names: dict[str, str] = field(default_factory=dict)
    _groups: dict[str, tuple[float, frozenset[str]]] = field(default_factory=dict)  #: until when, who

    async def names(self, _address: Address, users: Iterable[str | None]) -> dict[str, str]:
        return {user: await self._name(user) for user in users if user}

    async def groups_of(self, _address: Address, user: str, among: Iterable[str]) -> tuple[str, ...]:
        """Which of these user groups the person is in; ids of people among them are passed over."""
        return tuple(
            [group for group in among if group.startswith("S") and user in await self._members(group)]
        )

    async def _name(self, user: str) -> str:
        if user not in self._names:
            try:
                found = (await self.calls.call("users.info", user=user))["user"]
            except (SlackRefused, Unreachable):
                return user
            profile = found.get("profile") or {}
            self._names[user] = profile.get("display_name") or found.get("real_name") or found["name"]
        return self._names[user]

    async def _members(self, group: str) -> frozenset[str]:
        now = asyncio.get_running_loop().time()
        until, members = self._groups.get(group, (0.0, frozenset()))
        if now < until:
            return members
        try:
            reply = await self.calls.call("usergroups.users.list", usergroup=group)
        except (SlackRefused, Unreachable):
            logger.warning("members of a user group could not be read", extra={"group": group})
            return frozenset()
        members = frozenset(reply.get("users", ()))
        self._groups[group] = now + REMEMBERED, members
        return members

"""Who people are in a server: what they are called, and which roles they have."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bots.discord.address import DIRECT
from bots.discord.calls import DiscordCalls, DiscordRefused
from core.turns.messenger import Address, Unreachable

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordPeople:
    """What cannot be asked counts as unknown: a person has no name but the id, and no role."""

    calls: DiscordCalls

    async def names(self, address: Address, users: Iterable[str | None]) -> dict[str, str]:
        return {user: await self._name(address, user) for user in users if user}

    async def groups_of(self, address: Address, user: str, among: Iterable[str]) -> tuple[str, ...]:
        """Asked anew each time: who lost a role may do no more from then on."""
        wanted = tuple(among)
        if not wanted:
            return ()
        roles = (await self._member(address, user)).get("roles") or ()
        return tuple(role for role in wanted if role in roles)

    async def _name(self, address: Address, user: str) -> str:
        member = await self._member(address, user)
        person = member.get("user") or {}
        return str(member.get("nick") or person.get("global_name") or person.get("username") or user)

    async def _member(self, address: Address, user: str) -> Mapping[str, Any]:
        try:
            if address["server"] == DIRECT:
                return {"user": await self.calls.call("GET", "/users/{user_id}", user_id=user)}
            path = "/guilds/{guild_id}/members/{user_id}"
            member: Mapping[str, Any] = await self.calls.call(
                "GET", path, guild_id=address["server"], user_id=user
            )
        except (DiscordRefused, Unreachable):
            logger.warning("a person could not be asked about", extra={"user": user})
            return {}
        return member

"""Calls to Discord's REST API through discord.py, which keeps the rate limits and repeats what failed.

A repeated post is safe: its nonce makes Discord give back the first one.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from bots.chat.platform import Refused
from core.turns.messenger import Unreachable

if TYPE_CHECKING:
    from discord.errors import HTTPException
    from discord.http import HTTPClient

TIMEOUT = 30.0  # seconds for one try; discord.py would wait for five minutes

#: Error codes that decide what is done next, "Opcodes and Status Codes".
UNKNOWN_CHANNEL, UNKNOWN_MESSAGE, UNKNOWN_INTERACTION = "10003", "10008", "10062"
MISSING_ACCESS, MISSING_PERMISSIONS, NO_HISTORY = "50001", "50013", "160002"
CANNOT_MESSAGE_USER, ALREADY_ACKNOWLEDGED, IS_ARCHIVED = "50007", "40060", "50083"
THREAD_EXISTS, INVALID_FORM, BAD_TOKEN = "160004", "50035", "50027"


class DiscordRefused(Refused):
    """Discord will never do this; ``code`` is its error code, as a string."""


@dataclass(frozen=True, slots=True)
class DiscordCalls:
    """The REST API for one bot."""

    http: HTTPClient
    #: By route: discord.py lets others of a route pass while one waits for its Retry-After.
    _turns: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    async def call(self, method: str, path: str, /, *, json: Any = None, **within: Any) -> Any:
        """What Discord answers. ``path`` names ids as ``{channel_id}``; those in ``within`` that it does not
        name go into the query. Raises DiscordRefused and Unreachable.
        """
        from aiohttp import ClientError, ClientTimeout
        from discord.errors import HTTPException
        from discord.http import Route

        named = {name: within.pop(name) for name in list(within) if f"{{{name}}}" in path}
        more = ({"json": json} if json is not None else {}) | ({"params": within} if within else {})
        route = Route(method, path, **named)
        turn = self._turns.setdefault(f"{method} {route.url}", asyncio.Lock())
        try:
            async with turn:
                return await self.http.request(route, **more, timeout=ClientTimeout(total=TIMEOUT))
        except HTTPException as error:
            if _may_pass(error):
                raise Unreachable from error
            raise DiscordRefused(str(error.code or error.status)) from error
        except (ClientError, TimeoutError, OSError) as error:
            raise Unreachable from error


def _may_pass(error: HTTPException) -> bool:
    """Whether it is no answer to the request: trouble of Discord's, or a token that was replaced meanwhile."""
    is_of_discord = bool(error.code)
    return error.status >= 500 or error.status == 429 or (error.status in (401, 403) and not is_of_discord)

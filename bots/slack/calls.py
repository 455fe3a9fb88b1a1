"""Calls to Slack's Web API, repeated where that is safe.

A call that got a 429 did nothing: it is repeated after the time that Slack names. After a 5xx or a
lost reply, it is unknown whether it did: it is repeated here only if it may happen twice. Posting is
not: it has to look for its message first (:class:`Unsure`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bots.chat.platform import Refused
from bots.chat.proxies import is_reached_directly
from bots.slack.settings import SlackSettings
from core.turns.messenger import Unreachable

if TYPE_CHECKING:
    from slack_sdk.errors import SlackApiError
    from slack_sdk.web.async_client import AsyncWebClient

logger = logging.getLogger(__name__)

TIMEOUT = 15.0  # seconds for one request
PAUSES = (0.2, 0.5, 1.0, 2.0, 4.0)  # seconds between the tries of a call that fails in ways that pass
LONGEST_WAIT = 120.0  # seconds that one call waits for its rate limit before the turn is tried again later

#: Errors that pass by themselves, "Web API methods: common errors"; every other one is final.
_PASSING = frozenset(
    {"internal_error", "fatal_error", "service_unavailable", "request_timeout", "ratelimited"}
)
#: Methods that only read: their arguments go into the URL, "Using the Slack Web API".
_READING = frozenset(
    {"auth.test", "conversations.replies", "conversations.info", "usergroups.users.list", "users.info"}
)

Reply = Mapping[str, Any]


class SlackRefused(Refused):
    """Slack will never do this; ``code`` is its error code."""


class Unsure(Exception):
    """It may have happened: look before repeating it."""


class _Passing(Exception):
    """A failure that passes: a rate limit, or a lost reply."""

    def __init__(self, wait: float | None) -> None:
        super().__init__(wait)
        self.wait = wait  # seconds; None: the reply is lost


@dataclass(slots=True, kw_only=True)
class SlackCalls:
    """The Web API for one installation."""

    client: AsyncWebClient
    _not_before: dict[tuple[str, str], float] = field(default_factory=dict)  #: by method and channel

    async def call(self, method: str, /, *, is_repeatable: bool = True, **arguments: Any) -> Reply:
        """Slack's reply. Raises SlackRefused and Unreachable, and Unsure if it is not ``is_repeatable``."""
        place = method, str(arguments.get("channel") or arguments.get("channel_id") or "")
        loop = asyncio.get_running_loop()
        for pause in (*PAUSES, None):
            # A rate limit holds for a method in a channel: every other call there waits too.
            while (left := self._not_before.get(place, 0.0) - loop.time()) > 0:  # noqa: ASYNC110 - no event says when
                await asyncio.sleep(left)
            self._not_before.pop(place, None)
            try:
                return await self._once(method, arguments)
            except _Passing as failure:
                if failure.wait is None and not is_repeatable:
                    raise Unsure from failure
                if pause is None or (failure.wait or 0.0) > LONGEST_WAIT:
                    raise Unreachable from failure
                if failure.wait is not None:
                    self._not_before[place] = loop.time() + failure.wait
                else:
                    await asyncio.sleep(pause)
        raise Unreachable

    async def _once(self, method: str, arguments: dict[str, Any]) -> Reply:
        from aiohttp import ClientError
        from slack_sdk.errors import SlackApiError

        try:
            if method in _READING:
                reply = await self.client.api_call(method, http_verb="GET", params=arguments)
            else:
                reply = await self.client.api_call(method, json=arguments)
        except SlackApiError as error:
            raise _failure_of(error) from error
        except (ClientError, TimeoutError, OSError) as error:
            raise _Passing(None) from error
        data: Any = reply.data
        return data if isinstance(data, dict) else {}


def _failure_of(error: SlackApiError) -> Exception:
    response: Any = error.response
    status = int(getattr(response, "status_code", 0) or getattr(response, "status", 0))
    if status == 429:  # HTTP: too many requests, and nothing was done
        return _Passing(_seconds(response.headers))
    data = getattr(response, "data", None)
    code = str(data.get("error", "")) if isinstance(data, dict) else ""
    return _Passing(None) if status >= 500 or not code or code in _PASSING else SlackRefused(code)


def _seconds(headers: Mapping[str, str]) -> float:
    seconds = next((content for name, content in headers.items() if name.lower() == "retry-after"), "")
    return float(seconds) if seconds.isdecimal() else 1.0


@asynccontextmanager
async def open_calls(settings: SlackSettings) -> AsyncIterator[SlackCalls]:
    """The Web API over one session; the SDK's own retries are off, since they would post twice."""
    from aiohttp import ClientSession, ClientTimeout
    from slack_sdk.web.async_client import AsyncWebClient

    async with ClientSession(timeout=ClientTimeout(total=TIMEOUT)) as session:
        client = AsyncWebClient(
            settings.bot_token,
            base_url=settings.api_url,
            session=session,
            retry_handlers=[],
            logger=quiet_logger("web"),
        )
        if is_reached_directly(settings.api_url):
            client.proxy = None
        yield SlackCalls(client=client)


def quiet_logger(name: str, level: int = logging.WARNING) -> logging.Logger:
    """A logger for the SDK, which at lower levels logs whole payloads, and with them what people write."""
    log = logging.getLogger(f"{__name__}.{name}")
    log.setLevel(level)
    return log

"""The real slack-bolt, connected to the local Slack."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable
from typing import Any

import pytest
from fakes.slack.server import FakeSlack
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncSlackResponse


@contextlib.asynccontextmanager
async def connected(
    slack: FakeSlack, app: AsyncApp, count: int = 1, *, ping: float = 5.0
) -> AsyncIterator[list[AsyncSocketModeHandler]]:
    """The app on so many sockets; ``ping``, in seconds, is how soon it notices that one is broken."""
    handlers = [AsyncSocketModeHandler(app, slack.app_token, ping_interval=ping) for _ in range(count)]
    for handler in handlers:
        await handler.connect_async()
    await slack.until_connected(count)
    try:
        yield handlers
    finally:
        for handler in handlers:
            await handler.close_async()


def listener_of(app: AsyncApp, *event_types: str) -> list[dict[str, Any]]:
    """The payloads that reach a listener, as they come."""
    seen: list[dict[str, Any]] = []

    async def listen(body: dict[str, Any]) -> None:
        seen.append(body)

    for event_type in event_types:
        app.event(event_type)(listen)
    return seen


async def refusal(request: Awaitable[AsyncSlackResponse]) -> Any:
    """The response with which a request was refused."""
    with pytest.raises(SlackApiError) as refused:
        await request
    return refused.value.response

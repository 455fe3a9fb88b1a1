"""One request to Slack, of those that only read."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slack_sdk.web.async_client import AsyncWebClient

PATIENCE = 5.0  # seconds for one request, and for a socket's first word


class Refused(Exception):
    """Slack's error code, or a status that is none of its own."""


class Silent(Exception):
    """Nothing came back."""


async def ask(
    client: AsyncWebClient, method: str, *, token: str = "", **given: str
) -> tuple[dict[str, Any], Mapping[str, str]]:
    """One request that reads: what is said, and the reply's headers. Raises Refused and Silent."""
    from aiohttp import ClientError
    from slack_sdk.errors import SlackApiError

    headers = {"Authorization": f"Bearer {token}"} if token else {}
    verb = "POST" if token else "GET"  # "apps.connections.open" takes nothing else
    try:
        async with asyncio.timeout(PATIENCE):
            reply = await client.api_call(method, http_verb=verb, params=given, headers=headers)
    except SlackApiError as error:
        response: Any = error.response
        data = getattr(response, "data", None)
        code = data.get("error") if isinstance(data, dict) else None
        status = getattr(response, "status_code", None) or getattr(response, "status", "")
        raise Refused(str(code or f"HTTP {status}")) from error
    except (ClientError, OSError) as error:  # a TimeoutError is an OSError
        raise Silent from error
    data = reply.data
    return (data if isinstance(data, dict) else {}), reply.headers

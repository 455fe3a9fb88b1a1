"""The gateway: whether it can be reached, and how often it may be today.

A session is not begun, only greeted: 1,000 may be begun in a day ("Session Start Limit Object").
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from bots.discord.checkup.asking import PATIENCE, Asking, Refused, Silent
from bots.discord.checkup.bot import NETWORK
from bots.doctor.findings import Finding, failed, ok, warning

GATEWAY = "Discord gateway"

HELLO = 10  # "Gateway Opcodes"
VERSION = "10"  # of the gateway, as of the API
LEAVING = 1.0  # seconds for the socket to close
FEW = 50  # sessions that may still be begun
_RESTARTS = "Find out why `footnote run` starts so often: LOG_LEVEL=info tells."


async def of_gateway(asking: Asking) -> list[Finding]:
    try:
        about = await asking.get("/gateway/bot")
        await _greeting(asking, about["url"])
    except Refused as refused:
        return [failed(GATEWAY, f"Discord does not tell where its gateway is: {refused}.", NETWORK)]
    except Silent:
        return [failed(GATEWAY, f"It cannot be reached, or does not greet within {PATIENCE:g} s.", NETWORK)]
    return [starts(about["session_start_limit"])]


def starts(limit: dict[str, Any]) -> Finding:
    """What is left of a day's sessions."""
    left, total = limit["remaining"], limit["total"]
    hours = f"{limit['reset_after'] / 3_600_000:.0f} h"  # given in milliseconds
    told = f"It greets. Of {total:,} sessions a day, {left:,} can still be begun"
    if not left:
        return failed(GATEWAY, f"{told}: no `footnote run` can connect for {hours}.", _RESTARTS)
    if left < FEW:
        return warning(GATEWAY, f"{told} within {hours}.", _RESTARTS)
    return ok(GATEWAY, f"{told}.")


async def _greeting(asking: Asking, url: str) -> None:
    """Returns once the gateway has said hello. Raises Silent."""
    from aiohttp import ClientError, ClientWSTimeout, WSMsgType
    from yarl import URL

    address = URL(url).with_query(v=VERSION, encoding="json")
    try:
        async with (
            asyncio.timeout(PATIENCE),
            asking.session.ws_connect(
                address, proxy=asking.proxy, timeout=ClientWSTimeout(ws_close=LEAVING)
            ) as socket,
        ):
            async for frame in socket:
                if frame.type is WSMsgType.TEXT and json.loads(frame.data).get("op") == HELLO:
                    return
    except (ClientError, OSError, ValueError) as lost:  # a TimeoutError is an OSError
        raise Silent from lost
    raise Silent

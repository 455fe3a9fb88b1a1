"""Checks that the doctors of all platforms share: whether a socket opens, and what a platform did not tell."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from bots.chat.platform import Refused
from bots.doctor.findings import Finding, skipped
from core.turns.messenger import Unreachable

if TYPE_CHECKING:
    from aiohttp import ClientSession

CLOSING = 1.0  # seconds for a socket to close; Slack leaves the connection below it open


def untold(check: str, denied: str, trouble: Refused | Unreachable, patience: float) -> Finding:
    """``denied``: what the platform would have told, as in "Slack {} tell which"."""
    if isinstance(trouble, Refused):
        code = f"HTTP {trouble}" if trouble.code.isdecimal() else str(trouble)
        return skipped(check, f"{denied.format('does not')}: {code}.")
    return skipped(check, f"{denied.format('did not')} within {patience:g} s.")


async def first_message(
    session: "ClientSession", url: str, proxy: str | None, is_hello: Callable[[Mapping[str, Any]], bool],
    *, patience: float,
) -> dict[str, Any]:  # fmt: skip
    """The message in which a server says hello on a socket, which is then closed. Raises Unreachable."""
    from aiohttp import ClientError, ClientWSTimeout, WSMsgType

    timeout = ClientWSTimeout(ws_close=CLOSING)
    try:
        async with (
            asyncio.timeout(patience),
            session.ws_connect(url, proxy=proxy, timeout=timeout) as socket,
        ):
            async for frame in socket:
                message = json.loads(frame.data) if frame.type is WSMsgType.TEXT else {}
                if is_hello(message):
                    return dict(message)
    except (ClientError, OSError, ValueError) as lost:  # a TimeoutError is an OSError
        raise Unreachable from lost
    raise Unreachable

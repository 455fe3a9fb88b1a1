"""Slack over HTTP: signed requests on one path, all others there get a 401, and no body is logged.

With a client id two more paths let a workspace install the app; Bolt's OAuth flow answers on them.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from bots.chat.platform import MALFORMED, Unreadable
from bots.slack.manifest import EVENTS_PATH

if TYPE_CHECKING:
    from aiohttp import web
    from slack_bolt.app.async_app import AsyncApp
    from slack_bolt.oauth.async_oauth_flow import AsyncOAuthFlow
    from slack_bolt.request.async_request import AsyncBoltRequest
    from slack_bolt.response import BoltResponse

logger = logging.getLogger(__name__)

BODY_LIMIT = 2 * 1024**2  # bytes; Slack's payloads stay far below
CLOCK_SKEW = 300  # seconds, "Verifying requests from Slack"
TOO_FAR_APART = "a request that Slack signed was turned away: it is old, or this machine's clock is wrong; footnote doctor tells"
TIMESTAMP_DIGITS = 12  # seconds since the epoch fit in fewer for 30,000 years


def skew_of(headers: Mapping[str, str], body: bytes, secret: str, now: float) -> float | None:
    """The lead of ``now`` over the signed timestamp, in seconds; None without Slack's signature."""
    timestamp, signature = headers.get("X-Slack-Request-Timestamp", ""), headers.get("X-Slack-Signature", "")
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= TIMESTAMP_DIGITS):
        return None
    expected = hmac.new(secret.encode(), b"v0:%b:%b" % (timestamp.encode(), body), hashlib.sha256).hexdigest()
    is_slacks = hmac.compare_digest(f"v0={expected}".encode(), signature.encode(errors="replace"))
    return now - int(timestamp) if is_slacks else None


@asynccontextmanager
async def listening(
    app: AsyncApp, flow: AsyncOAuthFlow | None, secret: str, port: int, unreadable: Unreadable
) -> AsyncIterator[None]:
    """Pass signed requests to the app. Port 0 takes a free port, which is logged."""
    from aiohttp import web

    from bots.http_server import serve

    routes = web.Application(client_max_size=BODY_LIMIT)
    routes.router.add_post(EVENTS_PATH, _receiver(app, secret, unreadable))
    if flow is not None:
        routes.router.add_get(flow.install_path, _page(flow.handle_installation))
        routes.router.add_get(flow.redirect_uri_path, _page(flow.handle_callback))
    async with serve(routes, None, port, name="Slack's address") as listens_on:
        logger.info("listening", extra={"port": listens_on, "path": EVENTS_PATH})
        yield


def _page(
    answer: Callable[[AsyncBoltRequest], Awaitable[BoltResponse]],
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request

    async def show(request: web.Request) -> web.StreamResponse:
        return await to_aiohttp_response(await answer(await to_bolt_request(request)))

    return show


def _receiver(
    app: AsyncApp, secret: str, unreadable: Unreadable
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    from aiohttp import web
    from slack_bolt.adapter.aiohttp import to_aiohttp_response
    from slack_bolt.request.async_request import AsyncBoltRequest

    async def receive(request: web.Request) -> web.StreamResponse:
        try:
            body = await request.read()
            text = body.decode()
        except (web.HTTPRequestEntityTooLarge, UnicodeDecodeError):
            return _unauthorized()
        skew = skew_of(request.headers, body, secret, time.time())
        if skew is None or abs(skew) > CLOCK_SKEW:
            return _unauthorized(skew)
        kind: dict[str, str | Sequence[str]] = {"Content-Type": request.content_type}
        try:
            payload = AsyncBoltRequest(body=text, headers=kind)
        except MALFORMED as fault:
            unreadable.count(fault)
            return web.Response()
        return await to_aiohttp_response(await app.async_dispatch(payload))

    def _unauthorized(skew: float | None = None) -> web.Response:
        if skew is None:
            logger.info("a request that is not signed was turned away")
        else:
            logger.warning(TOO_FAR_APART, extra={"seconds": round(skew)})
        return web.Response(status=401)

    return receive

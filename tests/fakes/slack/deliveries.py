"""What Slack brings to the app, and brings again until it is acknowledged.

Over Socket Mode, or over signed HTTP once ``request_url`` is set. Retries follow "Events API,
Retries"; when they are due is the clock's matter, and ``redeliver`` does not wait for it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import time
import uuid
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlencode

import aiohttp
from fakes.slack.sockets import Connection

if TYPE_CHECKING:
    from fakes.slack.server import FakeSlack

ACK_WITHIN = 3.0  # seconds, "Events API" and "Handling user interaction"
RETRY_DELAYS = (0.0, 60.0, 300.0)  # seconds after a failure: nearly at once, 1 minute, 5 minutes

Duplicate = Literal["same_envelope", "new_envelope", "other_socket", "retry"]
DUPLICATES: tuple[Duplicate, ...] = ("same_envelope", "new_envelope", "other_socket", "retry")


@dataclass
class Attempt:
    envelope_id: str
    retry_num: int
    at: float  #: monotonic seconds
    reason: str = ""  #: why it is a retry
    socket: int = 0  #: the connection's number; 0 for HTTP, or when there was none
    acked_at: float = math.inf  #: monotonic seconds
    status: int = 0  #: of the HTTP reply


@dataclass(eq=False)
class Delivery:
    """One event or interaction, however often it is sent."""

    type: Literal["events_api", "interactive"]
    payload: dict[str, Any] = field(repr=False)
    takes_response: bool = False
    attempts: list[Attempt] = field(default_factory=list)
    response: dict[str, Any] | None = None  #: what came with the acknowledgement
    is_acked: bool = False
    retry_at: float = math.inf  #: the clock's second at which Slack sends it again
    reason: str = ""  #: of the next retry

    @property
    def name(self) -> str:
        """The event's type, or the interaction's."""
        return str(self.payload["event"]["type"] if self.type == "events_api" else self.payload["type"])

    @property
    def event(self) -> dict[str, Any]:
        return self.payload["event"] if self.type == "events_api" else {}

    @property
    def latency(self) -> float:
        """Seconds from being sent to being acknowledged, of the first attempt that was."""
        return min((one.acked_at - one.at for one in self.attempts), default=math.inf)


class Deliveries:
    def __init__(self, slack: FakeSlack) -> None:
        self.slack = slack
        self.all: list[Delivery] = []
        self._envelopes: dict[str, tuple[Delivery, Attempt]] = {}
        self._http: aiohttp.ClientSession | None = None

    @property
    def unacknowledged(self) -> list[Delivery]:
        return [one for one in self.all if not one.is_acked]

    async def offer(self, delivery: Delivery) -> Delivery:
        """Sends it for the first time, and what chance adds."""
        self.all.append(delivery)
        await self.attempt(delivery)
        for kind in self.slack.faults.duplicates():
            await self.duplicate(delivery, kind)
        return delivery

    async def attempt(
        self, delivery: Delivery, *, envelope_id: str = "", retry_num: int | None = None,
        connection: Connection | None = None,
    ) -> Attempt:  # fmt: skip
        number = len(delivery.attempts) if retry_num is None else retry_num
        reason = delivery.reason if number else ""
        attempt = Attempt(envelope_id or str(uuid.uuid4()), number, time.monotonic(), reason)
        delivery.attempts.append(attempt)
        self._envelopes[attempt.envelope_id] = delivery, attempt
        self._plan_retry(delivery, self.slack.ack_within, "timeout")
        if self.slack.request_url:
            self.slack.spawn(self._post(delivery, attempt))
        else:
            envelope = {
                "envelope_id": attempt.envelope_id, "type": delivery.type, "payload": delivery.payload,
                "accepts_response_payload": delivery.takes_response,
            }  # fmt: skip
            if delivery.type == "events_api":
                envelope |= {"retry_attempt": number, "retry_reason": reason}
            attempt.socket = await self.slack.sockets.send(envelope, connection)
        self.slack.changed()
        return attempt

    async def duplicate(self, delivery: Delivery, kind: str) -> None:
        """Brings something a second time in one of the ways in which it can come twice."""
        first = delivery.attempts[0]
        sockets = self.slack.sockets
        same = next((one for one in sockets.live if one.number == first.socket), None)
        other = next((one for one in sockets.live if one.number != first.socket), None)
        match kind:
            case "same_envelope":
                await self.attempt(delivery, envelope_id=first.envelope_id, retry_num=0, connection=same)
            case "new_envelope":
                await self.attempt(delivery, retry_num=0, connection=same)
            case "other_socket":
                await self.attempt(delivery, retry_num=0, connection=other)
            case "retry":
                delivery.reason = "timeout"
                await self.attempt(delivery, retry_num=1)
            case _:
                raise ValueError(f"duplicates are {DUPLICATES}, not {kind}")

    async def redeliver(self, *, only_due: bool = False) -> list[Delivery]:
        """Sends again what was not acknowledged; interactions are never sent twice."""
        now = self.slack.state.clock.now()
        again = [
            one
            for one in self.unacknowledged
            if one.type == "events_api" and (one.retry_at <= now or not only_due)
        ]
        for delivery in again:
            await self.attempt(delivery)
        return again

    def acknowledge(self, envelope_id: str, response: dict[str, Any] | None) -> None:
        if envelope_id not in self._envelopes:
            self.slack.rejected.append(f"socket: no such envelope: {envelope_id}")
            return
        delivery, attempt = self._envelopes[envelope_id]
        attempt.acked_at = min(attempt.acked_at, time.monotonic())
        if response and not delivery.takes_response:
            self.slack.rejected.append(f"socket: {delivery.name} takes no response")
        delivery.response = response if delivery.response is None else delivery.response
        delivery.is_acked, delivery.retry_at = True, math.inf
        self.slack.changed()

    async def post(self, payload: dict[str, Any], **headers: str) -> tuple[int, str]:
        """One signed request to the app's URL; headers that are given replace Slack's own."""
        if self._http is None:
            self._http = aiohttp.ClientSession(trust_env=False)
        is_event = payload.get("type") in ("event_callback", "url_verification")
        body = json.dumps(payload) if is_event else urlencode({"payload": json.dumps(payload)})
        kind = "application/json" if is_event else "application/x-www-form-urlencoded"
        now = str(int(time.time()))
        signed = {
            "Content-Type": kind, "X-Slack-Request-Timestamp": now,
            "X-Slack-Signature": signature(self.slack.signing_secret, now, body),
        } | headers  # fmt: skip
        limit = aiohttp.ClientTimeout(total=self.slack.ack_within)
        async with self._http.post(self.slack.request_url, data=body, headers=signed, timeout=limit) as reply:
            return reply.status, await reply.text()

    async def close(self) -> None:
        if self._http is not None:
            await self._http.close()

    async def _post(self, delivery: Delivery, attempt: Attempt) -> None:
        retry = {"X-Slack-Retry-Num": str(attempt.retry_num), "X-Slack-Retry-Reason": attempt.reason}
        try:
            attempt.status, text = await self.post(delivery.payload, **(retry if attempt.retry_num else {}))
        except TimeoutError:
            self._plan_retry(delivery, 0.0, "http_timeout")
        except aiohttp.ClientError:
            self._plan_retry(delivery, 0.0, "connection_failed")
        else:
            if attempt.status == 200:
                is_json = text.startswith("{")
                self.acknowledge(attempt.envelope_id, json.loads(text) if is_json and text != "{}" else None)
            else:
                self._plan_retry(delivery, 0.0, "http_error")
        self.slack.changed()

    def _plan_retry(self, delivery: Delivery, after: float, reason: str) -> None:
        retries = len(delivery.attempts) - 1
        if delivery.is_acked or delivery.type != "events_api":
            return
        delivery.reason = reason
        if retries >= len(self.slack.retry_delays):
            delivery.retry_at = math.inf
            return
        wait = after + self.slack.retry_delays[retries]
        delivery.retry_at = self.slack.state.clock.now() + wait
        if self.slack.retries_by_itself:
            self.slack.later(wait + 0.001, partial(self.redeliver, only_due=True))


def signature(secret: str, timestamp: str, body: str) -> str:
    """ "Verifying requests from Slack": HMAC-SHA256 of version, time and body."""
    return f"v0={hmac.new(secret.encode(), f'v0:{timestamp}:{body}'.encode(), hashlib.sha256).hexdigest()}"

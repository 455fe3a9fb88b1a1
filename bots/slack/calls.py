"""Calls to Slack's Web API, repeated where that is safe.

A call that got a 429 did nothing: it is repeated after the time that Slack names. After a 5xx or a
lost reply, it is unknown whether it did: it is repeated here only if it may happen twice. Posting is
not: it has to look for its message first (:class:`Unsure`). A revoked token is mended by a person, so
that whoever calls waits as for a platform that is out of reach (:class:`NotAuthorized`). A run that goes on
in another process changes nothing any more.

An installation is known by the space of its conversations, so that no call is made with another's token.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from bots.chat.platform import LogLimit, Refused, is_reached_directly
from bots.slack.route import Me, Payload, spaces_of, spoken
from bots.slack.settings import SlackSettings
from core.conversation import value
from core.errors import FootnoteError, StoreUnavailable
from core.turns.messenger import Unreachable
from core.turns.replicas import OWNERSHIP

if TYPE_CHECKING:
    from slack_sdk.errors import SlackApiError
    from slack_sdk.web.async_client import AsyncWebClient


logger = logging.getLogger(__name__)


@value
class Installation:
    """The app in one workspace, or in all of an organization."""

    me: Me
    token: str = field(repr=False)


@dataclass(slots=True)
class Installations:
    """The installations that are served now."""

    _by_space: dict[str, Installation] = field(default_factory=dict)

    def add(self, installation: Installation) -> None:
        """Add an installation; a newer one of the same workspace replaces the older."""
        self._by_space[installation.me.space] = installation

    def remove(self, space: str) -> None:
        self._by_space.pop(space, None)

    def get(self, space: str) -> Installation | None:
        """The installation of a space; an empty one, which earlier versions stored, means the only one."""
        if not space and len(self._by_space) == 1:
            return next(iter(self._by_space.values()))
        return self._by_space.get(space)

    def spaces(self) -> tuple[str, ...]:
        return tuple(self._by_space)

    def of(self, payload: Payload) -> Installation | None:
        """The installation that a payload is for; None where the app is not installed."""
        known = [each for space in spaces_of(payload) if (each := self._by_space.get(space))]
        event = payload.get("event") or {}
        if known and payload.get("is_ext_shared_channel") and event.get("type") == "app_mention":
            # Of the installations in a shared channel an event names any: the mention says which is meant.
            text = str(event.get("text"))
            served = self._by_space.values()
            meant = [each for each in served if spoken(text, each.me.user_id).mentions_me]
            known = meant or known
        return known[0] if known else None


TIMEOUT = 15.0  # seconds for one request
PAUSES = (0.2, 0.5, 1.0, 2.0, 4.0)  # seconds between the tries of a call that fails in ways that pass
ATTEMPT = 5.0  # seconds for a call that may be left out
LONGEST_WAIT = 120.0  # seconds that one call waits for its rate limit before the turn is tried again later

#: Errors that pass by themselves, "Web API methods: common errors"; every other one is final.
_PASSING = frozenset(
    {"internal_error", "fatal_error", "service_unavailable", "request_timeout", "ratelimited"}
)
#: Errors of the token, its scopes or the app, which the operator can mend.
_MENDABLE = frozenset(
    {"missing_scope", "invalid_auth", "token_revoked", "token_expired", "account_inactive", "not_authed"}
)
#: Those of a token that will never work again.
GONE = frozenset({"invalid_auth", "account_inactive", "token_revoked"})
#: Methods that only read: their arguments go into the URL, since most of them take none in JSON, "Web API methods".
_READING = frozenset({
    "auth.test", "conversations.history", "conversations.replies", "chat.getPermalink", "conversations.info",
    "files.info", "users.conversations", "usergroups.list", "usergroups.users.list", "users.info",
})  # fmt: skip

Reply = Mapping[str, Any]


class SlackRefused(Refused):
    """Slack will never do this; ``code`` is its error code."""


class NotAuthorized(Unreachable):
    """Slack will do this once a person has mended the token or its scopes; ``code`` is its error code."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code, self.is_final = code, code in GONE


class MissingScope(NotAuthorized):
    """The same for a scope; it may be withheld on purpose, where something can be done without it."""

    def __init__(self) -> None:
        super().__init__("missing_scope")


class Unsure(Exception):
    """The call may have succeeded: look before repeating it."""


class Passing(Exception):
    """A failure that passes: a rate limit, after which nothing was done, or a lost reply."""

    def __init__(self, wait: float | None) -> None:
        super().__init__(wait)
        self.wait = wait  # seconds; None: the reply is lost


async def _look_nowhere(_space: str) -> None:
    """Does nothing, where no workspace installs the app by itself."""


@dataclass(slots=True, kw_only=True)
class SlackCalls:
    """The Web API for every installation, each with its own token."""

    client: AsyncWebClient
    installations: Installations = field(default_factory=Installations)
    #: Loads what is installed in a space: another process may have done that, with a new token.
    look: Callable[[str], Awaitable[None]] = _look_nowhere
    _not_before: dict[tuple[str, ...], float] = field(default_factory=dict)  #: by team, method and channel
    _log_limit: LogLimit = field(default_factory=LogLimit)

    async def call(self, method: str, /, *, team: str, is_repeatable: bool = True, **arguments: Any) -> Reply:
        """Slack's reply. Raises SlackRefused and Unreachable, and Unsure if it is not ``is_repeatable``."""
        installation = await self.installation(team)
        if installation is None:  # it was uninstalled; its turns wait in case that it is installed again
            raise self._not_authorized("not_installed", method)
        limit_key = team, method, str(arguments.get("channel") or arguments.get("channel_id") or "")
        repeat = partial(self._repeat, method, arguments, limit_key=limit_key, is_repeatable=is_repeatable)
        try:
            return await repeat(installation.token)
        except NotAuthorized as refused:
            if not refused.is_final:
                raise
            await self._load(team)  # it may have been installed again, with another token
            newer = self.installations.get(team)
            if newer is None or newer.token == installation.token:
                raise
        return await repeat(newer.token)

    async def installation(self, team: str) -> Installation | None:
        """The app in a workspace or an organization, whichever process it was installed through."""
        known = self.installations.get(team)
        if known is None and team:
            await self._load(team)
            known = self.installations.get(team)
        return known

    async def user_id(self, team: str) -> str:
        """The bot's user id in a workspace; empty where it is not installed."""
        installation = await self.installation(team)
        return installation.me.user_id if installation else ""

    async def _load(self, team: str) -> None:
        try:
            await self.look(team)
        except StoreUnavailable as away:
            raise Unreachable from away

    async def attempt(self, method: str, /, *, team: str, **arguments: Any) -> Reply:
        """The reply to a single try. Raises SlackRefused, Unreachable if nothing was done, and Unsure."""
        installation, loop = await self.installation(team), asyncio.get_running_loop()
        limit_key = team, method, str(arguments.get("channel") or arguments.get("channel_id") or "")
        if installation is None or self._not_before.get(limit_key, 0.0) > loop.time():
            raise Unreachable
        try:
            async with asyncio.timeout(ATTEMPT):
                return await self._once(method, arguments, installation.token)
        except (Passing, TimeoutError) as failure:
            wait = failure.wait if isinstance(failure, Passing) else None
            if wait is None:
                raise Unsure from failure
            self._not_before[limit_key] = loop.time() + wait
            raise Unreachable from failure

    async def read(self, method: str, /, *, team: str, **arguments: Any) -> Reply:
        """The same for a call that only reads, by a caller that waits by itself.

        Raises SlackRefused, Unreachable and Passing, with the seconds to wait.
        """
        installation, loop = await self.installation(team), asyncio.get_running_loop()
        limit_key = team, method, str(arguments.get("channel") or arguments.get("channel_id") or "")
        if installation is None:
            raise self._not_authorized("not_installed", method)
        if (left := self._not_before.get(limit_key, 0.0) - loop.time()) > 0:
            raise Passing(left)
        try:
            return await self._once(method, arguments, installation.token)
        except Passing as failure:
            if failure.wait is not None:  # others who call there wait too
                self._not_before[limit_key] = loop.time() + failure.wait
            raise Passing(PAUSES[-1] if failure.wait is None else failure.wait) from failure

    async def identify(self, token: str) -> Installation:
        """The installation that a token belongs to. Raises SlackRefused and Unreachable."""
        known = await self._repeat("auth.test", {}, token, limit_key=("auth.test",))
        me = Me(
            user_id=known["user_id"], bot_id=known.get("bot_id", ""), team_id=known["team_id"],
            enterprise_id=known.get("enterprise_id") or "", is_org_wide=bool(known.get("is_enterprise_install")),
        )  # fmt: skip
        return Installation(me=me, token=token)

    async def add_own(self, token: str, error: type[FootnoteError], advice: str = "") -> None:
        """Add the installation of SLACK_BOT_TOKEN; this error says why there is none."""
        try:
            self.installations.add(await self.identify(token))
        except (SlackRefused, NotAuthorized) as refused:
            raise error(f"Slack refused SLACK_BOT_TOKEN: {refused.code}.") from refused
        except Unreachable as lost:
            raise error(f"Slack cannot be reached{advice}.") from lost

    async def _repeat(
        self, method: str, arguments: dict[str, Any], token: str,
        *, limit_key: tuple[str, ...], is_repeatable: bool = True,
    ) -> Reply:  # fmt: skip
        loop = asyncio.get_running_loop()
        for pause in (*PAUSES, None):
            # A rate limit holds for a method in a channel: every other call there waits too.
            while (left := self._not_before.get(limit_key, 0.0) - loop.time()) > 0:  # noqa: ASYNC110 - no event says when
                await asyncio.sleep(left)
            self._not_before.pop(limit_key, None)
            try:
                return await self._once(method, arguments, token)
            except Passing as failure:
                if failure.wait is None and not is_repeatable:
                    raise Unsure from failure
                if pause is None or (failure.wait or 0.0) > LONGEST_WAIT:
                    raise Unreachable from failure
                if failure.wait is not None:
                    self._not_before[limit_key] = loop.time() + failure.wait
                else:
                    await asyncio.sleep(pause)
        raise Unreachable

    async def _once(self, method: str, arguments: dict[str, Any], token: str) -> Reply:
        from aiohttp import ClientError
        from slack_sdk.errors import SlackApiError

        headers = {"Authorization": f"Bearer {token}"}
        if method not in _READING:
            await OWNERSHIP.get().confirm()
        try:
            if method in _READING:
                reply = await self.client.api_call(method, http_verb="GET", params=arguments, headers=headers)
            else:
                reply = await self.client.api_call(method, json=arguments, headers=headers)
        except SlackApiError as error:
            code = code_of(error)
            raise (self._not_authorized(code, method) if code in _MENDABLE else _failure_of(error)) from error
        except (ClientError, TimeoutError, OSError) as error:
            raise Passing(None) from error
        data: Any = reply.data
        return data if isinstance(data, dict) else {}

    def _not_authorized(self, code: str, method: str) -> NotAuthorized:
        if self._log_limit.admits(code):
            extra = {"reason": code, "method": method}
            logger.warning("the app may not do this; `footnote doctor slack` says why", extra=extra)
        return MissingScope() if code == "missing_scope" else NotAuthorized(code)


def _failure_of(error: SlackApiError) -> Exception:
    response: Any = error.response
    status = int(getattr(response, "status_code", 0) or getattr(response, "status", 0))
    if status == 429:  # HTTP: too many requests, and nothing was done
        headers = {name.lower(): content for name, content in response.headers.items()}
        seconds = headers.get("retry-after", "")
        return Passing(float(seconds) if seconds.isdecimal() else 1.0)
    code = code_of(error)
    return Passing(None) if status >= 500 or not code or code in _PASSING else SlackRefused(code)


def code_of(error: SlackApiError) -> str:
    data: Any = getattr(error.response, "data", None)
    return str(data.get("error", "")) if isinstance(data, dict) else ""


@asynccontextmanager
async def open_calls(settings: SlackSettings) -> AsyncIterator[SlackCalls]:
    """The Web API over one session; the SDK's own retries are off, since they would post twice."""
    from aiohttp import ClientSession, ClientTimeout
    from slack_sdk.web.async_client import AsyncWebClient

    async with ClientSession(timeout=ClientTimeout(total=TIMEOUT)) as session:
        client = AsyncWebClient(
            settings.bot_token or None, base_url=settings.api_url, session=session, retry_handlers=[],
            logger=quiet_logger("web"),
        )  # fmt: skip
        if is_reached_directly(settings.api_url):
            client.proxy = None
        yield SlackCalls(client=client)


def quiet_logger(name: str, level: int = logging.WARNING) -> logging.Logger:
    """A logger for the SDK, which at lower levels logs whole payloads, and with them what people write."""
    log = logging.getLogger(f"{__name__}.{name}")
    log.setLevel(level)
    return log

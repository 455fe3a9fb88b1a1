"""Identifies callers over HTTP: by Slack's signature, by our own token, or by an OAuth token of an issuer."""

import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
import jwt

from bots.mcp.callers import MCP, SLACK, Caller, person_by_email, person_of_slack
from bots.mcp.tokens import BEARER_PREFIX, McpStore
from bots.slack.settings import CLOCK_SKEW, skew_of
from core.errors import FootnoteError, SettingsError
from core.tls import default_tls

#: What tells nothing of anybody's documents: Slack may send it for nobody, and twice within a second.
HARMLESS = frozenset(
    {
        "initialize", "notifications/initialized", "notifications/cancelled", "ping", "server/discover", "tools/list",
        "prompts/list", "resources/list", "resources/templates/list",
    }
)  # fmt: skip
#: Whoever sends that, where Slack does not say for whom.
NOBODY = Caller(platform=MCP, space=SLACK, channel="nobody", author="nobody")
BEARER = "bearer "
ALGORITHMS = ("RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "EdDSA")
ISSUER_TIMEOUT = 10.0  # seconds
#: Seconds; the pause is between two looks at the issuer's keys for one that is unknown.
KEYS_KEPT, KEYS_PAUSE = 3_600.0, 60.0
LEEWAY = 60  # seconds that clocks may differ by
METADATA = (".well-known/openid-configuration", ".well-known/oauth-authorization-server")  # OpenID; RFC 8414

logger = logging.getLogger(__name__)


class UnknownCaller(FootnoteError):
    """The sender is unknown; the sentence says why."""


@dataclass(slots=True, kw_only=True)
class Issuer:
    """An issuer of OAuth access tokens (RFC 9068), which are for this server alone: their audience is its address."""

    address: str
    audience: str
    clock: Callable[[], float] = time.monotonic
    _keys: dict[str, jwt.PyJWK] = field(default_factory=dict)
    _looked_at: float = float("-inf")
    _looking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def caller_of(self, token: str) -> Caller:
        """The caller whose address the token names. UnknownCaller for a foreign, misdirected or expired token."""
        try:
            key = await self._key(str(jwt.get_unverified_header(token).get("kid", "")))
            claims = jwt.decode(
                token, key.key, algorithms=[key.algorithm_name], audience=self.audience, issuer=self.address,
                leeway=LEEWAY, options={"require": ["exp", "iss", "aud"]},
            )  # fmt: skip
        except jwt.PyJWTError as fault:
            raise UnknownCaller(f"This token is not valid here: {fault}.") from fault
        address = claims.get("email")
        if not isinstance(address, str) or claims.get("email_verified") is not True:
            raise UnknownCaller("This token names no e-mail address that its issuer verified.")
        try:
            return person_by_email(address)
        except SettingsError as fault:
            raise UnknownCaller(str(fault)) from fault

    async def _key(self, key_id: str) -> jwt.PyJWK:
        async with self._looking:  # who comes meanwhile waits for the keys
            now = self.clock()
            if now - self._looked_at > (KEYS_PAUSE if key_id not in self._keys else KEYS_KEPT):
                self._looked_at = now
                try:
                    self._keys = await self._look()
                except UnknownCaller:
                    # The issuer is away: what it signed with a key that is known still counts.
                    if key_id not in self._keys:
                        raise
        if (key := self._keys.get(key_id)) is None or key.algorithm_name not in ALGORITHMS:
            raise UnknownCaller("This token was signed with a key that its issuer does not have.")
        return key

    async def _look(self) -> dict[str, jwt.PyJWK]:
        try:
            tls = await asyncio.to_thread(default_tls)
            async with httpx.AsyncClient(timeout=ISSUER_TIMEOUT, verify=tls) as client:
                for path in METADATA:
                    metadata = await client.get(f"{self.address.rstrip('/')}/{path}")
                    if metadata.is_success:
                        keys = (await client.get(metadata.json()["jwks_uri"])).raise_for_status()
                        return {str(each.key_id): each for each in jwt.PyJWKSet.from_dict(keys.json()).keys}
        except (httpx.HTTPError, ValueError, LookupError, TypeError, jwt.PyJWTError) as fault:
            logger.warning("the keys of MCP_ISSUER could not be read", exc_info=True)
            raise UnknownCaller("The issuer of tokens cannot be reached now.") from fault
        raise UnknownCaller("MCP_ISSUER does not say where its keys are.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Identities:
    """Finds out who sent a request."""

    store: McpStore
    signing_secret: str = ""  #: of Slack's app; empty: Slack vouches for nobody
    spaces: Callable[[], tuple[str, ...]] = tuple  #: Slack's workspaces that are served now
    issuer: Issuer | None = None
    now: Callable[[], float] = time.time

    async def caller_of(self, headers: Mapping[str, str], body: bytes) -> Caller:
        """The caller of a request; one with two identities is refused. Raises UnknownCaller and StoreUnavailable."""
        token, is_signed = headers.get("Authorization", ""), "X-Slack-Signature" in headers
        if is_signed and not token:
            return await self._signed(headers, body)
        if is_signed or not token.lower().startswith(BEARER):
            raise UnknownCaller("Say who asks: with a token of `footnote mcp --token`, or through Slack.")
        token = token[len(BEARER) :].strip()
        caller = await self.store.caller_of(token) if token.startswith(BEARER_PREFIX) else None
        if caller is None:
            if self.issuer is None or token.startswith(BEARER_PREFIX):
                raise UnknownCaller("This token is unknown, revoked or expired.")
            caller = await self.issuer.caller_of(token)
        # A person of Slack without a workspace is of the only one that is served.
        if caller.platform != SLACK or caller.space in (spaces := self.spaces()):
            return caller
        if caller.space or len(spaces) != 1:
            raise UnknownCaller(
                "This token stands for somebody of a Slack workspace that is not served here."
            )
        return replace(caller, space=spaces[0])

    async def _signed(self, headers: Mapping[str, str], body: bytes) -> Caller:
        skew = skew_of(headers, body, self.signing_secret, self.now()) if self.signing_secret else None
        if skew is None or abs(skew) > CLOCK_SKEW:
            raise UnknownCaller("This is not signed by Slack, or it is too old.")
        request = _object(body)
        params = request.get("params")
        said = (params.get("_meta") or {}).get("slack") if isinstance(params, dict) else None
        team, user = (said.get("team_id"), said.get("user_id")) if isinstance(said, dict) else (None, None)
        is_harmless = request.get("method") in HARMLESS
        if said is None and is_harmless:
            return NOBODY
        if not (isinstance(team, str) and isinstance(user, str) and user.isalnum()):
            raise UnknownCaller("Slack did not say who asks: the server needs `slack_identity_auth`.")
        if team not in self.spaces():
            raise UnknownCaller("This is of a Slack workspace that is not served here.")
        if not is_harmless and not await self.store.is_first(headers["X-Slack-Signature"]):
            raise UnknownCaller("This came before.")
        return person_of_slack(team, user)


def _object(body: bytes) -> dict[str, Any]:
    try:
        request = json.loads(body)
    except (ValueError, RecursionError):
        raise UnknownCaller("This cannot be read.") from None
    return request if isinstance(request, dict) else {}

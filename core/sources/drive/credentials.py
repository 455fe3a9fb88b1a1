"""The service account that reads Google Drive, and the access tokens that it is given.

Its key lies in a file that its owner alone may read. A token is asked for with a statement that is signed with the key
(RFC 7523, and Google's "Using OAuth 2.0 for Server to Server Applications"). Neither is kept or logged.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import SettingsError
from core.sources.credentials import read_owner_only
from core.sources.source import SourceUnavailable

if TYPE_CHECKING:
    from google.oauth2.service_account import Credentials

SCOPE = "https://www.googleapis.com/auth/drive.readonly"
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"  # RFC 7523, 2.1
LIFETIME = 3_600  # seconds; Google grants at most an hour
MARGIN = 60  # seconds before its end that a token is not used any more

#: Sends a form, and returns the status and the JSON of the answer.
PostForm = Callable[[str, dict[str, str]], Awaitable[tuple[int, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveAccount:
    """A service account."""

    email: str
    token_url: str
    _credentials: Credentials = field(repr=False)

    def statement(self, now: float) -> str:
        """What a token is asked for with."""
        from google.auth import jwt

        claims = {
            "iss": self.email,
            "scope": SCOPE,
            "aud": self.token_url,
            "iat": int(now),
            "exp": int(now) + LIFETIME,
        }
        signed: bytes = jwt.encode(self._credentials.signer, claims)  # type: ignore[no-untyped-call]
        return signed.decode()


def read_account(path: str) -> DriveAccount:
    """The service account in a file of Google's. SettingsError for a file that is none, or that others may read."""
    if not path:
        raise SettingsError(
            "Google Drive is read by a service account: set DRIVE_CREDENTIALS to the path of its key, a JSON file."
        )
    file = Path(path).expanduser()
    try:
        text = read_owner_only(file)
    except SettingsError as error:
        raise SourceUnavailable(f"DRIVE_CREDENTIALS: {error}") from None
    return _account(text, file)


def _account(text: str, file: Path) -> DriveAccount:
    from google.auth.exceptions import GoogleAuthError
    from google.oauth2.service_account import Credentials

    try:
        given = json.loads(text)
        credentials = Credentials.from_service_account_info(given, scopes=[SCOPE])  # type: ignore[no-untyped-call]
        return DriveAccount(
            email=str(given["client_email"]), token_url=str(given["token_uri"]), _credentials=credentials
        )
    except (ValueError, KeyError, TypeError, AttributeError, GoogleAuthError):
        # What the parsers say may hold a part of the key.
        raise SettingsError(
            f"{file} is not the key of a service account: DRIVE_CREDENTIALS names the JSON file that Google gave you."
        ) from None


@dataclass(slots=True, kw_only=True)
class AccessTokens:
    """The token that is in use, asked for anew before it ends."""

    account: DriveAccount
    post: PostForm
    now: Callable[[], float] = time.time
    _token: str = field(default="", repr=False)
    _ends: float = 0.0
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def get(self, refused: str = "") -> str:
        """A token other than the one that was refused. SourceUnavailable if the account is not accepted."""
        async with self._asking:
            if not self._token or self._token == refused or self.now() >= self._ends - MARGIN:
                await self._ask()
            return self._token

    async def _ask(self) -> None:
        assertion = await asyncio.to_thread(self.account.statement, self.now())
        status, answer = await self.post(
            self.account.token_url, {"grant_type": GRANT, "assertion": assertion}
        )
        token = answer.get("access_token") if isinstance(answer, dict) else None
        if not isinstance(token, str):
            reason = answer.get("error", "") if isinstance(answer, dict) else ""
            raise SourceUnavailable(
                f"Google does not accept the service account {self.account.email} ({reason or f'HTTP {status}'}): "
                "its key may have been deleted, or the clock of this machine is wrong."
            )
        lifetime = answer.get("expires_in", LIFETIME)
        self._token = token
        self._ends = self.now() + (float(lifetime) if isinstance(lifetime, int | float) else LIFETIME)

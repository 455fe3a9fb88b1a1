"""Requests to the Drive API (v3) as a service account, and what its refusals mean.

What it is asked and answers is described by the API's discovery document; its errors by "Resolve errors" of its
documentation.

The key of the account lies in a file that its owner alone may read. A token is asked for with a statement that is
signed with the key (RFC 7523, and Google's "Using OAuth 2.0 for Server to Server Applications"). Neither is kept or
logged.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from core.errors import FootnoteError, SettingsError
from core.sources.http import FORBIDDEN, GONE, NOT_FOUND, UNAUTHORIZED, HostClient, Json, Response, throttle
from core.sources.source import CursorExpired, SourceThrottled, SourceUnavailable, read_owner_only
from core.web.request import OK, SERVER_FAULT, TOO_MANY_REQUESTS, seconds_asked

if TYPE_CHECKING:
    from google.oauth2.service_account import Credentials


SCOPE = "https://www.googleapis.com/auth/drive.readonly"
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"  # RFC 7523, 2.1
LIFETIME = 3_600  # seconds; Google grants at most an hour
MARGIN = 60  # seconds before its end that a token is not used any more


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveAccount:
    """A service account."""

    email: str
    token_url: str
    _credentials: Credentials = field(repr=False)

    def statement(self, now: float) -> str:
        """The signed statement that a token is asked for with."""
        from google.auth import jwt

        times = {"iat": int(now), "exp": int(now) + LIFETIME}
        claims = {"iss": self.email, "scope": SCOPE, "aud": self.token_url, **times}
        signed: bytes = jwt.encode(self._credentials.signer, claims)  # type: ignore[no-untyped-call]
        return signed.decode()


def read_account(path: str) -> DriveAccount:
    """The service account in a file of Google's; SourceUnavailable says what is wrong with the file."""
    if not path:
        raise SourceUnavailable(
            "Google Drive is read by a service account: set DRIVE_CREDENTIALS to the path of its key, a JSON file."
        )
    file = Path(path).expanduser()
    try:
        text = read_owner_only(file)
    except SettingsError as error:
        raise SourceUnavailable(f"DRIVE_CREDENTIALS: {error}") from None
    from google.auth.exceptions import GoogleAuthError
    from google.oauth2.service_account import Credentials

    try:
        given = json.loads(text)
        credentials = Credentials.from_service_account_info(given, scopes=[SCOPE])  # type: ignore[no-untyped-call]
        email, token_url = str(given["client_email"]), str(given["token_uri"])
        return DriveAccount(email=email, token_url=token_url, _credentials=credentials)
    except (ValueError, KeyError, TypeError, AttributeError, GoogleAuthError):
        # What the parsers say may hold a part of the key.
        raise SourceUnavailable(
            f"{file} is not the key of a service account: DRIVE_CREDENTIALS names the JSON file that Google gave you."
        ) from None


BASE = "https://www.googleapis.com/drive/v3"
PAGE = 200  # files or changes that are asked for at once; at most 1,000
PERMISSIONS_PAGE = 100  # at most, "permissions.list"
# seconds to wait where a rate limit does not say how long; quotas are counted by the minute
RATE_PAUSE = 20.0
FAULT_PAUSE = 30.0  # seconds to wait after a fault of the server
DAILY_PAUSE = 3_600.0  # seconds to wait where the limit is one of the day

BAD_REQUEST = 400

#: Reasons of a 403 that ask to wait, and for how many seconds ("Resolve errors", and "Usage limits").
THROTTLES: Mapping[str, float] = {
    "userRateLimitExceeded": RATE_PAUSE, "rateLimitExceeded": RATE_PAUSE, "quotaExceeded": RATE_PAUSE,
    "dailyLimitExceeded": DAILY_PAUSE,
}  # fmt: skip
#: Reasons of a 403 when nobody enabled the API for the account's project.
DISABLED = frozenset({"accessNotConfigured", "SERVICE_DISABLED"})

#: What is asked about a permission, a file and a change.
PERMISSION_FIELDS = "type,role,emailAddress,domain,deleted,expirationTime,view"
FILE_FIELDS = (
    "id,name,mimeType,parents,driveId,trashed,size,md5Checksum,modifiedTime,webViewLink,shortcutDetails(targetId),"
    "capabilities(canDownload),hasAugmentedPermissions,inheritedPermissionsDisabled,owners(emailAddress),"
    f"permissions({PERMISSION_FIELDS})"
)
LIST_FIELDS = f"nextPageToken,incompleteSearch,files({FILE_FIELDS})"
CHANGE_FIELDS = f"nextPageToken,newStartPageToken,changes(changeType,removed,fileId,driveId,drive(name),file({FILE_FIELDS}))"
ALL_DRIVES = {"supportsAllDrives": "true", "includeItemsFromAllDrives": "true"}

logger = logging.getLogger(__name__)


class DriveRefused(FootnoteError):
    """The API did not do what it was asked."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(f"Google Drive answered HTTP {status} ({reason}).")
        self.status, self.reason = status, reason


class DriveFault(SourceThrottled):
    """The API failed to do what it was asked, for once or for good."""


@dataclass(slots=True, kw_only=True)
class DriveClient:
    """Asks the Drive API as a service account. Raises DriveRefused, SourceThrottled and SourceUnavailable."""

    base: str
    http: HostClient
    account: DriveAccount
    _token: str = field(default="", repr=False)  #: in use; it is asked for again before it ends
    _ends: float = 0.0  #: seconds since the epoch
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def file(self, file_id: str) -> Json:
        return await self.json(f"/files/{file_id}", {"fields": FILE_FIELDS, "supportsAllDrives": "true"})

    async def files(self, query: Mapping[str, str]) -> AsyncGenerator[list[Json], None]:
        """Pages of a list of files. CursorExpired if its pages cannot be gone through any more."""
        asked = {"fields": LIST_FIELDS, "pageSize": str(PAGE), **ALL_DRIVES, **query}
        async for page in self._pages("/files", asked):
            if page.get("incompleteSearch"):
                raise SourceUnavailable(
                    "Google Drive could not search everything; the next sync tries again."
                )
            yield list(page.get("files", ()))

    async def drives(self) -> list[Json]:
        """The shared drives that the account is a member of."""
        asked = {"fields": "nextPageToken,drives(id,name)", "pageSize": "100"}
        return [each async for page in self._pages("/drives", asked) for each in page.get("drives", ())]

    async def permissions(self, file_id: str) -> list[Json]:
        """The permissions of a file or a shared drive, with those that it inherits."""
        fields = f"nextPageToken,permissions({PERMISSION_FIELDS})"
        asked = {"fields": fields, "pageSize": str(PERMISSIONS_PAGE), "supportsAllDrives": "true"}
        pages = self._pages(f"/files/{file_id}/permissions", asked)
        return [each async for page in pages for each in page.get("permissions", ())]

    async def _pages(self, path: str, asked: Mapping[str, str]) -> AsyncGenerator[Json, None]:
        token = ""
        while True:
            try:
                page = await self.json(path, {**asked, **({"pageToken": token} if token else {})})
            except DriveRefused as refused:
                if token and refused.status in (BAD_REQUEST, GONE):  # it is valid for several hours
                    raise CursorExpired("a list of Google Drive cannot be gone on with") from refused
                raise
            yield page
            token = str(page.get("nextPageToken", ""))
            if not token:
                return

    async def start_token(self, drive: str) -> str:
        """The end of the log of changes now; of the account's own log without a drive."""
        asked = {"supportsAllDrives": "true", "fields": "startPageToken", **_of_drive(drive)}
        return str((await self.json("/changes/startPageToken", asked))["startPageToken"])

    async def changes(self, token: str, drive: str) -> Json:
        """A page of a log. CursorExpired for a token that is not known any more."""
        asked = {"pageToken": token, "fields": CHANGE_FIELDS, "pageSize": str(PAGE), "includeRemoved": "true"}
        try:
            return await self.json("/changes", {**asked, **ALL_DRIVES, **_of_drive(drive)})
        except DriveRefused as refused:
            if refused.status in (BAD_REQUEST, FORBIDDEN, NOT_FOUND, GONE):
                raise CursorExpired("a log of changes is not there any more") from refused
            raise

    async def content(self, file_id: str) -> bytes:
        """The bytes of a file that is stored as it was uploaded."""
        return (await self._get(f"/files/{file_id}", {"alt": "media", "supportsAllDrives": "true"})).body

    async def export(self, file_id: str, kind: str) -> bytes:
        """A document of Google's in another format, 10 MB at most."""
        return (await self._get(f"/files/{file_id}/export", {"mimeType": kind})).body

    async def json(self, path: str, asked: Mapping[str, str]) -> Json:
        found = (await self._get(path, asked)).json()
        if not isinstance(found, dict):
            raise SourceUnavailable("Google Drive sent something that is not JSON.")
        return found

    async def _get(self, path: str, asked: Mapping[str, str]) -> Response:
        url = f"{self.base}{path}?{urlencode(asked)}"
        token = ""
        for _ in range(2):
            async with self._asking:
                # Another one than the one that was refused.
                if not self._token or self._token == token or time.time() >= self._ends - MARGIN:
                    await self._ask_for_token()
                token = self._token
            response = await self.http.ask(url, headers={"Authorization": f"Bearer {token}"})
            if response.status == OK:
                return response
            if response.status != UNAUTHORIZED:
                raise refusal(response)
        email = self.account.email
        raise SourceUnavailable(f"Google Drive does not accept the service account {email} any more.")

    async def _ask_for_token(self) -> None:
        """SourceUnavailable if the account is not accepted."""
        assertion = await asyncio.to_thread(self.account.statement, time.time())
        form = urlencode({"grant_type": GRANT, "assertion": assertion}).encode()
        head = {"Content-Type": "application/x-www-form-urlencoded"}
        response = await self.http.ask(self.account.token_url, method="POST", headers=head, content=form)
        if response.status == TOO_MANY_REQUESTS or response.status >= SERVER_FAULT:
            raise refusal(response)
        answer = response.fields()
        token, lifetime = answer.get("access_token"), answer.get("expires_in", LIFETIME)
        if not isinstance(token, str):
            raise SourceUnavailable(
                f"Google does not accept the service account {self.account.email}"
                f" ({answer.get('error', '') or f'HTTP {response.status}'}): "
                "its key may have been deleted, or the clock of this machine is wrong."
            )
        self._token = token
        self._ends = time.time() + (float(lifetime) if isinstance(lifetime, int | float) else LIFETIME)


def _of_drive(drive: str) -> dict[str, str]:
    return {"driveId": drive} if drive else {}


def refusal(response: Response) -> FootnoteError:
    """The error for an answer that does not do what was asked."""
    reason = reason_of(response)
    if response.status == FORBIDDEN and reason in THROTTLES:
        response = replace(response, status=TOO_MANY_REQUESTS)
    if response.status >= SERVER_FAULT:
        asked = seconds_asked(response.headers.get("retry-after"))
        sentence = f"Google Drive has a fault (HTTP {response.status})."
        return DriveFault(sentence, retry_after=FAULT_PAUSE if asked is None else asked)
    if (throttled := throttle(response, "Google Drive", pause=THROTTLES.get(reason, RATE_PAUSE))) is not None:
        return throttled
    if reason in DISABLED:
        return SourceUnavailable(
            "The Google Drive API is not enabled for the project of this service account: enable it at"
            " https://console.cloud.google.com/apis/library/drive.googleapis.com"
        )
    return DriveRefused(response.status, reason)


def reason_of(response: Response) -> str:
    """The first reason that an error names, in either form that the API has; empty if it names none."""
    error = response.fields().get("error")
    if not isinstance(error, dict):
        return ""
    named = [*error.get("errors", ()), *error.get("details", ())]
    reasons = [str(each["reason"]) for each in named if isinstance(each, dict) and "reason" in each]
    return reasons[0] if reasons else str(error.get("status", ""))

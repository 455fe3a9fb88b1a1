"""The Drive API (v3) on loopback, with the endpoint that gives a service account its tokens.

It answers what :mod:`fakes.drive.world` holds, refuses what the published description does not have, and speaks errors
in the form of "Resolve errors" of the API's documentation.
"""

from __future__ import annotations

import json
import re
import secrets
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from fakes.drive.description import fault_of, fields_of, method_at, selected, unknown_field
from fakes.drive.world import ACCOUNT, GOOGLE, OWN_LOG, DriveWorld, Node
from fakes.web_servers import LoopbackServer
from google.auth import jwt

GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
SCOPE = "https://www.googleapis.com/auth/drive.readonly"
EXPORT_LIMIT = 10 * 1024**2  # bytes


class Refused(Exception):
    def __init__(self, status: int, reason: str, message: str = "", location: str = "") -> None:
        super().__init__(message)
        self.status, self.reason, self.message, self.location = status, reason, message or reason, location

    def response(self, retry_after: str | None = None) -> web.Response:
        each = {"domain": "global", "reason": self.reason, "message": self.message}
        if self.location:
            each |= {"locationType": "parameter", "location": self.location}
        error = {"errors": [each], "code": self.status, "message": self.message}
        return web.json_response(
            {"error": error},
            status=self.status,
            headers={"Retry-After": retry_after} if retry_after else {},
        )


def not_found(id: str) -> Refused:
    return Refused(404, "notFound", f"File not found: {id}.", "fileId")


def invalid(location: str) -> Refused:
    return Refused(400, "invalid", "Invalid Value", location)


@cache
def key() -> rsa.RSAPrivateKey:
    """Half as long as Google's, which takes 70 ms to read at each sync."""
    return rsa.generate_private_key(public_exponent=65_537, key_size=1_024)


class FakeDrive(LoopbackServer):
    """Serves a world to its service account, and counts what it sends."""

    def __init__(self, world: DriveWorld | None = None, *, port: int = 0) -> None:
        super().__init__(port=port)
        self.world = world or DriveWorld()
        self.page_limit = 1_000  #: "The service may return fewer than this value"
        self.faults: Counter[tuple[str, int, str]] = Counter()  #: how often: by path, status and reason
        self.retry_after: str | None = "7"
        self.is_account_known = self.is_enabled = True
        self.has_expired_pages = False  #: whether tokens of the pages of lists are refused
        self.has_markdown = True
        self.before_answer: Callable[[str], None] = lambda _path: None
        self.granted: set[str] = set()
        self.asked: list[str] = []  #: paths below the API's, without parameters
        self.sent = 0  #: bytes

    def forget_counts(self) -> None:
        self.asked, self.sent = [], 0

    @property
    def base(self) -> str:
        return f"{self.url}/drive/v3"

    def write_account(self, file: Path) -> Path:
        """The file that Google gives who makes a key for a service account."""
        private = key().private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        given = {
            "type": "service_account", "project_id": "harbour", "private_key_id": "k1",
            "private_key": private.decode(), "client_email": ACCOUNT, "client_id": "1",
            "token_uri": f"{self.url}/token", "universe_domain": "googleapis.com",
        }  # fmt: skip
        file.touch(mode=0o600)
        file.write_text(json.dumps(given))
        return file

    async def answer(self, request: web.Request) -> web.StreamResponse:
        path = request.path.removeprefix("/drive/v3/")
        self.before_answer(path)
        for (part, status, reason), left in self.faults.items():
            if left > 0 and part in path:
                self.faults[part, status, reason] -= 1
                return Refused(status, reason).response(self.retry_after)
        try:
            response = await self._grant(request) if path == "/token" else self._api(request, path)
        except Refused as refused:
            response = refused.response()
        self.asked.append(path)
        self.sent += len(response.body or b"") + sum(len(a) + len(b) + 4 for a, b in response.headers.items())
        return response

    # Tokens: "Using OAuth 2.0 for Server to Server Applications"

    async def _grant(self, request: web.Request) -> web.Response:
        form = await request.post()
        public = key().public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )  # fmt: skip
        try:
            claims = jwt.decode(str(form["assertion"]), certs=public, audience=f"{self.url}/token")
        except (ValueError, KeyError) as fault:
            return web.json_response(
                {"error": "invalid_grant", "error_description": f"Invalid JWT: {fault}"}, status=400
            )
        is_known = self.is_account_known and claims["iss"] == ACCOUNT
        if form["grant_type"] != GRANT or claims["scope"] != SCOPE or claims["exp"] - claims["iat"] > 3_600:
            return web.json_response({"error": "invalid_request"}, status=400)
        if not is_known:
            described = "Invalid grant: account not found"
            return web.json_response({"error": "invalid_grant", "error_description": described}, status=400)
        token = f"ya29.{secrets.token_hex(8)}"
        self.granted.add(token)
        return web.json_response({"access_token": token, "expires_in": 3_599, "token_type": "Bearer"})

    # The API

    def _api(self, request: web.Request, path: str) -> web.Response:
        found = method_at(path)
        if found is None or request.method != "GET":
            raise Refused(404, "notFound", "Not Found")
        resource, name, given, method = found
        if request.headers.get("Authorization", "").removeprefix("Bearer ") not in self.granted:
            raise Refused(401, "authError", "Invalid Credentials")
        if not self.is_enabled:
            raise Refused(403, "accessNotConfigured", "Google Drive API has not been used in project 1")
        asked = dict(request.query)
        if fault := fault_of(method, asked, SCOPE):
            raise Refused(400, "badRequest", fault)
        answer = getattr(self, f"_{resource}_{name}".lower())(given, asked)
        if isinstance(answer, bytes):
            return web.Response(body=answer)
        tree = fields_of(asked["fields"])
        if unknown := unknown_field(tree, method["response"]):
            raise Refused(400, "invalidParameter", f"Invalid field selection {unknown}", "fields")
        return web.json_response(selected(answer, tree))

    def _files_list(self, _given: Mapping[str, str], asked: Mapping[str, str]) -> dict[str, Any]:
        nodes = [each for each in self._corpus(asked) if _matches(asked.get("q", ""), each, self.world)]
        return self._page("files", [self.world.json(each) for each in nodes], asked)

    def _corpus(self, asked: Mapping[str, str]) -> list[Node]:
        world, with_drives = self.world, asked.get("includeItemsFromAllDrives") == "true"
        seen = sorted(filter(world.may_see, world.nodes.values()), key=lambda each: each.id)
        seen = [each for each in seen if each.id != each.drive]
        if asked.get("corpora", "user") == "drive":
            drive = asked.get("driveId", "")
            if not world.is_member(drive):
                raise Refused(404, "notFound", f"Shared drive not found: {drive}", "driveId")
            if not with_drives or asked.get("supportsAllDrives") != "true":
                raise Refused(403, "forbidden", "The driveId parameter must be specified with all drives")
            return [each for each in seen if each.drive == drive]
        return [each for each in seen if world.log_of(each) == OWN_LOG and (with_drives or not each.drive)]

    def _page(self, name: str, every: list[Any], asked: Mapping[str, str]) -> dict[str, Any]:
        """By id: what is added or removed between two pages moves nothing."""
        if (token := asked.get("pageToken")) is not None:
            if not token.startswith("~") or self.has_expired_pages:
                raise invalid("pageToken")
            every = [each for each in every if each["id"] > token[1:]]
        size = min(int(asked.get("pageSize", 100)), self.page_limit)
        more = {"nextPageToken": f"~{every[size - 1]['id']}"} if len(every) > size else {}
        return {name: every[:size], **more}

    def _files_get(self, given: Mapping[str, str], asked: Mapping[str, str]) -> Any:
        node = self._node(given["fileId"], asked)
        if asked.get("alt") != "media":
            return self.world.json(node)
        if node.mime.startswith(GOOGLE):
            raise Refused(403, "fileNotDownloadable", "Only files with binary content can be downloaded.")
        self._require_download(node)
        return node.content

    def _files_export(self, given: Mapping[str, str], asked: Mapping[str, str]) -> bytes:
        node = self._node(given["fileId"], {**asked, "supportsAllDrives": "true"})
        if not node.mime.startswith(GOOGLE):
            raise Refused(403, "fileNotExportable", "Export only supports Docs Editors files.")
        self._require_download(node)
        kind = asked["mimeType"]
        if kind not in node.exports or (kind == "text/markdown" and not self.has_markdown):
            raise Refused(400, "badRequest", "The requested conversion is not supported.", "convertTo")
        if len(node.exports[kind]) > EXPORT_LIMIT:
            raise Refused(403, "exportSizeLimitExceeded", "This file is too large to be exported.")
        return node.exports[kind]

    def _require_download(self, node: Node) -> None:
        if node.is_locked:
            raise Refused(403, "cannotDownloadFile", "This file cannot be downloaded by the user.")

    def _node(self, id: str, asked: Mapping[str, str]) -> Node:
        node = self.world.nodes.get(id)
        if node is None or not self.world.may_see(node):
            raise not_found(id)
        if node.drive and asked.get("supportsAllDrives") != "true":
            raise not_found(id)
        return node

    def _drives_list(self, _given: Mapping[str, str], asked: Mapping[str, str]) -> dict[str, Any]:
        tops = [
            each for each in self.world.nodes.values() if each.id == each.drive and self.world.may_see(each)
        ]
        return self._page("drives", [{"id": each.id, "name": each.name} for each in tops], asked)

    def _permissions_list(self, given: Mapping[str, str], asked: Mapping[str, str]) -> dict[str, Any]:
        node = self._node(given["fileId"], asked)
        if not self.world.may_share(node) and not self.world.is_member(node.drive):
            raise Refused(403, "insufficientFilePermissions", "The user does not have sufficient permissions")
        every = sorted(self.world.permissions(node).values(), key=lambda each: each["id"])
        return self._page("permissions", every, asked)

    # Changes

    def _changes_getstartpagetoken(
        self, _given: Mapping[str, str], asked: Mapping[str, str]
    ) -> dict[str, Any]:
        return {"startPageToken": str(len(self.world.logs[self._log(asked)]) + 1)}

    def _changes_list(self, _given: Mapping[str, str], asked: Mapping[str, str]) -> dict[str, Any]:
        log = self._log(asked)
        entries = self.world.logs[log]
        if not asked["pageToken"].isdecimal():
            raise invalid("pageToken")
        begin = int(asked["pageToken"]) - 1
        if not self.world.oldest[log] <= begin <= len(entries):
            raise invalid("pageToken")
        end = min(len(entries), begin + min(int(asked.get("pageSize", 100)), self.page_limit))
        # An entry that a later one replaced is not told.
        ids = [each for at, each in enumerate(entries[begin:end], begin) if each not in entries[at + 1 :]]
        next_token = {"nextPageToken" if end < len(entries) else "newStartPageToken": str(end + 1)}
        return {"changes": [self._change(each, log) for each in ids], **next_token}

    def _log(self, asked: Mapping[str, str]) -> str:
        drive = asked.get("driveId", OWN_LOG)
        if drive and not self.world.is_member(drive):
            raise Refused(404, "notFound", f"Shared drive not found: {drive}", "driveId")
        return drive

    def _change(self, id: str, log: str) -> dict[str, Any]:
        node = self.world.nodes.get(id)
        if node is not None and node.id == node.drive:
            is_there = self.world.may_see(node)
            more: dict[str, Any] = {"drive": {"id": id, "name": node.name}} if is_there else {}
            return {"changeType": "drive", "driveId": id, "removed": not is_there, **more}
        is_there = node is not None and self.world.may_see(node) and self.world.log_of(node) == log
        change: dict[str, Any] = {"changeType": "file", "fileId": id, "removed": not is_there}
        if node is not None and is_there:
            change["file"] = self.world.json(node)
        return change


_CLAUSE = re.compile(r"'([^']+)' in parents|trashed = (true|false)|mimeType (!?=) '([^']+)'")


def _matches(query: str, node: Node, world: DriveWorld) -> bool:
    """The part of the search's language that is used: clauses with "and" between them."""
    for clause in filter(None, query.split(" and ")):
        found = _CLAUSE.fullmatch(clause)
        if found is None:
            raise invalid("q")
        parent, trashed, sign, mime = found.groups()
        if parent and node.parent != parent:
            return False
        if trashed and (trashed == "true") != world.is_in_trash(node):
            return False
        if sign and (node.mime == mime) != (sign == "="):
            return False
    return True

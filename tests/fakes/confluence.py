"""A Confluence on loopback: what it holds, and what both kinds of server have in common.

The endpoints and the shapes of their answers are those of the published descriptions: for the cloud the OpenAPI
documents of REST API v2 and v1, for a Data Center the REST documentation of 8.5 and its examples. An answer is
compressed, as theirs are.
"""

from __future__ import annotations

import base64
import gzip
import json
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiohttp import web
from fakes.web_servers import LoopbackServer

LOGIN = "ann@acme.org:sesame-of-confluence"  # in the cloud
TOKEN = "sesame-of-a-data-center"
EVERYBODY = "confluence-users"  # the group into which new users come
#: What else a member may do in a space, each as a permission of its own.
OPERATIONS = [
    (key, kind)
    for kind in ("page", "blogpost", "comment", "attachment")
    for key in ("create", "delete")
] + [("archive", "page"), ("delete", "space"), ("restrict_content", "space"), ("export", "space")]  # fmt: skip
EPOCH = 1_600_000_000  # seconds, when the first page was written


@dataclass
class WikiPage:
    """A page, a blog post, or a folder."""

    id: str
    space: str  #: key
    title: str
    storage: str = ""
    kind: str = "page"
    parent: str | None = None
    version: int = 1
    status: str = "current"
    at: int = EPOCH  #: when it changed last
    users: list[str] = field(default_factory=list)  #: who alone may view it: ids
    groups: list[str] = field(default_factory=list)

    @property
    def is_restricted(self) -> bool:
        return bool(self.users or self.groups)


@dataclass
class WikiFile:
    """An attachment."""

    id: str
    container: str
    title: str
    data: bytes
    version: int = 1
    at: int = EPOCH


@dataclass
class WikiUser:
    """A person; a hidden address is one that the account may not see."""

    id: str  #: account id
    name: str  #: user name in a Data Center
    shown: str
    email: str
    is_hidden: bool = False
    is_app: bool = False


@dataclass
class WikiViewers:
    """Who may view a space: "Space permissions"."""

    users: list[str] = field(default_factory=list)  #: ids
    groups: list[str] = field(default_factory=lambda: [EVERYBODY])
    classes: list[str] = field(default_factory=list)  #: of the cloud
    is_anonymous: bool = False
    is_secret: bool = False  #: whether the account may not see them

    @property
    def are_all(self) -> bool:
        return self.is_anonymous or EVERYBODY in self.groups or bool({*self.classes} - {"ALL_PRODUCT_ADMINS"})


class RefusedRequest(Exception):
    """An answer that is not a record."""

    def __init__(self, status: int, headers: Mapping[str, str] | None = None, message: str = "") -> None:
        super().__init__(status)
        self.status, self.headers, self.message = status, headers or {}, message


class FakeConfluence(LoopbackServer):
    """Holds spaces, and answers as one of the two kinds of server; counts what it sends."""

    context = ""
    secret_status = 403  # to who may not see the permissions of a space
    page_limit = 25  # entries of a list, whatever is asked for: "restricted by fixed system limits"

    def __init__(self, certificate: Path) -> None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate)
        super().__init__(tls=tls)
        self.spaces: dict[str, str] = {}  #: status by key
        self.viewers: dict[str, WikiViewers] = {}  #: by the key of a space
        self.pages: dict[str, WikiPage] = {}
        self.files: dict[str, WikiFile] = {}
        self.people: dict[str, WikiUser] = {}
        self.teams: dict[str, list[str]] = {}  #: ids of people, by group
        self.secret_teams: set[str] = set()  #: groups whose members the account may not see
        self.unindexed: set[str] = set()  #: pages that a search does not find yet
        self.refusals: list[RefusedRequest] = []  #: of the next requests
        self.before: Callable[[str], None] = lambda _path: None
        self.sent = 0  #: bytes, with the headers
        self.asked: list[str] = []
        self.body: Any = None  #: of the request
        self.is_anonymous = False  #: whether it answers a bad token as it answers anybody
        self._number = 100_000

    @property
    def base(self) -> str:
        return f"{self.url}{self.context}"

    def address(self, path: str = "") -> str:
        return f"confluence+{self.base}{path}"

    def forget_counts(self) -> None:
        self.sent, self.asked = 0, []

    # What it holds

    def new_id(self) -> str:
        self._number += 7
        return str(self._number)

    def add(self, title: str, storage: str = "<p>Nothing yet.</p>", **more: Any) -> WikiPage:
        page = WikiPage(
            id=self.new_id(), title=title, storage=storage, space=more.pop("space", "ENG"), **more
        )
        self.spaces.setdefault(page.space, "current")
        self.viewers.setdefault(page.space, WikiViewers())
        self.pages[page.id] = page
        return page

    def attach(self, page: WikiPage, title: str, data: bytes) -> WikiFile:
        file = WikiFile(id=f"att{self.new_id()}", container=page.id, title=title, data=data)
        self.files[file.id] = file
        return file

    def person(self, name: str, **more: Any) -> WikiUser:
        user = WikiUser(
            id=f"712020:{name}",
            name=name,
            shown=name.capitalize(),
            email=f"{name.capitalize()}@Acme.org",
            **more,
        )
        self.people[user.id] = user
        return user

    def above(self, page: WikiPage) -> Iterator[WikiPage]:
        """A page and its ancestors."""
        at: WikiPage | None = page
        while at is not None:
            yield at
            at = self.pages.get(at.parent or "")

    def readers_of(self, page: WikiPage) -> frozenset[str] | None:
        """Who may read a page, by the addresses that can be seen; None: everybody."""
        viewers = self.viewers[page.space]
        readers = None if viewers.are_all else self._shown(viewers)
        if viewers.is_secret:
            readers = frozenset()
        for each in self.above(page):
            if each.is_restricted:
                shown = self._shown(each)
                readers = shown if readers is None else readers & shown
        return readers

    def _shown(self, named: WikiPage | WikiViewers) -> frozenset[str]:
        """The addresses of those who are named that can be seen."""
        teams = [team for team in named.groups if team not in self.secret_teams]
        people = {*named.users, *(user for team in teams for user in self.teams[team])}
        found = [self.people[user] for user in people]
        return frozenset(each.email.lower() for each in found if not each.is_hidden and not each.is_app)

    def permissions(self, key: str) -> list[tuple[str, str, str, str]]:
        """All of a space: the kind of whom each is for, who that is, the operation, and on what."""
        viewers = self.viewers[key]
        if viewers.is_secret:
            raise RefusedRequest(self.secret_status)
        named = [("user", user) for user in viewers.users] + [("group", team) for team in viewers.groups]
        may_read = [(*each, "read", "space") for each in named]
        may_do = [(*each, key, kind) for each in (*named, ("group", "editors")) for key, kind in OPERATIONS]
        return [*may_read, *may_do]

    def live(self, space: str | None = None) -> list[WikiPage]:
        """The pages and blog posts that are to be read."""
        return [
            page for page in self.pages.values()
            if page.kind in ("page", "blogpost") and page.status == "current"
            and self.spaces[page.space] == "current" and space in (None, page.space)
        ]  # fmt: skip

    # Answering

    async def answer(self, request: web.Request) -> web.StreamResponse:
        path = request.path.removeprefix(self.context)
        self.asked.append(path)
        self.body = json.loads(await request.read() or b"null")
        self.before(path)
        try:
            found = self._found(path, request)
        except RefusedRequest as reply:
            body = json.dumps({"statusCode": reply.status, "message": reply.message}).encode()
            return self._counted(web.Response(status=reply.status, headers=reply.headers, body=body))
        if isinstance(found, bytes):
            return self._counted(web.Response(body=found, content_type="application/octet-stream"))
        body = json.dumps(found).encode()
        headers = {"Content-Type": "application/json;charset=UTF-8"}
        if "gzip" in request.headers.get("Accept-Encoding", ""):
            body, headers["Content-Encoding"] = gzip.compress(body, 1, mtime=0), "gzip"
        return self._counted(web.Response(body=body, headers=headers))

    def _found(self, path: str, request: web.Request) -> Any:
        if self.refusals:
            raise self.refusals.pop(0)
        is_known = self._is_allowed(request)
        if not is_known and not self.is_anonymous:
            raise RefusedRequest(401)
        if not request.path.startswith(f"{self.context}/"):
            raise RefusedRequest(404)
        if path.endswith("/user/current"):
            return {"type": "known", "displayName": "Ann"} if is_known else {"type": "anonymous"}
        return self.find(path, request) if is_known else {"results": [], "_links": {}}

    def _counted(self, response: web.Response) -> web.Response:
        body = response.body if isinstance(response.body, bytes) else b""
        head = sum(len(name) + len(text) + 4 for name, text in response.headers.items())
        self.sent += head + 200 + len(body)  # a server of theirs sends many headers
        return response

    def _is_allowed(self, request: web.Request) -> bool:
        scheme, _, told = request.headers.get("Authorization", "").partition(" ")
        if scheme == "Basic":
            return self.context == "/wiki" and base64.b64decode(told).decode() == LOGIN
        return scheme == "Bearer" and self.context != "/wiki" and told == TOKEN

    def find(self, path: str, request: web.Request) -> Any:
        raise NotImplementedError

    def _page(self, page_id: str) -> WikiPage:
        if page_id not in self.pages or self.pages[page_id].status == "purged":
            raise RefusedRequest(404)
        return self.pages[page_id]

    def searched(self, cql: str) -> list[WikiPage] | list[WikiFile]:
        """Of the questions that are asked: what is in a space, of some types."""
        key = cql.partition('space = "')[2].partition('"')[0]
        if key not in self.spaces:
            raise RefusedRequest(400, message="The space is not known.")
        pages = [page for page in self.live(key) if page.id not in self.unindexed]
        if "attachment" not in cql:
            return pages
        containers = {page.id for page in self.pages.values() if page.space == key}
        return [file for file in self.files.values() if file.container in containers]

    def restriction(self, page: WikiPage, request: web.Request | None = None) -> dict[str, Any]:
        """The read restriction of one page, as both APIs show it."""
        start = int(request.query.get("start", 0)) if request is not None else 0
        limit = min(int(request.query.get("limit", 100)), self.page_limit) if request is not None else 100
        users = [self.user(self.people[user]) for user in page.users][start : start + limit]
        groups = [self.group(team) for team in page.groups][start : start + limit]
        listed = [
            {"results": each, "start": start, "limit": limit, "size": len(each)} for each in (users, groups)
        ]
        return {
            "operation": "read",
            "restrictions": {"user": listed[0], "group": listed[1], "_expandable": {}},
            "_expandable": {"content": f"/rest/api/content/{page.id}"},
            "_links": {"self": f"{self.base}/rest/api/content/{page.id}/restriction/byOperation/read"},
        }

    def user(self, user: WikiUser) -> dict[str, Any]:
        raise NotImplementedError

    def group(self, name: str) -> dict[str, Any]:
        raise NotImplementedError

    def members(self, name: str, request: web.Request) -> dict[str, Any]:
        if name not in self.teams:
            raise RefusedRequest(404)
        if name in self.secret_teams:
            raise RefusedRequest(403)
        start, limit = (
            int(request.query.get("start", 0)),
            min(int(request.query.get("limit", 200)), self.page_limit),
        )
        part = [self.user(self.people[user]) for user in self.teams[name]][start : start + limit]
        return {"results": part, "start": start, "limit": limit, "size": len(part), "_links": {}}


def moment_text(at: int) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def query_of(asked: Mapping[str, Any]) -> str:
    return "&".join(f"{name}={text}" for name, text in asked.items())


def slug(title: str) -> str:
    return "+".join(title.split())


def after(found: Sequence[Any], cursor: str, limit: int) -> tuple[Sequence[Any], str]:
    """A page of a list that goes on behind an id, and the cursor of the next one; empty if there is none."""
    last = base64.urlsafe_b64decode(cursor).decode() if cursor else ""
    left = [each for each in sorted(found, key=lambda each: each.id) if each.id > last]
    part = left[:limit]
    return part, base64.urlsafe_b64encode(part[-1].id.encode()).decode() if len(left) > limit else ""

"""Notion's API on loopback, version 2025-09-03, from its published reference and the types of `@notionhq/client`.

It refuses what that API refuses: an unknown token, a missing version, a page size above 100, a cursor of another list.
A search may leave pages out, and a cursor may end, as https://developers.notion.com says of both.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import re
import secrets
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any, Self
from urllib.parse import quote
from uuid import UUID

from aiohttp import web
from fakes.web_servers import LoopbackServer

TOKEN = "ntn_sesame"
VERSION = "2025-09-03"
EPOCH = 1_700_000_000  # seconds
ERRORS = {
    400: ("validation_error", "body failed validation."),
    401: ("unauthorized", "API token is invalid."),
    403: ("restricted_resource", "Insufficient permissions for this endpoint."),
    404: ("object_not_found", "Could not find object with ID. Make sure it is shared with your integration."),
    409: ("conflict_error", "Conflict occurred while saving. Please try again."),
    429: ("rate_limited", "You have been rate limited. Please try again in a few minutes."),
    500: ("internal_server_error", "Unexpected error occurred."),
    503: ("service_unavailable", "Public API service is temporarily unavailable, please try again later."),
}


@dataclass
class Thing:
    """A page, a block, a database or a data source."""

    id: str
    kind: str  #: page, block, database or data_source
    parent: Mapping[str, Any]
    properties: dict[str, Any] = field(default_factory=dict)  #: of a page
    type: str = ""  #: of a block
    content: dict[str, Any] = field(default_factory=dict)  #: of a block
    children: list[str] = field(default_factory=list)  #: IDs of blocks
    title: str = ""  #: of a database
    created: float = EPOCH
    edited: float = EPOCH
    is_trashed: bool = False
    is_shared: bool = True


class FakeNotionFiles(LoopbackServer):
    """Another host, on which Notion keeps files: by an address that is signed for an hour, without credentials.

    The form of the addresses is that of presigned URLs of Amazon S3, as Notion gives them.
    """

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, bytes] = {}  #: by path
        self.now = float(EPOCH)

    def signed(self, path: str) -> str:
        signature = hashlib.sha256(f"{path} {self.now:.0f}".encode()).hexdigest()
        query = f"X-Amz-Date={self.now:.0f}&X-Amz-Expires=3600&X-Amz-Signature={signature}&x-id=GetObject"
        return f"{self.url}{quote(path)}?{query}"

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if "Authorization" in request.headers:
            return web.Response(status=400, text="<Error><Code>InvalidArgument</Code></Error>")
        at = float(request.query.get("X-Amz-Date", 0))
        expected = hashlib.sha256(f"{request.path} {at:.0f}".encode()).hexdigest()
        if request.query.get("X-Amz-Signature") != expected or not 0 <= self.now - at < 3600:
            return web.Response(status=403, text="<Error><Code>AccessDenied</Code></Error>")
        found = self.files.get(request.path)
        return web.Response(status=404 if found is None else 200, body=found or b"")


class FakeNotion(LoopbackServer):
    """A workspace, and what its integration may see of it."""

    def __init__(self) -> None:
        super().__init__()
        self.media = FakeNotionFiles()
        self.things: dict[str, Thing] = {}
        self.shown: dict[
            str, Thing
        ] = {}  #: what pages and blocks hold: other pages and databases as blocks too
        self.now = float(EPOCH)
        self._chance = random.Random(7)
        self.page_size = 100  #: results of one answer, at most
        self.result_limit = 10_000  #: results of one list
        self.not_found_by_search: set[str] = set()
        self.cursors: dict[str, tuple[str, list[str], int, bool]] = {}
        self.ending_cursors = 0  #: how many of the next cursors are not known when they are used
        self.failing: list[int] = []  #: statuses of the next answers
        self.refused: dict[str, int] = {}  #: statuses, by ID
        self.before: Callable[[str], None] = lambda _path: None  #: is told the path of each request
        self.sent = self.written = 0  #: bytes of answers, on the way and before they were compressed
        self.asked = Counter[str]()

    async def __aenter__(self) -> Self:
        await self.media.__aenter__()
        return await super().__aenter__()

    async def __aexit__(self, *error: object) -> None:
        await super().__aexit__(*error)
        await self.media.__aexit__(*error)

    def forget_counts(self) -> None:
        self.sent, self.written, self.asked = 0, 0, Counter()

    # What people do

    def _new_id(self) -> str:
        return UUID(int=self._chance.getrandbits(128)).hex

    def add_page(self, title: str, parent: str = "", *, properties: Mapping[str, Any] | None = None) -> str:
        """``parent``: of a page, a block, or a data source, whose row it becomes; empty: of the workspace."""
        above = self.things.get(parent)
        this = self._add("page", self._parent(above))
        page = self.things[this]
        page.properties = {"Name" if above and above.kind == "data_source" else "title": title_value(title)}
        page.properties |= properties or {}
        if above is not None and above.kind != "data_source":
            self._put_block(
                Thing(this, "block", page.parent, type="child_page", content={"title": title}), parent
            )
        return this

    def add_database(self, title: str, parent: str) -> str:
        """The ID of its data source."""
        above = self.things[parent]
        database = self._add("database", self._parent(above))
        self.things[database].title = title
        self._put_block(
            Thing(database, "block", self.things[database].parent, type="child_database", content={"title": title}),
            parent,
        )  # fmt: skip
        source = self._add("data_source", {"type": "database_id", "database_id": hyphened(database)})
        self.things[source].title = title
        return source

    def add_block(self, parent: str, type: str, content: Mapping[str, Any]) -> str:
        this = self._new_id()
        above = self.things[parent]
        kind = "page_id" if above.kind == "page" else "block_id"
        block = Thing(this, "block", {"type": kind, kind: hyphened(parent)}, type=type, content=dict(content))
        self._put_block(block, parent)
        return this

    def add_file(self, parent: str, name: str, data: bytes, *, type: str = "file") -> str:
        """A block with a file that was uploaded; images have no names."""
        content = {"caption": [], **self.uploaded(name, data)}
        if type == "image":
            del content["name"]
        return self.add_block(parent, type, content)

    def uploaded(self, name: str, data: bytes) -> dict[str, Any]:
        """A file as a block or a property holds it; its address is made when it is sent."""
        path = f"/{UUID(int=1)}/{UUID(int=self._chance.getrandbits(128))}/{name}"
        self.media.files[path] = data
        return {"name": name, "type": "file", "file": {"url": path}}

    def _signed(self, held: Any) -> Any:
        """What is sent, with an address of each file that is good for an hour."""
        if isinstance(held, list):
            return [self._signed(each) for each in held]
        if not isinstance(held, dict):
            return held
        sent = {name: self._signed(each) for name, each in held.items()}
        if held.get("type") == "file" and "url" in (held.get("file") or {}):
            self.media.now = self.now
            sent["file"] = {
                "url": self.media.signed(held["file"]["url"]),
                "expiry_time": iso(self.now + 3600),
            }
        return sent

    def _put_block(self, block: Thing, parent: str) -> None:
        if block.type not in ("child_page", "child_database"):  # these are what their IDs name
            self.things[block.id] = block
        self.shown[block.id] = block
        self.things[parent].children.append(block.id)
        self.touch(parent)

    def _add(self, kind: str, parent: Mapping[str, Any]) -> str:
        this = self._new_id()
        self.things[this] = Thing(this, kind, parent, created=self.now, edited=self.now)
        return this

    def _parent(self, above: Thing | None) -> dict[str, Any]:
        if above is None:
            return {"type": "workspace", "workspace": True}
        kind = f"{above.kind}_id"
        parent = {"type": kind, kind: hyphened(above.id)}
        if above.kind == "data_source":
            parent["database_id"] = above.parent["database_id"]
        return parent

    def touch(self, this: str) -> None:
        """Note that the page was edited that this is, or is in."""
        thing = self.things[this]
        while thing.kind == "block":
            thing = self.things[bare(next(each for name, each in thing.parent.items() if name != "type"))]
        thing.edited = self.now

    def trash(self, this: str) -> None:
        """With all that lies in it, as Notion does."""
        self.things[this].is_trashed = True
        for each in self.things.values():
            if any(bare(str(held)) == this for name, held in each.parent.items() if name != "type"):
                self.trash(each.id)

    def move(self, page: str, parent: str) -> None:
        old = self.things[page].parent
        for each in self.things.values():
            if page in each.children:
                each.children.remove(page)
                self.touch(each.id)
        self.things[page].parent = self._parent(self.things[parent])
        assert old != self.things[page].parent or parent
        title = title_of(self.things[page])
        self._put_block(
            Thing(page, "block", self.things[page].parent, type="child_page", content={"title": title}),
            parent,
        )

    # The API

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.before(request.path)
        status, body = self._answer(request, json.loads(await request.read() or b"{}"))
        if status != 200:
            code, message = ERRORS[status]
            message = body.get("message", message)
            body = {"object": "error", "status": status, "code": code, "message": message, "request_id": "r"}
        headers = {"Date": format_datetime(datetime.fromtimestamp(self.now, UTC), usegmt=True)}
        if status == 429:
            headers["Retry-After"] = "7"
        written = json.dumps(body).encode()
        self.written += len(written)
        if "gzip" in request.headers.get("Accept-Encoding", ""):
            written, headers["Content-Encoding"] = gzip.compress(written, mtime=0), "gzip"
        self.sent += len(written)
        return web.Response(body=written, status=status, headers=headers, content_type="application/json")

    def _answer(self, request: web.Request, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        path = request.path.removeprefix("/v1/")
        self.asked[re.sub("[0-9a-f]{32}", "ID", path.replace("-", ""))] += 1
        if (fault := self._fault(request)) is not None:
            return fault
        given = {**request.query, **body}
        if not 1 <= int(given.get("page_size", 100)) <= 100:
            return 400, {"message": "body failed validation: body.page_size should be ≤ `100`."}
        if request.method == "POST" and path == "search":
            return self._search(given)
        kind, this, *rest = (*path.split("/"), "")
        if (status := self.refused.get(bare(this))) is not None:
            return status, {}
        return self._thing(request.method, kind, bare(this), rest[0], given)

    def _fault(self, request: web.Request) -> tuple[int, dict[str, Any]] | None:
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return 401, {}
        if request.headers.get("Notion-Version") != VERSION:
            return 400, {"message": "Notion-Version header failed validation."}
        return (self.failing.pop(0), {}) if self.failing else None

    def _thing(self, method: str, kind: str, this: str, rest: str, given: dict[str, Any]) -> tuple[int, Any]:
        thing = self.things.get(this)
        kinds = {
            "pages": "page",
            "databases": "database",
            "data_sources": "data_source",
            "blocks": thing and thing.kind,
        }
        if thing is None or not thing.is_shared or kinds[kind] != thing.kind:
            return 404, {}
        if method == "GET" and kind == "blocks" and rest == "children":
            return self._list("blocks", thing.children, given, self._block)
        if method == "POST" and kind == "data_sources" and rest == "query":
            return self._rows(thing, given)
        return (200, self._sent(thing)) if method == "GET" and not rest else (400, {})

    def _search(self, given: dict[str, Any]) -> tuple[int, Any]:
        if given.get("sort", {}).get("timestamp") != "last_edited_time" or given.keys() - {
            "sort", "query", "start_cursor", "page_size", "filter",
        }:  # fmt: skip
            return 400, {}
        there = [
            each
            for each in self.things.values()
            if each.kind in ("page", "data_source") and each.is_shared and not each.is_trashed
        ]
        there.sort(
            key=lambda each: (each.edited // 60, each.id), reverse=given["sort"]["direction"] == "descending"
        )
        ids = [each.id for each in there if each.id not in self.not_found_by_search]
        return self._list("search", ids, given, lambda this: self._sent(self.things[this]))

    def _rows(self, source: Thing, given: dict[str, Any]) -> tuple[int, Any]:
        since = given.get("filter", {}).get("created_time", {}).get("on_or_after", "")
        rows = [
            each
            for each in self.things.values()
            if each.kind == "page" and each.is_shared and not each.is_trashed
            and each.parent.get("data_source_id") == hyphened(source.id)
            and (not since or datetime.fromisoformat(iso(each.created)) >= datetime.fromisoformat(since))
        ]  # fmt: skip
        rows.sort(key=lambda each: (each.created, each.id))
        kept = given.get("filter_properties")
        return self._list(
            f"rows {source.id} {since}", [each.id for each in rows], given,
            lambda this: self._sent(self.things[this], brief=kept is not None),
        )  # fmt: skip

    def _list(
        self, name: str, ids: Sequence[str], given: Mapping[str, Any], write: Callable[[str], Any]
    ) -> tuple[int, Any]:
        """Cursors belong to one list as it was when it began."""
        begin, cursor = 0, given.get("start_cursor")
        if cursor is not None:
            if cursor not in self.cursors or self.cursors[cursor][0] != name or self.cursors[cursor][3]:
                return 400, {"message": f"The start_cursor provided is invalid: {cursor}"}
            _, ids, begin, _ = self.cursors[cursor]
        size = min(int(given.get("page_size", 100)), self.page_size)
        whole, ids = ids, list(ids[: self.result_limit])
        end, after = begin + size, None
        if end < len(ids):
            after = str(UUID(bytes=secrets.token_bytes(16)))
            self.cursors[after] = (name, ids, end, self.ending_cursors > 0)
            self.ending_cursors = max(0, self.ending_cursors - 1)
        shown = [write(each) for each in ids[begin:end] if each in self.things or each in self.shown]
        answer = {"object": "list", "results": shown, "next_cursor": after, "has_more": after is not None}
        if len(whole) > len(ids) or (cursor and len(ids) == self.result_limit):
            answer["request_status"] = {
                "type": "incomplete",
                "incomplete_reason": "query_result_limit_reached",
            }
        return 200, answer

    def _block(self, this: str) -> dict[str, Any]:
        block = self.shown[this]
        return {
            "object": "block", "id": hyphened(this), "type": block.type, block.type: self._signed(block.content),
            "parent": block.parent, "has_children": bool(block.children) or block.type.startswith("child_")
            or bool(block.content.get("synced_from")),
            "created_time": iso(block.created), "last_edited_time": iso(block.edited),
            "in_trash": False, "archived": False,
        }  # fmt: skip

    def _sent(self, thing: Thing, *, brief: bool = False) -> dict[str, Any]:
        if thing.kind == "block":
            return self._block(thing.id)
        slug = re.sub(r"\W+", "-", title_of(thing))
        sent: dict[str, Any] = {
            "object": thing.kind, "id": hyphened(thing.id), "created_time": iso(thing.created),
            "last_edited_time": iso(thing.edited), "created_by": {"object": "user", "id": hyphened("1" * 32)},
            "last_edited_by": {"object": "user", "id": hyphened("1" * 32)}, "cover": None, "icon": None,
            "parent": thing.parent, "archived": thing.is_trashed, "in_trash": thing.is_trashed,
            "url": f"https://www.notion.so/{slug}-{thing.id}", "public_url": None,
        }  # fmt: skip
        if thing.kind == "page":
            titles = {name: each for name, each in thing.properties.items() if each["type"] == "title"}
            return sent | {"properties": titles if brief else self._signed(thing.properties)}
        sent["title"] = rich(thing.title)
        if thing.kind == "database":
            mine = (
                each for each in self.things.values() if each.parent.get("database_id") == hyphened(thing.id)
            )
            sources = [
                {"id": hyphened(each.id), "name": each.title} for each in mine if each.kind == "data_source"
            ]
            return sent | {"data_sources": sources}
        database = self.things[bare(thing.parent["database_id"])]
        return sent | {"database_parent": database.parent, "properties": {}}


def rich(text: str, **annotations: bool) -> list[dict[str, Any]]:
    styles = dict.fromkeys(("bold", "italic", "strikethrough", "underline", "code"), False) | annotations
    return [
        {"type": "text", "text": {"content": text, "link": None}, "plain_text": text, "href": None,
         "annotations": {**styles, "color": "default"}}
    ]  # fmt: skip


def title_value(title: str) -> dict[str, Any]:
    return {"id": "title", "type": "title", "title": rich(title)}


def title_of(thing: Thing) -> str:
    for each in thing.properties.values():
        if each["type"] == "title":
            return "".join(part["plain_text"] for part in each["title"])
    return thing.title


def hyphened(this: str) -> str:
    return str(UUID(this))


def bare(this: str) -> str:
    return this.replace("-", "")


def iso(at: float) -> str:
    """As Notion gives times: rounded to the minute."""
    return datetime.fromtimestamp(at // 60 * 60, UTC).strftime("%Y-%m-%dT%H:%M:00.000Z")

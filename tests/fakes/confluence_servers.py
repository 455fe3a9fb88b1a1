"""The two kinds of Confluence: the cloud with REST API v2 and v1, and a Data Center."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote, unquote

from aiohttp import web
from fakes.confluence import (
    FakeConfluence,
    RefusedRequest,
    WikiFile,
    WikiPage,
    WikiUser,
    after,
    moment_text,
    query_of,
    slug,
)
from fakes.web_servers import LoopbackServer


class FakeMedia(LoopbackServer):
    """Another host, on which the cloud keeps its files: an address with a signature, and no credentials."""

    def __init__(self, tls: Any) -> None:
        super().__init__(tls=tls)
        self.files: dict[str, bytes] = {}

    async def answer(self, request: web.Request) -> web.StreamResponse:
        assert "Authorization" not in request.headers
        found = self.files.get(request.path)
        return web.Response(status=404 if found is None else 200, body=found or b"")


class FakeCloud(FakeConfluence):
    """Confluence Cloud."""

    context = "/wiki"

    def __init__(self, certificate: Path) -> None:
        super().__init__(certificate)
        self.media = FakeMedia(self.tls)

    async def __aenter__(self) -> Self:
        await self.media.__aenter__()
        await super().__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await super().__aexit__(*error)
        await self.media.__aexit__(*error)

    def find(self, path: str, request: web.Request) -> Any:
        for pattern, answer in _CLOUD:
            if found := re.fullmatch(pattern, path):
                return answer(self, request, *(unquote(each) for each in found.groups() if each is not None))
        raise RefusedRequest(404)

    def listed(self, request: web.Request, found: list[Any], entry: Any) -> dict[str, Any]:
        """A list of v2: ``limit``, ``cursor`` and a link to the next page, relative to the host."""
        limit = int(request.query.get("limit", 25))
        if not 1 <= limit <= 250:
            raise RefusedRequest(400)
        part, cursor = after(found, request.query.get("cursor", ""), min(limit, self.page_limit))
        links = {"base": self.base}
        if cursor:
            asked = {name: quote(text) for name, text in request.query.items()}
            links["next"] = f"{request.path}?{query_of(asked | {'cursor': cursor})}"
        return {"results": [entry(each) for each in part], "_links": links}

    def space_list(self, request: web.Request) -> dict[str, Any]:
        keys, ids = request.query.get("keys"), request.query.get("ids")
        found = [
            _Space(key) for key, status in self.spaces.items()
            if status == request.query.get("status", status) and keys in (None, key) and ids in (None, _space_id(key))
        ]  # fmt: skip
        return self.listed(request, found, lambda each: self.space(each.key))

    def space(self, key: str) -> dict[str, Any]:
        return {
            "id": _space_id(key), "key": key, "name": f"Space {key}", "type": "global", "status": self.spaces[key],
            "authorId": "712020:ann", "createdAt": "2020-09-13T12:26:40.000Z", "homepageId": None,
            "description": None, "icon": None, "_links": {"webui": f"/spaces/{key}"},
        }  # fmt: skip

    def content_list(self, request: web.Request, space: str, kind: str) -> dict[str, Any]:
        key = next((each for each in self.spaces if _space_id(each) == space), None)
        if key is None:
            raise RefusedRequest(404)
        status, title = request.query.get("status", "current,archived"), request.query.get("title")
        found = [
            each for each in self.pages.values()
            if each.kind == kind.removesuffix("s") and each.space == key and each.status in status.split(",")
            and title in (None, each.title)
        ]  # fmt: skip
        return self.listed(request, found, self.content)

    def content(self, page: WikiPage, storage: bool = False) -> dict[str, Any]:
        parent = self.pages.get(page.parent or "")
        day = moment_text(page.at)[:10].replace("-", "/")
        place = f"pages/{page.id}" if page.kind == "page" else f"blog/{day}/{page.id}"
        link = f"/spaces/{page.space}/{place}/{slug(page.title)}"
        return {
            "id": page.id, "status": page.status, "title": page.title, "spaceId": _space_id(page.space),
            "parentId": page.parent, "parentType": parent.kind if parent else None, "position": 1027,
            "authorId": "712020:ann", "ownerId": "712020:ann", "lastOwnerId": None,
            "createdAt": "2020-09-13T12:26:40.000Z",
            "version": {
                "createdAt": moment_text(page.at), "message": "", "number": page.version, "minorEdit": False,
                "authorId": "712020:ann",
            },
            "body": {"storage": {"representation": "storage", "value": page.storage}} if storage else {},
            "_links": {
                "editui": f"/pages/resumedraft.action?draftId={page.id}", "webui": link, "tinyui": f"/x/{page.id}",
            },
        }  # fmt: skip

    def one(self, request: web.Request, kind: str, page_id: str) -> dict[str, Any]:
        page = self._page(page_id)
        if f"{page.kind}s" != kind:
            raise RefusedRequest(404)
        return self.content(page, storage=request.query.get("body-format") == "storage")

    def permission_list(self, request: web.Request, space: str) -> dict[str, Any]:
        """Classes of people stand among users and groups, as answers of sites with roles show them."""
        key = next((each for each in self.spaces if _space_id(each) == space), None)
        if key is None:
            raise RefusedRequest(404)
        viewers = self.viewers[key]
        classes = [*viewers.classes, *(["ANONYMOUS_USERS"] if viewers.is_anonymous else [])]
        found = self.permissions(key) + [("access-class", each, "read", "space") for each in classes]
        return self.listed(request, [_Permission(i, *each) for i, each in enumerate(found)], _Permission.sent)

    def group_by_id(self, request: web.Request) -> dict[str, Any]:
        return self.group(request.query["id"].removeprefix("id-of-"))

    def search(self, request: web.Request) -> dict[str, Any]:
        limit = min(int(request.query.get("limit", 25)), self.page_limit)
        part, cursor = after(self.searched(request.query["cql"]), request.query.get("cursor", ""), limit)
        links = {"base": self.base, "context": "/wiki", "self": str(request.url)}
        if cursor:
            asked = {name: quote(text) for name, text in request.query.items()}
            links["next"] = f"/rest/api/content/search?{query_of(asked | {'cursor': cursor})}"
        return {
            "results": [self.hit(each) for each in part], "start": 0, "limit": limit, "size": len(part), "_links": links,
        }  # fmt: skip

    def hit(self, found: WikiPage | WikiFile) -> dict[str, Any]:
        if isinstance(found, WikiFile):
            return file_record(self, found)
        return {
            "id": found.id, "type": found.kind, "status": found.status, "title": found.title,
            "macroRenderedOutput": {},
            "restrictions": {"read": self.restriction(found), "_expandable": {"update": ""}, "_links": {}},
            "extensions": {"position": 1027},
            "_expandable": {
                "container": f"/rest/api/space/{found.space}", "metadata": "", "operations": "", "childTypes": "",
                "children": f"/rest/api/content/{found.id}/child", "history": f"/rest/api/content/{found.id}/history",
                "ancestors": "", "body": "", "version": "",
                "descendants": f"/rest/api/content/{found.id}/descendant", "space": f"/rest/api/space/{found.space}",
            },
            "_links": {
                "self": f"{self.base}/rest/api/content/{found.id}", "tinyui": f"/x/{found.id}",
                "editui": f"/pages/resumedraft.action?draftId={found.id}",
                "webui": f"/spaces/{found.space}/pages/{found.id}/{slug(found.title)}",
            },
        }  # fmt: skip

    def download(self, request: web.Request, container: str, name: str) -> Any:
        file = self.files.get(name)
        if file is None or file.container != container:
            raise RefusedRequest(404)
        place = f"/file/{file.id}/{file.version}/binary"
        self.media.files[place] = file.data
        raise RefusedRequest(302, {"Location": f"{self.media.url}{place}?token=signed"})

    def user(self, user: WikiUser) -> dict[str, Any]:
        return {
            "type": "known", "accountId": user.id, "accountType": "app" if user.is_app else "atlassian",
            "email": "" if user.is_hidden or user.is_app else user.email, "publicName": user.shown, "displayName": user.shown,
            "isExternalCollaborator": False, "_expandable": {"operations": "", "personalSpace": ""},
            "_links": {"self": f"{self.base}/rest/api/user?accountId={user.id}"},
        }  # fmt: skip

    def group(self, name: str) -> dict[str, Any]:
        return {
            "type": "group",
            "name": name,
            "id": f"id-of-{name}",
            "_links": {"self": f"{self.base}/rest/api/group"},
        }

    def one_user(self, request: web.Request) -> dict[str, Any]:
        if request.query.get("accountId") not in self.people:
            raise RefusedRequest(404)
        return self.user(self.people[request.query["accountId"]])


_CLOUD: tuple[tuple[str, Any], ...] = (
    (r"/api/v2/spaces", FakeCloud.space_list),
    (r"/api/v2/spaces/(\d+)/(pages|blogposts)", FakeCloud.content_list),
    (r"/api/v2/spaces/(\d+)/permissions", FakeCloud.permission_list),
    (r"/rest/api/group/by-id", FakeCloud.group_by_id),
    (r"/api/v2/(pages|blogposts|folders)/(\d+)", FakeCloud.one),
    (r"/rest/api/content/search", FakeCloud.search),
    (r"/rest/api/content/(\d+)/restriction/byOperation/read",
     lambda server, request, page: server.restriction(server._page(page), request)),
    (r"/rest/api/content/(\d+)/child/attachment/(\w+)/download", FakeCloud.download),
    (r"/rest/api/group/id-of-([^/]+)/membersByGroupId", lambda server, request, name: server.members(name, request)),
    (r"/rest/api/user", FakeCloud.one_user),
)  # fmt: skip


class _Space:
    """A space in a list that goes on behind an id."""

    def __init__(self, key: str) -> None:
        self.key, self.id = key, _space_id(key)


class _Permission:
    """One of a space: "SpacePermissionAssignment" of the description of v2."""

    def __init__(self, number: int, kind: str, name: str, key: str, target: str) -> None:
        self.id, self.kind, self.key, self.target = f"{number:06}", kind, key, target
        self.name = f"id-of-{name}" if kind == "group" else name

    def sent(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "principal": {"type": self.kind, "id": self.name},
            "operation": {"key": self.key, "targetType": self.target},
        }


def _space_id(key: str) -> str:
    return str(int.from_bytes(key.encode()))


def file_record(server: FakeConfluence, file: WikiFile) -> dict[str, Any]:
    """An attachment in a search of either kind of server."""
    container = server.pages[file.container]
    return {
        "id": file.id, "type": "attachment", "status": "current", "title": file.title,
        "container": {
            "id": container.id, "type": container.kind, "status": "current", "title": container.title,
            "_links": {"self": f"{server.base}/rest/api/content/{container.id}"}, "_expandable": {"body": ""},
        },
        "version": {
            "by": {"type": "known", "displayName": "Ann"}, "when": moment_text(file.at), "number": file.version,
            "minorEdit": False,
        },
        "extensions": {"mediaType": "application/octet-stream", "fileSize": len(file.data), "comment": ""},
        "metadata": {"mediaType": "application/octet-stream"},
        "_expandable": {"ancestors": "", "body": "", "history": f"/rest/api/content/{file.id}/history"},
        "_links": {
            "webui": f"/pages/viewpageattachments.action?pageId={container.id}&preview=/{container.id}/{file.id}",
            "download": f"/download/attachments/{container.id}/{quote(file.title)}?version={file.version}",
        },
    }  # fmt: skip


class FakeDataCenter(FakeConfluence):
    """Confluence Data Center."""

    is_before_9_1 = False  #: whether permissions of spaces are told by the old remote API alone

    def find(self, path: str, request: web.Request) -> Any:
        for pattern, answer in _DATA_CENTER:
            if found := re.fullmatch(pattern, path):
                return answer(self, request, *(unquote(each) for each in found.groups() if each is not None))
        raise RefusedRequest(404)

    def numbered(self, request: web.Request, found: list[Any], entry: Any) -> dict[str, Any]:
        """A list that goes on at a number."""
        start, limit = (
            int(request.query.get("start", 0)),
            min(int(request.query.get("limit", 25)), self.page_limit),
        )
        part = found[start : start + limit]
        links = {"base": self.base, "context": self.context, "self": str(request.url)}
        if start + limit < len(found):
            asked = {name: quote(text) for name, text in request.query.items()}
            links["next"] = f"{request.path}?{query_of(asked | {'limit': limit, 'start': start + limit})}"
        return {
            "results": [entry(each) for each in part], "start": start, "limit": limit, "size": len(part), "_links": links,
        }  # fmt: skip

    def space_list(self, request: web.Request) -> dict[str, Any]:
        key, status = request.query.get("spaceKey"), request.query.get("status")
        found = [each for each in self.spaces if key in (None, each) and status in (None, self.spaces[each])]
        return self.numbered(request, found, lambda each: {"id": 98306, "key": each, "type": "global"})

    def permission_list(self, request: web.Request, key: str, whose: str | None = None) -> list[Any]:
        """A list without pages, since 9.1: "Get all space permissions" of the REST API of 10.0. People are keys."""
        if self.is_before_9_1 or key not in self.spaces:
            raise RefusedRequest(404)
        found = self.permissions(key)
        if whose == "anonymous":
            may = [{"targetType": "space", "operationKey": "read"}] if self.viewers[key].is_anonymous else []
            return [{"operation": each, "spaceKey": key, "spaceId": 131083} for each in may]
        return [
            {
                "operation": {"targetType": target, "operationKey": operation},
                "subject": {"type": "group", "name": name} if kind == "group" else {"type": "user", "userKey": name},
                "spaceKey": key, "spaceId": 131083,
            }
            for kind, name, operation, target in found
        ]  # fmt: skip

    def permission_sets(self, request: web.Request) -> Any:
        """Of the remote API, by JSON-RPC 2.0: "getSpacePermissionSets"."""
        if request.method != "POST" or self.body["method"] != "getSpacePermissionSets":
            raise RefusedRequest(405)
        (key,) = self.body["params"]
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": self.body["id"]}
        try:
            found = self.permissions(key)
        except RefusedRequest:
            return answer | {"error": {"code": 401, "message": "You do not have permission to view this."}}
        viewers = [each for each in found if each[2:] == ("read", "space")]
        grants = [
            {"type": "VIEWSPACE", "groupName": name if kind == "group" else None,
             "userName": None if kind == "group" else self.people[name].name}
            for kind, name, *_ in viewers
        ]  # fmt: skip
        if self.viewers[key].is_anonymous:
            grants.append({"type": "VIEWSPACE", "groupName": None, "userName": None})
        others = [{"type": "EXPORTSPACE", "groupName": None, "userName": None}]
        sets = [("EXPORTSPACE", others), ("VIEWSPACE", grants)]
        return answer | {"result": [{"type": kind, "spacePermissions": each} for kind, each in sets]}

    def scan(self, request: web.Request) -> dict[str, Any]:
        """Pages alone, of which each list ends with a cursor. Its link repeats only some of what was asked."""
        if request.query.get("spaceKey") not in self.spaces:
            raise RefusedRequest(404)
        limit = min(int(request.query.get("limit", 25)), self.page_limit)
        found = [page for page in self.live(request.query["spaceKey"]) if page.kind == "page"]
        part, cursor = after(found, request.query.get("cursor", ""), limit)
        links = {"base": self.base, "context": "", "self": str(request.url)}
        if cursor:
            links["next"] = f"/rest/api/content/scan?cursor={cursor}&limit={limit}"
        expand = request.query.get("expand", "")
        return {"results": [self.content(each, expand) for each in part], "size": len(part), "_links": links}

    def content_list(self, request: web.Request) -> dict[str, Any]:
        kind, title = request.query.get("type", "page"), request.query.get("title")
        found = [
            page for page in self.live(request.query.get("spaceKey"))
            if page.kind == kind and title in (None, page.title)
        ]  # fmt: skip
        found.sort(key=lambda page: page.id)
        return self.numbered(request, found, lambda each: self.content(each, request.query.get("expand", "")))

    def one(self, request: web.Request, page_id: str) -> dict[str, Any]:
        page = self._page(page_id)
        if page.status != "current" and request.query.get("status") != "any":
            raise RefusedRequest(404)
        return self.content(page, request.query.get("expand", ""))

    def content(self, page: WikiPage, expand: str) -> dict[str, Any]:
        wanted = set(expand.split(","))
        above = [each for each in self.above(page) if each is not page][::-1]
        more: dict[str, Any] = {}
        if "version" in wanted:
            more["version"] = {
                "by": {"type": "known", "username": "ann", "displayName": "Ann"}, "when": moment_text(page.at),
                "message": "", "number": page.version, "minorEdit": False, "hidden": False,
            }  # fmt: skip
        if "history" in wanted:
            more["history"] = {
                "latest": True, "createdBy": {"type": "known", "username": "ann", "displayName": "Ann"},
                "createdDate": "2020-09-13T12:26:40.000Z",
            }  # fmt: skip
        if "ancestors" in wanted:
            more["ancestors"] = [self.content(each, "") for each in above]
        if "space" in wanted:
            more["space"] = {"id": 98306, "key": page.space, "name": f"Space {page.space}", "type": "global"}
        if "body.storage" in wanted:
            more["body"] = {"storage": {"value": page.storage, "representation": "storage"}}
        if "restrictions.read.restrictions.user" in wanted:
            more["restrictions"] = {"read": self.restriction(page)}
        return {
            "id": page.id, "type": page.kind, "status": page.status, "title": page.title,
            "extensions": {"position": 0}, **more,
            "_links": {
                "webui": f"/spaces/{page.space}/pages/{page.id}/{slug(page.title)}",
                "edit": f"/pages/resumedraft.action?draftId={page.id}", "tinyui": f"/x/{page.id}",
                "self": f"{self.base}/rest/api/content/{page.id}",
            },
            "_expandable": {
                "container": f"/rest/api/space/{page.space}", "metadata": "", "operations": "", "body": "",
                "children": f"/rest/api/content/{page.id}/child", "space": f"/rest/api/space/{page.space}",
                "descendants": f"/rest/api/content/{page.id}/descendant",
            },
        }  # fmt: skip

    def search(self, request: web.Request) -> dict[str, Any]:
        return self.numbered(
            request,
            list(self.searched(request.query["cql"])),
            lambda each: file_record(self, each) if isinstance(each, WikiFile) else self.content(each, ""),
        )

    def download(self, request: web.Request, container: str, name: str) -> bytes:
        for file in self.files.values():
            if (file.container, file.title) == (container, name):
                return file.data
        raise RefusedRequest(404)

    def user(self, user: WikiUser) -> dict[str, Any]:
        return {
            "type": "known", "username": user.name, "userKey": user.id, "displayName": user.shown,
            "_links": {"self": f"{self.base}/rest/api/user?key={user.id}"}, "_expandable": {"status": ""},
        }  # fmt: skip

    def group(self, name: str) -> dict[str, Any]:
        return {"type": "group", "name": name, "_links": {"self": f"{self.base}/rest/api/group/{name}"}}

    def one_user(self, request: web.Request) -> dict[str, Any]:
        if request.query.get("key") not in self.people:
            raise RefusedRequest(404)
        return self.user(self.people[request.query["key"]])

    def profile(self, request: web.Request, name: str) -> dict[str, Any]:
        user = next((each for each in self.people.values() if each.name == name), None)
        if user is None:
            raise RefusedRequest(404)
        shown = {} if user.is_hidden else {"email": user.email}
        return {"userName": user.name, "fullName": user.shown, **shown}


_DATA_CENTER: tuple[tuple[str, Any], ...] = (
    (r"/rest/api/space", FakeDataCenter.space_list),
    (r"/rest/api/space/([^/]+)/permissions(?:/(anonymous))?",
     lambda server, request, key, whose="": server.permission_list(request, key, whose)),
    (r"/rpc/json-rpc/confluenceservice-v2", FakeDataCenter.permission_sets),
    (r"/rest/api/content/scan", FakeDataCenter.scan),
    (r"/rest/api/content", FakeDataCenter.content_list),
    (r"/rest/api/content/search", FakeDataCenter.search),
    (r"/rest/api/content/(\d+)", FakeDataCenter.one),
    (r"/rest/api/content/(\d+)/restriction/byOperation/read",
     lambda server, request, page: server.restriction(server._page(page), request)),
    (r"/rest/api/group/([^/]+)/member", lambda server, request, name: server.members(name, request)),
    (r"/rest/api/user", FakeDataCenter.one_user),
    (r"/rest/mobile/1.0/profile/([^/]+)", FakeDataCenter.profile),
    (r"/download/attachments/(\d+)/([^/]+)", FakeDataCenter.download),
)  # fmt: skip

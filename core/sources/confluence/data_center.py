"""The endpoints of Confluence Data Center, 7.18 and newer.

Pages come from ``content/scan``, whose list goes on at a cursor. Other lists go on at a number.
https://developer.atlassian.com/server/confluence/confluence-rest-api-examples and …/pagination-in-the-rest-api
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

from core.sources.confluence.client import PERMISSION_REFUSALS, Json, RecordRefused
from core.sources.confluence.cloud import (
    GROUPS,
    RESTRICTIONS,
    USERS,
    V1,
    CloudApi,
    ConfluenceAttachment,
    ConfluenceBody,
    ConfluenceContent,
    ConfluenceEndpoints,
    ConfluenceSpace,
    ContentKind,
    ContentParent,
    ReadRestriction,
    attachment_of,
    quoted,
    storage_of,
    viewers_among,
)
from core.sources.source import SourceUnavailable, moment_of

LIST_LIMIT = 200  # entries of one answer; a lower limit of the server holds
READINGS = 5  # of a list that moves while it is read
EXPAND = f"version,ancestors,{RESTRICTIONS}"

#: Begins the key of a user whose name is not known; the name of a user has no such sign.
KEYED = "<"
#: The old remote API, of versions before 9.1: "Confluence JSON-RPC APIs".
REMOTE_API = "rpc/json-rpc/confluenceservice-v2"
PERMISSION_SETS = "getSpacePermissionSets"
VIEW = "VIEWSPACE"
Viewer = tuple[str, str]  # USERS or GROUPS, and a name
ANYBODY: Viewer = ("", "")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DataCenterApi(ConfluenceEndpoints):
    """Confluence Data Center, with the methods of :class:`CloudApi`."""

    USER, GROUP = "username", "name"
    permissions_need = "to administer the space"  #: to be shown them

    async def spaces(self, key: str = "") -> Sequence[ConfluenceSpace]:
        asked: dict[str, str | int] = {"status": "current", "limit": LIST_LIMIT}
        found = await self._steady(f"{V1}/space", asked | ({"spaceKey": key} if key else {}), _space)
        return [space for space in found if not key or space.key.lower() == key.lower()]

    async def find(self, *, page: str, key: str, title: str) -> tuple[str, str]:
        if page:
            found = await self.client.get(f"{V1}/content/{page}", expand="space")
            return str((found.get("space") or {}).get("key") or ""), page
        listed = await self.client.get(f"{V1}/content", spaceKey=key, title=title, type="page")
        for each in listed.get("results") or ():
            return key, str(each["id"])
        raise RecordRefused("there is no page of this title")

    async def contents(self, space: ConfluenceSpace) -> Sequence[ConfluenceContent]:
        asked: dict[str, str | int] = {
            "spaceKey": space.key, "status": "current", "expand": EXPAND, "limit": LIST_LIMIT,
        }  # fmt: skip
        posts = asked | {"expand": f"version,history,{RESTRICTIONS}"}
        pages = await self.walk.all(f"{V1}/content/scan", asked, self._content)
        return [*pages, *await self._steady(f"{V1}/content", {"type": "blogpost", **posts}, self._content)]

    def _content(self, found: Json) -> ConfluenceContent:
        version: Json = found.get("version") or {}
        kind: ContentKind = "blogpost" if found.get("type") == "blogpost" else "page"
        return ConfluenceContent(
            id=str(found["id"]),
            kind=kind,
            title=str(found.get("title") or ""),
            version=int(version.get("number") or 0),
            link=str((found.get("_links") or {}).get("webui") or ""),
            changed_at=moment_of(version.get("when")),
            created=str((found.get("history") or {}).get("createdDate") or "")[:10],
            parent=_parent(found),
            restriction=self.listed_restriction(found),
        )

    async def _steady(self, path: str, asked: Mapping[str, str | int], entry: Callable[[Json], T]) -> list[T]:
        """A list that goes on at a number. One of several pages is read until a second reading has the same entries:
        what is deleted meanwhile moves others over the edge of a page.
        """
        for _ in range(READINGS):
            found = await self.walk.all(path, asked, _with_id(entry))
            if not self.walk.is_long(path, asked):
                return [each for _, each in found]
            again = await self.walk.all(path, {**asked, "expand": ""}, _id)
            if [name for name, _ in found] == again:
                return [each for _, each in found]
            self.walk.forget()
        raise SourceUnavailable(f"What {self.client.address.host} has changes faster than it can be listed.")

    async def attachments(self, space: ConfluenceSpace) -> Sequence[ConfluenceAttachment]:
        asked: dict[str, str | int] = {
            "cql": f"space = {quoted(space.key)} and type = attachment",
            "expand": "version,container",
            "limit": LIST_LIMIT,
        }
        return await self._steady(f"{V1}/content/search", asked, attachment_of)

    async def parent_of(self, place: ContentParent) -> ContentParent | None:
        return _parent(await self.client.get(f"{V1}/content/{place.id}", expand="ancestors", status="any"))

    async def viewers_of(self, space: ConfluenceSpace) -> ReadRestriction:
        """The viewers by the REST API since 9.1, or by the remote API, unless an administrator switched that off."""
        path = f"{V1}/space/{quote(space.key, safe='~')}/permissions"
        try:
            viewers = [_viewer(each) for each in await self._permissions(path)]
        except RecordRefused:
            viewers = _viewers_in(await self.client.call(REMOTE_API, PERMISSION_SETS, space.key))
        else:
            viewers += await self._anonymous_viewers(f"{path}/anonymous")
        found = {each for each in viewers if each is not None}
        if ANYBODY in found:
            return ReadRestriction()
        return viewers_among(found)

    async def _anonymous_viewers(self, path: str) -> list[Viewer | None]:
        """Whoever has not signed in may view the space, and so may all others; nobody where that is not shown."""
        try:
            return [ANYBODY for each in await self._permissions(path) if _lets_view(each)]
        except RecordRefused:
            return []

    async def _permissions(self, path: str) -> Sequence[Json]:
        """A list, or one entry alone, as some versions answer."""
        answer = await self.client.get(path, refusals=PERMISSION_REFUSALS)
        listed = answer.get("results", [answer])
        return [each for each in listed if isinstance(each, dict)]

    async def name_of_group(self, group: str) -> str:
        return group

    async def body_of(self, content: str, _kind: ContentKind, /) -> ConfluenceBody:
        found = await self.client.get(f"{V1}/content/{content}", expand="body.storage,space")
        return ConfluenceBody(
            space=str((found.get("space") or {}).get("key")),
            storage=storage_of(found),
            is_current=found.get("status") == "current",
        )

    def is_in(self, body: ConfluenceBody, space: ConfluenceSpace) -> bool:
        return body.space == space.key

    def file_of(self, container: str, _file: str, name: str, /) -> str:
        return f"download/attachments/{container}/{quote(name, safe='')}"

    async def email_of(self, user: str) -> str | None:
        """The profile as the mobile app sees it: the REST API itself names no e-mail addresses."""
        if user.startswith(KEYED):
            user = str(
                (await self.client.get(f"{V1}/user", key=user.removeprefix(KEYED))).get(self.USER) or ""
            )
        found = await self.client.get(f"rest/mobile/1.0/profile/{quote(user, safe='')}")
        return str(found.get("email") or "")

    async def members_of(self, group: str) -> Mapping[str, str]:
        return await self._members(f"{V1}/group/{quote(group, safe='')}/member")

    async def name_of(self, user: str) -> str:
        return str((await self.client.get(f"{V1}/user", key=user)).get("displayName") or "")


def _id(found: Json) -> str:
    return str(found["id"])


def _with_id(entry: Callable[[Json], T]) -> Callable[[Json], tuple[str, T]]:
    return lambda found: (_id(found), entry(found))


def _space(found: Json) -> ConfluenceSpace:
    return ConfluenceSpace(id=str(found["key"]), key=str(found["key"]))


def _viewer(found: Json) -> Viewer | None:
    """The kind and the name of whom a permission lets view the space; None if it is one to do something else, or names
    nobody.
    """
    subject = found.get("subject") or {}
    kind = str(subject.get("type") or "").lower()
    if not _lets_view(found):
        return None
    if kind == GROUPS and subject.get("name"):
        return GROUPS, str(subject["name"])
    if kind == USERS and subject.get("userKey"):
        return USERS, f"{KEYED}{subject['userKey']}"
    return None


def _lets_view(found: Json) -> bool:
    """True if one of an entry's operations is to view the space."""
    operations = [found.get("operation"), *(found.get("operations") or ())]
    return any(
        isinstance(each, dict) and (each.get("operationKey"), each.get("targetType")) == ("read", "space")
        for each in operations
    )


def _viewers_in(sets: Sequence[Any]) -> list[Viewer | None]:
    """The viewers in sets of permissions of the remote API; one that names neither user nor group is everybody's."""
    found: list[Viewer | None] = []
    try:
        for each in sets:
            for one in each["spacePermissions"] if each["type"] == VIEW else ():
                user, group = one.get("userName"), one.get("groupName")
                found.append((USERS, str(user)) if user else (GROUPS, str(group)) if group else ANYBODY)
    except (KeyError, TypeError, AttributeError) as strange:
        raise RecordRefused("the permissions come in a form that is not known") from strange
    return found


def _parent(found: Json) -> ContentParent | None:
    """The last of the ancestors, which begin at the top of the space."""
    ancestors: Sequence[Any] = found.get("ancestors") or ()
    return ContentParent(id=str(ancestors[-1]["id"])) if ancestors else None


ConfluenceApi = CloudApi | DataCenterApi

"""The endpoints of Confluence Data Center, 7.18 and newer.

Pages come from ``content/scan``, whose list goes on at a cursor. Other lists go on at a number.
https://developer.atlassian.com/server/confluence/confluence-rest-api-examples and …/pagination-in-the-rest-api
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

from core.sources.confluence import cloud
from core.sources.confluence.client import PERMISSION_REFUSALS, RecordRefused
from core.sources.http import Json
from core.sources.source import SourceUnavailable

LIST_LIMIT = 200  # entries of one answer; a lower limit of the server holds
READINGS = 5  # of a list that moves while it is read
EXPAND = f"version,ancestors,{cloud.RESTRICTIONS}"

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
class DataCenterApi(cloud.ConfluenceEndpoints):
    """Confluence Data Center, with the methods of :class:`CloudApi`."""

    USER, GROUP = "username", "name"
    permissions_need = "to administer the space"  #: to be shown them

    async def spaces(self, key: str = "") -> Sequence[cloud.ConfluenceSpace]:
        asked: dict[str, str | int] = {"status": "current", "limit": LIST_LIMIT}
        found = await self._steady(
            f"{cloud.V1}/space",
            asked | ({"spaceKey": key} if key else {}),
            lambda each: cloud.ConfluenceSpace(id=str(each["key"]), key=str(each["key"])),
        )
        return [space for space in found if not key or space.key.lower() == key.lower()]

    async def find(self, *, page: str, key: str, title: str) -> tuple[str, str]:
        if page:
            found = await self.client.get(f"{cloud.V1}/content/{page}", expand="space")
            return str((found.get("space") or {}).get("key") or ""), page
        listed = await self.client.get(f"{cloud.V1}/content", spaceKey=key, title=title, type="page")
        for each in listed.get("results") or ():
            return key, str(each["id"])
        raise RecordRefused("there is no page of this title")

    async def contents(self, space: cloud.ConfluenceSpace) -> Sequence[cloud.ConfluenceContent]:
        asked: dict[str, str | int] = {
            "spaceKey": space.key, "status": "current", "expand": EXPAND, "limit": LIST_LIMIT,
        }  # fmt: skip
        posts = asked | {"expand": f"version,history,{cloud.RESTRICTIONS}"}
        pages = await self.client.all(f"{cloud.V1}/content/scan", asked, self._content)
        return pages + await self._steady(f"{cloud.V1}/content", {"type": "blogpost", **posts}, self._content)

    def _content(self, found: Json) -> cloud.ConfluenceContent:
        return cloud.ConfluenceContent(
            kind="blogpost" if found.get("type") == "blogpost" else "page",
            created=str((found.get("history") or {}).get("createdDate") or "")[:10], parent=_parent(found),
            restriction=self.listed_restriction(found), **cloud.common_fields(found),
        )  # fmt: skip

    async def _steady(self, path: str, asked: Mapping[str, str | int], entry: Callable[[Json], T]) -> list[T]:
        """A list by numbers, read until two readings agree: what is deleted moves the others."""
        for _ in range(READINGS):
            found = await self.client.all(path, asked, lambda each: (_id(each), entry(each)))
            is_long = self.client.is_long(path, asked)
            if not is_long or [name for name, _ in found] == await self.client.all(
                path, {**asked, "expand": ""}, _id
            ):
                return [each for _, each in found]
            self.client.forget_lists()
        raise SourceUnavailable(f"What {self.client.address.host} has changes faster than it can be listed.")

    async def attachments(self, space: cloud.ConfluenceSpace) -> Sequence[cloud.ConfluenceAttachment]:
        return await self._steady(
            cloud.SEARCH, cloud.search_in(space, *cloud.ATTACHMENTS), cloud.parse_attachment
        )

    async def parent_of(self, child: cloud.ContentParent) -> cloud.ContentParent | None:
        return _parent(
            await self.client.get(f"{cloud.V1}/content/{child.id}", expand="ancestors", status="any")
        )

    async def viewers_of(self, space: cloud.ConfluenceSpace) -> cloud.ReadRestriction:
        """The viewers by the REST API since 9.1, or by the remote API, unless an administrator switched that off."""
        path = f"{cloud.V1}/space/{quote(space.key, safe='~')}/permissions"
        try:
            viewers = [_viewer(each) for each in await self._permissions(path)]
        except RecordRefused:
            viewers = _viewers_in(await self.client.call(REMOTE_API, PERMISSION_SETS, space.key))
        else:
            # If whoever has not signed in may view the space, so may all others.
            with suppress(RecordRefused):
                anonymous = await self._permissions(f"{path}/anonymous")
                viewers += [ANYBODY for each in anonymous if _lets_view(each)]
        found = {each for each in viewers if each is not None}
        return cloud.ReadRestriction() if ANYBODY in found else cloud.viewers_among(found)

    async def _permissions(self, path: str) -> Sequence[Json]:
        """A list, or one entry alone, as some versions answer."""
        answer = await self.client.get(path, refusals=PERMISSION_REFUSALS)
        listed = answer.get("results", [answer])
        return [each for each in listed if isinstance(each, dict)]

    async def name_of_group(self, group: str) -> str:
        return group

    async def body_of(self, content: str, _kind: cloud.ContentKind, space: cloud.ConfluenceSpace, /) -> str:
        found = await self.client.get(f"{cloud.V1}/content/{content}", expand="body.storage,space")
        return cloud.body_in(found, (found.get("space") or {}).get("key"), space)

    def file_of(self, container: str, _file: str, name: str, /) -> str:
        return f"download/attachments/{container}/{quote(name, safe='')}"

    async def email_of(self, user: str) -> str | None:
        """The profile as the mobile app sees it: the REST API itself names no e-mail addresses."""
        if user.startswith(KEYED):
            known = await self.client.get(f"{cloud.V1}/user", key=user.removeprefix(KEYED))
            user = str(known.get(self.USER) or "")
        found = await self.client.get(f"rest/mobile/1.0/profile/{quote(user, safe='')}")
        return str(found.get("email") or "")

    async def members_of(self, group: str) -> Mapping[str, str]:
        return await self._members(f"{cloud.V1}/group/{quote(group, safe='')}/member")

    async def name_of(self, user: str) -> str:
        return str((await self.client.get(f"{cloud.V1}/user", key=user)).get("displayName") or "")


def _id(found: Json) -> str:
    return str(found["id"])


def _viewer(found: Json) -> Viewer | None:
    """The kind and the name of a viewer of the space; None if the permission lets nobody view it."""
    subject = found.get("subject") or {}
    kind = str(subject.get("type") or "").lower()
    if not _lets_view(found):
        return None
    if kind == cloud.GROUPS and subject.get("name"):
        return cloud.GROUPS, str(subject["name"])
    if kind == cloud.USERS and subject.get("userKey"):
        return cloud.USERS, f"{KEYED}{subject['userKey']}"
    return None


def _lets_view(found: Json) -> bool:
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
                named = (cloud.USERS, str(user)) if user else (cloud.GROUPS, str(group))
                found.append(named if user or group else ANYBODY)
    except (KeyError, TypeError, AttributeError) as strange:
        raise RecordRefused("the permissions come in a form that is not known") from strange
    return found


def _parent(found: Json) -> cloud.ContentParent | None:
    """The last of the ancestors, which begin at the top of the space."""
    ancestors: Sequence[Any] = found.get("ancestors") or ()
    return cloud.ContentParent(id=str(ancestors[-1]["id"])) if ancestors else None


ConfluenceApi = cloud.CloudApi | DataCenterApi

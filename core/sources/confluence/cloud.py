"""The endpoints that both kinds of Confluence have, what they tell in one form, and those of Confluence Cloud.

Pages, blog posts and spaces come from the REST API v2, whose lists go on at a cursor, so that nothing is missed when
something is deleted meanwhile. Restrictions, attachments of a whole space, groups and people are in the REST API v1.
https://developer.atlassian.com/cloud/confluence/rest/v2 and …/rest/v1
"""

from collections.abc import Awaitable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal
from urllib.parse import quote

from core.conversation import value
from core.sources.confluence.client import ConfluenceClient, RecordRefused
from core.sources.http import Json
from core.sources.source import parse_moment

V1 = "rest/api"  # below the context, in both kinds
PEOPLE_LIMIT = 200  # users of one answer
USERS, GROUPS = "user", "group"  # kinds of principals of a permission; all others are classes of people
ContentKind = Literal["page", "blogpost"]


@value
class ConfluenceSpace:
    """A space that is not archived."""

    id: str
    key: str


@value
class ReadRestriction:
    """The only people who may view a page, and what lies below it; or a space."""

    is_set: bool = False  #: whether anybody at all is named, also somebody who is not known any more
    #: e-mail addresses by account id in the cloud, by name in a Data Center; empty where they did not come along
    users: Mapping[str, str] = field(default_factory=dict)
    groups: frozenset[str] = frozenset()  #: ids in the cloud, names in a Data Center


@value
class ContentParent:
    """The parent of a page: another page, a folder and the like."""

    id: str
    kind: str = "page"  #: or folder, whiteboard, database, embed


@value
class ConfluenceContent:
    """A page or a blog post that is published and current."""

    id: str
    kind: ContentKind = "page"
    title: str
    version: int
    link: str  #: below the context
    changed_at: float | None = None  #: seconds since the epoch
    created: str = ""  #: YYYY-MM-DD
    parent: ContentParent | None = None
    restriction: ReadRestriction | None = None  #: None: did not come along


@value
class ConfluenceAttachment:
    """A file at a page."""

    id: str
    container: str  #: id of the page
    title: str  #: the name of the file
    version: int
    link: str  #: below the context; empty: unknown
    changed_at: float | None = None


@dataclass(frozen=True, slots=True)
class ConfluenceEndpoints:
    """The endpoints that both kinds of Confluence have. All methods raise SourceThrottled and SourceUnavailable."""

    USER: ClassVar[str]  #: the fields by which it knows users and groups
    GROUP: ClassVar[str]

    client: ConfluenceClient

    async def answer_or_blank(self, asked: Awaitable[str]) -> str:
        """The answer; empty where it is refused."""
        with suppress(RecordRefused):
            return await asked
        return ""

    async def restriction_of(self, content: str) -> ReadRestriction:
        """The restriction of one page, over all pages of its list. RecordRefused."""
        path = f"{V1}/content/{content}/restriction/byOperation/read"
        expand = "restrictions.user,restrictions.group"
        whole, has_more, start = ReadRestriction(), True, 0
        while has_more:
            found = await self.client.get(path, expand=expand, start=start, limit=PEOPLE_LIMIT)
            part, has_more = self._restriction_in(found)
            users, groups = {**whole.users, **part.users}, whole.groups | part.groups
            whole = ReadRestriction(is_set=whole.is_set or part.is_set, users=users, groups=groups)
            start += PEOPLE_LIMIT
        return whole

    def listed_restriction(self, found: Json) -> ReadRestriction | None:
        """The restriction of a page in a list; None where it did not come along whole."""
        read = (found.get("restrictions") or {}).get("read")
        if not read or not read.get("restrictions"):
            return None
        restriction, has_more = self._restriction_in(read)
        return None if has_more else restriction

    def _restriction_in(self, found: Json) -> tuple[ReadRestriction, bool]:
        """A restriction, and whether more of it is on a next page."""
        kept: Json = found.get("restrictions") or {}
        users, groups = kept.get("user") or {}, kept.get("group") or {}
        names = (each.get(self.GROUP) for each in groups.get("results") or ())
        restriction = ReadRestriction(
            is_set=any(listed.get("results") or listed.get("size") for listed in (users, groups)),
            users=self._users_in(users),
            groups=frozenset(str(name) for name in names if name),
        )
        return restriction, is_full(users) or is_full(groups)

    def _users_in(self, listed: Json) -> dict[str, str]:
        """The e-mail addresses of a list of users; empty where they are hidden."""
        found = listed.get("results") or ()
        return {str(each[self.USER]): str(each.get("email") or "") for each in found if each.get(self.USER)}

    async def _members(self, path: str) -> Mapping[str, str]:
        found, start = dict[str, str](), 0
        while True:
            listed = await self.client.get(path, start=start, limit=PEOPLE_LIMIT)
            found |= self._users_in(listed)
            start += len(listed.get("results") or ())
            if not is_full(listed):
                return found


def viewers_among(found: Iterable[tuple[str, str]]) -> ReadRestriction:
    """The restriction of a space to these: USERS or GROUPS, and a name or an id."""
    viewers = list(found)
    users = {name: "" for kind, name in viewers if kind == USERS}
    groups = frozenset(name for kind, name in viewers if kind == GROUPS)
    return ReadRestriction(is_set=True, users=users, groups=groups)


def common_fields(found: Json) -> dict[str, Any]:
    """The fields that pages and attachments have in common."""
    version: Json = found.get("version") or {}
    return {
        "id": str(found["id"]),
        "title": str(found.get("title") or ""),
        "version": int(version.get("number") or 0),
        "link": str((found.get("_links") or {}).get("webui") or ""),
        "changed_at": parse_moment(version.get("createdAt") or version.get("when")),
    }


def body_in(found: Json, space: object, wanted: ConfluenceSpace) -> str:
    """The content of a page in the storage format. RecordRefused in the trash, in the archive and in another space."""
    if found.get("status") != "current" or str(space) != wanted.id:
        raise RecordRefused("it is not in this space")
    return str(((found.get("body") or {}).get("storage") or {}).get("value") or "")


def is_full(listed: Json) -> bool:
    """True if a page of a list may have a next one."""
    limit = listed.get("limit")
    return isinstance(limit, int) and len(listed.get("results") or ()) >= limit > 0


V2 = "api/v2"
LIST_LIMIT = 250  # entries of one answer of v2, its maximum
SEARCH = f"{V1}/content/search"
SEARCH_LIMIT = 200  # of a search with restrictions; a lower limit of the server holds
ATTACHMENTS = ("= attachment", "version,container")
LISTS: Mapping[ContentKind, str] = {"page": "pages", "blogpost": "blogposts"}
#: What pages may lie below beside pages, and where v2 has it.
PARENT_PATHS: Mapping[str, str] = {
    "page": "pages", "folder": "folders", "whiteboard": "whiteboards", "database": "databases", "embed": "embeds",
}  # fmt: skip
#: Classes that all who use a Confluence belong to: "Get available space roles", of those who administer it there are
#: others. Permissions write them in capitals with underscores.
EVERYBODY = frozenset({"anonymous-users", "authenticated-users", "all-licensed-users"})
RESTRICTIONS = "restrictions.read.restrictions.user,restrictions.read.restrictions.group"


@dataclass(frozen=True, slots=True)
class CloudApi(ConfluenceEndpoints):
    """Confluence Cloud."""

    USER, GROUP = "accountId", "id"
    permissions_need = "the scope read:space:confluence, and to view the space"  #: to be shown them

    async def spaces(self, key: str = "") -> Sequence[ConfluenceSpace]:
        """The spaces that the account may read, or the one with the key."""
        asked: dict[str, str | int] = {"status": "current", "limit": LIST_LIMIT}
        if key:
            asked["keys"] = key
        found = await self.client.all(
            f"{V2}/spaces", asked, lambda found: ConfluenceSpace(id=str(found["id"]), key=str(found["key"]))
        )
        return [space for space in found if not key or space.key.lower() == key.lower()]

    async def find(self, *, page: str, key: str, title: str) -> tuple[str, str]:
        """The key of a page's space, and the page's id, by its id or by its title. RecordRefused."""
        if page:
            found = await self.client.get(f"{V2}/pages/{page}")
            spaces = await self.client.get(f"{V2}/spaces", ids=str(found.get("spaceId")))
            named = [str(each.get("key")) for each in spaces.get("results") or ()]
            if named:
                return named[0], page
            raise RecordRefused("its space is not there")
        for space in await self.spaces(key):
            listed = await self.client.get(f"{V2}/spaces/{space.id}/pages", title=title, status="current")
            for each in listed.get("results") or ():
                return space.key, str(each["id"])
        raise RecordRefused("there is no page of this title")

    async def contents(self, space: ConfluenceSpace) -> Sequence[ConfluenceContent]:
        """Pages and versions of the lists, which are exact; most restrictions of a search, which may lag behind."""
        found = list[ConfluenceContent]()
        for kind, name in LISTS.items():
            asked: dict[str, str | int] = {"status": "current", "limit": LIST_LIMIT}
            listed = await self.client.all(f"{V2}/spaces/{space.id}/{name}", asked, _content)
            found += [replace(each, kind=kind) for each in listed]
        query = search_in(space, "in (page, blogpost)", RESTRICTIONS)
        restrictions = dict(
            await self.client.all(
                SEARCH, query, lambda each: (str(each.get("id")), self.listed_restriction(each))
            )
        )
        return [replace(each, restriction=restrictions.get(each.id)) for each in found]

    async def attachments(self, space: ConfluenceSpace) -> Sequence[ConfluenceAttachment]:
        return await self.client.all(SEARCH, search_in(space, *ATTACHMENTS), parse_attachment)

    async def parent_of(self, child: ContentParent) -> ContentParent | None:
        """The parent of something that was not listed. RecordRefused."""
        if child.kind not in PARENT_PATHS:
            raise RecordRefused(f"a {child.kind} is not known")
        return _parent(await self.client.get(f"{V2}/{PARENT_PATHS[child.kind]}/{child.id}"))

    async def viewers_of(self, space: ConfluenceSpace) -> ReadRestriction:
        """The viewers that a space's permissions name; not set: everybody. RecordRefused where they are not shown."""
        listed = await self.client.all_if_shown(
            f"{V2}/spaces/{space.id}/permissions", {"limit": LIST_LIMIT}, _viewer
        )
        viewers = [each for each in listed if each is not None]
        if any(kind not in (USERS, GROUPS) and name in EVERYBODY for kind, name in viewers):
            return ReadRestriction()
        return viewers_among(viewers)

    async def name_of_group(self, group: str) -> str:
        """RecordRefused."""
        return str((await self.client.get(f"{V1}/group/by-id", id=group)).get("name") or "")

    async def body_of(self, content: str, kind: ContentKind, space: ConfluenceSpace, /) -> str:
        """XHTML with Confluence's own elements, the storage format. RecordRefused where it is not in this space."""
        found = await self.client.get(f"{V2}/{LISTS[kind]}/{content}?body-format=storage")
        return body_in(found, found.get("spaceId"), space)

    def file_of(self, container: str, file: str, _name: str, /) -> str:
        """The path of an attachment's bytes, below the context."""
        return f"{V1}/content/{container}/child/attachment/{file}/download"

    async def email_of(self, user: str) -> str | None:
        """The address, empty where its owner hides it; None for an app, which is nobody who asks. RecordRefused."""
        found = await self.client.get(f"{V1}/user", accountId=user)
        return None if found.get("accountType") == "app" else str(found.get("email") or "")

    async def members_of(self, group: str) -> Mapping[str, str]:
        return await self._members(f"{V1}/group/{quote(group, safe='')}/membersByGroupId")

    async def name_of(self, user: str) -> str:
        """The name of a person whom a page mentions. RecordRefused."""
        found = await self.client.get(f"{V1}/user", accountId=user)
        return str(found.get("publicName") or found.get("displayName") or "")


def search_in(space: ConfluenceSpace, kinds: str, expand: str) -> Mapping[str, str | int]:
    """The search for what is of some kinds in a space, in CQL."""
    key = space.key.replace("\\", "\\\\").replace('"', '\\"')
    return {"cql": f'space = "{key}" and type {kinds}', "expand": expand, "limit": SEARCH_LIMIT}


def _viewer(found: Json) -> tuple[str, str] | None:
    """The kind and the id of a viewer of the space; None if the permission is for something else."""
    operation, principal = found.get("operation") or {}, found.get("principal") or {}
    if (operation.get("key"), operation.get("targetType")) != ("read", "space"):
        return None
    kind, name = str(principal.get("type") or "").lower(), str(principal.get("id") or "")
    return kind, name if kind in (USERS, GROUPS) else name.lower().replace("_", "-")


def _content(found: Json) -> ConfluenceContent:
    created = str(found.get("createdAt") or "")[:10]
    return ConfluenceContent(created=created, parent=_parent(found), **common_fields(found))


def _parent(found: Json) -> ContentParent | None:
    if not found.get("parentId"):
        return None
    return ContentParent(id=str(found["parentId"]), kind=str(found.get("parentType") or "page"))


def parse_attachment(found: Json) -> ConfluenceAttachment:
    """An attachment as a search of either API shows it."""
    container = str((found.get("container") or {}).get("id") or "")
    return ConfluenceAttachment(container=container, **common_fields(found))

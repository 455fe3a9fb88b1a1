"""Spaces, pages, attachments and restrictions in the one form of both kinds of Confluence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from core.conversation import value
from core.sources.confluence.client import ConfluenceClient, Json, ListWalk

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
    """Who alone may view a page, and what lies below it; or a space."""

    is_set: bool = False  #: whether anybody at all is named, also somebody who is not known any more
    #: e-mail addresses by account id in the cloud, by name in a Data Center; empty where they did not come along
    users: Mapping[str, str] = field(default_factory=dict)
    groups: frozenset[str] = frozenset()  #: ids in the cloud, names in a Data Center


@value
class ContentParent:
    """The place that a page lies below."""

    id: str
    kind: str = "page"  #: or folder, whiteboard, database, embed


@value
class ConfluenceContent:
    """A page or a blog post that is published and current."""

    id: str
    kind: ContentKind
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


@value
class ConfluenceBody:
    """The content of a page."""

    space: str  #: the id of its space in the cloud, the key in a Data Center
    storage: str  #: XHTML with Confluence's own elements, the storage format
    is_current: bool  #: False in the trash and in the archive


@dataclass(frozen=True, slots=True)
class ConfluenceEndpoints:
    """The endpoints that both kinds of Confluence have. All methods raise SourceThrottled and SourceUnavailable."""

    USER: ClassVar[str]  #: the fields by which it knows users and groups
    GROUP: ClassVar[str]

    client: ConfluenceClient
    walk: ListWalk = field(repr=False)

    async def restriction_of(self, content: str) -> ReadRestriction:
        """The restriction of one page, over all pages of its list. RecordRefused."""
        parts = list[ReadRestriction]()
        while True:
            found = await self.client.get(
                f"{V1}/content/{content}/restriction/byOperation/read",
                expand="restrictions.user,restrictions.group",
                start=len(parts) * PEOPLE_LIMIT,
                limit=PEOPLE_LIMIT,
            )
            part, has_more = self._restriction_in(found)
            parts.append(part)
            if not has_more:
                return joined(parts)

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
        """The e-mail addresses of a group's members, over all pages of its list. RecordRefused."""
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
    return ReadRestriction(
        is_set=True,
        users={name: "" for kind, name in viewers if kind == USERS},
        groups=frozenset(name for kind, name in viewers if kind == GROUPS),
    )


def storage_of(found: Json) -> str:
    """The body of a page, in the storage format."""
    return str(((found.get("body") or {}).get("storage") or {}).get("value") or "")


def joined(parts: Sequence[ReadRestriction]) -> ReadRestriction:
    """A restriction of which each part is on a page of its own."""
    users: dict[str, str] = {}
    for part in parts:
        users |= part.users
    return ReadRestriction(
        is_set=any(part.is_set for part in parts),
        users=users,
        groups=frozenset().union(*(part.groups for part in parts)),
    )


def is_full(listed: Mapping[str, Any]) -> bool:
    """True if a page of a list may have a next one."""
    limit = listed.get("limit")
    return isinstance(limit, int) and len(listed.get("results") or ()) >= limit > 0

"""What both kinds of Confluence tell of spaces, pages, attachments and restrictions, in one form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any, Literal, Protocol

from core.conversation import value
from core.sources.confluence.client import ConfluenceClient

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
    users: Mapping[str, str] = field(
        default_factory=dict
    )  #: e-mail addresses by account id in the cloud, by name in a Data Center; empty where they did not come along
    groups: frozenset[str] = frozenset()  #: ids in the cloud, names in a Data Center


@value
class ContentParent:
    """What a page lies below."""

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
    """What a page says."""

    space: str  #: the id of its space in the cloud, the key in a Data Center
    storage: str  #: XHTML with Confluence's own elements, the storage format
    is_current: bool  #: False in the trash and in the archive


class ConfluenceApi(Protocol):
    """The endpoints of one kind of Confluence. All raise SourceThrottled and SourceUnavailable."""

    @property
    def client(self) -> ConfluenceClient: ...

    async def spaces(self, key: str = "") -> Sequence[ConfluenceSpace]:
        """All that the account may read, or the one with the key if it may be read."""
        ...

    async def find(self, *, page: str, key: str, title: str) -> tuple[str, str]:
        """The key of a page's space, and the page's id, by its id or by its title. RecordRefused."""
        ...

    async def contents(self, space: ConfluenceSpace) -> Sequence[ConfluenceContent]: ...

    async def attachments(self, space: ConfluenceSpace) -> Sequence[ConfluenceAttachment]: ...

    async def parent_of(self, place: ContentParent) -> ContentParent | None:
        """What something lies below that was not listed. RecordRefused."""
        ...

    async def restriction_of(self, content: str) -> ReadRestriction:
        """RecordRefused."""
        ...

    async def body_of(self, content: str, kind: ContentKind, /) -> ConfluenceBody:
        """RecordRefused."""
        ...

    def file_of(self, container: str, file: str, name: str, /) -> str:
        """Where the bytes of an attachment are, below the context."""
        ...

    async def viewers_of(self, space: ConfluenceSpace) -> ReadRestriction:
        """Whom its permissions let view a space; not set: everybody. RecordRefused where they are not shown."""
        ...

    @property
    def permissions_need(self) -> str:
        """What an account needs to be shown the permissions of a space; completes "needs …"."""
        ...

    async def name_of_group(self, group: str) -> str:
        """RecordRefused."""
        ...

    async def email_of(self, user: str) -> str | None:
        """Empty where it is hidden; None for an app, which is nobody who asks. RecordRefused."""
        ...

    async def members_of(self, group: str) -> Mapping[str, str]:
        """The e-mail addresses of a group's members, by user; empty where they are hidden. RecordRefused."""
        ...

    async def name_of(self, user: str) -> str:
        """How a person is called that a page mentions. RecordRefused."""
        ...

    def is_in(self, body: ConfluenceBody, space: ConfluenceSpace) -> bool: ...


def moment(text: object) -> float | None:
    """Seconds since the epoch of a moment as Confluence writes it."""
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return None


def restriction_in(found: Mapping[str, Any], user: str, group: str) -> tuple[ReadRestriction, bool]:
    """A read restriction as both APIs show it, and whether more of it is on a next page.

    ``user``, ``group``: the fields by which the API knows them.
    """
    kept: Mapping[str, Any] = found.get("restrictions") or {}
    users, groups = kept.get("user") or {}, kept.get("group") or {}
    restriction = ReadRestriction(
        is_set=any(listed.get("results") or listed.get("size") for listed in (users, groups)),
        users=users_in(users, user),
        groups=frozenset(str(each[group]) for each in groups.get("results") or () if each.get(group)),
    )
    return restriction, is_full(users) or is_full(groups)


def users_in(listed: Mapping[str, Any], name: str) -> dict[str, str]:
    """The e-mail addresses of a list of users, by the field that names them."""
    return {
        str(each[name]): str(each.get("email") or "")
        for each in listed.get("results") or ()
        if each.get(name)
    }


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
    """Whether a page of a list may have a next one."""
    limit = listed.get("limit")
    return isinstance(limit, int) and len(listed.get("results") or ()) >= limit > 0

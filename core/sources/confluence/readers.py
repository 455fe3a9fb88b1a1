"""Who may read what: the restrictions of a page and of everything above it, as e-mail addresses.

A page may be viewed by whom its own restriction allows and that of each of its ancestors. People become their e-mail
addresses and groups those of their members. Whoever cannot be found out is not among them, so a page is rather shown
to nobody than to somebody who may not see it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from core.conversation import value
from core.sources.confluence.client import RecordRefused
from core.sources.confluence.records import (
    ConfluenceApi,
    ConfluenceContent,
    ContentParent,
    ReadRestriction,
)
from core.sources.source import SourceUnavailable

DEPTH_LIMIT = 200  # ancestors of a page


@value
class PagePlace:
    """Where a page lies, and who may read it."""

    above: tuple[str, ...]  #: ids of its ancestors, from its parent to the top
    readers: frozenset[str] | None  #: e-mail addresses; None: it is not restricted


@dataclass(slots=True, kw_only=True)
class PageReaders:
    """Finds out who may read pages. What it learns holds for one sync."""

    api: ConfluenceApi
    hidden: set[str] = field(
        default_factory=set
    )  #: users without an address that may be seen, and such groups
    unknown: set[str] = field(default_factory=set)  #: ancestors that may not be looked at
    _emails: dict[str, str] = field(default_factory=dict)  #: by user
    _members: dict[str, frozenset[str]] = field(default_factory=dict)  #: addresses, by group
    _looked_up: dict[str, tuple[ReadRestriction | None, ContentParent | None]] = field(default_factory=dict)

    async def of_all(self, contents: Sequence[ConfluenceContent]) -> Mapping[str, PagePlace]:
        """Where the pages of a space lie and who may read them, by id."""
        own = {each.id: each.restriction for each in contents}
        parents = {each.id: each.parent for each in contents}
        for each in contents:
            if each.restriction is None:
                own[each.id], _ = await self._look_up(ContentParent(id=each.id), is_listed=True)
            place = each.parent
            while place is not None and place.id not in parents:
                own[place.id], parents[place.id] = await self._look_up(place)
                place = parents[place.id]
        allowed = {page: await self._allowed(restriction) for page, restriction in own.items()}
        chains = {each.id: tuple(_chain(each.id, parents)) for each in contents}
        return {
            page: PagePlace(above=chain[1:], readers=_common(allowed[each] for each in chain))
            for page, chain in chains.items()
        }

    async def _look_up(
        self, place: ContentParent, *, is_listed: bool = False
    ) -> tuple[ReadRestriction | None, ContentParent | None]:
        """A restriction that did not come along with a listing, and what the place lies below; neither if it may not be
        looked at.
        """
        if place.id not in self._looked_up:
            try:
                restriction = await self.api.restriction_of(place.id)
                parent = None if is_listed else await self.api.parent_of(place)
                self._looked_up[place.id] = restriction, parent
            except RecordRefused:
                self.unknown.add(place.id)
                self._looked_up[place.id] = None, None
        return self._looked_up[place.id]

    async def _allowed(self, restriction: ReadRestriction | None) -> frozenset[str] | None:
        """Whom one restriction allows; None: everybody. Nobody, where it is not known."""
        if restriction is None:
            return frozenset()
        if not restriction.is_set:
            return None
        found = set[str]()
        for user, email in restriction.users.items():
            found.add(await self._email(user, email))
        for group in sorted(restriction.groups):
            found |= await self._group(group)
        return frozenset(found - {""})

    async def _email(self, user: str, email: str) -> str:
        if email:
            self._emails[user] = email.strip().lower()
        elif user not in self._emails:
            try:
                self._emails[user] = (await self.api.email_of(user)).strip().lower()
            except RecordRefused:
                self._emails[user] = ""
        if not self._emails[user]:
            self.hidden.add(user)
        return self._emails[user]

    async def _group(self, group: str) -> frozenset[str]:
        if group not in self._members:
            try:
                members = await self.api.members_of(group)
            except RecordRefused:
                self.hidden.add(group)
                members = {}
            self._members[group] = frozenset(
                [await self._email(user, email) for user, email in members.items()]
            )
        return self._members[group]

    def note(self) -> str:
        """What should be told of it; empty if everybody was found out."""
        said = []
        if self.hidden:
            said.append(
                f"The e-mail addresses of {len(self.hidden)} people or groups that restrictions name cannot be seen:"
                " they get no answers from these pages."
            )
        if self.unknown:
            said.append(
                f"The restrictions of {len(self.unknown)} pages or folders cannot be seen: what lies there is shown to"
                " nobody."
            )
        return " ".join(said)


def _chain(page: str, parents: Mapping[str, ContentParent | None]) -> Iterator[str]:
    """A page and everything above it. SourceUnavailable if it lies below itself."""
    at: str | None = page
    for _ in range(DEPTH_LIMIT):
        if at is None:
            return
        yield at
        parent = parents.get(at)
        at = parent.id if parent is not None else None
    raise SourceUnavailable("A page lies below itself.")


def _common(allowed: Iterable[frozenset[str] | None]) -> frozenset[str] | None:
    """Who is in all of them."""
    common: frozenset[str] | None = None
    for each in allowed:
        if each is not None:
            common = each if common is None else common & each
    return common

"""Readers of pages: the permissions of a space and the restrictions of its pages, as e-mail addresses.

A page may be viewed by whom its space allows, its own restriction, and that of each of its ancestors. People become
their e-mail addresses and groups those of their members. Whoever cannot be found out is not among them, so a page is
rather shown to nobody than to somebody who may not see it. Confluence is asked once a day for the address of a person,
and not at each sync.

A group of everybody, as the operator names it, makes a space open: whoever may read the collection reads it. So does
the operator who says that a space is not to be asked about.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from core.conversation import value
from core.sources.confluence.client import RecordRefused
from core.sources.confluence.cloud import ConfluenceContent, ConfluenceSpace, ContentParent, ReadRestriction
from core.sources.confluence.data_center import ConfluenceApi
from core.sources.source import Memory, SourceUnavailable

KEPT = 86_400.0  # seconds that an e-mail address is remembered
DEPTH_LIMIT = 200  # ancestors of a page
SPACES_SHOWN = 5  # by their keys
EVERY_SPACE = "*"
PEOPLE = "people"  # in the memory: an address and when it was asked for, by account id or name


def load_emails(memory: Memory, now: float) -> dict[str, str | None]:
    """The addresses that were asked for within a day; others are forgotten. A time to come counts as long ago."""
    people = memory.all(PEOPLE)
    memory.drop(PEOPLE, [user for user, (_, asked_at) in people.items() if not now - KEPT < asked_at <= now])
    return {user: email for user, (email, asked_at) in people.items() if now - KEPT < asked_at <= now}


#: Sentences about what is not known of readers, by where PageReaders has it.
NOTES: Mapping[str, str] = {
    "closed": "Who may view {spaces} is not shown to this account, so nobody is answered from there. The account needs"
    " {needed}; or CONFLUENCE_OPEN_SPACES={first} opens a space to all who may read the collection.",
    "unseen": "Of those who may view {spaces} no e-mail address can be seen, so nobody is answered from there."
    " CONFLUENCE_OPEN_SPACES={first} opens a space to all who may read the collection.",
    "hidden": "The e-mail addresses of {count} people or groups that spaces or restrictions name cannot be seen: they get"
    " no answers from these pages.",
    "unknown": "The restrictions of {count} pages or folders cannot be seen: what lies there is shown to nobody.",
}


@value
class PageAccess:
    """The ancestors of a page, and its readers."""

    above: tuple[str, ...]  #: ids of its ancestors, from its parent to the top
    readers: frozenset[str] | None  #: e-mail addresses; None: it is not restricted


@dataclass(slots=True, kw_only=True)
class PageReaders:
    """Finds out who may read pages. What it learns holds for one sync."""

    api: ConfluenceApi
    #: keys in capitals, or EVERY_SPACE: who may view them is not asked
    open_spaces: frozenset[str] = frozenset()
    everyone: frozenset[str] = frozenset()  #: names of groups that hold everybody
    #: by user: empty where it is hidden, None of an app
    emails: dict[str, str | None] = field(default_factory=dict)
    asked: dict[str, str | None] = field(default_factory=dict)  #: those of them that were asked for now
    closed: list[str] = field(default_factory=list)  #: keys of spaces whose permissions are not shown
    unseen: list[str] = field(default_factory=list)  #: keys of spaces whose viewers have no known address
    #: users without an address that may be seen, and such groups
    hidden: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)  #: ancestors that may not be looked at
    _members: dict[str, set[str]] = field(default_factory=dict)  #: addresses, by group
    _names: dict[str, str] = field(default_factory=dict)  #: of groups
    _looked_up: dict[str, tuple[ReadRestriction | None, ContentParent | None]] = field(default_factory=dict)

    async def of_all(
        self, space: ConfluenceSpace, contents: Sequence[ConfluenceContent]
    ) -> Mapping[str, PageAccess]:
        """The ancestors and readers of a space's pages, by id."""
        own = {each.id: each.restriction for each in contents}
        parents = {each.id: each.parent for each in contents}
        for each in contents:
            if each.restriction is None:
                own[each.id], _ = await self._look_up(ContentParent(id=each.id), is_listed=True)
            parent = each.parent
            while parent is not None and parent.id not in parents:
                own[parent.id], parents[parent.id] = await self._look_up(parent)
                parent = parents[parent.id]
        allowed = {page: await self._readers_allowed(restriction) for page, restriction in own.items()}
        chains = {each.id: tuple(_chain(each.id, parents)) for each in contents}
        of_space = await self.of_space(space)
        access = dict[str, PageAccess]()
        for page, chain in chains.items():
            # Who is in all of them.
            named = [each for each in (of_space, *map(allowed.__getitem__, chain)) if each is not None]
            readers = frozenset.intersection(*named) if named else None
            access[page] = PageAccess(above=chain[1:], readers=readers)
        return access

    async def of_space(self, space: ConfluenceSpace) -> frozenset[str] | None:
        """The viewers of a space; None: everybody. Nobody, where its permissions are not shown."""
        if self.open_spaces & {EVERY_SPACE, space.key.upper()}:
            return None
        try:
            viewers = await self.api.viewers_of(space)
        except RecordRefused:
            if space.key not in self.closed:
                self.closed.append(space.key)
            return frozenset()
        for group in sorted(viewers.groups) if self.everyone else ():
            if group not in self._names:
                self._names[group] = await self.api.answer_or_blank(self.api.name_of_group(group))
            if self._names[group] in self.everyone:
                return None
        allowed = await self._readers_allowed(viewers)
        if allowed is not None and not allowed and space.key not in self.unseen:
            self.unseen.append(space.key)
        return allowed

    async def _look_up(
        self, node: ContentParent, *, is_listed: bool = False
    ) -> tuple[ReadRestriction | None, ContentParent | None]:
        """A restriction that was not listed, and its parent. Neither if it may not be looked at."""
        if node.id not in self._looked_up:
            try:
                restriction = await self.api.restriction_of(node.id)
                parent = None if is_listed else await self.api.parent_of(node)
                self._looked_up[node.id] = restriction, parent
            except RecordRefused:
                self.unknown.add(node.id)
                self._looked_up[node.id] = None, None
        return self._looked_up[node.id]

    async def _readers_allowed(self, restriction: ReadRestriction | None) -> frozenset[str] | None:
        """The readers that one restriction allows; None: everybody. Nobody, where it is not known."""
        if restriction is None:
            return frozenset()
        if not restriction.is_set:
            return None
        found = set[str]()
        for user, email in restriction.users.items():
            found.add(await self._email(user, email))
        for group in sorted(restriction.groups):
            if group not in self._members:
                try:
                    members = await self.api.members_of(group)
                except RecordRefused:
                    self.hidden.add(group)
                    members = {}
                self._members[group] = {await self._email(user, email) for user, email in members.items()}
            found |= self._members[group]
        return frozenset(found - {""})

    async def _email(self, user: str, email: str) -> str:
        """Empty where it is hidden, and of an app."""
        if email:
            return email.strip().lower()
        if user not in self.emails:
            try:
                found = await self.api.email_of(user)
            except RecordRefused:
                found = ""
            self.emails[user] = self.asked[user] = None if found is None else found.strip().lower()
        if self.emails[user] == "":
            self.hidden.add(user)
        return self.emails[user] or ""

    def note(self) -> str:
        """Sentences about readers who are not known; empty if all are."""
        found = [(sentence, names) for name, sentence in NOTES.items() if (names := [*getattr(self, name)])]
        needed = self.api.permissions_need
        return " ".join(
            sentence.format(spaces=_spaces(names), first=names[0], count=len(names), needed=needed)
            for sentence, names in found
        )


def _spaces(keys: Sequence[str]) -> str:
    named = ", ".join(keys[:SPACES_SHOWN])
    more = f" and {len(keys) - SPACES_SHOWN} more" if len(keys) > SPACES_SHOWN else ""
    return f"the space {named}" if len(keys) == 1 else f"the spaces {named}{more}"


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

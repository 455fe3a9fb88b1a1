"""What each platform's adapter has to offer, so that the rest is the same on all of them.

``Shown`` is a message as the platform's API is given it; an address is the platform's own.

What a word is answered, before a platform gives it its looks.

What the layout of an outcome depends on beside the outcome itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, Protocol, TypeVar

from bots.chat.incoming import Attachment
from bots.chat.texts import clipped
from core.conversation import Outcome, Proposal, ThreadMessage, value
from core.library.store import Entry
from core.settings import WebApproval
from core.turns.messenger import ReplyRoute


@value
class Note:
    """A sentence or a few, one a line."""

    text: str


@value
class Sources:
    """The documents that are read here, by collection."""

    language: str
    entries: tuple[Entry, ...]


@value
class Footnotes:
    """Every footnote of an answer with its whole quote."""

    outcome: Outcome


CommandReply = Note | Sources | Footnotes


@value
class CardContext:
    """Of one installation, and of the people who have to do with a proposal."""

    engine: str = "the web"  #: the search engine, as people know it
    approval: WebApproval = "asker"
    has_approvers: bool = False  #: whether others than the asker may decide
    can_retry: bool = False  #: whether a turn that failed can be begun anew by a press
    names: Mapping[str, str] = field(default_factory=dict)  #: what people are called, by user id

    def name(self, user: str) -> str:
        return clipped(self.names.get(user, user))


Shown = TypeVar("Shown")
Shown_contra = TypeVar("Shown_contra", contravariant=True)
Shown_co = TypeVar("Shown_co", covariant=True)


class Refused(Exception):
    """The platform will never do this; ``code`` is its own word for why."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Posts(Protocol[Shown_contra]):
    """Saying a thing once: every message is one part of a turn, counted from 0, and is known by both.

    Every method raises Refused or Unreachable.
    """

    async def say(
        self, route: ReplyRoute, turn: str, part: int, message: Shown_contra, *, is_again: bool
    ) -> str:
        """The handle of the message. ``is_again``: it may be there already, and is looked for."""
        ...

    async def change(
        self, route: ReplyRoute, handle: str, turn: str, part: int, message: Shown_contra
    ) -> None:
        """Put a message in the place of one; said anew where that one is gone."""
        ...

    async def find(self, route: ReplyRoute, turn: str, part: int) -> str | None:
        """The handle of a message of ours, by the turn and part it is."""
        ...

    async def send_ephemeral(self, route: ReplyRoute, message: Shown_contra) -> None:
        """Only the one who spoke or pressed sees it; never the only copy of an answer."""
        ...

    async def send_direct(self, route: ReplyRoute, turn: str, message: Shown_contra) -> None:
        """The same where others are not to see it: wherever the platform has a place for that."""
        ...

    async def open_editor(self, route: ReplyRoute, editor: Any) -> None:
        """Show whoever pressed what :meth:`Writer.editor` made."""
        ...

    async def set_status(self, route: ReplyRoute, words: str) -> None:
        """The platform's own sign that the bot is at work; empty words: it is not any more."""
        ...

    async def thread_context(self, route: ReplyRoute) -> tuple[ThreadMessage, ...]:
        """What was said in the thread before the message of this address, oldest first; bounded."""
        ...


class Renderer(Protocol[Shown_co]):
    """Values -> messages; pure."""

    def messages(self, outcome: Outcome, card_context: CardContext) -> tuple[Shown_co, ...]:
        """The outcome as one message, or as several in order. A proposed search is in the last of them, and
        stays in the same one once it is decided."""
        ...

    def note(self, sentence: str) -> Shown_co: ...

    def reply(self, reply: CommandReply) -> tuple[Shown_co, ...]: ...

    def editor(self, proposal: Proposal, route: ReplyRoute) -> Any:
        """A form in which the query can be changed before it is allowed."""
        ...


class People(Protocol):
    """Who people are. What cannot be asked counts as unknown: no name but the id, in no group."""

    async def names(self, route: ReplyRoute, users: Iterable[str | None]) -> dict[str, str]: ...

    async def groups_of(self, route: ReplyRoute, user: str, among: Iterable[str]) -> tuple[str, ...]:
        """Which of these roles or user groups the person is in."""
        ...


class Uploads(Protocol):
    """Where the files are that came with a message."""

    async def fetch(self, file: Attachment) -> bytes:
        """Raises DocumentError."""
        ...

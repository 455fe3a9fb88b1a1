"""The interfaces of a platform's adapter, and the values that they exchange.

``Shown`` is a message as the platform's API takes it.
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
    """A few sentences, one on each line."""

    text: str


@value
class Sources:
    """The documents that a channel reads, by collection."""

    language: str
    entries: tuple[Entry, ...]


@value
class Footnotes:
    """All footnotes of an answer with their whole quotes."""

    outcome: Outcome


CommandReply = Note | Sources | Footnotes


@value
class CardContext:
    """What the layout of an outcome depends on, apart from the outcome."""

    engine: str = "the web"  #: the search engine, as people know it
    approval: WebApproval = "asker"
    has_approvers: bool = False  #: whether others than the asker may decide
    can_retry: bool = False  #: whether a failed turn gets a button that repeats it
    names: Mapping[str, str] = field(default_factory=dict)  #: by user id

    def name(self, user: str) -> str:
        return clipped(self.names.get(user, user))


Shown = TypeVar("Shown")
Shown_contra = TypeVar("Shown_contra", contravariant=True)
Shown_co = TypeVar("Shown_co", covariant=True)


class Refused(Exception):
    """The platform will never do this; ``code`` is its error code."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Posts(Protocol[Shown_contra]):
    """Posts each message once: it is identified by its turn and its part, counted from 0.

    Every method raises Refused or Unreachable.
    """

    async def say(
        self, route: ReplyRoute, turn: str, part: int, message: Shown_contra, *, is_again: bool
    ) -> str:
        """Post a message and return its handle. ``is_again``: it may be there already, so look first."""
        ...

    async def change(
        self, route: ReplyRoute, handle: str, turn: str, part: int, message: Shown_contra
    ) -> None:
        """Replace a message; post it again if it is gone."""
        ...

    async def find(self, route: ReplyRoute, turn: str, part: int) -> str | None:
        """The handle of one of our messages, by its turn and part."""
        ...

    async def send_ephemeral(self, route: ReplyRoute, message: Shown_contra) -> None:
        """Show a message only to the person who wrote or pressed; never the only copy of an answer."""
        ...

    async def send_direct(self, route: ReplyRoute, turn: str, message: Shown_contra) -> None:
        """The same without a press, in whatever private way the platform has."""
        ...

    async def open_editor(self, route: ReplyRoute, editor: Any) -> None:
        """Open the form of :meth:`Renderer.editor` for the person who pressed."""
        ...

    async def set_status(self, route: ReplyRoute, status: str) -> None:
        """Set the platform's own sign that the bot is at work; an empty one removes it."""
        ...

    async def thread_context(self, route: ReplyRoute) -> tuple[ThreadMessage, ...]:
        """The messages of the thread before the one of this route, oldest first; bounded."""
        ...


class Renderer(Protocol[Shown_co]):
    """Values -> messages; pure."""

    def messages(self, outcome: Outcome, card_context: CardContext) -> tuple[Shown_co, ...]:
        """The outcome as one or several messages in order. A proposed search is in the last one, and stays in
        the same one once it is decided."""
        ...

    def note(self, sentence: str) -> Shown_co: ...

    def reply(self, reply: CommandReply) -> tuple[Shown_co, ...]: ...

    def editor(self, proposal: Proposal, route: ReplyRoute) -> Any:
        """A form in which the query can be changed before it is allowed."""
        ...


class People(Protocol):
    """Who people are. If the platform does not say, a person has no name but the id, and is in no group."""

    async def names(self, route: ReplyRoute, users: Iterable[str | None]) -> dict[str, str]: ...

    async def groups_of(self, route: ReplyRoute, user: str, among: Iterable[str]) -> tuple[str, ...]:
        """Which of these roles or user groups the person is in."""
        ...


class Uploads(Protocol):
    """The files that came with messages."""

    async def fetch(self, file: Attachment) -> bytes:
        """Raises DocumentError."""
        ...

"""The interfaces of a platform's adapter, and the values that they exchange.

``Shown`` is a message as the platform's API takes it.
"""

import logging
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from traceback import extract_tb
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from bots.chat.texts import ENGLISH, clipped
from core.conversation import (
    Answer,
    Attachment,
    Citation,
    Conversation,
    Outcome,
    Question,
    ThreadMessage,
    WebApproval,
    value,
)
from core.library.entries import Entry
from core.turns.messenger import ReplyRoute
from core.wording import Wording


@value
class Note:
    """A few sentences, one on each line."""

    text: str
    is_private: bool = False  #: what went wrong: only the author of the command sees it


@value
class Sources:
    """The documents that a channel reads, by collection."""

    language: str
    entries: tuple[Entry, ...]


@value
class Excerpt:
    """A quote with what stands around it in its document."""

    citation: Citation
    before: str = ""
    after: str = ""
    is_current: bool = True  #: False: the document does not say so any more


@value
class Footnotes:
    """All footnotes of an answer with their whole quotes."""

    outcome: Outcome
    excerpts: tuple[Excerpt, ...]  #: in the order of their numbers


@value
class Said:
    """One message of a person in a thread."""

    id: str  #: in the platform's terms
    key: str  #: the same, unique on the platform
    author: str
    text: str  #: without the bot's own mention
    said_at: float  #: seconds since the epoch
    calls_bot: bool = False  #: it is a question or a command, and no reply to anybody
    begins_thread: bool = False
    answers: str = ""  #: the text of the message that it replies to, where a platform has that


CommandReply = Note | Sources | Footnotes


@value
class Approver:
    """A person or a group that may decide about searches."""

    id: str
    name: str
    is_group: bool = False  #: a role or a user group


@value
class ChangedAnswer:
    """A document that no longer says what an answer quotes."""

    citation: Citation
    lost: str  #: the sentence that no longer stands
    instead: str  #: the one that took its place; empty: none clearly, or it may not be read there
    changed_at: float  #: seconds since the epoch


@value
class CardContext:
    """The facts that the layout of an outcome depends on, apart from the outcome."""

    engine: str = "the web"  #: the search engine, as people know it
    approval: WebApproval = "asker"
    has_approvers: bool = False  #: whether others than the asker may decide
    approvers: tuple[str, ...] = ()  #: the names of those of them who are known there
    is_hidden: bool = False  #: whether nobody who may decide sees the card
    can_retry: bool = False  #: whether a failed turn gets a button that repeats it
    is_unasked: bool = False  #: whether nobody called the bot: the answer gets a button that withdraws it
    can_consult: bool = False  #: whether there are experts whom a person may have asked there
    changed: ChangedAnswer | None = None  #: why the answer no longer holds; None: it does
    is_forgotten: bool = False  #: whether the thread is forgotten: nothing is left to press
    reading: Question | None = None  #: the turn that reads the attached files, once somebody let them be read
    names: Mapping[str, str] = field(default_factory=dict)  #: by user id

    def name(self, user: str) -> str:
        return clipped(self.names.get(user, user))


Shown = TypeVar("Shown")
Shown_contra = TypeVar("Shown_contra", contravariant=True)


@value
class ProgressNote:
    """A note of a turn's present step."""

    stage: str  #: a key: a platform that lists the stages of a turn has one entry for each
    sentence: str  #: the same in words; ends in "…"
    answer: Answer | None = None  #: the beginning of the turn's answer that is checked by now
    language: str = ENGLISH  #: of the turn


class Refused(Exception):
    """The platform will never do this; ``code`` is its error code, ``text`` its own words, often empty."""

    def __init__(self, code: str, text: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.text = text


THREAD_CONTEXT = 20  # messages of a thread that are read when the bot is called into it


class Posts(Protocol[Shown_contra]):
    """Posts each message once, by its turn and its part, counted from 0. Every method raises Refused or Unreachable."""

    async def say(
        self, route: ReplyRoute, turn: str, part: int, message: Shown_contra, *, is_again: bool
    ) -> str:
        """Post a message and return its handle. ``is_again``: it may be there already, so look first."""

    async def change(
        self, route: ReplyRoute, handle: str, turn: str, part: int, message: Shown_contra
    ) -> None:
        """Replace a message; post it again if it is gone."""

    async def begin(self, route: ReplyRoute, turn: str, work: ProgressNote, *, is_again: bool) -> str:
        """Show a sign that a turn is worked on, and return its handle. ``is_again``: it may be there already."""

    async def progress(
        self, route: ReplyRoute, handle: str, turn: str, work: ProgressNote, *, is_new: bool
    ) -> None:
        """Show the current step in that sign. If it is not new, only keep the sign from fading."""

    async def finish(
        self, route: ReplyRoute, handle: str, turn: str, message: Shown_contra,
        *, is_again: bool, is_waiting: bool,
    ) -> None:  # fmt: skip
        """Show a turn's part 0 in place of its sign, if one was shown. ``is_waiting``: it asks a person to decide."""

    async def remove_doubles(self, route: ReplyRoute, turn: str) -> None:
        """Keep one message of each part of a turn that two processes showed, and no sign of an ended one."""

    async def rest(self, route: ReplyRoute) -> None:
        """Show that nothing in the conversation waits for anybody any more."""

    async def find(self, route: ReplyRoute, turn: str, part: int) -> str | None:
        """The handle of one of our messages, by its turn and part."""

    async def send_ephemeral(self, route: ReplyRoute, message: Shown_contra) -> None:
        """Show a message only to the person who wrote or pressed; never the only copy of an answer."""

    async def send_direct(
        self, route: ReplyRoute, turn: str, message: Shown_contra, *, may_be_public: bool
    ) -> None:
        """The same in any private way; else in the channel if it ``may_be_public``, else Refused."""

    async def delete(self, route: ReplyRoute, handle: str) -> None:
        """Remove one of our messages, or a sign of work."""

    async def explain(self, route: ReplyRoute, refused: Refused, say: Wording) -> str:
        """The obstacle of a message that was refused, as a sentence for whoever asked."""

    async def open_editor(self, route: ReplyRoute, editor: Any) -> None:
        """Open a form or a window of the renderer for the person who pressed."""

    async def thread_context(self, route: ReplyRoute) -> tuple[ThreadMessage, ...]:
        """At most THREAD_CONTEXT messages of the thread before the one of this route, oldest first."""

    async def said(self, route: ReplyRoute, message: str = "") -> tuple[Said, ...]:
        """The messages of people in the thread, oldest first; without threads, this message alone."""

    async def link(self, route: ReplyRoute, message: str) -> str | None:
        """The URL of a message; None where the platform gives none."""

    async def starter(self, route: ReplyRoute) -> ThreadMessage | None:
        """The first message of the thread of this route, unless it is one of the bot or has no words."""


class People(Protocol):
    """Looks up people. If the platform refuses, a person's name is the id, and the person is in no group."""

    @property
    def mention(self) -> re.Pattern[str]:
        """Matches a mention of a person in a text that the adapter read; the first group is the id."""

    async def names(self, route: ReplyRoute, users: Iterable[str | None]) -> dict[str, str]: ...

    async def channel_name(self, route: ReplyRoute) -> str:
        """The name that people have for the channel, such as "#help"; empty if it is direct or unknown."""

    def is_direct(self, route: ReplyRoute) -> bool:
        """True if the route leads to a direct message between one person and the bot."""

    def is_direct_message(self, conversation: Conversation) -> bool:
        """The same for a conversation without a route."""

    def route_in(self, conversation: Conversation) -> ReplyRoute:
        """A route to a conversation, by which the names of its channel and people are looked up."""

    async def is_private(self, conversation: Conversation) -> bool:
        """True if not everybody of its workspace or server reads the channel, or the platform does not say."""

    async def is_shared(self, conversation: Conversation) -> bool:
        """True if people of another workspace read the channel too, or the platform does not say."""

    async def member_of(self, space: str, user: str, among: Iterable[str]) -> frozenset[str]:
        """The ones among these groups of access rules that a person is in now. Raises Refused and Unreachable."""

    async def email_of(self, space: str, user: str) -> str:
        """The e-mail address of a member who confirmed it; empty where the platform says none, and for bots, guests
        and people of other workspaces.

        Raises Refused and Unreachable where it does not say now; what it says is some minutes old at most.
        """

    async def approvers(self, route: ReplyRoute, among: Iterable[str]) -> tuple[Approver, ...]:
        """The people and groups among these that the platform knows in the route's workspace or server."""

    async def groups_of(self, route: ReplyRoute, user: str, among: Iterable[str]) -> tuple[str, ...]:
        """The ones among these roles or user groups that the person is in. Raises Unreachable: it decides something."""


class Attachments(Protocol):
    """The files that came with messages."""

    async def fetch(self, file: Attachment) -> tuple[str, bytes]:
        """The file's name and content. Raises DocumentError and Unreachable."""


def is_reached_directly(url: str) -> bool:
    """True if NO_PROXY covers the host; platforms' libraries do not all ask that."""
    return bool(proxy_bypass(urlsplit(url).hostname or ""))


def proxy_for(url: str) -> str | None:
    """The proxy to go through, if any."""
    return None if is_reached_directly(url) else getproxies().get(urlsplit(url).scheme)


logger = logging.getLogger(__name__)

LOG_PAUSE = 60.0  # seconds between two lines about the same thing


@dataclass(slots=True)
class LogLimit:
    """True if it is time to log something again."""

    _next: dict[str, float] = field(default_factory=dict)  #: by what the line is about; few things

    def admits(self, about: str) -> bool:
        """True once a minute."""
        now = time.monotonic()
        if now < self._next.get(about, now):
            return False
        self._next[about] = now + LOG_PAUSE
        return True


#: What reading a value of another shape raises.
MALFORMED = (AttributeError, LookupError, OverflowError, TypeError, ValueError)


@dataclass(slots=True)
class Unreadable:
    """Counts what cannot be read. The log names the lines of code; an error's text may quote people."""

    _faults: Counter[str] = field(default_factory=Counter)  #: since the last line of the log
    _log_limit: LogLimit = field(default_factory=LogLimit)

    @contextmanager
    def skipped(self) -> Iterator[None]:
        """Leave out what cannot be read in here."""
        try:
            yield
        except MALFORMED as fault:
            self.count(fault)

    def count(self, fault: Exception) -> None:
        *_, last = extract_tb(fault.__traceback__)
        self._faults[f"{type(fault).__name__} in {Path(last.filename).name}:{last.lineno}"] += 1
        if self._log_limit.admits("unreadable"):
            extra = {"count": self._faults.total(), "reason": ", ".join(sorted(self._faults))}
            logger.warning("what could not be read was left out", extra=extra)
            self._faults.clear()

"""What a word is answered, before a platform gives it its looks."""

from __future__ import annotations

from core.conversation import Outcome
from core.library.catalogue import Entry
from core.values import value


@value
class Note:
    """A sentence or a few, one a line."""

    text: str


@value
class Help:
    """What the bot reads here; how to ask, and the words it knows, come from the platform."""

    language: str
    collections: tuple[str, ...]
    documents: int
    age: float | None = None  #: seconds since they were last in step with the disk


@value
class Sources:
    """The documents that are read here, by collection."""

    language: str
    entries: tuple[Entry, ...]


@value
class Footnotes:
    """Every footnote of an answer with its whole quote."""

    outcome: Outcome


Reply = Note | Help | Sources | Footnotes

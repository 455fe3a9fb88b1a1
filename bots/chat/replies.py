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
class Sources:
    """The documents that are read here, by collection."""

    language: str
    entries: tuple[Entry, ...]


@value
class Footnotes:
    """Every footnote of an answer with its whole quote."""

    outcome: Outcome


Reply = Note | Sources | Footnotes

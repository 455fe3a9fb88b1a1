"""What people say to the bot beside questions and decisions."""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal

from core.conversation import Conversation, Decision, Errand, Question
from core.errors import QuestionRejected
from core.graph.approval import fault_of_query
from core.text.characters import without_shaping
from core.values import value

WordName = Literal[
    "help", "sources", "forget", "stop", "follow", "learn", "use", "approve", "deny",
    "edit", "footnotes", "again", "choose", "unlearn",
]  # fmt: skip


@value
class Attachment:
    """A file that came with a message."""

    id: str
    name: str
    url: str  #: where the platform keeps it
    media_type: str
    size: int  #: bytes


@value
class Word:
    """Something asked of the bot rather than of the documents."""

    name: WordName
    argument: str = (
        ""  #: what follows the word; of "edit" a proposal's id, of "footnotes" and "again" a turn's,
        #: of "choose" an option's number from 1, a colon and a turn's
    )
    id: str
    conversation: Conversation
    author: str
    said_at: float  #: seconds since the epoch
    files: tuple[Attachment, ...] = ()
    is_private: bool = False  #: answered to whoever said it, and to nobody else
    language: str = "en"  #: of whoever said it, as far as it is known; ISO 639-1


@value
class Feedback:
    """A press on one of the two feedback buttons."""

    id: str
    turn_id: str  #: of the answer it is about
    is_positive: bool
    conversation: Conversation
    author: str
    given_at: float  #: seconds since the epoch


TELL = "tell"  # an errand that is no word: a sentence for whoever spoke, stored until it is said

Said = Question | Decision | Word | Feedback


def errand_of(word: Word) -> Errand:
    """The word as it is stored until it is carried out."""
    files = [asdict(file) for file in word.files]
    details = {"argument": word.argument, "files": files, "language": word.language}
    return Errand(
        id=word.id,
        conversation=word.conversation,
        author=word.author,
        name=word.name,
        details=details,
        said_at=word.said_at,
    )


def word_of(errand: Errand) -> Word:
    """The word of an errand made by :func:`errand_of`."""
    return Word(
        name=errand.name,  # type: ignore[arg-type] # it was stored from one
        argument=errand.details["argument"],
        id=errand.id,
        conversation=errand.conversation,
        author=errand.author,
        said_at=errand.said_at,
        files=tuple(Attachment(**file) for file in errand.details["files"]),
        language=errand.details.get("language", "en"),  # of an earlier version, an errand does not say
    )


def checked_query(text: str) -> str:
    """One line that may leave the machine; QuestionRejected when it cannot be sent."""
    query = " ".join(without_shaping(text).split())
    if fault := fault_of_query(query):
        raise QuestionRejected(fault)
    return query

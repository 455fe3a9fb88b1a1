"""What people say to the bot beside questions and decisions."""

from __future__ import annotations

from typing import Literal

from core.conversation import QUERY_LIMIT, Conversation, Decision, Question
from core.errors import QuestionRejected
from core.values import value

WordName = Literal[
    "help", "sources", "forget", "stop", "follow", "learn", "use", "approve", "deny", "edit", "footnotes"
]


@value
class Attachment:
    """A file that came with a message."""

    id: str
    name: str
    url: str  #: to be fetched with the bot's token
    media_type: str
    size: int  #: bytes


@value
class Word:
    """Something asked of the bot rather than of the documents."""

    name: WordName
    argument: str = ""  #: what follows the word; of "edit" a proposal's id, of "footnotes" a turn's
    id: str
    conversation: Conversation
    author: str
    said_at: float  #: seconds since the epoch
    files: tuple[Attachment, ...] = ()


@value
class Feedback:
    """A press on one of the two feedback buttons."""

    id: str
    turn_id: str  #: of the answer it is about
    is_positive: bool
    conversation: Conversation
    author: str
    given_at: float  #: seconds since the epoch


Said = Question | Decision | Word | Feedback


def checked_query(text: str) -> str:
    """One line that may leave the machine; QuestionRejected when it is empty or too long."""
    query = " ".join(text.split())
    if not query:
        raise QuestionRejected("The query is empty.")
    if len(query) > QUERY_LIMIT:
        raise QuestionRejected(f"The query is too long: {len(query):,} characters, {QUERY_LIMIT:,} at most.")
    return query

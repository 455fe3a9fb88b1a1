"""A message that a person wrote -> a question, a word to the bot, or nothing. Pure.

What people say to the bot beside questions and decisions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from typing import Literal, cast

from bots.chat.texts import ENGLISH, say_in
from core.conversation import Command, Conversation, Decision, Question, check_question, value
from core.errors import QuestionRejected
from core.graph.approval import fault_of_query
from core.text.characters import without_shaping
from core.wording import LANGUAGES

CommandName = Literal[
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
class ChatCommand:
    """Something asked of the bot rather than of the documents."""

    name: CommandName
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

Incoming = Question | Decision | ChatCommand | Feedback


def queued(word: ChatCommand) -> Command:
    """The word as it is stored until it is carried out."""
    files = [asdict(file) for file in word.files]
    details = {"argument": word.argument, "files": files, "language": word.language}
    return Command(
        id=word.id,
        conversation=word.conversation,
        author=word.author,
        name=word.name,
        details=details,
        said_at=word.said_at,
    )


def unqueued(command: Command) -> ChatCommand:
    """The word of an errand made by :func:`errand_of`."""
    return ChatCommand(
        name=command.name,  # type: ignore[arg-type] # it was stored from one
        argument=command.details["argument"],
        id=command.id,
        conversation=command.conversation,
        author=command.author,
        said_at=command.said_at,
        files=tuple(Attachment(**file) for file in command.details["files"]),
        language=command.details.get("language", "en"),  # of an earlier version, an errand does not say
    )


def checked_query(text: str) -> str:
    """One line that may leave the machine; QuestionRejected when it cannot be sent."""
    query = " ".join(without_shaping(text).split())
    if fault := fault_of_query(query):
        raise QuestionRejected(fault)
    return query


Follow = Literal["mention", "asker", "thread"]


@value
class ThreadContext:
    """What is known of the channel and thread that a message came in."""

    follow: Follow = "thread"  #: which messages of a thread need no mention
    knows_thread: bool = False  #: the bot answered here, or was pulled in
    asker: str | None = None  #: who first asked the bot in this thread
    since: float = 0.0  #: when that was, in seconds since the epoch

    def follows(self, author: str, text: str, said_at: float) -> bool:
        """Whether what this person writes in the thread is for the bot without a mention.

        The asker goes on talking to the bot; others in the thread talk to each other, unless they ask.
        """
        if not self.may_follow(author, said_at) or is_aside(text):
            return False
        return author == self.asker or asks(text)

    def may_follow(self, author: str, said_at: float) -> bool:
        """The same of a message whose words nobody knows."""
        is_heard = self.follow == "thread" or (self.follow == "asker" and author == self.asker)
        return self.knows_thread and said_at >= self.since and is_heard


def is_aside(text: str) -> bool:
    """Whether a message calls for no answer: nothing that is said, or an acknowledgement."""
    return not any(sign.isalnum() for sign in text) or bool(_ASIDE.fullmatch(text))


def asks(text: str) -> bool:
    """Whether a message is a question by its look, or one of the words that stand alone."""
    return (
        "?" in text
        or bool(_ASKS.match(text))
        or _spoken_word(text, has_files=False, is_called=False) is not None
    )


_ASIDE = re.compile(
    r"\W*(?:(?:yes|yep|yeah|no|nope|ok(?:ay)?|sure|thanks|thank you|thx|ty|cheers|great|perfect|cool|nice|good|right"
    r"|agreed|done|same|lol|haha|hm+|oh|ah|wow|got it|will do|sounds good|makes sense|of course|\+1)\W*)+",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\W*(?:(?:and|but|so|or|then|also)\W+)?(?:who|whom|whose|what|which|when|where|why|how|is|are|was|were|do|does|did"
    r"|can|could|will|would|should|may|must|has|have|had|explain|show|tell|list|find|compare|summari[sz]e)\b",
    re.IGNORECASE,
)


@value
class IncomingMessage:
    """A message for the bot, by whatever platform it came."""

    id: str
    conversation: Conversation
    author: str
    text: str  #: without the bot's own mention
    said_at: float  #: seconds since the epoch
    files: tuple[Attachment, ...] = ()
    is_called: bool  #: by a mention, a reply or in a direct message; else it is a follow-up

    def word(self, name: CommandName, argument: str = "", language: str = ENGLISH) -> ChatCommand:
        return ChatCommand(
            name=name, argument=argument, id=self.id, conversation=self.conversation, author=self.author,
            said_at=self.said_at, files=self.files, language=language,
        )  # fmt: skip


def interpret(message: IncomingMessage) -> Question | ChatCommand | None:
    """None for what says nothing; QuestionRejected when a question is too long."""
    if said := _spoken_word(message.text, has_files=bool(message.files), is_called=message.is_called):
        return message.word(*said)
    if not any(sign.isalnum() for sign in message.text):
        # A file alone is to be learned, a mention alone calls for help; anything else says nothing.
        return message.word("learn" if message.files else "help") if message.is_called else None
    return Question(
        id=message.id,
        conversation=message.conversation,
        author=message.author,
        text=check_question(message.text),
        asked_at=message.said_at,
    )


_PATTERNS: Sequence[tuple[CommandName, str, bool]] = (
    ("help", r"help[.!?]?()", True),
    ("sources", r"sources[.!?]?()", True),
    ("forget", r"forget(?: this(?: thread)?)?[.!]?()", True),
    ("unlearn", r"forget\s+(\S+)", False),
    ("stop", r"stop[.!]?()", True),
    ("follow", r"follow(?:\s+(\w+))?[.!]?", False),
    ("learn", r"learn(?:\s+(https?://\S+))?", False),
    ("use", r"use(?:\s+([\w.-]*\w))?", False),
    ("approve", r"approve[.!:]?()", True),
    ("deny", r"deny[.!]?()", True),
    ("approve", r"approve:\s*(\S.*)", True),
    ("approve", r"approve\s+(\S.*)", False),
)
#: What a word looks like, and whether a follow-up may say it without a mention.
_WORDS = tuple(
    (name, re.compile(looks, re.IGNORECASE | re.DOTALL), is_bare) for name, looks, is_bare in _PATTERNS
)
_LEARN_FILES = re.compile(r"learn\b.*", re.IGNORECASE | re.DOTALL)
#: One thing after such a word is what it was told, though it may be nothing that it takes: it says what is.
_TOLD = re.compile(r"(follow|learn|use)\s+(\S*[^\s?])", re.IGNORECASE)
_QUOTING = "`'\"‘’“”"
_ENDING = " .!?。！？"


@cache
def _words_of_others() -> Mapping[str, tuple[str, str]]:
    """The English word for one of another language, and which that is."""
    return {
        said: (word, language)
        for language in LANGUAGES
        for word, others in say_in(language).entries["words"].items()
        for said in others
    }


def _spoken_word(text: str, *, has_files: bool, is_called: bool) -> tuple[CommandName, str, str] | None:
    """The word, what follows it, and its language."""
    text, language = _words_of_others().get(text.strip(_ENDING).casefold(), (text, ENGLISH))
    for name, pattern, is_bare in _WORDS:
        if (is_called or is_bare) and (found := pattern.fullmatch(text)):
            return name, _argument(name, found[1] or ""), language
    if has_files and is_called and _LEARN_FILES.fullmatch(text):
        return "learn", "", language
    if is_called and (told := _TOLD.fullmatch(text)):
        name = cast("CommandName", told[1].lower())
        return name, _argument(name, told[2].strip(_QUOTING)), language
    return None


def is_page(named: str) -> bool:
    """Whether it is an address that "learn" takes."""
    return named.lower().startswith(("http://", "https://"))


def _argument(name: CommandName, given: str) -> str:
    if name == "approve" and given:
        return checked_query(given)
    return given.lower() if name == "follow" else given

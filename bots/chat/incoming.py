"""What a platform delivers: a question, a decision, a command or a rating, and how a message is read as one. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from typing import Literal, cast

from bots.chat.texts import ENGLISH, say_in
from core.conversation import Command, Conversation, Decision, Question, check_question, value
from core.graph.approval import checked_query
from core.turns.messenger import ReplyRoute
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
    #: What follows the name. Of "edit" a proposal's id, of "footnotes" and "again" a turn's id,
    #: of "choose" an option's number from 1, a colon and a turn's id.
    argument: str = ""
    id: str
    conversation: Conversation
    author: str
    said_at: float  #: seconds since the epoch
    files: tuple[Attachment, ...] = ()
    is_private: bool = False  #: only its author sees the reply
    language: str = "en"  #: of its author, if known; ISO 639-1


@value
class Feedback:
    """A press on one of the two feedback buttons."""

    id: str
    turn_id: str  #: of the answer it is about
    is_positive: bool
    conversation: Conversation
    author: str
    given_at: float  #: seconds since the epoch


@value
class Rejection:
    """A message that cannot be a question, such as one that is too long."""

    id: str
    conversation: Conversation
    author: str
    sentence: str  #: why, for its author


Request = Question | Decision | ChatCommand | Feedback | Rejection


@value
class Incoming:
    """A delivery of a platform, read once: all that the inbox needs to know of it."""

    request: Request
    route: ReplyRoute
    is_follow_up: bool = False  #: in a thread that the bot is part of
    has_files: bool = False
    is_awaited: bool = False  #: the platform shows its author an error unless a reply comes


TELL = "tell"  # a queued command of the bot itself: a sentence for the author of a request


def queued(command: ChatCommand) -> Command:
    """The command as it is stored until it is carried out."""
    files = [asdict(file) for file in command.files]
    details = {"argument": command.argument, "files": files, "language": command.language}
    return Command(
        id=command.id,
        conversation=command.conversation,
        author=command.author,
        name=command.name,
        details=details,
        said_at=command.said_at,
    )


def unqueued(command: Command) -> ChatCommand:
    """The command that :func:`queued` was given."""
    return ChatCommand(
        name=command.name,  # type: ignore[arg-type] # it was stored from one
        argument=command.details["argument"],
        id=command.id,
        conversation=command.conversation,
        author=command.author,
        said_at=command.said_at,
        files=tuple(Attachment(**file) for file in command.details["files"]),
        language=command.details.get("language", "en"),  # stored by an earlier version without one
    )


Follow = Literal["mention", "asker", "thread"]


@value
class ThreadState:
    """What decides whether the bot reads a message of a thread without a mention."""

    follow: Follow = "thread"  #: which messages of a thread need no mention
    knows_thread: bool = False  #: the bot answered here, or was pulled in
    asker: str | None = None  #: who first asked the bot in this thread
    since: float = 0.0  #: when that was, in seconds since the epoch

    def follows(self, author: str, text: str, said_at: float) -> bool:
        """Whether a message in the thread is for the bot without a mention.

        The asker goes on talking to the bot; others talk to each other, unless they ask a question.
        """
        if not self.may_follow(author, said_at) or is_aside(text):
            return False
        return author == self.asker or asks(text)

    def may_follow(self, author: str, said_at: float) -> bool:
        """The same for a message whose text the bot may not read."""
        is_followed = self.follow == "thread" or (self.follow == "asker" and author == self.asker)
        return self.knows_thread and said_at >= self.since and is_followed


def is_aside(text: str) -> bool:
    """Whether a message calls for no answer: it has no words, or only acknowledges."""
    return not any(sign.isalnum() for sign in text) or bool(_ASIDE.fullmatch(text))


def asks(text: str) -> bool:
    """Whether a message looks like a question, or is a command that needs no mention."""
    return (
        "?" in text
        or bool(_ASKS.match(text))
        or _command_in(text, has_files=False, is_called=False) is not None
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
    """A message for the bot, on any platform."""

    id: str
    conversation: Conversation
    author: str
    text: str  #: without the bot's own mention
    said_at: float  #: seconds since the epoch
    files: tuple[Attachment, ...] = ()
    is_called: bool  #: by a mention, a reply or in a direct message; else it is a follow-up

    def command(self, name: CommandName, argument: str = "", language: str = ENGLISH) -> ChatCommand:
        return ChatCommand(
            name=name, argument=argument, id=self.id, conversation=self.conversation, author=self.author,
            said_at=self.said_at, files=self.files, language=language,
        )  # fmt: skip


def interpret(message: IncomingMessage) -> Question | ChatCommand | None:
    """None for a message without words; QuestionRejected if a question is too long."""
    if command := _command_in(message.text, has_files=bool(message.files), is_called=message.is_called):
        return message.command(*command)
    if not any(sign.isalnum() for sign in message.text):
        # A file alone is learned, a mention alone asks for help.
        return message.command("learn" if message.files else "help") if message.is_called else None
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
#: What a command looks like, and whether a follow-up may give it without a mention.
_COMMANDS = tuple(
    (name, re.compile(looks, re.IGNORECASE | re.DOTALL), is_bare) for name, looks, is_bare in _PATTERNS
)
_LEARN_FILES = re.compile(r"learn\b.*", re.IGNORECASE | re.DOTALL)
#: One word after such a name is its argument, even one that it does not take: the reply says which it takes.
_WITH_ARGUMENT = re.compile(r"(follow|learn|use)\s+(\S*[^\s?])", re.IGNORECASE)
_QUOTING = "`'\"‘’“”"
_ENDING = " .!?。！？"


@cache
def _translations() -> Mapping[str, tuple[str, str]]:
    """The English name of a command in another language, and the language."""
    return {
        translation: (name, language)
        for language in LANGUAGES
        for name, translations in say_in(language).entries["words"].items()
        for translation in translations
    }


def _command_in(text: str, *, has_files: bool, is_called: bool) -> tuple[CommandName, str, str] | None:
    """The command's name, its argument, and its language."""
    text, language = _translations().get(text.strip(_ENDING).casefold(), (text, ENGLISH))
    for name, pattern, is_bare in _COMMANDS:
        if (is_called or is_bare) and (found := pattern.fullmatch(text)):
            return name, _argument(name, found[1] or ""), language
    if has_files and is_called and _LEARN_FILES.fullmatch(text):
        return "learn", "", language
    if is_called and (found := _WITH_ARGUMENT.fullmatch(text)):
        name = cast("CommandName", found[1].lower())
        return name, _argument(name, found[2].strip(_QUOTING)), language
    return None


def is_page(argument: str) -> bool:
    """Whether it is an address that "learn" takes."""
    return argument.lower().startswith(("http://", "https://"))


def _argument(name: CommandName, text: str) -> str:
    if name == "approve" and text:
        return checked_query(text)
    return text.lower() if name == "follow" else text

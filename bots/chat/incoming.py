"""Requests of a platform, and how a message is read as one. Pure."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from typing import Literal, cast

from bots.chat.texts import ENGLISH, clipped, say_in
from core.conversation import (
    QUESTION_LIMIT,
    Attachment,
    Command,
    Conversation,
    Decision,
    Question,
    ThreadMessage,
    Verdict,
    check_question,
    value,
)
from core.graph.approval import check_query
from core.text.intent import kind_of, small_talk
from core.traces.log import Fault
from core.turns.messenger import ReplyRoute
from core.wording import LANGUAGES

QUOTES = 5  # messages that are forwarded with a question or replied to
QUOTED = 2_000  # characters of each
#: Seconds after which a mention that an edit adds is not answered: turns are not remembered for ever, so an older
#: message may have been asked before.
EDIT_LIMIT = 24 * 3600.0

CommandName = Literal[
    "help", "sources", "forget", "stop", "follow", "learn", "use", "approve", "deny",
    "edit", "footnotes", "again", "choose", "read", "unlearn", "withdraw", "starter", "consult", "keep", "unkeep",
    "learn_channel", "forget_channel", "learn_me", "forget_me",
]  # fmt: skip


@value
class ChatCommand:
    """Something asked of the bot rather than of the documents."""

    name: CommandName
    #: What follows the name; "starter" asks what its thread begins with. Of "edit" a proposal's id, of "footnotes",
    #: "again", "read", "withdraw" and "consult" a turn's id, of "keep" a message's, of "unkeep" a kept answer's,
    #: of "choose" an option's number from 1, a colon and a turn's id.
    argument: str = ""
    id: str
    conversation: Conversation
    author: str
    said_at: float  #: seconds since the epoch
    files: tuple[Attachment, ...] = ()
    is_private: bool = False  #: only its author sees the reply
    language: str = "en"  #: of its author, if known; ISO 639-1

    @property
    def press(self) -> "Press":
        return Press(id=self.id, conversation=self.conversation, author=self.author, at=self.said_at)


@value
class Feedback:
    """A press on one of the two feedback buttons, or what a person says is wrong with an answer."""

    id: str
    turn_id: str  #: of the answer it is about
    is_positive: bool
    conversation: Conversation
    author: str
    given_at: float  #: seconds since the epoch
    fault: Fault | None = None  #: what is wrong; None: not said yet
    remark: str = ""  #: a line about it
    wants_person: bool = False  #: whether experts are to be asked


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
    """A delivery of a platform as the inbox needs it."""

    request: Request
    route: ReplyRoute
    is_follow_up: bool = False  #: in a thread that the bot is part of
    is_edit: bool = False  #: an edit called the bot
    is_in_place: bool = False  #: answered beside the message: it begins no thread
    is_awaited: bool = False  #: the platform shows its author an error unless a reply comes


TELL = "tell"  # a queued command of the bot itself: a sentence for the author of a request
CHANGED = "changed"  # the same: an answer no longer holds


def queued(command: ChatCommand) -> Command:
    """The command as it is stored until it is carried out."""
    files = [asdict(file) for file in command.files]
    details = {
        "argument": command.argument, "files": files, "language": command.language,
        "is_private": command.is_private,
    }  # fmt: skip
    return Command(
        id=command.id, conversation=command.conversation, author=command.author, name=command.name,
        details=details, said_at=command.said_at,
    )  # fmt: skip


def unqueued(command: Command) -> ChatCommand:
    """The command that :func:`queued` was given."""
    return ChatCommand(
        name=cast("CommandName", command.name), argument=command.details["argument"], id=command.id,
        conversation=command.conversation, author=command.author, said_at=command.said_at,
        files=tuple(Attachment(**file) for file in command.details["files"]),
        language=command.details["language"],
        is_private=command.details.get("is_private", False),  # stored by version 0.1 without it
    )  # fmt: skip


Follow = Literal["mention", "asker", "thread", "channel"]
FollowUp = Literal["addressed", "unaddressed"]  # unaddressed: answered only if the evidence is strong


@value
class ThreadState:
    """The facts that decide whether the bot reads a message without a mention."""

    follow: Follow = "asker"  #: which messages need no mention
    knows_thread: bool = False  #: the bot answered here, or was pulled in
    asker: str | None = None  #: who first asked the bot in this thread
    since: float = 0.0  #: when that was, in seconds since the epoch

    def follow_up(self, author: str, text: str, said_at: float) -> FollowUp | None:
        """The way a message without a mention is for the bot; None: people talk to each other.

        The asker's questions are for the bot. What the asker says besides, and questions of others, may be.
        Whoever may decide a search is often not the asker.
        """
        command = _command_in(text, has_files=False, is_called=False)
        decides = command is not None and command[0] in ("approve", "deny") and self.follow != "mention"
        if decides and self.knows_thread and said_at >= self.since:
            return "addressed"
        if not self.may_follow(author, said_at):
            return None
        if command is not None:
            return "addressed"
        kind = kind_of(text)
        if author == self.asker:
            return {"question": "addressed", "doubtful": "unaddressed"}.get(kind)  # type: ignore[return-value]
        return "unaddressed" if kind == "question" else None

    def opening(self, text: str) -> FollowUp | None:
        """The same for a message outside threads, which would begin one."""
        return "unaddressed" if self.follow == "channel" and kind_of(text) == "question" else None

    def may_follow(self, author: str, said_at: float) -> bool:
        """True if such a message may be for the bot, whatever its text."""
        is_askers = self.follow == "asker" and author == self.asker
        is_followed = is_askers or self.follow in ("thread", "channel")
        return self.knows_thread and said_at >= self.since and is_followed


@value
class IncomingMessage:
    """A message for the bot, on any platform."""

    id: str
    conversation: Conversation
    author: str
    text: str  #: without the bot's own mention
    said_at: float  #: seconds since the epoch
    files: tuple[Attachment, ...] = ()
    quoted: tuple[ThreadMessage, ...] = ()  #: what it forwards, or replies to; never read as a command
    is_called: bool  #: by a mention, a reply or in a direct message; else it is a follow-up
    is_addressed: bool = True  #: False: it may be talk among people
    is_in_thread: bool = False
    is_edit: bool = False  #: an edit called the bot; only a question is read then
    replies_to: str = ""  #: the message of another person that it replies to, where a platform has that

    def command(self, name: CommandName, argument: str = "", language: str = ENGLISH) -> ChatCommand:
        return ChatCommand(
            name=name, argument=argument, id=self.id, conversation=self.conversation, author=self.author,
            said_at=self.said_at, files=self.files, language=language,
        )  # fmt: skip


def is_small_talk(request: object) -> bool:
    """True if it is answered beside the message, without a thread and a sign of work."""
    return isinstance(request, Question) and small_talk(request.text) is not None


def interpret(message: IncomingMessage) -> Question | ChatCommand | None:
    """The request in a message; None if it asks nothing. A bare mention asks the message that it quotes. QuestionRejected if it is too long."""
    if command := _command_in(message.text, has_files=bool(message.files), is_called=message.is_called):
        name, argument, language = command
        argument = message.replies_to if name == "keep" else argument
        return None if message.is_edit else message.command(name, argument, language)
    if any(sign.isalnum() for sign in message.text):
        text = check_question(message.text)
        quoted = tuple(replace(one, text=clipped(one.text, QUOTED)) for one in message.quoted[:QUOTES])
    elif message.is_edit or not message.is_called:
        return None
    elif message.files:  # a file alone is learned
        return message.command("learn")
    elif message.quoted:
        text, quoted = clipped("\n".join(one.text for one in message.quoted), QUESTION_LIMIT), ()
    else:
        return message.command("starter" if message.is_in_thread else "help")
    return Question(
        id=message.id, conversation=message.conversation, author=message.author, text=text,
        asked_at=message.said_at, quoted=quoted, is_addressed=message.is_addressed,
        attachments=message.files if message.is_addressed else (),  # no card offers to read others
    )  # fmt: skip


#: Mention words that a follow-up may say without a mention.
_BARE: frozenset[CommandName] = frozenset({"help", "sources", "forget", "stop", "approve", "deny"})
#: Those that ask: a question mark after another makes it a question.
_ASKING: frozenset[CommandName] = frozenset({"help", "sources"})
#: In English, what follows a word, and whether it is read without a mention.
ARGUMENTS: Sequence[tuple[CommandName, re.Pattern[str], bool]] = (
    ("unlearn", re.compile(r"(?is)forget\s+(\S+)"), False),
    ("follow", re.compile(r"(?i)follow\s+(\w+)[.!]?"), False),
    ("learn", re.compile(r"(?i)learn\s+(https?://\S+)"), False),
    ("use", re.compile(r"(?i)use\s+([\w.-]*\w)"), False),
    ("approve", re.compile(r"(?is)approve:\s*(.*)"), True),
    ("approve", re.compile(r"(?is)approve\s+(\S.*)"), False),
)
_LEARN_FILES = re.compile(r"learn\b.*", re.IGNORECASE | re.DOTALL)
#: One word after such a name is its argument, even one that it does not take: the reply says which it takes.
_ANY_ARGUMENT = re.compile(r"(follow|learn|use)\s+(\S*[^\s?])", re.IGNORECASE)
_QUOTING = "`'\"‘’“”"
_ENDING = " .!?。！？"


@cache
def _words() -> Mapping[str, tuple[CommandName, str]]:
    """The command that a message means which consists of this word, and the language of the word."""
    return {
        word: (name, language)
        for language in reversed(LANGUAGES)  # English goes first
        for name, words in say_in(language).entries["words"].items()
        for word in words
    }


def _command_in(text: str, *, has_files: bool, is_called: bool) -> tuple[CommandName, str, str] | None:
    """The command's name, its argument, and its language."""
    if word := _words().get(text.strip(_ENDING).casefold()):
        name, language = word
        is_asked = any(sign in text for sign in "?？")
        if (is_called or name in _BARE) and (not is_asked or name in _ASKING):
            return name, "", language
    for name, pattern, is_bare in ARGUMENTS:
        if (is_called or is_bare) and (found := pattern.fullmatch(text)):
            return name, _argument(name, found[1]), ENGLISH
    if has_files and is_called and _LEARN_FILES.fullmatch(text):
        return "learn", "", ENGLISH
    if is_called and (found := _ANY_ARGUMENT.fullmatch(text)):
        name = cast("CommandName", found[1].lower())
        return name, _argument(name, found[2].strip(_QUOTING)), ENGLISH
    return None


def is_page(argument: str) -> bool:
    """True if it is an address that "learn" takes."""
    return argument.lower().startswith(("http://", "https://"))


def _argument(name: CommandName, text: str) -> str:
    if name == "approve" and text:
        return check_query(text)
    return text.lower() if name == "follow" else text


#: What can be wrong with an answer -> the key of its words.
FAULTS: Mapping[Fault, str] = {
    "wrong": "fault_wrong",
    "outdated": "fault_outdated",
    "incomplete": "fault_incomplete",
    "unrelated": "fault_unrelated",
}
REMARK = 500  # characters of the line in which a person says what was wrong


def fault_of(name: str) -> Fault:
    """The fault by its name in a form; ValueError for what is none."""
    for fault in FAULTS:
        if fault == name:
            return fault
    raise ValueError(f"{name} is no fault of an answer")


@value
class Press:
    """A pressed button or a sent form, by whom and where."""

    id: str  #: of the request that it makes
    conversation: Conversation
    author: str
    at: float  #: seconds since the epoch
    groups: tuple[str, ...] = ()  #: of the author, where the platform says them
    language: str = ENGLISH  #: of the author, if known; ISO 639-1

    def command(self, name: CommandName, argument: str = "") -> ChatCommand:
        return ChatCommand(
            name=name, argument=argument, id=self.id, conversation=self.conversation, author=self.author,
            said_at=self.at, language=self.language,
        )  # fmt: skip

    def question(self, text: str) -> Question:
        """QuestionRejected when it is too long or empty."""
        return Question(
            id=self.id, conversation=self.conversation, author=self.author, asked_at=self.at,
            text=check_question(text),
        )  # fmt: skip

    def decision(self, verdict: Verdict, proposal: str, query: str | None = None) -> Decision:
        """QuestionRejected when an edited query is empty or too long."""
        return Decision(
            id=self.id, conversation=self.conversation, author=self.author, proposal_id=proposal,
            verdict=verdict, query=None if query is None else check_query(query), groups=self.groups,
            decided_at=self.at,
        )  # fmt: skip

    def rating(self, turn: str, *, is_positive: bool) -> Feedback:
        return Feedback(
            id=self.id, turn_id=turn, is_positive=is_positive, conversation=self.conversation,
            author=self.author, given_at=self.at,
        )  # fmt: skip

    def explanation(self, turn: str, *, fault: str, remark: str, wants_person: bool) -> Feedback:
        """The rating of an answer with the fault that the form names."""
        rating, remark = self.rating(turn, is_positive=False), clipped(remark, REMARK)
        return replace(rating, fault=fault_of(fault), remark=remark, wants_person=wants_person)


#: What a button asks for whose name is not that of a command, with the value that it carries.
_PRESSES: Mapping[str, Callable[[Press, str], Request]] = {
    "approve": lambda press, proposal: press.decision("approve", proposal),
    "deny": lambda press, proposal: press.decision("deny", proposal),
    # The newest reply: it stands under the request to experts.
    "keep": lambda press, _: press.command("keep"),
    "good": lambda press, turn: press.rating(turn, is_positive=True),
    "bad": lambda press, turn: press.rating(turn, is_positive=False),
}
#: What the others ask for, by their names.
_PRESSED: Sequence[CommandName] = (
    "edit", "footnotes", "again", "withdraw", "read", "choose", "consult", "unkeep",
)  # fmt: skip
BUTTONS = frozenset((*_PRESSES, *_PRESSED))


def pressed(press: Press, name: str, carried: str) -> Request | None:
    """The request of a pressed button; None if it is unknown."""
    if name in _PRESSES:
        return _PRESSES[name](press, carried)
    return next((press.command(each, carried) for each in _PRESSED if each == name), None)

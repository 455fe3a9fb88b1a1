"""Requests of the buttons and forms of the bot's messages, the same on every platform. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bots.chat.incoming import ChatCommand, CommandName, Feedback, Request
from bots.chat.teaching import REMARK, fault_of
from bots.chat.texts import ENGLISH, clipped
from core.conversation import Conversation, Decision, Question, Verdict, check_question, value
from core.graph.approval import checked_query


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
            id=self.id, conversation=self.conversation, author=self.author, text=check_question(text),
            asked_at=self.at,
        )  # fmt: skip

    def decision(self, verdict: Verdict, proposal: str, query: str | None = None) -> Decision:
        """QuestionRejected when an edited query is empty or too long."""
        return Decision(
            id=self.id, conversation=self.conversation, author=self.author, proposal_id=proposal,
            verdict=verdict, query=None if query is None else checked_query(query), groups=self.groups,
            decided_at=self.at,
        )  # fmt: skip

    def rating(self, turn: str, *, is_positive: bool) -> Feedback:
        return Feedback(
            id=self.id, turn_id=turn, is_positive=is_positive, conversation=self.conversation,
            author=self.author, given_at=self.at,
        )  # fmt: skip

    def explanation(self, turn: str, *, fault: str, remark: str, wants_person: bool) -> Feedback:
        """What is wrong with an answer, as the form for it says."""
        return Feedback(
            id=self.id, turn_id=turn, is_positive=False, conversation=self.conversation, author=self.author,
            given_at=self.at, fault=fault_of(fault), remark=clipped(remark, REMARK), wants_person=wants_person,
        )  # fmt: skip


Read = Callable[[Press, str], Request]


def _command(name: CommandName) -> Read:
    return lambda press, argument: press.command(name, argument)


#: What a button asks for, by its name and with the value that it carries.
BUTTONS: Mapping[str, Read] = {
    "approve": lambda press, proposal: press.decision("approve", proposal),
    "deny": lambda press, proposal: press.decision("deny", proposal),
    "edit": _command("edit"),
    "footnotes": _command("footnotes"),
    "again": _command("again"),
    "withdraw": _command("withdraw"),
    "read": _command("read"),
    "choose": _command("choose"),
    "consult": _command("consult"),
    "keep": lambda press, _: press.command(
        "keep"
    ),  # the newest reply: it stands under the request to experts
    "unkeep": _command("unkeep"),
    "good": lambda press, turn: press.rating(turn, is_positive=True),
    "bad": lambda press, turn: press.rating(turn, is_positive=False),
}

"""A press, a submitted form or a command -> what was meant by it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any

from bots.chat.incoming import Attachment, Feedback, Said, Word, WordName, checked_query
from bots.chat.texts import ENGLISH, say_in
from bots.discord.route import Address, conversation_of, said_at, turn_id
from core.conversation import Decision, Question, Verdict, check_question, value
from core.errors import QuestionRejected


@value
class Act:
    """An interaction as far as it matters here."""

    id: str
    data: Mapping[str, Any]  #: as the API gives it, "Interaction Data"
    address: Address
    roles: tuple[str, ...] = ()  #: of whoever acted
    target_text: str = ""  #: of the message whose menu was used, as its author reads it
    files: Mapping[str, Attachment] = field(default_factory=dict)  #: that came with a command, by id
    language: str = ENGLISH  #: of whoever acted, ISO 639-1

    @property
    def turn(self) -> str:
        return turn_id(self.address, self.id)

    @property
    def at(self) -> float:
        return said_at(self.id)

    def word(self, name: WordName, argument: str = "", *, is_private: bool = False) -> Word:
        return Word(
            name=name, argument=argument, id=self.turn, conversation=conversation_of(self.address),
            author=self.address["user"], said_at=self.at, files=tuple(self.files.values()), is_private=is_private,
            language=self.language,
        )  # fmt: skip

    def question(self, text: str) -> Question:
        return Question(
            id=self.turn, conversation=conversation_of(self.address), author=self.address["user"],
            text=check_question(text), asked_at=self.at,
        )  # fmt: skip

    def decision(self, verdict: Verdict, proposal: str, query: str | None = None) -> Decision:
        return Decision(
            id=self.turn, conversation=conversation_of(self.address), author=self.address["user"],
            proposal_id=proposal, verdict=verdict, query=query, groups=self.roles, decided_at=self.at,
        )  # fmt: skip

    def option(self, name: str) -> str:
        """What a command was given; empty when it was not."""
        given = {each["name"]: each.get("value", "") for each in self.data.get("options") or ()}
        return str(given.get(name, ""))


def pressed(act: Act) -> Said | None:
    """None for a button of nobody's; the part of its id before a colon says what it means."""
    name, _, about = str(act.data.get("custom_id", "")).partition(":")
    means = _PRESSES.get(name)
    return means(act, about) if means else None


def _say(name: WordName) -> Callable[[Act, str], Said]:
    return lambda act, about: act.word(name, about)


def _decide(verdict: Verdict) -> Callable[[Act, str], Said]:
    return lambda act, about: act.decision(verdict, about)


def _rate(*, is_positive: bool) -> Callable[[Act, str], Said]:
    return lambda act, about: Feedback(
        id=act.turn,
        turn_id=about,
        is_positive=is_positive,
        conversation=conversation_of(act.address),
        author=act.address["user"],
        given_at=act.at,
    )


_PRESSES: Mapping[str, Callable[[Act, str], Said]] = {
    "approve": _decide("approve"),
    "deny": _decide("deny"),
    "edit": _say("edit"),
    "footnotes": _say("footnotes"),
    "again": _say("again"),
    "choose": _say("choose"),
    "good": _rate(is_positive=True),
    "bad": _rate(is_positive=False),
}


def submitted(act: Act) -> Decision | None:
    """The edited query of a form; QuestionRejected when it is empty or too long."""
    name, _, proposal = str(act.data.get("custom_id", "")).partition(":")
    if name != "edit":
        return None
    return act.decision("approve", proposal, checked_query(_typed(act.data.get("components") or ())))


def _typed(components: Any) -> str:
    for each in components:
        inner: Mapping[str, Any] = each.get("component") or next(iter(each.get("components") or ()), {})
        if inner.get("custom_id") == "query":
            return str(inner.get("value") or "")
    return ""


def commanded(act: Act) -> Said | None:
    """QuestionRejected when a question is too long or empty."""
    means = _COMMANDS.get(str(act.data.get("name", "")))
    return means(act) if means else None


def _ask_about(act: Act) -> Question:
    if not act.target_text:
        raise QuestionRejected(say_in(act.language)("no_words_here"))
    return act.question(act.target_text)


def _learn(act: Act) -> Word:
    chosen = act.option("file")
    files = {chosen: act.files[chosen]} if chosen in act.files else {}
    return replace(act, files=files).word("learn", act.option("url"))


#: What each command of :mod:`bots.discord.commands` means.
_COMMANDS: Mapping[str, Callable[[Act], Said]] = {
    "ask": lambda act: act.question(act.option("question")),
    "Ask about this": _ask_about,
    "help": lambda act: act.word("help", is_private=True),
    "sources": lambda act: act.word("sources", is_private=True),
    "follow": lambda act: act.word("follow", act.option("whom"), is_private=True),
    "forget": lambda act: act.word("forget"),
    "learn": _learn,
}

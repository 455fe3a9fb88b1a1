"""A press, a submitted form or a command -> what was meant by it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any

from bots.chat.incoming import Attachment, ChatCommand, CommandName, Feedback, Request, checked_query
from bots.chat.texts import ENGLISH, say_in
from bots.discord.route import DiscordRoute, conversation_of, said_at, turn_id
from core.conversation import Decision, Question, Verdict, check_question, value
from core.errors import QuestionRejected


@value
class Interaction:
    """An interaction as far as it matters here."""

    id: str
    data: Mapping[str, Any]  #: as the API gives it, "Interaction Data"
    route: DiscordRoute
    roles: tuple[str, ...] = ()  #: of whoever acted
    target_text: str = ""  #: of the message whose menu was used, as its author reads it
    files: Mapping[str, Attachment] = field(default_factory=dict)  #: that came with a command, by id
    language: str = ENGLISH  #: of whoever acted, ISO 639-1

    @property
    def turn(self) -> str:
        return turn_id(self.route, self.id)

    @property
    def at(self) -> float:
        return said_at(self.id)

    def command(self, name: CommandName, argument: str = "", *, is_private: bool = False) -> ChatCommand:
        return ChatCommand(
            name=name, argument=argument, id=self.turn, conversation=conversation_of(self.route),
            author=self.route["user"], said_at=self.at, files=tuple(self.files.values()), is_private=is_private,
            language=self.language,
        )  # fmt: skip

    def question(self, text: str) -> Question:
        return Question(
            id=self.turn, conversation=conversation_of(self.route), author=self.route["user"],
            text=check_question(text), asked_at=self.at,
        )  # fmt: skip

    def decision(self, verdict: Verdict, proposal: str, query: str | None = None) -> Decision:
        return Decision(
            id=self.turn, conversation=conversation_of(self.route), author=self.route["user"],
            proposal_id=proposal, verdict=verdict, query=query, groups=self.roles, decided_at=self.at,
        )  # fmt: skip

    def option(self, name: str) -> str:
        """What a command was given; empty when it was not."""
        given = {each["name"]: each.get("value", "") for each in self.data.get("options") or ()}
        return str(given.get(name, ""))


def pressed(interaction: Interaction) -> Request | None:
    """None for a button of nobody's; the part of its id before a colon says what it means."""
    name, _, about = str(interaction.data.get("custom_id", "")).partition(":")
    means = _PRESSES.get(name)
    return means(interaction, about) if means else None


def _say(name: CommandName) -> Callable[[Interaction, str], Request]:
    return lambda interaction, about: interaction.command(name, about)


def _decide(verdict: Verdict) -> Callable[[Interaction, str], Request]:
    return lambda interaction, about: interaction.decision(verdict, about)


def _rate(*, is_positive: bool) -> Callable[[Interaction, str], Request]:
    return lambda interaction, about: Feedback(
        id=interaction.turn,
        turn_id=about,
        is_positive=is_positive,
        conversation=conversation_of(interaction.route),
        author=interaction.route["user"],
        given_at=interaction.at,
    )


_PRESSES: Mapping[str, Callable[[Interaction, str], Request]] = {
    "approve": _decide("approve"),
    "deny": _decide("deny"),
    "edit": _say("edit"),
    "footnotes": _say("footnotes"),
    "again": _say("again"),
    "choose": _say("choose"),
    "good": _rate(is_positive=True),
    "bad": _rate(is_positive=False),
}


def submitted(interaction: Interaction) -> Decision | None:
    """The edited query of a form; QuestionRejected when it is empty or too long."""
    name, _, proposal = str(interaction.data.get("custom_id", "")).partition(":")
    if name != "edit":
        return None
    return interaction.decision(
        "approve", proposal, checked_query(_typed(interaction.data.get("components") or ()))
    )


def _typed(components: Any) -> str:
    for each in components:
        inner: Mapping[str, Any] = each.get("component") or next(iter(each.get("components") or ()), {})
        if inner.get("custom_id") == "query":
            return str(inner.get("value") or "")
    return ""


def commanded(interaction: Interaction) -> Request | None:
    """QuestionRejected when a question is too long or empty."""
    means = _COMMANDS.get(str(interaction.data.get("name", "")))
    return means(interaction) if means else None


def _ask_about(interaction: Interaction) -> Question:
    if not interaction.target_text:
        raise QuestionRejected(say_in(interaction.language)("no_words_here"))
    return interaction.question(interaction.target_text)


def _learn(interaction: Interaction) -> ChatCommand:
    chosen = interaction.option("file")
    files = {chosen: interaction.files[chosen]} if chosen in interaction.files else {}
    return replace(interaction, files=files).command("learn", interaction.option("url"))


#: What each command of :mod:`bots.discord.commands` means.
_COMMANDS: Mapping[str, Callable[[Interaction], Request]] = {
    "ask": lambda interaction: interaction.question(interaction.option("question")),
    "Ask about this": _ask_about,
    "help": lambda interaction: interaction.command("help", is_private=True),
    "sources": lambda interaction: interaction.command("sources", is_private=True),
    "follow": lambda interaction: interaction.command("follow", interaction.option("whom"), is_private=True),
    "forget": lambda interaction: interaction.command("forget"),
    "learn": _learn,
}

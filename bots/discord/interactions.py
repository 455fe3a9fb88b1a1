"""A press, a submitted form or a command -> what it asks for. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any

from bots.chat.incoming import BUTTONS, ChatCommand, CommandName, Feedback, Press, Request
from bots.chat.texts import ENGLISH, say_in
from bots.discord.manifest import KEEP
from bots.discord.route import DiscordRoute, conversation_of, said_at, turn_id
from core.conversation import Attachment, Decision, Question, value
from core.errors import QuestionRejected


@value
class Interaction:
    """The parts of an interaction that decide what it means."""

    id: str
    data: Mapping[str, Any]  #: as the API gives it, "Interaction Data"
    route: DiscordRoute
    roles: tuple[str, ...] = ()  #: of the person who acted
    target_text: str = ""  #: of the message whose menu was used, as its author sees it
    target_files: tuple[Attachment, ...] = ()  #: of the same message
    files: Mapping[str, Attachment] = field(default_factory=dict)  #: that came with a command, by id
    language: str = ENGLISH  #: of the person who acted, ISO 639-1

    @property
    def turn(self) -> str:
        return turn_id(self.route, self.id)

    @property
    def press(self) -> Press:
        return Press(
            id=self.turn, conversation=conversation_of(self.route), author=self.route["user"],
            at=said_at(self.id), groups=self.roles, language=self.language,
        )  # fmt: skip

    def command(self, name: CommandName, argument: str = "", *, is_private: bool = False) -> ChatCommand:
        given = tuple(self.files.values())
        return replace(self.press.command(name, argument), files=given, is_private=is_private)

    def question(self, text: str) -> Question:
        return replace(self.press.question(text), attachments=self.target_files)

    def option(self, name: str) -> str:
        """An option of a command; empty when it was left out."""
        options = {each["name"]: each.get("value", "") for each in self.data.get("options") or ()}
        return str(options.get(name, ""))


def read_press(interaction: Interaction) -> Request | None:
    """None for an unknown button; the part of a button's id before a colon says what it does."""
    action, _, argument = str(interaction.data.get("custom_id", "")).partition(":")
    read = BUTTONS.get(action)
    return read(interaction.press, argument) if read else None


def read_form(interaction: Interaction) -> Decision | Feedback | None:
    """The edited query of a form, or what was wrong; QuestionRejected when a query is empty or too long."""
    name, _, about = str(interaction.data.get("custom_id", "")).partition(":")
    entered = _entered(interaction.data.get("components") or ())
    if name == "edit":
        query = str((entered.get("query") or {}).get("value") or "")
        return interaction.press.decision("approve", about, query)
    if name == "explain":
        (fault,) = entered["fault"]["values"]
        return interaction.press.explanation(
            about,
            fault=fault,
            remark=str(entered["remark"].get("value") or ""),
            wants_person=bool(entered.get("person", {}).get("values")),
        )
    return None


def _entered(components: Any) -> dict[str, Mapping[str, Any]]:
    """The fields of a form, by their name."""
    fields: dict[str, Mapping[str, Any]] = {}
    for each in components:
        inner: Mapping[str, Any] = each.get("component") or next(iter(each.get("components") or ()), {})
        fields[str(inner.get("custom_id"))] = inner
    return fields


def read_command(interaction: Interaction) -> Request | None:
    """QuestionRejected when a question is too long or empty."""
    read = _COMMANDS.get(str(interaction.data.get("name", "")))
    return read(interaction) if read else None


def _ask_about(interaction: Interaction) -> Question:
    if not interaction.target_text:
        raise QuestionRejected(say_in(interaction.language)("no_words_here"))
    return interaction.question(interaction.target_text)


def _learn(interaction: Interaction) -> ChatCommand:
    chosen = interaction.option("file")
    files = {chosen: interaction.files[chosen]} if chosen in interaction.files else {}
    return replace(interaction, files=files).command("learn", interaction.option("url"), is_private=True)


#: The commands of :mod:`bots.discord.manifest`.
_COMMANDS: Mapping[str, Callable[[Interaction], Request]] = {
    "ask": lambda interaction: interaction.question(interaction.option("question")),
    "Ask about this": _ask_about,
    KEEP: lambda interaction: interaction.command("keep", interaction.route["message"]),
    "help": lambda interaction: interaction.command("help", is_private=True),
    "sources": lambda interaction: interaction.command("sources", is_private=True),
    "follow": lambda interaction: interaction.command("follow", interaction.option("whom"), is_private=True),
    "forget": lambda interaction: interaction.command("forget", is_private=True),
    "learn": _learn,
}

#: By the interaction's type, "Interaction Type".
READERS: Mapping[str, Callable[[Interaction], Request | None]] = {
    "component": read_press,
    "modal_submit": read_form,
    "application_command": read_command,
}

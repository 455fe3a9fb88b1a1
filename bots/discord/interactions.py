"""A press, a submitted form or a command -> what it asks for, and the messages that teach the bot. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any

from bots.chat.incoming import ChatCommand, CommandName, Feedback, Request
from bots.chat.teaching import (
    FAULTS,
    QUESTION_SHOWN,
    REMARK,
    Consultation,
    ExplanationForm,
    fault_of,
    validity,
)
from bots.chat.texts import ENGLISH, clipped, say_in
from bots.discord import components
from bots.discord.commands import KEEP
from bots.discord.components import text, words
from bots.discord.render import Message, message_of
from bots.discord.route import DiscordRoute, conversation_of, said_at, turn_id
from core.answers.store import KeptAnswer, title_of
from core.conversation import Attachment, Decision, Question, Verdict, check_question, value
from core.errors import QuestionRejected
from core.graph.approval import checked_query
from core.turns.messenger import ReplyRoute


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

    def command(self, name: CommandName, argument: str = "", *, is_private: bool = False) -> ChatCommand:
        return ChatCommand(
            name=name, argument=argument, id=self.turn, conversation=conversation_of(self.route),
            author=self.route["user"], said_at=said_at(self.id), files=tuple(self.files.values()),
            is_private=is_private, language=self.language,
        )  # fmt: skip

    def question(self, text: str) -> Question:
        return Question(
            id=self.turn, conversation=conversation_of(self.route), author=self.route["user"],
            text=check_question(text), asked_at=said_at(self.id), attachments=self.target_files,
        )  # fmt: skip

    def decision(self, verdict: Verdict, proposal: str, query: str | None = None) -> Decision:
        return Decision(
            id=self.turn, conversation=conversation_of(self.route), author=self.route["user"],
            proposal_id=proposal, verdict=verdict, query=query, groups=self.roles,
            decided_at=said_at(self.id),
        )  # fmt: skip

    def feedback(self, rated_turn: str, *, is_positive: bool) -> Feedback:
        return Feedback(
            id=self.turn, turn_id=rated_turn, is_positive=is_positive,
            conversation=conversation_of(self.route), author=self.route["user"], given_at=said_at(self.id),
        )  # fmt: skip

    def option(self, name: str) -> str:
        """An option of a command; empty when it was left out."""
        options = {each["name"]: each.get("value", "") for each in self.data.get("options") or ()}
        return str(options.get(name, ""))


def read_press(interaction: Interaction) -> Request | None:
    """None for an unknown button; the part of a button's id before a colon says what it does."""
    action, _, argument = str(interaction.data.get("custom_id", "")).partition(":")
    read = _BUTTONS.get(action)
    return read(interaction, argument) if read else None


def _command(name: CommandName) -> Callable[[Interaction, str], Request]:
    return lambda interaction, argument: interaction.command(name, argument)


_BUTTONS: Mapping[str, Callable[[Interaction, str], Request]] = {
    "approve": lambda interaction, proposal: interaction.decision("approve", proposal),
    "deny": lambda interaction, proposal: interaction.decision("deny", proposal),
    "edit": _command("edit"),
    "footnotes": _command("footnotes"),
    "again": _command("again"),
    "withdraw": _command("withdraw"),
    "read": _command("read"),
    "choose": _command("choose"),
    "consult": _command("consult"),
    "keep": lambda interaction, _: interaction.command("keep"),  # the newest reply
    "unkeep": _command("unkeep"),
    "good": lambda interaction, turn: interaction.feedback(turn, is_positive=True),
    "bad": lambda interaction, turn: interaction.feedback(turn, is_positive=False),
}


def read_form(interaction: Interaction) -> Decision | Feedback | None:
    """The edited query of a form, or what was wrong; QuestionRejected when a query is empty or too long."""
    name, _, about = str(interaction.data.get("custom_id", "")).partition(":")
    entered = _entered(interaction.data.get("components") or ())
    if name == "edit":
        query = str((entered.get("query") or {}).get("value") or "")
        return interaction.decision("approve", about, checked_query(query))
    if name == "explain":
        (fault,) = entered["fault"]["values"]
        return replace(
            interaction.feedback(about, is_positive=False),
            fault=fault_of(fault),
            remark=clipped(str(entered["remark"].get("value") or ""), REMARK),
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


#: The commands of :mod:`bots.discord.commands`.
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


ANSWER_SHOWN = 3_000  # characters; of one that is escaped to more than fits, half as many
SELECT, SHORT = 3, 1  # a select of texts, and the style of a text input of one line


def consultation(asked: Consultation) -> Message:
    say = say_in(asked.language)
    mentions = ", ".join(f"<@&{one.id}>" if one.is_group else f"<@{one.id}>" for one in asked.experts)
    question = clipped(asked.question, QUESTION_SHOWN)
    made = [
        text(say("call_experts", who=mentions, asker=words(asked.asker), question=words(question))),
        components.row(components.button(say("keep_answer"), "keep", "reply")),
        *components.small(say("can_be_kept")),
    ]
    return replace(message_of(made), pings=asked.experts)


def kept(answer: KeptAnswer) -> Message:
    say = say_in(answer.language)
    made = [
        text(words(say("will_remember"))),
        text(f"**{words(clipped(answer.question, QUESTION_SHOWN))}**"),
        _quoted(answer.text),
        *components.small(f"{title_of(answer)} · {validity(answer, say)}"),
        components.row(components.button(say("forget_answer"), "unkeep", answer.id)),
    ]
    return message_of(made)


def _quoted(answer: str) -> components.Component:
    """The lines in a quotation, with nothing in them that Discord would obey. Who wrote more finds it above."""
    for limit in (len(answer), ANSWER_SHOWN, ANSWER_SHOWN // 2):
        shown = answer if limit >= len(answer) else f"{answer[:limit]}…"
        quotation = "\n".join(f"> {words(line)}".rstrip() for line in shown.splitlines())
        if len(quotation) <= components.TEXT_SIZE:
            break
    return text(quotation[: components.TEXT_SIZE])


def explanation(form: ExplanationForm, _route: ReplyRoute) -> dict[str, Any]:
    """The data of a modal, for the response to an interaction."""
    say = say_in(form.language)
    faults = [{"label": say(key), "value": fault} for fault, key in FAULTS.items()]
    made = [
        _label(say("what_was_wrong"), "fault", {"type": SELECT, "options": faults}),
        _label(
            say("in_a_line"), "remark",
            {"type": components.TEXT_INPUT, "style": SHORT, "max_length": REMARK, "required": False},
        ),
    ]  # fmt: skip
    if form.can_consult:
        yes = [{"label": say("ask_person_too"), "value": "yes"}]
        person = {"type": SELECT, "options": yes, "min_values": 0, "required": False}
        made.append(_label(say("ask_person"), "person", person))
    return {
        "title": say("what_was_wrong"),
        "custom_id": components.custom_id("explain", form.turn_id),
        "components": made,
    }


def _label(label: str, name: str, component: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": components.LABEL, "label": label, "component": {**component, "custom_id": name}}

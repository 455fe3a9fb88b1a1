"""Teaching the bot in Discord: the request to experts, what is kept, and the form that asks what was wrong. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bots.chat.incoming import FAULTS, REMARK
from bots.chat.teaching import QUESTION_SHOWN, Consultation, ExplanationForm, validity
from bots.chat.texts import clipped, say_in
from bots.discord import parts
from bots.discord.parts import text, words
from bots.discord.render import Message, message_of
from core.answers.store import KeptAnswer, title_of
from core.turns.messenger import ReplyRoute

ANSWER_SHOWN = 3_000  # characters; of one that is escaped to more than fits, half as many
SELECT, SHORT = 3, 1  # a select of texts, and the style of a text input of one line


def consultation(asked: Consultation) -> Message:
    say = say_in(asked.language)
    mentions = ", ".join(f"<@&{one.id}>" if one.is_group else f"<@{one.id}>" for one in asked.experts)
    question = clipped(asked.question, QUESTION_SHOWN)
    made = [
        text(say("call_experts", who=mentions, asker=words(asked.asker), question=words(question))),
        parts.row(parts.button(say("keep_answer"), "keep", "reply")),
        *parts.small(say("can_be_kept")),
    ]
    return replace(message_of(made), pings=asked.experts)


def kept(answer: KeptAnswer) -> Message:
    say = say_in(answer.language)
    made = [
        text(words(say("will_remember"))),
        text(f"**{words(clipped(answer.question, QUESTION_SHOWN))}**"),
        _quoted(answer.text),
        *parts.small(f"{title_of(answer)} · {validity(answer, say)}"),
        parts.row(parts.button(say("forget_answer"), "unkeep", answer.id)),
    ]
    return message_of(made)


def _quoted(answer: str) -> parts.Component:
    """The lines in a quotation, with nothing in them that Discord would obey. Who wrote more finds it above."""
    for limit in (len(answer), ANSWER_SHOWN, ANSWER_SHOWN // 2):
        shown = answer if limit >= len(answer) else f"{answer[:limit]}…"
        quotation = "\n".join(f"> {words(line)}".rstrip() for line in shown.splitlines())
        if len(quotation) <= parts.TEXT_SIZE:
            break
    return text(quotation[: parts.TEXT_SIZE])


def explanation(form: ExplanationForm, _route: ReplyRoute) -> dict[str, Any]:
    """The data of a modal, for the response to an interaction."""
    say = say_in(form.language)
    faults = [{"label": say(key), "value": fault} for fault, key in FAULTS.items()]
    made = [
        _label(say("what_was_wrong"), "fault", {"type": SELECT, "options": faults}),
        _label(
            say("in_a_line"), "remark",
            {"type": parts.TEXT_INPUT, "style": SHORT, "max_length": REMARK, "required": False},
        ),
    ]  # fmt: skip
    if form.can_consult:
        yes = [{"label": say("ask_person_too"), "value": "yes"}]
        person = {"type": SELECT, "options": yes, "min_values": 0, "required": False}
        made.append(_label(say("ask_person"), "person", person))
    return {
        "title": say("what_was_wrong"),
        "custom_id": parts.custom_id("explain", form.turn_id),
        "components": made,
    }


def _label(label: str, name: str, component: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": parts.LABEL, "label": label, "component": {**component, "custom_id": name}}

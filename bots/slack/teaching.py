"""Teaching the bot in Slack: the request to experts, what is kept, and the form that asks what was wrong. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bots.chat.incoming import FAULTS, REMARK
from bots.chat.markdown.safe import clean
from bots.chat.teaching import QUESTION_SHOWN, Consultation, ExplanationForm, validity
from bots.chat.texts import clipped, say_in
from bots.slack import parts
from bots.slack.parts import escaped, fallback
from bots.slack.receive import EXPLAIN
from bots.slack.render import Message, message_of
from bots.slack.route import Payload, metadata_of
from core.answers.store import KeptAnswer, title_of
from core.turns.messenger import ReplyRoute

ANSWER_PIECE = parts.SECTION_TEXT // 2  # characters


def consultation(asked: Consultation) -> Message:
    say = say_in(asked.language)
    mentions = ", ".join(f"<!subteam^{one.id}>" if one.is_group else f"<@{one.id}>" for one in asked.experts)
    question = clipped(asked.question, QUESTION_SHOWN)
    in_block = say("call_experts", who=mentions, asker=escaped(asked.asker), question=escaped(question))
    text = say("call_experts", who=mentions, asker=fallback(asked.asker), question=fallback(question))
    made = (
        parts.section(in_block),
        parts.actions(parts.button(say("keep_answer"), "keep", "reply")),
        parts.context(escaped(say("can_be_kept"))),
    )
    return Message(text=text, blocks=made)


def kept(answer: KeptAnswer) -> Message:
    say = say_in(answer.language)
    words = clean(answer.text)
    pieces = [words[start : start + ANSWER_PIECE] for start in range(0, len(words), ANSWER_PIECE)]
    made = [
        parts.section(escaped(say("will_remember"))),
        parts.section(f"*{escaped(clipped(answer.question, QUESTION_SHOWN))}*"),
        *(block for piece in pieces for block in parts.quotation("", "", piece)),
        parts.context(f"{escaped(title_of(answer))} · {escaped(validity(answer, say))}"),
        parts.actions(parts.button(say("forget_answer"), "unkeep", answer.id)),
    ]
    return message_of(made, f"{say('will_remember')} {answer.question}")


def explanation(form: ExplanationForm, route: ReplyRoute) -> dict[str, Any]:
    """A view for ``views.open``."""
    say = say_in(form.language)
    options = [_option(say(key), fault) for fault, key in FAULTS.items()]
    made = [
        _input("fault", say("what_was_wrong"), {"type": "radio_buttons", "options": options}),
        _input(
            "remark", say("in_a_line"), {"type": "plain_text_input", "max_length": REMARK}, is_optional=True
        ),
    ]
    if form.can_consult:
        person = {"type": "checkboxes", "options": [_option(say("ask_person_too"), "yes")]}
        made.append(_input("person", say("ask_person"), person, is_optional=True))
    return {
        "type": "modal",
        "callback_id": EXPLAIN,
        "title": parts.plain(say("what_was_wrong")),
        "submit": parts.plain(say("send")),
        "close": parts.plain(say("cancel")),
        "private_metadata": metadata_of(form.turn_id, route),
        "blocks": made,
    }


def _option(label: str, name: str) -> dict[str, Any]:
    return {"text": parts.plain(label), "value": name}


def _input(name: str, label: str, element: Mapping[str, Any], *, is_optional: bool = False) -> dict[str, Any]:
    return {
        "type": "input", "block_id": name, "optional": is_optional, "label": parts.plain(label),
        "element": {**element, "action_id": name},
    }  # fmt: skip


def deleted(payload: Payload) -> tuple[str, str] | None:
    """The channel and the timestamp of a message that was deleted; a thread's first one leaves a tombstone."""
    event = payload.get("event") or {}
    subtype, message = event.get("subtype"), event.get("message") or {}
    if event.get("type") != "message" or not isinstance(event.get("channel"), str):
        return None
    if subtype == "message_deleted" and isinstance(event.get("deleted_ts"), str):
        return event["channel"], event["deleted_ts"]
    if subtype == "message_changed" and message.get("subtype") == "tombstone":
        return event["channel"], message["ts"]
    return None

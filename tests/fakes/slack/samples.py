"""Small blocks and views that the server takes, for tests to send."""

from __future__ import annotations

from typing import Any


def plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text}


def section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def button(action_id: str, **more: Any) -> dict[str, Any]:
    return {"type": "button", "action_id": action_id, "text": plain("Go"), **more}


def buttons(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"type": "actions", "elements": list(elements)}


FEEDBACK = {
    "type": "context_actions",
    "elements": [
        {
            "type": "feedback_buttons",
            "action_id": "feedback",
            "positive_button": {"text": plain("Good"), "value": "good"},
            "negative_button": {"text": plain("Bad"), "value": "bad"},
        }
    ],
}
MODAL = {
    "type": "modal",
    "callback_id": "edit",
    "title": plain("Edit query"),
    "submit": plain("Search"),
    "private_metadata": "p1",
    "blocks": [
        {
            "type": "input",
            "block_id": "query",
            "label": plain("Query"),
            "element": {
                "type": "plain_text_input",
                "action_id": "text",
                "initial_value": "old",
                "max_length": 40,
            },
        }
    ],
}

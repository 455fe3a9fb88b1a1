"""What an outcome looks like on each platform, read as a person there reads it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from fakes.discord import components as kinds
from fakes.discord import limits, spec
from fakes.discord_markdown import entities, visible
from fakes.slack.blocks import is_too_long, message_faults, view_faults
from fakes.slack.rendering import entities_of, visible_text

from bots.chat.markdown.safe import names_another_host
from bots.chat.platform import CardContext, Footnotes
from bots.chat.render import Layout
from bots.discord.render import LAYOUT as DISCORD
from bots.slack.parts import FALLBACK_TEXT
from bots.slack.render import LAYOUT as SLACK
from core.conversation import Answer, Citation, Conversation, Decision, Outcome, Proposal
from core.library.entries import Entry

GOOD = "https://good.example/page"
BIGGEST = 2**64 - 1  # of an id of Discord's
TURN = f"discord/{BIGGEST}/{BIGGEST}/{BIGGEST}~99"
SETTING = CardContext(engine="DuckDuckGo", names={"U1": "Ann", "U2": "Bob"})
V2 = 1 << 15  # the flag of a message of Discord's that consists of components
APART = "\u200b"  # takes no room on the screen
OWN_MOMENTS = ("<t:1:t>", "<t:1700000000:t>")  # of decisions, as Discord writes them

Button = tuple[str, str, str]  #: its label, what a press does, and what it is about


def citation(number: int = 1, **more: Any) -> Citation:
    given = {
        "title": "Background Tasks", "location": "Using BackgroundTasks", "source": "tutorial/background-tasks.md",
        "quote": "Declare a parameter with a type of BackgroundTasks.", "start": 0, "end": 51,
    }  # fmt: skip
    return Citation(number=number, **(given | more))


def answered(
    text: str,
    *citations: Citation,
    composed: bool = True,
    grounding: Any = "documents",
    reason: str | None = None,
) -> Outcome:
    made = Answer(text=text, citations=citations, grounding=grounding, composed=composed)
    return Outcome(kind="answered", turn_id=TURN, answer=made, reason=reason, timing_ms={"total": 2_100.0})


def proposal(**more: Any) -> Proposal:
    given = {
        "id": "p0123456789", "turn_id": TURN, "question": "Which browsers send preflights?", "asker": "U1",
        "query": "browsers that send CORS preflight requests", "reason": "Your documents don't answer this.",
        "tried": ("preflight browsers",), "closest": (citation(title="CORS"),),
    }  # fmt: skip
    return Proposal(**(given | more))


def decided(verdict: Any, **more: Any) -> Proposal:
    """By Bob, at 22:13 UTC."""
    conversation = Conversation(platform="x", space="1", channel="2", thread="3")
    decision = Decision(
        id="d1", conversation=conversation, author="U2", proposal_id="p0123456789", verdict=verdict, decided_at=1.7e9,
        **more,
    )  # fmt: skip
    return proposal().with_decision(decision)


def entry(number: int, **more: Any) -> Entry:
    given = {
        "id": number, "collection": "docs", "address": "", "root": "", "source": f"a/{number}.md",
        "title": f"Title {number}", "url": None, "hash": "", "size": 1, "modified": 0, "passages": 3,
    }  # fmt: skip
    return Entry(**(given | more))


@dataclass(frozen=True, slots=True)
class Screen:
    """A platform's layout, and a reader of its messages that was not written from it."""

    name: str
    layout: Layout[Any]
    time: str  #: 22:13 UTC in the platform's markup
    time_seen: str
    seen: Callable[[Any], str]  #: the message line by line
    links: Callable[[Any], list[tuple[str, str]]]  #: where each leads, and its words
    buttons: Callable[[Any], list[Button]]  #: without those that rate an answer
    raw: Callable[[Any], str]  #: its markup
    quotes: Callable[
        [Footnotes], tuple[str, set[str]]
    ]  #: what is shown of the quotes, and what of it is bold
    assert_fits: Callable[[Any], None]  #: by our own reading of the limits
    assert_sendable: Callable[[Any], None]  #: the same, and by the platform's document
    assert_harmless: Callable[[Any, Iterable[str]], None]  #: and the only addresses to which it may lead


# Slack.


def name_in_slack(one: str) -> str:
    return {"U1": "Ann"}.get(one, one)


def seen_in_slack(message: Any) -> str:
    return visible_text(message.text, list(message.blocks), name_in_slack)


def elements(message: Any, kind: str) -> list[dict[str, Any]]:
    found = [element for block in message.blocks for element in block.get("elements", [])]
    return [element for element in found if element["type"] == kind]


def seen_in_window(view: dict[str, Any]) -> str:
    return visible_text("", view["blocks"], name_in_slack)


def bold_in_window(view: dict[str, Any]) -> list[str]:
    texts = (
        text
        for block in view["blocks"] if block["type"] == "rich_text"
        for text in block["elements"][0]["elements"]
    )  # fmt: skip
    return [text["text"] for text in texts if text.get("style") == {"bold": True}]


def assert_slack_takes(message: Any) -> None:
    blocks = list(message.blocks)
    assert message_faults(blocks) == []
    assert not is_too_long(blocks)
    assert 0 < len(message.text) <= FALLBACK_TEXT


def assert_harmless_in_slack(message: Any, own: Iterable[str] = ()) -> None:
    for entity in entities_of(message.text, list(message.blocks), name_in_slack):
        assert entity.kind == "link", entity
        assert entity.target in own, entity
        assert not names_another_host(entity.label, entity.target), entity


def _links_in_slack(message: Any) -> list[tuple[str, str]]:
    found = entities_of(message.text, list(message.blocks), name_in_slack)
    assert {one.kind for one in found} <= {"link"}
    return [(one.target, one.label) for one in found]


def _buttons_in_slack(message: Any) -> list[Button]:
    return [(one["text"]["text"], one["action_id"], one["value"]) for one in elements(message, "button")]


def _quotes_in_slack(footnotes: Footnotes) -> tuple[str, set[str]]:
    view = SLACK.window(footnotes)
    assert view is not None
    assert view_faults(view) == []
    return seen_in_window(view), set(bold_in_window(view))


IN_SLACK = Screen(
    name="slack", layout=SLACK, time="<!date^1700000000^{time}, {date_short_pretty}|22:13 UTC>", time_seen="22:13 UTC",
    seen=seen_in_slack, links=_links_in_slack, buttons=_buttons_in_slack, raw=lambda message: str(message.blocks),
    quotes=_quotes_in_slack, assert_fits=assert_slack_takes, assert_sendable=assert_slack_takes,
    assert_harmless=assert_harmless_in_slack,
)  # fmt: skip


# Discord.


def seen_in_discord(message: Any) -> str:
    return "\n".join(filter(None, map(_component_seen, message.components)))


def _component_seen(component: dict[str, Any]) -> str:
    match component["type"]:
        case kinds.TEXT:
            return visible(component["content"]).replace(APART, "").strip()
        case kinds.SEPARATOR:
            return "───"
        case kinds.BUTTON:
            return f"[{component['label']}]"
    sign = " " if component["type"] == kinds.ROW else "\n"
    return sign.join(map(_component_seen, component["components"]))


def texts_in_discord(message: Any) -> list[str]:
    return [one["content"] for one in kinds.walk(message.components) if one["type"] == kinds.TEXT]


def buttons_in_discord(message: Any) -> list[tuple[str, str]]:
    return [(one["label"], one["custom_id"]) for one in kinds.buttons(message.components)]


def assert_fits_discord(message: Any) -> None:
    limits.check_message({"components": list(message.components)}, is_v2=True)
    assert all(markdown.strip() for markdown in texts_in_discord(message))
    assert message.components[0]["type"] in (kinds.TEXT, kinds.CONTAINER)
    assert _component_seen(message.components[0])


def assert_discord_takes(message: Any) -> None:
    assert_fits_discord(message)
    body = {
        "components": list(message.components), "flags": V2, "allowed_mentions": {"parse": []},
        "nonce": "n", "enforce_nonce": True,
    }  # fmt: skip
    assert spec.violations("POST", "/channels/{channel_id}/messages", {}, body) == []


def assert_harmless_in_discord(message: Any, own: Iterable[str] = ()) -> None:
    for entity in _entities_in_discord(message):
        if entity.kind == "time" and entity.target in OWN_MOMENTS:
            continue
        assert entity.kind == "link", entity
        assert entity.target.replace("%28", "(").replace("%29", ")") in own, entity
        assert not names_another_host(entity.label, entity.target), entity


def _entities_in_discord(message: Any) -> list[Any]:
    return [entity for markdown in texts_in_discord(message) for entity in entities(markdown)]


def links_in_discord(message: Any) -> list[tuple[str, str]]:
    return [(one.target, one.label) for one in _entities_in_discord(message) if one.kind == "link"]


def _buttons_in_discord(message: Any) -> list[Button]:
    found = ((label, *_read(custom_id)) for label, custom_id in buttons_in_discord(message))
    return [(label, does, about) for label, does, about in found if does not in ("good", "bad")]


def _read(custom_id: str) -> Sequence[str]:
    found = re.fullmatch(r"(choose:\d+|\w+):(.+)", custom_id)
    assert found
    return found.groups()


def _quotes_in_discord(footnotes: Footnotes) -> tuple[str, set[str]]:
    (message,) = DISCORD.reply(footnotes)
    assert_discord_takes(message)
    return seen_in_discord(message), set(re.findall(r"\*\*(.+?)\*\*", message.text))


IN_DISCORD = Screen(
    name="discord", layout=DISCORD, time="<t:1700000000:t>", time_seen="<t:1700000000:t>", seen=seen_in_discord,
    links=links_in_discord, buttons=_buttons_in_discord, raw=lambda message: "\n".join(texts_in_discord(message)),
    quotes=_quotes_in_discord, assert_fits=assert_fits_discord, assert_sendable=assert_discord_takes,
    assert_harmless=assert_harmless_in_discord,
)  # fmt: skip

SCREENS = (IN_SLACK, IN_DISCORD)
every_screen = pytest.mark.parametrize("screen", SCREENS, ids=[one.name for one in SCREENS])

"""What a person sees of a message: its words, and what a client makes clickable, pings or loads.

A strict reading where Slack's own is not documented: control sequences count inside code and
inside Markdown blocks too, and in the fallback text, which notifications show. ``Entity.in_code``
and ``Entity.place`` let a test be milder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

Names = Callable[[str], str]  #: id -> what a client shows for it
EntityKind = Literal["user", "usergroup", "broadcast", "channel", "link", "image", "domain"]
Place = Literal["blocks", "text", "button"]


@dataclass(frozen=True)
class Entity:
    kind: EntityKind
    target: str  #: an id, ``here``, a URL
    label: str  #: the words that stand for it
    in_code: bool = False
    place: Place = "blocks"

    @property
    def is_ping(self) -> bool:
        return self.kind in ("user", "usergroup", "broadcast")

    @property
    def is_masked(self) -> bool:
        """Whether a link shows other words than where it leads."""
        return self.kind == "link" and self.label.rstrip("/") not in (
            self.target.rstrip("/"),
            self.target.partition("://")[2].rstrip("/"),
            self.target.removeprefix("mailto:"),
        )


@dataclass(frozen=True)
class Span:
    """A stretch of what is shown, and what it is made into."""

    text: str
    entity: Entity | None = None


_CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
CONTROL = re.compile(r"<([@#!][^<>\n]*|[a-z][a-z0-9+.-]*:[^<>\n]*)>", re.IGNORECASE)
_URL = re.compile(r"https?://[^\s<>|`]+", re.IGNORECASE)
# Bare names that end in a top-level domain become links: "README.md" leads to Moldova.
_DOMAIN = re.compile(
    r"(?<![\w@/.-])(?:[a-z0-9-]+\.)+(?:com|org|net|io|dev|ai|app|md|py|sh|rs|me|co|edu|gov)(?![\w-])",
    re.IGNORECASE,
)
_BARE = re.compile(f"{_URL.pattern}|{_DOMAIN.pattern}", re.IGNORECASE)
_ASIDE = re.compile(f"{CONTROL.pattern}|{_URL.pattern}", re.IGNORECASE)
_KEPT = re.compile(f"{_CODE.pattern}|{CONTROL.pattern}", re.DOTALL | re.IGNORECASE)
_TRAILING = ".,;:!?)'\"*_~"  # marks that end a sentence rather than a URL
_LINK_NAME = re.compile(r"(?<![\w<!@])@(here|channel|everyone)\b")
_EMPHASIS = tuple(
    re.compile(rf"(?<![\w{c}]){c}(\S(?:[^{c}\n]*\S)?){c}(?![\w{c}])") for c in (r"\*", "_", "~")
)
_HOLE = "\ue000"  # stands for what was set aside; a private-use character that no test sends
_LINKED_SCHEMES = ("http", "https", "mailto", "tel", "slack")


def mrkdwn(text: str, names: Names, *, verbatim: bool = False, link_names: bool = False) -> list[Span]:
    """Slack's own markup, "Formatting text for app surfaces"."""
    if link_names:
        text = _LINK_NAME.sub(r"<!\1>", text)
    spans, end = [], 0
    for code in _CODE.finditer(text):
        spans += _prose(text[end : code.start()], names, verbatim=verbatim)
        spans += controls(code[0].strip("`"), names, in_code=True)
        end = code.end()
    return [*spans, *_prose(text[end:], names, verbatim=verbatim)]


def controls(text: str, names: Names, *, in_code: bool = False) -> list[Span]:
    """Only the sequences in angle brackets, the rest as it stands."""
    spans, end = [], 0
    for found in CONTROL.finditer(text):
        spans.append(Span(unescape(text[end : found.start()])))
        spans.append(control(found, names, in_code=in_code))
        end = found.end()
    return [*spans, Span(unescape(text[end:]))]


def control(found: re.Match[str], names: Names, *, in_code: bool = False) -> Span:
    """One sequence in angle brackets: ``<@U1>``, ``<!here>``, ``<#C1|general>``, ``<https://…|label>``."""
    content, _, label = found[1].partition("|")
    label = unescape(label)
    sign, rest = content[0], content[1:]
    kind: EntityKind = "link"
    target = unescape(content)
    if sign == "@" and re.fullmatch(r"[UWB][A-Z0-9]+", rest):
        kind, target, label = "user", rest, f"@{label or names(rest)}"
    elif sign == "#" and re.fullmatch(r"[CGD][A-Z0-9]+", rest):
        kind, target, label = "channel", rest, f"#{label or names(rest)}"
    elif content in ("!here", "!channel", "!everyone"):
        kind, target, label = "broadcast", rest, f"@{rest}"
    elif content.startswith("!subteam^"):
        kind, target = "usergroup", rest.split("^")[1]
        label = label or f"@{names(target)}"
    elif content.startswith("!date^"):
        target = (rest.split("^") + [""] * 3)[3]
    elif content.partition(":")[0].lower() not in _LINKED_SCHEMES:
        return Span(unescape(found[0]))
    shown = label or target.removeprefix("mailto:")
    return Span(shown, Entity(kind, target, shown, in_code) if target else None)


def bare_links(text: str) -> list[Span]:
    """Plain words in which URLs and domain names become links by themselves."""
    spans, end = [], 0
    for found in _BARE.finditer(text):
        word = found[0].rstrip(_TRAILING)
        kind: EntityKind = "link" if "://" in word else "domain"
        spans += [Span(text[end : found.start()]), Span(word, Entity(kind, word, word))]
        end = found.start() + len(word)
    return [*spans, Span(text[end:])]


def unescape(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def typed(text: str) -> str:
    """What a client sends for what a person typed: escaped, with URLs and domains in brackets.

    Sequences that a client makes itself, as from a picked name, are given as they are: ``<@U1>``.
    """
    out, end = "", 0
    for kept in _KEPT.finditer(text):
        out += _BARE.sub(_bracketed, escape(text[end : kept.start()]))
        out += kept[0] if kept[0].startswith("<") else escape(kept[0])
        end = kept.end()
    return out + _BARE.sub(_bracketed, escape(text[end:]))


def escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _bracketed(found: re.Match[str]) -> str:
    word = found[0].rstrip(_TRAILING)
    return (f"<{word}>" if "://" in word else f"<http://{word}|{word}>") + found[0][len(word) :]


def _prose(text: str, names: Names, *, verbatim: bool) -> list[Span]:
    """Outside code: sequences and URLs are set aside before the marks of emphasis are taken off."""
    aside: list[Span] = []

    def set_aside(found: re.Match[str]) -> str:
        if found[0].startswith("<"):
            aside.append(control(found, names))
            return _HOLE
        url = found[0].rstrip(_TRAILING)
        aside.append(Span(unescape(url), None if verbatim else Entity("link", unescape(url), unescape(url))))
        return _HOLE + found[0][len(url) :]

    text = _ASIDE.sub(set_aside, text)
    for mark in _EMPHASIS:
        text = mark.sub(r"\1", text)
    pieces = text.split(_HOLE)
    spans: list[Span] = []
    for index, piece in enumerate(pieces):
        plain = unescape(re.sub(r"(?m)^(?:&gt;|>) ?", "", piece))
        spans += [Span(plain)] if verbatim else bare_links(plain)
        spans += aside[index : index + 1]
    return spans


def block_spans(value: Any, names: Names) -> list[Span]:
    """A block, an element or a list of them, in reading order."""
    if isinstance(value, list):
        return _joined([block_spans(one, names) for one in value], "\n")
    if not isinstance(value, dict):
        return []
    kind = value.get("type", "")
    if kind in _LEAVES:
        return _LEAVES[kind](value, names)
    separator = _SEPARATORS.get(kind, "\n")
    parts: list[list[Span]] = []
    for key in _READING_ORDER:
        inner = value.get(key)
        read = _row if key == "rows" else block_spans
        parts += [read(one, names) for one in (inner if isinstance(inner, list) else [inner])]
    return _joined(parts, separator)


def visible_text(text: str, blocks: Sequence[dict[str, Any]], names: Names) -> str:
    """The words a person reads: of the blocks, or of the text where there are none."""
    spans = block_spans(list(blocks), names) if blocks else mrkdwn(text, names)
    return "".join(span.text for span in spans)


def entities_of(
    text: str, blocks: Sequence[dict[str, Any]], names: Names, *, link_names: bool = False
) -> list[Entity]:
    in_blocks = [span.entity for span in block_spans(list(blocks), names) if span.entity]
    in_text = [span.entity for span in mrkdwn(text, names, link_names=link_names) if span.entity]
    return in_blocks + [replace(entity, place="text") for entity in in_text]


def _joined(parts: Iterable[list[Span]], separator: str) -> list[Span]:
    spans: list[Span] = []
    for part in parts:
        if part:
            spans += [Span(separator), *part] if spans else part
    return spans


def _row(cells: Any, names: Names) -> list[Span]:
    return _joined([block_spans(cell, names) for cell in cells or []], " | ")


def _markdown(block: dict[str, Any], names: Names) -> list[Span]:
    from fakes.slack.markdown import markdown

    return markdown(block.get("text", ""), names)


def _mrkdwn(block: dict[str, Any], names: Names) -> list[Span]:
    return mrkdwn(block.get("text", ""), names, verbatim=bool(block.get("verbatim")))


def _button(block: dict[str, Any], names: Names) -> list[Span]:
    label = block.get("text", {}).get("text", "")
    url = block.get("url")
    return [Span(f"[ {label} ]", Entity("link", url, label, place="button") if url else None)]


def _image(block: dict[str, Any], names: Names) -> list[Span]:
    source = block.get("image_url") or str(block.get("slack_file"))
    alt = block.get("alt_text", "")
    return [Span(f"[image: {alt}]", Entity("image", source, alt))]


def _link(block: dict[str, Any], names: Names) -> list[Span]:
    label = block.get("text") or block["url"]
    return [Span(label, Entity("link", block["url"], label, bool(block.get("style", {}).get("code"))))]


def _video(block: dict[str, Any], names: Names) -> list[Span]:
    return [Span(block.get("alt_text", ""), Entity("image", block.get("video_url", ""), ""))]


def _mention(kind: EntityKind, key: str, sign: str) -> Callable[[dict[str, Any], Names], list[Span]]:
    def spans(block: dict[str, Any], names: Names) -> list[Span]:
        shown = f"{sign}{names(block[key])}"
        return [Span(shown, Entity(kind, block[key], shown, bool(block.get("style", {}).get("code"))))]

    return spans


def _words(key: str) -> Callable[[dict[str, Any], Names], list[Span]]:
    return lambda block, _names: [Span(str(block.get(key, "")))]


def _plan(block: dict[str, Any], names: Names) -> list[Span]:
    """What is done is folded away."""
    tasks = [task for task in block.get("tasks", []) if task["status"] != "complete"]
    title = [Span(block["title"])] if tasks and block.get("title") else []
    return _joined([title, *(block_spans(task, names) for task in tasks)], "\n")


_LEAVES: dict[str, Callable[[dict[str, Any], Names], list[Span]]] = {
    "mrkdwn": _mrkdwn,
    "plain_text": _words("text"),
    "raw_text": _words("text"),
    "raw_number": _words("text"),
    "text": _words("text"),
    "markdown": _markdown,
    "divider": lambda _block, _names: [Span("───")],
    "button": _button,
    "icon_button": _button,
    "image": _image,
    "video": _video,
    "link": _link,
    "url": _link,
    "user": _mention("user", "user_id", "@"),
    "usergroup": _mention("usergroup", "usergroup_id", "@"),
    "broadcast": _mention("broadcast", "range", "@"),
    "channel": _mention("channel", "channel_id", "#"),
    "team": _words("team_id"),
    "emoji": lambda block, _names: [Span(f":{block.get('name', '')}:")],
    "date": _words("fallback"),
    "color": _words("value"),
    "plain_text_input": _words("initial_value"),
    "plan": _plan,
    "task_card": _words("title"),
}
_READING_ORDER = (
    "icon", "hero_image", "rich_text_title", "title", "subtitle", "label", "text", "fields", "body", "elements",
    "child_blocks", "rows", "element", "details", "output", "sources", "tasks", "hint", "accessory",
    "positive_button", "negative_button", "options", "actions",
)  # fmt: skip
_SEPARATORS = {
    "context": "  ",
    "actions": " ",
    "context_actions": " ",
    "feedback_buttons": " ",
} | dict.fromkeys(("rich_text_section", "rich_text_preformatted", "rich_text_quote"), "")

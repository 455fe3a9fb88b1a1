"""What a person wrote, out of what Slack makes of it. Source: "Formatting text for app surfaces"."""

from __future__ import annotations

import re

from core.values import value

_ENTITY = re.compile(r"<([^<>\n]+)>")
_LEADING_MENTIONS = re.compile(r"\s*(?:<@([UW][A-Z0-9]+)(?:\|[^<>]*)?>[\s,:]*)+")
_MENTION = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^<>]*)?>")
_EMOJI = re.compile(r"(?<!\S)(?::[a-z0-9_+'-]+:)+(?!\S)[ \t]?")  # as Slack writes them; they ask nothing
_ESCAPES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))  # in this order, so that &amp;lt; stays &lt;


@value
class Spoken:
    """A message as its author reads it, without the bot's own mention."""

    text: str
    mentions_me: bool
    addresses_another: bool  #: begins with somebody else's mention, and not with the bot's


def spoken(raw: str, my_user_id: str) -> Spoken:
    """The words of an event's ``text``; links as "label (URL)", names of people and channels as ids or names."""
    leading = _LEADING_MENTIONS.match(raw)
    called = _MENTION.findall(leading[0]) if leading else []
    mine = re.compile(rf"[ \t]?<@{re.escape(my_user_id)}(?:\|[^<>]*)?>")
    text, count = mine.subn("", raw)
    return Spoken(
        text=_EMOJI.sub("", unescape(_ENTITY.sub(_decode, text))).strip().lstrip(",:;").strip(),
        mentions_me=count > 0,
        addresses_another=bool(called) and my_user_id not in called,
    )


def unescape(text: str) -> str:
    for escaped, sign in _ESCAPES:
        text = text.replace(escaped, sign)
    return text


def _decode(entity: re.Match[str]) -> str:
    content, _, label = entity[1].partition("|")
    if content.startswith(("@", "#")):
        return content[0] + (label.lstrip("@#") or content[1:])
    if content.startswith("!"):
        name = content[1:].partition("^")[0]
        return label or f"@{name}"
    if ":" not in content:
        return entity[0]
    return _link(content, label)


def _link(url: str, label: str) -> str:
    """Slack makes "README.md" a link by itself: what was typed is the label then."""
    address = url.removeprefix("mailto:")
    if not label or label == address:
        return address
    if label.rstrip("/") == re.sub(r"^https?://", "", address).rstrip("/"):
        return label
    return f"{label} ({address})"

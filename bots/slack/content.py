"""The content of a Slack message: its text, blocks and attachments, as Slack's own markup. Pure.

Clients show the blocks of a message where it has any. The text beside them is then for notifications, and may
say less or nothing. :func:`bots.slack.route.spoken` reads the markup.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bots.chat.platform import Said
from bots.slack.route import Payload, key_of, spoken
from core.conversation import ThreadMessage

_CONTROLS = frozenset({"actions", "context_actions", "input", "button", "image", "file", "video"})
#: The parts of a block or an attachment that are read, in this order.
_PARTS = ("pretext", "title", "subtitle", "text", "body", "fields", "elements", "child_blocks")


def written(message: Payload) -> str:
    """The text of its author."""
    text, blocks = str(message.get("text") or ""), _each(message, "blocks")
    shown = _markup(blocks)
    is_typed = all(_kind(block) == "rich_text" for block in blocks)
    # The text of a message that a person typed also names the groups and channels of which blocks have only ids.
    return text if is_typed and not _says_less(text, shown) else shown or text


def forwarded(message: Payload, my_user_id: str) -> tuple[ThreadMessage, ...]:
    """The messages that it forwards, and the attachments of an app; never the preview of a link in it."""
    is_empty = not written(message)
    return tuple(
        ThreadMessage(author=str(one.get("author_name") or _author(message)), text=words)
        for one in _each(message, "attachments")
        if isinstance(one, Mapping) and (is_empty or one.get("is_share") or not one.get("from_url"))
        if (words := spoken(_attachment(one), my_user_id).text)
    )


def thread_message(message: Payload, my_user_id: str) -> ThreadMessage | None:
    """A message of a thread with all that it says; None for one of the bot, and for one without words."""
    parts = (spoken(written(message), my_user_id).text, *(one.text for one in forwarded(message, my_user_id)))
    text = "\n".join(filter(None, parts))
    is_mine = message.get("user") == my_user_id
    return ThreadMessage(author=_author(message), text=text) if text and not is_mine else None


def said(message: Payload, my_user_id: str, route: Mapping[str, Any]) -> Said | None:
    """A person's message in the thread of a route; None for a message of an app."""
    if message.get("user") in (None, "", my_user_id) or message.get("bot_id"):
        return None
    words, ts = spoken(written(message), my_user_id), message["ts"]
    return Said(
        id=ts, key=key_of(route["team"], route["channel"], ts), author=message["user"], text=words.text,
        said_at=float(ts), calls_bot=words.mentions_me, begins_thread=ts == route["thread"],
    )  # fmt: skip


def _author(message: Payload) -> str:
    profile = message.get("bot_profile")
    app = profile.get("name") if isinstance(profile, Mapping) else None
    return str(message.get("user") or message.get("username") or app or "somebody")


def _says_less(text: str, shown: str) -> bool:
    """True if the text is only a part of what the blocks say."""
    part, whole = _letters(text), _letters(shown)
    return part != whole and part in whole


def _letters(markup: str) -> str:
    return "".join(sign for sign in markup if sign.isalnum())


def _attachment(one: Payload) -> str:
    messages = (each.get("message") for each in _each(one, "message_blocks") if isinstance(each, Mapping))
    shared = [each.get("blocks") for each in messages if isinstance(each, Mapping)]
    return _markup(shared) or _markup(one.get("blocks")) or _parts(one) or str(one.get("fallback") or "")


def _markup(part: Any) -> str:
    """A block, an element or a list of them."""
    if isinstance(part, str):
        return part
    if isinstance(part, list | tuple):
        return "\n".join(filter(None, map(_markup, part)))
    if not isinstance(part, Mapping) or _kind(part) in _CONTROLS:
        return ""
    read = _ELEMENTS.get(_kind(part), _parts)
    return read(part)


def _kind(part: Any) -> str:
    return str(part.get("type") or "") if isinstance(part, Mapping) else ""


def _parts(part: Payload) -> str:
    """The parts of a block in order; a field of an attachment has a title and a value."""
    if "value" in part:
        return ": ".join(filter(None, map(_markup, (part.get("title"), part["value"]))))
    return _markup([part.get(name) for name in _PARTS])


def _each(part: Payload, name: str) -> Sequence[Any]:
    content = part.get(name)
    return content if isinstance(content, list | tuple) else ()


def _inline(part: Payload) -> str:
    return "".join(map(_markup, _each(part, "elements")))


def _text(part: Payload) -> str:
    """Plain text, which a client escapes only in a message's own text."""
    text = escaped(part.get("text"))
    style = part.get("style")
    return f"`{text}`" if isinstance(style, Mapping) and style.get("code") and text.strip() else text


def escaped(text: object) -> str:
    return str(text or "").replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _link(part: Payload) -> str:
    label = " ".join(escaped(part.get("text")).replace("|", "¦").split())
    return f"<{escaped(part.get('url'))}|{label}>" if label else f"<{escaped(part.get('url'))}>"


def _list(part: Payload) -> str:
    start, indent = int(part.get("offset") or 0) + 1, "  " * int(part.get("indent") or 0)
    is_ordered = part.get("style") == "ordered"
    items = enumerate(_each(part, "elements"), start=start)
    return "\n".join(f"{indent}{f'{n}.' if is_ordered else '•'} {_markup(item)}" for n, item in items)


def _table(part: Payload) -> str:
    rows = (row for row in _each(part, "rows") if isinstance(row, list | tuple))
    return "\n".join(" | ".join(_markup(cell).replace("\n", " ") for cell in row) for row in rows)


#: Elements of "Rich text block" and others that are more than their parts.
_ELEMENTS: Mapping[str, Callable[[Payload], str]] = {
    "text": _text,
    "raw_text": lambda part: escaped(part.get("text")),
    "link": _link,
    "raw_number": lambda part: escaped(part.get("text") or part.get("value")),
    "user": lambda part: f"<@{part.get('user_id')}>",
    "usergroup": lambda part: f"<!subteam^{part.get('usergroup_id')}>",
    "channel": lambda part: f"<#{part.get('channel_id')}>",
    "broadcast": lambda part: f"<!{part.get('range')}>",
    "emoji": lambda part: f":{part.get('name')}:",
    "date": lambda part: f"<!date^{part.get('timestamp')}^|{escaped(part.get('fallback'))}>",
    "color": lambda part: str(part.get("value") or ""),
    "rich_text_section": _inline,
    "rich_text_quote": lambda part: "\n".join(f"&gt; {each}" for each in _inline(part).split("\n")),
    "rich_text_preformatted": lambda part: f"```\n{_inline(part)}\n```",
    "rich_text_list": _list,
    "table": _table,
}

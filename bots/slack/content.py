"""The content of a Slack message: its text, blocks and attachments in Slack's own markup, and as Markdown of a source; and
what an event says has changed in a channel. Pure.

Clients show the blocks of a message where it has any. The text beside them is then for notifications, and may
say less or nothing. Source of the markup: "Formatting text for app surfaces"; of the events: "message event".
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from math import isfinite
from typing import Any

from bots.chat.channel_source import DAY, ChannelEntry, ChannelMessage, date_of, person_of
from bots.chat.platform import Said
from bots.slack.route import DIRECT, ESCAPES, SLACK, Me, Payload, key_of, spoken
from core.conversation import ThreadMessage, value

#: Message subtypes that people write; all others are notices, edits and other bots. A reply that is also
#: sent to the channel has one timestamp in both places, so it is one turn.
WRITTEN = (None, "file_share", "thread_broadcast")

_CONTROLS = frozenset({"actions", "context_actions", "input", "button", "image", "file", "video"})
#: The parts of a block or an attachment that are read, in this order.
_PARTS = ("pretext", "title", "subtitle", "text", "body", "fields", "elements", "child_blocks")


def moment(ts: str) -> float:
    """Seconds since the epoch of a ``ts``; ValueError for an invalid one, such as “nan”."""
    seconds = float(ts)
    if not isfinite(seconds):
        raise ValueError(ts)
    return seconds


def written(message: Payload) -> str:
    """The text that its author wrote."""
    text, blocks = str(message.get("text") or ""), _each(message, "blocks")
    shown = _markup(blocks)
    is_typed = all(_kind(block) == "rich_text" for block in blocks)
    # The text of a message that a person typed also names the groups and channels of which blocks have only ids.
    part, whole = (re.sub(r"[\W_]", "", markup) for markup in (text, shown))
    says_less = part != whole and part in whole  # it is only a part of what the blocks say
    return text if is_typed and not says_less else shown or text


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
    """A message of a thread with all its words; None for the bot's own, and one without words."""
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
        said_at=moment(ts), calls_bot=words.mentions_me, begins_thread=ts == route["thread"],
    )  # fmt: skip


def _author(message: Payload) -> str:
    profile = message.get("bot_profile")
    app = profile.get("name") if isinstance(profile, Mapping) else None
    return str(message.get("user") or message.get("username") or app or "somebody")


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
    return escape(str(text or ""), quote=False)


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

#: Subtypes of notices after which a channel is read differently, or not at all.
_NOTICES = (
    "channel_archive", "channel_convert_to_private", "channel_convert_to_public", "channel_unarchive",
    "group_archive", "group_unarchive",
)  # fmt: skip

_CODE = re.compile(r"```(.*?)```|`([^`\n]+)`", re.DOTALL)
_ENTITY = re.compile(r"<([^<>\n]+)>")
_PERSON = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^<>]*)?>")
_BOLD = re.compile(r"(?<![\w*])\*(?=\S)([^*\n]*?\S)\*(?![\w*])")
_STRUCK = re.compile(r"(?<![\w~])~(?=\S)([^~\n]*?\S)~(?![\w~])")
_BULLET = re.compile(r"^([ \t]*)[•◦▪][ \t]*", re.MULTILINE)


@value
class SlackChannelInfo:
    """A channel that is read, and the bot that reads it."""

    channel: str
    name: str  #: "#help"
    me: Me
    url: str  #: of the workspace, with a slash at its end, "auth.test"


def people_in(message: Payload) -> Iterator[str]:
    """The ids of the author and of mentioned people."""
    if user := message.get("user"):
        yield str(user)
    yield from _PERSON.findall(written(message))


def is_written(message: Payload, me: Me) -> bool:
    """True if a person wrote it; not a notice, and not a bot."""
    return (
        message.get("subtype") in WRITTEN
        and not any(message.get(sign) for sign in ("hidden", "bot_id", "bot_profile"))
        and message.get("user") not in (None, "", "USLACKBOT", me.user_id)
    )


def channel_message(
    message: Payload, channel: SlackChannelInfo, names: Mapping[str, str]
) -> ChannelMessage | None:
    """A message of a person as a source keeps it, else None."""
    if not is_written(message, channel.me):
        return None
    markup, user, ts = written(message), str(message["user"]), str(message["ts"])
    return ChannelMessage(
        id=ts,
        author=person_of(SLACK, user),
        name=names.get(user, user),
        said_at=moment(ts),
        text=markdown_of(markup, {**names, channel.me.user_id: ""}),
        url=permalink(channel, ts, str(message.get("thread_ts") or "")),
        files=tuple(str(file.get("name") or "?") for file in message.get("files") or ()),
        calls_bot=spoken(markup, channel.me.user_id).mentions_me,
    )


def channel_entry(message: Payload, channel: SlackChannelInfo, names: Mapping[str, str]) -> ChannelEntry:
    """The entry of a message in the channel itself; "reply_users" are some of those who wrote in its thread."""
    ts, author = str(message["ts"]), message.get("user")
    others = {*(message.get("reply_users") or ())} - {author, channel.me.user_id}
    is_copy = message.get("subtype") == "thread_broadcast"  # it stands in its thread
    return ChannelEntry(
        id=ts, said_at=moment(ts), message=None if is_copy else channel_message(message, channel, names),
        thread=ts if message.get("reply_count") else "", is_answered=bool(others),
    )  # fmt: skip


def permalink(channel: SlackChannelInfo, ts: str, root: str = "") -> str:
    """The link that "chat.getPermalink" gives, made without a request."""
    url = f"{channel.url}archives/{channel.channel}/p{ts.replace('.', '')}"
    return f"{url}?thread_ts={root}&cid={channel.channel}" if root not in ("", ts) else url


def markdown_of(markup: str, names: Mapping[str, str]) -> str:
    """Slack's markup as Markdown. ``names``: of people, by id; one with an empty name is left out."""
    parts, end = [], 0
    for code in _CODE.finditer(markup):
        parts.append(_prose(markup[end : code.start()], names))
        parts.append(
            f"\n```\n{_plain(code[1]).strip(chr(10))}\n```\n"
            if code[1] is not None
            else f"`{_plain(code[2])}`"
        )
        end = code.end()
    parts.append(_prose(markup[end:], names))
    return "".join(parts).strip()


def _prose(markup: str, names: Mapping[str, str]) -> str:
    bare = _STRUCK.sub(r"~~\1~~", _BOLD.sub(r"**\1**", _BULLET.sub(r"\1- ", markup)))
    return _unescaped(_ENTITY.sub(lambda found: _entity(found[1], names), bare))


def _plain(markup: str) -> str:
    """The text of code, with links as their labels."""
    return _unescaped(_ENTITY.sub(lambda found: found[1].rpartition("|")[2], markup))


def _unescaped(text: str) -> str:
    for escaped, sign in ESCAPES:
        text = text.replace(escaped, sign)
    return text


def _entity(content: str, names: Mapping[str, str]) -> str:
    """A mention, a channel, or a link."""
    target, _, label = content.partition("|")
    if target.startswith("@"):
        name = names.get(target[1:], label or target[1:])
        return f"@{name}" if name else ""
    if target.startswith("#"):
        return f"#{label or 'channel'}"
    if target.startswith("!"):
        return label or f"@{target[1:].partition('^')[0]}"
    address = target.removeprefix("mailto:")
    return f"[{label}]({target})" if label and label not in (address, target) else address


@value
class ChannelChange:
    """A change in a channel, as an event tells it."""

    id: str  #: of the change, the same when its event comes again
    channel: str
    items: tuple[str, ...] = ()  #: that may have changed; empty: any


def change_of(payload: Payload) -> ChannelChange | None:
    """The change that an event tells; None if nothing kept changes, as with bots."""
    event = payload.get("event") or {}
    channel, subtype = event.get("channel"), event.get("subtype")
    if event.get("type") != "message" or not isinstance(channel, str) or channel.startswith(DIRECT):
        return None
    change = f"{channel}-{event.get('event_ts') or event.get('ts')}"
    if subtype in _NOTICES:
        return ChannelChange(id=change, channel=channel)
    message = event.get("message") or event.get("previous_message") or event
    if message.get("bot_id"):
        return None
    if subtype == "message_deleted":
        if not event.get("previous_message"):  # it is not said in which thread it stood
            return ChannelChange(id=change, channel=channel)
        ts = str(event["deleted_ts"])
    elif subtype == "message_changed" or subtype in WRITTEN:
        ts = str(message["ts"])
    else:
        return None
    root = message.get("thread_ts")
    date = date_of(moment(root or ts))
    # With the first reply, what it replies to leaves its day.
    items = (f"{date}/{root}", f"{date}/{DAY}") if root else (f"{date}/{DAY}",)
    return ChannelChange(id=change, channel=channel, items=items)

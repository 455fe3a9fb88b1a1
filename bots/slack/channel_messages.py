"""A Slack channel as a source: its messages as Markdown, and what an event says has changed. Pure.

Source of the markup: "Formatting text for app surfaces"; of the events: "message event" and its subtypes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from bots.chat.channel_source import DAY, ChannelEntry, ChannelMessage, date_of, person_of
from bots.slack.content import written
from bots.slack.receive import WRITTEN
from bots.slack.route import DIRECT, PLATFORM, Me, Payload, spoken
from core.conversation import value

#: Subtypes of notices after which a channel is read differently, or not at all.
_NOTICES = frozenset(
    {
        "channel_archive", "channel_convert_to_private", "channel_convert_to_public", "channel_unarchive",
        "group_archive", "group_unarchive",
    }
)  # fmt: skip

_CODE = re.compile(r"```(.*?)```|`([^`\n]+)`", re.DOTALL)
_ENTITY = re.compile(r"<([^<>\n]+)>")
_PERSON = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^<>]*)?>")
_BOLD = re.compile(r"(?<![\w*])\*(?=\S)([^*\n]*?\S)\*(?![\w*])")
_STRUCK = re.compile(r"(?<![\w~])~(?=\S)([^~\n]*?\S)~(?![\w~])")
_BULLET = re.compile(r"^([ \t]*)[•◦▪][ \t]*", re.MULTILINE)
_ESCAPES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))  # in this order, so that &amp;lt; stays &lt;


@value
class SlackPlace:
    """A channel that is read, and as whom."""

    channel: str
    name: str  #: "#help"
    me: Me
    url: str  #: of the workspace, with a slash at its end, "auth.test"


def people_in(message: Payload) -> Iterator[str]:
    """The ids of whoever wrote it and is mentioned in it."""
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


def channel_message(message: Payload, place: SlackPlace, names: Mapping[str, str]) -> ChannelMessage | None:
    """None for what no person wrote."""
    if not is_written(message, place.me):
        return None
    markup, user, ts = written(message), str(message["user"]), str(message["ts"])
    return ChannelMessage(
        id=ts,
        author=person_of(PLATFORM, user),
        name=names.get(user, user),
        said_at=float(ts),
        text=markdown_of(markup, {**names, place.me.user_id: ""}),
        url=permalink(place, ts, str(message.get("thread_ts") or "")),
        files=tuple(str(file.get("name") or "?") for file in message.get("files") or ()),
        calls_bot=spoken(markup, place.me.user_id).mentions_me,
    )


def channel_entry(message: Payload, place: SlackPlace, names: Mapping[str, str]) -> ChannelEntry:
    """The entry of a message in the channel itself; "reply_users" are some of those who wrote in its thread."""
    ts, author = str(message["ts"]), message.get("user")
    others = {*(message.get("reply_users") or ())} - {author, place.me.user_id}
    is_copy = message.get("subtype") == "thread_broadcast"  # it stands in its thread
    return ChannelEntry(
        id=ts,
        said_at=float(ts),
        message=None if is_copy else channel_message(message, place, names),
        thread=ts if message.get("reply_count") else "",
        is_answered=bool(others),
    )


def permalink(place: SlackPlace, ts: str, root: str = "") -> str:
    """As "chat.getPermalink" gives it, without a request for each message."""
    url = f"{place.url}archives/{place.channel}/p{ts.replace('.', '')}"
    return f"{url}?thread_ts={root}&cid={place.channel}" if root not in ("", ts) else url


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
    """The text of code: links by what is shown of them."""
    return _unescaped(_ENTITY.sub(lambda found: found[1].rpartition("|")[2], markup))


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


def _unescaped(text: str) -> str:
    for escaped, sign in _ESCAPES:
        text = text.replace(escaped, sign)
    return text


@value
class ChannelChange:
    """A change in a channel, as an event tells it."""

    id: str  #: of the change, the same when it is told again
    channel: str
    items: tuple[str, ...] = ()  #: that may have changed; empty: any


def change_of(payload: Payload) -> ChannelChange | None:
    """None for an event that changes nothing of what is kept, such as those of bots."""
    event = payload.get("event") or {}
    channel, subtype = event.get("channel"), event.get("subtype")
    if event.get("type") != "message" or not isinstance(channel, str) or channel.startswith(DIRECT):
        return None
    told = f"{channel}-{event.get('event_ts') or event.get('ts')}"
    if subtype in _NOTICES:
        return ChannelChange(id=told, channel=channel)
    message = event.get("message") or event.get("previous_message") or event
    if message.get("bot_id"):
        return None
    if subtype == "message_deleted":
        if not event.get("previous_message"):  # it is not said in which thread it stood
            return ChannelChange(id=told, channel=channel)
        ts = str(event["deleted_ts"])
    elif subtype == "message_changed" or subtype in WRITTEN:
        ts = str(message["ts"])
    else:
        return None
    return ChannelChange(id=told, channel=channel, items=_items_at(ts, message.get("thread_ts")))


def _items_at(ts: str, root: str | None) -> tuple[str, ...]:
    """Where a message stands: with the first reply, what it replies to leaves its day."""
    day = f"{date_of(float(root or ts))}/{DAY}"
    return (f"{date_of(float(root))}/{root}", day) if root else (day,)

"""The content of a Discord message beside its own text: forwarded messages, polls, embeds and components. Pure.

It reads the JSON of the API, which :func:`json_of` also makes of discord.py's messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import discord

Json = Mapping[str, Any]

TEXT_DISPLAY = 10  # "Component Types"
_PREVIEWS = ("link", "article", "image", "video", "gifv")  # types of embeds that Discord makes of links


def words_of(message: Json) -> str:
    """Everything it says."""
    return "\n".join(filter(None, (str(message.get("content") or ""), beside(message))))


def beside(message: Json) -> str:
    """The texts that a message has beside its own."""
    return "\n".join(filter(None, map(str.strip, _beside(message))))


def _beside(message: Json) -> Iterator[str]:
    for snapshot in message.get("message_snapshots") or ():
        yield words_of(snapshot.get("message") or {})
    poll = message.get("poll") or {}
    yield str((poll.get("question") or {}).get("text") or "")
    for embed in message.get("embeds") or ():
        if not _is_preview(embed, message):
            yield from _embed(embed)
    yield from _components(message.get("components") or ())


def _is_preview(embed: Json, message: Json) -> bool:
    """True if Discord made it of a link in the text."""
    url = embed.get("url")
    return embed.get("type") in _PREVIEWS or bool(url and url in str(message.get("content") or ""))


def _embed(embed: Json) -> Iterator[str]:
    yield from (str(embed.get(name) or "") for name in ("title", "description"))
    yield from (f"{field.get('name')}: {field.get('value')}" for field in embed.get("fields") or ())


def _components(components: Any) -> Iterator[str]:
    for each in components:
        if each.get("type") == TEXT_DISPLAY:
            yield str(each.get("content") or "")
        yield from _components(each.get("components") or ())


def json_of(message: discord.Message | discord.MessageSnapshot) -> Json:
    """The parts that are read here."""
    poll = getattr(message, "poll", None)
    return {
        "content": message.content,
        "message_snapshots": [
            {"message": json_of(each)} for each in getattr(message, "message_snapshots", ())
        ],
        "poll": {"question": {"text": poll.question}} if poll else None,
        "embeds": [embed.to_dict() for embed in message.embeds],
        "components": [component.to_dict() for component in message.components],
    }

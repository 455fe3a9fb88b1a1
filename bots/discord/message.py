"""A message as the API is given it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from bots.discord import components
from bots.discord.components import TEXT, Component, Part, is_blank
from core.values import value

_SMALL = re.compile("^-# ", re.MULTILINE)


@value
class Message:
    """What "Create Message" is given with the flag ``IS_COMPONENTS_V2``, which allows no other content."""

    text: str  #: the Markdown alone, small print and all
    components: tuple[Component, ...]


def packed(parts: Iterable[Part]) -> tuple[Message, ...]:
    return tuple(message_of(made) for made in components.packed(parts))


def message_of(made: Sequence[Component]) -> Message:
    said = "\n".join(each["content"] for each in components.walk(made) if each["type"] == TEXT)
    return Message(text=_SMALL.sub("", said), components=tuple(made))


def note(sentence: str) -> Message:
    """A short word of ours, private ones too; as much of it as one message takes."""
    return packed(components.lines(["…"] if is_blank(sentence) else sentence.split("\n")))[0]

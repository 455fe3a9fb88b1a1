"""How a message of ours is known again: the nonce for some minutes, a mark in the message for ever."""

from __future__ import annotations

from base64 import b32encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from bots.discord.message import Message

NONCE = 24  # characters; 25 at most, "Create Message"


def nonce_of(turn: str, part: int) -> str:
    return b32encode(sha256(f"{turn}/{part}".encode()).digest()).decode()[:NONCE]


def mark_of(turn: str, part: int) -> int:
    """The id of the first component of a message, by which it is found again; 31 bits, "Component"."""
    return 1 + int.from_bytes(sha256(f"mark/{turn}/{part}".encode()).digest()[:4]) % (2**31 - 1)


def marked(message: Message, turn: str, part: int) -> Message:
    first, *others = message.components
    return Message(text=message.text, components=({**first, "id": mark_of(turn, part)}, *others))


def mark_on(message: Mapping[str, Any]) -> int | None:
    first: Mapping[str, Any] = next(iter(message.get("components") or ()), {})
    return first.get("id")


def began(turn: str) -> str:
    """The id of the message or the interaction that a turn began with: ``discord/server/channel/id~2``."""
    return turn.split("/")[3].partition("~")[0]

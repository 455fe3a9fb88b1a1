"""Where something was said in Discord, and where its answer goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from core.conversation import Conversation, value

PLATFORM = "discord"
DIRECT = "@me"  # in place of a server, as Discord's own addresses have it
TALK = "talk"  # the one thread of a direct message


class InteractionToken(TypedDict):
    """By which a press or a command is answered, for 15 minutes ("Interaction Token")."""

    id: str
    token: str


class DiscordRoute(TypedDict):
    """Everything that an answer needs to find its way back; JSON types alone, so it can be stored."""

    server: str
    channel: str  #: of a thread, the channel it is in
    thread: str  #: as in the conversation's id
    place: str  #: the channel, thread or direct message where it was said
    message: str  #: what was written, or whose button was pressed; empty for a command
    user: str
    opens: NotRequired[str]  #: the name of a thread to be opened on the message, or on what is said first
    says: NotRequired[str]  #: what is said first: the question of a command, which nobody else saw
    interaction: NotRequired[InteractionToken]


@value
class Me:
    """The bot as Discord knows it."""

    user_id: str
    role_ids: frozenset[str] = frozenset()  #: its own role in each server, which can be mentioned too


def conversation_of(route: Mapping[str, Any]) -> Conversation:
    return Conversation(
        platform=PLATFORM, space=route["server"], channel=route["channel"], thread=route["thread"]
    )


def stands_in_channel(route: Mapping[str, Any]) -> bool:
    """Whether it was said in a channel among everything else, not in a thread or a direct message."""
    return bool(route["server"] != DIRECT and route["place"] == route["channel"] != route["thread"])


def turn_id(route: Mapping[str, Any], own: str) -> str:
    """``own`` is the id of the message or of the interaction."""
    return f"{PLATFORM}/{route['server']}/{route['channel']}/{own}"


def said_at(snowflake: str) -> float:
    """Seconds since the epoch; an id begins with the milliseconds since 2015 ("Snowflakes")."""
    return ((int(snowflake) >> 22) + 1_420_070_400_000) / 1000

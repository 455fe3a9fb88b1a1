"""The route of a message or an interaction in Discord: where it came from, and where its answer goes."""

import re
from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from core.conversation import Conversation, value

DISCORD = "discord"
DIRECT = "@me"  # in place of a server, as in the URLs of Discord
EPOCH_MS = 1_420_070_400_000  # the first of January 2015, from which ids count ("Snowflakes")
TALK = "talk"  # the one thread of a direct message


class InteractionToken(TypedDict):
    """Answers an interaction, for 15 minutes ("Interaction Token")."""

    id: str
    token: str


class DiscordRoute(TypedDict):
    """All that is needed to answer; JSON types only, as it is stored."""

    server: str
    channel: str  #: of a thread, its parent channel
    thread: str  #: as in the conversation's id
    place: str  #: the channel, thread or direct message it came from
    message: str  #: that was written, or whose button was pressed; empty for a command
    user: str
    #: The question that names a thread to open on the message, or on what is posted first.
    opens: NotRequired[str]
    says: NotRequired[str]  #: what is posted first: the question of a command, which the others did not see
    interaction: NotRequired[InteractionToken]


@value
class Me:
    """The bot as Discord knows it."""

    user_id: str
    role_ids: frozenset[str] = frozenset()  #: the bot's role in each server, which can be mentioned too


def conversation_of(route: Mapping[str, Any]) -> Conversation:
    return Conversation(
        platform=DISCORD, space=route["server"], channel=route["channel"], thread=route["thread"]
    )


_SNOWFLAKE = r"(\d{17,20})"
_ACCESS_ID = re.compile(
    rf"(?:(?:discord/)?{_SNOWFLAKE}/)?{_SNOWFLAKE}"
    rf"|<(?:#|@!?){_SNOWFLAKE}>"  # as in a message
    rf"|https://(?:ptb\.|canary\.)?discord\.com/channels/{_SNOWFLAKE}/{_SNOWFLAKE}(?:[/?].*)?"  # "Copy Link"
)


def access_id(kind: str, written: str) -> str | None:
    """The id of a channel or person in an access rule, and of a role behind "discord/SERVER/"."""
    found = _ACCESS_ID.fullmatch(written)
    if found is None:
        return None
    server, known = found[1] or found[4], found[2] or found[3] or found[5]
    if kind == "group":
        return f"{DISCORD}/{server}/{known}" if server else None
    return str(known)


def is_outside_thread(route: Mapping[str, Any]) -> bool:
    """True if the conversation has no thread and is no direct message: its messages are spread in a channel."""
    return bool(route["server"] != DIRECT and route["place"] == route["channel"] != route["thread"])


def turn_id(route: Mapping[str, Any], event_id: str) -> str:
    """``event_id`` is the id of the message or of the interaction."""
    return f"{DISCORD}/{route['server']}/{route['channel']}/{event_id}"


def origin_of(turn: str) -> str:
    """The id of the message or interaction that a turn began with: :func:`turn_id`, perhaps with "~2" behind it."""
    return turn.split("/")[3].partition("~")[0]


def key_of(message: str) -> str:
    """The key of a message in all of Discord: ids are unique."""
    return f"{DISCORD}/{message}"


def first_id_at(moment: float) -> str:
    """The smallest id that something of this time can have ("Snowflakes")."""
    return str((round(1000 * moment) - EPOCH_MS) << 22)


def said_at(snowflake: str) -> float:
    """Seconds since the epoch; an id begins with the milliseconds since 2015 ("Snowflakes")."""
    return ((int(snowflake) >> 22) + EPOCH_MS) / 1000

"""What the bot may do in a channel, "Permissions, Permission Overwrites"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bots.discord.commands import PERMISSIONS
from core.values import value

ADMINISTRATOR = 1 << 3

VIEW, SEND, HISTORY, OPEN, SEND_IN_THREADS = (
    "View Channels", "Send Messages", "Read Message History", "Create Public Threads",
    "Send Messages in Threads",
)  # fmt: skip

#: What a channel's type needs, "Channel Types"; others hold no messages.
NEEDED: Mapping[int, tuple[str, ...]] = {
    0: (VIEW, SEND, HISTORY, OPEN, SEND_IN_THREADS),  # text
    2: (VIEW, SEND, HISTORY),  # voice
    5: (VIEW, SEND, HISTORY, OPEN, SEND_IN_THREADS),  # announcements
    15: (VIEW, HISTORY, SEND_IN_THREADS),  # forum
    16: (VIEW, HISTORY, SEND_IN_THREADS),  # media
}


@value
class Place:
    """A channel in which the bot can be asked, and what it may do there."""

    name: str
    needs: tuple[str, ...]
    may: frozenset[str]

    @property
    def lacks(self) -> tuple[str, ...]:
        return tuple(name for name in self.needs if name not in self.may)

    @property
    def is_answered_in(self) -> bool:
        """In the channel itself, or in a thread of it."""
        in_threads = SEND_IN_THREADS in self.needs and not {OPEN, SEND_IN_THREADS} & {*self.lacks}
        return in_threads or (SEND in self.needs and SEND in self.may)


def in_server(server: Mapping[str, Any], member: Mapping[str, Any]) -> int:
    """Of all roles together, before any channel says otherwise."""
    mine = {server["id"], *member["roles"]}  # everybody's role has the server's id
    powers = 0
    for role in server["roles"]:
        powers |= int(role["permissions"]) if role["id"] in mine else 0
    return -1 if powers & ADMINISTRATOR else powers


def in_channel(channel: Mapping[str, Any], member: Mapping[str, Any], user_id: str, powers: int) -> int:
    """First what is said of everybody, then of the roles together, then of the bot itself."""
    if powers & ADMINISTRATOR:
        return powers
    said = {each["id"]: each for each in channel.get("permission_overwrites") or ()}
    for subjects in ([channel["guild_id"]], member["roles"], [user_id]):
        about = [said[subject] for subject in subjects if subject in said]
        powers = powers & ~_all(about, "deny") | _all(about, "allow")
    return powers


def _all(overwrites: Iterable[Mapping[str, Any]], field: str) -> int:
    together = 0
    for each in overwrites:
        together |= int(each[field])
    return together


def names(powers: int) -> frozenset[str]:
    return frozenset(name for name, bit in PERMISSIONS.items() if powers & bit)

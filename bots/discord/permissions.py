"""What the bot needs in a channel and may do there, and what is in the way of a message that was refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bots.chat.platform import Refused
from bots.chat.texts import clipped
from bots.discord.commands import PERMISSIONS
from core.wording import Wording

EVERYTHING = -1  # every bit
ADMINISTRATOR, MANAGE_THREADS = 1 << 3, 1 << 34  # "Permissions"

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
THREADS = (10, 11, 12)  # "Channel Types"
TROUBLE = 150  # characters of Discord's own words that are shown

#: Error codes of a rule that blocks what would be said, "JSON Error Codes".
BLOCKED = frozenset({"200000", "200001"})


def server_permissions(server: Mapping[str, Any], member: Mapping[str, Any]) -> int:
    """Of all its roles together, before the overwrites of a channel."""
    mine = {server["id"], *member["roles"]}  # the role of everybody has the server's id
    permissions = 0
    for role in server["roles"]:
        permissions |= int(role["permissions"]) if role["id"] in mine else 0
    return EVERYTHING if permissions & ADMINISTRATOR else permissions


def channel_permissions(
    channel: Mapping[str, Any], member: Mapping[str, Any], user_id: str, permissions: int
) -> int:
    """The overwrites for everybody, then for its roles together, then for the bot ("Permission Overwrites")."""
    if permissions & ADMINISTRATOR:
        return permissions
    overwrites = {each["id"]: each for each in channel.get("permission_overwrites") or ()}
    for subjects in ([channel["guild_id"]], member["roles"], [user_id]):
        applied = [overwrites[subject] for subject in subjects if subject in overwrites]
        permissions = permissions & ~_union(applied, "deny") | _union(applied, "allow")
    return permissions


def _union(overwrites: Iterable[Mapping[str, Any]], field: str) -> int:
    bits = 0
    for each in overwrites:
        bits |= int(each[field])
    return bits


def names(permissions: int) -> frozenset[str]:
    return frozenset(name for name, bit in PERMISSIONS.items() if permissions & bit)


def obstacle(refused: Refused, channel: Mapping[str, Any], permissions: int, say: Wording) -> str:
    """What is in the way of a message, as a sentence; ``permissions`` are the bot's in the channel."""
    if refused.code in BLOCKED:
        return say("blocked_by_rule")
    is_thread = channel["type"] in THREADS
    needed = (VIEW, SEND_IN_THREADS) if is_thread else NEEDED.get(channel["type"], (VIEW, SEND))
    lacking = [name for name in needed if name != HISTORY and name not in names(permissions)]
    if lacking:
        return say("may_not_write", rights=", ".join(lacking))
    if (channel.get("thread_metadata") or {}).get("locked") and not permissions & MANAGE_THREADS:
        return say("thread_locked", rights="Manage Threads")
    return say("refused_there", trouble=clipped(" ".join(refused.text.split()) or refused.code, TROUBLE))

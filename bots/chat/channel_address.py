"""The addresses of channels as sources: ``slack:#support`` or ``discord:123`` as people type them.

As one is kept, it names its workspace or server too: ``slack://T01/C0123``, see :func:`bots.chat.channels.source_of`.
"""

from __future__ import annotations

import re

from core.errors import SettingsError
from core.sources.source import AddressKind


def channel_addresses(platform: str, *, ids: str, hint: str) -> AddressKind:
    """``ids``: a regular expression of what stands behind "platform:"; ``hint``: where people find an id."""
    shape = re.compile(f"{platform}:(?:#[^\\s/#]+|{ids})")

    def canonical(address: str) -> str:
        if not shape.fullmatch(address):
            raise SettingsError(
                f"{address} names no channel of {platform.title()}: {platform}:#NAME, or {platform}:ID {hint}. "
                "Direct messages are not read."
            )
        return address

    return AddressKind(prefixes=(f"{platform}:",), canonical=canonical, label=str)


def typed_channel(typed: str, addresses: AddressKind, link: re.Pattern[str]) -> str:
    """The address of a channel that a person named by its name, its id, a link or its address; SettingsError.

    ``link``: of the platform, with the id in its group.
    """
    (prefix,) = addresses.prefixes
    bare = typed.removeprefix(prefix)
    named = found[1] if (found := link.fullmatch(bare)) else bare
    try:
        return addresses.canonical(f"{prefix}{named}")
    except SettingsError:
        if named.startswith("#"):
            raise
        return addresses.canonical(f"{prefix}#{named}")


def channel_in(address: str) -> tuple[str, str]:
    """The workspace or server, which may be empty, and the channel's id or "#name"."""
    space, _, channel = address.partition(":")[2].removeprefix("//").rpartition("/")
    return space, channel

"""The address of a Slack channel as a source: ``slack:#support``, ``slack:C0123``, as it is kept ``slack://T01/C0123``."""

from __future__ import annotations

import re

from bots.slack.route import PLATFORM
from core.errors import SettingsError
from core.sources.source import AddressKind

PREFIX = f"{PLATFORM}:"

_ADDRESS = re.compile(r"slack:(?:#[^\s/#]+|(?:(?://)?[TE][A-Z0-9]+/)?[CG][A-Z0-9]+)")


def canonical_address(address: str) -> str:
    """SettingsError for what names no channel."""
    if not _ADDRESS.fullmatch(address):
        raise SettingsError(
            f"{address} names no channel of Slack: slack:#NAME, or slack:ID with the id at the end of *About* "
            "in the channel's details. Direct messages are not read."
        )
    return address


ADDRESS = AddressKind(prefixes=(PREFIX,), canonical=canonical_address, label=str)


def channel_in(address: str) -> tuple[str, str]:
    """The team, which may be empty, and the channel's id or "#name"."""
    team, _, channel = address.removeprefix(PREFIX).removeprefix("//").rpartition("/")
    return team, channel

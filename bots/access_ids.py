"""Ids of channels, people and groups as access rules name them, read from what an operator writes: an id or a link."""

from __future__ import annotations

from collections.abc import Iterable

from bots.chat.access import CHANNEL, GROUP, PERSON
from bots.discord import route as discord
from bots.slack import route as slack
from core.errors import SettingsError

#: What to write for each kind, where what was written names none.
_EXAMPLES = {
    CHANNEL: "a channel's id or its link, as C0123ABCD, or T0123/C0123ABCD of one workspace among several",
    PERSON: "a person's id, as U0123ABCD or 123456789012345678",
    GROUP: "the id of a Slack user group, as S0123ABCD, or of a Discord role behind its server's, as SERVER/ROLE",
}


def ids_of(kind: str, written: Iterable[str]) -> list[str]:
    """Raises SettingsError for what is no id: a name could be another's tomorrow."""
    found = []
    for each in written:
        known = slack.access_id(kind, each) or discord.access_id(kind, each)
        if known is None:
            raise SettingsError(f"{each} is no id. Write {_EXAMPLES[kind]}; names change, ids do not.")
        found.append(known)
    return found


def any_id(written: str) -> set[str]:
    """The ids of any kind that it may stand for."""
    kinds = (CHANNEL, PERSON, GROUP)
    found = {read(kind, written) for kind in kinds for read in (slack.access_id, discord.access_id)}
    return {name for name in found if name} or {written}

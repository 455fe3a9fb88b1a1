"""The platforms that a checkup knows. Another one is another entry."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bots.discord import doctor as discord
from bots.doctor.findings import Finding
from bots.doctor.installation import Installation
from bots.slack import doctor as slack


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """What the checkup of a platform needs to be told."""

    name: str  #: as it is typed: "slack"
    title: str  #: as people write it
    settings: tuple[str, ...]  #: the names of all its settings
    secrets: tuple[str, ...]  #: those of them that are never shown
    tokens: tuple[str, ...]  #: those of them by which it is set up, one being enough to begin
    begin: str  #: how to set it up
    id: re.Pattern[str]  #: what stands for a person, a role or a group
    ids: str  #: where such an id is found
    examine: Callable[[Installation], Awaitable[list[Finding]]]

    def is_begun(self, installation: Installation) -> bool:
        return any(installation.given.get(name, "").strip() for name in self.tokens)


PLATFORMS = (
    Platform(
        name="slack",
        title="Slack",
        settings=slack.SETTINGS,
        secrets=slack.SECRETS,
        tokens=slack.TOKENS,
        begin="`footnote manifest slack` prints the app to create; the README says what follows.",
        id=slack.ID,
        ids=slack.IDS,
        examine=slack.examine,
    ),
    Platform(
        name="discord",
        title="Discord",
        settings=discord.SETTINGS,
        secrets=discord.SECRETS,
        tokens=discord.TOKENS,
        begin=f"Create an application at {discord.PORTAL}; the README says what follows.",
        id=discord.ID,
        ids=discord.IDS,
        examine=discord.examine,
    ),
)

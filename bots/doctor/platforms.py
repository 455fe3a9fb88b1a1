"""The platforms that a checkup knows. Another one is another entry.

WEB_APPROVERS and LEARNERS: a name where an id is needed would stand for nobody.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bots.discord import doctor as discord
from bots.doctor.findings import Finding, warning
from bots.doctor.settings import Installation
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


NAME = "people"


async def examine(installation: Installation) -> list[Finding]:
    """Each is an id of one platform that is set up; nothing is told where none is."""
    settings = installation.settings
    platforms = [platform for platform in PLATFORMS if platform.is_begun(installation)]
    if not platforms:
        return []
    owners = " or ".join(f"{platform.title}'s" for platform in platforms)
    fix = " ".join(platform.ids for platform in platforms)
    found = []
    for name, people in (("WEB_APPROVERS", settings.web_approvers), ("LEARNERS", settings.learners)):
        unknown = [each for each in people if not any(platform.id.fullmatch(each) for platform in platforms)]
        if unknown:
            wrong = "is no id" if len(unknown) == 1 else "are no ids"
            found.append(warning(NAME, f"{', '.join(unknown)} in {name} {wrong} of {owners}.", fix))
    return found

"""WEB_APPROVERS and LEARNERS: a name where an id is needed would stand for nobody."""

from __future__ import annotations

from bots.doctor.findings import Finding, warning
from bots.doctor.installation import Installation
from bots.doctor.platforms import PLATFORMS

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

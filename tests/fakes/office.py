"""An office that uses Footnote, and the people in its Slack."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from fakes.served import (
    CUP,
    CUP_URL,
    FERRY,
    FERRY_ANSWER,
    FRANCE,
    PATIENCE,
    PONTOON,
    PONTOON_ANSWER,
    Served,
    environment,
    make_data_dir,
)
from fakes.slack import FakeSlack
from fakes.slack.state import Message

__all__ = [
    "CUP", "CUP_URL", "FERRY", "FERRY_ANSWER", "FRANCE", "PATIENCE", "PONTOON", "PONTOON_ANSWER",
    "Office", "environment", "make_data_dir", "served", "workspace",
]  # fmt: skip


@dataclass
class Office(Served):
    """Served to a Slack."""

    slack: FakeSlack = field(default_factory=FakeSlack)
    arguments: tuple[str, ...] = ("run", "slack")

    @classmethod
    def copied(cls, template: Path, folder: Path, slack: FakeSlack) -> Self:
        return super().copied(template, folder, slack=slack)

    @property
    def platforms(self) -> dict[str, str]:
        return self.slack.environment

    @property
    def said(self) -> Iterator[str]:
        return (each.text for each in self.slack.state.messages() if not each.app_id)

    async def until_connected(self) -> None:
        await self.slack.until_connected(2)

    async def until_answered(
        self, asked: Message, count: int = 1, *, within: float = PATIENCE
    ) -> list[Message]:
        """So many messages of the app in the thread that are final, oldest first."""
        root = asked.thread_ts or asked.ts

        def finals() -> list[Message]:
            found = self.slack.finals(asked.channel, root)
            return (
                found
                if len(found) >= count and len(found) == len(self.slack.replies(asked.channel, root))
                else []
            )

        return await self.slack.until(finals, within=within)


async def served(office, slack):
    count = office.log.count('"listening"') if (office.folder / "log").exists() else 0
    await office.open(is_connected=False)
    await slack.until(lambda: office.log.count('"listening"') > count)


async def workspace(office, slack, name):
    """A workspace in which somebody installs the app, and a channel there."""
    team = slack.add_workspace(name)
    user = slack.add_user(f"{name}-user", team=team)
    status, page = await office.browser.install(team, user)
    assert (status, "Thank you" in page) == (200, True)
    return team, user, slack.add_channel(f"{name}-general", user, team=team)

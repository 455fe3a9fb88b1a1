"""A server that uses Footnote, and the people in its Discord."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from fakes.discord import FakeDiscord
from fakes.discord.state import Message
from fakes.served import LOOKS, PATIENCE, Served

#: Seconds between two connections, and before a fetch that failed is tried again: 5, 1 and 1 in the product.
RETRIES = {
    "bots.discord.client:BETWEEN_SESSIONS": 0.1,
    "bots.discord.serve:FIRST_PAUSE": 0.1,
    "bots.discord.backfill:FIRST_PAUSE": 0.1,
}


@dataclass
class Server(Served):
    """Served to a Discord."""

    discord: FakeDiscord = field(default_factory=FakeDiscord)
    constants: dict[str, float] = field(default_factory=lambda: LOOKS | RETRIES)
    arguments: tuple[str, ...] = ("run", "discord")

    @classmethod
    def copied(cls, template: Path, folder: Path, discord: FakeDiscord) -> Self:
        return super().copied(template, folder, discord=discord)

    @property
    def platforms(self) -> dict[str, str]:
        return self.discord.environment

    @property
    def said(self) -> Iterator[str]:
        channels = self.discord.state.channels.values()
        return (
            said.content for each in channels for said in each.messages.values() if not said.author.is_bot
        )

    async def until_connected(self) -> None:
        await self.discord.until(lambda: self.discord.gateway.live)

    async def until_answered(
        self, asked: Message, count: int = 1, *, within: float = PATIENCE
    ) -> list[Message]:
        """So many final messages of the bot that follow a message, oldest first."""

        def finals() -> list[Message]:
            said = self.discord.replies(asked)
            final = [each for each in said if not each.visible.rstrip().endswith("…")]
            return final if len(final) >= count and len(final) == len(said) else []

        return await self.discord.until(finals, within=within)

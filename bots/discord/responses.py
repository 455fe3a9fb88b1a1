"""What presses, forms and commands are answered themselves: at once, or privately for 15 minutes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bots.discord import calls
from bots.discord.address import Interaction
from bots.discord.calls import DiscordCalls, DiscordRefused
from bots.discord.channels import EPHEMERAL, content_of
from bots.discord.kept import keep
from bots.discord.message import Message

MESSAGE, UPDATE_LATER, MODAL = 4, 6, 9  # "Interaction Callback Type"


@dataclass(slots=True, kw_only=True)
class DiscordResponses:
    """Raises DiscordRefused and Unreachable."""

    calls: DiscordCalls
    my_user_id: str
    _first: dict[str, asyncio.Task[Any]] = field(default_factory=dict)  #: by interaction

    async def give(self, interaction: Interaction, kind: int, data: Mapping[str, Any] | None = None) -> None:
        """The first response; it has three seconds, and what follows waits for it."""
        response = self.calls.call(
            "POST",
            "/interactions/{webhook_id}/{webhook_token}/callback",
            webhook_id=interaction["id"],
            webhook_token=interaction["token"],
            json={"type": kind} | ({"data": data} if data else {}),
        )
        responding = asyncio.create_task(response)
        keep(self._first, interaction["id"], responding)
        await responding

    async def whisper(self, interaction: Interaction, message: Message) -> None:
        """Only whoever pressed sees it."""
        content = content_of(message, EPHEMERAL)
        if first := self._first.get(interaction["id"]):
            await asyncio.wait([first])
        else:
            try:
                await self.give(interaction, MESSAGE, content)
                return
            except DiscordRefused as refused:
                if refused.code != calls.ALREADY_ACKNOWLEDGED:
                    raise
        path = "/webhooks/{webhook_id}/{webhook_token}"
        await self.calls.call(
            "POST", path, webhook_id=self.my_user_id, webhook_token=interaction["token"], json=content
        )

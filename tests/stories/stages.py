"""Where the same story is played: at a terminal, in a Slack and in a Discord, each by the real command.

A stage says things as a person there would, and gives back what that person then sees.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from fakes.discord import FakeDiscord
from fakes.served import PATIENCE, Served, environment
from fakes.slack import FakeSlack
from fakes.terminals import ENTER, Terminal


class Stage(Protocol):
    """One person in one conversation with the bot."""

    async def ask(self, question: str) -> str:
        """Begin, or go on; what the reply shows."""
        ...

    async def say_no(self) -> str:
        """Turn down the search that was proposed; what stands there then."""
        ...

    async def allow(self, query: str) -> str:
        """Allow it with another query; what the answer shows."""
        ...


Setting = Callable[[Path, dict[str, str]], AbstractAsyncContextManager[Stage]]


@dataclass
class AtTerminal:
    terminal: Terminal

    async def ask(self, question: str) -> str:
        self.terminal.press(question + ENTER)
        await self.terminal.until(question)
        return await self.terminal.until_idle()

    async def say_no(self) -> str:
        self.terminal.press("n" + ENTER)
        return await self.terminal.until_idle()

    async def allow(self, query: str) -> str:
        self.terminal.press("e" + ENTER)
        await self.terminal.until("query ›")
        self.terminal.press("\x15" + query + ENTER)  # Ctrl-U clears the line
        return await self.terminal.until_idle()


@asynccontextmanager
async def at_terminal(folder: Path, settings: dict[str, str]) -> AsyncIterator[Stage]:
    async with Terminal(folder, environment(folder) | {"USER": "ann"} | settings) as terminal:
        await terminal.start("chat")
        await terminal.until_idle()
        yield AtTerminal(terminal)


@dataclass
class InSlack:
    slack: FakeSlack
    ann: str
    channel: str
    thread: str = ""
    card: Any = None
    seen: int = 0  #: final messages so far

    async def ask(self, question: str) -> str:
        if self.thread:
            await self.slack.say(self.ann, self.channel, question, self.thread)
        else:
            self.thread = (await self.slack.mention(self.ann, self.channel, question)).ts
        self.card = await self._next()
        return self.card.visible

    async def say_no(self) -> str:
        await self.slack.press(self.card, "deny", self.ann)
        reply = await self._next()
        return f"{self.card.visible}\n{reply.visible}"

    async def allow(self, query: str) -> str:
        await self.slack.press(self.card, "edit", self.ann)
        view = await self.slack.until(lambda: self.slack.modal(self.ann), within=PATIENCE)
        await self.slack.submit(view, {"query": query})
        reply = await self._next()
        return f"{self.card.visible}\n{reply.visible}"

    async def _next(self) -> Any:
        def final() -> Any:
            found = self.slack.finals(self.channel, self.thread)
            is_quiet = len(found) == len(self.slack.replies(self.channel, self.thread))
            return found[self.seen :] if is_quiet else []

        found = await self.slack.until(final, within=PATIENCE)
        self.seen += len(found)
        return found[-1]


@dataclass
class ServedOn(Served):
    """The command, beside whatever platform a stage has."""

    reached_by: dict[str, str] = field(default_factory=dict)
    connected: Any = None

    @property
    def platforms(self) -> dict[str, str]:
        return self.reached_by

    async def until_connected(self) -> None:
        await self.connected()


@asynccontextmanager
async def in_slack(folder: Path, settings: dict[str, str]) -> AsyncIterator[Stage]:
    async with FakeSlack() as slack:
        ann = slack.add_user("ann")
        general = slack.add_channel("general", ann)
        served = ServedOn(
            folder=folder, settings=settings, arguments=("run", "slack"), reached_by=slack.environment,
            connected=lambda: slack.until_connected(2, within=PATIENCE),
        )  # fmt: skip
        async with _open(served):
            yield InSlack(slack, ann, general)
        assert slack.rejected == []


@dataclass
class InDiscord:
    discord: FakeDiscord
    ann: Any
    channel: Any
    begun: Any = None
    card: Any = None
    seen: int = 0

    async def ask(self, question: str) -> str:
        if self.begun:
            await self.discord.post(self.ann, self.begun.thread, question)
        else:
            self.begun = await self.discord.mention(self.ann, self.channel, question)
        self.card = await self._next()
        return self.card.visible

    async def say_no(self) -> str:
        await self.discord.press(self.card, "No thanks", self.ann)
        reply = await self._next()
        return f"{self.card.visible}\n{reply.visible}"

    async def allow(self, query: str) -> str:
        pressed = await self.discord.press(self.card, "Edit query", self.ann)
        await self.discord.submit(pressed.modal, {"query": query})
        reply = await self._next()
        return f"{self.card.visible}\n{reply.visible}"

    async def _next(self) -> Any:
        def final() -> Any:
            said = self.discord.replies(self.begun)
            found = [each for each in said if not each.visible.rstrip().endswith("…")]
            return found[self.seen :] if len(found) == len(said) else []

        found = await self.discord.until(final, within=PATIENCE)
        self.seen += len(found)
        return found[-1]


@asynccontextmanager
async def in_discord(folder: Path, settings: dict[str, str]) -> AsyncIterator[Stage]:
    async with FakeDiscord() as discord:
        ann = discord.add_user("ann")
        general = discord.add_channel("general")
        served = ServedOn(
            folder=folder, settings=settings, arguments=("run", "discord"), reached_by=discord.environment,
            connected=lambda: discord.until(lambda: discord.gateway.live, within=PATIENCE),
        )  # fmt: skip
        async with _open(served):
            yield InDiscord(discord, ann, general)
        assert (discord.violations, discord.rejected) == ([], [])


@asynccontextmanager
async def _open(served: ServedOn) -> AsyncIterator[None]:
    async with served:
        await served.open()
        yield
        assert await served.stop() == 0
        assert served.faults == []

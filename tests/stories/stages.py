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
from fakes.discord.components import buttons
from fakes.served import PATIENCE, Served, environment
from fakes.slack import FakeSlack
from fakes.slack.blocks import interactive
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


class ChatStage(Stage, Protocol):
    """Where other people are about, and cards stay that can be pressed at any time."""

    ann: Any
    bob: Any
    card: Any  #: what the bot answered last; its ``visible`` is what stands there now

    def buttons(self) -> set[str]:
        """The actions that the card offers now."""
        ...

    async def press(self, action: str) -> str:
        """Ann presses a button of the card; what the reply to it shows."""
        ...

    async def press_in_private(self, action: str, user: Any, *, as_asked: bool = False) -> str:
        """Press a button, ``as_asked``: of the card as it was before the decision; what only this person is shown."""
        ...

    async def kill_and_open(self) -> None: ...


Begin = Callable[[Path, dict[str, str]], AbstractAsyncContextManager[Stage]]
BeginChat = Callable[[Path, dict[str, str]], AbstractAsyncContextManager[ChatStage]]


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
class ServedOn(Served):
    """The command, beside whatever platform a stage has."""

    reached_by: dict[str, str] = field(default_factory=dict)
    connected: Any = None

    @property
    def platforms(self) -> dict[str, str]:
        return self.reached_by

    async def until_connected(self) -> None:
        await self.connected()


@dataclass
class InSlack:
    slack: FakeSlack
    served: ServedOn
    ann: str
    bob: str
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

    def buttons(self) -> set[str]:
        return {str(element["action_id"]) for _, element in interactive(self.card.blocks)}

    async def press(self, action: str) -> str:
        await self.slack.press(self.card, action, self.ann)
        return str((await self._next()).visible)

    async def press_in_private(self, action: str, user: str, *, as_asked: bool = False) -> str:
        before = len(self.slack.whispers(user))
        as_seen = self.card.revisions[-2] if as_asked else None
        await self.slack.press(self.card, action, user, as_seen=as_seen)
        told = await self.slack.until(lambda: self.slack.whispers(user)[before:], within=PATIENCE)
        return str(told[-1].visible)

    async def kill_and_open(self) -> None:
        await self.served.kill()
        await self.slack.until(lambda: not self.slack.sockets.live)
        await self.served.open()

    async def say_no(self) -> str:
        reply = await self.press("deny")
        return f"{self.card.visible}\n{reply}"

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


@asynccontextmanager
async def in_slack(folder: Path, settings: dict[str, str]) -> AsyncIterator[ChatStage]:
    async with FakeSlack() as slack:
        ann, bob = slack.add_user("ann"), slack.add_user("bob")
        general = slack.add_channel("general", ann, bob)
        served = ServedOn(
            folder=folder, settings=settings, arguments=("run", "slack"), reached_by=slack.environment,
            connected=lambda: slack.until_connected(2, within=PATIENCE),
        )  # fmt: skip
        async with _open(served):
            yield InSlack(slack, served, ann, bob, general)
        assert slack.rejected == []


@dataclass
class InDiscord:
    discord: FakeDiscord
    served: ServedOn
    ann: Any
    bob: Any
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

    def buttons(self) -> set[str]:
        return set(_custom_ids(self.card))

    async def press(self, action: str) -> str:
        await self.discord.press(self.card, _custom_ids(self.card)[action], self.ann)
        return str((await self._next()).visible)

    async def press_in_private(self, action: str, user: Any, *, as_asked: bool = False) -> str:
        seen = self.card.revisions[-2] if as_asked else self.card.revisions[-1]
        pressed = await self.discord.press(self.card, _custom_ids(seen)[action], user, as_seen=seen)
        await self.discord.until(lambda: pressed.text, within=PATIENCE)
        assert pressed.is_ephemeral
        return str(pressed.text)

    async def kill_and_open(self) -> None:
        await self.served.kill()
        await self.discord.until(lambda: not self.discord.gateway.live)
        await self.served.open()

    async def say_no(self) -> str:
        reply = await self.press("deny")
        return f"{self.card.visible}\n{reply}"

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


def _custom_ids(seen: Any) -> dict[str, str]:
    """By action, whatever language the labels are in."""
    ids = (str(each["custom_id"]) for each in buttons(seen.components) if not each.get("disabled"))
    return {custom_id.partition(":")[0]: custom_id for custom_id in ids}


@asynccontextmanager
async def in_discord(folder: Path, settings: dict[str, str]) -> AsyncIterator[ChatStage]:
    async with FakeDiscord() as discord:
        ann, bob = discord.add_user("ann"), discord.add_user("bob")
        general = discord.add_channel("general")
        served = ServedOn(
            folder=folder, settings=settings, arguments=("run", "discord"), reached_by=discord.environment,
            connected=lambda: discord.until(lambda: discord.gateway.live, within=PATIENCE),
        )  # fmt: skip
        async with _open(served):
            yield InDiscord(discord, served, ann, bob, general)
        assert (discord.violations, discord.rejected) == ([], [])


@asynccontextmanager
async def _open(served: ServedOn) -> AsyncIterator[None]:
    async with served:
        await served.open()
        yield
        assert await served.stop() == 0
        assert served.faults == []

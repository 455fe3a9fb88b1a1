"""Where the same story is played: at a terminal, in a Slack and in a Discord, each by the real command.

A stage says things as a person there would, and gives back what that person then sees.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from fakes.discord import FakeDiscord
from fakes.discord import Hang as DiscordHang
from fakes.discord.components import custom_ids
from fakes.served import Served, environment
from fakes.slack import FakeSlack
from fakes.slack import Hang as SlackHang
from fakes.slack.blocks import interactive
from fakes.slack.rendering import visible_text
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
    reply: Any  #: to the last press
    served: ServedOn

    async def ask(self, question: str, *files: File) -> str: ...

    async def ask_by_mention(self, question: str) -> str:
        """Go on in a thread that the bot was made to forget."""
        ...

    async def begin_anew(self, question: str) -> str:
        """The same person asks in another thread of the channel."""
        ...

    def buttons(self, of: Any = None) -> set[str]:
        """The actions that the card offers now, or another message."""
        ...

    async def press(self, action: str) -> str:
        """Ann presses a button of the card; what the reply to it shows."""
        ...

    async def press_in_private(
        self, action: str, user: Any, *, as_asked: bool = False, as_on: Any = None, of: Any = None
    ) -> str:
        """Press a button; what only this person is shown, in a message or a window.

        Args:
            as_asked: of the card as it was before the decision
            as_on: a card from elsewhere, whose button this one pretends to be
            of: an earlier card, pressed as it was
        """
        ...

    async def ask_elsewhere(self, question: str) -> Any:
        """Bob asks in a channel that Ann does not see; the card there."""
        ...

    async def command(self, words: str) -> str:
        """Ann mentions the bot with a command in the channel; the reply."""
        ...

    async def remark(self, user: Any, words: str) -> Any:
        """Somebody writes in the thread, and mentions nobody; the message."""
        ...

    async def call_by_edit(self, said: Any, words: str) -> None:
        """Its author edits a message, which now mentions the bot."""
        ...

    async def remark_in_channel(self, user: Any, words: str) -> None:
        """The same in the channel. What the bot says to it is where the conversation then goes on."""
        ...

    async def until_answered(self) -> str:
        """What the next answer in the thread shows."""
        ...

    async def withdraw(self, *, is_cut_off: bool = False) -> str:
        """Bob presses the button of an answer that nobody asked for; what stands there then.

        ``is_cut_off``: the platform hangs over it, the process is killed, and begins anew.
        """
        ...

    def in_sight(self) -> str:
        """All that the bot shows in the thread now."""
        ...

    async def kill_and_open(self) -> None: ...

    def close(self) -> None:
        """Nobody may write in the thread any more."""
        ...

    def reopen(self) -> None: ...


File = tuple[str, bytes]  # its name and its content
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
    expected: tuple[str, ...] = ()  #: the ends of warnings that the story brings about
    is_troubled: bool = False  #: by the story: refusals and warnings are expected

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
    reply: Any = None
    seen: int = 0  #: final messages so far

    async def ask(self, question: str, *files: File) -> str:
        if self.thread:
            await self.slack.say(self.ann, self.channel, question, self.thread, files=files)
        else:
            self.thread = (await self.slack.mention(self.ann, self.channel, question, files=files)).ts
        self.card = await self._next()
        return self.card.visible

    async def command(self, words: str) -> str:
        asked = await self.slack.mention(self.ann, self.channel, words)
        (reply,) = await self.slack.until(lambda: self.slack.finals(self.channel, asked.ts))
        return str(reply.visible)

    async def remark(self, user: str, words: str) -> Any:
        said = await self.slack.say(user, self.channel, words, self.thread)
        await self.slack.until_acked(said)
        return said

    async def call_by_edit(self, said: Any, words: str) -> None:
        await self.slack.edit(said, f"<@{self.slack.state.bot(said.team).id}> {words}")

    async def remark_in_channel(self, user: str, words: str) -> None:
        said = await self.slack.say(user, self.channel, words)
        await self.slack.until_acked(said)
        self.thread, self.seen = said.ts, 0

    async def until_answered(self) -> str:
        self.card = await self._next()
        return str(self.card.visible)

    async def withdraw(self, *, is_cut_off: bool = False) -> str:
        before = self.card.visible
        if is_cut_off:
            self.slack.faults.queue("chat.update", SlackHang())
        await self.slack.press(self.card, "withdraw", self.bob)
        if is_cut_off:
            await self.slack.until(lambda: self.slack.faults.injected)
            await self.kill_and_open()
        await self.slack.until(lambda: self.card.visible != before)
        return str(self.card.visible)

    async def ask_by_mention(self, question: str) -> str:
        await self.slack.mention(self.ann, self.channel, question, self.thread)
        self.card = await self._next()
        return self.card.visible

    async def begin_anew(self, question: str) -> str:
        self.thread, self.seen = "", 0
        return await self.ask(question)

    def buttons(self, of: Any = None) -> set[str]:
        return {str(element["action_id"]) for _, element in interactive((of or self.card).blocks)}

    async def press(self, action: str) -> str:
        await self.slack.press(self.card, action, self.ann)
        self.reply = await self._next()
        return str(self.reply.visible)

    async def press_in_private(
        self, action: str, user: str, *, as_asked: bool = False, as_on: Any = None, of: Any = None
    ) -> str:
        before, window, card = len(self._told(user)), self.slack.modal(user), of or self.card
        as_seen = as_on.revisions[-1] if as_on else card.revisions[-2] if as_asked or of else None
        await self.slack.press(card, action, user, as_seen=as_seen)

        def told() -> Any:
            opened = self.slack.modal(user)
            return self._told(user)[before:] or (opened if opened is not window else None)

        shown = await self.slack.until(told)
        if isinstance(shown, list):
            return str(shown[-1].visible)
        return str(visible_text("", shown.payload["blocks"], self.slack.state.name_of))

    async def ask_elsewhere(self, question: str) -> Any:
        channel = self.slack.add_channel("board", self.bob)
        asked = await self.slack.mention(self.bob, channel, question)
        found = await self.slack.until(lambda: self.slack.finals(channel, asked.ts))
        return found[-1]

    def _told(self, user: str) -> list[Any]:
        """What only one person was shown, in the thread or in a direct message."""
        direct = self.slack.state.direct(self.slack.team, [user, self.slack.bot])
        return [*self.slack.ephemerals(user), *direct.messages.values()]

    def in_sight(self) -> str:
        return "\n".join(each.visible for each in self.slack.replies(self.channel, self.thread))

    def close(self) -> None:
        self.served.is_troubled = True
        self.slack.state.conversations[self.channel].refusal = "restricted_action_thread_locked"

    def reopen(self) -> None:
        self.slack.state.conversations[self.channel].refusal = ""

    async def kill_and_open(self) -> None:
        await self.served.kill()
        await self.slack.until(lambda: not self.slack.sockets.live)
        await self.served.open()

    async def say_no(self) -> str:
        reply = await self.press("deny")
        return f"{self.card.visible}\n{reply}"

    async def allow(self, query: str) -> str:
        await self.slack.press(self.card, "edit", self.ann)
        view = await self.slack.until(lambda: self.slack.modal(self.ann))
        await self.slack.submit(view, {"query": query})
        reply = await self._next()
        return f"{self.card.visible}\n{reply.visible}"

    async def _next(self) -> Any:
        def final() -> Any:
            found = self.slack.finals(self.channel, self.thread)
            is_quiet = len(found) == len(self.slack.replies(self.channel, self.thread))
            return found[self.seen :] if is_quiet else []

        found = await self.slack.until(final)
        self.seen += len(found)
        return found[-1]


@asynccontextmanager
async def in_slack(
    folder: Path, settings: dict[str, str], constants: Mapping[str, float] = {}
) -> AsyncIterator[ChatStage]:
    async with FakeSlack() as slack:
        ann, bob = slack.add_user("ann"), slack.add_user("bob")
        general = slack.add_channel("general", ann, bob)
        served = ServedOn(
            folder=folder, settings=settings, arguments=("run", "slack"), reached_by=slack.environment,
            connected=lambda: slack.until_connected(2),
        )  # fmt: skip
        served.constants |= constants
        async with _open(served):
            yield InSlack(slack, served, ann, bob, general)
        assert served.is_troubled or slack.rejected == []


@dataclass
class InDiscord:
    discord: FakeDiscord
    served: ServedOn
    ann: Any
    bob: Any
    channel: Any
    begun: Any = None
    card: Any = None
    reply: Any = None
    seen: int = 0

    async def ask(self, question: str, *files: File) -> str:
        if self.begun:
            await self.discord.post(self.ann, self.begun.thread, question, files=files)
        else:
            self.begun = await self.discord.mention(self.ann, self.channel, question, files=files)
        self.card = await self._next()
        return self.card.visible

    async def command(self, words: str) -> str:
        asked = await self.discord.mention(self.ann, self.channel, words)
        (reply,) = await self.discord.until(lambda: self.discord.replies(asked))
        return str(reply.visible)

    async def remark(self, user: Any, words: str) -> Any:
        return await self.discord.post(user, self.begun.thread, words)

    async def call_by_edit(self, said: Any, words: str) -> None:
        await self.discord.edit(said, f"{self.discord.bot.mention} {words}")

    async def remark_in_channel(self, user: Any, words: str) -> None:
        self.begun, self.seen = await self.discord.post(user, self.channel, words), 0

    async def until_answered(self) -> str:
        self.card = await self._next()
        return str(self.card.visible)

    async def withdraw(self, *, is_cut_off: bool = False) -> str:
        before = self.card.visible
        if is_cut_off:
            self.discord.faults.queue("PATCH /channels/{channel_id}/messages/{message_id}", DiscordHang())
        await self.discord.press(self.card, custom_ids(self.card.components)["withdraw"], self.bob)
        if is_cut_off:
            await self.discord.until(lambda: self.discord.faults.injected)
            await self.kill_and_open()
        await self.discord.until(lambda: self.card.visible != before)
        return str(self.card.visible)

    async def ask_by_mention(self, question: str) -> str:
        await self.discord.mention(self.ann, self.begun.thread, question)
        self.card = await self._next()
        return self.card.visible

    async def begin_anew(self, question: str) -> str:
        self.begun, self.seen = None, 0
        return await self.ask(question)

    def buttons(self, of: Any = None) -> set[str]:
        return set(custom_ids((of or self.card).components))

    async def press(self, action: str) -> str:
        await self.discord.press(self.card, custom_ids(self.card.components)[action], self.ann)
        self.reply = await self._next()
        return str(self.reply.visible)

    async def press_in_private(
        self, action: str, user: Any, *, as_asked: bool = False, as_on: Any = None, of: Any = None
    ) -> str:
        card = of or self.card
        seen = (as_on or card).revisions[-2 if as_asked or of else -1]
        pressed = await self.discord.press(card, custom_ids(seen.components)[action], user, as_seen=seen)
        await self.discord.until(lambda: pressed.text)
        assert pressed.is_ephemeral
        return str(pressed.text)

    async def ask_elsewhere(self, question: str) -> Any:
        asked = await self.discord.mention(self.bob, self.discord.add_channel("board"), question)

        def final() -> Any:
            return [one for one in self.discord.replies(asked) if not one.visible.rstrip().endswith("…")]

        return (await self.discord.until(final))[-1]

    def in_sight(self) -> str:
        return "\n".join(each.visible for each in self.discord.replies(self.begun)) if self.begun else ""

    def close(self) -> None:
        self.served.is_troubled = True
        self.discord.lock(self.begun.thread)

    def reopen(self) -> None:
        self.discord.unlock(self.begun.thread)

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

        found = await self.discord.until(final)
        self.seen += len(found)
        return found[-1]


@asynccontextmanager
async def in_discord(
    folder: Path, settings: dict[str, str], constants: Mapping[str, float] = {}
) -> AsyncIterator[ChatStage]:
    async with FakeDiscord() as discord:
        ann, bob = discord.add_user("ann"), discord.add_user("bob")
        general = discord.add_channel("general")
        served = ServedOn(
            folder=folder, settings=settings, arguments=("run", "discord"), reached_by=discord.environment,
            connected=lambda: discord.until(lambda: discord.gateway.live),
        )  # fmt: skip
        served.constants |= constants
        async with _open(served):
            yield InDiscord(discord, served, ann, bob, general)
        assert discord.violations == []
        assert served.is_troubled or discord.rejected == []


@asynccontextmanager
async def _open(served: ServedOn) -> AsyncIterator[None]:
    async with served:
        await served.open()
        yield
        assert await served.stop() == 0
        faults = [one for one in served.faults if not served.is_troubled or one["level"] != "warning"]
        assert [one for one in faults if not one["message"].endswith(served.expected)] == []

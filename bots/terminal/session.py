"""The conversation at a terminal: lines in, outcomes out, until somebody leaves.

The conversations of this machine's own terminal: their names, who speaks, and turns cut off.
"""

from __future__ import annotations

import asyncio
import getpass
import os
import secrets
import signal
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from uuid import uuid4

from bots.chat import texts
from bots.chat.texts import language_of_turn, say_in
from bots.indexing import BackgroundVectors, run_in_thread
from bots.terminal import render
from bots.terminal.markdown import line
from bots.terminal.prompt import Lines
from bots.terminal.receive import Situation, TerminalCommand, TerminalCommandName, decide, read
from bots.terminal.screen import Screen
from core.bootstrap import Footnote
from core.conversation import Conversation, Decision, Outcome, Proposal, Question, Turn, Verdict
from core.errors import FootnoteError, SettingsError
from core.library.documents import Scope
from core.library.library import Library
from core.library.roots import is_within
from core.library.store import Entry
from core.library.sync import SyncReport
from core.text.language import language_of
from core.turns.assistant import Assistant, Report
from core.wording import in_language

PLATFORM, SPACE, CHANNEL = "cli", "local", "terminal"
THREAD_LIMIT = 200  # characters of a thread's name


def conversation_named(name: str) -> Conversation:
    """The conversation of a bare thread name, or of the full id that ``--json`` prints."""
    bare = name.strip().removeprefix(f"{PLATFORM}/{SPACE}/{CHANNEL}/")
    if not bare or len(bare) > THREAD_LIMIT or not bare.isprintable():
        raise SettingsError(f"A thread's name has 1 to {THREAD_LIMIT} printable characters.")
    return Conversation(platform=PLATFORM, space=SPACE, channel=CHANNEL, thread=bare)


def fresh_conversation() -> Conversation:
    """A conversation of its own, with a name short enough to type."""
    return conversation_named(secrets.token_hex(3))


def situation(conversation: Conversation, *, sources: tuple[str, ...] = (), passages: int = 0) -> Situation:
    """Here and now, for a turn about to be made."""
    return Situation(
        turn_id=uuid4().hex,
        now=time.time(),
        conversation=conversation,
        author=author(),
        sources=sources,
        passages=passages,
    )


def author() -> str:
    """The operating system's user name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run as a user that has no name
        return f"user {os.getuid()}"


def _ignore(_: object) -> None:
    return None


async def run_in_order(
    assistant: Assistant,
    turn: Turn,
    report: Report = _ignore,
    *,
    on_unfinished: Callable[[Turn], None] = _ignore,
    on_finished: Callable[[Outcome], None] = _ignore,
) -> Outcome:
    """The turn's outcome, after that of a turn which a stopped process left in the middle.

    When the turn cut off is the same one, asked again, its outcome is the outcome.
    """
    left = await assistant.unfinished(turn.conversation)
    if left is not None:
        if is_same(left, turn):
            return await assistant.run(left, report)
        on_unfinished(left)
        on_finished(await assistant.run(left, report))
    return await assistant.run(turn, report)


def is_same(left: Turn, turn: Turn) -> bool:
    """Whether two turns of one conversation say the same, whenever they were sent."""
    if isinstance(left, Question):
        return isinstance(turn, Question) and (left.text, left.sources) == (turn.text, turn.sources)
    return isinstance(turn, Decision) and _decided(left) == _decided(turn)


def _decided(turn: Decision) -> tuple[str, Verdict, str | None]:
    return turn.proposal_id, turn.verdict, turn.query


@dataclass(slots=True, kw_only=True)
class Session:
    """One conversation at one terminal."""

    footnote: Footnote
    conversation: Conversation
    sources: tuple[str, ...]  #: addresses that questions stay within; empty: everything
    lines: Lines
    screen: Screen
    vectors: BackgroundVectors
    turns: int = 0  #: taken since the conversation was opened
    last: Outcome | None = None
    stopped: Turn | None = None  #: by Ctrl-C, just before
    awaiting: Proposal | None = None  #: the search that a bare y, n or e is about
    options: tuple[str, ...] = ()  #: readings that a bare number chooses from
    unreadable: set[str] = field(default_factory=set)  #: documents whose failure was told

    @property
    def library(self) -> Library:
        return self.footnote.library

    async def serve(self) -> None:
        """Answer line after line. KeyboardInterrupt when a person leaves by Ctrl-C."""
        if self.screen.is_drawn:
            self.screen.show(render.banner(**self._size(), thread=self.conversation.thread))
        if left := await self.footnote.assistant.unfinished(self.conversation):
            self.screen.note(texts.finishing(left))
            await self._run(left)
        self.vectors.start()
        while (typed := await self._next_line()) is not None:
            try:
                meant = read(typed, self._situation())
                if isinstance(meant, TerminalCommand) and meant.name == "quit":
                    return
                await self._take(meant)
            except FootnoteError as fault:
                self.screen.fault(in_language(fault.sentence, language_of(typed)))

    async def _next_line(self) -> str | None:
        if self.awaiting is None:
            return await self.lines.question()
        return await self.lines.answer(self._say("ask_in_terminal"))

    def _say(self, key: str) -> str:
        """In the language of the question that a search is proposed for."""
        asked = self.awaiting.question if self.awaiting else ""
        return say_in(language_of(asked))(key)

    def _situation(self) -> Situation:
        here = situation(self.conversation, sources=self.sources)
        return replace(here, awaiting=self.awaiting, options=self.options)

    async def _take(self, meant: Turn | TerminalCommand | None) -> None:
        if isinstance(meant, TerminalCommand):
            await _OBEYED[meant.name](self, meant.argument)
        elif meant is not None:
            await self._bring_in_step()
            await self._run(meant)
        elif self.stopped is not None:
            await self._run(self.stopped)
        elif self.awaiting is not None:
            self.screen.note(self._say("decide_later"))
            self.awaiting = None

    # Turns

    async def _run(self, turn: Turn) -> None:
        """Run the turn and show how it ended; what a bare word means next follows from that."""
        self.awaiting, self.options, self.stopped = None, (), None
        outcome = await self._outcome_of(turn)
        if outcome is None:
            self.stopped = turn
            self.screen.note("Stopped. Enter goes on with it; anything else leaves it.")
            return
        self.turns += 1
        self.last = outcome
        proposals = await self.footnote.assistant.proposals(self.conversation)
        if isinstance(turn, Decision) and outcome.kind != "failed":
            for proposal in proposals:
                if proposal.id == turn.proposal_id and not proposal.is_open:
                    self.screen.note(texts.decided(proposal))
        self._show(outcome)
        concerned = _proposal_of(turn, outcome)
        self.awaiting = next((p for p in proposals if p.is_open and p.id == concerned), None)
        self.options = outcome.options

    async def _outcome_of(self, turn: Turn) -> Outcome | None:
        """The turn's outcome; None when a person pressed Ctrl-C meanwhile."""
        language = language_of_turn(turn, await self.footnote.assistant.proposals(turn.conversation))
        with self.screen.waiting(language, self._size()["passages"]) as report:
            running = asyncio.create_task(self.footnote.assistant.run(turn, report))
            if not self.screen.is_drawn:
                return await running
            with _on_ctrl_c(running.cancel) as pressed:
                try:
                    return await running
                except asyncio.CancelledError:
                    if not pressed:
                        raise
                    return None

    def _show(self, outcome: Outcome) -> None:
        if self.screen.is_drawn:
            self.screen.blank()
            self.screen.show(render.write(outcome, self._setting()))
        else:
            self.screen.write(texts.page_of(outcome, engine=self._setting().engine))
        self.screen.blank()

    def _setting(self) -> render.ScreenContext:
        files = {entry.source: entry.address for entry in self.library.store.entries()}
        return render.ScreenContext(engine=texts.ENGINE_NAMES[self.footnote.settings.web_search], files=files)

    async def _bring_in_step(self) -> None:
        """What changed on the disk is known to the next answer; its vectors follow in the background."""
        with self.screen.indexing() as notify:
            report = await run_in_thread(lambda watched: self.library.refresh(notify=watched), notify)
        self.tell_failures(report)
        if report.touched:
            self.screen.note(texts.synced(replace(report, skipped=0, failed=())))
            self.vectors.start()

    def tell_failures(self, report: SyncReport) -> None:
        """Name the documents that could not be read, each once."""
        for failure in report.failed:
            if failure.source not in self.unreadable:
                self.unreadable.add(failure.source)
                self.screen.note(f"{failure.source} {failure.reason}.")

    def _entries(self) -> list[Entry]:
        """The documents that this conversation reads."""
        every = self.library.store.entries()
        if not self.sources:
            return every
        return [entry for entry in every if any(is_within(entry.address, root) for root in self.sources)]

    def _size(self) -> dict[str, int]:
        """How many documents and passages this conversation reads."""
        collections = self.library.store.collections()
        scope = Scope(collections=collections, addresses=self.sources)
        return {
            "documents": len(self._entries()),
            "passages": self.library.store.count_passages(scope),
        }

    # Commands

    async def more(self, _argument: str) -> None:
        """The last answer's footnotes with their quotes in full."""
        last = self.last
        citations = (last.answer.citations if last.answer else last.closest) if last else ()
        if last is None or not citations:
            self.screen.fault("The last answer has no footnotes.")
            return
        self.screen.show(render.footnotes(citations, last.language, self._setting(), limit=None))
        self.screen.blank()

    async def sources_read(self, _argument: str) -> None:
        entries = self._entries()
        self.screen.show(render.source_list(entries) if entries else texts.NOTHING_INDEXED)
        self.screen.blank()

    async def proposals(self, argument: str) -> None:
        """List the searches that wait; with a number, take up that one."""
        waiting = [p for p in await self.footnote.assistant.proposals(self.conversation) if p.is_open]
        if not waiting:
            self.screen.fault("No web search is waiting for a decision.")
        elif not argument:
            self.screen.show(render.proposal_list(waiting))
        elif argument.isdecimal() and 0 < int(argument) <= len(waiting):
            self.awaiting = waiting[int(argument) - 1]
            self.screen.show(render.card(self.awaiting, self._setting()))
        else:
            self.screen.fault(f"Choose a number from 1 to {len(waiting)}: /proposals 1.")

    async def edit(self, _argument: str) -> None:
        """Take another query for the search that waits, and run that one."""
        proposal = self.awaiting
        if proposal is None:
            return
        query = await self.lines.answer(self._say("edit_in_terminal"), default=line(proposal.query))
        if query is None or not query.strip():
            self.screen.note(self._say("nothing_sent"))
            return
        decision = decide(proposal.id, "approve", self._situation(), query=query)
        await self._bring_in_step()
        await self._run(decision)

    async def forget(self, source: str) -> None:
        """Forget the conversation, or a document."""
        if not source:
            await self.footnote.assistant.forget(self.conversation)
            self.last, self.awaiting, self.options, self.turns = None, None, (), 0
            self.screen.note("This conversation is forgotten; the next question begins it anew.")
            return
        gone = await asyncio.to_thread(self.library.forget, source)
        for entry in gone:
            self.screen.note(texts.forgotten(entry.source, entry.passages))

    async def help(self, _argument: str) -> None:
        self.screen.show(render.help_text(documents=self._size()["documents"]))
        self.screen.blank()

    async def unknown(self, typed: str) -> None:
        self.screen.fault(f"There is no {typed}; /help lists what there is.")


_OBEYED: Mapping[TerminalCommandName, Callable[[Session, str], Awaitable[None]]] = {
    "more": Session.more,
    "sources": Session.sources_read,
    "proposals": Session.proposals,
    "edit": Session.edit,
    "forget": Session.forget,
    "help": Session.help,
    "unknown": Session.unknown,
}


def _proposal_of(turn: Turn, outcome: Outcome) -> str | None:
    """Which proposal a bare y, n or e would now be about, if it is open."""
    if outcome.proposal:
        return outcome.proposal.id
    return turn.proposal_id if isinstance(turn, Decision) else None


@contextmanager
def _on_ctrl_c(stop: Callable[[], object]) -> Iterator[list[bool]]:
    """While inside, Ctrl-C stops the turn and not the conversation; the list then is no longer empty."""
    pressed: list[bool] = []
    loop = asyncio.get_running_loop()

    def press() -> None:
        pressed.append(True)
        stop()

    loop.add_signal_handler(signal.SIGINT, press)
    try:
        yield pressed
    finally:
        loop.remove_signal_handler(signal.SIGINT)

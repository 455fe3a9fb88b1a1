"""The conversation at a terminal: its name, its author, and the loop from lines to outcomes."""

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
from bots.chat.indexing import BackgroundVectors
from bots.chat.proposals import footnotes_of
from bots.chat.texts import language_of_turn, say_in
from bots.terminal import receive, render
from bots.terminal.operations import Backend
from bots.terminal.screen import Screen, line
from core.conversation import Conversation, Decision, Outcome, Proposal, Question, Turn, ignore_progress
from core.errors import FootnoteError, SettingsError
from core.library.documents import Scope
from core.library.entries import Entry
from core.library.library import Library
from core.library.overview import as_listed
from core.library.roots import is_within
from core.text.language import language_of
from core.turns.messenger import Report
from core.turns.remote import OPERATOR
from core.wording import in_language

TERMINAL, SPACE, CHANNEL = "cli", "local", "terminal"
THREAD_LIMIT = 200  # characters of a thread's name


def conversation_named(name: str) -> Conversation:
    """The conversation of a thread's name, or of the full id that ``--json`` prints."""
    thread = name.strip().removeprefix(f"{TERMINAL}/{SPACE}/{CHANNEL}/")
    if not thread or len(thread) > THREAD_LIMIT or not thread.isprintable():
        raise SettingsError(f"A thread's name has 1 to {THREAD_LIMIT} printable characters.")
    return Conversation(platform=TERMINAL, space=SPACE, channel=CHANNEL, thread=thread)


def fresh_conversation() -> Conversation:
    """A new conversation, with a name short enough to type."""
    return conversation_named(secrets.token_hex(3))


def situation(
    conversation: Conversation, *, sources: tuple[str, ...] = (), passages: int = 0
) -> receive.Situation:
    """For the turn that begins now."""
    return receive.Situation(
        turn_id=f"{OPERATOR}{uuid4().hex}", now=time.time(), conversation=conversation, author=author(),
        sources=sources, passages=passages,
    )  # fmt: skip


def author() -> str:
    """The operating system's user name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # in a container, the user may have no name
        return f"user {os.getuid()}"


async def run_in_order(
    assistant: receive.CommandTurns, turn: Turn, report: Report = ignore_progress, *,
    on_unfinished: Callable[[Turn], None] = lambda _: None, on_finished: Callable[[Outcome], None] = lambda _: None,
) -> Outcome:  # fmt: skip
    """The turn's outcome, after that of one that was interrupted, or that one's if both say the same."""
    interrupted = await assistant.unfinished(turn.conversation)
    if interrupted is not None:
        if _content(interrupted) == _content(turn):
            return await assistant.run(interrupted, report)
        on_unfinished(interrupted)
        on_finished(await assistant.run(interrupted, report))
    return await assistant.run(turn, report)


def _content(turn: Turn) -> tuple[object, ...]:
    """The content of a turn, whenever and by whomever it was sent."""
    if isinstance(turn, Question):
        return (Question, turn.text, turn.sources)
    return (Decision, turn.proposal_id, turn.verdict, turn.query)


@dataclass(slots=True, kw_only=True)
class Session:
    """One conversation at one terminal."""

    backend: Backend
    conversation: Conversation
    sources: tuple[str, ...]  #: addresses that questions stay within; empty: everything
    lines: receive.Lines
    screen: Screen
    vectors: BackgroundVectors | None  #: None: made without this process
    turns: int = 0  #: since the conversation was opened
    last: Outcome | None = None
    stopped: Turn | None = None  #: by Ctrl-C, if that was the last turn
    awaiting: Proposal | None = None  #: the search that a bare y, n or e is about
    options: tuple[str, ...] = ()  #: readings that a bare number chooses from
    unreadable: set[str] = field(default_factory=set)  #: documents whose failure was reported

    @property
    def library(self) -> Library:
        return self.backend.library

    async def serve(self) -> None:
        """Answer line by line until the end of input or /quit. KeyboardInterrupt for Ctrl-C on an empty line."""
        if self.screen.is_drawn:
            self.screen.show(render.banner(**self._size(), thread=self.conversation.thread))
        if interrupted := await self.backend.assistant.unfinished(self.conversation):
            self.screen.note(texts.finishing(interrupted))
            await self._run(interrupted)
        self._start_vectors()
        while (typed := await self._next_line()) is not None:
            try:
                message = receive.read(typed, self._situation())
                if isinstance(message, receive.TerminalCommand) and message.name == "quit":
                    return
                await self._handle(message)
            except FootnoteError as error:
                self.screen.fault(in_language(error.sentence, language_of(typed)))

    async def _next_line(self) -> str | None:
        if self.awaiting is None:
            return await self.lines.read_entry()
        return await self.lines.read_reply(self._say("ask_in_terminal"))

    def _say(self, key: str) -> str:
        """A sentence in the language of the question that a search is proposed for."""
        question = self.awaiting.question if self.awaiting else ""
        return say_in(language_of(question))(key)

    def _situation(self) -> receive.Situation:
        here = situation(self.conversation, sources=self.sources)
        return replace(here, awaiting=self.awaiting, options=self.options)

    async def _handle(self, message: Turn | receive.TerminalCommand | None) -> None:
        if isinstance(message, receive.TerminalCommand):
            await _HANDLERS[message.name](self, message.argument)
        elif message is not None:
            await self._update_index()
            await self._run(message)
        elif self.stopped is not None:
            await self._run(self.stopped)
        elif self.awaiting is not None:
            self.screen.note(self._say("decide_later"))
            self.awaiting = None

    # Turns

    async def _run(self, turn: Turn) -> None:
        """Run the turn and show its outcome, which decides what a bare y, n, e or number means next."""
        self.awaiting, self.options, self.stopped = None, (), None
        outcome = await self._outcome_of(turn)
        if outcome is None:
            self.stopped = turn
            self.screen.note("Stopped. Press Enter to resume it; anything else drops it.")
            return
        self.turns += 1
        self.last = outcome
        proposals = await self.backend.assistant.proposals(self.conversation)
        if isinstance(turn, Decision) and outcome.kind != "failed":
            for proposal in proposals:
                if proposal.id == turn.proposal_id and not proposal.is_open:
                    self.screen.note(texts.decided(proposal))
        context = self._context()
        if self.screen.is_drawn:
            self.screen.blank()
            self.screen.show(render.write(outcome, context))
        else:
            self.screen.write(texts.page_of(outcome, engine=context.engine))
        self.screen.blank()
        decided = turn.proposal_id if isinstance(turn, Decision) else None
        awaited = outcome.proposal.id if outcome.proposal else decided
        now = self._situation().now
        self.awaiting = next((p for p in proposals if p.is_open_at(now) and p.id == awaited), None)
        self.options = outcome.options

    async def _outcome_of(self, turn: Turn) -> Outcome | None:
        """The turn's outcome; None when it was stopped by Ctrl-C."""
        language = language_of_turn(turn, await self.backend.assistant.proposals(turn.conversation))
        with self.screen.waiting(language, self._size()["passages"]) as report:
            running = asyncio.create_task(self.backend.assistant.run(turn, report))
            if not self.screen.is_drawn:
                return await running
            with _on_ctrl_c(running.cancel) as pressed:
                try:
                    return await running
                except asyncio.CancelledError:
                    if not pressed:
                        raise
                    return None

    def _context(self) -> render.ScreenContext:
        files = {entry.source: entry.address for entry in self.library.store.entries()}
        return render.ScreenContext(engine=texts.ENGINE_NAMES[self.backend.web_search], files=files)

    async def _update_index(self) -> None:
        """Read what changed on the disk; its vectors are made in the background."""
        with self.screen.indexing() as show:
            report = await self.backend.refresh(show)
        for failure in report.failed:
            if failure.source not in self.unreadable:
                self.unreadable.add(failure.source)
                self.screen.note(f"{failure.source} {failure.reason}.")
        if report.touched:
            self.screen.note(texts.synced(replace(report, skipped=0, failed=())))
            self._start_vectors()

    def _start_vectors(self) -> None:
        if self.vectors is not None:
            self.vectors.start()

    def _entries(self) -> list[Entry]:
        """The documents that this conversation reads."""
        every = as_listed(self.library.store.entries())
        if not self.sources:
            return every
        return [entry for entry in every if any(is_within(entry.address, root) for root in self.sources)]

    def _size(self) -> dict[str, int]:
        """The number of documents and passages that this conversation reads."""
        store = self.library.store
        passages = store.count_passages(Scope(collections=store.collections(), addresses=self.sources))
        return {"documents": len(self._entries()), "passages": passages}

    # Commands

    async def show_footnotes(self, _argument: str) -> None:
        """The last answer's footnotes with their quotes in full."""
        last = self.last
        citations = (last.answer.citations if last.answer else last.closest) if last else ()
        if last is None or not citations:
            self.screen.fault("The last answer has no footnotes.")
            return
        store = self.library.store
        shown = await asyncio.to_thread(footnotes_of, last, store, store.collections())
        self.screen.show(render.quotes(shown, self._context()))
        self.screen.blank()

    async def list_sources(self, _argument: str) -> None:
        entries = self._entries()
        self.screen.show(render.source_list(entries) if entries else texts.NOTHING_INDEXED)
        self.screen.blank()

    async def show_proposals(self, argument: str) -> None:
        """List the searches that wait for a decision; with a number, ask for that decision."""
        proposals, now = await self.backend.assistant.proposals(self.conversation), self._situation().now
        waiting = [proposal for proposal in proposals if proposal.is_open_at(now)]
        if not waiting:
            self.screen.fault("No web search is waiting for a decision.")
        elif not argument:
            self.screen.show(render.proposal_list(waiting))
        elif argument.isdecimal() and 0 < int(argument) <= len(waiting):
            self.awaiting = waiting[int(argument) - 1]
            self.screen.show(render.card(self.awaiting, self._context()))
        else:
            self.screen.fault(f"Choose a number from 1 to {len(waiting)}: /proposals 1.")

    async def edit_query(self, _argument: str) -> None:
        """Ask for another query for the search that waits, and run it."""
        proposal = self.awaiting
        if proposal is None:
            return
        query = await self.lines.read_reply(self._say("edit_in_terminal"), default=line(proposal.query))
        if query is None or not query.strip():
            self.screen.note(self._say("nothing_sent"))
            return
        decision = receive.decide(proposal.id, "approve", self._situation(), query=query)
        await self._update_index()
        await self._run(decision)

    async def forget(self, source: str) -> None:
        """Forget the conversation, or a document."""
        if not source:
            await self.backend.assistant.forget(self.conversation)
            self.last, self.awaiting, self.options, self.turns = None, None, (), 0
            self.screen.note("This conversation is forgotten; the next question starts it afresh.")
            return
        for name, passages in await self.backend.forget(source):
            self.screen.note(texts.forgotten(name, passages))

    async def show_help(self, _argument: str) -> None:
        self.screen.show(render.help_text(documents=self._size()["documents"]))
        self.screen.blank()

    async def reject(self, typed: str) -> None:
        self.screen.fault(f"There is no {typed}; /help lists what there is.")


_HANDLERS: Mapping[receive.TerminalCommandName, Callable[[Session, str], Awaitable[None]]] = {
    "more": Session.show_footnotes,
    "sources": Session.list_sources,
    "proposals": Session.show_proposals,
    "edit": Session.edit_query,
    "forget": Session.forget,
    "help": Session.show_help,
    "unknown": Session.reject,
}


@contextmanager
def _on_ctrl_c(stop: Callable[[], object]) -> Iterator[list[bool]]:
    """While inside, Ctrl-C calls ``stop`` instead of ending the process, and adds to the list."""
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

"""The conversation at a terminal: lines in, outcomes out, until somebody leaves."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from bots.chat import texts
from bots.chat.texts import language_of_turn, say_in
from bots.indexing import BackgroundVectors, in_thread
from bots.local import situation
from bots.terminal import render
from bots.terminal.prompt import Lines
from bots.terminal.receive import Command, CommandName, Situation, decide, read
from bots.terminal.safe import line
from bots.terminal.screen import Screen
from core.bootstrap import Footnote
from core.conversation import Conversation, Decision, Outcome, Proposal, Turn
from core.errors import FootnoteError
from core.library.addresses import is_within
from core.library.catalogue import Entry
from core.library.documents import Scope
from core.library.library import Library, SyncReport
from core.text.language import language_of
from core.wording import in_language


@dataclass(slots=True, kw_only=True)
class Talk:
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
                if isinstance(meant, Command) and meant.name == "quit":
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

    async def _take(self, meant: Turn | Command | None) -> None:
        if isinstance(meant, Command):
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

    def _setting(self) -> render.Setting:
        files = {entry.source: entry.address for entry in self.library.entries()}
        return render.Setting(engine=texts.ENGINE_NAMES[self.footnote.settings.web_search], files=files)

    async def _bring_in_step(self) -> None:
        """What changed on the disk is known to the next answer; its vectors follow in the background."""
        with self.screen.indexing() as notify:
            report = await in_thread(lambda watched: self.library.refresh(notify=watched), notify)
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
        every = self.library.entries()
        if not self.sources:
            return every
        return [entry for entry in every if any(is_within(entry.address, root) for root in self.sources)]

    def _size(self) -> dict[str, int]:
        """How many documents and passages this conversation reads."""
        collections = self.library.catalogue.collections()
        scope = Scope(collections=collections, addresses=self.sources)
        return {
            "documents": len(self._entries()),
            "passages": self.library.catalogue.count_passages(scope),
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


_OBEYED: Mapping[CommandName, Callable[[Talk, str], Awaitable[None]]] = {
    "more": Talk.more,
    "sources": Talk.sources_read,
    "proposals": Talk.proposals,
    "edit": Talk.edit,
    "forget": Talk.forget,
    "help": Talk.help,
    "unknown": Talk.unknown,
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

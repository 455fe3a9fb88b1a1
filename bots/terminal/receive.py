"""Reads typed lines: a line -> a turn or a command, what a command needs, and where lines come from."""

import asyncio
import os
import re
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, Protocol

from core.conversation import (
    Conversation,
    Decision,
    Outcome,
    Proposal,
    Question,
    Turn,
    Verdict,
    check_question,
    value,
)
from core.graph.approval import check_query
from core.turns.messenger import Report

TerminalCommandName = Literal["sources", "forget", "more", "proposals", "help", "quit", "edit", "unknown"]

#: What can be typed after a slash, and what /help says about it.
COMMANDS: Mapping[str, tuple[TerminalCommandName, str]] = {
    "/more": ("more", "the other footnotes of the last answer, and every quote in full"),
    "/sources": ("sources", "the documents this conversation reads"),
    "/proposals": ("proposals", "web searches that wait for a decision; with a number, decide that one"),
    "/forget": ("forget", "forget this conversation; with a document's name, that document"),
    "/help": ("help", "this help"),
    "/quit": ("quit", "leave; Ctrl-D does the same"),
}
_ALIASES: Mapping[str, str] = {"/exit": "/quit", "/q": "/quit", "/?": "/help"}
#: Yes and no as the prompt shows them, and in the languages that it speaks.
_VERDICT_WORDS: Mapping[Verdict, str] = {
    "approve": "y yes j ja o oui s sí si sim はい",
    "deny": "n no nein non não nao いいえ",
}
_VERDICTS: Mapping[str, Verdict] = {
    word: verdict for verdict, words in _VERDICT_WORDS.items() for word in words.split()
}
_COMMAND = re.compile(r"(/[a-z?]+)(?:\s+(.*))?", re.DOTALL | re.IGNORECASE)


@value
class TerminalCommand:
    """Something for the terminal to do."""

    name: TerminalCommandName
    argument: str = ""  #: what follows the name; for an unknown one, the name as typed


@value
class Situation:
    """The context of a typed line: conversation, time, and what waits for a reply."""

    turn_id: str  #: of the turn that the line becomes
    now: float  #: seconds since the epoch
    conversation: Conversation
    author: str
    sources: tuple[str, ...] = ()  #: addresses that questions stay within
    passages: int = 0  #: retrieved passages that the outcome lists
    awaiting: Proposal | None = None  #: the search that a bare y, n or e is about
    options: tuple[str, ...] = ()  #: readings that a bare number chooses from


def read(line: str, here: Situation) -> Turn | TerminalCommand | None:
    """The turn or command in a line, None if it is empty; QuestionRejected when a question is too long."""
    text = line.strip()
    if not text:
        return None
    if (word := text.lower()) in (*_VERDICTS, "e", "edit"):
        if here.awaiting is None:
            return TerminalCommand(name="proposals")  # which says that none waits, or which ones do
        if word not in _VERDICTS:
            return TerminalCommand(name="edit")
        return decide(here.awaiting.id, _VERDICTS[word], here)
    if typed := _COMMAND.fullmatch(text):
        name = typed[1].lower()
        known = COMMANDS.get(_ALIASES.get(name, name))
        argument = (typed[2] or "").strip() if known else typed[1]
        return TerminalCommand(name=known[0] if known else "unknown", argument=argument)
    if text.isdecimal() and 0 < int(text) <= len(here.options):
        text = here.options[int(text) - 1]
    return ask(text, here)


def ask(text: str, here: Situation) -> Question:
    """The question; QuestionRejected when it is empty or too long."""
    return Question(
        id=here.turn_id, conversation=here.conversation, author=here.author, text=check_question(text),
        asked_at=here.now, sources=here.sources, report_passages=here.passages,
    )  # fmt: skip


def decide(proposal_id: str, verdict: Verdict, here: Situation, *, query: str | None = None) -> Decision:
    """The decision; ``query`` replaces the one proposed. QuestionRejected when it is empty or too long."""
    return Decision(
        id=here.turn_id, conversation=here.conversation, author=here.author, proposal_id=proposal_id,
        verdict=verdict, query=None if query is None else check_query(query), decided_at=here.now,
    )  # fmt: skip


class CommandTurns(Protocol):
    """The part of an Assistant that commands use."""

    async def run(self, turn: Turn, report: Report = ..., /) -> Outcome: ...

    async def unfinished(self, conversation: Conversation, /) -> Turn | None: ...

    async def proposals(self, conversation: Conversation, /) -> tuple[Proposal, ...]: ...

    async def knows(self, conversation: Conversation, /) -> bool: ...

    async def find_proposal(self, proposal_id: str, /) -> tuple[Conversation, Proposal] | None: ...

    async def forget(self, conversation: Conversation, /) -> None: ...


# The lines, from a person at a keyboard, or a pipe or file

CHUNK = 65_536  # bytes read at a time


async def read_lines(descriptor: int) -> AsyncIterator[bytes]:
    """Lines without their ends, each as soon as it is complete.

    A thread reads, because an event loop cannot wait for a file. It is a daemon that reads the bare
    descriptor: while a thread waits inside ``sys.stdin``, the process cannot end.
    """
    loop = asyncio.get_running_loop()
    inbox: asyncio.Queue[bytes | None] = asyncio.Queue()

    def read() -> None:
        # The loop may be closed before the last line is read.
        with suppress(RuntimeError):
            for line in _split(descriptor):
                loop.call_soon_threadsafe(inbox.put_nowait, line)
            loop.call_soon_threadsafe(inbox.put_nowait, None)

    threading.Thread(target=read, name="lines", daemon=True).start()
    while (line := await inbox.get()) is not None:
        yield line


def _split(descriptor: int) -> Iterator[bytes]:
    begun = b""
    while chunk := _read(descriptor):
        *whole, begun = (begun + chunk).split(b"\n")
        yield from (line.removesuffix(b"\r") for line in whole)
    if begun:
        yield begun


def _read(descriptor: int) -> bytes:
    """The next bytes; none at the end, or when reading fails."""
    try:
        return os.read(descriptor, CHUNK)
    except OSError:
        return b""


class PipedLines:
    """Standard input that is not a terminal: each line is an entry, and there is no prompt."""

    def __init__(self, descriptor: int) -> None:
        self._lines = read_lines(descriptor)

    async def read_entry(self) -> str | None:
        """The next line; None at the end."""
        line = await anext(self._lines, None)
        return None if line is None else line.decode(errors="replace")

    async def read_reply(self, _prompt: str, *, default: str = "") -> str | None:  # noqa: ARG002 - no prompt
        return await self.read_entry()


class TypedLines:
    """A prompt with history, completion of commands, and pastes of several lines."""

    def __init__(self, history: Path, sources: Callable[[], Iterable[str]]) -> None:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.history import FileHistory, InMemoryHistory

        self._entries: PromptSession[str] = PromptSession(
            history=FileHistory(history),
            completer=_completer(sources),
            complete_while_typing=True,
            key_bindings=_bindings(is_entry=True),
        )
        self._replies: PromptSession[str] = PromptSession(
            history=InMemoryHistory(), key_bindings=_bindings(is_entry=False)
        )

    async def read_entry(self) -> str | None:
        """The next line; None at the end. KeyboardInterrupt for Ctrl-C on an empty line."""
        return await self._read(self._entries, "› ", "")

    async def read_reply(self, prompt: str, *, default: str = "") -> str | None:
        """The reply to a question of ours, which the history does not keep."""
        return await self._read(self._replies, prompt, default)

    async def _read(self, session: Any, prompt: str, default: str) -> str | None:
        from prompt_toolkit.patch_stdout import patch_stdout

        try:
            # So that notes from background work appear above the prompt, not inside it.
            with patch_stdout(raw=True):
                line: str = await session.prompt_async([("ansicyan bold", prompt)], default=default)
            return line
        except EOFError:
            return None


def _bindings(*, is_entry: bool) -> Any:
    """Keys of a prompt. Ctrl-C leaves the conversation from an entry, but only the prompt from a reply."""
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    bindings = KeyBindings()

    @bindings.add("c-c")
    def _(event: KeyPressEvent) -> None:
        """Drop what was typed; leave when nothing was."""
        if not is_entry:
            event.app.exit(result="")  # an empty reply decides nothing
        elif event.current_buffer.text:
            event.current_buffer.reset()
        else:
            event.app.exit(exception=KeyboardInterrupt, style="class:aborting")

    @bindings.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return bindings


def _completer(sources: Callable[[], Iterable[str]]) -> Any:
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document

    class Commands(Completer):
        """Slash commands, and documents after ``/forget``."""

        def get_completions(self, document: Document, _event: CompleteEvent) -> Iterable[Completion]:
            typed = document.text_before_cursor
            if typed.startswith("/forget "):
                begun = typed.removeprefix("/forget ")
                found = (source for source in sources() if source.startswith(begun))
                yield from (Completion(source, start_position=-len(begun)) for source in found)
            elif typed.startswith("/"):
                for name, (_, does) in COMMANDS.items():
                    if name.startswith(typed):
                        yield Completion(name, start_position=-len(typed), display_meta=does)

    return Commands()


Lines = PipedLines | TypedLines


def open_lines(history: Path, sources: Callable[[], Iterable[str]]) -> Lines:
    """Typed lines where input and output are a terminal, else piped ones."""
    return TypedLines(history, sources) if is_interactive() else PipedLines(sys.stdin.fileno())


def is_interactive() -> bool:
    """True if a person types, and sees what is drawn."""
    return sys.stdin.isatty() and sys.stdout.isatty()


async def ask_line(prompt: str, *, default: str = "", completes_paths: bool = False) -> str:
    """The reply to one question, stripped and not remembered. KeyboardInterrupt, or EOFError for Ctrl-D."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import PathCompleter
    from prompt_toolkit.history import InMemoryHistory
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    bindings = KeyBindings()

    @bindings.add("c-d")
    def _(event: KeyPressEvent) -> None:
        """Leave, also where a reply is offered."""
        event.app.exit(exception=EOFError, style="class:exiting")

    session: PromptSession[str] = PromptSession(
        history=InMemoryHistory(),
        key_bindings=bindings,
        completer=PathCompleter(expanduser=True) if completes_paths else None,
        complete_while_typing=False,
    )
    replied: str = await session.prompt_async([("ansicyan bold", prompt)], default=default)
    return replied.strip()

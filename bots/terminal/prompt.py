"""The lines of a conversation: from a person at a keyboard, or a pipe or file."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from bots.terminal.receive import COMMANDS

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


class Lines(Protocol):
    """The source of what is typed."""

    async def read_entry(self) -> str | None:
        """The next line; None at the end. KeyboardInterrupt for Ctrl-C on an empty line."""
        ...

    async def read_reply(self, prompt: str, *, default: str = "") -> str | None:
        """The reply to a question of ours, which the history does not keep."""
        ...


class PipedLines:
    """Standard input that is not a terminal: each line is an entry, and there is no prompt."""

    def __init__(self, descriptor: int) -> None:
        self._lines = read_lines(descriptor)

    async def read_entry(self) -> str | None:
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
        return await self._read(self._entries, "› ", "")

    async def read_reply(self, prompt: str, *, default: str = "") -> str | None:
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


def open_lines(history: Path, sources: Callable[[], Iterable[str]]) -> Lines:
    """Typed lines where input and output are a terminal, else piped ones."""
    return TypedLines(history, sources) if is_interactive() else PipedLines(sys.stdin.fileno())


def is_interactive() -> bool:
    """True if a person types, and sees what is drawn."""
    return sys.stdin.isatty() and sys.stdout.isatty()


async def ask_line(prompt: str, *, default: str = "", completes_paths: bool = False) -> str:
    """The reply to one question, without the spaces around it.

    KeyboardInterrupt for Ctrl-C, EOFError for Ctrl-D; nothing is remembered.
    """
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

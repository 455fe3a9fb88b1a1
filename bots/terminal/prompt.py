"""Where a conversation's lines come from: a person at a keyboard, or a pipe.

Lines from a pipe or a file, without blocking the loop.
"""

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


async def lines_of(descriptor: int) -> AsyncIterator[bytes]:
    """Lines without their ends, each as soon as it is there.

    A thread reads, because a file cannot be waited for in the loop. It is a daemon over the bare
    descriptor: one that holds ``sys.stdin`` while it waits would keep the process from ending.
    """
    loop = asyncio.get_running_loop()
    inbox: asyncio.Queue[bytes | None] = asyncio.Queue()

    def read() -> None:
        # The loop may be gone before the last line is.
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
    """What is there; nothing at the end, or when the other side broke off."""
    try:
        return os.read(descriptor, CHUNK)
    except OSError:
        return b""


class Lines(Protocol):
    """What is typed, one entry at a time."""

    async def question(self) -> str | None:
        """The next line; None when there is no more. KeyboardInterrupt for Ctrl-C on an empty line."""
        ...

    async def answer(self, prompt: str, *, default: str = "") -> str | None:
        """The reply to something asked back, which no history keeps."""
        ...


class PipedLines:
    """Standard input that is no terminal: a line is an entry, and no prompt is drawn."""

    def __init__(self, descriptor: int) -> None:
        self._lines = lines_of(descriptor)

    async def question(self) -> str | None:
        line = await anext(self._lines, None)
        return None if line is None else line.decode(errors="replace")

    async def answer(self, _prompt: str, *, default: str = "") -> str | None:  # noqa: ARG002 - as drawn nowhere
        return await self.question()


class TypedLines:
    """A prompt with history, completion of commands, and pastes of several lines."""

    def __init__(self, history: Path, sources: Callable[[], Iterable[str]]) -> None:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.history import FileHistory, InMemoryHistory

        self._questions: PromptSession[str] = PromptSession(
            history=FileHistory(history),
            completer=_completer(sources),
            complete_while_typing=True,
            key_bindings=_bindings(leaves=True),
        )
        self._answers: PromptSession[str] = PromptSession(
            history=InMemoryHistory(), key_bindings=_bindings(leaves=False)
        )

    async def question(self) -> str | None:
        return await self._read(self._questions, "› ", "")

    async def answer(self, prompt: str, *, default: str = "") -> str | None:
        return await self._read(self._answers, prompt, default)

    async def _read(self, session: Any, prompt: str, default: str) -> str | None:
        from prompt_toolkit.patch_stdout import patch_stdout

        try:
            # Notes from background work then appear above the prompt, not inside it.
            with patch_stdout(raw=True):
                line: str = await session.prompt_async([("ansicyan bold", prompt)], default=default)
            return line
        except EOFError:
            return None


def _bindings(*, leaves: bool) -> Any:
    """Keys of a prompt; Ctrl-C ``leaves`` the conversation, or only what was asked back."""
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    bindings = KeyBindings()

    @bindings.add("c-c")
    def _(event: KeyPressEvent) -> None:
        """Drop what was typed; leave when nothing was."""
        if not leaves:
            event.app.exit(result="")  # nothing is answered, and nothing typed next is taken for it
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


def lines_from_here(history: Path, sources: Callable[[], Iterable[str]]) -> Lines:
    """The terminal's lines when there is a person at it, else the pipe's."""
    if sys.stdin.isatty() and sys.stdout.isatty():
        return TypedLines(history, sources)
    return PipedLines(sys.stdin.fileno())

"""``footnote chat`` at a real terminal: what is drawn, and what keys do."""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import struct
import sys
import termios

import pytest
from harbour import CUP_QUESTION, FERRY_QUESTION

ENTER, CTRL_C, CTRL_D = "\r", "\x03", "\x04"


class Terminal:
    """A pseudo-terminal of 40 lines by 100 columns with a command in it."""

    def __init__(self, machine):
        self.machine = machine
        self.written = ""  #: everything so far
        self._seen = 0  #: of what is left of it without colours and movements
        self._changed = asyncio.Event()

    async def __aenter__(self):
        self._ours, self._theirs = os.openpty()
        fcntl.ioctl(self._theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        os.set_blocking(self._ours, False)
        asyncio.get_running_loop().add_reader(self._ours, self._read)
        return self

    async def __aexit__(self, *_exc):
        asyncio.get_running_loop().remove_reader(self._ours)
        if self.process.returncode is None:
            self.process.kill()
            await self.process.wait()
        os.close(self._ours)
        os.close(self._theirs)

    async def start(self, *arguments):
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "bots", *arguments),
            cwd=self.machine.folder,
            env={**self.machine.environment, "TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1"},
            stdin=self._theirs,
            stdout=self._theirs,
            stderr=self._theirs,
            preexec_fn=lambda: (os.setsid(), fcntl.ioctl(0, termios.TIOCSCTTY, 0)),
        )

    def _read(self):
        try:
            self.written += os.read(self._ours, 65_536).decode(errors="replace")
        except OSError:
            return
        self._changed.set()

    def press(self, keys):
        os.write(self._ours, keys.encode())

    async def until(self, text):
        """What was written up to and with the text, since the last time; colours and movements left out."""
        async with asyncio.timeout(60):
            while text not in (fresh := _bare(self.written)[self._seen :]):
                self._changed.clear()
                await self._changed.wait()
        end = fresh.index(text) + len(text)
        self._seen += end
        return fresh[:end]

    async def ended(self):
        async with asyncio.timeout(60):
            return await self.process.wait()


def _bare(written):
    return re.sub(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x1b\x07]*(?:\x1b\\|\x07)|\x1b[=>]|\r", "", written)


@pytest.fixture
async def terminal(machine):
    async with Terminal(machine) as made:
        yield made


async def test_a_conversation_at_a_terminal(machine, terminal):
    await terminal.start("chat", "docs", "--thread", "sark")
    greeting = await terminal.until("/help lists what else there is.")
    terminal.press(FERRY_QUESTION + ENTER)
    answer = await terminal.until("Answered in")
    await terminal.until("›")
    terminal.press(CTRL_D)
    await terminal.until("Come back with: footnote chat --thread sark")

    assert "Footnote · 2 documents, 4 passages · thread sark" in greeting
    assert "Quoted from your documents, not composed." in answer
    assert "half past nine. It takes bicycles" in answer or "half past nine. [1]" in answer
    assert await terminal.ended() == 0
    links = re.findall(r"\x1b\]8;[^;]*;([^\x1b]+)\x1b", terminal.written)
    assert set(links) == {(machine.docs / "ferry.md").as_uri()}
    history = (machine.folder / ".footnote" / "history").read_text()
    assert f"+{FERRY_QUESTION}" in history


async def test_ctrl_c_drops_what_was_typed_and_then_leaves(terminal):
    await terminal.start("chat", "docs")
    await terminal.until("/help lists")
    await terminal.until("›")

    terminal.press("half a question")
    await terminal.until("half a question")
    terminal.press(CTRL_C)
    terminal.press("/help" + ENTER)
    assert "Footnote answers from 2 documents" in await terminal.until("Ctrl-D does the same")
    await terminal.until("›")
    terminal.press(CTRL_C)

    assert await terminal.ended() == 130
    assert "Traceback" not in terminal.written


async def test_a_search_is_shown_stopped_and_taken_up_again(hanging_searxng, terminal):
    await terminal.start("chat", "docs")
    await terminal.until("›")
    terminal.press(CUP_QUESTION + ENTER)
    card = await terminal.until("Search? y / n / e(dit), Enter to decide later ›")
    terminal.press("y" + ENTER)
    await terminal.until("Searching the web…")
    await hanging_searxng.asked.wait()
    terminal.press(CTRL_C)
    await terminal.until("Stopped. Enter goes on with it; anything else leaves it.")
    await terminal.until("›")
    terminal.press(ENTER)
    answer = await terminal.until("Answered in")
    await terminal.until("›")
    terminal.press("/quit" + ENTER)

    assert "I would search SearXNG for:\n  Who won the 1998 football world cup\n" in card
    assert "ada allowed this search at" in answer
    assert "From the web, not from your documents." in answer
    assert await terminal.ended() == 0
    assert len(hanging_searxng.requests) == 2


async def test_the_query_can_be_edited_where_it_stands(searxng, terminal):
    await terminal.start("chat", "docs")
    await terminal.until("›")
    terminal.press(CUP_QUESTION + ENTER)
    await terminal.until("Enter to decide later ›")
    terminal.press("e" + ENTER)
    await terminal.until("query › Who won the 1998 football world cup")
    terminal.press(" final" + ENTER)
    await terminal.until("Answered in")

    assert [request.query["q"] for request in searxng.requests] == [
        "Who won the 1998 football world cup final"
    ]

"""A real terminal with the real command in it: what is drawn, and what keys do."""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import struct
import termios

from fakes.fork_server import start_python
from fakes.patience import PATIENCE

_PROMPT = re.compile(r"(?:\n|later |entscheiden )› [\s\x08]*\Z")  # and the room kept below it
ENTER, CTRL_C, CTRL_D = "\r", "\x03", "\x04"


class Terminal:
    """A pseudo-terminal of 40 lines by 100 columns with a command in it."""

    def __init__(self, folder, environment):
        self.folder = folder
        self.environment = environment
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
        self.process = await start_python(
            *("-m", "bots", *arguments),
            cwd=self.folder,
            env={**self.environment, "TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1"},
            stdin=self._theirs,
            stdout=self._theirs,
            stderr=self._theirs,
            at_terminal=True,
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
        async with asyncio.timeout(PATIENCE):
            while text not in (fresh := _bare(self.written)[self._seen :]):
                self._changed.clear()
                await self._changed.wait()
        end = fresh.index(text) + len(text)
        self._seen += end
        return fresh[:end]

    async def until_idle(self):
        """What was written until the next line may be typed, since the last time."""
        async with asyncio.timeout(PATIENCE):
            while not _PROMPT.search(fresh := _bare(self.written)[self._seen :]):
                self._changed.clear()
                await self._changed.wait()
        self._seen += len(fresh)
        return fresh

    async def ended(self):
        async with asyncio.timeout(PATIENCE):
            return await self.process.wait()


def _bare(written):
    return re.sub(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x1b\x07]*(?:\x1b\\|\x07)|\x1b[=>]|\r", "", written)

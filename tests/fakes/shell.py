"""Commands typed in the folder of a bot."""

from __future__ import annotations

import asyncio

from fakes.fork_server import PIPE, start_python
from fakes.harbour import Ran
from fakes.office import PATIENCE
from fakes.served import environment

#: Seconds of silence after which a command looks whether anybody serves: 2 in the product.
CONSTANTS = {"core.turns.remote:SILENCE": 0.3}


class Shell:
    """Commands typed in the folder of the office."""

    def __init__(self, office, folder=None):
        self.office, self.folder = office, folder or office.folder
        self.settings = {"LOG_LEVEL": "WARNING", "LOG_FORMAT": "text", "LOGNAME": "ada"}

    async def start(self, *arguments):
        settings = environment(self.folder) | self.office.platforms | self.office.settings | self.settings
        return await start_python(
            *("-m", "bots", *arguments), cwd=self.folder, env=settings, stdin=PIPE, stdout=PIPE, stderr=PIPE,
            constants=CONSTANTS,
        )  # fmt: skip

    async def run(self, *arguments, stdin=""):
        return await ended(await self.start(*arguments), stdin)


async def ended(process, stdin=""):
    async with asyncio.timeout(2 * PATIENCE):
        out, err = await process.communicate(stdin.encode())
    return Ran(code=process.returncode, out=out.decode(), err=err.decode())

"""A harbour's handbook, a search engine that knows football, and the real command run beside them."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path

from fakes.fork_server import PIPE, Process, start_python
from fakes.patience import PATIENCE
from fakes.web_servers import Result

ROOT = Path(__file__).resolve().parents[2]

HARBOUR = """\
# Harbour handbook

## Opening hours

The harbour office opens at seven in the morning and closes at noon. On Sundays it stays closed.

## Mooring fees

A night at the visitors' pontoon costs 18 euros for a boat of ten metres. Electricity is included.

## Fuel dock

The fuel dock sells diesel only. Petrol is sold at the garage behind the church.
"""
FERRY = """\
# Ferry timetable

The ferry to Sark leaves pier three at half past nine. It takes bicycles but no cars.

## Tickets

Tickets are sold on board. Children under six travel free of charge.
"""

FERRY_QUESTION = "When does the ferry to Sark leave?"
PONTOON_QUESTION = "What does a night at the visitors' pontoon cost?"
CUP_QUESTION = "Who won the 1998 football world cup?"  # which no handbook of a harbour answers
FRANCE = Result(
    title="1998 FIFA World Cup",
    url="http://127.0.0.1:9/cup",  # not a public address: the snippet has to do
    content="France won the 1998 football World Cup by beating Brazil 3-0 in the final.",
    published="1998-07-12",
)


def emptied(folder: Path) -> Path:
    """The folder without what a test left in it. Tests share one path where they share what is indexed there."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


@dataclass
class Ran:
    """A command that ended."""

    code: int
    out: str
    err: str

    @property
    def record(self) -> dict:
        """The one JSON object that ``--json`` printed."""
        return json.loads(self.out)

    @property
    def records(self) -> list[dict]:
        return [json.loads(line) for line in self.out.splitlines()]


def _as_from_a_terminal() -> None:
    """A shell that runs the tests in the background has them, and so the command, ignore Ctrl-C; `nohup` SIGHUP."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@dataclass
class Machine:
    """A folder with documents, and the commands run in it."""

    folder: Path
    settings: dict[str, str] = field(default_factory=dict)
    is_cold: bool = False  #: whether a command starts with Python itself, as a person's does
    largest_file: int = 0  #: bytes that no file of a command grows beyond, as on a full disk; 0: no limit
    is_bound: bool = False  #: whether permissions of files bind a command, root too

    @property
    def docs(self) -> Path:
        return self.folder / "docs"

    async def start(self, *arguments: str, stdout: int = PIPE) -> Process | asyncio.subprocess.Process:
        command = ("-m", "bots", *arguments)
        given = {"cwd": self.folder, "env": self.environment, "stdin": PIPE, "stdout": stdout, "stderr": PIPE}
        if not self.is_cold:
            return await start_python(
                *command, **given, largest_file=self.largest_file, is_bound=self.is_bound
            )
        return await asyncio.create_subprocess_exec(
            sys.executable, *command, **given, preexec_fn=_as_from_a_terminal
        )

    async def run(self, *arguments: str, stdin: str | bytes = b"") -> Ran:
        process = await self.start(*arguments)
        given = stdin.encode() if isinstance(stdin, str) else stdin
        async with asyncio.timeout(PATIENCE):
            out, err = await process.communicate(given)
        return Ran(code=process.returncode or 0, out=out.decode(), err=err.decode())

    @property
    def environment(self) -> dict[str, str]:
        inherited = ("PATH", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE")
        return {
            **{name: os.environ[name] for name in inherited if name in os.environ},
            "HOME": str(self.folder),
            "PYTHONPATH": str(ROOT),
            "LANG": "C.UTF-8",
            "LOGNAME": "ada",
            "EMBEDDING_MODEL": "none",
            "WEB_SEARCH": "off",
            **self.settings,
        }

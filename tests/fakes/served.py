"""Footnote served as people run it: the real command, with a handbook to read and a data folder of its own."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self

from fakes.fork_server import Process, run_python, start_python
from fakes.patience import PATIENCE
from fakes.queues import make_empty_queue
from fakes.web_servers import Result

ROOT = Path(__file__).resolve().parents[2]
DEAD_END = "http://127.0.0.1:9"  # the discard port: a client that goes through a proxy ends here
SECRET = ("_TOKEN", "_SECRET", "_API_KEY")  # how the names of settings end that hold one
TELLING = 16  # characters; what is shorter may stand in a log by chance
MENTION = re.compile(r"<[@#!][^>]*>")

HANDBOOK = """\
# Harbour handbook

## Opening hours

The harbour office opens at seven in the morning and closes at noon. On Sundays it stays closed.

## Mooring fees

A night at the visitors' pontoon costs 18 euros for a boat of ten metres. Electricity is included.

## Ferry

The ferry to Sark leaves pier three at half past nine. It takes bicycles but no cars.
"""
FERRY = "When does the ferry to Sark leave?"
FERRY_ANSWER = "half past nine"
PONTOON = "What does a night at the visitors' pontoon cost?"
PONTOON_ANSWER = "18 euros"
CUP = "Who won the 1998 football world cup?"  # which no handbook of a harbour answers
CUP_URL = "http://127.0.0.1:9/cup"  # not a public address: the snippet has to do
FRANCE = Result(
    title="1998 FIFA World Cup",
    url=CUP_URL,
    content="France won the 1998 football World Cup by beating Brazil 3-0 in the final.",
    published="1998-07-12",
)


def make_data_dir(folder: Path) -> Path:
    """A data folder in which the handbook is indexed and a queue is ready."""
    index_handbook(folder)
    make_empty_queue(folder / ".footnote")
    return folder


def index_handbook(folder: Path, url: str = "") -> None:
    """As an operator does it, into the data folder or into the PostgreSQL of this address."""
    (folder / "handbook.md").write_text(HANDBOOK)
    ingest(folder, "handbook.md", DATABASE_URL=url)


def ingest(folder: Path, *arguments: str, **settings: str) -> None:
    """`footnote ingest`, which must succeed."""
    run_python(
        *("-m", "bots", "ingest", *arguments), cwd=folder, env=environment(folder) | settings
    ).check_returncode()


def environment(folder: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), DEAD_END),
        "NO_PROXY": "127.0.0.1",
        **{name: os.environ[name] for name in ("SSL_CERT_FILE",) if name in os.environ},  # of one authority
        "HOME": str(folder),
        "PYTHONPATH": str(ROOT),
        "LANG": "C.UTF-8",
        "EMBEDDING_MODEL": "none",
        "WEB_SEARCH": "off",
        "LOG_LEVEL": "debug",
        "LOG_FORMAT": "json",
    }


#: Times between two looks, in seconds: 5 in the product. Nobody has to wait for them to see what a look does.
LOOKS = dict.fromkeys(
    (
        "bots.refresh:EVERY",
        "bots.chat.rechecks:LOOK_EVERY",
        "bots.chat.indexing:LOOK_EVERY",
        "core.sources.sources:LOOK_EVERY",
    ),
    0.5,
)


#: The first pause before what failed is tried again, in seconds: 1 in the product, and doubled each time.
RETRIES = dict.fromkeys(("core.turns.waiting:FIRST_PAUSE", "bots.chat.inbox:FIRST_PAUSE"), 0.1)
#: Seconds: of a lease, between two renewals, and for a connection to the database; 5, 1 and 5 in the product.
SHORT_LEASES = {"core.turns.leases:LEASE": 2.0, "core.turns.leases:BEAT": 0.4, "core.turns.leases:WAIT": 2.0}


@dataclass
class Served:
    """One data folder, and the process that serves it."""

    folder: Path
    settings: dict[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ("run",)
    #: of the product, by "module:NAME" or "module:function.parameter"
    constants: dict[str, float] = field(default_factory=lambda: LOOKS | RETRIES)
    files: int = 0  #: that the process may have open; 0: as many as the tests may
    has_own_parsers: bool = False  #: whether it starts those that parse files itself, from nothing
    process: Process | asyncio.subprocess.Process | None = None

    @classmethod
    def copied(cls, template: Path, folder: Path, **more) -> Self:
        shutil.copytree(template, folder, dirs_exist_ok=True)
        return cls(folder=folder, **more)

    @property
    def platforms(self) -> Mapping[str, str]:
        """By which settings the platforms are reached."""
        raise NotImplementedError

    async def until_connected(self) -> None:
        raise NotImplementedError

    async def open(self, *, is_connected: bool = True, is_cold: bool = False) -> None:
        """Begin to serve. A cold start is one of Python itself, as a host's is."""
        cold = partial(asyncio.create_subprocess_exec, sys.executable)
        warm = partial(
            start_python, constants=self.constants, files=self.files, has_own_parsers=self.has_own_parsers
        )
        start: Any = cold if is_cold else warm
        with (self.folder / "log").open("ab") as log:
            self.process = await start(
                *("-m", "bots", *self.arguments),
                cwd=self.folder,
                env=environment(self.folder) | self.platforms | self.settings,
                stdout=log,
                stderr=log,
            )
        if is_connected:
            await self.until_connected()

    @property
    def said(self) -> Iterable[str]:
        """What people wrote, as far as the platform tells."""
        return ()

    async def stop(self) -> int:
        """As a host does it, with SIGTERM; the exit code."""
        assert self.process is not None
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
        await asyncio.wait_for(self.process.communicate(), PATIENCE)
        self.assert_discreet()
        return int(self.process.returncode or 0)

    async def kill(self) -> None:
        assert self.process is not None
        if self.process.returncode is None:
            self.process.kill()
        await self.process.communicate()
        self.assert_discreet()

    def assert_discreet(self) -> None:
        """The log, at its most talkative, holds no secret that was set, no document and nothing that anybody wrote."""
        log, given = self.log, {**self.platforms, **self.settings}
        secrets = [value for name, value in given.items() if name.endswith(SECRET)]
        said = (text for each in self.said for text in MENTION.split(each))
        private = {text.strip() for text in (*secrets, *HANDBOOK.splitlines(), *said)}
        told = [
            text
            for text in private
            if len(text) >= TELLING and (text in log or json.dumps(text)[1:-1] in log)
        ]
        assert not told, f"the log holds {told}"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Whatever became of the story, no process is left."""
        if self.process is not None:
            await self.kill()

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    @property
    def faults(self) -> list[dict]:
        """What the log says that is worse than information."""
        entries = [json.loads(line) for line in self.log.splitlines() if line.startswith("{")]
        return [entry for entry in entries if entry["level"] in ("warning", "error", "critical")]

"""One of several processes that take turns on one PostgreSQL: run with a folder and the database's URL.

``inbox`` holds a turn a line, its id and when it was said, as a platform would bring them to every process until
they are in ``acknowledged``. What is shown goes to ``sink``, one file for each turn; ``ended`` lists the turns as they end.

While a turn thinks, this process has a lock on a file of its conversation, which the kernel takes back when the
process is killed. Who finds it locked by a process that is not ``paused`` writes that down in ``overlaps``.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import sys
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from fakes.mortal import Fate, Sink, _add_line
from fakes.scripted import ScriptedDocuments, ScriptedReasoner, hit, question

from core.conversation import Turn
from core.graph.context import Deps
from core.graph.graph import build_graph
from core.graph.policy import PRESETS
from core.settings import Settings
from core.storage.storage import open_storage
from core.turns import leases
from core.turns.assistant import Assistant
from core.turns.checkpoints_postgres import open_postgres_checkpoints
from core.turns.leases import open_leases
from core.turns.turns import Turns, TurnsClosed, open_turns

CONVERSATIONS = 6
LOOK_EVERY = 0.05  # seconds
CALL = 0.04  # seconds that the model takes
TOWER = hit("The tower is 300 metres tall. It was built in 1889.")


@dataclass
class WatchedReasoner(ScriptedReasoner):
    """Of one run of a turn."""

    folder: Path = Path()
    turn: str = ""
    thread: str = ""
    _calls: int = 0
    _lock: ExitStack = field(default_factory=ExitStack)

    @asynccontextmanager
    async def _watched(self):
        self._calls += 1
        if self._calls == 1:
            self._take()
        try:
            await asyncio.sleep(CALL)
            yield
        finally:
            self._calls -= 1
            if not self._calls:
                self._lock.close()

    def _take(self) -> None:
        held = self._lock.enter_context((self.folder / f"{self.thread}.lock").open("a+"))
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            held.seek(0)
            if not (self.folder / "paused" / held.read()).exists():
                _add_line(self.folder / "overlaps", f"{self.turn} in {self.thread}")
            return
        held.truncate(0)
        held.write(str(os.getpid()))
        held.flush()

    async def plan(self, ask):
        async with self._watched():
            return await super().plan(ask)

    async def grade(self, ask, passages):
        async with self._watched():
            return await super().grade(ask, passages)

    async def write(self, ask, strips, before=None, hear=None):
        async with self._watched():
            return await super().write(ask, strips, before)

    async def check_grounding(self, statements, strips, ballot=0):
        async with self._watched():
            return await super().check_grounding(statements, strips, ballot)


class ListingSink(Sink):
    async def deliver(self, turn, route, handle, outcome, *, is_again):
        await super().deliver(turn, route, handle, outcome, is_again=is_again)
        _add_line(self.folder.parent / "ended", turn.id)


def turn_of(line: str) -> Turn:
    name, said_at = line.split()
    number = int(name.removeprefix("q"))
    asked = replace(question(f"How tall is tower {number}?", id=name), asked_at=float(said_at))
    return replace(asked, conversation=replace(asked.conversation, thread=f"t{number % CONVERSATIONS}"))


async def take_all(folder: Path, turns: Turns) -> None:
    """Whatever is brought; each process is brought everything."""
    taken: set[str] = set()
    while True:
        acknowledged = set((folder / "acknowledged").read_text().split())
        for line in (folder / "inbox").read_text().splitlines():
            turn = turn_of(line)
            if turn.id not in acknowledged | taken:
                await turns.accept(turn, {}, reorder_window=LOOK_EVERY)
                taken.add(turn.id)
                _add_line(folder / "acknowledged", turn.id)
        await asyncio.sleep(LOOK_EVERY)


async def main(folder: Path, url: str) -> None:
    leases.LEASE, leases.BEAT = 2.0, 0.4  # seconds; the stories are shorter too
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)

    async def deps(turn, report):
        thread = turn.conversation.thread
        reasoner = WatchedReasoner(folder=folder, turn=turn.id, thread=thread)
        documents = ScriptedDocuments(default=(TOWER,))
        return Deps(
            policy=PRESETS["footnote"], reasoner=reasoner, documents=documents, web=None, watcher=report
        )

    sink = ListingSink(folder / "sink", Fate(folder, "none"))
    with open_storage(Settings(data_dir=folder, database_url=url)) as storage:
        async with open_leases(storage, "footnote run") as lease:
            checkpoints = await open_postgres_checkpoints(storage, lease)
            assistant = Assistant(
                graph=build_graph(checkpoints), checkpoints=checkpoints, make_deps=deps, turn_timeout=60,
                replicas=lease,
            )  # fmt: skip
            async with open_turns(
                assistant, {"test": sink}, database_url=url, drain=2.0, replicas=lease
            ) as turns:
                print("ready", flush=True)
                taking = asyncio.create_task(take_all(folder, turns))
                stopping = asyncio.create_task(stop.wait())
                await asyncio.wait([taking, stopping], return_when=asyncio.FIRST_COMPLETED)
                taking.cancel()
                await asyncio.wait([taking])
                if not taking.cancelled() and not isinstance(taking.exception(), TurnsClosed):
                    taking.result()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))

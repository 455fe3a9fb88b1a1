"""Syncs of a source that are killed at random moments, and what they leave: where each was killed, and what was fetched."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from fakes.fork_server import DEVNULL, PIPE, start_python
from fakes.served import ROOT

from core.settings import Settings

NEVER = "never"
EARLY = 12  # lines of a diary before which a sync has begun
#: Lines of the end of a sync.
LATE = (
    "before SourceStore.finish", "in SourceStore.finish", "after SourceStore.finish", "closed",
    "before ReaderSets.drop_unused", "after ReaderSets.drop_unused",
)  # fmt: skip
KILLED = (-signal.SIGKILL, -signal.SIGPROF)


def place_of(lines: list[list[str]]) -> str:
    """Where in its sync a process ended, by its diary."""
    if len(lines) < EARLY:
        return "beginning"
    last = lines[-1][0]
    if last in LATE:
        return "end"
    verb, _, name = last.partition(" ")
    if verb == "after" or not name:
        return "between two transactions"
    return "within a transaction of the library" if is_of_library(name) else "within another transaction"


def is_of_library(name: str) -> bool:
    return name.partition(".")[0] in ("DocumentStore", "SourceDocuments", "ReaderSets", "Library")


@dataclass(kw_only=True)
class KilledSyncs:
    """Processes that read one source into one library, one after the other."""

    settings: Settings
    address: str
    chance: random.Random
    variables: Mapping[str, str] = field(default_factory=dict)  #: of the processes
    is_timed: bool = False  #: whether half of them are killed after some time, not at a line of their diary
    kills: int = 0
    places: Counter[str] = field(default_factory=Counter)  #: in which they were killed
    fetched: int = 0  #: items
    #: Items that were fetched in a version that was read already, with it.
    again: list[tuple[str, str]] = field(default_factory=list)
    moved: int = 0  #: fetched again since a sync was killed which had listed other readers of them
    _read: dict[str, str] = field(default_factory=dict)  #: version of each item
    _moving: dict[str, str] = field(default_factory=dict)  #: the same of those whose readers are others
    _lines: int = 60  #: of the longest diary of late
    _seconds: float = 0.3  #: of CPU of the last process that was not killed

    async def kill_one(self) -> bool:
        """Whether it was killed; false if it had ended before."""
        return await self.run(self._moment()) in KILLED

    async def run(self, moment: str = NEVER) -> int:
        """The exit code of a process."""
        diary = self.settings.data_dir.with_name("diary")
        diary.unlink(missing_ok=True)
        process = await start_python(
            "-m", "fakes.mortal_sync", str(self.settings.data_dir), self.settings.database_url, self.address, str(diary),
            moment, cwd=diary.parent, env=self._environment(), stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE,
        )  # fmt: skip
        _, err = await process.communicate()
        assert process.returncode == 0 or (process.returncode in KILLED and moment != NEVER), err.decode()
        # A process may be killed before it has written anything, and within its last line.
        text = diary.read_text() if diary.exists() else ""
        lines = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
        self._note(lines, is_killed=process.returncode != 0)
        return process.returncode

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"], "HOME": str(self.settings.data_dir.parent), "LANG": "C.UTF-8",
            "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests"))),
            "SSL_CERT_FILE": os.environ["SSL_CERT_FILE"], **self.variables,
        }  # fmt: skip

    def _moment(self) -> str:
        drawn = self.chance.random()
        if drawn < 0.08:
            return str(self.chance.randint(1, EARLY - 1))
        if drawn < 0.16:
            return self.chance.choice(LATE)
        if self.is_timed and drawn < 0.58:
            return f"{self.chance.uniform(0.001, self._seconds):.4f}s"
        return str(self.chance.randint(1, self._lines))

    def _note(self, lines: list[list[str]], *, is_killed: bool) -> None:
        if is_killed:
            self.kills += 1
            self.places[place_of(lines)] += 1
        else:
            self._seconds = float(lines[-1][1])
        self._lines = max(EARLY, len(lines), int(self._lines * 0.9))
        for what, *more in lines:
            self._note_item(what, *more)

    def _note_item(self, what: str, id: str = "", version: str = "") -> None:
        if what == "fetched":
            self.fetched += 1
            if self._read.get(id) == version:
                self.again.append((id, version))
            elif self._moving.get(id) == version:
                self.moved += 1
        elif what == "due":  # in the same version: others may read it
            held = self._read.pop(id, self._moving.pop(id, ""))
            if held == version:
                self._moving[id] = version
        elif what == "read":
            self._moving.pop(id, None)
            self._read[id] = version
        elif what in ("failed", "dropped"):
            self._moving.pop(id, None)
            self._read.pop(id, None)

    def account(self) -> str:
        places = ", ".join(f"{count} {place}" for place, count in self.places.most_common())
        return (
            f"{self.kills} killed ({places}); {self.fetched} items fetched, {len(self.again)} of them again"
        )


async def read_while_killed(
    syncs: KilledSyncs,
    kills: int,
    *,
    assert_equal: Callable[[], None],
    go_on: Callable[[], Awaitable[None] | None],
    after_each: Callable[[], None] = lambda: None,
    ends: int = 1,
) -> None:
    """A history of a source, of which each part is read by processes that are killed, and then by ``ends`` that are not.

    ``assert_equal`` is what holds then, ``after_each`` after any of them; ``go_on`` changes the source.
    """
    rounds = 0
    while syncs.kills < kills:
        for _ in range(syncs.chance.randint(1, 4)):
            is_killed = await syncs.kill_one()
            after_each()
            if not is_killed:
                break
        for _ in range(ends):
            await syncs.run()
        assert_equal()
        rounds += 1
        if (going := go_on()) is not None:
            await going
    sys.stdout.write(f"{syncs.account()}; equal after each of {rounds} parts\n")
    assert syncs.again == []

"""A process that takes turns, and is killed: run with a folder, and the point at which it kills itself.

``inbox`` holds one turn id a line, as a platform would bring them again until they are in
``acknowledged``. What is shown goes to ``sink``, one file for each turn: the platform's side,
idempotent by the handle as an edited message is.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from fakes.scripted import TOWER, ScriptedDocuments, ScriptedReasoner, assistant_over, question

from core.conversation import Command, Outcome, Progress, Question, ThreadMessage, Turn
from core.reasoning.reasoner import Ask
from core.turns.messenger import ReplyRoute
from core.turns.turns import open_turns

CONVERSATIONS = 4
TOWERS = "How tall is tower "
LOOK_EVERY = 0.05  # seconds


@dataclass
class Fate:
    """Kills this process the first time it comes to the point, in one run of all; or each time, ``always``.

    ``write of q3`` is a point of one turn.
    """

    folder: Path
    point: str
    always: bool = False

    def reach(self, point: str, turn: str = "") -> None:
        spent = self.folder / "spent"
        if self.point in (point, f"{point} of {turn}") and (self.always or not spent.exists()):
            spent.touch()
            os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class Sink:
    """A platform: a first sign is looked for before it is made, an outcome replaces it."""

    folder: Path
    fate: Fate

    async def begin(self, turn: Turn, route: ReplyRoute, *, is_again: bool) -> str:
        self.fate.reach("before begin", turn.id)
        file = self.folder / f"{turn.id}.txt"
        if not file.exists():
            written = file.with_suffix(".new")
            written.write_text("…\n")
            written.rename(file)  # whole or not at all: it may be killed in between
        self.fate.reach("after begin", turn.id)
        return str(file)

    async def with_names(self, turn: Turn, route: ReplyRoute) -> Turn:
        return turn

    async def thread_context(self, turn: Turn, route: ReplyRoute) -> tuple[ThreadMessage, ...]:
        return ()

    async def read_attachments(self, question: Question, route: ReplyRoute) -> Question:
        return question

    async def carry_out(self, command: Command, route: ReplyRoute, *, is_again: bool) -> None:
        raise NotImplementedError

    def reporter(self, turn: Turn, route: ReplyRoute, handle: str) -> Callable[[Progress], None]:
        return lambda _progress: None

    async def deliver(
        self, turn: Turn, route: ReplyRoute, handle: str, outcome: Outcome, *, is_again: bool
    ) -> None:
        self.fate.reach("before deliver")
        self.fate.reach(f"before {outcome.kind}", turn.id)
        content = {
            "turn": outcome.turn_id,
            "kind": outcome.kind,
            "text": outcome.answer and outcome.answer.text,
        }
        _add_line(Path(handle), json.dumps(content))
        self.fate.reach("after deliver")


def _add_line(file: Path, line: str) -> None:
    with file.open("a") as written:
        written.write(f"{line}\n")


@dataclass
class MortalReasoner(ScriptedReasoner):
    """Reaches a point at each step of the graph."""

    fate: Fate | None = None

    async def plan(self, ask):
        self._reach("plan", ask)
        return await super().plan(ask)

    async def grade(self, ask, passages):
        self._reach("grade", ask)
        return await super().grade(ask, passages)

    async def write(self, ask, strips, before=None, hear=None):
        self._reach("write", ask)
        return await super().write(ask, strips, before)

    async def check_grounding(self, statements, strips, ballot=0):
        self._reach("verify")
        return await super().check_grounding(statements, strips, ballot)

    def _reach(self, point: str, ask: Ask | None = None) -> None:
        assert self.fate is not None
        self.fate.reach(point, _turn_about(ask.question) if ask else "")


def _turn_about(text: str) -> str:
    """The id of the turn that asks this."""
    return f"q{text.removeprefix(TOWERS).removesuffix('?')}"


def turn_named(id: str) -> Turn:
    number = int(id.removeprefix("q"))
    asked = replace(question(f"{TOWERS}{number}?", id=id), asked_at=1000.0 + number)
    return replace(asked, conversation=replace(asked.conversation, thread=f"t{number % CONVERSATIONS}"))


async def main(folder: Path, point: str) -> None:
    fate = Fate(folder, point.removeprefix("always "), always=point.startswith("always "))
    reasoner = MortalReasoner(fate=fate)
    url = f"sqlite:///{folder}/turns.sqlite"
    async with (
        assistant_over(folder, reasoner, ScriptedDocuments(default=(TOWER,))) as assistant,
        open_turns(assistant, {"test": Sink(folder / "sink", fate)}, database_url=url) as turns,
    ):
        print("ready", flush=True)
        brought = (folder / "inbox").read_text().split()
        acknowledged = set((folder / "acknowledged").read_text().split())
        for turn in brought:
            if turn not in acknowledged:
                fate.reach("before store")
                await turns.accept(turn_named(turn), {})
                fate.reach("after store")
                _add_line(folder / "acknowledged", turn)
        while not all(has_ended(folder, turn) for turn in brought):  # noqa: ASYNC110 - what ends is in files
            await asyncio.sleep(LOOK_EVERY)
        os._exit(0)  # how a process closes in order is another story


def has_ended(folder: Path, id: str) -> bool:
    file = folder / "sink" / f"{id}.txt"
    return file.exists() and "{" in file.read_text()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))


def endings(folder, id):
    """What the sink shows of a turn in the end: the distinct states that replaced its first sign."""
    first, *states = (folder / "sink" / f"{id}.txt").read_text().splitlines()
    assert first == "…"
    return {json.dumps(json.loads(state), sort_keys=True) for state in states}

"""A process that carries out an allowed search, and is killed: run with a folder, and the point.

It asks, gets a proposal, and brings the decision: an edited query. A search is sent by writing
its query to ``searches``, as the engine's own log would hold it.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from fakes.mortal import LOOK_EVERY, Fate, MortalReasoner, Sink, _add_line, has_ended
from fakes.scripted import OTHER, ScriptedDocuments, assistant_over, decision, question, web_hit

from core.conversation import Progress
from core.library.documents import Retrieved
from core.turns.turns import open_turns

ASKED, PRESSED = "q1", "d1"  # ids of the turns
ALLOWED = "height of the tower with its antenna"  # what a person made of the query that was proposed
FOUND = (web_hit("The tower is 330 metres tall with its antenna."),)


@dataclass
class MortalWeb:
    """A search engine that keeps a log."""

    fate: Fate

    async def find(
        self, query: str, question: str, report: Callable[[Progress], None]
    ) -> tuple[Retrieved, ...]:
        self.fate.reach("decision committed")
        _add_line(self.fate.folder / "searches", query)
        self.fate.reach("search sent")
        return FOUND


@dataclass
class PressedReasoner(MortalReasoner):
    """Grades hits of the web once it is written down that they came, which happens beside it."""

    async def grade(self, ask, passages):
        assert self.fate is not None
        if any(found.passage.origin == "web" for found in passages):
            while not _is_written(self.fate.folder / "conversations.sqlite"):  # noqa: ASYNC110 - it is in a file
                await asyncio.sleep(LOOK_EVERY)
            self.fate.reach("hits came")
        return await super().grade(ask, passages)


def _is_written(conversations: Path) -> bool:
    with closing(sqlite3.connect(conversations)) as database:
        return bool(database.execute("SELECT 1 FROM writes WHERE channel = '__return__'").fetchall())


async def main(folder: Path, point: str) -> None:
    fate = Fate(folder, point)
    reasoner = PressedReasoner(
        fate=fate,
        relevance=lambda found: "correct" if found.passage.origin == "web" else "incorrect",
        sufficient=(folder / "searches").exists,
    )
    documents = ScriptedDocuments(default=(OTHER,), confidence=0.1)
    url = f"sqlite:///{folder}/turns.sqlite"
    async with (
        assistant_over(folder, reasoner, documents, web=MortalWeb(fate)) as assistant,
        open_turns(assistant, {"test": Sink(folder / "sink", fate)}, database_url=url) as turns,
    ):
        await turns.accept(question(id=ASKED), {})
        await _until_ended(folder, ASKED)
        (proposal,) = await assistant.proposals(question().conversation)
        await turns.accept(decision(proposal.id, id=PRESSED, query=ALLOWED), {})
        await _until_ended(folder, PRESSED)
        os._exit(0)  # how a process closes in order is another story


async def _until_ended(folder: Path, turn: str) -> None:
    while not has_ended(folder, turn):  # noqa: ASYNC110 - what ends is in files
        await asyncio.sleep(LOOK_EVERY)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))

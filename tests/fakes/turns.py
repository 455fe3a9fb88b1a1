"""Turns over a scripted assistant, in a queue of their own."""

from __future__ import annotations

from contextlib import asynccontextmanager

from fakes.scripted import (
    TOWER,
    ScriptedDocuments,
    ScriptedReasoner,
    assistant_over,
)

from core.turns.turns import open_turns

TO_HERE = {"channel": "C1"}


@asynccontextmanager
async def turns_over(folder, messenger, reasoner=None, *, drain=0.1, database=None):
    documents = ScriptedDocuments(default=(TOWER,))
    url = f"sqlite:///{database or folder / 'turns.sqlite'}"
    async with (
        assistant_over(folder, reasoner or ScriptedReasoner(), documents) as assistant,
        open_turns(assistant, {"test": messenger}, database_url=url, drain=drain) as turns,
    ):
        yield turns

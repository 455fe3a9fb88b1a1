"""What only some people may read reaches nobody else over MCP: canaries, and everybody asks for everybody's."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from random import Random

import pytest
from benchmarks.evaluation_sets import add_paragraphs
from fakes.assistants import open_mcp_desk, over_http
from fakes.crews import name, secret
from mcp.shared.exceptions import MCPError

from bots.chat.access import AccessChange, change_access
from core.library.readers import ReaderSets, collection_for

PEOPLE = 8
AT_ONCE = 8


def fill(desk, items: int, random: Random) -> dict[int, frozenset[str] | None]:
    """Documents of which some are for some addresses alone, and a collection that no address reads; who reads which."""
    library, readers = desk.footnote.library, {}
    sets = ReaderSets(library.store.database)
    for number in range(items):
        chosen = frozenset(f"p{each}@harbour.example" for each in random.sample(range(PEOPLE), 2))
        readers[number] = random.choice((None, chosen, chosen, frozenset()))
        is_closed = readers[number] == frozenset()
        collection = "crew" if is_closed else collection_for("default", readers[number])
        text = f"The passphrase of the {name(number)} mooring is {secret(number)}."
        add_paragraphs(library, f"/m{number}.md", f"{name(number)} mooring", [text], collection=collection)
        if readers[number] and not is_closed:
            with library.store.transaction() as writing:
                sets.note(writing, collection, readers[number])
    change_access(
        desk.channels.database.database, "crew", AccessChange(closes=True), known=library.store.collections()
    )
    return readers


@pytest.mark.parametrize(("items", "count"), [(24, 96), pytest.param(80, 2_000, marks=pytest.mark.long)])
async def test_nobody_hears_over_mcp_what_others_alone_may_read(items, count, tmp_path):
    random, leaked, heard = Random(5), [], 0
    async with open_mcp_desk(tmp_path) as desk, AsyncExitStack() as clients:
        readers = fill(desk, items, random)
        secrets = {secret(number): number for number in range(items)}
        assistants = {}
        for person in range(PEOPLE):
            address = f"p{person}@harbour.example"
            assistants[address] = await clients.enter_async_context(
                over_http(desk.url, await desk.token(address))
            )
        numbers = [each.id for each in desk.footnote.library.store.entries()]

        async def call(address: str) -> str:
            assistant, about = assistants[address], random.randrange(items)
            question = f"What is the passphrase of the {name(about)} mooring?"
            match random.randrange(5):
                case 0:
                    result = await assistant.call("search", query=question, limit=20)
                case 1:
                    result = await assistant.call("sources", limit=500)
                case 2:
                    try:
                        return await assistant.read(f"footnote://documents/{random.choice(numbers)}")
                    except MCPError as refused:
                        return str(refused)
                case _:
                    result = await assistant.call("ask", question=question)
            return json.dumps(result.model_dump(mode="json"))

        async def keep_calling(times: int) -> None:
            nonlocal heard
            for _ in range(times):
                address = random.choice(list(assistants))
                said = await call(address)
                told = {number for word, number in secrets.items() if word in said}
                heard += bool(told)
                leaked.extend(
                    (address, number)
                    for number in told
                    if readers[number] is not None and address not in readers[number]
                )

        async with asyncio.TaskGroup() as calling:
            for _ in range(AT_ONCE):
                calling.create_task(keep_calling(count // AT_ONCE))

    print(f"{count} calls, {heard} of which heard what they may")
    assert leaked == []
    assert heard > count / 8

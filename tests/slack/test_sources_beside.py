"""Sources beside a process that serves: it reads them, when an operator asks and when they are due."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing

from fakes.git_server import Repository
from office import PATIENCE
from test_commands_beside import Shell

LOOK_EVERY = 0.2  # seconds between two looks of the test


def rows(office, store, query):
    with closing(sqlite3.connect(office.folder / ".footnote" / f"{store}.sqlite")) as database:
        found = database.execute(query).fetchall()
        database.commit()
        return found


async def until(condition):
    async with asyncio.timeout(2 * PATIENCE):
        while not condition():  # noqa: ASYNC110 - another process changes it
            await asyncio.sleep(LOOK_EVERY)


async def test_a_source_is_read_by_who_serves_and_again_when_it_is_due(office):
    shell, repository = Shell(office), Repository.made(office.folder / "wiki")
    repository.commit({"docs/fuel.md": "# Fuel\n\nThe fuel dock sells diesel only.\n"})
    async with office:
        await office.open()
        ingested = await shell.run("ingest", "wiki#docs", "--every", "1h")
        asked = await shell.run("ask", "What does the fuel dock sell?", "--json")
        repository.commit({"docs/fuel.md": "# Fuel\n\nThe fuel dock sells petrol as well.\n"})
        repository.commit({"docs/ice.md": "# Ice\n\nIce is sold at the fish hall.\n"})

        rows(office, "sources", "UPDATE sources SET next_at = 1")
        await until(
            lambda: (
                rows(office, "sources", "SELECT count(*) FROM source_items WHERE state = 'read'") == [(2,)]
            )
        )
        await until(lambda: rows(office, "sources", "SELECT next_at > synced_at FROM sources") == [(1,)])
        again = await shell.run("ask", "What does the fuel dock sell?", "--json")
        forgotten = await shell.run("forget", "wiki#docs")
        listed = await shell.run("sources")

    assert (ingested.code, ingested.out, ingested.err) == (0, "1 document added.\n", "")
    assert "diesel only" in asked.record["text"]
    assert "petrol as well" in again.record["text"]
    assert sorted(forgotten.out.splitlines()) == [
        "Forgot wiki/docs/fuel.md (1 passage).",
        "Forgot wiki/docs/ice.md (1 passage).",
    ]
    assert "wiki" not in listed.out
    assert office.faults == []

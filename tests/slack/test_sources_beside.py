"""Sources beside a process that serves: it reads them, when an operator asks and when they are due."""

from __future__ import annotations

import asyncio
import sqlite3
import ssl
from contextlib import closing

from fakes.git_server import Repository, make_certificate
from fakes.office import PATIENCE
from fakes.shell import Shell
from fakes.website import FakeWebsite, html

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


async def test_a_website_over_https_is_read_beside_the_bot_and_answered_from_and_forgotten(
    office, slack, ann, general, tmp_path_factory
):
    certificate = make_certificate(tmp_path_factory.mktemp("authority"))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    shell = Shell(office)
    office.settings |= {"SSL_CERT_FILE": str(certificate), "PRIVATE_HOSTS": "127.0.0.1"}
    async with FakeWebsite(tls=context) as site, office:
        site.put("/guide/", html("Guide", "<p>All of the harbour.</p>", links=["fuel", "lost", "/elsewhere"]))
        site.put("/guide/fuel", html("Fuel", "<p>The fuel dock sells diesel only.</p>"))
        site.put("/elsewhere", html("Elsewhere", "<p>Not below the guide.</p>"))
        site.failing["/guide/lost"] = 500
        await office.open()

        ingested = await shell.run("ingest", f"{site.url}/guide/", "--follow", "--every", "1d")
        (answer,) = await office.until_answered(
            await slack.mention(ann, general, "What does the fuel dock sell?")
        )
        listed = await shell.run("sources")
        forgotten = await shell.run("forget", f"{site.url}/guide/")
        (gone,) = await office.until_answered(
            await slack.mention(ann, general, "What does the fuel dock sell?")
        )

    assert (ingested.code, ingested.err) == (0, "")
    assert ingested.out == (f"2 documents added, 1 failed.\n  {site.url}/guide/lost: answered HTTP 500\n")
    assert "diesel only" in answer.visible
    assert f"{site.url}/guide/fuel" in str(answer.blocks)
    assert listed.out.startswith(f"{site.url}/guide\tsynced 20")
    assert "site+" not in ingested.out + listed.out + forgotten.out
    assert len(forgotten.out.splitlines()) == 2
    assert "diesel" not in gone.visible
    assert office.faults == []

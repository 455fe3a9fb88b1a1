"""Repositories on the command line: read, listed with how far they were read, and forgotten."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import datetime, timedelta

import pytest
from fakes.git_server import Repository, git
from fakes.harbour import FERRY, FERRY_QUESTION, HARBOUR
from fakes.web_servers import FakeSite, Served

NOON = 1_773_316_800.0  # 12 March 2026, 12:00 UTC


@pytest.fixture
def repository(machine):
    made = Repository.made(machine.folder / "wiki")
    made.commit(
        {"docs/ferry.md": FERRY, "docs/harbour.md": HARBOUR, "docs/empty.md": " ", "README.md": "Read on."}
    )
    return made


async def test_a_repository_is_read_listed_and_forgotten(machine, repository):
    address = f"git+file://{machine.folder}/wiki#docs@main"

    ingested = await machine.run("ingest", "wiki#docs@main", "--every", "90m")
    listed = await machine.run("sources")
    asked = await machine.run("ask", FERRY_QUESTION, "--docs", "wiki#docs@main", "--json")
    part = await machine.run("forget", f"{address}/harbour.md")
    repository.commit(
        {"docs/harbour.md": f"{HARBOUR}\nAnd more.\n", "docs/bus.md": "The bus leaves every hour."}
    )
    again = await machine.run("ingest", address)
    documents = await machine.run("sources", "--json")
    forgotten = await machine.run("forget", "wiki/docs")
    left = await machine.run("sources")

    assert ingested.out == "2 documents added, 1 failed.\n  wiki/docs/empty.md: is empty\n"
    source, failed, *entries = listed.out.splitlines()
    name, state, count, collection = source.split("\t")
    assert (name, count, collection) == (address, "2", "default")
    assert state.startswith("synced 20")
    assert state.endswith("; every 90m; 1 failed")
    assert failed == "  wiki/docs/empty.md: is empty"
    assert [entry.split("\t")[0] for entry in entries] == ["wiki/docs/ferry.md", "wiki/docs/harbour.md"]
    assert [each["source"] for each in asked.record["citations"]] == ["wiki/docs/ferry.md"]
    assert part.out.startswith("Forgot wiki/docs/harbour.md")
    assert again.out.splitlines()[0] == "1 document added, 1 unchanged, 1 failed."
    bus, ferry, source = json.loads(documents.out)
    assert [(each["source"], each["kind"]) for each in (bus, ferry)] == [
        ("wiki/docs/bus.md", "document"),
        ("wiki/docs/ferry.md", "document"),
    ]
    assert source.keys() >= {"source", "title", "collection", "passages", "address", "url"}
    assert (source["kind"], source["address"], source["source"]) == ("source", address, "wiki/docs")
    assert (source["read"], source["due"], source["failed"], source["every"]) == (2, 0, 1, 5400.0)
    assert source["failures"] == [{"source": "wiki/docs/empty.md", "reason": "is empty"}]
    synced, upcoming = (datetime.fromisoformat(source[name]) for name in ("synced_at", "next_at"))
    assert upcoming - synced == timedelta(minutes=90)
    assert source["failure"] is None
    assert forgotten.code == 0
    assert left.out == ""


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        (("docs", "--every", "1h"), "--every is for sources"),
        (
            ("wiki", "--every", "1h"),
            "To read what is committed in the repository wiki: `footnote ingest 'wiki#'`.",
        ),
        (
            ("https://github.com/acme/wiki", "--every", "1h"),
            "`footnote ingest git+https://github.com/acme/wiki`",
        ),
        (("https://docs.example/", "--every", "1h"), "`footnote ingest https://docs.example/ --follow`"),
        (("wiki#docs", "--every", "1"), "1 is not a span of time, as 12h or 7d"),
        (("wiki#docs", "--every", "10s"), "10s counts seconds, and 1m is the least"),
        (
            ("git+https://ann:sesame@github.com/a/b",),
            "An address with a user or a password in it is not kept",
        ),
        (("git+file:///nowhere",), "/nowhere is not a git repository"),
        (("git+http://github.com/a/b",), "git+http://github.com/a/b"),
    ],
)
async def test_what_cannot_be_a_source_is_told(machine, repository, typed, sentence):
    ran = await machine.run("ingest", *typed)

    assert ran.code != 0
    assert sentence in ran.err + ran.out
    assert "sesame" not in ran.err + ran.out


async def test_a_source_that_was_not_read_is_not_asked(machine, repository):
    ran = await machine.run("ask", FERRY_QUESTION, "--docs", "wiki#docs")

    assert ran.code == 2
    assert f"footnote ingest 'git+file://{machine.folder}/wiki#docs'" in ran.err


async def test_how_fresh_a_repository_is_shows_in_answers_and_in_the_list(machine, repository):
    await machine.run("ingest", "wiki#docs@main")
    fresh = await machine.run("ask", FERRY_QUESTION, "--docs", "wiki#docs@main", "--json")
    with closing(sqlite3.connect(machine.folder / ".footnote" / "sources.sqlite")) as database, database:
        database.execute("UPDATE sources SET synced_at = ?", (NOON,))
    unmarked = await machine.run("sources", "--json")
    machine.settings["STALE_AFTER"] = "30"
    asked = await machine.run("ask", FERRY_QUESTION, "--docs", "wiki#docs@main", "--json")
    told = await machine.run("ask", FERRY_QUESTION, "--docs", "wiki#docs@main")
    documents = await machine.run("sources", "--json")
    listed = await machine.run("sources")

    changed = {"changed_at": "2020-09-13T12:26:40Z", "unseen_since": None}
    (first,), (cited,) = fresh.record["citations"], asked.record["citations"]
    assert {name: first[name] for name in changed} == changed
    assert {name: json.loads(unmarked.out)[0][name] for name in changed} == changed
    since = {cited["unseen_since"], *(each["unseen_since"] for each in json.loads(documents.out))}
    assert since == {"2026-03-12T12:00:00Z"}
    sentence = "not seen at its source since 12 Mar 2026"
    assert f"wiki/docs/ferry.md · changed 13 Sep 2020 · {sentence}" in told.out
    source, _, *entries = listed.out.splitlines()
    assert f"; {sentence}; " in source
    assert all(entry.endswith(f"\tdefault\t{sentence}") for entry in entries)


async def test_a_repository_is_forgotten_without_its_branch_while_it_is_the_only_one(machine, repository):
    address = f"git+file://{machine.folder}/wiki#docs"
    git(repository.folder, "branch", "next")
    await machine.run("ingest", f"{address}@main")
    await machine.run("ingest", f"{address}@next", "--collection", "other")
    two = await machine.run("forget", address)
    by_path = await machine.run("forget", f"{machine.folder}/wiki")
    await machine.run("forget", f"{address}@next")
    one = await machine.run("forget", "wiki#docs")

    assert (two.code, two.err) == (
        2,
        f"Nothing is indexed under “{address}”, but {address}@main and {address}@next are: name one.\n",
    )
    assert by_path.err.endswith(f"but {address}@main and {address}@next are: name one.\n")
    assert one.code == 0
    assert (await machine.run("sources")).out == ""


@pytest.mark.parametrize(
    ("fragments", "sentence"),
    [
        (["docs@main"], "{0}#docs@main is: name that."),
        (["docs@main", "@main", "@next"], "{0}#@main, {0}#@next and {0}#docs@main are: name one."),
    ],
)
async def test_of_a_repository_that_is_only_read_in_parts_the_parts_are_told(
    machine, repository, fragments, sentence
):
    address = f"git+file://{machine.folder}/wiki"
    git(repository.folder, "branch", "next")
    for number, fragment in enumerate(fragments):
        await machine.run("ingest", f"{address}#{fragment}", "--collection", f"part-{number}")
    before = await machine.run("sources")

    told = await machine.run("forget", address)

    assert (told.code, told.err) == (
        2,
        f"Nothing is indexed under “{address}”, but {sentence.format(address)}\n",
    )
    assert (await machine.run("sources")).out == before.out


async def test_a_website_is_named_as_it_was_typed(machine):
    async with FakeSite({}, host="127.0.0.1") as site:
        followed = await machine.run("ingest", f"{site.url}/guide/", "--follow")
        asked = await machine.run("ask", FERRY_QUESTION, "--docs", f"{site.url}/sitemap.xml")
        unread = await machine.run("ask", FERRY_QUESTION, "--docs", f"site+{site.url}/guide")

    assert "site+" not in followed.out + followed.err + asked.err + unread.err
    assert f"  {site.url}/guide: 127.0.0.1 is not a public address." in followed.out
    assert asked.err.endswith(f"`footnote ingest {site.url}/sitemap.xml`.\n")
    assert unread.err.endswith(f"`footnote ingest {site.url}/guide --follow`.\n")
    assert followed.out.startswith("1 source could not be read.\n")


async def test_a_page_of_a_private_host_that_the_operator_named_is_read(machine):
    page = Served(
        body=b"<h1>Fees</h1><p>A night at the pontoon costs 18 euros.</p>", content_type="text/html"
    )
    async with FakeSite({"/fees": page}, host="127.0.0.1") as site:
        refused = await machine.run("ingest", f"{site.url}/fees")
        machine.settings["PRIVATE_HOSTS"] = "127.0.0.1"
        ingested = await machine.run("ingest", f"{site.url}/fees")
        again = await machine.run("ingest", f"{site.url}/fees")

    assert refused.code == 1
    assert (ingested.out, again.out) == ("1 document added.\n", "1 document unchanged.\n")

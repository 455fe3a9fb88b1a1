"""The real command on data folders of other versions: carried on with, or refused with the command that mends it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest
from fakes.harbour import CUP_QUESTION, FERRY_QUESTION, FRANCE
from fakes.version_1 import EDITED, PAGE, STORES, lay_down


@pytest.fixture
def first(machine):
    """A machine whose data folder version 1 wrote."""
    lay_down(machine.folder)
    return machine


def opened(machine, store, ending=""):
    return closing(sqlite3.connect(machine.folder / ".footnote" / f"{store}.sqlite{ending}"))


def change(machine, store, statement):
    with opened(machine, store) as database, database:
        database.execute(statement)


def content_of(machine, store, ending=""):
    with opened(machine, store, ending) as database:
        return list(database.iterdump())


async def sources(machine):
    listed = await machine.run("sources", "--json")
    return {(entry["collection"], entry["source"]) for entry in json.loads(listed.out)}


EVERYTHING = {
    ("default", "docs/ferry.md"), ("default", "docs/harbour.md"), ("default", PAGE),
    ("channel-slack-T1-C1", "winter.md"),
}  # fmt: skip


# Version 1


async def test_documents_of_version_1_are_listed_answered_from_and_in_step(first):
    listed = await sources(first)
    asked = await first.run("ask", FERRY_QUESTION, "--json")
    page = await first.run("ask", "When does high water come at the pier?", "--passages", "1", "--json")
    ingested = await first.run("ingest", "docs")

    assert listed == EVERYTHING
    assert (asked.code, asked.err) == (0, "")
    assert asked.record["citations"][0]["source"] == "docs/ferry.md"
    assert asked.record["citations"][0]["quote"] in (first.docs / "ferry.md").read_text()
    assert page.record["passages"][0]["source"] == PAGE
    assert ingested.out == "2 documents unchanged.\n"


async def test_a_conversation_of_version_1_is_followed_up_and_its_proposal_decided(first, searxng):
    followed = await first.run("ask", "And bicycles?", "--thread", "ferry", "--json")
    again = await first.run("ask", CUP_QUESTION, "--thread", "ferry", "--json")
    proposal = again.record["proposal"]
    decided = await first.run("decide", proposal["id"], "--approve", "--json")

    assert followed.record["outcome"] == "answered"
    assert "bicycles" in followed.record["text"]
    assert (decided.code, decided.err) == (0, "")
    assert [request.query["q"] for request in searxng.requests] == [proposal["query"]]
    assert decided.record["citations"][0]["url"] == FRANCE.url


async def test_a_decision_that_a_kill_cut_off_sends_the_query_that_a_person_had_edited(first, searxng):
    chat = await first.run("chat", "--thread", "cut")

    assert [request.query["q"] for request in searxng.requests] == [EDITED]
    assert EDITED in chat.out


# Another version, and files of others


async def test_a_file_that_is_none_of_ours_stays_where_it_is(first):
    theirs = first.folder / ".footnote" / "theirs.sqlite"
    with closing(sqlite3.connect(theirs)) as database:
        database.execute("CREATE TABLE notes (text TEXT)")

    rebuilt = await first.run("ingest", "--rebuild")

    assert rebuilt.code == 0
    assert theirs.exists()


async def test_a_folder_of_a_newer_version_is_refused_and_left_alone(first):
    for store in STORES:
        change(first, store, "PRAGMA user_version = 99")
    before = {store: content_of(first, store) for store in STORES}

    asked = await first.run("ask", FERRY_QUESTION)
    rebuilt = await first.run("ingest", "--rebuild")

    assert (asked.code, rebuilt.code) == (2, 2)
    assert "was written by a newer version of Footnote. Install that version again" in asked.err
    assert {store: content_of(first, store) for store in STORES} == before

"""The real command on data folders of other versions: carried on with, or refused with the command that mends it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest
from fakes.version_1 import EDITED, PAGE, STORES, lay_down
from harbour import CUP_QUESTION, FERRY_QUESTION, FRANCE

OTHERS = [store for store in STORES if store != "library"]
UNRELEASED = "is from before the first release of Footnote. Run `footnote ingest --rebuild`:"


@pytest.fixture
def first(machine):
    """A machine whose data folder version 1 wrote."""
    lay_down(machine.folder)
    return machine


@pytest.fixture
def unreleased(first):
    """The same from before the first release: its tables have no version, and some have other columns."""
    for store in STORES:
        change(first, store, "PRAGMA application_id = 0")
    change(first, "library", "ALTER TABLE documents ADD COLUMN language TEXT")
    change(first, "rooms", "ALTER TABLE threads DROP COLUMN since")
    return first


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


# Before the first release


@pytest.mark.parametrize("command", [("ask", FERRY_QUESTION), ("sources",), ("ingest", "docs"), ("chat",)])
async def test_a_folder_from_before_the_first_release_is_refused_and_left_alone(unreleased, command):
    before = {store: content_of(unreleased, store) for store in STORES}

    refused = await unreleased.run(*command)

    assert (refused.code, refused.out) == (2, "")
    assert f"library.sqlite {UNRELEASED}" in refused.err
    assert len(refused.err.splitlines()) == 1
    assert {store: content_of(unreleased, store) for store in STORES} == before


async def test_one_command_builds_it_anew_and_deletes_nothing(unreleased):
    before = {store: content_of(unreleased, store) for store in STORES}

    rebuilt = await unreleased.run("ingest", "--rebuild")

    assert rebuilt.code == 0, rebuilt.err
    assert "1 page from the web came over whole." in rebuilt.err
    assert await sources(unreleased) == EVERYTHING
    for store in OTHERS:
        assert f"{store}.sqlite is from before the first release: it lies in" in rebuilt.err
    assert {store: content_of(unreleased, store, ".old") for store in STORES} == before
    asked = await unreleased.run("ask", FERRY_QUESTION, "--thread", "ferry", "--json")
    assert (asked.code, asked.err) == (0, "")
    assert asked.record["citations"][0]["source"] == "docs/ferry.md"


@pytest.mark.parametrize("store", ["conversations", "spending"])
async def test_a_single_file_from_before_the_first_release_is_told_and_begun_anew(first, store):
    first.settings |= {"GOOGLE_API_KEY": "none", "TOKENS_PER_DAY": "1000"}
    change(first, store, "PRAGMA application_id = 0")

    refused = await first.run("ask", FERRY_QUESTION)
    rebuilt = await first.run("ingest", "--rebuild")

    assert refused.code == 2
    assert f"{store}.sqlite {UNRELEASED}" in refused.err
    assert f"{store}.sqlite is from before the first release: it lies in" in rebuilt.err
    assert await sources(first) == EVERYTHING


async def test_a_file_that_is_none_of_ours_stays_where_it_is(unreleased):
    theirs = unreleased.folder / ".footnote" / "theirs.sqlite"
    with closing(sqlite3.connect(theirs)) as database:
        database.execute("CREATE TABLE notes (text TEXT)")

    rebuilt = await unreleased.run("ingest", "--rebuild")

    assert rebuilt.code == 0
    assert theirs.exists()


async def test_turns_kept_elsewhere_are_begun_anew_too(first, tmp_path):
    first.settings |= {"DATABASE_URL": f"sqlite:///{tmp_path}/queue.sqlite"}
    change(first, "turns", "PRAGMA application_id = 0")
    (first.folder / ".footnote" / "turns.sqlite").rename(tmp_path / "queue.sqlite")

    rebuilt = await first.run("ingest", "--rebuild")

    assert (
        f"queue.sqlite is from before the first release: it lies in {tmp_path}/queue.sqlite.old"
        in rebuilt.err
    )
    assert not (tmp_path / "queue.sqlite").exists()


async def test_a_folder_of_a_newer_version_is_refused_and_left_alone(first):
    for store in STORES:
        change(first, store, "PRAGMA user_version = 99")
    before = {store: content_of(first, store) for store in STORES}

    asked = await first.run("ask", FERRY_QUESTION)
    rebuilt = await first.run("ingest", "--rebuild")

    assert (asked.code, rebuilt.code) == (2, 2)
    assert "was written by a newer version of Footnote. Install that version again" in asked.err
    assert {store: content_of(first, store) for store in STORES} == before

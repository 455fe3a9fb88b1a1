"""A disk that refuses: what the person is told, and that everything goes on once it does not."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from fakes.harbour import FERRY_QUESTION

ASK = ("ask", FERRY_QUESTION, "--docs", "docs", "--thread", "sark", "--json")


async def test_a_full_disk_is_told_in_a_sentence_and_nothing_that_was_there_is_lost(machine):
    before = await machine.run(*ASK)
    files = [file.stat().st_size for file in (machine.folder / ".footnote").glob("*.sqlite")]
    machine.largest_file = min(files)

    full = await machine.run("ask", "Does it take bicycles?", *ASK[2:])
    machine.largest_file = 0
    after = await machine.run("ask", "Does it take bicycles?", *ASK[2:])

    assert before.record["outcome"] == after.record["outcome"] == "answered"
    assert full.code in (1, 2)
    assert "refused" in full.err + full.out or "disk" in full.err + full.out
    assert "Traceback" not in full.err


BOTS = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1"}


async def test_bots_that_start_on_a_full_disk_end_with_a_sentence(machine):
    await machine.run(*ASK)
    machine.settings |= BOTS
    machine.largest_file = 1024

    ran = await machine.run("run", "slack")

    assert ran.code == 2
    assert "rooms.sqlite cannot be used: the disk gave an error." in ran.err
    assert "Traceback" not in ran.err


async def test_bots_whose_rooms_are_damaged_are_told_what_to_do(machine):
    await machine.run(*ASK)
    machine.settings |= BOTS
    (machine.folder / ".footnote" / "rooms.sqlite").write_bytes(b"no database" * 1000)

    ran = await machine.run("run", "slack")

    assert ran.code == 2
    assert "rooms.sqlite is damaged. Move it away:" in ran.err


@pytest.mark.long
async def test_conversations_that_another_program_holds_are_told_after_ten_seconds(machine):
    await machine.run(*ASK)
    file = machine.folder / ".footnote" / "conversations.sqlite"
    with closing(sqlite3.connect(file)) as holder:
        holder.execute("BEGIN EXCLUSIVE")

        held = await machine.run(*ASK)
        holder.rollback()
    after = await machine.run(*ASK)

    assert held.code in (1, 2)
    assert "another program holds it" in held.err + held.out
    assert (after.code, after.err) == (0, "")
    assert after.record["outcome"] == "answered"

"""The real command on the data folder of the first version: everything is found again."""

from __future__ import annotations

import pytest
from fakes.older import PAGE, lay_down, write_documents
from harbour import FERRY_QUESTION, FRANCE

OPEN_PROPOSAL = "p9b12da347c"  # in the conversation "ferry"


@pytest.fixture
def first(machine):
    """A machine whose data folder the first version wrote."""
    docs = write_documents(machine.docs)
    for script, name in (("library_0", "library"), ("conversations", "conversations")):
        lay_down(script, machine.folder / ".footnote" / f"{name}.sqlite", docs=docs)
    return machine


def queries(searxng):
    return [request.query["q"] for request in searxng.requests]


async def test_its_documents_are_listed_answered_from_and_brought_in_step(first):
    listed = await first.run("sources")
    asked = await first.run("ask", FERRY_QUESTION, "--json")
    page = await first.run("ask", "When does high water come at the pier?", "--passages", "1", "--json")
    ingested = await first.run("ingest", "docs")

    assert [line.split("\t")[0] for line in listed.out.splitlines()] == [
        "docs/club.txt", "docs/ferry.md", "docs/harbour.md", PAGE,
    ]  # fmt: skip
    assert (asked.code, asked.err) == (0, "")
    assert asked.record["citations"][0]["source"] == "docs/ferry.md"
    assert asked.record["citations"][0]["quote"] in (first.docs / "ferry.md").read_text()
    assert page.record["passages"][0]["source"] == PAGE
    assert ingested.out == "3 documents unchanged.\n"


async def test_a_proposal_that_waited_is_decided_and_sends_what_it_said(first, searxng):
    proposed = await first.run("decide", OPEN_PROPOSAL, "--approve", "--json")

    assert (proposed.code, proposed.err) == (0, "")
    assert queries(searxng) == ["Who won the 1998 football world cup"]
    assert proposed.record["outcome"] == "answered"
    assert proposed.record["citations"][0]["url"] == FRANCE.url


async def test_a_follow_up_knows_what_was_said_before(first):
    followed = await first.run("ask", "And bicycles?", "--thread", "ferry", "--json")

    assert followed.record["outcome"] == "answered"
    assert "bicycles" in followed.record["text"]


async def test_a_decision_cut_off_by_a_kill_sends_the_query_that_a_person_had_edited(first, searxng):
    chat = await first.run("chat", "--thread", "cut")

    assert queries(searxng) == ["petrol price France 1998"]
    assert "petrol price France 1998" in chat.out + chat.err

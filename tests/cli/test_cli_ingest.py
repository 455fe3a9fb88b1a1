"""``footnote ingest``, ``sources``, ``forget`` and ``graph``."""

from __future__ import annotations

import json

from fakes.harbour import FERRY_QUESTION
from fakes.tiny_network import write_tiny_network


async def test_a_sync_tells_what_it_did_and_why_files_failed(machine):
    (machine.docs / "broken.pdf").write_bytes(b"%PDF-1.7 nothing more")
    (machine.docs / "empty.md").write_text(" ")

    first = await machine.run("ingest", "docs")
    (machine.docs / "harbour.md").write_text("# Harbour\n\nThe harbour is closed for good.\n")
    (machine.docs / "ferry.md").unlink()
    (machine.docs / "bus.md").write_text("# Bus\n\nThe bus leaves every hour.\n")
    second = await machine.run("ingest", "docs")

    assert first.code == 0
    summary, broken, empty = first.out.splitlines()
    assert second.code == 0, second.err
    assert summary == "2 documents added, 2 failed."
    assert broken.startswith("  docs/broken.pdf: ")
    assert empty == "  docs/empty.md: is empty"
    assert second.out.splitlines()[0] == "1 document added, 1 changed, 1 removed, 2 failed."


async def test_when_nothing_could_be_read_it_failed(machine):
    (machine.folder / "note.bin").write_bytes(b"\x00\x01")

    ran = await machine.run("ingest", "note.bin", "http://127.0.0.1:9/page")

    assert ran.code == 1
    assert ran.out.splitlines()[0] == "2 documents failed."
    assert "note.bin: is of a kind that is not read (.bin)" in ran.out
    assert "http://127.0.0.1:9/page: " in ran.out


async def test_collections_are_listed_and_their_documents_forgotten(machine):
    await machine.run("ingest", "docs/ferry.md", "--collection", "ferries")
    await machine.run("ingest", "docs/harbour.md")

    listed = await machine.run("sources", "--json")
    forgotten = await machine.run("forget", "ferry.md")
    left = await machine.run("sources")

    assert [(each["source"], each["collection"]) for each in json.loads(listed.out)] == [
        ("harbour.md", "default"),
        ("ferry.md", "ferries"),
    ]
    assert forgotten.out == "Forgot ferry.md (2 passages).\n"
    assert left.out.split("\t")[0] == "harbour.md"
    assert left.out.count("\n") == 1


async def test_an_empty_index_says_what_to_do(machine):
    ran = await machine.run("sources")

    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith("Nothing is indexed yet. Run `footnote ingest PATH`")
    assert (await machine.run("sources", "--json")).out == "[]\n"


async def test_passages_are_embedded_after_they_can_be_searched_and_the_model_is_remembered(machine):
    write_tiny_network(machine.folder / "network", words=("ferry", "sark", "pier", "boat"))
    machine.settings["EMBEDDING_MODEL"] = "network"

    ingested = await machine.run("ingest", "docs")
    asked = await machine.run("ask", FERRY_QUESTION, "--json")
    machine.settings["EMBEDDING_MODEL"] = "other"
    write_tiny_network(machine.folder / "other", words=("ferry", "harbour"))
    mismatch = await machine.run("ask", FERRY_QUESTION, "--json")
    rebuilt = await machine.run("ingest", "--rebuild")
    again = await machine.run("ask", FERRY_QUESTION, "--json")

    assert ingested.out == "2 documents added.\n4 passages indexed by meaning too.\n"
    assert "half past nine" in asked.record["text"]
    assert (mismatch.code, mismatch.out) == (2, "")
    assert "Run `footnote ingest --rebuild`" in mismatch.err
    assert "4 passages indexed by meaning too." in rebuilt.out
    assert "half past nine" in again.record["text"]


async def test_a_conversation_embeds_in_the_background_and_says_so_once(machine):
    write_tiny_network(machine.folder / "network", words=("ferry", "sark", "pier", "boat"))
    machine.settings["EMBEDDING_MODEL"] = "network"
    process = await machine.start("chat", "docs")

    told = await process.stderr.readline()
    process.stdin.write(FERRY_QUESTION.encode() + b"\n")
    process.stdin.close()
    answer, goodbye = await process.stdout.read(), await process.stderr.read()

    assert await process.wait() == 0
    assert told == b"4 passages can now be found by meaning too.\n"
    assert b"half past nine" in answer
    assert goodbye.startswith(b"Come back with:")


async def test_without_a_network_the_reason_is_said_once_and_ingest_tries_again(machine):
    machine.settings["EMBEDDING_MODEL"] = "auto"

    first = await machine.run("ask", FERRY_QUESTION, "--docs", "docs", "--json")
    second = await machine.run("ask", FERRY_QUESTION, "--docs", "docs", "--json")
    insisting = await machine.run("ingest", "docs")

    assert first.err.startswith("Searching by words alone")
    assert second.err == ""
    assert insisting.err.startswith("Searching by words alone")
    assert first.record["text"] == second.record["text"]


async def test_the_graph_is_printed_as_mermaid(machine):
    graph = await machine.run("graph")

    assert graph.code == 0
    assert "graph TD" in graph.out
    assert "web_search" in graph.out


async def test_a_forgotten_document_stays_forgotten_until_it_is_asked_for(machine):
    await machine.run("ingest", "docs")
    await machine.run("forget", "docs/ferry.md")

    asked = await machine.run("ask", FERRY_QUESTION, "--json")
    named = await machine.run("ask", FERRY_QUESTION, "--docs", "docs/ferry.md", "--json")

    assert "half past nine" not in asked.out
    assert "half past nine" in named.out

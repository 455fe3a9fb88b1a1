"""A question that the documents do not answer, and the search that a person allows or declines."""

from __future__ import annotations

import pytest
from fakes.harbour import CUP_QUESTION, FRANCE


def queries(searxng):
    return [request.query["q"] for request in searxng.requests]


async def test_a_search_is_proposed_and_happens_only_when_it_is_allowed(machine, searxng):
    asked = await machine.run("ask", CUP_QUESTION, "--docs", "docs", "--thread", "cup", "--json")
    assert asked.code == 0
    assert asked.record["outcome"] == "approval_needed"
    assert asked.record["proposal"]["query"] in asked.record["text"]
    assert queries(searxng) == []

    allowed = await machine.run("decide", asked.record["proposal"]["id"], "--approve", "--json")

    assert (allowed.code, allowed.err) == (0, "")
    assert queries(searxng) == [asked.record["proposal"]["query"]]
    assert allowed.record["outcome"] == "answered"
    assert allowed.record["grounding"] == "web"
    assert allowed.record["citations"][0]["url"] == FRANCE.url
    assert allowed.record["thread"] == asked.record["thread"]

    again = await machine.run("decide", asked.record["proposal"]["id"], "--approve", "--json")

    assert again.code == 1
    assert again.record["outcome"] == "failed"
    assert "ada already allowed this search at" in again.record["reason"]
    assert len(queries(searxng)) == 1


async def test_what_is_sent_is_the_edited_query_and_a_refusal_sends_nothing(machine, searxng):
    first = await machine.run("ask", CUP_QUESTION, "--docs", "docs", "--thread", "cup", "--json")
    edited = await machine.run(
        "decide",
        first.record["proposal"]["id"],
        "--approve",
        "--query",
        " world cup\n1998 ",
        "--thread",
        "cup",
    )
    second = await machine.run("ask", "Who won the 1974 one?", "--thread", "cup2", "--json")
    denied = await machine.run("decide", second.record["proposal"]["id"], "--deny", "--json")

    assert queries(searxng) == ["world cup 1998"]
    assert edited.out.startswith("From the web, not from your documents.")
    assert "127.0.0.1 · 12 Jul 1998" in edited.out
    assert (denied.code, denied.record["outcome"]) == (0, "no_answer")
    assert "Nothing was sent to the web." in denied.record["text"]


async def test_a_search_that_failed_may_be_allowed_again(machine, searxng):
    asked = await machine.run("ask", CUP_QUESTION, "--docs", "docs", "--json")
    searxng.will_answer(403)
    proposal = asked.record["proposal"]["id"]

    failed = await machine.run("decide", proposal, "--approve")
    answered = await machine.run("decide", proposal, "--approve", "--json")

    assert failed.code == 1
    assert "SearXNG" in failed.out
    assert answered.record["outcome"] == "answered"


async def test_the_text_of_a_proposal_tells_how_to_decide(machine, searxng):
    ran = await machine.run("ask", CUP_QUESTION, "--docs", "docs")

    assert "I would search SearXNG for:\n\n> Who won the 1998 football world cup" in ran.out
    assert "footnote decide p" in ran.out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["p0", "--approve"], "There is no proposed web search with the id p0."),
        (["p0", "--deny", "--thread", "nowhere"], "There is no conversation called nowhere."),
        (
            ["p0", "--deny", "--query", "x"],
            "--query names what to search for instead; use it with --approve.",
        ),
    ],
)
async def test_a_decision_about_nothing_is_told_in_a_sentence(machine, arguments, sentence):
    ran = await machine.run("decide", *arguments, "--json")

    assert (ran.code, ran.out, ran.err) == (2, "", sentence + "\n")

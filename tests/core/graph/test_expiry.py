"""Until when a proposal can be decided: by the time at which somebody did, not by the one at which it is carried out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.scripted import (
    WEB,
    ScriptedDocuments,
    ScriptedReasoner,
    ScriptedWeb,
    assistant_over,
    decision,
    question,
)

NOON, HOUR = 1_700_000_000.0, 3_600.0
EXPIRES = NOON + HOUR


def decided(proposal, at, verdict="approve", **more):
    return replace(decision(proposal.id, verdict, **more), decided_at=at)


@pytest.fixture
def web():
    return ScriptedWeb(hits=WEB)


@pytest.fixture
async def assistant(tmp_path, web):
    reasoner = ScriptedReasoner(sufficient=False, relevance=lambda _hit: "incorrect")
    documents = ScriptedDocuments(confidence=0.1)
    async with assistant_over(
        tmp_path, reasoner, documents, web=web, proposals_expire=HOUR, now=lambda: NOON
    ) as assistant:
        yield assistant


async def first_proposal(assistant):
    return (await assistant.proposals(question().conversation))[0]


async def test_a_proposal_expires_so_long_after_it_was_made(assistant):
    proposed = await assistant.run(question())

    assert proposed.proposal.expires_at == EXPIRES
    assert [proposed.proposal.is_open_at(at) for at in (NOON, EXPIRES - 0.001, EXPIRES)] == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize("late", [0.0, 1.0, 30 * 24 * HOUR])
@pytest.mark.parametrize("verdict", ["approve", "deny"])
async def test_a_press_at_the_moment_of_the_expiry_or_later_sends_nothing(assistant, web, verdict, late):
    proposed = await assistant.run(question())

    outcome = await assistant.run(decided(proposed.proposal, EXPIRES + late, verdict))

    assert outcome.kind == "failed"
    assert "expired" in outcome.reason
    assert web.sent == []


async def test_what_was_pressed_just_before_is_searched_for_and_the_expiry_then_says_nothing(assistant, web):
    proposed = await assistant.run(question())

    await assistant.run(decided(proposed.proposal, EXPIRES - 0.001))
    expiry = await assistant.run(decided(proposed.proposal, EXPIRES, "expire", id="x1"))

    assert len(web.sent) == 1
    assert not expiry.is_shown
    assert (await first_proposal(assistant)).verdict == "approve"


async def test_once_the_expiry_is_recorded_an_earlier_press_that_arrives_late_is_told(assistant, web):
    proposed = await assistant.run(question())

    expiry = await assistant.run(decided(proposed.proposal, EXPIRES, "expire", id="x1"))
    again = await assistant.run(decided(proposed.proposal, EXPIRES, "expire", id="x2"))
    press = await assistant.run(decided(proposed.proposal, EXPIRES - 1, id="d1"))

    assert (expiry.is_shown, expiry.kind, again.is_shown) == (True, "no_answer", False)
    assert (press.kind, "expired" in press.reason) == ("failed", True)
    assert web.sent == []


@pytest.mark.parametrize("at", [NOON, EXPIRES - 0.001])
async def test_nothing_expires_before_its_time(assistant, at):
    proposed = await assistant.run(question())

    early = await assistant.run(decided(proposed.proposal, at, "expire"))

    assert not early.is_shown
    assert (await first_proposal(assistant)).is_open


async def test_a_search_that_was_allowed_in_time_and_failed_can_be_allowed_again_after_it(assistant, web):
    proposed = await assistant.run(question())
    web.trouble = "DuckDuckGo is busy."
    failed = await assistant.run(decided(proposed.proposal, EXPIRES - 1, id="d1"))
    web.trouble = ""

    expiry = await assistant.run(decided(proposed.proposal, EXPIRES, "expire", id="x1"))
    again = await assistant.run(decided(proposed.proposal, EXPIRES + 1, id="d2"))

    assert (failed.kind, expiry.is_shown) == ("failed", False)
    assert "expired" not in (again.reason or "")
    assert len(web.sent) == 2


async def test_the_expiry_of_a_forgotten_conversation_leaves_nothing(assistant):
    proposed = await assistant.run(question())
    await assistant.forget(question().conversation)

    expiry = await assistant.run(decided(proposed.proposal, EXPIRES, "expire"))

    assert not expiry.is_shown
    assert not await assistant.knows(question().conversation)

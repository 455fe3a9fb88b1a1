"""A person who is mentioned has a name for the model, the card and the web, and never an id."""

from __future__ import annotations

import pytest
from fakes.gemini import FakeGemini
from fakes.office import CUP, FRANCE, PONTOON
from fakes.slack.faults import Refusal
from fakes.web_servers import FakeSearXNG

SARK = "Does anybody know when the ferry to Sark leaves?"


@pytest.fixture
async def searxng(office):
    async with FakeSearXNG([FRANCE]) as engine:
        office.settings |= {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        yield engine


@pytest.fixture
def people(slack, ann, general):
    """Two of them, and the channel they are in."""
    bob = slack.add_user("bob")
    slack.state.conversations[general].members.append(bob)
    return ann, bob, general


async def proposed(office, slack, people):
    """The card for a question that mentions somebody."""
    ann, bob, general = people
    asked = await slack.mention(ann, general, f"{CUP.rstrip('?')}, <@{bob}>")
    (card,) = await office.until_answered(asked)
    return asked, card


async def test_the_web_is_asked_with_the_name_that_stands_on_the_card(office, slack, searxng, people):
    ann, bob, _ = people
    await office.open()
    asked, card = await proposed(office, slack, people)

    await slack.press(card, "approve", ann)
    await office.until_answered(asked, 2)

    (query,) = [request.query["q"] for request in searxng.requests]
    assert query in card.revisions[-2].visible
    assert query.endswith("@bob")
    assert bob not in card.revisions[-2].visible
    assert (slack.rejected, office.faults) == ([], [])


async def test_somebody_whose_name_slack_does_not_say_has_none(office, slack, searxng, people):
    ann, bob, _ = people
    slack.faults.chances["users.info"] = {Refusal("user_not_found"): 1.0}
    await office.open()
    asked, card = await proposed(office, slack, people)

    await slack.press(card, "approve", ann)
    await office.until_answered(asked, 2)

    (query,) = [request.query["q"] for request in searxng.requests]
    assert query.endswith("@somebody")
    assert bob not in card.revisions[-2].visible


async def test_a_query_that_is_written_with_a_mention_is_sent_with_the_name(office, slack, searxng, people):
    ann, bob, general = people
    await office.open()
    asked = await slack.mention(ann, general, CUP)
    (card,) = await office.until_answered(asked)

    await slack.mention(ann, general, f"approve: goals of <@{bob}> in 1998", asked.ts)
    await office.until_answered(asked, 2)

    assert [request.query["q"] for request in searxng.requests] == ["goals of @bob in 1998"]
    assert bob not in card.visible


async def test_the_model_reads_the_thread_and_the_question_with_names(office, slack, people):
    ann, bob, general = people
    async with FakeGemini() as model:
        office.settings |= {"GOOGLE_API_KEY": model.api_key, "GOOGLE_GEMINI_BASE_URL": model.base_url}
        await office.open()
        root = await slack.say(bob, general, f"<@{ann}> {SARK}")
        called = await slack.mention(ann, general, f"what does <@{bob}> ask for?", root.ts)
        await office.until_answered(called)
        follow_up = await slack.mention(ann, general, f"And for <@{bob}>: {PONTOON}", root.ts)
        await office.until_answered(follow_up, 2)

    prompts = [call.prompt for call in model.calls]
    assert f"thread message>>\nbob: @ann {SARK}\n<<" in prompts[0]
    assert any("what does @bob ask for?" in prompt for prompt in prompts)
    assert not [prompt for prompt in prompts if ann in prompt or bob in prompt]

"""Footnote as people in Slack meet it: the real command beside a Slack of ours."""

from __future__ import annotations

import asyncio

import pytest
from fakes.office import CUP, FERRY, FERRY_ANSWER, FRANCE, PONTOON
from fakes.patience import PATIENCE
from fakes.slack import DUPLICATES
from fakes.web_servers import FakeSearXNG


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


async def test_a_mention_is_answered_in_its_thread_and_followed_up_without_one(office, slack, ann, general):
    await office.open()

    asked = await slack.mention(ann, general, FERRY)
    await slack.until(lambda: slack.sessions.get((general, asked.ts)))
    (answer,) = await office.until_answered(asked)
    follow_up = await slack.say(ann, general, "And does it take cars?", asked.ts)
    _, second = await office.until_answered(follow_up, 2)
    thread_context = await slack.say(ann, general, "Lunch, anyone?")
    code = await office.stop()

    assert slack.sessions[general, asked.ts][0] == "processing"
    assert len(answer.revisions) == 1
    assert FERRY_ANSWER in answer.visible
    assert "handbook.md" in answer.visible
    assert not answer.unfurl_links
    assert "no cars" in second.visible
    assert slack.replies(general, thread_context.ts) == []
    assert (slack.rejected, office.faults, code) == ([], [], 0)
    assert FERRY not in office.log
    assert "xoxb" not in office.log


async def ask_in_four_ways(office, slack, ann, general, count):
    """Each question is brought again in every way there is, at once and after its answer."""
    asked = [await slack.mention(ann, general, FERRY) for _ in range(count)]
    for again in range(2):
        for number, each in enumerate(asked):
            await slack.duplicate(each, DUPLICATES[(number + again) % len(DUPLICATES)])
            await office.until_answered(each)
    marker = await slack.mention(ann, general, PONTOON)
    await office.until_answered(marker)
    return [len(slack.replies(general, each.ts)) for each in asked]


@pytest.mark.parametrize("count", [4, pytest.param(500, marks=pytest.mark.long)])
async def test_a_question_that_is_brought_in_four_ways_is_answered_once(office, slack, ann, general, count):
    await office.open()

    answers = await ask_in_four_ways(office, slack, ann, general, count)

    assert answers == [1] * count


async def test_words_to_the_bot_are_answered(office, slack, ann, general):
    await office.open()
    asked = await slack.mention(ann, general, FERRY)
    await office.until_answered(asked)

    said = {
        words: await slack.mention(ann, general, words)
        for words in ("help", "", "sources", "stop", "follow mention", "use nothing")
    }
    replies = {
        words: (await office.until_answered(message))[0].visible
        for words, message in said.items()
        if words not in ("stop", "use nothing")
    }
    told = await slack.until(lambda: (seen := slack.ephemerals(ann))[1:] and [each.visible for each in seen])
    forget = await slack.mention(ann, general, "forget", asked.ts)
    await office.until_answered(forget, 2)
    unheard = await slack.say(ann, general, PONTOON, asked.ts)
    await slack.until_acked(unheard)

    assert "1 document" in replies["help"] == replies[""]
    assert "handbook.md" in replies["sources"]
    assert "only when I am mentioned" in replies["follow mention"]
    assert any("no collection" in each for each in told)
    assert any(each.startswith("Nothing is running") for each in told)
    assert slack.replies(general, said["use nothing"].ts) == []
    assert len(slack.replies(general, asked.ts)) == 2
    assert (slack.rejected, office.faults) == ([], [])


async def test_what_a_private_channel_learned_is_read_there_alone(office, slack, ann, general):
    secret = slack.add_channel("secret", ann, is_private=True)
    await office.open()
    learn = await slack.mention(
        ann,
        secret,
        "learn",
        files=[("vault.md", b"# Vault\n\nThe vault's door opens with the number 4711.\n")],
    )
    (learned,) = await office.until_answered(learn)

    inside = await slack.mention(ann, secret, "With which number does the vault's door open?")
    outside = await slack.mention(ann, general, "With which number does the vault's door open?")
    (found,) = await office.until_answered(inside)
    (hidden,) = await office.until_answered(outside)
    use = await slack.mention(ann, general, f"use channel-slack-{slack.team}-{secret}")
    (refused,) = await slack.until(lambda: slack.ephemerals(ann))

    assert "1 document added" in learned.visible
    assert "4711" in found.visible
    assert "4711" not in hidden.visible
    assert "no collection" in refused.visible
    assert slack.replies(secret, use.ts) == []
    assert (slack.rejected, office.faults) == ([], [])


async def test_in_a_direct_message_an_approver_decides_alone(office, slack, searxng, people):
    ann, bob, _ = people
    office.settings |= {
        "WEB_APPROVAL": "approvers",
        "WEB_APPROVERS": slack.add_usergroup("librarians", ann, bob),
    }
    await office.open()

    asked = await slack.dm(ann, CUP)
    (card,) = await office.until_answered(asked)

    assert card.visible.endswith("Waiting for ann. Nothing is sent until then.")


async def test_oauth_variables_in_the_environment_do_not_take_the_bot_tokens_place(
    office, slack, ann, general
):
    office.settings |= {"SLACK_CLIENT_ID": "1.2", "SLACK_CLIENT_SECRET": "s3cret"}
    await office.open()

    asked = await slack.mention(ann, general, FERRY)
    (answer,) = await office.until_answered(asked)

    assert FERRY_ANSWER in answer.visible


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"SLACK_BOT_TOKEN": "xoxb-wrong"}, "Slack refused SLACK_BOT_TOKEN: invalid_auth."),
        ({"SLACK_APP_TOKEN": "xapp-wrong"}, "Slack refused SLACK_APP_TOKEN: invalid_auth."),
        ({"SLACK_BOT_TOKEN": ""}, "There is nothing to serve"),
    ],
)
async def test_tokens_that_will_never_do_end_the_command_with_a_sentence(office, settings, sentence):
    office.settings |= settings

    await office.open(is_connected=False)
    code = await asyncio.wait_for(office.process.wait(), PATIENCE)

    assert code == 2
    assert sentence in office.log
    assert "Traceback" not in office.log


async def test_a_misspelt_limit_is_told_at_the_start(office):
    (office.folder / ".env").write_text("QUESTIONS_PER_PERSONS=20/hour\n")

    await office.open()

    assert "QUESTIONS_PER_PERSONS in .env is no setting of Footnote and does nothing." in office.log

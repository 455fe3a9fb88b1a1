"""Slack refuses what the bot would say: whoever asked learns what is in the way, whatever the code is."""

from __future__ import annotations

import pytest
from fakes.office import FERRY, FERRY_ANSWER
from fakes.slack import Refusal

#: Errors that no other try gets past, "chat.postMessage", and the words by which each is explained.
REFUSALS = {
    "channel_not_found": "is gone",
    "not_in_channel": "Invite me there",
    "restricted_action_read_only_channel": "do not let me write there",
    "restricted_action_thread_locked": "do not let me write there",
    "thread_locked": "do not let me write there",
    "the_moon_is_full": "the moon is full",
}


def direct_messages(slack, user):
    return [*slack.state.direct(slack.team, [user, slack.bot]).messages.values()]


async def told_directly(slack, user):
    (told,) = await slack.until(lambda: direct_messages(slack, user))
    return told.visible


@pytest.mark.parametrize("code", REFUSALS)
async def test_a_refused_first_sign_is_explained_to_its_asker_alone(office, slack, ann, general, code):
    await office.open()
    slack.state.conversations[general].refusal = code
    asked = await slack.mention(ann, general, FERRY)

    told = await told_directly(slack, ann)
    slack.state.conversations[general].refusal = ""
    again = await slack.mention(ann, general, FERRY)
    (answer,) = await office.until_answered(again)

    assert REFUSALS[code] in told
    assert FERRY_ANSWER in answer.visible
    assert slack.replies(general, asked.ts) == []
    assert {entry["level"] for entry in office.faults} == {"warning"}


async def test_who_cannot_be_told_anywhere_is_named_in_the_log_once(office, slack, ann, general):
    await office.open()
    slack.state.conversations[general].is_archived = True
    slack.state.direct(slack.team, [ann, slack.bot]).refusal = "cannot_dm_bot"
    await slack.mention(ann, general, FERRY)

    await slack.until(lambda: "no place to explain a refusal" in office.log)

    assert office.log.count("no place to explain a refusal") == 1
    assert {entry["level"] for entry in office.faults} == {"warning"}


async def test_a_private_reply_to_a_command_that_reaches_nobody_is_not_said_in_the_channel(
    office, slack, ann, general
):
    await office.open()
    slack.faults.queue("chat.postEphemeral", Refusal("user_not_in_channel"))
    slack.state.direct(slack.team, [ann, slack.bot]).refusal = "cannot_dm_bot"
    asked = await slack.mention(ann, general, "learn")

    await slack.until(lambda: "no place to explain a refusal" in office.log)

    said = [message.visible for message in slack.state.conversations[general].messages.values()]
    assert len(said) == 1  # the command
    assert slack.replies(general, asked.ts) == []
    assert {entry["level"] for entry in office.faults} == {"warning"}

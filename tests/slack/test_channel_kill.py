"""A sync of a channel that is killed anywhere: the next one goes on, and in the end no message is missing or twice."""

from __future__ import annotations

import pytest
from fakes.channel_reading import KILLS, read_channel_while_killed, settings_in
from fakes.slack_talk import DAY, said, talk


@pytest.fixture
def settings(request, database):
    return settings_in(database, request)


@pytest.fixture
def people(ann, slack):
    return ann, slack.add_user("ben")


@pytest.fixture
def support(slack, people):
    slack.state.clock.ahead = -200 * DAY
    return slack.add_channel("support", *people)


@KILLS
async def test_no_message_is_lost_or_doubled_by_kills(settings, slack, people, support, kills):
    made = await talk(slack, support, people, days=3)

    async def go_on(chance):
        for message in chance.sample([each for each in made if not each.is_deleted], 2):
            await slack.edit(message, f"Now it is {chance.random()}.")
        await slack.erase(chance.choice([each for each in made if not each.is_deleted]))
        made.extend(await talk(slack, support, people, days=1))

    await read_channel_while_killed(
        settings, "slack:#support", slack.environment, kills=kills, said=lambda: said(slack, support), go_on=go_on
    )  # fmt: skip

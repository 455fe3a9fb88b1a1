"""A sync of a channel that is killed anywhere: the next one goes on, and in the end no message is missing or twice."""

from __future__ import annotations

import pytest
from fakes.channel_reading import KILLS, read_channel_while_killed, settings_in
from fakes.discord_talk import DAY, said, talk


@pytest.fixture
def settings(request, database):
    return settings_in(database, request)


@pytest.fixture
def people(ann, bob):
    return ann, bob


@pytest.fixture
def support(fake):
    fake.hasten()
    fake.threads_page = 3
    fake.state.clock.ahead = -200 * DAY
    return fake.add_channel("support")


@KILLS
async def test_no_message_is_lost_or_doubled_by_kills(settings, fake, people, support, kills):
    made = await talk(fake, support, people, days=2)

    async def go_on(chance):
        for message in chance.sample(standing(fake, made), 2):
            await fake.edit(message, f"Now it is {chance.random()}.")
        await fake.erase(chance.choice(standing(fake, made)))
        thread = chance.choice([each for each in fake.guild.threads.values() if not each.is_private_thread])
        match chance.choice(("archive", "delete", "answer")):
            case "archive":
                fake.archive(thread)
            case "delete":
                fake.delete_channel(thread)
            case "answer":
                made.append(await fake.post(people[0], thread, f"One more: {chance.random()}."))
        made.extend(await talk(fake, support, people, days=1))

    await read_channel_while_killed(
        settings, "discord:#support", fake.environment, kills=kills, said=lambda: said(fake, support), go_on=go_on
    )  # fmt: skip
    assert fake.violations == []


def standing(fake, made):
    """The messages that are there still, with the threads they are in."""
    return [each for each in made if not each.is_deleted and each.channel.id in fake.state.channels]

"""What the story of three processes tells of a question that was lost."""

from __future__ import annotations

import random

from fakes.crowd import Crowd, Run, Tally
from fakes.discord import FakeDiscord
from fakes.slack import FakeSlack

from bots.discord.calls import nonce_of


async def test_of_a_lost_question_it_says_how_far_it_came_and_what_people_saw():
    async with FakeSlack() as slack, FakeDiscord() as discord:
        crowd = Crowd(slack, discord, random.Random(1))
        await crowd.ask()
        await crowd.ask()
        in_slack, direct, _, other = crowd.asked
        note = await discord.post(discord.bot, direct.said.channel, "Writing…")
        note.nonce = nonce_of(direct.turn, 0)
        tally = Tally(crowd, {direct.turn: Run(stored=direct.at + 2.0, tries=3, status="SUCCESS")})

        told = [tally.traces(each) for each in (in_slack, direct, other)]

    assert tally.lost == [each.turn for each in crowd.asked]
    assert told[0] == "never stored"
    assert told[1].startswith("stored after 2.0 s, SUCCESS with 3 runs; shown: “Writing…” after ")
    assert told[2] == "never stored; sent to 0 sessions that still are, read in the channel 0 times"

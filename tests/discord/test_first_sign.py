"""An outcome takes the place of the first sign of its turn, also where the run that shows it does not know of that."""

from __future__ import annotations

import pytest
from fakes.discord.client import client, pointed_at

from bots.chat.channels import open_channel_store
from bots.chat.platform import ProgressNote
from bots.discord.calls import DiscordCalls
from bots.discord.post import DiscordPosts
from bots.discord.render import LAYOUT
from bots.discord.route import turn_id

FIRST = ProgressNote(stage="reading", sentence="Reading your documents…")
#: Where messages are posted does not depend on the database.
pytestmark = pytest.mark.parametrize("storage", ["sqlite"], indirect=True)


@pytest.fixture
async def posts(fake, storage):
    with pointed_at(fake), open_channel_store(storage) as store:
        async with client() as bot:
            await bot.login(fake.token)
            yield DiscordPosts(calls=DiscordCalls(bot.http), channel_store=store, my_user_id=str(bot.user.id))


def route_of(guild, asked, general):
    channel, message = str(general.id), str(asked.id)
    return {
        "server": str(guild.id), "channel": channel, "place": channel, "thread": message, "message": message,
        "user": str(asked.author.id), "opens": "When does the ferry leave?",
    }  # fmt: skip


@pytest.mark.parametrize("is_again", [True, False], ids=["cut off before it was noted", "reply was lost"])
async def test_an_outcome_takes_the_place_of_a_first_sign_that_nobody_noted(
    fake, ann, general, posts, is_again
):
    asked = await fake.mention(ann, general, "When does the ferry leave?")
    route = route_of(fake.guild, asked, general)
    turn = turn_id(route, str(asked.id))

    await posts.begin(route, turn, FIRST, is_again=False)
    ended = LAYOUT.note("I was cut off 3 times while working on this.")
    await posts.finish(route, "", turn, ended, is_again=is_again, is_waiting=False)

    assert [each.visible.strip() for each in fake.replies(asked)] == [
        "I was cut off 3 times while working on this."
    ]

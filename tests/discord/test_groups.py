"""Who has a role in a Discord server, as rules of access ask in direct messages; and a Discord that does not say."""

from __future__ import annotations

import pytest
from fakes.discord.client import client, pointed_at
from fakes.discord.faults import RateLimited, Refusal, ServerError
from fakes.shelf import open_store

from bots.chat.access import AccessChange, change_access
from bots.chat.channels import open_channel_store
from bots.discord.calls import DiscordCalls
from bots.discord.people import DiscordPeople
from core.conversation import Conversation
from core.library.library import Library

MEMBER = "GET /guilds/{guild_id}/members/{user_id}"
#: What a platform is asked depends on no database; tests/chat/test_access.py holds the rules on both.
pytestmark = pytest.mark.parametrize("storage", ["sqlite"], indirect=True)


class Roles:
    """Rules of roles, and what a person may read by them in a direct message."""

    def __init__(self, fake, store, library):
        self.fake, self.store, self.library = fake, store, library

    def open(self, *roles):
        opens = tuple(("group", role) for role in roles)
        change_access(
            self.store.database.database, "hr", AccessChange(closes=True, opens=opens), known=["hr"]
        )

    async def read(self, user, server="@me"):
        there = Conversation(platform="discord", space=server, channel="1", thread="talk")
        readable = await self.store.reads(there, str(user.id), self.library)
        return "hr" in readable.collections, readable.remark and readable.remark.key

    @property
    def calls(self):
        return [call for call in self.fake.requests if "/members/" in call.path]


@pytest.fixture
async def roles(fake, storage, tmp_path):
    (tmp_path / "wages.md").write_text("# Wages\n\nA line.\n")
    library = Library(store=open_store(tmp_path / "library.sqlite"), open_vectors=lambda: None, embedder=None)
    library.ingest([tmp_path / "wages.md"], collection="hr")
    with pointed_at(fake), open_channel_store(storage) as store:
        async with client() as bot:
            await bot.login(fake.token)
            store.people["discord"] = DiscordPeople(calls=DiscordCalls(bot.http))
            yield Roles(fake, store, library)
    library.store.close()


def rule(guild, role):
    return f"discord/{guild.id}/{role.id}"


async def test_a_role_opens_a_collection_to_those_who_have_it_and_is_asked_for_each_time(
    fake, ann, bob, roles
):
    crew = fake.add_role("crew")
    fake.guild.members[ann.id].roles.append(crew)
    roles.open(rule(fake.guild, crew))

    seen = [await roles.read(ann), await roles.read(bob)]
    fake.guild.members[ann.id].roles.remove(crew)
    seen.append(await roles.read(ann))

    assert seen == [(True, ""), (False, ""), (False, "")]
    assert len(roles.calls) == 3
    assert (fake.rejected, fake.violations) == ([], [])


async def test_several_rules_of_one_server_take_one_call(fake, ann, roles):
    crew, cooks = fake.add_role("crew"), fake.add_role("cooks")
    fake.guild.members[ann.id].roles.append(cooks)
    roles.open(rule(fake.guild, crew), rule(fake.guild, cooks))

    assert await roles.read(ann) == (True, "")
    assert len(roles.calls) == 1


async def test_the_role_of_everybody_opens_to_members_alone(fake, ann, roles):
    roles.open(f"discord/{fake.guild.id}/{fake.guild.id}")
    is_member = await roles.read(ann)
    del fake.guild.members[ann.id]

    assert is_member == (True, "")
    assert await roles.read(ann) == (False, "")


async def test_what_discord_is_too_busy_to_say_is_asked_again_when_it_says_so(fake, ann, roles):
    crew = fake.add_role("crew")
    fake.guild.members[ann.id].roles.append(crew)
    roles.open(rule(fake.guild, crew))
    fake.faults.queue(MEMBER, RateLimited(0.2), ServerError())

    assert await roles.read(ann) == (True, "")
    assert fake.faults.early_retries == []


@pytest.mark.parametrize("code", [50001, 50013, 10004])
async def test_a_discord_that_does_not_say_opens_nothing_and_the_person_is_told(fake, ann, roles, code):
    crew = fake.add_role("crew")
    fake.guild.members[ann.id].roles.append(crew)
    roles.open(rule(fake.guild, crew))
    fake.faults.queue(MEMBER, Refusal(403, code, "Missing Access"))

    assert await roles.read(ann) == (False, "groups_unknown")


async def test_in_a_channel_no_role_counts_and_none_is_asked_for(fake, ann, roles):
    crew = fake.add_role("crew")
    fake.guild.members[ann.id].roles.append(crew)
    roles.open(rule(fake.guild, crew))

    assert await roles.read(ann, server=str(fake.guild.id)) == (False, "")
    assert roles.calls == []


async def test_a_channel_is_private_where_not_every_member_sees_it(fake, ann, general, roles):
    people = roles.store.people["discord"]
    crew = fake.add_role("crew")
    hidden = fake.add_channel("hidden", only_for=[crew, fake.bot])
    thread = fake.open_thread(general, "psst", ann, kind=12)
    fake.add_to_thread(fake.bot, thread)
    places = (general, hidden, thread, fake.add_channel("unseen", only_for=[crew]))

    private = [await people.is_private(conversation(fake.guild.id, each.id)) for each in places]

    assert private == [False, True, True, True]
    assert await people.is_private(conversation("@me", 1))


def conversation(server, channel):
    return Conversation(platform="discord", space=str(server), channel=str(channel), thread="1")

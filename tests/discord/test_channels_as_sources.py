"""A channel of Discord as a source: the index equals the channel, whatever was said, edited, deleted or asked away."""

from __future__ import annotations

import pytest
from fakes.channel_reading import sections
from fakes.discord import RateLimited
from fakes.discord.state import TYPES
from fakes.discord_talk import DAY, link, said, talk
from fakes.source_desk import Clock, open_desk

from bots.chat.channel_source import person_of
from bots.chat.channels import open_channel_store, own_collection
from bots.discord.channel_source import discord_kind
from bots.platforms import source_kinds
from core.conversation import Conversation
from core.errors import SettingsError
from core.settings import Settings
from core.sources.source import SourceContext, SourceUnavailable
from core.storage.storage import open_storage


@pytest.fixture
def settings(tmp_path):
    return Settings(data_dir=tmp_path / "data")


@pytest.fixture
def rooms(settings, fake, monkeypatch):
    for name, value in fake.environment.items():
        monkeypatch.setenv(name, value)
    fake.hasten()
    settings.data_dir.mkdir()
    with open_storage(settings) as storage, open_channel_store(storage) as rooms:
        yield rooms


@pytest.fixture
def desk(settings, rooms):
    with open_desk(settings, Clock(), {"discord": discord_kind(rooms, interval=0.0)}) as desk:
        yield desk


@pytest.fixture
def support(fake):
    fake.state.clock.ahead = -10 * DAY
    return fake.add_channel("support")


@pytest.fixture
def people(ann, bob):
    return ann, bob


async def test_the_index_equals_the_channel_after_everything_that_happens_to_it(desk, fake, people, support):
    made = await talk(fake, support, people)
    fake.threads_page = 2
    first_report = await desk.syncs.ingest("discord:#support", collection="default")
    first, at_first = sections(desk.library), said(fake, support)

    await fake.edit(made[1], "What is the *new* key?")
    await fake.edit(made[2], "It is <https://example.org/a>.")
    await fake.erase(made[4])
    await fake.erase(made[8])  # a thread begins with it
    fake.delete_channel(made[11].channel)  # a thread, on a message that stays
    late = await fake.post(people[1], made[2].channel, "One more.")
    (record,) = desk.syncs.store.all()
    report = await desk.syncs.sync(record.number)
    again = await desk.syncs.sync(record.number)

    assert first == at_first
    assert sections(desk.library) == said(fake, support)
    assert link(late) in sections(desk.library)
    assert (first_report.failed, report.failed) == ((), ())
    assert (again.added, again.changed, again.removed) == (0, 0, 0)
    assert fake.violations == []


async def test_pages_and_rate_limits_are_waited_for_and_nothing_is_missed(desk, fake, people, support):
    for number in range(230):
        fake.state.clock.ahead += 1_000.0
        await fake.post(people[number % 2], support, f"Number {number} of many.")
    route = "GET /channels/{channel_id}/messages"
    fake.faults.queue(route, RateLimited(0.05), RateLimited(0.05))

    report = await desk.syncs.ingest("discord:#support", collection="default")

    assert report.failed == ()
    assert sections(desk.library) == said(fake, support)
    assert [each.status for each in fake.requests if each.route == route].count(429) == 2
    assert fake.faults.early_retries == []


async def test_a_limit_that_does_not_end_is_left_to_the_engine(desk, fake, people, support):
    await talk(fake, support, people, days=1)
    fake.faults.queue("GET /channels/{channel_id}/messages", *[RateLimited(0.01)] * 5)

    report = await desk.syncs.ingest("discord:#support", collection="default")

    assert report.failed == ()
    assert desk.syncs.pause.__self__.waited == [60.0]
    assert sections(desk.library) == said(fake, support)


async def test_posts_of_a_forum_are_documents_with_their_names(desk, fake, people):
    forum = fake.add_channel("questions", kind="forum")
    first = await fake.post_in_forum(people[0], forum, "Ferry", "When does it leave?")
    await fake.post(people[1], first.channel, "At nine.")
    second = await fake.post_in_forum(people[0], forum, "Crane", "How high is it?")
    fake.archive(second.channel)

    report = await desk.syncs.ingest(f"discord:{forum.id}", collection="default")

    assert report.failed == ()
    assert sections(desk.library) == said(fake, forum)
    assert {entry.title for entry in desk.library.store.entries()} == {"Ferry", "Crane"}


async def test_single_items_are_read_again_when_an_event_says_so(desk, fake, people, support):
    made = await talk(fake, support, people, days=2)
    await desk.syncs.ingest("discord:#support", collection="default")
    (record,) = desk.syncs.store.all()

    await fake.edit(made[2], "It is another value.")
    ids = [each for page in desk.syncs.store.pages(record.number, "TRUE", limit=100) for each in page]
    (item,) = (each for each in ids if each.endswith(str(made[1].id)))
    report = await desk.syncs.look(record.number, [item])

    assert (report.added, report.changed, report.removed) == (0, 1, 0)
    assert sections(desk.library) == said(fake, support)


async def test_a_private_thread_is_read_by_no_item_of_its_channel(desk, fake, people, support):
    await talk(fake, support, people, days=1)
    await desk.syncs.ingest("discord:#support", collection="default")
    (record,) = desk.syncs.store.all()
    (hidden,) = (each for each in fake.guild.threads.values() if each.is_private_thread)

    await desk.syncs.look(record.number, [f"2026-01-01/{hidden.id}"])

    assert sections(desk.library) == said(fake, support)


async def test_who_opts_out_is_gone_at_once_and_stays_out(desk, rooms, fake, people, support):
    _, bob = people
    await talk(fake, support, people, days=2)
    await desk.syncs.ingest("discord:#support", collection="default")
    everything = said(fake, support)

    await rooms.opt_out(person_of("discord", str(bob.id)))
    await desk.syncs.forget_author(person_of("discord", str(bob.id)))
    at_once = sections(desk.library)
    (record,) = desk.syncs.store.all()
    await desk.syncs.sync(record.number)
    without = sections(desk.library)
    await rooms.opt_in(person_of("discord", str(bob.id)))
    await desk.syncs.sync(record.number)

    by_bob = everything.keys() - said(fake, support, without=(bob,)).keys()
    assert by_bob
    assert not by_bob & at_once.keys()
    assert without == said(fake, support, without=(bob,))
    assert sections(desk.library) == everything


@pytest.mark.parametrize("hides", ["view_channel", "read_message_history"])
async def test_a_channel_that_is_not_for_everyone_is_read_for_itself_alone(desk, fake, ann, hides):
    board = fake.add_channel("board")
    await fake.post(ann, board, "The canary is yellow.")
    fake.deny(board, hides, who=fake.guild.everyone)
    fake.allow(board, "view_channel", "read_message_history")
    place = Conversation(platform="discord", space=str(fake.guild.id), channel=str(board.id), thread="")
    own = own_collection(place)

    refused = await desk.syncs.ingest(f"discord:{board.id}", collection="default")
    allowed = await desk.syncs.ingest(f"discord:{board.id}", collection=own)

    assert "is private" in refused.failed[0].reason
    assert allowed.failed == ()
    assert {entry.collection for entry in desk.library.store.entries()} == {own}


@pytest.mark.parametrize("becomes", ["private", "unreadable", "deleted", "left"])
async def test_what_may_not_be_read_any_more_is_removed(desk, fake, people, support, becomes):
    await talk(fake, support, people, days=1)
    await desk.syncs.ingest("discord:#support", collection="default")
    (record,) = desk.syncs.store.all()

    match becomes:
        case "private":
            fake.deny(support, "view_channel", who=fake.guild.everyone)
            fake.allow(support, "view_channel")
        case "unreadable":
            fake.deny(support, "read_message_history")
        case "deleted":
            fake.delete_channel(support)
        case "left":
            await fake.leave(fake.guild)
    report = await desk.syncs.sync(record.number)

    assert desk.library.store.entries() == []
    assert report.removed > 0
    assert desk.syncs.store.get(record.number).failure == report.failed[0].reason


async def test_without_the_intent_nothing_is_removed_and_the_reason_says_where_to_switch_it_on(
    desk, fake, people, support
):
    await talk(fake, support, people, days=1)
    await desk.syncs.ingest("discord:#support", collection="default")
    (record,) = desk.syncs.store.all()

    fake.grants = frozenset()
    report = await desk.syncs.sync(record.number)

    assert "Message Content intent is off" in report.failed[0].reason
    assert sections(desk.library) == said(fake, support)


async def test_a_name_that_several_channels_have_is_refused_with_their_addresses(desk, fake, people, support):
    other = fake.add_channel("support", guild=fake.add_guild("second"))

    with pytest.raises(SourceUnavailable, match=f"several channels #support.*{other.id}"):
        await desk.syncs.ingest("discord:#support", collection="default")


async def test_what_is_said_to_the_bot_is_kept_only_where_another_person_answers(desk, fake, people, support):
    ann, bob = people
    await fake.mention(ann, support, "help")
    asked = await fake.mention(ann, support, "How high is the crane?")
    thread = fake.open_thread(support, "crane", ann, starter=asked)
    answer = await fake.post(bob, thread, "Forty metres.")

    await desk.syncs.ingest("discord:#support", collection="default")

    assert sections(desk.library) == {link(asked): "How high is the crane?", link(answer): "Forty metres."}


@pytest.mark.parametrize("name", ["discord:support", "discord:#", "discord:#a/b", "discord:", "discord:12"])
def test_what_names_no_channel_is_refused(rooms, name):
    with pytest.raises(SettingsError, match="names no channel"):
        source_kinds(rooms)["discord"].canonical(name)


@pytest.mark.parametrize(
    ("missing", "named"),
    [
        ("view_channel", "needs View Channels there"),
        ("read_message_history", "lacks Read Message History in #support"),
        ("message_content", "Message Content intent is off"),
    ],
)
async def test_a_check_names_what_the_bot_lacks(desk, fake, support, missing, named):
    kind = desk.syncs.kinds["discord"]
    context = SourceContext(settings=desk.syncs.settings, folder=desk.syncs.settings.data_dir)
    address = await kind.resolve("discord:#support", context)
    await kind.check(address, context)

    if missing == "message_content":
        fake.grants = frozenset()
    else:
        fake.deny(support, missing)

    with pytest.raises(SourceUnavailable, match=named):
        await kind.check(address, context)


async def test_a_thread_and_a_channel_of_another_server_are_no_channels_to_read(desk, fake, people, support):
    thread = fake.open_thread(support, "crane", people[0])
    elsewhere = fake.add_channel("elsewhere", guild=fake.add_guild("second"))
    await fake.post(people[0], support, "The crane stands at the north mole.")

    in_thread = await desk.syncs.ingest(f"discord:{thread.id}", collection="default")
    crossed = await desk.syncs.ingest(f"discord:{support.id}", collection="default")
    with pytest.raises(SourceUnavailable, match="no channel"):
        await desk.syncs.ingest(f"discord://{fake.guild.id}/{elsewhere.id}", collection="default")

    assert "name the channel that it is in" in in_thread.failed[0].reason
    assert crossed.failed == ()


async def test_a_private_thread_is_read_for_itself_alone(desk, fake, people, support):
    hidden = fake.open_thread(support, "hidden", people[0], kind=TYPES["private_thread"])
    fake.add_to_thread(fake.bot, hidden)
    canary = await fake.post(people[0], hidden, "The canary of the private thread.")
    place = Conversation(platform="discord", space=str(fake.guild.id), channel=str(hidden.id), thread="")

    refused = await desk.syncs.ingest(f"discord:{hidden.id}", collection="default")
    allowed = await desk.syncs.ingest(f"discord:{hidden.id}", collection=own_collection(place))

    assert "is private" in refused.failed[0].reason
    assert allowed.failed == ()
    assert sections(desk.library, own_collection(place)) == {
        link(canary): "The canary of the private thread."
    }

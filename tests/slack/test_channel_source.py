"""A channel of Slack as a source: the index equals the channel, whatever was said, edited, deleted or asked away."""

from __future__ import annotations

import asyncio

import pytest
from fakes.channel_reading import sections
from fakes.slack import RateLimited
from fakes.slack_talk import DAY, link, said, talk
from fakes.source_desk import Clock, open_desk

from bots.chat.access import forget_documents
from bots.chat.channel_source import person_of
from bots.chat.channels import open_channel_store, own_collection
from bots.platforms import source_kinds
from bots.slack.channel_source import slack_kind
from core.conversation import Conversation
from core.errors import SettingsError
from core.settings import Settings
from core.sources.source import SourceUnavailable
from core.storage.storage import open_storage


@pytest.fixture
def settings(tmp_path):
    return Settings(data_dir=tmp_path / "data")


@pytest.fixture
def rooms(settings, slack, monkeypatch):
    for name, value in slack.environment.items():
        monkeypatch.setenv(name, value)
    settings.data_dir.mkdir()
    with open_storage(settings) as storage, open_channel_store(storage) as rooms:
        yield rooms


@pytest.fixture
def desk(settings, rooms):
    kinds = {"slack": slack_kind(rooms, interval=0.0)}
    with open_desk(settings, Clock(), kinds) as desk:
        yield desk


@pytest.fixture
def people(ann, ben):
    return ann, ben


@pytest.fixture
def support(slack, people):
    slack.state.clock.ahead = -10 * DAY
    return slack.add_channel("support", *people)


@pytest.fixture
def ben(slack):
    return slack.add_user("ben")


async def test_the_index_equals_the_channel_after_everything_that_happens_to_it(desk, slack, people, support):
    _, ben = people
    made = await talk(slack, support, people)
    await desk.syncs.ingest("slack:#support", collection="default")
    first = sections(desk.library)
    at_first = said(slack, support)

    await slack.edit(made[1], "What is the *new* key?")
    await slack.edit(made[2], "It is <https://example.org/a|this> & that.")
    await slack.erase(made[4])
    await slack.erase(made[6])  # the beginning of a thread
    await slack.say(ben, support, "One more.", made[0].ts)
    (record,) = desk.syncs.store.all()
    report = await desk.syncs.sync(record.number)
    again = await desk.syncs.sync(record.number)

    assert first == at_first
    expected = said(slack, support)
    expected[link(slack, made[1])] = "What is the **new** key?"
    expected[link(slack, made[2])] = "It is [this](https://example.org/a) & that."
    assert sections(desk.library) == expected
    assert report.failed == ()
    assert (again.added, again.changed, again.removed) == (0, 0, 0)


async def test_pages_of_fifteen_and_rate_limits_are_waited_for_and_nothing_is_missed(
    desk, slack, people, support
):
    await talk(slack, support, people)
    slack.messages_per_call = 4
    slack.faults.queue("conversations.history", RateLimited(1), RateLimited(1))
    slack.faults.queue("conversations.replies", *[RateLimited(1)] * 5)

    async def pause(seconds):
        waited.append(seconds)
        slack.state.clock.ahead += seconds
        await asyncio.sleep(seconds)

    waited = []
    desk.syncs.pause = pause
    report = await desk.syncs.ingest("slack:#support", collection="default")

    assert report.failed == ()
    assert len(waited) == 7
    assert sections(desk.library) == said(slack, support)
    assert slack.rejected == []


async def test_single_items_are_read_again_when_an_event_says_so(desk, slack, people, support):
    made = await talk(slack, support, people, days=2)
    await desk.syncs.ingest("slack:#support", collection="default")
    (record,) = desk.syncs.store.all()
    calls = len(slack.api.calls)

    await slack.edit(made[2], "It is another value.")
    (item,) = (each.id for each in items(desk) if each.id.endswith(made[1].ts))
    report = await desk.syncs.look(record.number, [item])

    assert (report.added, report.changed, report.removed) == (0, 1, 0)
    assert sections(desk.library) == said(slack, support)
    assert [each.method for each in slack.api.calls[calls:]].count("conversations.history") == 0


def items(desk):
    (record,) = desk.syncs.store.all()
    ids = [each for page in desk.syncs.store.pages(record.number, "TRUE", limit=100) for each in page]
    return [known.item for known in desk.syncs.store.find(record.number, ids).values()]


async def test_who_opts_out_is_gone_at_once_and_stays_out(desk, rooms, slack, people, support):
    _, ben = people
    await talk(slack, support, people, days=2)
    await desk.syncs.ingest("slack:#support", collection="default")

    await rooms.opt_out(person_of("slack", ben))
    await desk.syncs.forget_author(person_of("slack", ben))
    at_once = sections(desk.library)
    (record,) = desk.syncs.store.all()
    await desk.syncs.sync(record.number)
    without = sections(desk.library)
    await rooms.opt_in(person_of("slack", ben))
    await desk.syncs.sync(record.number)

    everything = said(slack, support)
    by_ben = everything.keys() - said(slack, support, without=(ben,)).keys()
    assert by_ben
    assert not by_ben & at_once.keys()
    assert without == said(slack, support, without=(ben,))
    assert sections(desk.library) == everything


async def test_a_private_channel_is_read_for_itself_alone(desk, rooms, slack, ann):
    private = slack.add_channel("board", ann, is_private=True)
    await slack.say(ann, private, "The canary is yellow.")
    own = own_collection(Conversation(platform="slack", space=slack.team, channel=private, thread=""))

    refused = await desk.syncs.ingest(f"slack:{private}", collection="default")
    allowed = await desk.syncs.ingest(f"slack:{private}", collection=own)

    assert "is private" in refused.failed[0].reason
    assert allowed.failed == ()
    assert {entry.collection for entry in desk.library.store.entries()} == {own}
    assert [record.collection for record in desk.syncs.store.all()] == [own]


@pytest.mark.parametrize("becomes", ["private", "left", "shared"])
async def test_what_may_not_be_read_any_more_is_removed(desk, slack, people, support, becomes):
    await talk(slack, support, people, days=1)
    await desk.syncs.ingest("slack:#support", collection="default")
    (record,) = desk.syncs.store.all()

    ann, _ = people
    match becomes:
        case "private":
            await slack.make_private(ann, support)
        case "left":
            slack.state.conversations[support].members.remove(slack.bot)
        case "shared":
            slack.share(support, slack.add_workspace("partner"))
    report = await desk.syncs.sync(record.number)

    assert desk.library.store.entries() == []
    assert report.removed > 0
    assert desk.syncs.store.get(record.number).failure == report.failed[0].reason


async def test_an_archived_channel_stays_as_it_was_read(desk, slack, people, support):
    await talk(slack, support, people, days=1)
    await desk.syncs.ingest("slack:#support", collection="default")
    (record,) = desk.syncs.store.all()
    before = sections(desk.library)

    slack.state.conversations[support].is_archived = True
    report = await desk.syncs.sync(record.number)

    assert sections(desk.library) == before
    assert "is archived" in report.failed[0].reason


async def test_a_renamed_channel_stays_the_same_source_and_its_name_does_not_lead_to_another(
    desk, slack, people, support
):
    await talk(slack, support, people, days=1)
    await desk.syncs.ingest("slack:#support", collection="default")
    (record,) = desk.syncs.store.all()
    slack.state.conversations[support].name = "help"
    await slack.say(people[0], slack.add_channel("support", people[0]), "Something else.")

    await desk.syncs.sync(record.number)

    assert sections(desk.library) == said(slack, support)
    assert {entry.source.partition("/")[0] for entry in desk.library.store.entries()} == {"slack:#help"}


@pytest.mark.parametrize("name", ["slack:support", "slack:D0123", "slack:#", "slack:#a/b", "slack:"])
def test_what_names_no_channel_is_refused(rooms, name):
    with pytest.raises(SettingsError, match="names no channel"):
        source_kinds(rooms)["slack"].canonical(name)


async def test_a_channel_that_the_bot_is_not_in_is_refused_with_what_to_do(desk, slack, ann):
    slack.add_channel("elsewhere", ann, has_bot=False)

    with pytest.raises(SourceUnavailable, match="invite it there"):
        await desk.syncs.ingest("slack:#elsewhere", collection="default")


async def test_what_is_said_to_the_bot_is_kept_only_where_another_person_answers(
    desk, slack, people, support
):
    ann, ben = people
    await slack.mention(ann, support, "help")
    lonely = await slack.mention(ann, support, "How deep is the harbour?")
    await slack.bot_says(support, "I do not know.", lonely.ts, bot=slack.bot)
    await slack.say(ann, support, "And at night?", lonely.ts)
    asked = await slack.mention(ann, support, "How high is the crane?")
    answer = await slack.say(ben, support, "Forty metres.", asked.ts)

    await desk.syncs.ingest("slack:#support", collection="default")

    assert sections(desk.library) == {
        link(slack, asked): "How high is the crane?",
        link(slack, answer): "Forty metres.",
    }


async def test_a_channel_is_forgotten_by_the_name_that_it_was_ingested_by(desk, slack, people, support):
    await talk(slack, support, people, days=1)
    await desk.syncs.ingest("slack:#support", collection="default")

    forget_documents(desk.library, desk.storage, "slack:#support")

    assert desk.library.store.entries() == []
    assert desk.syncs.store.all() == []

"""A channel of Slack is learned, asked about, edited, and asked about again; and who may not read it finds nothing."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

LOCK = "What opens the lock of the boathouse?"


@pytest.fixture
def office(office):
    office.settings |= {"WEB_SEARCH": "off"}
    office.constants["bots.slack.channel_source:INTERVAL"] = (
        0.1  # seconds between two calls; this Slack allows it
    )
    return office


@pytest.fixture
def ben(slack):
    return slack.add_user("ben")


@pytest.fixture
def support(slack, ann, ben):
    return slack.add_channel("support", ann, ben)


def states(office):
    with closing(sqlite3.connect(office.folder / ".footnote" / "sources.sqlite")) as database:
        return database.execute("SELECT state, version FROM source_items ORDER BY id").fetchall()


async def until_read(office, slack, *, other_than=()):
    """The items as they are once none is due, and something is other than it was."""

    def read():
        found = states(office)
        return found if found and found != other_than and {state for state, _ in found} == {"read"} else None

    return await slack.until(read)


async def learn(office, slack, who, channel):
    (told,) = await office.until_answered(await slack.mention(who, channel, "learn channel"))
    await until_read(office, slack)
    return told


async def ask(office, slack, who, channel, question=LOCK):
    (answer,) = await office.until_answered(await slack.mention(who, channel, question))
    return answer


async def test_a_learned_channel_is_cited_by_its_message_and_follows_its_edits(
    office, slack, ann, ben, support
):
    asked = await slack.say(ann, support, LOCK)
    reply = await slack.say(ben, support, "The lock of the boathouse opens with the green key.", asked.ts)
    await office.open()

    told = await learn(office, slack, ann, support)
    before = states(office)
    first = await ask(office, slack, ann, support)
    await slack.edit(reply, "The lock of the boathouse opens with the silver key.")
    await until_read(office, slack, other_than=before)
    second = await ask(office, slack, ann, support)

    link = f"{slack.url}/archives/{support}/p{reply.ts.replace('.', '')}?thread_ts={asked.ts}&cid={support}"
    assert "I read #support from now on" in told.visible
    assert "green key" in first.visible
    assert link in [entity.target for entity in first.entities]
    assert "silver key" in second.visible
    assert "green key" not in second.visible
    assert (slack.rejected, office.faults) == ([], [])


async def test_what_is_learned_of_a_private_channel_is_found_nowhere_else(office, slack, ann, ben):
    private = slack.add_channel("board", ann, is_private=True)
    general = slack.add_channel("general", ann, ben)
    await slack.say(ann, private, "The lock of the boathouse opens with the green key.")
    await office.open()

    await learn(office, slack, ann, private)
    inside = await ask(office, slack, ann, private)
    outside = await ask(office, slack, ann, general)
    direct = await slack.dm(ann, LOCK)
    (alone,) = await office.until_answered(direct)

    assert "green key" in inside.visible
    assert "green key" not in outside.visible + alone.visible


async def test_who_says_forget_me_is_not_quoted_any_more(office, slack, ann, ben, support):
    await slack.say(ann, support, "The crane stands at the north mole and lifts forty tons.")
    await slack.say(ben, support, "The lock of the boathouse opens with the green key.")
    await office.open()
    await learn(office, slack, ann, support)

    before = await ask(office, slack, ann, support)
    told = states(office)
    await slack.mention(ben, support, "vergiss mich")
    await until_read(office, slack, other_than=told)
    after = await ask(office, slack, ann, support)
    crane = await ask(office, slack, ann, support, "Where does the crane stand?")

    assert "green key" in before.visible
    assert "green key" not in after.visible
    assert "north mole" in crane.visible
    assert any("Ab jetzt lasse ich aus" in each.text for each in slack.state.ephemerals)


async def test_a_channel_is_forgotten_by_a_word_and_not_followed_any_more(office, slack, ann, ben, support):
    message = await slack.say(ben, support, "The lock of the boathouse opens with the green key.")
    await office.open()
    await learn(office, slack, ann, support)

    (told,) = await office.until_answered(await slack.mention(ann, support, "forget channel"))
    await slack.edit(message, "The lock of the boathouse opens with the silver key.")
    answer = await ask(office, slack, ann, support)

    assert "is forgotten" in told.visible
    assert "key" not in answer.visible.replace(LOCK, "")
    assert states(office) == []


async def test_only_learners_teach_a_channel_and_direct_messages_are_not_read(
    office, slack, ann, ben, support
):
    office.settings |= {"LEARNERS": ann}
    await office.open()

    await slack.mention(ben, support, "learn channel")
    (refused,) = await slack.until(lambda: [*slack.state.ephemerals])
    await slack.dm(ann, "learn channel")
    _, unread = await slack.until(
        lambda: [*slack.state.ephemerals] if len(slack.state.ephemerals) > 1 else None,
    )

    assert "Only those whom LEARNERS names" in refused.visible
    assert "Direct messages are not read" in unread.visible
    assert states(office) == []

"""A channel of Discord is learned, asked about, edited, and asked about again; who may not read it finds nothing."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

LOCK = "What opens the lock of the boathouse?"


@pytest.fixture
def server(server):
    server.settings |= {"WEB_SEARCH": "off"}
    return server


@pytest.fixture
def people(ann, bob, general):
    """Two of them, and the channel they are in."""
    return ann, bob, general


def states(server):
    with closing(sqlite3.connect(server.folder / ".footnote" / "sources.sqlite")) as database:
        return database.execute("SELECT id, state, version FROM source_items ORDER BY id").fetchall()


def passages(server, text):
    """How many have a text, in the words of LIKE."""
    with closing(sqlite3.connect(server.folder / ".footnote" / "library.sqlite")) as database:
        (count,) = database.execute("SELECT COUNT(*) FROM passages WHERE text LIKE ?", (text,)).fetchone()
    return count


async def until_read(server, fake, *, other_than=()):
    """The items as they are once none is due, and something is other than it was."""

    def read():
        found = states(server)
        is_read = {state for _, state, _ in found} == {"read"}
        return found if is_read and found != other_than else None

    return await fake.until(read)


async def learn(server, fake, who, channel):
    (told,) = await server.until_answered(await fake.mention(who, channel, "learn channel"))
    await until_read(server, fake)
    return told


async def ask(server, fake, who, channel, question=LOCK):
    (answer,) = await server.until_answered(await fake.mention(who, channel, question))
    return answer


async def test_a_learned_channel_is_cited_by_its_message_and_follows_its_edits_and_deletions(
    server, fake, people
):
    ann, bob, general = people
    asked = await fake.post(ann, general, LOCK)
    thread = fake.open_thread(general, "boathouse", ann, starter=asked)
    reply = await fake.post(bob, thread, "The lock of the boathouse opens with the green key.")
    await server.open()

    told = await learn(server, fake, ann, general)
    before = states(server)
    first = await ask(server, fake, ann, general)
    await fake.edit(reply, "The lock of the boathouse opens with the silver key.")
    changed = await until_read(server, fake, other_than=before)
    second = await ask(server, fake, ann, general)
    await fake.erase(reply)
    await until_read(server, fake, other_than=changed)
    third = await ask(server, fake, ann, general)

    link = f"https://discord.com/channels/{fake.guild.id}/{thread.id}/{reply.id}"
    assert "I read #general from now on" in told.visible
    assert "green key" in first.visible
    assert link in [one.url for one in first.links]
    assert "silver key" in second.visible
    assert "green key" not in second.visible
    assert "key" not in third.visible
    assert (fake.violations, server.faults) == ([], [])


async def test_threads_purges_and_roles_are_followed_without_a_sync(server, fake, people):
    ann, bob, general = people
    kept = await fake.post(ann, general, "The crane stands at the north mole.")
    asked = await fake.post(ann, general, LOCK)
    thread = fake.open_thread(general, "boathouse", ann, starter=asked)
    await fake.post(bob, thread, "It opens with the green key.")
    await server.open()
    await learn(server, fake, ann, general)
    at_first = await fake.until(lambda: passages(server, "%north mole%"))

    fake.delete_channel(thread)
    await fake.until(lambda: all(str(thread.id) not in each[0] for each in states(server)))
    late = await fake.post(ann, general, "A late word.")
    fake.open_thread(general, "late", ann, starter=late)
    await fake.until(lambda: any(str(late.id) in each[0] for each in states(server)))
    await fake.purge(late, kept)
    await fake.until(lambda: not passages(server, "%north mole%"))
    answer = await ask(server, fake, ann, general, "Where does the crane stand?")
    fake.deny_everywhere("read_message_history")
    gone = await fake.until(lambda: not states(server))

    assert at_first
    assert gone
    assert "north mole" not in answer.visible
    assert server.faults == []


async def test_what_is_learned_of_a_private_channel_is_found_nowhere_else(server, fake, people):
    ann, bob, general = people
    private = fake.add_channel("board", only_for=[ann, fake.bot])
    await fake.post(ann, private, "The lock of the boathouse opens with the green key.")
    await server.open()

    await learn(server, fake, ann, private)
    inside = await ask(server, fake, ann, private)
    outside = await ask(server, fake, bob, general)
    (alone,) = await server.until_answered(await fake.dm(ann, LOCK))

    assert "green key" in inside.visible
    assert "green key" not in outside.visible + alone.visible


async def test_who_says_forget_me_is_not_quoted_any_more(server, fake, people):
    ann, bob, general = people
    await fake.post(ann, general, "The crane stands at the north mole and lifts forty tons.")
    await fake.post(bob, general, "The lock of the boathouse opens with the green key.")
    await server.open()
    await learn(server, fake, ann, general)

    before = await ask(server, fake, ann, general)
    told = states(server)
    await fake.mention(bob, general, "forget me")
    await until_read(server, fake, other_than=told)
    after = await ask(server, fake, ann, general)
    crane = await ask(server, fake, ann, general, "Where does the crane stand?")

    assert "green key" in before.visible
    assert "green key" not in after.visible
    assert "north mole" in crane.visible


async def test_a_channel_is_forgotten_by_a_word(server, fake, people):
    ann, bob, general = people
    await fake.post(bob, general, "The lock of the boathouse opens with the green key.")
    await server.open()
    await learn(server, fake, ann, general)

    (told,) = await server.until_answered(await fake.mention(ann, general, "forget channel"))
    answer = await ask(server, fake, ann, general)

    assert "is forgotten" in told.visible
    assert "key" not in answer.visible
    assert states(server) == []

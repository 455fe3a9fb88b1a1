"""A channel is learned, asked about, edited, and asked about again; and who may not read it finds nothing."""

from __future__ import annotations

import sqlite3
from contextlib import closing

LOCK = "What opens the lock of the boathouse?"
GREEN = "The lock of the boathouse opens with the green key."
SILVER = "The lock of the boathouse opens with the silver key."


def items(chat):
    with closing(sqlite3.connect(chat.folder / ".footnote" / "sources.sqlite")) as database:
        return database.execute("SELECT state, version FROM source_items ORDER BY id").fetchall()


def passages(chat, text):
    """How many have a text."""
    with closing(sqlite3.connect(chat.folder / ".footnote" / "library.sqlite")) as database:
        found = database.execute("SELECT COUNT(*) FROM passages WHERE text LIKE ?", (f"%{text}%",))
        return found.fetchone()[0]


async def until_read(chat, *, other_than=()):
    """The items as they are once none is due, and something is other than it was."""

    def read():
        found = items(chat)
        return found if found != other_than and {state for state, _ in found} == {"read"} else None

    return await chat.until(read)


async def learn(chat, channel):
    (told,) = await chat.until_answered(await chat.mention(chat.ann, channel, "learn channel"))
    await until_read(chat)
    return told


async def ask(chat, channel, question=LOCK):
    (answer,) = await chat.until_answered(await chat.mention(chat.ann, channel, question))
    return answer


async def test_a_learned_channel_is_cited_by_its_message_and_follows_its_edits_and_deletions(chat):
    asked = await chat.say(chat.ann, chat.general, LOCK)
    reply = await chat.say(chat.bob, chat.general, GREEN, asked)
    await chat.open()

    told = await learn(chat, chat.general)
    before = items(chat)
    first = await ask(chat, chat.general)
    await chat.edit(reply, SILVER)
    await until_read(chat, other_than=before)
    second = await ask(chat, chat.general)
    await chat.erase(reply)
    await chat.until(lambda: not passages(chat, "silver key"))
    third = await ask(chat, chat.general)

    assert "I read #general from now on" in told.visible
    assert "green key" in first.visible
    assert chat.address(reply) in chat.links(first)
    assert "silver key" in second.visible
    assert "green key" not in second.visible
    assert "key" not in third.visible
    assert (chat.rejected, chat.faults) == ([], [])


async def test_what_is_learned_of_a_private_channel_is_found_nowhere_else(chat):
    private = chat.add_channel("board", chat.ann, is_private=True)
    await chat.say(chat.ann, private, GREEN)
    await chat.open()

    await learn(chat, private)
    inside = await ask(chat, private)
    outside = await ask(chat, chat.general)
    (alone,) = await chat.until_answered(await chat.dm(chat.ann, LOCK))
    (other,) = await chat.until_answered(await chat.mention(chat.bob, chat.general, LOCK))

    assert "green key" in inside.visible
    assert "green key" not in outside.visible + alone.visible + other.visible


async def test_who_says_forget_me_is_not_quoted_any_more(chat):
    await chat.say(chat.ann, chat.general, "The crane stands at the north mole and lifts forty tons.")
    await chat.say(chat.bob, chat.general, GREEN)
    await chat.open()
    await learn(chat, chat.general)

    before = await ask(chat, chat.general)
    known = items(chat)
    await chat.mention(chat.bob, chat.general, "vergiss mich")
    await until_read(chat, other_than=known)
    after = await ask(chat, chat.general)
    crane = await ask(chat, chat.general, "Where does the crane stand?")

    assert "green key" in before.visible
    assert "green key" not in after.visible
    assert "north mole" in crane.visible
    assert any("Ab jetzt lasse ich aus" in each.visible for each in chat.told(chat.bob))


async def test_a_channel_is_forgotten_by_a_word_and_not_followed_any_more(chat):
    message = await chat.say(chat.bob, chat.general, GREEN)
    await chat.open()
    await learn(chat, chat.general)

    (told,) = await chat.until_answered(await chat.mention(chat.ann, chat.general, "forget channel"))
    await chat.edit(message, SILVER)
    answer = await ask(chat, chat.general)

    assert "is forgotten" in told.visible
    assert "key" not in answer.visible.replace(LOCK, "")
    assert items(chat) == []


async def test_only_learners_teach_a_channel_and_direct_messages_are_not_read(chat):
    chat.settings |= {"LEARNERS": str(getattr(chat.ann, "id", chat.ann))}
    await chat.open()

    await chat.mention(chat.bob, chat.general, "learn channel")
    (refused,) = await chat.until(lambda: chat.told(chat.bob))
    await chat.dm(chat.ann, "learn channel")
    (unread,) = await chat.until(lambda: chat.told(chat.ann))

    assert "Only those whom LEARNERS names" in refused.visible
    assert "Direct messages are not read" in unread.visible
    assert items(chat) == []

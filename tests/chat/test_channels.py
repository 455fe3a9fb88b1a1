"""Who reads what where: preferences of channels, and collections that stay where they were learned."""

from __future__ import annotations

import pytest
from fakes.shelf import open_store

from bots.chat.access import AccessChange, change_access
from bots.chat.channels import open_channel_store, own_collection
from core.conversation import Conversation
from core.library.library import Library


def place(channel, thread="1.1"):
    return Conversation(platform="slack", space="T1", channel=channel, thread=thread)


HERE, ELSEWHERE = place("C1"), place("C2")


@pytest.fixture
def library(tmp_path):
    (tmp_path / "note.md").write_text("# Note\n\nA line.\n")
    library = Library(store=open_store(tmp_path / "library.sqlite"), open_vectors=lambda: None, embedder=None)
    for name in ("default", "handbook", own_collection(HERE)):
        library.ingest([tmp_path / "note.md"], collection=name)
    yield library
    library.store.close()


@pytest.fixture
def channel_store(storage):
    with open_channel_store(storage) as channel_store:
        yield channel_store


async def reads(channel_store, library, conversation, author="ann"):
    return (await channel_store.reads(conversation, author, library)).collections


def change(channel_store, collection, **what):
    change_access(
        channel_store.database.database, collection, AccessChange(**what), known=["default", "handbook"]
    )


async def test_a_channel_reads_the_default_collection_and_its_own(channel_store, library):
    assert await reads(channel_store, library, HERE) == {"default", own_collection(HERE)}
    assert await reads(channel_store, library, ELSEWHERE) == {"default"}


async def test_a_collection_is_read_in_the_channels_for_which_it_was_opened(channel_store, library):
    change(channel_store, "handbook", opens=(("channel", "C2"),))

    assert await reads(channel_store, library, ELSEWHERE) == {"default", "handbook"}
    assert await reads(channel_store, library, HERE) == {"default", own_collection(HERE)}


async def test_a_channel_that_uses_an_open_collection_reads_it_in_place_of_the_others(channel_store, library):
    change(channel_store, "handbook", opens=(("channel", ELSEWHERE.channel_id),))
    is_used = await channel_store.use(ELSEWHERE, "ann", "handbook", library)

    assert is_used
    assert await reads(channel_store, library, ELSEWHERE) == {"handbook"}
    assert await channel_store.use(ELSEWHERE, "ann", "default", library)
    assert await reads(channel_store, library, ELSEWHERE) == {"default", "handbook"}


async def test_a_collection_that_is_closed_or_does_not_exist_is_not_used(channel_store, library):
    assert not await channel_store.use(HERE, "ann", "nothing", library)
    assert not await channel_store.use(HERE, "ann", "handbook", library)


async def test_what_a_channel_learned_is_used_nowhere_else_whoever_names_it(channel_store, library):
    assert not await channel_store.use(ELSEWHERE, "ann", own_collection(HERE), library)
    assert await reads(channel_store, library, ELSEWHERE) == {"default"}


async def test_a_thread_keeps_its_first_asker_until_it_is_forgotten(channel_store):
    await channel_store.remember_thread(HERE, "ann", 1.0)
    await channel_store.remember_thread(HERE, "bob", 2.0)
    known = await channel_store.thread_state(HERE)
    await channel_store.forget_thread(HERE)

    assert (known.knows_thread, known.asker) == (True, "ann")
    assert not (await channel_store.thread_state(HERE)).knows_thread


async def test_a_channel_keeps_how_it_is_followed(storage):
    with open_channel_store(storage) as channel_store:
        await channel_store.set_follow(HERE, "thread")

    with open_channel_store(storage) as channel_store:
        assert (await channel_store.thread_state(place("C1", "2.2"))).follow == "thread"


async def test_an_answer_that_is_withdrawn_counts_once_for_thirty_days_and_its_thread_is_not_followed(
    channel_store,
):
    day = 86_400.0
    for turn, at in (("q1", 1 * day), ("q2", 20 * day), ("q3", 35 * day)):
        assert await channel_store.note_unasked(turn, HERE, at)
        assert not await channel_store.note_unasked(turn, HERE, at)
    await channel_store.note_unasked("q4", ELSEWHERE, 35 * day)
    await channel_store.remember_thread(HERE, "ann", 35 * day)

    for _ in range(2):
        await channel_store.withdraw("q3", HERE)

    assert await channel_store.unasked(HERE, 36 * day) == (2, 1)
    assert await channel_store.unasked(ELSEWHERE, 36 * day) == (1, 0)
    assert await channel_store.unasked(HERE, 99 * day) == (0, 0)
    assert not (await channel_store.thread_state(HERE)).knows_thread


async def test_a_word_is_taken_once(channel_store):
    assert await channel_store.is_first("slack/T1/C1/1.2")
    assert not await channel_store.is_first("slack/T1/C1/1.2")

"""Who reads what where: preferences of channels, and collections that stay where they were learned."""

from __future__ import annotations

import pytest

from bots.chat.channels import open_channel_store, own_collection
from bots.chat.incoming import Feedback
from core.conversation import Conversation
from core.library.library import Library
from tests.library.shelf import open_store


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
def channel_store(tmp_path):
    with open_channel_store(tmp_path) as channel_store:
        yield channel_store


def test_a_channel_reads_the_default_collection_and_its_own(channel_store, library):
    assert channel_store.reads(HERE, library) == {"default", own_collection(HERE)}
    assert channel_store.reads(ELSEWHERE, library) == {"default"}


def test_a_channel_that_uses_a_collection_reads_it_in_place_of_the_default(channel_store, library):
    is_used = channel_store.use(ELSEWHERE, "handbook", library)

    assert is_used
    assert channel_store.reads(ELSEWHERE, library) == {"handbook"}
    assert channel_store.reads(HERE, library) == {"default", own_collection(HERE)}


def test_a_collection_that_does_not_exist_is_not_used(channel_store, library):
    assert not channel_store.use(HERE, "nothing", library)


def test_what_a_channel_learned_is_used_nowhere_else_whoever_names_it(channel_store, library):
    assert not channel_store.use(ELSEWHERE, own_collection(HERE), library)
    assert channel_store.reads(ELSEWHERE, library) == {"default"}


def test_a_thread_keeps_its_first_asker_until_it_is_forgotten(channel_store):
    channel_store.remember_thread(HERE, "ann", 1.0)
    channel_store.remember_thread(HERE, "bob", 2.0)
    known = channel_store.thread_state(HERE)
    channel_store.forget_thread(HERE)

    assert (known.knows_thread, known.asker) == (True, "ann")
    assert not channel_store.thread_state(HERE).knows_thread


def test_a_channel_keeps_how_it_is_followed_and_what_people_thought(tmp_path):
    with open_channel_store(tmp_path) as channel_store:
        channel_store.set_follow(HERE, "asker")
        for is_positive in (True, False):
            channel_store.rate(
                Feedback(
                    id="f1", turn_id="q1", is_positive=is_positive, conversation=HERE, author="ann",
                    given_at=1.0,
                )
            )  # fmt: skip

    with open_channel_store(tmp_path) as channel_store:
        assert channel_store.thread_state(place("C1", "2.2")).follow == "asker"
        assert channel_store.ratings("q1") == {"ann": False}


def test_an_answer_that_is_withdrawn_counts_once_for_thirty_days_and_its_thread_is_not_followed(
    channel_store,
):
    day = 86_400.0
    for turn, at in (("q1", 1 * day), ("q2", 20 * day), ("q3", 35 * day)):
        assert channel_store.note_unasked(turn, HERE, at)
        assert not channel_store.note_unasked(turn, HERE, at)
    channel_store.note_unasked("q4", ELSEWHERE, 35 * day)
    channel_store.remember_thread(HERE, "ann", 35 * day)

    for _ in range(2):
        channel_store.withdraw("q3", HERE)

    assert channel_store.unasked(HERE, 36 * day) == (2, 1)
    assert channel_store.unasked(ELSEWHERE, 36 * day) == (1, 0)
    assert channel_store.unasked(HERE, 99 * day) == (0, 0)
    assert not channel_store.thread_state(HERE).knows_thread


def test_a_word_is_taken_once(channel_store):
    assert channel_store.is_first("slack/T1/C1/1.2")
    assert not channel_store.is_first("slack/T1/C1/1.2")

"""What a collection says reaches only whom a rule opened it to, on every surface, and nobody once it is closed."""

from __future__ import annotations

import json
import time
from contextlib import asynccontextmanager
from hashlib import blake2b
from random import Random

import pytest
from benchmarks.evaluation_sets import add_paragraphs

from bots.chat.access import AccessChange, change_access
from bots.chat.channels import open_channel_store
from bots.chat.quotes import footnotes_of
from core.bootstrap import open_footnote
from core.conversation import Conversation, Question
from core.graph.rights import WITHHELD, outcome_within
from core.settings import Settings
from core.turns.archive import plain

HR = "A night at the pontoon costs 18 euros."
ASKED = "What does a night at the pontoon cost?"


class People:
    """Everybody is in the groups that begin with their own id."""

    def is_direct_message(self, conversation):
        return conversation.channel.startswith("D")

    async def member_of(self, space, user, among):
        return frozenset(group for group in among if group.startswith(f"slack/{space}/S{user}-"))


@asynccontextmanager
async def opened(folder, storage):
    settings = Settings(
        data_dir=folder, embedding_model="none", web_search="duckduckgo", database_url=storage.url or ""
    )
    folder.mkdir(exist_ok=True)
    with open_channel_store(storage) as channel_store:
        channel_store.people["slack"] = People()
        reads = channel_store.reads
        async with open_footnote(settings, purpose="test", reads=reads, storage=storage) as footnote:
            yield footnote, channel_store


def change(channel_store, collection, **what):
    change_access(channel_store.database.database, collection, AccessChange(**what), known=[collection])


def question(number, here, text, author="U1"):
    return Question(id=f"q{number}", conversation=here, author=author, text=text, asked_at=time.time())


HERE = Conversation(platform="slack", space="T1", channel="C1", thread="1")


async def test_once_a_collection_is_closed_nothing_of_it_is_said_or_shown_again(tmp_path, storage):
    async with opened(tmp_path / "data", storage) as (footnote, channel_store):
        assistant = footnote.assistant
        add_paragraphs(footnote.library, "/a.md", "Fees", [HR], collection="hr")
        change(channel_store, "hr", opens=(("channel", "C1"),))
        before = await assistant.run(question(1, HERE, ASKED))
        change(channel_store, "hr", closes=True)

        again = await assistant.run(question(1, HERE, ASKED))  # stored, and run once more after a kill
        given_up = await assistant.give_up(question(1, HERE, ASKED), "cut off")
        after = await assistant.run(question(2, HERE, "And what does it cost for two?"))
        (first, _) = (await assistant._state(HERE.id))["history"]
        readable = (await channel_store.reads(HERE, "U1", footnote.library)).collections

        assert "18 euros" in json.dumps(plain(before))
        assert before.collections == ("hr",)
        for outcome in (again, given_up, after, outcome_within(before, readable)):
            assert "18 euros" not in json.dumps(plain(outcome))
        assert (first.question, first.answer, first.sources) == (ASKED, WITHHELD, ())
        assert footnotes_of(before, footnote.library.store, readable).excerpts == ()
        assert set((await footnote.log.trace("q1")).collections) == {"hr"}


def secret(*place):
    """What a document alone says, and nobody who asks."""
    return blake2b(repr(place).encode(), digest_size=6).hexdigest()


def name(*place):
    return f"Buoy{blake2b(repr(place).encode(), digest_size=5, person=b'name').hexdigest()}"


def fill(footnote, channel_store, workspaces, channels, documents):
    """A collection of the operator's for each channel, open to it, to one person, and to one person's group."""
    for w in range(workspaces):
        for c in range(channels):
            collection = f"crew-{w}-{c}"
            paragraphs = [
                f"The passphrase of the {name(w, c, d)} mooring is {secret(w, c, d)}."
                for d in range(documents)
            ]
            for number, text in enumerate(paragraphs):
                add_paragraphs(
                    footnote.library,
                    f"/{w}/{c}/{number}.md",
                    name(w, c, number),
                    [text],
                    collection=collection,
                )
            change(
                channel_store, collection,
                opens=(
                    ("channel", f"slack/T{w}/C{c}"), ("person", f"slack/T{w}/U{c}"),
                    ("group", f"slack/T{w}/SU{(c + 1) % channels}-crew"),
                ),
            )  # fmt: skip


def may_read(here, author, place):
    """By the rules above: the same channel, and in direct messages the same person, or who is in the group."""
    (w, c), number = place[:2], int(author.lstrip("U"))
    if here.space != f"T{w}":
        return False
    if here.channel.startswith("C"):
        return here.channel == f"C{c}"
    return number in (c, (c + 1) % CHANNELS[0])


CHANNELS = [0]  # of a workspace, in the size that is tested


@pytest.mark.parametrize(
    ("size", "count"), [((2, 3, 3), 80), pytest.param((5, 20, 50), 2_000, marks=pytest.mark.long)]
)
async def test_no_canary_reaches_whom_no_rule_names(size, count, tmp_path, storage):
    """``size``: workspaces, channels of each, documents of each channel's collection."""
    workspaces, channels, documents = size
    CHANNELS[0] = channels
    random, told, across = Random(7), 0, []
    async with opened(tmp_path / "data", storage) as (footnote, channel_store):
        fill(footnote, channel_store, *size)
        places = [(w, c, d) for w in range(workspaces) for c in range(channels) for d in range(documents)]
        secrets = {secret(*place): place for place in places}
        for number in range(count):
            space, author = f"T{random.randrange(workspaces)}", f"U{random.randrange(channels)}"
            channel = random.choice((f"C{random.randrange(channels)}", f"D{author[1:]}"))
            here = Conversation(
                platform="slack", space=space, channel=channel, thread=f"t{random.randrange(2)}"
            )
            place = random.choice(places)
            if random.random() < 0.6:  # of the own workspace
                place = (int(space[1:]), *place[1:])
            text = random.choice(
                (f"What is the passphrase of the {name(*place)} mooring?", "And its passphrase?")
            )
            asked = question(number, here, text, author)
            outcome = await footnote.assistant.run(asked)
            trace = await footnote.log.trace(asked.id)
            state = await footnote.assistant._state(here.id)
            readable = (await channel_store.reads(here, author, footnote.library)).collections
            quotes = footnotes_of(outcome, footnote.library.store, readable).excerpts
            shown = json.dumps(plain(outcome)) + repr((trace, state, quotes))
            found = [place for word, place in secrets.items() if word in shown]
            told += bool(found)
            across += [(here.id, author, place) for place in found if not may_read(here, author, place)]

    print(f"{count} questions, {told} of them were answered from a canary, {len(across)} across")
    assert across == []
    assert told > count / 20

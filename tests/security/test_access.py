"""What a collection says reaches only whom a rule opened it to, on every surface, and nobody once it is closed."""

from __future__ import annotations

import json
import time
from contextlib import asynccontextmanager
from random import Random

import pytest
from benchmarks.evaluation_sets import add_paragraphs
from fakes.crews import People, change, fill, may_read, name, secret

from bots.chat.channels import open_channel_store, own_collection
from bots.chat.proposals import footnotes_of
from core.bootstrap import open_footnote
from core.conversation import Conversation, Decision, Question
from core.graph.rights import WITHHELD, outcome_within
from core.settings import Settings
from core.turns.archive import plain

HR = "A night at the pontoon costs 18 euros."
ASKED = "What does a night at the pontoon cost?"


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
        (first, _) = (await assistant._open(HERE)).state["history"]
        readable = (await channel_store.reads(HERE, "U1", footnote.library)).collections

        assert "18 euros" in json.dumps(plain(before))
        assert before.collections == ("hr",)
        for outcome in (again, given_up, after, outcome_within(before, readable)):
            assert "18 euros" not in json.dumps(plain(outcome))
        assert (first.question, first.answer, first.sources) == (ASKED, WITHHELD, ())
        assert footnotes_of(before, footnote.library.store, readable).excerpts == ()
        assert set((await footnote.log.trace("q1")).collections) == {"hr"}


async def test_what_is_closed_while_the_answer_is_made_is_not_shown(tmp_path, storage):
    async with opened(tmp_path / "data", storage) as (footnote, channel_store):
        add_paragraphs(footnote.library, "/a.md", "Fees", [HR], collection="hr")
        change(channel_store, "hr", opens=(("channel", "C1"),))
        stages = []

        def report(progress):
            stages.append(progress.stage)
            if progress.stage == "checking":  # the passage is found by then
                change(channel_store, "hr", closes=True)

        outcome = await footnote.assistant.run(question(1, HERE, ASKED), report)
        later = await footnote.assistant.run(question(2, HERE, "And for two?"))

    assert "checking" in stages
    for shown in (outcome, later):
        assert "18 euros" not in json.dumps(plain(shown))
    assert outcome.reason == "This rests on documents that may not be read here any more."


async def test_a_search_that_was_proposed_from_a_closed_collection_is_not_sent(tmp_path, storage):
    async with opened(tmp_path / "data", storage) as (footnote, channel_store):
        assistant = footnote.assistant
        add_paragraphs(footnote.library, "/a.md", "Fees", [HR], collection="hr")
        change(channel_store, "hr", opens=(("channel", "C1"),))
        proposed = await assistant.run(question(1, HERE, "Who built the pontoon in the harbour?"))
        change(channel_store, "hr", closes=True)

        approved = await assistant.run(decision("d1", "approve", proposed.proposal))
        (still,) = await assistant.proposals(HERE)
        denied = await assistant.run(decision("d2", "deny", proposed.proposal))

        assert proposed.proposal.collections == ("hr",)
        assert "18 euros" in json.dumps(plain(proposed))
        assert (approved.kind, approved.steps) == ("failed", ())
        assert approved.reason == "This rests on documents that may not be read here any more."
        assert still.is_open
        assert denied.kind == "no_answer"
        for outcome in (approved, denied):
            assert "18 euros" not in json.dumps(plain(outcome))


def decision(id, verdict, proposal):
    return Decision(
        id=id,
        conversation=HERE,
        author="U1",
        proposal_id=proposal.id,
        verdict=verdict,
        decided_at=time.time(),
    )


@pytest.mark.parametrize("way", ["moved", "retired", "forgotten"])
async def test_what_a_person_answered_is_not_quoted_from_the_history_once_it_is_withdrawn(
    way, tmp_path, storage
):
    async with opened(tmp_path / "data", storage) as (footnote, _):
        add_paragraphs(footnote.library, "/a.md", "Fees", ["Wages are paid monthly."], collection="hr")
        answer = await footnote.answers.correct(
            question=ASKED, text=HR, collection=own_collection(HERE), name="Bob", message="m1"
        )
        before = await footnote.assistant.run(question(1, HERE, ASKED))
        kept = await footnote.assistant.run(question(2, HERE, "Is electricity included?"))
        was_remembered = HR in remembered((await footnote.assistant._open(HERE)).state)
        if way == "moved":
            await footnote.answers.edit(answer, question=ASKED, text=HR, by="Ann", collection="hr")
        elif way == "retired":
            await footnote.answers.retire(answer, by="Ann")
        else:
            await footnote.answers.forget(answer)

        after = await footnote.assistant.run(question(3, HERE, "And for two nights there?"))

        assert "18 euros" in json.dumps(plain(before))
        assert was_remembered
        assert kept is not None
        assert HR not in remembered((await footnote.assistant._open(HERE)).state)
        assert "18 euros" not in json.dumps(plain(after))


def remembered(state):
    return " ".join(each.answer for each in state["history"])


@pytest.mark.parametrize(
    ("size", "count"), [((2, 3, 3), 80), pytest.param((5, 20, 50), 2_000, marks=pytest.mark.long)]
)
async def test_no_canary_reaches_whom_no_rule_names(size, count, tmp_path, storage):
    """``size``: workspaces, channels of each, documents of each channel's collection."""
    workspaces, channels, documents = size
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
            state = (await footnote.assistant._open(here)).state
            readable = (await channel_store.reads(here, author, footnote.library)).collections
            quotes = footnotes_of(outcome, footnote.library.store, readable).excerpts
            shown = json.dumps(plain(outcome)) + repr((trace, state, quotes))
            found = [place for word, place in secrets.items() if word in shown]
            told += bool(found)
            across += [
                (here.id, author, place) for place in found if not may_read(here, author, place, channels)
            ]

    print(f"{count} questions, {told} of them were answered from a canary, {len(across)} across")
    assert across == []
    assert told > count / 20

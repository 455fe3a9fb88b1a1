"""What a source opens to some people reaches nobody else, on every surface, whoever asks and whatever changes."""

from __future__ import annotations

import json
import time
from contextlib import asynccontextmanager
from random import Random

import pytest
from fakes.crews import name, secret
from fakes.mixed_source import Harbour
from fakes.sources import ADDRESS

from bots.chat.channels import open_channel_store
from bots.chat.commands import ChatCommands
from bots.chat.incoming import ChatCommand
from bots.chat.people import state_email
from bots.chat.proposals import footnotes_of
from core import priority
from core.bootstrap import open_footnote
from core.conversation import Conversation, Decision, Question
from core.graph.rights import WITHHELD
from core.library.readers import READERS_MARK
from core.settings import Settings
from core.sources.sources import SourceSyncs
from core.turns.archive import plain


@asynccontextmanager
async def opened(folder, storage, harbour):
    settings = Settings(
        data_dir=folder, embedding_model="none", web_search="duckduckgo", database_url=storage.url or ""
    )
    folder.mkdir(exist_ok=True)
    with open_channel_store(storage) as channels:
        channels.people["slack"] = harbour
        async with open_footnote(settings, purpose="test", reads=channels.reads, storage=storage) as footnote:
            syncs = SourceSyncs(
                library=footnote.library, store=footnote.sources.store, settings=settings,
                kinds=harbour.shelf.kinds,
            )  # fmt: skip
            await syncs.ingest(ADDRESS, collection="default")
            yield footnote, channels, syncs


async def shown_of(footnote, channels, question, outcome):
    """An outcome as it is shown now, and its quotes."""
    library = footnote.library
    readable = (await channels.reads(question.conversation, question.author, library)).collections
    shown = await footnote.answers.within(outcome, readable)
    quotes = footnotes_of(outcome, library.store, readable).excerpts
    return json.dumps(plain(shown)) + repr(quotes)


async def listed_for(footnote, channels, question):
    """The documents and collections that a person is told of."""
    people = channels.people["slack"]
    commands = ChatCommands(footnote=footnote, channel_store=channels, people=people, upload_index=None)
    command = ChatCommand(
        id=question.id, conversation=question.conversation, author=question.author, name="sources",
        language="en", said_at=question.asked_at,
    )  # fmt: skip
    return repr([await each(command, None) for each in (commands._sources, commands._help, commands._use)])


def across(harbour, question, shown, words):
    """What is shown of items that the person of a question may not read there; ``words``: of each item, by word."""
    found = {number for word, number in words.items() if word in shown}
    here, author = question.conversation, question.author
    return [(here.id, author, number) for number in found if not harbour.may_read(here, author, number)]


@pytest.mark.parametrize(("items", "count"), [(90, 80), pytest.param(300, 2_000, marks=pytest.mark.long)])
async def test_no_canary_of_a_source_reaches_whom_it_does_not_name(items, count, tmp_path, storage):
    """With rights that change meanwhile, and people who lose and get addresses."""
    random = Random(17)
    harbour = Harbour(random=random, items=items)
    told, faults, kept = 0, [], []
    secrets, names = ({of(number): number for number in range(items)} for of in (secret, name))
    async with opened(tmp_path / "data", storage, harbour) as (footnote, channels, syncs):
        for number in range(count):
            if number % (count // 10) == count // 10 - 1:
                print(f"{number} of {count}: {told} told, {len(faults)} across", flush=True)
                harbour.change()
                await syncs.ingest(ADDRESS, collection="default")
            question = harbour.question(number)
            outcome = await footnote.assistant.run(question)
            history = (await footnote.assistant._open(question.conversation)).state["history"]
            kept.append((question, outcome))
            older, then = random.choice(kept)  # which is shown again
            seen = [
                (question, json.dumps(plain(outcome)) + repr(history)),
                (question, await shown_of(footnote, channels, question, outcome)),
                (older, await shown_of(footnote, channels, older, then)),
            ]
            told += any(word in seen[0][1] for word in secrets)
            faults += [fault for one, shown in seen for fault in across(harbour, one, shown, secrets)]
            listed = await listed_for(footnote, channels, question)
            faults += across(harbour, question, listed, names)
            assert READERS_MARK not in listed
            assert repr(READERS_MARK)[1:-1] not in listed
        sets = {entry.collection for entry in footnote.library.store.entries()}

    print(f"{count} questions, {items} items in {len(sets)} sets: {told} told, {len(faults)} across")
    assert faults == []
    assert told > count / 10
    assert len(sets) > 20


WAGES = "# Wages\n\nA night at the pontoon costs the pilots 18 euros.\n"
COST, BUILT = "What does a night at the pontoon cost?", "Who built the pontoon of the pilots?"
DIRECT = Conversation(platform="slack", space="T1", channel="D0", thread="1")
CHANNEL = Conversation(platform="slack", space="T1", channel="C0", thread="1")
ANN, BOB = "p0@customs.example", "p1@harbour.example"


@asynccontextmanager
async def one_page(folder, storage, readers):
    """A source with a page about wages that these people may read, and one about the rest."""
    harbour = Harbour(random=Random(3), items=0)
    harbour.shelf.write(wages=WAGES, rest="# Rest\n\nThe harbour has a crane.\n")
    harbour.shelf.restrict(readers, "wages")
    async with opened(folder / "data", storage, harbour) as (footnote, channels, syncs):

        async def sync():
            await syncs.ingest(ADDRESS, collection="default")

        yield harbour, footnote, channels, sync


def of_ann(id, here, text):
    return Question(id=id, conversation=here, author="U0", text=text, asked_at=time.time())


def decision(id, here, verdict, proposal):
    return Decision(
        id=id,
        conversation=here,
        author="U0",
        proposal_id=proposal.id,
        verdict=verdict,
        decided_at=time.time(),
    )


async def lose_address(harbour, sync):
    del harbour.emails["U0"]


async def change_readers(harbour, sync):
    harbour.shelf.restrict(frozenset({BOB}), "wages")
    await sync()


async def change_all(harbour, sync):
    harbour.shelf.restrict(frozenset({BOB}), "wages")
    harbour.shelf.write(wages=WAGES + "And more.")
    await sync()


async def remove(harbour, sync):
    harbour.shelf.remove("wages")
    await sync()


CHANGES = pytest.mark.parametrize("change", [lose_address, change_readers, change_all, remove])
UNREADABLE = "This rests on documents that may not be read here any more."


@CHANGES
async def test_a_search_whose_words_come_from_a_document_is_not_sent_once_it_is_closed(
    change, tmp_path, storage
):
    async with one_page(tmp_path, storage, frozenset({ANN})) as (harbour, footnote, _, sync):
        assistant = footnote.assistant
        proposed = await assistant.run(of_ann("q1", DIRECT, BUILT))
        await change(harbour, sync)

        approved = await assistant.run(decision("d1", DIRECT, "approve", proposed.proposal))
        (still,) = await assistant.proposals(DIRECT)
        denied = await assistant.run(decision("d2", DIRECT, "deny", proposed.proposal))

        assert "18 euros" in json.dumps(plain(proposed))
        assert (approved.kind, approved.reason, approved.steps, still.is_open) == (
            "failed",
            UNREADABLE,
            (),
            True,
        )
        assert denied.kind == "no_answer"
        for outcome in (approved, denied):
            assert "18 euros" not in json.dumps(plain(outcome))


async def test_a_search_that_a_channel_proposed_is_not_sent_once_few_may_read_what_it_is_from(
    tmp_path, storage
):
    """The collection stays open to the channel; the document has left it."""
    async with one_page(tmp_path, storage, None) as (harbour, footnote, _, sync):
        proposed = await footnote.assistant.run(of_ann("q1", CHANNEL, BUILT))
        await change_readers(harbour, sync)

        approved = await footnote.assistant.run(decision("d1", CHANNEL, "approve", proposed.proposal))

        assert "18 euros" in json.dumps(plain(proposed))
        assert (approved.kind, approved.reason) == ("failed", UNREADABLE)


@CHANGES
async def test_what_is_closed_while_the_answer_is_made_is_not_shown(change, tmp_path, storage, monkeypatch):
    monkeypatch.setattr(
        priority, "LONGEST_WAY", 0.001
    )  # seconds that the sync waits for the turn that waits for it
    async with one_page(tmp_path, storage, frozenset({ANN})) as (harbour, footnote, _, sync):
        harbour.changes_at, harbour.change_then = 2, lambda: change(harbour, sync)

        outcome = await footnote.assistant.run(of_ann("q1", DIRECT, COST))

        assert harbour.looks == 2  # the second is for what may be shown
        assert outcome.reason == UNREADABLE
        assert "18 euros" not in json.dumps(plain(outcome))


@CHANGES
async def test_what_was_answered_is_not_remembered_once_it_is_closed(change, tmp_path, storage):
    async with one_page(tmp_path, storage, frozenset({ANN})) as (harbour, footnote, channels, sync):
        before = await footnote.assistant.run(of_ann("q1", DIRECT, COST))
        other = await footnote.assistant.run(of_ann("q2", CHANNEL, COST))
        await change(harbour, sync)

        after = await footnote.assistant.run(of_ann("q3", DIRECT, "And what does it cost for two?"))
        (first, _) = (await footnote.assistant._open(DIRECT)).state["history"]
        shown = await shown_of(footnote, channels, of_ann("q1", DIRECT, COST), before)

        assert "18 euros" in json.dumps(plain(before))
        assert first.answer == WITHHELD
        for text in (json.dumps(plain(other)), json.dumps(plain(after)), shown):
            assert "18 euros" not in text


async def test_an_operator_who_says_whose_address_it_is_opens_what_the_platform_does_not(tmp_path, storage):
    async with one_page(tmp_path, storage, frozenset({ANN})) as (harbour, footnote, channels, _):
        harbour.emails.clear()
        before = await footnote.assistant.run(of_ann("q1", DIRECT, COST))
        state_email(channels.database.database, "U0", ANN)
        after = await footnote.assistant.run(of_ann("q2", DIRECT, COST))
        state_email(channels.database.database, "U0", "")
        at_the_end = await footnote.assistant.run(of_ann("q3", DIRECT, COST))

        told = ["18 euros" in json.dumps(plain(each)) for each in (before, after, at_the_end)]
        assert told == [False, True, False]

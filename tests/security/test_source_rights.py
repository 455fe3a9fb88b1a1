"""What a source opens to some people reaches nobody else, on every surface, whoever asks and whatever changes."""

from __future__ import annotations

import json
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random

import pytest
from crews import name, secret
from fakes.sources import ADDRESS, Shelf

from bots.chat.channels import open_channel_store
from bots.chat.commands import ChatCommands
from bots.chat.incoming import ChatCommand
from bots.chat.quotes import footnotes_of
from core.bootstrap import open_footnote
from core.conversation import Conversation, Question
from core.library.readers import MARK
from core.settings import Settings
from core.sources.sources import SourceSyncs
from core.turns.archive import plain

PEOPLE = 12
CHANNELS = 4
ANSWERED = "What is the passphrase of the {} mooring?"
FOLLOW_UPS = ("And its passphrase?", "Which passphrase did you say?")


@dataclass
class Harbour:
    """A mixed source, its people and who may read what of it: the truth that the bot is compared with."""

    random: Random
    items: int
    shelf: Shelf = field(default_factory=Shelf)
    emails: dict[str, str] = field(default_factory=dict)  #: by user

    def __post_init__(self) -> None:
        for number in range(self.items):
            text = f"The passphrase of the {name(number)} mooring is {secret(number)}."
            self.shelf.write(**{f"m{number}": f"# {name(number)}\n\n{text}\n"})
        for number in range(PEOPLE - 2):  # of two nobody says an address
            self.emails[f"U{number}"] = f"p{number}@{'harbour' if number % 3 else 'customs'}.example"
        sets = [self.some_readers() for _ in range(28)] + [frozenset(), frozenset({"@harbour.example"})]
        for number in range(self.items):
            if self.random.random() < 0.7:
                self.shelf.restrict(self.random.choice(sets), f"m{number}")

    def some_readers(self) -> frozenset[str]:
        known = sorted(self.emails.values())
        readers = self.random.sample(known, self.random.randint(1, 5))
        return frozenset(readers + (["@customs.example"] if self.random.random() < 0.2 else []))

    def may_read(self, here: Conversation, author: str, number: int) -> bool:
        readers = self.shelf.restricted.get(f"m{number}")
        if readers is None:
            return True
        email = self.emails.get(author, "")
        is_named = bool(email) and (email in readers or "@" + email.partition("@")[2] in readers)
        return is_named and here.channel.startswith("D")

    def question(self, number: int) -> Question:
        """Of anybody anywhere, about any item, or about what was said before."""
        author = f"U{self.random.randrange(PEOPLE)}"
        channel = self.random.choice(
            (f"C{self.random.randrange(CHANNELS)}", f"D{author[1:]}", f"D{author[1:]}")
        )
        here = Conversation(
            platform="slack", space="T1", channel=channel, thread=f"t{self.random.randrange(2)}"
        )
        about = ANSWERED.format(name(self.random.randrange(self.items)))
        text = self.random.choice((about, about, *FOLLOW_UPS))
        return Question(id=f"q{number}", conversation=here, author=author, text=text, asked_at=time.time())

    def change(self) -> None:
        """Some items get other readers, one is written anew at the same time, one person loses an address."""
        for number in self.random.sample(range(self.items), 6):
            readers = self.random.choice((None, frozenset(), self.some_readers(), self.some_readers()))
            self.shelf.restrict(readers, f"m{number}")
        number = self.random.randrange(self.items)
        self.shelf.write(**{f"m{number}": self.shelf.texts[f"m{number}"] + "\nIt is long.\n"})
        user = self.random.choice(sorted(self.emails))
        address = self.emails.pop(user)
        self.emails[f"U{self.random.randrange(PEOPLE)}"] = address

    # As the platform's people

    def is_direct_message(self, conversation):
        return conversation.channel.startswith("D")

    async def member_of(self, space, user, among):
        return frozenset()

    async def email_of(self, space, user):
        return self.emails.get(user, "")


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
                harbour.change()
                await syncs.ingest(ADDRESS, collection="default")
            question = harbour.question(number)
            outcome = await footnote.assistant.run(question)
            history = (await footnote.assistant._state(question.conversation.id))["history"]
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
            assert MARK not in listed
            assert repr(MARK)[1:-1] not in listed
        sets = {entry.collection for entry in footnote.library.store.entries()}

    print(f"{count} questions, {items} items in {len(sets)} sets: {told} told, {len(faults)} across")
    assert faults == []
    assert told > count / 10
    assert len(sets) > 20

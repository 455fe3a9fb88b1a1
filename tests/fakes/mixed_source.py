"""A source that opens some of its items to some people, and the truth that the bot is compared with."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random

from fakes.crews import name, secret
from fakes.sources import Shelf

from core.conversation import Conversation, Question

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
    looks: int = 0  #: how often somebody's address was asked for
    changes_at: int = 0  #: with which of these looks something changes
    change_then: Callable[[], Awaitable[None]] = None  # type: ignore[assignment]

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
        """Some items get other readers, one is written anew at the same time, one address becomes another's."""
        for number in self.random.sample(range(self.items), 6):
            readers = self.random.choice((None, frozenset(), self.some_readers(), self.some_readers()))
            self.shelf.restrict(readers, f"m{number}")
        number = self.random.randrange(self.items)
        self.shelf.write(**{f"m{number}": self.shelf.texts[f"m{number}"] + "\nIt is long.\n"})
        user = self.random.choice(sorted(self.emails))
        address, other = self.emails.pop(user), f"U{self.random.randrange(PEOPLE)}"
        if other in self.emails:  # or fewer and fewer people would have one
            self.emails[user] = self.emails[other]
        self.emails[other] = address

    # As the platform's people

    def is_direct_message(self, conversation):
        return conversation.channel.startswith("D")

    async def member_of(self, space, user, among):
        return frozenset()

    async def email_of(self, space, user):
        self.looks += 1
        if self.looks == self.changes_at:
            await self.change_then()
        return self.emails.get(user, "")

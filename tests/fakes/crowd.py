"""People who ask in Slack and Discord all the while, and what they got to see of it in the end."""

from __future__ import annotations

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import psycopg
from fakes.discord import FakeDiscord
from fakes.discord.components import buttons
from fakes.served import FERRY, FERRY_ANSWER
from fakes.slack import FakeSlack
from fakes.slack.blocks import interactive
from fakes.thoughts import numbered

from bots.discord.calls import nonce_of
from core.turns.waiting import SETTLE

HISTORY = "GET /channels/{channel_id}/messages"
SHOWN = 40  # characters of what people saw, in a report
PEOPLE = 4  # on each platform; in Discord each has a direct conversation with the bot
BEGINNING = 60.0  # seconds
PAUSE = 1.0  # seconds between two questions on one platform, in the mean
NEW = 0.4  # the share of questions that begin a conversation
WORLD_CUP = "Who won the World Cup of 1998?"  # which only the web tells: fakes.served.FRANCE
WINNER = "by beating Brazil"
LOOK_EVERY = 0.2  # seconds
SEARCHES = 0.1  # the share of questions that ask for it
AGAIN = 2.0  # seconds until somebody presses again whose press came to nothing


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One question."""

    number: int
    platform: Literal["slack", "discord"]
    conversation: str
    turn: str
    said: Any = field(repr=False)  #: the message
    at: float  #: seconds since the epoch
    is_search: bool = False  #: alone in its conversation; its author allows the search that is proposed


@dataclass(frozen=True, kw_only=True)
class Run:
    """What the queue knows of a turn: seconds since the epoch."""

    stored: float
    tries: int  #: runs that began
    status: str  #: as DBOS has it


@dataclass(repr=False)
class Crowd:
    """The same few people ask in all conversations."""

    slack: FakeSlack
    discord: FakeDiscord
    chance: random.Random
    asked: list[Asked] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._ann = self.slack.add_user("ann")
        self._channel = self.slack.add_channel("general", self._ann)
        self._threads: list[str] = []  #: in Slack, by their first message
        self._users = [self.discord.add_user(f"ann{number}") for number in range(PEOPLE)]
        self._place = self.discord.add_channel("general")
        self._unanswered: list[Asked] = []

    async def ask_now_and_then(self, times: int) -> None:
        for _ in range(times):
            await asyncio.sleep(self.chance.uniform(0.0, 2 * PAUSE))
            await self.ask(WORLD_CUP if self.chance.random() < SEARCHES else FERRY)

    async def begin(self) -> None:
        """Everybody writes to the bot once: Discord lists no direct conversations, so a first message is missed
        where nobody is connected.
        """
        for user in self._users:
            await self.discord.dm(user, "hello")
        await self.discord.until(self._are_greeted, within=BEGINNING)

    def _are_greeted(self) -> bool:
        return all(self.discord.said(self.discord.dm_of(user)) for user in self._users)

    async def ask(self, text: str = FERRY) -> None:
        """One question on each platform, at the same time."""
        await self._ask_in_slack(text)
        await self._ask_in_discord(text)

    async def _ask_in_slack(self, text: str) -> None:
        is_new = text != FERRY or not self._threads or self.chance.random() < NEW
        thread = "" if is_new else self.chance.choice(self._threads)
        said = await self.slack.mention(self._ann, self._channel, numbered(text, len(self.asked)), thread)
        if text == FERRY and is_new:
            self._threads.append(said.ts)
        place = f"slack/{said.team}/{said.channel}"
        self._remember(text, f"{place}/{said.root}", f"{place}/{said.ts}", said)

    async def _ask_in_discord(self, text: str) -> None:
        number, user = len(self.asked), self.chance.choice(self._users)
        if text != FERRY or self.chance.random() < NEW:
            said = await self.discord.mention(user, self._place, numbered(text, number))
            place = f"discord/{self.discord.guild.id}/{said.channel.id}"
            conversation = f"{place}/{said.id}"
        else:
            said = await self.discord.dm(user, numbered(text, number))
            place = conversation = f"discord/@me/{said.channel.id}"
        self._remember(text, conversation, f"{place}/{said.id}", said)

    def _remember(self, text: str, conversation: str, turn: str, said: Any) -> None:
        is_slack = turn.startswith("slack")
        self.asked.append(
            Asked(
                number=len(self.asked), platform="slack" if is_slack else "discord", conversation=conversation,
                turn=turn, said=said, is_search=text == WORLD_CUP,
                at=float(said.ts) if is_slack else ((said.id >> 22) + 1_420_070_400_000) / 1000,
            )
        )  # fmt: skip
        self._unanswered.append(self.asked[-1])

    @asynccontextmanager
    async def allowing(self) -> AsyncIterator[None]:
        """Within, whoever asked presses as soon as a search is proposed, and again where that came to nothing."""
        pressing = asyncio.create_task(self._press_all())
        try:
            yield
        finally:
            pressing.cancel()
            await asyncio.wait([pressing])
            if not pressing.cancelled():
                pressing.result()

    async def _press_all(self) -> None:
        pressed: dict[str, float] = {}
        loop = asyncio.get_running_loop()
        while True:
            for asked in self.searches:
                if loop.time() - pressed.get(asked.turn, -AGAIN) >= AGAIN and await self._allow(asked):
                    pressed[asked.turn] = loop.time()
            await asyncio.sleep(LOOK_EVERY)

    async def _allow(self, asked: Asked) -> bool:
        """Whether there was a button to press."""
        for card in self.endings(asked):
            if asked.platform == "slack":
                if any(element["action_id"] == "approve" for _, element in interactive(card.blocks)):
                    await self.slack.press(card, "approve", asked.said.user)
                    return True
                continue
            ids = [str(each["custom_id"]) for each in buttons(card.components) if not each.get("disabled")]
            if approve := [each for each in ids if each.startswith("approve")]:
                await self.discord.press(card, approve[0], asked.said.author, wait=False)
                return True
        return False

    @property
    def searches(self) -> list[Asked]:
        return [each for each in self.asked if each.is_search]

    def found(self, asked: Asked) -> list[Any]:
        """The messages that tell what a search found."""
        return [each for each in self.replies(asked) if WINNER in each.visible]

    def replies(self, asked: Asked) -> list[Any]:
        """All that the bot says in the thread of a question."""
        if asked.platform == "slack":
            return list(self.slack.replies(asked.said.channel, asked.said.root))
        return list(self.discord.replies(asked.said))

    async def until_answered(self, within: float) -> None:
        """Or until so many seconds are over: what is not answered then is lost."""
        with suppress(AssertionError):
            await self.slack.until(self._are_answered, within=within)

    def _are_answered(self) -> bool:
        while self._unanswered and self._is_answered(self._unanswered[-1]):
            self._unanswered.pop()
        return not self._unanswered

    def _is_answered(self, asked: Asked) -> bool:
        if not asked.is_search:
            return bool(self.endings(asked))
        return len(self._finals(asked)) > 1

    def conversation_of(self, number: int) -> str:
        return self.asked[number].conversation

    def endings(self, asked: Asked) -> list[Any]:
        """The messages that end its turn, as they stand there now."""
        return [each for each in self.messages(asked) if each in self._finals(asked)]

    def _finals(self, asked: Asked) -> list[Any]:
        """Of its thread, those that are no progress."""
        if asked.platform == "slack":
            return self.slack.finals(asked.said.channel, asked.said.root)
        return [each for each in self.replies(asked) if not each.visible.rstrip().endswith("…")]

    def messages(self, asked: Asked) -> list[Any]:
        """All that the bot says of its turn: notes of its progress too."""
        replies = self.replies(asked)
        if asked.platform == "slack":
            return [each for each in replies if _turn_of(each) == asked.turn]
        nonce = nonce_of(asked.turn, 0)
        return [each for each in replies if each.nonce == nonce]

    def deliveries(self, asked: Asked) -> str:
        """How a question of Discord reached the bot."""
        message = str(asked.said.id)
        sessions = [
            each
            for each in self.discord.gateway.sessions.values()
            if any(event["t"] == "MESSAGE_CREATE" and event["d"]["id"] == message for event in each.events)
        ]
        looks = [
            each
            for each in self.discord.requests
            if each.route == HISTORY and any(found["id"] == message for found in each.reply or ())
        ]
        return f"sent to {len(sessions)} sessions that still are, read in the channel {len(looks)} times"


def _turn_of(message: Any) -> str:
    return str(((message.metadata or {}).get("event_payload") or {}).get("turn"))


@dataclass(repr=False)
class Tally:
    """What became of all questions."""

    crowd: Crowd
    runs: dict[str, Run]

    @classmethod
    def of(cls, crowd: Crowd, url: str) -> Tally:
        query = (
            "SELECT workflow_uuid, created_at / 1000.0, recovery_attempts, status FROM dbos.workflow_status"
        )
        with psycopg.connect(url) as connection:
            found = connection.execute(query).fetchall()
        runs = {
            turn: Run(stored=float(at), tries=tries or 1, status=status) for turn, at, tries, status in found
        }
        return cls(crowd, runs)

    @cached_property
    def endings(self) -> dict[str, list[Any]]:
        return {each.turn: self.crowd.endings(each) for each in self.crowd.asked}

    @property
    def lost(self) -> list[str]:
        return [turn for turn, endings in self.endings.items() if not endings]

    def traces(self, asked: Asked) -> str:
        """How far a question came: in the queue, and in the sight of people."""
        run = self.runs.get(asked.turn)
        if run is None:
            return (
                f"never stored; {self.crowd.deliveries(asked)}"
                if asked.platform == "discord"
                else "never stored"
            )
        shown = [
            f"“{' '.join(revision.visible.split())[:SHOWN]}” after {float(revision.at) - asked.at:.1f} s"
            for message in self.crowd.messages(asked)
            for revision in message.revisions
        ]
        stored = f"stored after {run.stored - asked.at:.1f} s, {run.status} with {run.tries} runs"
        return f"{stored}; shown: {', '.join(shown) or 'nothing'}"

    @property
    def doubled(self) -> list[str]:
        return [turn for turn, endings in self.endings.items() if len(endings) > 1]

    @property
    def answered(self) -> int:
        """Those that the handbook answers, and those of whose search people were told; the others end in an apology."""
        of_handbook = sum(FERRY_ANSWER in found[0].visible for found in self.endings.values() if found)
        return of_handbook + len(self.crowd.searches) - len(self.searches_without)

    @property
    def searches_without(self) -> list[str]:
        """The turns whose search was allowed, and came to nothing."""
        return [each.turn for each in self.crowd.searches if not self.crowd.found(each)]

    @property
    def searches_told_twice(self) -> list[str]:
        return [each.turn for each in self.crowd.searches if len(self.crowd.found(each)) > 1]

    @property
    def tries(self) -> Counter[int]:
        return Counter(self.runs[each.turn].tries for each in self.crowd.asked if each.turn in self.runs)

    @property
    def swapped(self) -> list[tuple[str, str]]:
        """Pairs of one conversation that ended in another order than they were said in."""
        return [(one.turn, other.turn) for one, other in self._pairs() if self._is_swapped(one, other)]

    @property
    def swapped_against_promise(self) -> list[tuple[str, str]]:
        """Those whose earlier turn was stored before the later one could begin.

        Discord delivers over one connection: a turn begins there as soon as it is stored.
        """
        at = {each.turn: each.at for each in self.crowd.asked}

        def begins(turn: str) -> float:
            return self.runs[turn].stored if turn.startswith("discord/") else at[turn] + SETTLE

        return [(one, other) for one, other in self.swapped if self.runs[one].stored < begins(other)]

    def _pairs(self) -> Iterator[tuple[Asked, Asked]]:
        said: dict[str, list[Asked]] = defaultdict(list)
        for each in self.crowd.asked:
            said[each.conversation].append(each)
        for turns in said.values():
            for number, one in enumerate(turns):
                for other in turns[number + 1 :]:
                    yield one, other

    def _is_swapped(self, one: Asked, other: Asked) -> bool:
        first, second = self.endings[one.turn], self.endings[other.turn]
        return bool(first and second and _shown_at(first[0]) > _shown_at(second[0]))


def _shown_at(message: Any) -> float:
    """When people saw the end of a turn for the first time: seconds of the platform's clock.

    In Slack a message that is still a plan has no metadata.
    """
    return next(
        float(each.at)
        for each in message.revisions
        if getattr(each, "metadata", True) and not each.visible.rstrip().endswith("…")
    )

"""Once a week, what was not answered, in a channel that the operator named.

A digest is posted through the same durable marks as answers: whoever is killed between posting it and noting
so finds it there the next time. One process at a time does this for each platform.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from bots.chat.channels import ChannelStore
from bots.chat.platform import Posts, Refused, Renderer
from bots.chat.texts import clipped, say_in
from core.conversation import Conversation, value
from core.errors import FootnoteError
from core.gaps.groups import GapFinder, GapReport
from core.gaps.questions import GapQuestion, TimeSpan, still_open
from core.library.library import Library
from core.turns.messenger import ReplyRoute, Unreachable

logger = logging.getLogger(__name__)

SHOWN = 10  # groups
NAME_SHOWN = 150  # characters of a question
HOUR = 9  # of Monday, UTC, from which the digest of the week before is shown
LOOK_EVERY = 600.0  # seconds


@value
class DigestPlace:
    """Where a platform shows a message that answers nobody."""

    route: ReplyRoute
    origin: str  #: after which the platform looks for the message, as the last part of a turn's id


class ChannelMessages(Protocol):
    """The messages that a platform's messenger can post."""

    @property
    def posts(self) -> Posts[Any]: ...

    @property
    def renderer(self) -> Renderer[Any]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class GapDigests:
    """The digests of one platform."""

    channels: Sequence[Conversation]
    place: Callable[[Conversation, float], DigestPlace]  #: of a channel, for a message after this time
    is_private: Callable[[Conversation], Awaitable[bool]]  #: whether not everybody there reads the channel
    messages: ChannelMessages
    finder: GapFinder
    channel_store: ChannelStore
    library: Library

    async def keep_showing(self) -> None:
        """For one process at a time; until it is cancelled."""
        while True:
            try:
                await self.show_due()
            except (FootnoteError, Unreachable):
                logger.warning("the digest of gaps could not be shown; it is tried again", exc_info=True)
            await asyncio.sleep(LOOK_EVERY)

    async def show_due(self) -> None:
        """Show the digest of last week in each channel, unless it was shown. Raises Unreachable."""
        now = self.finder.now()
        span = last_week(now)
        week = "{}-W{:02}".format(*datetime.fromtimestamp(span.since, UTC).isocalendar()[:2])
        for channel in self.channels:
            if not await self.finder.store.was_shown(channel.channel_id, week):
                await self._show(channel, span)
                await self.finder.store.note_shown(channel.channel_id, week, now)

    async def _show(self, channel: Conversation, span: TimeSpan) -> None:
        async def may_read(questions: Sequence[GapQuestion]) -> frozenset[str]:
            return await self._readable(channel, questions)

        report = await self.finder.report(span, may_read)
        if not report.open_groups and not report.closed:
            return
        place = self.place(channel, span.until)
        message = self.messages.renderer.note(digest_of(report))
        turn = f"{channel.channel_id}/{place.origin}~gaps"
        try:
            await self.messages.posts.say(place.route, turn, 0, message, is_again=True)
        except Refused as refused:  # next week it is tried again
            extra = {"channel": channel.channel_id, "reason": refused.code}
            logger.warning("the digest of gaps may not be shown there", extra=extra)

    async def _readable(self, channel: Conversation, questions: Sequence[GapQuestion]) -> frozenset[str]:
        """The questions of this channel, and of public ones that read nothing else than it does."""
        here = (await self.channel_store.reads(channel, "", self.library)).collections
        seen = {each: await self._is_seen(channel, each) for each in {asked.channel for asked in questions}}
        reads: dict[tuple[str, str], bool] = {}
        for each in questions:
            key = each.conversation, each.author
            if seen[each.channel] and key not in reads:
                there = Conversation.parse(each.conversation)
                read = await self.channel_store.reads(there, each.author, self.library)
                reads[key] = here.issuperset(read.collections)
        open_here = [
            each
            for each in questions
            if reads.get((each.conversation, each.author)) and here.issuperset(each.collections)
        ]
        return await asyncio.to_thread(still_open, self.library.store.database, open_here, here)

    async def _is_seen(self, channel: Conversation, other: str) -> bool:
        """True if the people of a channel see what is said in another: the same, or a public one beside it."""
        if other == channel.channel_id:
            return True
        there = Conversation.parse(f"{other}/-")
        is_near = (there.platform, there.space) == (channel.platform, channel.space)
        return is_near and not await self.is_private(there)


def last_week(now: float) -> TimeSpan:
    """The newest whole week, Monday to Sunday in UTC, whose digest is due."""
    due = datetime.fromtimestamp(now, UTC) - timedelta(hours=HOUR)
    monday = datetime(due.year, due.month, due.day, tzinfo=UTC) - timedelta(days=due.weekday())
    return TimeSpan(since=(monday - timedelta(days=7)).timestamp(), until=monday.timestamp())


def digest_of(report: GapReport) -> str:
    """A line for each of the largest open groups, in the language of most questions."""
    groups = report.open_groups
    spoken: dict[str, int] = {}
    for asked in (each for group in groups for each in group.questions):
        spoken[asked.language] = spoken.get(asked.language, 0) + 1
    say = say_in(max(spoken, key=lambda name: (spoken[name], name), default="en"))
    lines = [say("gaps_title", count=sum(group.count for group in groups) + report.closed)]
    for group in groups[:SHOWN]:
        name = clipped(" ".join(group.name.split()), NAME_SHOWN)
        lines.append(say("gaps_line", name=name, count=group.count, before=group.before))
    if rest := len(groups) - len(groups[:SHOWN]):
        lines.append(say("gaps_more", count=rest))
    if report.closed:
        lines.append(say("gaps_closed", count=report.closed))
    return "\n".join(lines)


def channels_of(platform: str, named: Sequence[str]) -> tuple[Conversation, ...]:
    """The channels of a platform among those of GAPS_CHANNEL."""
    found = (Conversation.parse(f"{each}/gaps") for each in named)
    return tuple(each for each in found if each.platform == platform)


def in_slack(channel: Conversation, after: float) -> DigestPlace:
    from bots.slack.route import SlackRoute

    route = SlackRoute(
        team=channel.space, channel=channel.channel, thread="", message=f"{after:.6f}", user="", is_direct=False,
        is_in_channel=True,
    )  # fmt: skip
    return DigestPlace(route=route, origin=f"{after:.0f}")


def in_discord(channel: Conversation, after: float) -> DigestPlace:
    from bots.discord.route import DiscordRoute, first_id_at

    route = DiscordRoute(
        server=channel.space, channel=channel.channel, thread=channel.channel, place=channel.channel, message="",
        user="",
    )  # fmt: skip
    return DigestPlace(route=route, origin=first_id_at(after))


#: By platform: where a digest is posted.
PLATFORMS: Mapping[str, Callable[[Conversation, float], DigestPlace]] = {
    "slack": in_slack,
    "discord": in_discord,
}

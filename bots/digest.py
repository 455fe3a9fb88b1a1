"""The weekly digest: what was asked, not answered and taught, in channels that the operator named.

A digest is posted through the same durable marks as answers: whoever is killed between posting it and noting
so finds it there the next time. One process at a time does this for each platform.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from bots.chat.access import access_rules, open_to_all
from bots.chat.channels import ChannelStore
from bots.chat.platform import Refused
from bots.chat.replies import Replies
from bots.chat.texts import clipped, say_in
from core.answers import store as answers
from core.conversation import Conversation, value
from core.errors import FootnoteError
from core.gaps.groups import GapFinder, GapReport
from core.gaps.questions import GapQuestion, TimeSpan, readable_turns
from core.library.library import Library
from core.lint.findings import LintFinding
from core.lint.lint import run_lint
from core.lint.store import new_findings
from core.traces.figures import HALF, UNSURE, by_day_and_outcome, day_of
from core.traces.quoted import QuotedDocuments
from core.turns.messenger import ReplyRoute, Unreachable

logger = logging.getLogger(__name__)

GROUPS = 3  # subjects that are named: with the other lines, a digest has ten
TAUGHT = 2  # kept answers that are named
NAME_SHOWN = 150  # characters of a question
HOUR = 9  # of Monday, UTC, from which the digest of the week before is shown
LOOK_EVERY = 600.0  # seconds
ANSWERED = frozenset({"answered", HALF, UNSURE})


@value
class Week:
    """The figures of a week, without its gaps."""

    asked: int = 0
    answered: int = 0
    taught: int = 0  #: answers that were kept
    questions: tuple[str, ...] = ()  #: of the newest of those that are read here
    changed: int = 0  #: answers whose documents say something else since
    #: contradictions between what is read here, found first in this week
    differ: tuple[LintFinding, ...] = ()


@value
class DigestTarget:
    """The target of a message that answers nobody."""

    route: ReplyRoute
    origin: str  #: after which the platform looks for the message, as the last part of a turn's id


@dataclass(frozen=True, slots=True, kw_only=True)
class GapDigests:
    """The digests of one platform."""

    channels: Sequence[Conversation]
    target: Callable[[Conversation, float], DigestTarget]  #: of a channel, for a message after this time
    is_private: Callable[[Conversation], Awaitable[bool]]  #: whether not everybody there reads the channel
    is_shared: Callable[[Conversation], Awaitable[bool]]  #: whether people of elsewhere read it too
    messages: Replies[Any]  #: that the platform's messenger can post
    finder: GapFinder
    channel_store: ChannelStore
    library: Library

    async def keep_showing(self) -> None:
        """Show digests until cancelled, in one process at a time."""
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

        report, week = await self.finder.report(span, may_read), await self._week(channel, span)
        if not (
            week.asked or week.taught or week.differ or week.changed or report.open_groups or report.closed
        ):
            return
        target = self.target(channel, span.until)
        message = self.messages.renderer.note(digest_of(report, week))
        turn = f"{channel.channel_id}/{target.origin}~gaps"
        try:
            await self.messages.posts.say(target.route, turn, 0, message, is_again=True)
        except Refused as refused:  # next week it is tried again
            extra = {"channel": channel.channel_id, "reason": refused.code}
            logger.warning("the digest of gaps may not be shown there", extra=extra)

    async def _week(self, channel: Conversation, span: TimeSpan) -> Week:
        """The counts of all channels, and the questions that this one may read."""
        here = (await self.channel_store.reads(channel, "", self.library)).collections
        questions, taught, documents = self.finder.questions, self.finder.answers, self.library.store
        rules = await self.channel_store.database.call(
            access_rules, self.channel_store.database.database, documents.collections()
        )
        await asyncio.to_thread(run_lint, documents, everybody=open_to_all(rules), now=self.finder.now())
        found = await asyncio.to_thread(new_findings, documents, span.since, here)
        days = await questions.call(by_day_and_outcome, questions.database, day_of(span.since))
        counts = [each for each in days if each.day < day_of(span.until)]
        where = "state <> 'new' AND kept_at >= ? AND kept_at < ?"
        kept = await taught.call(answers.select, taught.database, where, (span.since, span.until))
        return Week(
            asked=sum(each.questions for each in counts),
            answered=sum(each.questions for each in counts if each.outcome in ANSWERED),
            taught=len(kept),
            questions=tuple(each.question for each in kept if each.collection in here)[:TAUGHT],
            changed=await QuotedDocuments(questions).count_lost(span.since),
            differ=tuple(each for each in found if each.kind == "contradiction"),
        )

    async def _readable(self, channel: Conversation, questions: Sequence[GapQuestion]) -> frozenset[str]:
        """The questions of this channel, and of public ones that read nothing else than it does."""
        here = (await self.channel_store.reads(channel, "", self.library)).collections
        others = {asked.channel for asked in questions} - {channel.channel_id}
        # Who reads along from elsewhere reads no other channel.
        is_shared = bool(others) and await self.is_shared(channel)
        seen = {each: not is_shared and await self._is_seen(channel, each) for each in others}
        seen[channel.channel_id] = True
        questions = [each for each in questions if seen[each.channel]]
        reads: dict[tuple[str, str], frozenset[str]] = {}
        for where, author in {(each.conversation, each.author) for each in questions}:
            found = await self.channel_store.reads(Conversation.parse(where), author, self.library)
            reads[where, author] = found.collections
        return await asyncio.to_thread(readable_turns, self.library.store.database, questions, reads, here)

    async def _is_seen(self, channel: Conversation, other: str) -> bool:
        """True if the people of a channel see what is said in another: it is a public one beside it."""
        there = Conversation.parse(f"{other}/-")
        is_near = (there.platform, there.space) == (channel.platform, channel.space)
        return is_near and not await self.is_private(there)


def last_week(now: float) -> TimeSpan:
    """The newest whole week, Monday to Sunday in UTC, whose digest is due."""
    due = datetime.fromtimestamp(now, UTC) - timedelta(hours=HOUR)
    monday = datetime(due.year, due.month, due.day, tzinfo=UTC) - timedelta(days=due.weekday())
    return TimeSpan(since=(monday - timedelta(days=7)).timestamp(), until=monday.timestamp())


def digest_of(report: GapReport, week: Week) -> str:
    """Ten lines at most, in the language of most questions: the week, its largest open groups, what was taught."""
    groups = report.open_groups
    spoken: dict[str, int] = {}
    for asked in (each for group in groups for each in group.questions):
        spoken[asked.language] = spoken.get(asked.language, 0) + 1
    say = say_in(max(spoken, key=lambda name: (spoken[name], name), default="en"))
    lines = [say("digest_title", count=week.asked, answered=week.answered)] if week.asked else []
    if count := sum(group.count for group in groups) + report.closed:
        lines.append(say("gaps_title", count=count))
    lines += [
        say("gaps_line", name=_named(group.name), count=group.count, before=group.before)
        for group in groups[:GROUPS]
    ]
    if rest := len(groups) - len(groups[:GROUPS]):
        lines.append(say("gaps_more", count=rest))
    if report.closed:
        lines.append(say("gaps_closed", count=report.closed))
    if week.differ:
        sources = " · ".join(dict.fromkeys(passage.source for passage in week.differ[0].places))
        lines.append(say("digest_differ", count=len(week.differ), sources=sources))
    if week.changed:
        lines.append(say("digest_changed", count=week.changed))
    if week.taught:
        named = " · ".join(f"“{_named(each)}”" for each in week.questions)
        lines.append(say("digest_taught", count=week.taught) + (f" {named}" if named else ""))
    return "\n".join(lines)


def _named(question: str) -> str:
    return clipped(" ".join(question.split()), NAME_SHOWN)


def channels_of(platform: str, named: Sequence[str]) -> tuple[Conversation, ...]:
    """The channels of a platform among those of GAPS_CHANNEL."""
    found = (Conversation.parse(f"{each}/gaps") for each in named)
    return tuple(each for each in found if each.platform == platform)


def in_slack(channel: Conversation, after: float) -> DigestTarget:
    from bots.slack.route import SlackRoute

    route = SlackRoute(
        team=channel.space, channel=channel.channel, thread="", message=f"{after:.6f}", user="", is_direct=False,
        is_in_channel=True,
    )  # fmt: skip
    return DigestTarget(route=route, origin=f"{after:.0f}")


def in_discord(channel: Conversation, after: float) -> DigestTarget:
    from bots.discord.route import DiscordRoute, first_id_at

    route = DiscordRoute(
        server=channel.space, channel=channel.channel, thread=channel.channel, place=channel.channel, message="",
        user="",
    )  # fmt: skip
    return DigestTarget(route=route, origin=first_id_at(after))


#: By platform: where a digest is posted.
DIGESTS: Mapping[str, Callable[[Conversation, float], DigestTarget]] = {
    "slack": in_slack,
    "discord": in_discord,
}

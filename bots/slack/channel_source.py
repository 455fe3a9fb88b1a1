"""Reads a Slack channel as a source, at a rate that leaves room for questions.

What is limited: "conversations.history" and "conversations.replies" are of tier 3, at least 50 calls a minute, for
apps of the Marketplace and those that a company made for itself; for other apps, since 29 May 2025, one call a
minute with 15 messages ("Rate limits"). What Slack asks to wait, the engine of sources waits.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from bots.chat import channel_source
from bots.chat.channels import ChannelStore
from bots.slack.calls import Installation, NotAuthorized, Passing, Reply, SlackCalls, SlackRefused, open_calls
from bots.slack.content import SlackChannelInfo, channel_entry, channel_message, people_in
from bots.slack.people import SlackPeople
from bots.slack.route import SLACK, Payload
from bots.slack.settings import read_slack_settings
from core.conversation import value
from core.sources.source import SourceKind, SourceThrottled, SourceUnavailable, SourceWithdrawn
from core.turns.messenger import Unreachable

PAGE = 200  # messages, "conversations.history"; where fewer are allowed, Slack gives fewer
CHANNELS = 200  # of a page of "users.conversations"
INTERVAL = 1.5  # seconds between two calls: 40 a minute leave 10 of tier 3 to who answers questions
NOWHERE = ("channel_not_found", "not_in_channel", "is_inactive")  # error codes


@dataclass(slots=True, kw_only=True)
class SlackApi:
    """The Web API for a source: one call at a time, and failures as errors of sources."""

    calls: SlackCalls
    team: str
    interval: float = INTERVAL  #: seconds
    _next_at: float = 0.0

    async def read(self, method: str, **arguments: Any) -> Reply:
        """Raises SlackRefused, SourceThrottled and SourceUnavailable."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(max(0.0, self._next_at - loop.time()))
        self._next_at = loop.time() + self.interval
        try:
            return await self.calls.read(method, team=self.team, **arguments)
        except Passing as asked:
            raise SourceThrottled("Slack asks to wait.", retry_after=asked.wait or 0.0) from asked
        except NotAuthorized as refused:
            why = f"Slack refused the token of the app: {refused.code}."
            if refused.code == "missing_scope":
                why = "The app lacks a scope that reading channels needs; `footnote doctor slack` says which."
            raise SourceUnavailable(why) from refused
        except Unreachable as lost:
            raise SourceUnavailable("Slack cannot be reached.") from lost

    async def pages(self, method: str, **arguments: Any) -> AsyncIterator[Reply]:
        while True:
            reply = await self.read(method, **arguments)
            yield reply
            if not (cursor := (reply.get("response_metadata") or {}).get("next_cursor")):
                return
            arguments["cursor"] = cursor


@dataclass(slots=True, kw_only=True)
class SlackChannel:
    """One channel that the bot is in."""

    api: SlackApi
    people: SlackPeople
    info: SlackChannelInfo

    @property
    def name(self) -> str:
        return self.info.name

    def mark(self, moment: float) -> str:
        return f"{moment:.6f}"

    async def page(self, until: str, since: float = 0.0) -> channel_source.EntryPage:
        bounds = {"latest": until} if until else {}
        if since:
            bounds["oldest"] = self.mark(since - 1e-6)
        with self._telling("conversations.history"):
            reply = await self.api.read(
                "conversations.history", channel=self.info.channel, limit=PAGE, **bounds
            )
        messages = reply["messages"]
        names = await self._names(messages)
        entries = [channel_entry(each, self.info, names) for each in messages]
        return channel_source.EntryPage(entries=entries, is_last=not reply.get("has_more"))

    async def thread(self, thread: str) -> Sequence[channel_source.ChannelMessage]:
        messages: list[Payload] = []
        try:
            with self._telling("conversations.replies"):
                pages = self.api.pages(
                    "conversations.replies", channel=self.info.channel, limit=PAGE, ts=thread
                )
                async for reply in pages:
                    messages += reply["messages"]
        except SlackRefused as refused:
            if refused.code in ("thread_not_found", "message_not_found"):
                return []
            raise
        if len(messages) < 2:  # no thread: what stands alone is of its day
            return []
        names = await self._names(messages)
        # Pages repeat the first.
        found = {each["ts"]: channel_message(each, self.info, names) for each in messages}
        return [each for each in found.values() if each is not None]

    @contextmanager
    def _telling(self, method: str) -> Iterator[None]:
        """Turns failures into errors of sources; raises SlackRefused for a thread alone."""
        try:
            yield
        except SlackRefused as refused:
            if refused.code in NOWHERE:
                raise SourceWithdrawn(
                    f"{self.info.name} cannot be read any more: {refused.code}."
                ) from refused
            if method == "conversations.replies":
                raise
            raise SourceUnavailable(f"Slack refused to show {self.info.name}: {refused.code}.") from refused

    async def _names(self, messages: Iterable[Payload]) -> dict[str, str]:
        users = dict.fromkeys(user for each in messages for user in people_in(each))
        return await self.people.names({"team": self.api.team}, users)


def slack_kind(channel_store: ChannelStore | None, *, interval: float = INTERVAL) -> SourceKind:
    return channel_source.ChannelSources(
        platform=SLACK, channel_store=channel_store, connect=_people,
        look_up=partial(_look_up, interval=interval), find=_find,
    ).kind()  # fmt: skip


@value
class KnownSlackChannel:
    """A channel as "conversations.info" describes it."""

    api: SlackApi
    people: SlackPeople
    installation: Installation
    channel: str
    known: Payload
    trouble: str = ""

    @property
    def name(self) -> str:
        return f"#{self.known.get('name') or self.channel}"

    def refusal(self, *, is_own: bool) -> str:
        known, name = self.known, self.name
        if known.get("is_im") or known.get("is_mpim"):
            return "Direct messages are not read."
        if not known.get("is_member") and not known.get("is_archived"):
            return f"The bot is not in {name}: invite it there."
        is_shared = known.get("is_ext_shared") or known.get("is_pending_ext_shared")
        if is_own or not (known.get("is_private", True) or is_shared):
            return ""
        kind = "is private" if known.get("is_private", True) else "is shared with another organization"
        return (
            f"{name} {kind}, so what is said there is for its members alone. Write `learn channel` there: it is then "
            "read for that channel only."
        )

    async def reader(self) -> SlackChannel:
        if self.known.get("is_archived"):
            raise SourceUnavailable(f"{self.name} is archived: what was read of it stays.")
        url = str((await self.api.read("auth.test"))["url"])
        info = SlackChannelInfo(channel=self.channel, name=self.name, me=self.installation.me, url=url)
        return SlackChannel(api=self.api, people=self.people, info=info)


async def _look_up(people: SlackPeople, team: str, channel: str, *, interval: float) -> KnownSlackChannel:
    installation = await people.calls.installation(team)
    if installation is None:
        raise SourceUnavailable("The app is not installed in this workspace.")
    api = SlackApi(calls=people.calls, team=team, interval=interval)
    try:
        known = (await api.read("conversations.info", channel=channel))["channel"]
    except SlackRefused as refused:
        raise SourceWithdrawn(f"The bot sees no channel {channel}: {refused.code}.") from refused
    return KnownSlackChannel(api=api, people=people, installation=installation, channel=channel, known=known)


async def _find(people: SlackPeople, team: str, channel: str) -> channel_source.Found:
    teams = [team] if team else people.calls.installations.spaces()
    apis = {each: SlackApi(calls=people.calls, team=each, interval=0.0) for each in teams}
    return [(each, known) for each, api in apis.items() if (known := await _channel_id(api, channel))]


async def _channel_id(api: SlackApi, channel: str) -> str | None:
    """The id of a channel that the bot is in, by its name or its id; None if there is none."""
    try:
        if not channel.startswith("#"):
            await api.read("conversations.info", channel=channel)
            return channel
        kinds = "public_channel,private_channel"
        async for reply in api.pages("users.conversations", types=kinds, limit=CHANNELS):
            for each in reply["channels"]:
                if each["name"] == channel[1:]:
                    return str(each["id"])
    except SlackRefused:
        pass
    return None


@asynccontextmanager
async def _people(channel_store: ChannelStore | None) -> AsyncIterator[SlackPeople]:
    """The people of the app that is served here; else of the one that SLACK_BOT_TOKEN names."""
    served = channel_store.people.get(SLACK) if channel_store else None
    if isinstance(served, SlackPeople):
        yield served
        return
    settings = read_slack_settings(os.environ, is_served=False)
    if settings is None or not settings.bot_token:
        raise SourceUnavailable("SLACK_BOT_TOKEN is needed to read a channel of Slack.")
    async with open_calls(settings) as calls:
        await calls.add_own(settings.bot_token, SourceUnavailable)
        yield SlackPeople(calls=calls)

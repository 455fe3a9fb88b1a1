"""Reads a Slack channel as a source, no faster than leaves room for questions.

What is limited: "conversations.history" and "conversations.replies" are of tier 3, at least 50 calls a minute, for
apps of the Marketplace and those that a company made for itself; for other apps, since 29 May 2025, one call a
minute with 15 messages ("Rate limits"). What Slack asks to wait, the engine of sources waits.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from bots.chat.channel_source import (
    SLACK_CHANNELS,
    ChannelMessage,
    ChannelSource,
    EntryPage,
    channel_in,
    channel_kind,
    only_one,
)
from bots.chat.channels import ChannelStore, channel_at, own_collection, source_of
from bots.slack.calls import (
    Installation,
    MissingScope,
    NotAuthorized,
    Passing,
    Reply,
    SlackCalls,
    SlackRefused,
    open_calls,
)
from bots.slack.content import SlackPlace, channel_entry, channel_message, people_in
from bots.slack.people import SlackPeople
from bots.slack.route import PLATFORM, Payload
from bots.slack.settings import read_slack_settings
from core.sources.source import SourceContext, SourceKind, SourceThrottled, SourceUnavailable, SourceWithdrawn
from core.turns.messenger import Unreachable

PAGE = 200  # messages, "conversations.history"; where fewer are allowed, Slack gives fewer
CHANNELS = 200  # of a page of "users.conversations"
INTERVAL = 1.5  # seconds between two calls: 40 a minute leave 10 of tier 3 to who answers questions
NOWHERE = ("channel_not_found", "not_in_channel", "is_inactive")  # error codes


@dataclass(slots=True, kw_only=True)
class SlackApi:
    """The Web API as a source reads it: one call after the other, and what is in the way as an error of sources."""

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
        except MissingScope as missing:
            raise SourceUnavailable(
                "The app lacks a scope that reading channels needs; `footnote doctor slack` says which."
            ) from missing
        except NotAuthorized as refused:
            raise SourceUnavailable(f"Slack refused the token of the app: {refused.code}.") from refused
        except Unreachable as lost:
            raise SourceUnavailable("Slack cannot be reached.") from lost


@dataclass(slots=True, kw_only=True)
class SlackChannel:
    """One channel that the bot is in."""

    api: SlackApi
    people: SlackPeople
    at: SlackPlace

    @property
    def place(self) -> str:
        return self.at.name

    def mark(self, moment: float) -> str:
        return f"{moment:.6f}"

    async def page(self, until: str, since: float = 0.0) -> EntryPage:
        bounds = {"latest": until} if until else {}
        if since:
            bounds["oldest"] = self.mark(since - 1e-6)
        reply = await self._read("conversations.history", limit=PAGE, **bounds)
        messages = reply["messages"]
        names = await self._names(messages)
        entries = [channel_entry(each, self.at, names) for each in messages]
        return EntryPage(entries=entries, is_last=not reply.get("has_more"))

    async def thread(self, thread: str) -> Sequence[ChannelMessage]:
        messages: list[Payload] = []
        cursor = ""
        while True:
            more = {"cursor": cursor} if cursor else {}
            try:
                reply = await self._read("conversations.replies", ts=thread, limit=PAGE, **more)
            except SlackRefused as refused:
                if refused.code in ("thread_not_found", "message_not_found"):
                    return []
                raise
            messages += reply["messages"]
            cursor = (reply.get("response_metadata") or {}).get("next_cursor") or ""
            if not cursor:
                break
        if len(messages) < 2:  # no thread: what stands alone is of its day
            return []
        names = await self._names(messages)
        found = {
            each["ts"]: channel_message(each, self.at, names) for each in messages
        }  # pages repeat the first
        return [each for each in found.values() if each is not None]

    async def _read(self, method: str, **arguments: Any) -> Reply:
        try:
            return await self.api.read(method, channel=self.at.channel, **arguments)
        except SlackRefused as refused:
            if refused.code in NOWHERE:
                raise SourceWithdrawn(f"{self.at.name} cannot be read any more: {refused.code}.") from refused
            if method == "conversations.replies":
                raise
            raise SourceUnavailable(f"Slack refused to show {self.at.name}: {refused.code}.") from refused

    async def _names(self, messages: Iterable[Payload]) -> dict[str, str]:
        users = dict.fromkeys(user for each in messages for user in people_in(each))
        return await self.people.names({"team": self.api.team}, users)


def slack_kind(channel_store: ChannelStore | None, *, interval: float = INTERVAL) -> SourceKind:
    """Without a store, which knows who asked not to be read, channels can be looked up and not read."""
    return channel_kind(
        SLACK_CHANNELS,
        open=partial(_open_channel, channel_store=channel_store, interval=interval),
        resolve=partial(_resolve, channel_store=channel_store),
        check=partial(_check, channel_store=channel_store),
    )


@asynccontextmanager
async def _open_channel(
    address: str, context: SourceContext, *, channel_store: ChannelStore | None, interval: float
) -> AsyncIterator[ChannelSource]:
    team, channel = channel_in(address)
    if channel_store is None:
        raise SourceUnavailable("Who asked not to be read is not known here.")
    async with _people(channel_store) as people:
        installation = await people.calls.installation(team)
        if installation is None:
            raise SourceUnavailable("The app is not installed in this workspace.")
        api = SlackApi(calls=people.calls, team=team, interval=interval)
        known = await _look_up(api, channel)
        name = f"#{known.get('name') or channel}"
        refusal = _refusal(
            known, name, is_own=context.collection == own_collection(channel_at(PLATFORM, team, channel))
        )
        if refusal:
            raise SourceWithdrawn(refusal)
        if known.get("is_archived"):
            raise SourceUnavailable(f"{name} is archived: what was read of it stays.")
        identity = await api.read("auth.test")
        place = SlackPlace(channel=channel, name=name, me=installation.me, url=str(identity["url"]))
        yield ChannelSource(
            reader=SlackChannel(api=api, people=people, at=place),
            label=f"{PLATFORM}:{name}",
            opted_out=channel_store.opted_out,
        )


async def _check(address: str, _context: SourceContext, *, channel_store: ChannelStore | None) -> None:
    """True if the channel may be read for itself; for which collection it is read is asked at each sync."""
    team, channel = channel_in(address)
    async with _people(channel_store) as people:
        known = await _look_up(SlackApi(calls=people.calls, team=team), channel)
        if refusal := _refusal(known, f"#{known.get('name') or channel}", is_own=True):
            raise SourceUnavailable(refusal)


def _refusal(known: Payload, name: str, *, is_own: bool) -> str:
    """Why the channel may not be read into a collection; empty if it may. ``is_own``: that of the channel alone."""
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


async def _look_up(api: SlackApi, channel: str) -> Payload:
    try:
        known: Payload = (await api.read("conversations.info", channel=channel))["channel"]
    except SlackRefused as refused:
        raise SourceWithdrawn(f"The bot sees no channel {channel}: {refused.code}.") from refused
    return known


async def _resolve(address: str, _context: SourceContext, *, channel_store: ChannelStore | None) -> str:
    """The id of a channel that is named, as another may have the name tomorrow."""
    team, channel = channel_in(address)
    async with _people(channel_store) as people:
        teams = [team] if team else people.calls.installations.spaces()
        found = [
            source_of(channel_at(PLATFORM, each, known))
            for each in teams
            if (known := await _channel_id(SlackApi(calls=people.calls, team=each, interval=0.0), channel))
        ]
    return only_one(found, channel)


async def _channel_id(api: SlackApi, channel: str) -> str | None:
    """The id of a channel that the bot is in, by its name or its id; None if there is none."""
    cursor = ""
    try:
        if not channel.startswith("#"):
            await api.read("conversations.info", channel=channel)
            return channel
        while True:
            more = {"cursor": cursor} if cursor else {}
            kinds = "public_channel,private_channel"
            reply = await api.read("users.conversations", types=kinds, limit=CHANNELS, **more)
            for each in reply["channels"]:
                if each["name"] == channel[1:]:
                    return str(each["id"])
            cursor = (reply.get("response_metadata") or {}).get("next_cursor") or ""
            if not cursor:
                return None
    except SlackRefused:
        return None


@asynccontextmanager
async def _people(channel_store: ChannelStore | None) -> AsyncIterator[SlackPeople]:
    """The people of the app that is served here; else of the one that SLACK_BOT_TOKEN names."""
    served = channel_store.people.get(PLATFORM) if channel_store else None
    if isinstance(served, SlackPeople):
        yield served
        return
    settings = read_slack_settings(os.environ, is_served=False)
    if settings is None or not settings.bot_token:
        raise SourceUnavailable("SLACK_BOT_TOKEN is needed to read a channel of Slack.")
    async with open_calls(settings) as calls:
        calls.installations.add(await _identified(calls, settings.bot_token))
        yield SlackPeople(calls=calls)


async def _identified(calls: SlackCalls, token: str) -> Installation:
    try:
        return await calls.identify(token)
    except (SlackRefused, NotAuthorized) as refused:
        raise SourceUnavailable(f"Slack refused SLACK_BOT_TOKEN: {refused.code}.") from refused
    except Unreachable as lost:
        raise SourceUnavailable("Slack cannot be reached.") from lost

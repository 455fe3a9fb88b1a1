"""``footnote run``: serve the platforms whose tokens are set, in one process, until it is stopped."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from argparse import Namespace
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from bots import process
from bots.chat.channels import ChannelStore, open_channel_store
from bots.chat.inbox import admission_of
from bots.chat.texts import NOTHING_INDEXED, counted
from bots.cli import PORT_OF_HOST
from bots.commands.backend import until_free
from bots.discord.route import PLATFORM as DISCORD
from bots.discord.serve import DiscordServer, open_discord
from bots.discord.settings import DiscordSettings, read_discord_settings
from bots.doctor.checkup import SETTING_NAMES
from bots.doctor.settings import find_misspellings, read_configuration
from bots.gap_digest import PLATFORMS as DIGESTS
from bots.gap_digest import GapDigests, channels_of
from bots.mcp.callers import PLATFORM as MCP
from bots.mcp.settings import McpSettings, check_extra, read_mcp_settings
from bots.page.gap_reports import GapReports
from bots.page.server import OwnWork, link_told, open_page
from bots.page.sessions import open_page_store
from bots.page.settings import PageSettings, read_page_settings
from bots.page.threads import PLATFORM as PAGE
from bots.page.threads import PageMessenger, PageThreads, collections_of
from bots.platforms import source_kinds
from bots.process import (
    beside,
    favor_loop,
    limit_arenas,
    log_to_stderr,
    measure_lag,
    raise_file_limit,
)
from bots.refresh import IndexRefresher
from bots.slack.route import PLATFORM as SLACK
from bots.slack.serve import SlackServer, open_slack
from bots.slack.settings import SlackSettings, read_slack_settings
from bots.terminal.messenger import TerminalMessenger, sweeping
from bots.terminal.operations import Operations
from bots.terminal.screen import Screen
from bots.terminal.session import PLATFORM as TERMINAL
from bots.terminal.session import fresh_conversation
from core.bootstrap import Footnote, Reads, open_footnote, reads_everything
from core.conversation import Command, Conversation, value
from core.errors import SettingsError, for_people
from core.gaps.groups import GapFinder, open_gaps
from core.library.data_lock import SERVING, make_data_dir
from core.library.documents import Readable
from core.library.library import Library
from core.settings import ENV_FILE, Settings, read_env_file
from core.sources.sources import SourceSchedule
from core.storage.storage import open_storage
from core.turns.messenger import SHOWN_BY, Messenger
from core.turns.queue import queue_url
from core.turns.rate_limits import Admission
from core.turns.remote import OPERATOR
from core.turns.turns import Turns, open_turns

if TYPE_CHECKING:
    from aiohttp.web import RouteDef

TITLES = {SLACK: "Slack", DISCORD: "Discord"}
INDEX = "index"  # the role of the process that keeps it in step with the disk
SOURCES = "sources"  # that of the process that looks which are due

logger = logging.getLogger(__name__)


@value
class Served:
    """The settings of each platform; None for one that is not served."""

    slack: SlackSettings | None
    discord: DiscordSettings | None
    port: int | None  #: on which Slack's events come over HTTP; None: over its sockets
    page: PageSettings | None = None  #: where the operators' page is; None: nowhere
    mcp: McpSettings | None = None  #: where assistants ask over MCP; None: nowhere

    @property
    def platforms(self) -> frozenset[str]:
        given = {SLACK: self.slack, DISCORD: self.discord}
        return frozenset(name for name, settings in given.items() if settings is not None)


def run(arguments: Namespace, settings: Settings) -> int:
    return serve_until_stopped(_served(arguments), settings)


def serve_until_stopped(served: Served, settings: Settings) -> int:
    """The exit code of a process that serves."""
    limit_arenas()
    raise_file_limit()
    log_to_stderr(settings, quiet=False)
    # Misspelt limits would silently have no effect.
    for finding in find_misspellings(read_configuration(os.environ), SETTING_NAMES):
        logger.warning("%s %s", finding.text, finding.fix)
    until_free(settings, Screen())  # a command may be ending
    return process.run(_run(served, settings))


async def _run(served: Served, settings: Settings) -> int:
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    make_data_dir(settings.data_dir)
    with open_storage(settings) as storage, open_channel_store(storage) as channel_store:
        reads, refresher = _reads(channel_store, served.platforms), IndexRefresher(settings=settings)
        async with (
            open_footnote(
                settings, purpose=SERVING, reads=reads, storage=storage, refresh=refresher.refresh,
                sentence=for_people, source_kinds=source_kinds(channel_store),
            ) as footnote,
            _refreshing(refresher, footnote),
            _serving(
                served, Operations(footnote=footnote, refresher=refresher, channel_store=channel_store),
                reads=reads, stop=stop,
            ) as link,
            beside(measure_lag()),
        ):  # fmt: skip
            with favor_loop():
                sys.stdout.write(f"{_greeting(served, footnote, link)}\n")
                sys.stdout.flush()
                await stop.wait()
            logger.info("stopping")
    return 0


Servers = dict[str, SlackServer | DiscordServer]  # by platform


@asynccontextmanager
async def _serving(
    served: Served, operations: Operations, *, reads: Reads, stop: asyncio.Event
) -> AsyncIterator[str]:
    """A link to the page, if it is served. At the end in reverse: accept nothing more, let running turns end and be
    delivered, then disconnect."""
    footnote, channel_store = operations.footnote, operations.channel_store
    async with AsyncExitStack() as open_now:
        servers = await _open_platforms(served, footnote, channel_store, open_now)
        page_store = open_now.enter_context(open_page_store(footnote.storage))
        threads = PageThreads(page_store)
        messengers: dict[str, Messenger] = {
            **{name: server.messenger for name, server in servers.items()},
            TERMINAL: TerminalMessenger(operations=operations),
            PAGE: PageMessenger(threads),  # also for a page that is served beside
        }
        queue, replicas = queue_url(footnote.settings), footnote.replicas
        opening = open_turns(footnote.assistant, messengers, database_url=queue, replicas=replicas)
        turns = await open_now.enter_async_context(opening)
        footnote.meters.load = turns.load
        await open_now.enter_async_context(sweeping())
        gaps = open_now.enter_context(open_gaps(footnote.storage, lambda: footnote.library.embedder))
        admission = await admission_of(footnote, turns, (SLACK, DISCORD, MCP))
        await _begin(
            servers, served, operations, turns, admission=admission, gaps=gaps, stop=stop, open_now=open_now
        )
        routes: Sequence[RouteDef] = ()
        if served.mcp is not None:
            routes = await _open_mcp(
                served, operations, turns, threads=threads, slack=servers.get(SLACK), reads=reads, stop=stop,
                admission=admission, open_now=open_now,
            )  # fmt: skip
        if served.page is None:
            yield ""
            return
        connections = {TITLES[name]: server.is_connected for name, server in servers.items()}
        work = OwnWork(turns=turns, operations=operations, meters=footnote.meters, platforms=connections)
        page = open_page(
            served.page, footnote.settings, library=footnote.library, log=footnote.log, answers=footnote.answers,
            gaps=GapReports(gaps), channels=channel_store, database=page_store, sources=footnote.sources.store,
            work=work, meters=footnote.meters, routes=routes,
        )  # fmt: skip
        yield await open_now.enter_async_context(page)


async def _open_platforms(
    served: Served, footnote: Footnote, channel_store: ChannelStore, open_now: AsyncExitStack
) -> Servers:
    """Connect to each, without taking anything in yet; ``open_now`` disconnects them."""
    servers: Servers = {}
    if served.slack is not None:
        slack = open_slack(served.slack, footnote, channel_store, is_http=served.port is not None)
        servers[SLACK] = await open_now.enter_async_context(slack)
    if served.discord is not None:
        discord = open_discord(served.discord, footnote, channel_store)
        servers[DISCORD] = await open_now.enter_async_context(discord)
    return servers


async def _begin(
    servers: Servers,
    served: Served,
    operations: Operations,
    turns: Turns,
    *,
    admission: Admission | None,
    gaps: GapFinder,
    stop: asyncio.Event,
    open_now: AsyncExitStack,
) -> None:
    """Take in what the platforms send; show digests of gaps and have sources read, by one process for all."""
    footnote, lead = operations.footnote, operations.footnote.replicas.lead
    schedule = schedule_of(footnote, turns)
    works = [lead(SOURCES, schedule.keep_looking)]
    for name, server in servers.items():
        if isinstance(server, SlackServer):
            await open_now.enter_async_context(server.serving(turns, served.port, schedule, admission))
        else:
            await open_now.enter_async_context(server.serving(turns, stop.set, schedule, admission))
        if shown_in := channels_of(name, footnote.settings.gaps_channel):
            digests = GapDigests(
                channels=shown_in, place=DIGESTS[name], messages=server.messenger, finder=gaps,
                is_private=server.messenger.commands.people.is_private, library=footnote.library,
                channel_store=operations.channel_store,
            )  # fmt: skip
            works.append(lead(f"gaps-{name}", digests.keep_showing))
    await open_now.enter_async_context(beside(*works))


async def _open_mcp(
    served: Served,
    operations: Operations,
    turns: Turns,
    *,
    threads: PageThreads,
    slack: SlackServer | DiscordServer | None,
    reads: Reads,
    stop: asyncio.Event,
    admission: Admission | None,
    open_now: AsyncExitStack,
) -> Sequence[RouteDef]:
    """Serve assistants; the routes for the page to serve, where both are at one place."""
    from bots.mcp.http import serving_mcp
    from bots.mcp.serve import open_mcp

    assert served.mcp is not None
    assert slack is None or isinstance(slack, SlackServer)
    opening = open_mcp(
        served.mcp, operations.footnote, turns, channels=operations.channel_store, threads=threads, reads=reads,
        refresh=operations.refresher.refresh, is_stopping=stop.is_set, admission=admission,
        signing_secret=slack.settings.signing_secret if slack else "",
        spaces=slack.calls.installations.spaces if slack else tuple,
    )  # fmt: skip
    site, key = await open_now.enter_async_context(opening)
    if served.page and (served.page.host, served.page.port) == (site.place.host, site.place.port):
        sys.stdout.write("Assistants ask over MCP at /mcp of the page.\n")
        return await open_now.enter_async_context(site.routes(key))
    address = await open_now.enter_async_context(serving_mcp(site, key))
    sys.stdout.write(f"Assistants ask over MCP at {address}\n")
    return ()


def schedule_of(footnote: Footnote, turns: Turns) -> SourceSchedule:
    """Puts what is to be read of sources into the queue."""

    async def enqueue(command: Command) -> None:
        await turns.accept(command, {SHOWN_BY: TERMINAL})

    return SourceSchedule(
        store=footnote.sources.store, enqueue=enqueue, place=fresh_conversation(), prefix=OPERATOR,
        due=footnote.sources.due,
    )  # fmt: skip


def _served(arguments: Namespace) -> Served:
    """Raise SettingsError if a platform that shall be served lacks a token."""
    page = read_page_settings(arguments.page, os.environ) if arguments.page else None
    named: Collection[str] = arguments.platforms or (SLACK, DISCORD)
    slack = read_slack_settings(os.environ) if SLACK in named else None
    discord = read_discord_settings(os.environ) if DISCORD in named else None
    missing = [
        token
        for name, settings, token in (
            (SLACK, slack, "SLACK_BOT_TOKEN and SLACK_APP_TOKEN"),
            (DISCORD, discord, "DISCORD_TOKEN"),
        )
        if settings is None and name in named
    ]
    mcp: McpSettings | None = None
    if arguments.mcp:
        check_extra()
        mcp = read_mcp_settings(arguments.mcp, os.environ)
    if missing and (arguments.platforms or (len(missing) == 2 and mcp is None)):
        raise SettingsError(f"There is nothing to serve: set {', or '.join(missing)}.")
    port = arguments.http
    if port == PORT_OF_HOST:  # a host says in PORT on which port it expects its process ``web``
        named_port = {**read_env_file(ENV_FILE), **os.environ}.get("PORT", "").strip()
        if not (named_port.isdecimal() and int(named_port) <= 65535):
            raise SettingsError(
                "--http without a number takes the port that PORT names, and it names none: --http 3000."
            )
        port = int(named_port)
    if slack is not None:
        _check(slack, port)
    elif port is not None:
        raise SettingsError("--http is for Slack, which is not served here; Discord needs no port.")
    return Served(slack=slack, discord=discord, port=port, page=page, mcp=mcp)


def _check(slack: SlackSettings, port: int | None) -> None:
    if port is None and not slack.bot_token:
        raise SettingsError("SLACK_CLIENT_ID lets workspaces install the app over HTTP: --http PORT.")
    if port is None and not slack.app_token:
        raise SettingsError("SLACK_APP_TOKEN is needed; without it, serve over HTTP: --http PORT.")
    if port is not None and not slack.signing_secret:
        raise SettingsError("SLACK_SIGNING_SECRET is needed to serve over HTTP.")


def _reads(channel_store: ChannelStore, served: Collection[str]) -> Reads:
    async def reads(conversation: Conversation, author: str, library: Library) -> Readable:
        """Every collection for the operator; none for a conversation of a platform that is not served."""
        if conversation.platform in (TERMINAL, PAGE):
            everything = await reads_everything(conversation, author, library)
            named = collections_of(conversation.channel) if conversation.platform == PAGE else None
            if named is None:
                return everything
            return replace(everything, collections=everything.collections & named)
        if conversation.platform not in (*served, MCP):
            return Readable()
        return await channel_store.reads(conversation, author, library)

    return reads


def _refreshing(refresher: IndexRefresher, footnote: Footnote) -> AbstractAsyncContextManager[None]:
    """Begin with a look at the disk in the background; at the end, stop looking."""
    library, replicas = footnote.library, footnote.replicas
    works = [replicas.lead(INDEX, lambda: refresher.lead(library, replicas))]
    if footnote.storage.url is not None:
        works.append(refresher.follow(library))
    return beside(*works)


def _greeting(served: Served, footnote: Footnote, link: str) -> str:
    others = "assistants" if served.mcp else "the page"
    names = " and ".join(TITLES[name] for name in sorted(served.platforms, reverse=True)) or others
    documents = len(footnote.library.store.entries())
    reads = counted(documents, "document") if documents else f"no documents yet. {NOTHING_INDEXED}"
    told = f"{link_told(link)}\n" if link else ""
    return f"{told}Serving {names} with {reads.rstrip('.')}. Ctrl-C stops."

"""``footnote run``: serve the platforms whose tokens are set, in one process, until it is stopped."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from argparse import Namespace
from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bots import process
from bots.chat.channels import open_channel_store
from bots.chat.inbox import admission_of
from bots.chat.rechecks import AnswerWatch
from bots.chat.texts import NOTHING_INDEXED, counted
from bots.cli import PORT_OF_HOST
from bots.commands.backend import reads_for, until_free
from bots.digest import DIGESTS, GapDigests, channels_of
from bots.discord.route import DISCORD
from bots.discord.serve import DiscordServer, open_discord
from bots.discord.settings import DiscordSettings, read_discord_settings
from bots.doctor.checkup import SETTING_NAMES
from bots.doctor.settings import find_misspellings, read_configuration
from bots.mcp.callers import MCP
from bots.mcp.settings import McpSettings, check_extra, read_mcp_settings
from bots.page.gap_reports import GapReports
from bots.page.server import OwnWork, link_note, open_page
from bots.page.sessions import open_page_store
from bots.page.settings import PageSettings, read_page_settings
from bots.page.threads import PAGE, PageMessenger, PageThreads
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
from bots.slack.route import SLACK
from bots.slack.serve import SlackServer, open_slack
from bots.slack.settings import SlackSettings, read_slack_settings
from bots.terminal.messenger import TerminalMessenger, sweeping
from bots.terminal.operations import Operations
from bots.terminal.screen import Screen
from bots.terminal.session import TERMINAL, fresh_conversation
from core.answers.rechecks import AnswerChecks
from core.bootstrap import Footnote, Reads, open_footnote
from core.conversation import Command, Question, value
from core.errors import SettingsError, for_people
from core.gaps.groups import GapFinder, open_gaps
from core.gaps.questions import GapStore
from core.library.data_lock import SERVING, make_data_dir
from core.settings import ENV_FILE, Settings, read_env_file
from core.sources.sources import SourceSchedule
from core.storage.storage import open_storage
from core.traces.log import DAY
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
        reads, refresher = reads_for(channel_store, served.platforms), IndexRefresher(settings=settings)
        async with (
            open_footnote(
                settings, purpose=SERVING, reads=reads, storage=storage, refresh=refresher.refresh,
                sentence=for_people, source_kinds=source_kinds(channel_store),
            ) as footnote,
            _refreshing(refresher, footnote),
            AsyncExitStack() as stack,
            beside(measure_lag()),
        ):  # fmt: skip
            operations = Operations(footnote=footnote, refresher=refresher, channel_store=channel_store)
            link = await _Serving(served, operations, reads, stop, stack).begin()
            with favor_loop():
                sys.stdout.write(f"{_greeting(served, footnote, link)}\n")
                sys.stdout.flush()
                await stop.wait()
            logger.info("stopping")
    return 0


Servers = dict[str, SlackServer | DiscordServer]  # by platform


@dataclass(frozen=True, slots=True)
class _Serving:
    """The servers of one run. They end in reverse: accept nothing more, deliver running turns, disconnect."""

    served: Served
    operations: Operations
    reads: Reads
    stop: asyncio.Event
    stack: AsyncExitStack

    async def begin(self) -> str:
        """Begin to serve; returns a link to the page, if it is served."""
        footnote, channel_store = self.operations.footnote, self.operations.channel_store
        servers = await self._platforms()
        page_store = self.stack.enter_context(open_page_store(footnote.storage))
        threads = PageThreads(page_store)
        messengers: dict[str, Messenger] = {
            **{name: server.messenger for name, server in servers.items()},
            TERMINAL: TerminalMessenger(operations=self.operations),
            PAGE: PageMessenger(threads),  # also for a page that is served beside
        }
        queue, replicas = queue_url(footnote.settings), footnote.replicas
        opening = open_turns(footnote.assistant, messengers, database_url=queue, replicas=replicas)
        turns = await self.stack.enter_async_context(opening)
        footnote.meters.load = turns.load
        await self.stack.enter_async_context(sweeping())
        gaps = self.stack.enter_context(open_gaps(footnote.storage, lambda: footnote.library.embedder))
        admission = await admission_of(footnote, turns, (SLACK, DISCORD, MCP))
        await self._take_in(servers, turns, admission, gaps)
        routes = await self._assistants(turns, threads, servers.get(SLACK), admission)
        if self.served.page is None:
            return ""
        connections = {TITLES[name]: server.is_connected for name, server in servers.items()}
        work = OwnWork(turns=turns, operations=self.operations, meters=footnote.meters, platforms=connections)
        page = open_page(
            self.served.page, footnote.settings, library=footnote.library, log=footnote.log,
            answers=footnote.answers, gaps=GapReports(gaps), channels=channel_store, database=page_store,
            sources=footnote.sources.store, work=work, meters=footnote.meters, routes=routes,
        )  # fmt: skip
        return await self.stack.enter_async_context(page)

    async def _platforms(self) -> Servers:
        """The platforms, connected, but not taking anything in yet."""
        footnote, channel_store = self.operations.footnote, self.operations.channel_store
        served, servers = self.served, Servers()
        if served.slack is not None:
            slack = open_slack(served.slack, footnote, channel_store, is_http=served.port is not None)
            servers[SLACK] = await self.stack.enter_async_context(slack)
        if served.discord is not None:
            discord = open_discord(served.discord, footnote, channel_store)
            servers[DISCORD] = await self.stack.enter_async_context(discord)
        return servers

    async def _take_in(
        self, servers: Servers, turns: Turns, admission: Admission | None, gaps: GapFinder
    ) -> None:
        """Take in what the platforms send; show digests of gaps and have sources read, by one process for all."""
        footnote, lead = self.operations.footnote, self.operations.footnote.replicas.lead
        schedule = schedule_of(footnote, turns)
        works = [lead(SOURCES, schedule.keep_looking)]
        for name, server in servers.items():
            if isinstance(server, SlackServer):
                serving = server.serving(turns, self.served.port, schedule, admission)
            else:
                serving = server.serving(turns, self.stop.set, schedule, admission)
            await self.stack.enter_async_context(serving)
            if shown_in := channels_of(name, footnote.settings.gaps_channel):
                people = server.messenger.commands.people
                digests = GapDigests(
                    channels=shown_in, target=DIGESTS[name], messages=server.messenger.replies, finder=gaps,
                    is_private=people.is_private, is_shared=people.is_shared, library=footnote.library,
                    channel_store=self.operations.channel_store,
                )  # fmt: skip
                works.append(lead(f"gaps-{name}", digests.keep_showing))
        if servers:
            works.append(lead("rechecks", self._watch(servers, gaps.store).keep_looking))
        await self.stack.enter_async_context(beside(*works))

    def _watch(self, servers: Servers, gaps: GapStore) -> AnswerWatch:
        """The watch that checks answers again when documents change."""
        footnote, operations = self.operations.footnote, self.operations

        async def readable(question: Question) -> frozenset[str]:
            return (await self.reads(question.conversation, question.author, footnote.library)).collections

        checks = AnswerChecks(
            log=footnote.log, answers=footnote.answers, library=footnote.library,
            sources=footnote.sources.store, keep=footnote.settings.recheck_answers * DAY, readable=readable,
            platforms=frozenset(servers), talks=tuple(f"{name}://" for name in TITLES),
        )  # fmt: skip
        people = {name: server.messenger.commands.people for name, server in servers.items()}
        return AnswerWatch(
            checks=checks, people=people, channel_store=operations.channel_store, gaps=gaps,
            quiet_hours=footnote.settings.quiet_hours, refresh=operations.refresher.refresh,
        )  # fmt: skip

    async def _assistants(
        self, turns: Turns, threads: PageThreads, slack: SlackServer | DiscordServer | None,
        admission: Admission | None,
    ) -> Sequence[RouteDef]:  # fmt: skip
        """Serve assistants; the routes for the page to serve, where both have one address."""
        if self.served.mcp is None:
            return ()
        from bots.mcp.http import serving_mcp
        from bots.mcp.serve import open_mcp

        assert slack is None or isinstance(slack, SlackServer)
        opening = open_mcp(
            self.served.mcp, self.operations.footnote, turns, channels=self.operations.channel_store,
            threads=threads, reads=self.reads, refresh=self.operations.refresher.refresh,
            is_stopping=self.stop.is_set, admission=admission,
            signing_secret=slack.settings.signing_secret if slack else "",
            spaces=slack.calls.installations.spaces if slack else tuple,
        )  # fmt: skip
        site, key = await self.stack.enter_async_context(opening)
        page = self.served.page
        if page and (page.host, page.port) == (site.http.host, site.http.port):
            sys.stdout.write("Assistants ask over MCP at /mcp of the page.\n")
            return await self.stack.enter_async_context(site.routes(key))
        address = await self.stack.enter_async_context(serving_mcp(site, key))
        sys.stdout.write(f"Assistants ask over MCP at {address}\n")
        return ()


def schedule_of(footnote: Footnote, turns: Turns) -> SourceSchedule:
    """The schedule that puts due syncs of sources into the queue."""

    async def enqueue(command: Command) -> None:
        await turns.accept(command, {SHOWN_BY: TERMINAL})

    return SourceSchedule(
        store=footnote.sources.store, enqueue=enqueue, conversation=fresh_conversation(), prefix=OPERATOR,
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
        alone = " `footnote page` serves the page alone." if page else ""
        raise SettingsError(f"There is nothing to serve: set {', or '.join(missing)}.{alone}")
    port = arguments.http
    if port == PORT_OF_HOST:  # a host says in PORT on which port it expects its process ``web``
        named_port = {**read_env_file(ENV_FILE), **os.environ}.get("PORT", "").strip()
        if not (named_port.isdecimal() and int(named_port) <= 65535):
            raise SettingsError(
                "--http without a number takes the port that PORT names, and it names none: --http 3000."
            )
        port = int(named_port)
    if slack is not None:
        if port is None and not slack.bot_token:
            raise SettingsError("SLACK_CLIENT_ID lets workspaces install the app over HTTP: --http PORT.")
        if port is None and not slack.app_token:
            raise SettingsError("SLACK_APP_TOKEN is needed; without it, serve over HTTP: --http PORT.")
        if port is not None and not slack.signing_secret:
            raise SettingsError("SLACK_SIGNING_SECRET is needed to serve over HTTP.")
    elif port is not None:
        raise SettingsError("--http is for Slack, which is not served here; Discord needs no port.")
    return Served(slack=slack, discord=discord, port=port, page=page, mcp=mcp)


def _refreshing(refresher: IndexRefresher, footnote: Footnote) -> AbstractAsyncContextManager[None]:
    """Keeps looking at the disk in the background until the end."""
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
    entry = f"{link_note(link)}\n" if link else ""
    return f"{entry}Serving {names} with {reads.rstrip('.')}. Ctrl-C stops."

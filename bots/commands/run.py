"""``footnote run``: serve the platforms whose tokens are set, in one process, until it is stopped."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from argparse import Namespace
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager

from bots import process
from bots.chat.channels import ChannelStore, open_channel_store
from bots.chat.texts import NOTHING_INDEXED, counted
from bots.cli import PORT_OF_HOST
from bots.commands.backend import until_free
from bots.discord.route import PLATFORM as DISCORD
from bots.discord.serve import open_discord
from bots.discord.settings import DiscordSettings, read_discord_settings
from bots.doctor.checkup import SETTING_NAMES
from bots.doctor.settings import find_misspellings, read_configuration
from bots.process import favor_loop, limit_arenas, log_lag, log_to_stderr
from bots.refresh import IndexRefresher
from bots.slack.route import PLATFORM as SLACK
from bots.slack.serve import open_slack
from bots.slack.settings import SlackSettings, read_slack_settings
from bots.terminal.messenger import TerminalMessenger, sweeping
from bots.terminal.operations import Operations
from bots.terminal.screen import Screen
from bots.terminal.session import PLATFORM as TERMINAL
from core.bootstrap import Footnote, Reads, open_footnote, reads_everything
from core.conversation import Conversation, value
from core.errors import SettingsError, for_people
from core.library.data_lock import SERVING, make_data_dir
from core.library.library import Library
from core.settings import ENV_FILE, Settings, read_env_file
from core.storage.storage import open_storage
from core.turns.messenger import Messenger
from core.turns.queue import queue_url
from core.turns.turns import open_turns

INDEX = "index"  # the role of the process that keeps it in step with the disk

logger = logging.getLogger(__name__)


@value
class Served:
    """The settings of each platform; None for one that is not served."""

    slack: SlackSettings | None
    discord: DiscordSettings | None
    port: int | None  #: on which Slack's events come over HTTP; None: over its sockets

    @property
    def platforms(self) -> frozenset[str]:
        given = {SLACK: self.slack, DISCORD: self.discord}
        return frozenset(name for name, settings in given.items() if settings is not None)


def run(arguments: Namespace, settings: Settings) -> int:
    limit_arenas()
    log_to_stderr(settings, quiet=False)
    _warn_of_misspellings()
    served = _served(arguments)
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
                settings,
                purpose=SERVING,
                reads=reads,
                storage=storage,
                refresh=refresher.refresh,
                sentence=for_people,
            ) as footnote,
            _refreshing(refresher, footnote),
            _serving(
                served, footnote, channel_store, Operations(footnote=footnote, refresher=refresher), stop
            ),
            log_lag(),
        ):
            await channel_store.hand_over_ratings(footnote.log)
            with favor_loop():
                sys.stdout.write(f"{_greeting(served, footnote)}\n")
                sys.stdout.flush()
                await stop.wait()
            logger.info("stopping")
    return 0


@asynccontextmanager
async def _serving(
    served: Served,
    footnote: Footnote,
    channel_store: ChannelStore,
    operations: Operations,
    stop: asyncio.Event,
) -> AsyncIterator[None]:
    """At the end in reverse: accept nothing more, let running turns end and be delivered, then disconnect."""
    async with AsyncExitStack() as open_now:
        slack = discord = None
        if served.slack is not None:
            slack = await open_now.enter_async_context(
                open_slack(served.slack, footnote, channel_store, is_http=served.port is not None)
            )
        if served.discord is not None:
            discord = await open_now.enter_async_context(
                open_discord(served.discord, footnote, channel_store)
            )
        messengers: dict[str, Messenger] = {
            name: server.messenger for name, server in ((SLACK, slack), (DISCORD, discord)) if server
        }
        messengers[TERMINAL] = TerminalMessenger(operations=operations)
        turns = await open_now.enter_async_context(
            open_turns(
                footnote.assistant,
                messengers,
                database_url=queue_url(footnote.settings),
                replicas=footnote.replicas,
            )
        )
        await open_now.enter_async_context(sweeping())
        if slack is not None:
            await open_now.enter_async_context(slack.serving(turns, served.port))
        if discord is not None:
            await open_now.enter_async_context(discord.serving(turns, stop.set))
        yield


def _warn_of_misspellings() -> None:
    """Warn of misspelt limits, which would silently have no effect."""
    for finding in find_misspellings(read_configuration(os.environ), SETTING_NAMES):
        logger.warning("%s %s", finding.text, finding.fix)


def _served(arguments: Namespace) -> Served:
    """Raise SettingsError if a platform that shall be served lacks a token."""
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
    if missing and (arguments.platforms or len(missing) == 2):
        raise SettingsError(f"There is nothing to serve: set {', or '.join(missing)}.")
    port = _port_of_host() if arguments.http == PORT_OF_HOST else arguments.http
    if slack is not None:
        _check(slack, port)
    elif port is not None:
        raise SettingsError("--http is for Slack, which is not served here; Discord needs no port.")
    return Served(slack=slack, discord=discord, port=port)


def _port_of_host() -> int:
    """The port on which a host expects its process ``web``; it says which in PORT."""
    named = {**read_env_file(ENV_FILE), **os.environ}.get("PORT", "").strip()
    if not (named.isdecimal() and int(named) <= 65535):
        raise SettingsError(
            "--http without a number takes the port that PORT names, and it names none: --http 3000."
        )
    return int(named)


def _check(slack: SlackSettings, port: int | None) -> None:
    if port is None and not slack.bot_token:
        raise SettingsError("SLACK_CLIENT_ID lets workspaces install the app over HTTP: --http PORT.")
    if port is None and not slack.app_token:
        raise SettingsError("SLACK_APP_TOKEN is needed; without it, serve over HTTP: --http PORT.")
    if port is not None and not slack.signing_secret:
        raise SettingsError("SLACK_SIGNING_SECRET is needed to serve over HTTP.")


def _reads(channel_store: ChannelStore, served: Collection[str]) -> Reads:
    async def reads(conversation: Conversation, library: Library) -> frozenset[str]:
        """Every collection for the operator; none for a conversation of a platform that is not served."""
        if conversation.platform == TERMINAL:
            return await reads_everything(conversation, library)
        if conversation.platform not in served:
            return frozenset()
        return await channel_store.reads(conversation, library)

    return reads


@asynccontextmanager
async def _refreshing(refresher: IndexRefresher, footnote: Footnote) -> AsyncIterator[None]:
    """Begin with a look at the disk in the background; at the end, stop looking."""
    library, replicas = footnote.library, footnote.replicas
    tasks = [asyncio.create_task(replicas.lead(INDEX, lambda: refresher.lead(library, replicas)))]
    if footnote.storage.url is not None:
        tasks.append(asyncio.create_task(refresher.follow(library)))
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


def _greeting(served: Served, footnote: Footnote) -> str:
    titles = {SLACK: "Slack", DISCORD: "Discord"}
    names = " and ".join(titles[name] for name in sorted(served.platforms, reverse=True))
    documents = len(footnote.library.store.entries())
    reads = counted(documents, "document") if documents else f"no documents yet. {NOTHING_INDEXED}"
    return f"Serving {names} with {reads.rstrip('.')}. Ctrl-C stops."

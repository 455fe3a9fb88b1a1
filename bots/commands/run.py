"""``footnote run``: serve the platforms whose tokens are set, in one process, until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bots import loop
from bots.indexing import BackgroundVectors, Watch, in_thread
from bots.logs import log_to_stderr
from bots.slack.read import PLATFORM as SLACK
from bots.slack.rooms import Rooms, open_rooms
from bots.slack.serve import open_slack
from bots.slack.settings import SlackSettings, read_slack_settings
from core.bootstrap import Footnote, Reads, open_footnote
from core.conversation import Conversation
from core.errors import SettingsError
from core.library.library import Library, SyncReport
from core.library.owner import prepare
from core.settings import Settings
from core.turns import open_turns

logger = logging.getLogger(__name__)


def run(arguments: Namespace, settings: Settings) -> int:
    log_to_stderr(settings, quiet=False)
    return loop.run(_run(arguments, settings))


async def _run(arguments: Namespace, settings: Settings) -> int:
    slack = _slack_settings(arguments)
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    prepare(settings.data_dir)
    with open_rooms(settings.data_dir) as rooms:
        async with (
            open_footnote(settings, purpose="footnote run", reads=_reads(rooms)) as footnote,
            open_slack(slack, footnote, rooms) as server,
            open_turns(
                footnote.assistant, {SLACK: server.voice}, database_url=_database_url(settings)
            ) as turns,
            server.serving(turns, arguments.http),
            _indexed(footnote),
        ):
            await stop.wait()
            logger.info("stopping")
    return 0


def _slack_settings(arguments: Namespace) -> SlackSettings:
    """SettingsError when what is to be served lacks a token."""
    slack = read_slack_settings(os.environ)
    if slack is None:
        raise SettingsError("There is nothing to serve: set SLACK_BOT_TOKEN and SLACK_APP_TOKEN.")
    if arguments.http is None and not slack.app_token:
        raise SettingsError("SLACK_APP_TOKEN is needed; without it, serve over HTTP: --http PORT.")
    if arguments.http is not None and not slack.signing_secret:
        raise SettingsError("SLACK_SIGNING_SECRET is needed to serve over HTTP.")
    return slack


def _reads(rooms: Rooms) -> Reads:
    def reads(conversation: Conversation, library: Library) -> frozenset[str]:
        """Nothing, for a conversation of a platform that is not served."""
        return rooms.reads(conversation, library) if conversation.platform == SLACK else frozenset()

    return reads


def _database_url(settings: Settings) -> str:
    return settings.database_url or f"sqlite:///{settings.data_dir.resolve() / 'turns.sqlite'}"


@asynccontextmanager
async def _indexed(footnote: Footnote) -> AsyncIterator[None]:
    """Beside the turns: the index in step with the disk, then vectors for what has none."""
    vectors = BackgroundVectors(
        footnote.library, footnote.settings, logger.info, embedder=None, may_begin=True
    )
    task = asyncio.create_task(_bring_in_step(footnote, vectors))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
        await vectors.stop()


async def _bring_in_step(footnote: Footnote, vectors: BackgroundVectors) -> None:
    def work(watch: Watch) -> SyncReport:
        return footnote.library.refresh(notify=watch)

    await in_thread(work, lambda _kind, _done, _total: None)
    vectors.start()

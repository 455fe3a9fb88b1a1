"""``footnote page``: the operators' page, beside a bot that runs or without one; and links that let people in."""

import asyncio
import logging
import os
import signal
import sys
from argparse import Namespace
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial

from bots import process
from bots.chat.channels import open_channel_store
from bots.chat.indexing import embedder_of_index
from bots.chat.markdown.safe import line
from bots.commands.backend import RemoteOperations
from bots.commands.run import Served, serve_until_stopped
from bots.mcp.callers import MCP, PeopleByEmail
from bots.page.gap_reports import GapReports
from bots.page.server import link_at, link_note, open_page
from bots.page.sessions import PageSessions, open_page_store
from bots.page.settings import PageSettings, read_page_settings
from bots.page.site import Record
from bots.page.templating import moment
from core.answers.answers import open_answers
from core.bootstrap import is_served, open_library
from core.conversation import Command, Turn
from core.errors import FootnoteError, SettingsError
from core.gaps.groups import open_gaps
from core.library.data_lock import make_data_dir, share_data_dir
from core.library.embedding.embedder import Embedder
from core.library.library import Library
from core.library.readers import base_of
from core.settings import Settings
from core.sources.sources import open_source_store
from core.storage.storage import open_storage
from core.traces.log import open_question_log
from core.traces.meters import Gauges
from core.turns.messenger import ReplyRoute
from core.turns.queue import queue_url
from core.turns.remote import open_remote_queue

logger = logging.getLogger(__name__)

OF_A_LINK = "--role, --name and --collections are of a link: add --link. The one that `footnote page` prints lets edit all."
NAMES_NONE = "--collections names none. Name at least one, or leave it out for a link that reads all."
ALL = "all"  # sessions
NOBODY_IN = "Nobody is in."
NOBODY_SERVES = "No Footnote is running that could do this: start it with `footnote run`."


def run(arguments: Namespace, settings: Settings) -> int:
    page = read_page_settings(arguments.page, os.environ)
    limits = (arguments.role, arguments.name, arguments.collections)
    if not arguments.link and any(each is not None for each in limits):
        raise SettingsError(OF_A_LINK)
    if arguments.link:
        return process.run(_print_link(arguments, page, settings))
    if arguments.sessions or arguments.revoke is not None:
        return process.run(_tell_sessions(arguments.revoke, settings))
    if is_served(settings, for_certain=True):
        return process.run(_serve_beside(page, settings))
    return serve_until_stopped(Served(slack=None, discord=None, port=None, page=page), settings)


async def _print_link(arguments: Namespace, page: PageSettings, settings: Settings) -> int:
    collections: frozenset[str] | None = None  # all
    if (typed := arguments.collections) is not None:
        collections = frozenset(name.strip() for name in typed.split(",") if name.strip())
        if not collections:  # a variable that was not set, not all
            raise SettingsError(NAMES_NONE)
    make_data_dir(settings.data_dir)
    with share_data_dir(settings.data_dir), open_storage(settings) as storage:
        if collections is not None:
            with closing(open_library(settings)) as library:
                known = frozenset(map(base_of, library.store.collections()))
            if missing := sorted(collections - known):
                raise SettingsError(
                    f"There is no collection {', '.join(missing)}; there is {', '.join(sorted(known))}."
                )
        with open_page_store(storage) as database:
            sessions = PageSessions(database=database)
            name = arguments.name or ""
            token = await sessions.make_link(arguments.role or "editor", collections=collections, name=name)
            url = None if arguments.page else await sessions.url()
    sys.stdout.write(f"{link_at(page, url, token)}\n")
    return 0


async def _tell_sessions(revoked: str | None, settings: Settings) -> int:
    """End the revoked sessions, and print the others."""
    make_data_dir(settings.data_dir)
    with (
        share_data_dir(settings.data_dir),
        open_storage(settings) as storage,
        open_page_store(storage) as database,
    ):
        sessions = PageSessions(database=database)
        if revoked is not None:
            ended = [each for each in await sessions.listed() if revoked in (ALL, each.id)]
            if not ended and revoked != ALL:
                raise SettingsError(f"There is no session {revoked}; `footnote page --sessions` lists them.")
            await sessions.end(*ended)
        listed = await sessions.listed()
    lines = [
        (each.id, each.name, "edits" if each.is_editor else "reads",
         "everything" if each.collections is None else ", ".join(sorted(each.collections)),
         f"last look {moment(each.used_at)}", each.client)
        for each in listed
    ]  # fmt: skip
    sys.stdout.write(
        "".join(f"{line(' · '.join(filter(None, parts)))}\n" for parts in lines) or f"{NOBODY_IN}\n"
    )
    return 0


@dataclass(frozen=True, slots=True)
class WorkBeside:
    """Has the serving process do the work, through the durable queue."""

    operations: RemoteOperations

    async def accept(self, turn: Turn | Command, route: ReplyRoute) -> None:
        await self.operations.queue.enqueue(turn, dict(route))

    async def carry_out(self, name: str, details: Record) -> Record:
        """The operation's result. Fails at once if no process serves: a browser does not wait as a command does."""
        if not await asyncio.to_thread(self.operations.queue.is_served):
            raise FootnoteError(NOBODY_SERVES)
        return await self.operations.carry_out(name, details)

    async def trouble(self) -> str:
        try:
            await self.operations.queue.count_unfinished()
            is_served = await asyncio.to_thread(self.operations.queue.is_served)
        except FootnoteError as fault:
            return str(fault)
        return "" if is_served else NOBODY_SERVES

    async def gauges(self) -> Gauges:
        with suppress(FootnoteError):
            return Gauges(queued=await self.operations.queue.count_unfinished())
        return Gauges()


def embedder_of_page(library: Library, settings: Settings) -> Embedder | None:
    """The embedder that groups questions, loaded at first use; without it, words group them. Blocks."""
    if library.embedder is None:
        with suppress(FootnoteError):
            library.embedder = embedder_of_index(library, settings, logger.info, lambda *_: None)
    return library.embedder


async def _serve_beside(page: PageSettings, settings: Settings) -> int:
    """Serve the page beside a bot: only sessions and new questions are written here."""
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    with (
        share_data_dir(settings.data_dir),
        open_storage(settings) as storage,
        closing(open_library(settings, storage)) as library,
        open_channel_store(storage) as channels,
        open_question_log(storage, days=settings.trace_days) as log,
        open_answers(storage, library, review_after=settings.review_after) as answers,
        open_page_store(storage) as database,
        open_source_store(storage) as sources,
        open_gaps(storage, partial(embedder_of_page, library, settings)) as gaps,
    ):
        channels.people[MCP] = (
            PeopleByEmail()
        )  # what sources open to their addresses, assistants' people read too
        async with (
            open_remote_queue(
                queue_url(settings), is_served=lambda: is_served(settings), on_wait=lambda: None
            ) as queue,
            open_page(
                page, settings, library=library, log=log, answers=answers, gaps=GapReports(gaps), channels=channels,
                database=database, sources=sources,
                work=WorkBeside(RemoteOperations(queue=queue)),
            ) as link,
        ):  # fmt: skip
            sys.stdout.write(f"{link_note(link)}\nCtrl-C stops.\n")
            sys.stdout.flush()
            await stop.wait()
    return 0

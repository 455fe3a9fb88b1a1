"""Who does the work of a command: this process itself, or the one that serves the data folder.

Both give the same answers, so the commands do not know which it is.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from bots.chat.access import forget_documents
from bots.chat.channel_source import ADDRESSES
from bots.chat.indexing import (
    BackgroundVectors,
    Targets,
    find_embedder,
    require_documents,
    run_in_thread,
    update_index,
)
from bots.terminal.operations import Record, details_of, error_in, fingerprints, report_in
from bots.terminal.receive import Backend, CommandTurns, Forgotten
from bots.terminal.screen import Screen
from bots.terminal.session import CHANNEL, PLATFORM, SPACE, author
from core.bootstrap import Footnote, is_served, make_fetcher, open_footnote, open_library, reads_everything
from core.conversation import Command, Conversation, Outcome, Progress, Proposal, Turn
from core.errors import FootnoteError, IndexInUse, IndexMismatch, ModelTrouble, SettingsError
from core.library.data_lock import SERVING, find_owner
from core.library.embedding.embedder import Embedder
from core.library.indexing import Notify
from core.library.library import EMBED_BATCH, Library
from core.library.passage_search import Hits, hits_in
from core.library.sync import SyncReport
from core.settings import Settings, WebSearch
from core.sources.kinds import name_as_kept
from core.turns.archive import outcome_from, proposal_from, turn_from
from core.turns.messenger import SHOWN_BY, Report
from core.turns.queue import queue_url
from core.turns.remote import OPERATOR, RemoteQueue, open_remote_queue

if TYPE_CHECKING:
    pass


async def load_embedder(library: Library, settings: Settings, screen: Screen) -> Embedder | None:
    """IndexMismatch when the index was built with another model."""

    def find(notify: Notify) -> Embedder | None:
        return find_embedder(library, settings, insist=False, announce=screen.note, notify=notify)

    with screen.indexing() as show:
        return await run_in_thread(find, show)


PATIENCE = 60.0  # seconds that a command waits for another one
LOOK_EVERY = 0.2  # seconds
#: Purposes that may take hours, of which nobody waits for the end. On PostgreSQL one may serve that has just begun.
LONG = ("footnote chat", "footnote eval", SERVING)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalBackend:
    """This process."""

    footnote: Footnote

    @property
    def settings(self) -> Settings:
        return self.footnote.settings

    @property
    def library(self) -> Library:
        return self.footnote.library

    @property
    def assistant(self) -> CommandTurns:
        return self.footnote.assistant

    @property
    def web_search(self) -> WebSearch:
        return self.footnote.settings.web_search

    @property
    def vectors_of(self) -> str:
        embedder = self.footnote.library.embedder
        return embedder.name if embedder else ""

    async def prepare(self, targets: Targets, screen: Screen, *, with_vectors: bool) -> None:
        """Of documents that were named, failures are reported. Without vectors, words alone find passages."""
        library, fetcher = self.library, make_fetcher(self.settings, for_operator=True)
        require_documents(library, targets)
        with screen.indexing() as show:
            report = await run_in_thread(
                lambda notify: update_index(library, targets, fetcher, notify=notify), show
            )
        for failure in report.failed if targets.addresses else ():
            screen.note(f"{failure.source}: {failure.reason}")
        if not (with_vectors and (targets.addresses or library.store.has_vectors())):
            return
        library.embedder = await load_embedder(library, self.settings, screen)
        try:
            with screen.indexing() as show:
                await run_in_thread(lambda notify: library.embed_pending(notify=notify), show)
        except IndexMismatch:
            raise
        except (ModelTrouble, SettingsError) as error:  # a damaged vector index is no reason not to answer
            screen.note(f"Searching by words alone: {error}")

    async def refresh(self, notify: Notify) -> SyncReport:
        return await run_in_thread(lambda notify: self.library.refresh(notify=notify), notify)

    async def background_vectors(self, targets: Targets, screen: Screen) -> BackgroundVectors:
        """The embedder is loaded now where the index or the operator calls for one.

        ``auto`` alone may find none or download for long, so it is left to the background.
        """
        library, settings = self.library, self.settings
        embedder = None
        if library.store.has_vectors() or (targets.addresses and settings.embedding_model != "auto"):
            embedder = await load_embedder(library, settings, screen)
        if library.store.count_pending_vectors() <= EMBED_BATCH:
            library.embedder = embedder
        return BackgroundVectors(
            library, settings, screen.note, embedder=embedder, may_find=bool(targets.addresses)
        )

    async def search(self, query: str, limit: int) -> Hits:
        everything = await asyncio.to_thread(self.library.store.collections)
        return await self.footnote.search(everything, query, limit)

    async def forget(self, source: str) -> list[Forgotten]:
        entries = await asyncio.to_thread(forget_documents, self.library, self.footnote.storage, source)
        return [(entry.source, entry.passages) for entry in entries]


@asynccontextmanager
async def open_backend(
    settings: Settings, *, purpose: str, screen: Screen, must_match: bool = False
) -> AsyncIterator[Backend]:
    """This process, or the one that serves. IndexInUse if another command owns the data folder for long.

    ``must_match``: SettingsError if whoever serves has other settings, which otherwise is noted.
    """
    async with AsyncExitStack() as open_now:
        if not await asyncio.to_thread(until_free, settings, screen):
            opening = open_footnote(settings, purpose=purpose, reads=reads_everything)
            try:
                footnote = await open_now.enter_async_context(opening)
            except IndexInUse:  # somebody came first
                if not await asyncio.to_thread(until_free, settings, screen):
                    raise
            else:
                yield LocalBackend(footnote=footnote)
                return
        remote = open_remote(settings, screen=screen, must_match=must_match)
        yield await open_now.enter_async_context(remote)


def until_free(settings: Settings, screen: Screen, *, patience: float = PATIENCE) -> bool:
    """Wait until no other command uses the data folder; True if somebody serves it, and does the work of commands."""
    until, told = time.monotonic() + patience, False
    while not is_served(settings):
        owner = find_owner(settings.data_dir)
        if owner is None or owner.name.endswith(LONG) or time.monotonic() > until:
            return False
        if not told and owner.is_named:
            screen.note(f"Waiting for another Footnote ({owner.name})…")
            told = True
        time.sleep(LOOK_EVERY)
    return True


def here_or_beside(
    settings: Settings, screen: Screen, *, here: Callable[[], int], beside: Callable[[], int]
) -> int:
    """Do it in this process, unless somebody serves; the exit code."""
    if until_free(settings, screen):
        return beside()
    try:
        return here()
    except IndexInUse:  # somebody came first
        if is_served(settings):
            return beside()
        raise


ROUTE: Record = {SHOWN_BY: PLATFORM}
SERVER_GONE = "Footnote has ended meanwhile; the work goes on when it is back. Waiting…"


def _ignore_progress(*_: object) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteOperations:
    """Asks the process that serves for operations of :mod:`bots.terminal.operations`."""

    queue: RemoteQueue

    async def carry_out(
        self,
        name: str,
        details: Record,
        *,
        note: Callable[[str], None] = _ignore_progress,
        notify: Notify = _ignore_progress,
    ) -> Record:
        """The operation's result. FootnoteError with the sentence of what went wrong there."""
        ended: Record = {}

        def take(item: Record) -> None:
            if "note" in item:
                note(item["note"])
            elif "phase" in item:
                notify(item["phase"], item["done"], item["total"])
            else:
                ended.update(item)

        command_id = f"{OPERATOR}{uuid4().hex}"
        here = Conversation(platform=PLATFORM, space=SPACE, channel=CHANNEL, thread=command_id)
        command = Command(
            id=command_id, conversation=here, author=author(), name=name, details=details, said_at=time.time(),
            is_apart=True,
        )  # fmt: skip
        await self.queue.carry_out(command, ROUTE, take)
        if "error" in ended:
            raise error_in(ended["error"])
        if "result" not in ended:
            raise FootnoteError("The Footnote that runs could not do this; its log says more.")
        result: Record = ended["result"]
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteTurns:
    """The part of an Assistant that commands use."""

    operations: RemoteOperations

    async def run(self, turn: Turn, report: Report = _ignore_progress, /) -> Outcome:
        """The turn's outcome. If this is cancelled, the turn stays unfinished, as one that was cut off."""

        def take(item: Record) -> None:
            report(Progress(stage=item["stage"], count=item["count"]))

        ended = await self.operations.queue.carry_out(turn, ROUTE, take)
        return outcome_from(ended or {})

    async def unfinished(self, conversation: Conversation, /) -> Turn | None:
        found = await self._ask("unfinished", conversation)
        return turn_from(found["turn"]) if found["turn"] else None

    async def proposals(self, conversation: Conversation, /) -> tuple[Proposal, ...]:
        found = await self._ask("proposals", conversation)
        return tuple(map(proposal_from, found["proposals"]))

    async def knows(self, conversation: Conversation, /) -> bool:
        return bool((await self._ask("knows", conversation))["known"])

    async def find_proposal(self, proposal_id: str, /) -> tuple[Conversation, Proposal] | None:
        found = (await self.operations.carry_out("find_proposal", {"proposal": proposal_id}))["found"]
        return found and (Conversation.parse(found["conversation"]), proposal_from(found["proposal"]))

    async def forget(self, conversation: Conversation, /) -> None:
        await self._ask("forget_conversation", conversation)

    async def _ask(self, name: str, conversation: Conversation) -> Record:
        return await self.operations.carry_out(name, {"conversation": conversation.id})


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteBackend:
    """The process that serves. The index is only read here."""

    settings: Settings
    library: Library
    operations: RemoteOperations
    web_search: WebSearch  #: of the process that serves

    @property
    def assistant(self) -> CommandTurns:
        return RemoteTurns(operations=self.operations)

    @property
    def vectors_of(self) -> str:
        store = self.library.store
        return (store.get_meta("embedding_model") or "") if store.has_vectors() else ""

    async def prepare(self, targets: Targets, screen: Screen, *, with_vectors: bool) -> None:
        details = {**details_of(targets), "with_vectors": with_vectors}
        with screen.indexing() as notify:
            await self.operations.carry_out("prepare", details, note=screen.note, notify=notify)

    async def refresh(self, notify: Notify) -> SyncReport:
        return report_in((await self.operations.carry_out("refresh", {}, notify=notify))["report"])

    async def background_vectors(self, _targets: Targets, _screen: Screen) -> None:
        """The process that serves makes them by itself."""

    async def search(self, query: str, limit: int) -> Hits:
        return hits_in(await self.operations.carry_out("search", {"query": query, "limit": limit}))

    async def forget(self, source: str) -> list[Forgotten]:
        done = await self.operations.carry_out("forget", {"names": _names_of(source)})
        return [(name, passages) for name, passages in done["forgotten"]]

    async def index(self, name: str, details: Record, screen: Screen) -> tuple[SyncReport, int]:
        """``ingest`` or ``rebuild``: what was indexed, and how many vectors were made."""
        with screen.indexing() as notify:
            done = await self.operations.carry_out(name, details, note=screen.note, notify=notify)
        return report_in(done["report"]), done["embedded"]


def _names_of(source: str) -> list[str]:
    """A path is one in the folder that the command was typed in."""
    if (kept := name_as_kept(source, ADDRESSES)) != source:
        return [source, kept]
    return [source] if "://" in source else [str(Path(source).expanduser().absolute()), source]


@asynccontextmanager
async def open_remote(
    settings: Settings, *, screen: Screen, must_match: bool = False
) -> AsyncIterator[RemoteBackend]:
    """The process that serves. Says where its settings are others; SettingsError then with ``must_match``."""
    queue = open_remote_queue(
        queue_url(settings), is_served=lambda: is_served(settings), on_wait=lambda: screen.note(SERVER_GONE)
    )
    async with queue as opened:
        operations = RemoteOperations(queue=opened)
        salt = secrets.token_hex(8)
        asked = {"salt": salt, "settings": fingerprints(settings, salt)}
        compared = await operations.carry_out("compare", asked)
        if names := compared["differing"]:
            listed = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
            are = "are" if len(names) > 1 else "is"
            sentence = f"`footnote run` does this with its own settings: {listed} {are} different there."
            if must_match:
                raise SettingsError(
                    f"{sentence} Set them alike, or evaluate these with DATA_DIR in another folder."
                )
            screen.note(sentence)
        with closing(open_library(settings)) as library:
            yield RemoteBackend(
                settings=settings, library=library, operations=operations, web_search=compared["web_search"]
            )

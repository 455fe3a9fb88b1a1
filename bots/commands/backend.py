"""The process that does the work of a command: this one, or the one that serves the data folder.

Both give the same answers, so the commands do not know which it is.
"""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, replace
from uuid import uuid4

from bots.chat import indexing
from bots.chat.channels import ChannelStore, open_channel_store
from bots.mcp.callers import MCP, remembered_people
from bots.page.threads import PAGE, collections_of
from bots.refresh import IndexRefresher
from bots.terminal.operations import Backend, Operations, Record, error_in, fingerprints
from bots.terminal.screen import Screen
from bots.terminal.session import CHANNEL, SPACE, TERMINAL, author
from core.bootstrap import Announce, Footnote, Reads, is_served, open_footnote, open_library, reads_everything
from core.conversation import Command, Conversation, Outcome, Progress, Proposal, Turn, ignore_progress
from core.errors import FootnoteError, IndexInUse, SettingsError
from core.library.data_lock import SERVING, find_owner, make_data_dir
from core.library.documents import Readable
from core.library.indexing import Notify
from core.library.library import EMBED_BATCH, Library
from core.settings import Settings
from core.storage.storage import open_storage
from core.turns import archive
from core.turns.messenger import SHOWN_BY, Report
from core.turns.queue import queue_url
from core.turns.remote import OPERATOR, RemoteQueue, open_remote_queue

PATIENCE = 60.0  # seconds that a command waits for another one
LOOK_EVERY = 0.2  # seconds
#: Purposes that may take hours, of which nobody waits for the end. On PostgreSQL one may serve that has just begun.
LONG = ("footnote chat", "footnote test", SERVING)


async def background_vectors(
    backend: Backend, targets: indexing.Targets, screen: Screen
) -> indexing.BackgroundVectors | None:
    """Makes the missing vectors while a conversation goes on; None where the serving process does.

    The embedder is loaded now where the index or the operator calls for one. ``auto`` alone may find none or download
    for long, so it is left to the background.
    """
    if not backend.is_here:
        return None
    library, settings, embedder = backend.library, backend.settings, None
    if library.store.has_vectors() or (targets.addresses and settings.embedding_model != "auto"):
        with screen.indexing() as show:
            embedder = await indexing.run_in_thread(
                lambda notify: indexing.find_embedder(
                    library, settings, insist=False, announce=screen.note, notify=notify
                ),
                show,
            )
    if library.store.count_pending_vectors() <= EMBED_BATCH:
        library.embedder = embedder
    return indexing.BackgroundVectors(
        library, settings, screen.note, embedder=embedder, may_find=bool(targets.addresses)
    )


@asynccontextmanager
async def open_backend(
    settings: Settings, *, purpose: str, screen: Screen, must_match: bool = False
) -> AsyncIterator[Backend]:
    """This process, or the serving one. Raises IndexInUse, and if they ``must_match``, SettingsError for other settings."""
    async with AsyncExitStack() as open_now:
        if not await asyncio.to_thread(until_free, settings, screen):
            make_data_dir(settings.data_dir)
            storage = open_now.enter_context(open_storage(settings))
            channel_store = open_now.enter_context(open_channel_store(storage))
            channel_store.people.update(remembered_people())
            reads = reads_for(channel_store, channel_store.people)
            opening = open_footnote(settings, purpose=purpose, reads=reads, storage=storage)
            try:
                footnote = await open_now.enter_async_context(opening)
            except IndexInUse:  # somebody came first
                if not await asyncio.to_thread(until_free, settings, screen):
                    raise
            else:
                yield await open_now.enter_async_context(_open_here(footnote, channel_store))
                return
        remote = open_remote(settings, screen=screen, must_match=must_match)
        yield await open_now.enter_async_context(remote)


@asynccontextmanager
async def _open_here(footnote: Footnote, channel_store: ChannelStore) -> AsyncIterator[Backend]:
    refresher = IndexRefresher(settings=footnote.settings)
    operations = Operations(footnote=footnote, refresher=refresher, channel_store=channel_store)

    async def carry_out(
        name: str, details: Record, *, note: Announce = lambda *_: None, notify: Notify = lambda *_: None
    ) -> Record:
        watcher = indexing.Watcher(announce=note, notify=notify)
        return await operations.carry_out(name, details, watcher, is_again=False)

    try:
        yield Backend(
            settings=footnote.settings, library=footnote.library, assistant=footnote.assistant,
            carry_out=carry_out, web_search=footnote.settings.web_search, is_here=True,
        )  # fmt: skip
    finally:
        await refresher.stop()


def reads_for(channel_store: ChannelStore, served: Collection[str]) -> Reads:
    """``served``: the platforms whose conversations may read something."""

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


def until_free(settings: Settings, screen: Screen, *, patience: float = PATIENCE) -> bool:
    """Wait until no other command uses the data folder; True if somebody serves it, and does the work of commands."""
    until, has_noted = time.monotonic() + patience, False
    while not is_served(settings):
        owner = find_owner(settings.data_dir)
        if owner is None or owner.name.endswith(LONG) or time.monotonic() > until:
            return False
        if not has_noted and owner.is_named:
            screen.note(f"Waiting for another Footnote ({owner.name})…")
            has_noted = True
        time.sleep(LOOK_EVERY)
    return True


def here_or_beside(
    settings: Settings, screen: Screen, *, here: Callable[[], int], beside: Callable[[], int]
) -> int:
    """Do the work in this process, unless another serves; the exit code."""
    if until_free(settings, screen):
        return beside()
    try:
        return here()
    except IndexInUse:  # somebody came first
        if is_served(settings):
            return beside()
        raise


ROUTE: Record = {SHOWN_BY: TERMINAL}
SERVER_GONE = "Footnote has ended meanwhile; the work goes on when it is back. Waiting…"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteOperations:
    """Asks the process that serves for operations of :mod:`bots.terminal.operations`."""

    queue: RemoteQueue

    async def carry_out(
        self,
        name: str,
        details: Record,
        *,
        note: Announce = lambda *_: None,
        notify: Notify = lambda *_: None,
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
        here = Conversation(platform=TERMINAL, space=SPACE, channel=CHANNEL, thread=command_id)
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

    async def run(self, turn: Turn, report: Report = ignore_progress, /) -> Outcome:
        """The turn's outcome. If this is cancelled, the turn stays unfinished, as after a kill."""

        def take(item: Record) -> None:
            report(archive.read(Progress, item))

        ended = await self.operations.queue.carry_out(turn, ROUTE, take)
        return archive.read(Outcome, ended or {})

    async def unfinished(self, conversation: Conversation, /) -> Turn | None:
        found = await self._ask("unfinished", conversation)
        return archive.turn_from(found["turn"]) if found["turn"] else None

    async def proposals(self, conversation: Conversation, /) -> tuple[Proposal, ...]:
        found = await self._ask("proposals", conversation)
        return tuple(archive.read(Proposal, each) for each in found["proposals"])

    async def knows(self, conversation: Conversation, /) -> bool:
        return bool((await self._ask("knows", conversation))["known"])

    async def find_proposal(self, proposal_id: str, /) -> tuple[Conversation, Proposal] | None:
        found = (await self.operations.carry_out("find_proposal", {"proposal": proposal_id}))["found"]
        return found and (
            Conversation.parse(found["conversation"]),
            archive.read(Proposal, found["proposal"]),
        )

    async def forget(self, conversation: Conversation, /) -> None:
        await self._ask("forget_conversation", conversation)

    async def _ask(self, name: str, conversation: Conversation) -> Record:
        return await self.operations.carry_out(name, {"conversation": conversation.id})


@asynccontextmanager
async def open_remote(
    settings: Settings, *, screen: Screen, must_match: bool = False
) -> AsyncIterator[Backend]:
    """Connect to the serving process. Notes settings that differ; SettingsError with ``must_match``."""
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
                    f"{sentence} Set them alike, or test these with DATA_DIR in another folder."
                )
            screen.note(sentence)
        with closing(open_library(settings)) as library:
            yield Backend(
                settings=settings, library=library, assistant=RemoteTurns(operations=operations),
                carry_out=operations.carry_out, web_search=compared["web_search"], is_here=False,
            )  # fmt: skip

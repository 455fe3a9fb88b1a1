"""A command beside a process that serves: what it asks is done there."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from bots.chat.channel_source import ADDRESSES
from bots.chat.indexing import Targets
from bots.terminal.operations import Record, details_of, error_in, fingerprints, report_in
from bots.terminal.receive import CommandTurns, Forgotten
from bots.terminal.screen import Screen
from bots.terminal.session import CHANNEL, PLATFORM, SPACE, author
from core.bootstrap import is_served, open_library
from core.conversation import Command, Conversation, Outcome, Progress, Proposal, Turn
from core.errors import FootnoteError, SettingsError
from core.library.indexing import Notify
from core.library.library import Library
from core.library.passage_search import Hits, hits_in
from core.library.sync import SyncReport
from core.settings import Settings, WebSearch
from core.sources.kinds import name_as_kept
from core.turns.archive import outcome_from, turn_from
from core.turns.messenger import SHOWN_BY
from core.turns.queue import queue_url
from core.turns.remote import OPERATOR, RemoteQueue, open_remote_queue

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from core.turns.assistant import Report

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

        await self.queue.carry_out(_command(name, details), ROUTE, take)
        if "error" in ended:
            raise error_in(ended["error"])
        if "result" not in ended:
            raise FootnoteError("The Footnote that runs could not do this; its log says more.")
        result: Record = ended["result"]
        return result


def _command(name: str, details: Record) -> Command:
    command_id = f"{OPERATOR}{uuid4().hex}"
    return Command(
        id=command_id,
        conversation=Conversation(platform=PLATFORM, space=SPACE, channel=CHANNEL, thread=command_id),
        author=author(),
        name=name,
        details=details,
        said_at=time.time(),
        is_apart=True,
    )


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
        return tuple(map(_proposal_in, found["proposals"]))

    async def knows(self, conversation: Conversation, /) -> bool:
        return bool((await self._ask("knows", conversation))["known"])

    async def find_proposal(self, proposal_id: str, /) -> tuple[Conversation, Proposal] | None:
        found = (await self.operations.carry_out("find_proposal", {"proposal": proposal_id}))["found"]
        return found and (Conversation.parse(found["conversation"]), _proposal_in(found["proposal"]))

    async def forget(self, conversation: Conversation, /) -> None:
        await self._ask("forget_conversation", conversation)

    async def _ask(self, name: str, conversation: Conversation) -> Record:
        return await self.operations.carry_out(name, {"conversation": conversation.id})


@cache
def _proposal_reader() -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(Proposal)


def _proposal_in(record: Record) -> Proposal:
    return cast("Proposal", _proposal_reader().validate_python(record))


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

    async def ingest(
        self, targets: Targets, collection: str, screen: Screen, *, every: float | None = None
    ) -> tuple[SyncReport, int]:
        """The report of what was indexed, and how many vectors were made. ``every``: seconds between two
        syncs of the sources.
        """
        details = {**details_of(targets), "collection": collection, "every": every}
        return await self._index("ingest", details, screen)

    async def rebuild(self, screen: Screen) -> tuple[SyncReport, int]:
        """Read everything indexed again; what was indexed, and how many vectors were made."""
        return await self._index("rebuild", {}, screen)

    async def _index(self, name: str, details: Record, screen: Screen) -> tuple[SyncReport, int]:
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
        compared = await operations.carry_out(
            "compare", {"salt": salt, "settings": fingerprints(settings, salt)}
        )
        if sentence := _differing(compared["differing"]):
            if must_match:
                raise SettingsError(
                    f"{sentence} Set them alike, or evaluate these with DATA_DIR in another folder."
                )
            screen.note(sentence)
        with closing(open_library(settings)) as library:
            yield RemoteBackend(
                settings=settings,
                library=library,
                operations=operations,
                web_search=compared["web_search"],
            )


def _differing(names: list[str]) -> str:
    """A sentence for an operator whose settings are not those of the process that does the work."""
    if not names:
        return ""
    *most, last = names
    listed = f"{', '.join(most)} and {last}" if most else last
    return f"`footnote run` does this with its own settings: {listed} {'is' if not most else 'are'} different there."

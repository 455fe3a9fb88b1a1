"""Operations on what is indexed and was said: each takes JSON, and returns some; and what commands ask of them.

Beside a serving process, a command does not open the index and the conversations itself. What it asks is stored
in the durable queue, as what people ask is, and carried out here.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Protocol

from bots.chat.access import forget_documents, request_about
from bots.chat.addresses import ADDRESSES
from bots.chat.channels import ChannelStore
from bots.chat.indexing import (
    Targets,
    Watcher,
    ingest_targets,
    require_documents,
    run_in_thread,
    update_index,
)
from bots.chat.people import note_names
from bots.refresh import IndexRefresher
from bots.terminal.receive import CommandTurns
from bots.terminal.screen import Screen
from core.bootstrap import Announce, Footnote, make_fetcher
from core.conversation import Conversation
from core.errors import (
    FootnoteError,
    IndexDamaged,
    IndexMismatch,
    ModelTrouble,
    NotFound,
    SettingsError,
    VersionMismatch,
)
from core.library.indexing import Notify
from core.library.library import Library
from core.library.passage_search import Hits, hits_in, plain_hits
from core.library.sync import Failure, SourceNote, SyncReport
from core.settings import Settings, WebSearch
from core.sources.kinds import name_as_kept
from core.turns.archive import plain
from core.turns.remote import OLDER

Record = dict[str, Any]  # JSON types only
Forgotten = tuple[str, int]  # a source, and the number of its passages
Details = Mapping[str, Any]

#: Settings that may differ between the command and the process that serves: they change no answer and no index.
INDIFFERENT = frozenset(
    {
        "data_dir", "database_url", "log_level", "log_format", "learners", "notify_approvers",
        "gaps_channel",
        "questions_per_person", "questions_per_channel",
    }
)  # fmt: skip

#: The errors that a command distinguishes by its exit code, most special first.
_ERRORS: tuple[type[FootnoteError], ...] = (IndexMismatch, NotFound, SettingsError, FootnoteError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operations:
    """Carried out by the process that serves. Each may be done twice, after a crash in the middle."""

    footnote: Footnote
    refresher: IndexRefresher
    channel_store: ChannelStore

    async def carry_out(self, name: str, details: Details, watcher: Watcher, *, is_again: bool) -> Record:
        """The operation's result; FootnoteError where it cannot be done. ``watcher``: what happens meanwhile."""
        operation = _OPERATIONS.get(name)
        if operation is None:
            raise VersionMismatch(OLDER)
        try:
            return await operation(self, details, watcher)
        except NotFound:
            if is_again and name in ("forget", "forget_document"):
                return {"forgotten": []}  # the first time, it was cut off before it could say so
            raise

    async def compare(self, details: Details, _watcher: Watcher) -> Record:
        """The settings that the command has otherwise, and the search engine that is asked."""
        ours = fingerprints(self.footnote.settings, details["salt"])
        theirs = details["settings"]
        return {
            "differing": sorted(name for name in ours if ours[name] != theirs.get(name)),
            "web_search": self.footnote.settings.web_search,
        }

    # The index

    async def prepare(self, details: Details, watcher: Watcher) -> Record:
        """Sync the index, with new targets; make the missing vectors if ``with_vectors``."""
        targets, library = targets_in(details), self.footnote.library
        await asyncio.to_thread(self._check, targets)
        fetcher = make_fetcher(self.footnote.settings, for_operator=True)
        report = await run_in_thread(
            lambda notify: update_index(library, targets, fetcher, notify=notify), watcher.notify
        )
        for failure in report.failed if targets.addresses else ():
            watcher.announce(f"{failure.source}: {failure.reason}")
        if details["with_vectors"] and (targets.addresses or library.store.has_vectors()):
            await self._embed(watcher, insist=False)
        return {}

    async def ingest(self, details: Details, watcher: Watcher) -> Record:
        targets, library = targets_in(details), self.footnote.library
        await asyncio.to_thread(self._check, targets)
        fetcher, collection = make_fetcher(self.footnote.settings, for_operator=True), details["collection"]
        report = await run_in_thread(
            lambda notify: ingest_targets(library, targets, fetcher, notify=notify, collection=collection),
            watcher.notify,
        )
        sources, every = self.footnote.sources, details.get("every")
        for address in targets.sources:
            report += await sources.ingest(address, collection=collection, every=every, notify=watcher.notify)
        return {"report": asdict(report), "embedded": await self._embed(watcher, insist=True)}

    async def sync_source(self, details: Details, watcher: Watcher) -> Record:
        """Read a source whose time has come. Nobody waits for it."""
        return self._embed_new(await self.footnote.sources.sync(details["source"], notify=watcher.notify))

    async def look_again(self, details: Details, _watcher: Watcher) -> Record:
        """Read those items of a source again that changed. Nobody waits for it."""
        return self._embed_new(await self.footnote.sources.look(details["source"], details["items"]))

    def _embed_new(self, report: SyncReport) -> Record:
        if report.added or report.changed:
            self.refresher.embed_soon(self.footnote.library)
        return {}

    async def rebuild(self, _details: Details, watcher: Watcher) -> Record:
        library = self.footnote.library
        report = await run_in_thread(lambda notify: library.rebuild(notify=notify), watcher.notify)
        return {"report": asdict(report), "embedded": await self._embed(watcher, insist=True)}

    async def refresh(self, _details: Details, watcher: Watcher) -> Record:
        library = self.footnote.library
        report = await run_in_thread(lambda notify: library.refresh(notify=notify), watcher.notify)
        return {"report": asdict(report)}

    async def search(self, details: Details, _watcher: Watcher) -> Record:
        """Passages of everything that is indexed."""
        everything = await asyncio.to_thread(self.footnote.library.store.collections)
        refresh = self.refresher.refresh
        return plain_hits(await self.footnote.search(everything, details["query"], details["limit"], refresh))

    async def forget(self, details: Details, _watcher: Watcher) -> Record:
        """Forget the document by the first of its names that is indexed."""
        *first, last = details["names"]
        for name in first:
            with suppress(NotFound):
                return await self._forget(name)
        return await self._forget(last)

    async def forget_document(self, details: Details, _watcher: Watcher) -> Record:
        """Forget what has this address in this collection, and what is below it there."""
        return await self._forget(details["address"], details["collection"])

    async def _forget(self, name: str, collection: str | None = None) -> Record:
        library, storage = self.footnote.library, self.footnote.storage
        entries = await asyncio.to_thread(forget_documents, library, storage, name, collection=collection)
        return {"forgotten": [(entry.source, entry.passages) for entry in entries]}

    def _check(self, targets: Targets) -> None:
        """SettingsError names what this process does not see: it may run elsewhere, or as another user."""
        unseen = [str(path) for path in targets.paths if not path.exists()]
        if unseen:
            raise SettingsError(f"The Footnote that runs cannot see {', '.join(unseen)}.")
        require_documents(self.footnote.library, targets)

    async def _embed(self, watcher: Watcher, *, insist: bool) -> int:
        try:
            return await self.refresher.embed(self.footnote.library, watcher, insist=insist)
        except (IndexMismatch, IndexDamaged):
            raise
        except (ModelTrouble, SettingsError) as trouble:
            watcher.announce(f"Searching by words alone: {trouble}")
            return 0

    # What people taught

    async def teach(self, details: Details, _watcher: Watcher) -> Record:
        """Keep an editor's answer."""
        names = ("question", "text", "collection", "name", "message")
        answer = await self.footnote.answers.correct(**{name: details[name] for name in names})
        return {"id": answer.id}

    async def change_answer(self, details: Details, _watcher: Watcher) -> Record:
        """Change a kept answer, or forget it, if it is as somebody saw it; one that is gone stays so."""
        answers, by = self.footnote.answers, details["name"]
        answer = await answers.get(details["id"])
        if answer is None:
            return {"is_done": False}
        seen = replace(answer, revision=details["revision"])
        if details["change"] == "edit":
            words = {name: details[name] for name in ("question", "text", "collection")}
            return {"is_done": await answers.edit(seen, by=by, **words) is not None}
        if change := {"extend": answers.extend, "retire": answers.retire}.get(details["change"]):
            return {"is_done": await change(seen, by=by) is not None}
        if answer.revision == details["revision"]:
            await answers.forget(answer)
        return {"is_done": answer.revision == details["revision"]}

    async def ask_person(self, details: Details, _watcher: Watcher) -> Record:
        """Find experts for one of these turns; the caller stores the command in the queue."""
        command, route = await request_about(details["turns"], self.footnote, self.channel_store)
        return {"command": plain(command), "route": dict(route)}

    async def note_names(self, details: Details, _watcher: Watcher) -> Record:
        """Look up what people and their channels are called."""
        said = [(Conversation.parse(conversation), author) for conversation, author in details["said"]]
        await note_names(said, self.channel_store.people, self.footnote.log.names)
        return {}

    async def public(self, details: Details, _watcher: Watcher) -> Record:
        """The channels among these that everybody on their platform may read."""
        conversations = (Conversation.parse(f"{channel}/-") for channel in details["channels"])
        asked = [(each, self.channel_store.people.get(each.platform)) for each in conversations]
        public = [each.channel_id for each, people in asked if people and not await people.is_private(each)]
        return {"public": public}

    # Conversations

    async def proposals(self, details: Details, _watcher: Watcher) -> Record:
        found = await self.footnote.assistant.proposals(Conversation.parse(details["conversation"]))
        return {"proposals": [asdict(proposal) for proposal in found]}

    async def find_proposal(self, details: Details, _watcher: Watcher) -> Record:
        found = await self.footnote.assistant.find_proposal(details["proposal"])
        return {"found": found and {"conversation": found[0].id, "proposal": asdict(found[1])}}

    async def knows(self, details: Details, _watcher: Watcher) -> Record:
        return {"known": await self.footnote.assistant.knows(Conversation.parse(details["conversation"]))}

    async def unfinished(self, details: Details, _watcher: Watcher) -> Record:
        turn = await self.footnote.assistant.unfinished(Conversation.parse(details["conversation"]))
        return {"turn": turn and plain(turn)}

    async def forget_conversation(self, details: Details, _watcher: Watcher) -> Record:
        await self.footnote.assistant.forget(Conversation.parse(details["conversation"]))
        return {}


#: By their names, under which they are asked for and stored: SYNC_SOURCE and LOOK_AGAIN of the sources are among them.
_OPERATIONS: Mapping[str, Callable[[Operations, Details, Watcher], Awaitable[Record]]] = {
    each.__name__: each
    for each in (
        Operations.compare, Operations.prepare, Operations.ingest, Operations.sync_source, Operations.look_again,
        Operations.rebuild, Operations.refresh, Operations.search, Operations.forget, Operations.forget_document,
        Operations.teach, Operations.change_answer, Operations.ask_person, Operations.note_names, Operations.public,
        Operations.proposals, Operations.find_proposal, Operations.knows, Operations.unfinished,
        Operations.forget_conversation,
    )
}  # fmt: skip


class CarryOut(Protocol):
    async def __call__(
        self, name: str, details: Record, *, note: Announce = ..., notify: Notify = ...
    ) -> Record:
        """An operation's result. FootnoteError with the sentence of what went wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """Does the work of a command: this process itself, or the one that serves the data folder.

    Both give the same answers, so the commands do not know which it is.
    """

    settings: Settings
    library: Library  #: to be read; what changes it are the methods here
    assistant: CommandTurns
    carry_out: CarryOut
    web_search: WebSearch  #: of the process that does the work
    is_here: bool

    @property
    def vectors_of(self) -> str:
        """The embedding model by which passages are found; empty: by their words alone."""
        if self.is_here:
            return self.library.embedder.name if self.library.embedder else ""
        store = self.library.store
        return (store.get_meta("embedding_model") or "") if store.has_vectors() else ""

    async def prepare(self, targets: Targets, screen: Screen, *, with_vectors: bool) -> None:
        """Sync the index with the disk, with new targets; ``with_vectors``, make those that are missing."""
        await self.index("prepare", {**details_of(targets), "with_vectors": with_vectors}, screen)

    async def index(self, name: str, details: Record, screen: Screen) -> Record:
        """The result of an operation that takes its time."""
        with screen.indexing() as notify:
            return await self.carry_out(name, details, note=screen.note, notify=notify)

    async def refresh(self, notify: Notify) -> SyncReport:
        """Sync the index with the disk."""
        return report_in((await self.carry_out("refresh", {}, notify=notify))["report"])

    async def search(self, query: str, limit: int) -> Hits:
        """Passages of all that is indexed."""
        return hits_in(await self.carry_out("search", {"query": query, "limit": limit}))

    async def forget(self, source: str) -> list[Forgotten]:
        """Remove documents. NotFound if there is none of this name."""
        done = await self.carry_out("forget", {"names": _names_of(source)})
        return [(name, passages) for name, passages in done["forgotten"]]


def _names_of(source: str) -> list[str]:
    """A path is one in the folder that the command was typed in."""
    if (kept := name_as_kept(source, ADDRESSES)) != source:
        return [source, kept]
    return [source] if "://" in source else [str(Path(source).expanduser().absolute()), source]


def fingerprints(settings: Settings, salt: str) -> dict[str, str]:
    """Digests of settings, which tell two processes' apart without naming a key; ``salt`` is another each time."""
    values = {each.name: getattr(settings, each.name) for each in fields(Settings)}
    return {
        name.upper(): hashlib.sha256(f"{salt} {name} {content!r}".encode()).hexdigest()
        for name, content in values.items()
        if name not in INDIFFERENT
    }


def details_of(targets: Targets) -> Record:
    return {
        "paths": [str(path) for path in targets.paths],
        "urls": list(targets.urls),
        "sources": list(targets.sources),
    }


def targets_in(details: Details) -> Targets:
    return Targets(
        paths=tuple(map(Path, details["paths"])),
        urls=tuple(details["urls"]),
        sources=tuple(details.get("sources", ())),  # work that was stored by an older version has none
    )


def report_in(record: Record) -> SyncReport:
    failed = tuple(Failure(**failure) for failure in record["failed"])
    notes = tuple(SourceNote(**note) for note in record["notes"])
    return SyncReport(**{**record, "failed": failed, "notes": notes})


def error_record(error: FootnoteError) -> Record:
    kind = next(kind for kind in _ERRORS if isinstance(error, kind))
    return {"kind": kind.__name__, "sentence": str(error)}


def error_in(record: Record) -> FootnoteError:
    kinds = {kind.__name__: kind for kind in _ERRORS}
    return kinds.get(record["kind"], FootnoteError)(record["sentence"])

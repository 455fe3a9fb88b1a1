"""Operations that a command asks of the process that serves: each takes JSON, and returns some.

Beside a serving process, a command does not open the index and the conversations itself. What it asks is stored
in the durable queue, as what people ask is, and carried out here.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from bots.chat.access import forget_documents, request_about
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
from core.bootstrap import Footnote, make_fetcher
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
from core.library.passage_search import plain_hits
from core.library.sync import Failure, SourceNote, SyncReport
from core.settings import Settings
from core.turns.archive import plain
from core.turns.remote import OLDER

Record = dict[str, Any]  # JSON types only
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

    async def carry_out(self, name: str, details: Details, told: Watcher, *, is_again: bool) -> Record:
        """The operation's result; FootnoteError where it cannot be done. ``told``: what happens meanwhile."""
        operation = _OPERATIONS.get(name)
        if operation is None:
            raise VersionMismatch(OLDER)
        try:
            return await operation(self, details, told)
        except NotFound:
            if is_again and name in ("forget", "forget_document"):
                return {"forgotten": []}  # the first time, it was cut off before it could say so
            raise

    async def compare(self, details: Details, _told: Watcher) -> Record:
        """The settings that the command has otherwise, and the search engine that is asked."""
        ours = fingerprints(self.footnote.settings, details["salt"])
        theirs = details["settings"]
        return {
            "differing": sorted(name for name in ours if ours[name] != theirs.get(name)),
            "web_search": self.footnote.settings.web_search,
        }

    # The index

    async def prepare(self, details: Details, told: Watcher) -> Record:
        """Sync the index, with new targets; make the missing vectors if ``with_vectors``."""
        targets, library = targets_in(details), self.footnote.library
        await asyncio.to_thread(self._check, targets)
        fetcher = make_fetcher(self.footnote.settings, for_operator=True)
        report = await run_in_thread(
            lambda notify: update_index(library, targets, fetcher, notify=notify), told.notify
        )
        for failure in report.failed if targets.addresses else ():
            told.announce(f"{failure.source}: {failure.reason}")
        if details["with_vectors"] and (targets.addresses or library.store.has_vectors()):
            await self._embed(told, insist=False)
        return {}

    async def ingest(self, details: Details, told: Watcher) -> Record:
        targets, library = targets_in(details), self.footnote.library
        await asyncio.to_thread(self._check, targets)
        fetcher, collection = make_fetcher(self.footnote.settings, for_operator=True), details["collection"]
        report = await run_in_thread(
            lambda notify: ingest_targets(library, targets, fetcher, notify=notify, collection=collection),
            told.notify,
        )
        sources, every = self.footnote.sources, details.get("every")
        for address in targets.sources:
            report += await sources.ingest(address, collection=collection, every=every, notify=told.notify)
        return {"report": asdict(report), "embedded": await self._embed(told, insist=True)}

    async def sync_source(self, details: Details, told: Watcher) -> Record:
        """Read a source whose time has come. Nobody waits for it."""
        return self._embed_new(await self.footnote.sources.sync(details["source"], notify=told.notify))

    async def look_again(self, details: Details, _told: Watcher) -> Record:
        """Read those items of a source again that changed. Nobody waits for it."""
        return self._embed_new(await self.footnote.sources.look(details["source"], details["items"]))

    def _embed_new(self, report: SyncReport) -> Record:
        if report.added or report.changed:
            self.refresher.embed_soon(self.footnote.library)
        return {}

    async def rebuild(self, _details: Details, told: Watcher) -> Record:
        library = self.footnote.library
        report = await run_in_thread(lambda notify: library.rebuild(notify=notify), told.notify)
        return {"report": asdict(report), "embedded": await self._embed(told, insist=True)}

    async def refresh(self, _details: Details, told: Watcher) -> Record:
        library = self.footnote.library
        report = await run_in_thread(lambda notify: library.refresh(notify=notify), told.notify)
        return {"report": asdict(report)}

    async def search(self, details: Details, _told: Watcher) -> Record:
        """Passages of everything that is indexed."""
        everything = await asyncio.to_thread(self.footnote.library.store.collections)
        refresh = self.refresher.refresh
        return plain_hits(await self.footnote.search(everything, details["query"], details["limit"], refresh))

    async def forget(self, details: Details, _told: Watcher) -> Record:
        """Forget the document by the first of its names that is indexed."""
        *first, last = details["names"]
        for name in first:
            with suppress(NotFound):
                return await self._forget(name)
        return await self._forget(last)

    async def forget_document(self, details: Details, _told: Watcher) -> Record:
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

    async def _embed(self, told: Watcher, *, insist: bool) -> int:
        try:
            return await self.refresher.embed(self.footnote.library, told, insist=insist)
        except (IndexMismatch, IndexDamaged):
            raise
        except (ModelTrouble, SettingsError) as trouble:
            told.announce(f"Searching by words alone: {trouble}")
            return 0

    # What people taught

    async def teach(self, details: Details, _told: Watcher) -> Record:
        """Keep an editor's answer."""
        names = ("question", "text", "collection", "name", "message")
        answer = await self.footnote.answers.correct(**{name: details[name] for name in names})
        return {"id": answer.id}

    async def change_answer(self, details: Details, _told: Watcher) -> Record:
        """Edit a kept answer, extend, retire or forget it, if it is as it was when somebody decided so; one that is gone
        stays so.
        """
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

    async def ask_person(self, details: Details, _told: Watcher) -> Record:
        """Finds whom to ask about one of these turns, for whoever asks to store in the queue."""
        command, route = await request_about(details["turns"], self.footnote, self.channel_store)
        return {"command": plain(command), "route": dict(route)}

    async def note_names(self, details: Details, _told: Watcher) -> Record:
        """Look up what people and their channels are called."""
        said = [(Conversation.parse(conversation), author) for conversation, author in details["said"]]
        await note_names(said, self.channel_store.people, self.footnote.log.names)
        return {}

    # Conversations

    async def proposals(self, details: Details, _told: Watcher) -> Record:
        found = await self.footnote.assistant.proposals(Conversation.parse(details["conversation"]))
        return {"proposals": [asdict(proposal) for proposal in found]}

    async def find_proposal(self, details: Details, _told: Watcher) -> Record:
        found = await self.footnote.assistant.find_proposal(details["proposal"])
        return {"found": found and {"conversation": found[0].id, "proposal": asdict(found[1])}}

    async def knows(self, details: Details, _told: Watcher) -> Record:
        return {"known": await self.footnote.assistant.knows(Conversation.parse(details["conversation"]))}

    async def unfinished(self, details: Details, _told: Watcher) -> Record:
        turn = await self.footnote.assistant.unfinished(Conversation.parse(details["conversation"]))
        return {"turn": turn and plain(turn)}

    async def forget_conversation(self, details: Details, _told: Watcher) -> Record:
        await self.footnote.assistant.forget(Conversation.parse(details["conversation"]))
        return {}


#: By their names, under which they are asked for and stored: SYNC_SOURCE and LOOK_AGAIN of the sources are among them.
_OPERATIONS: Mapping[str, Callable[[Operations, Details, Watcher], Awaitable[Record]]] = {
    each.__name__: each
    for each in (
        Operations.compare, Operations.prepare, Operations.ingest, Operations.sync_source, Operations.look_again,
        Operations.rebuild, Operations.refresh, Operations.search, Operations.forget, Operations.forget_document,
        Operations.teach, Operations.change_answer, Operations.ask_person, Operations.note_names,
        Operations.proposals, Operations.find_proposal, Operations.knows, Operations.unfinished,
        Operations.forget_conversation,
    )
}  # fmt: skip


def fingerprints(settings: Settings, salt: str) -> dict[str, str]:
    """Digests of settings, which tell two processes' apart without naming a key; ``salt`` is another each time."""
    told = {each.name: getattr(settings, each.name) for each in fields(Settings)}
    return {
        name.upper(): hashlib.sha256(f"{salt} {name} {content!r}".encode()).hexdigest()
        for name, content in told.items()
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

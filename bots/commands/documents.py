"""``footnote ingest`` and ``footnote forget``: what is indexed; and ingesting where the index cannot be opened, which
rebuilds it from the documents and from what can still be read of it.

Nothing that a channel learned is lost then: its uploads are in the data folder, and pages from the web
are copied with their passages. The old file stays in place until the new one is complete: after a
kill, nothing has changed, and the next rebuild continues.
"""

import asyncio
import json
import os
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from bots import process
from bots.chat import texts
from bots.chat.access import check_name, forget_documents
from bots.chat.addresses import ways_of_reading
from bots.chat.channels import STORE as CHANNELS
from bots.chat.channels import ChannelStore, open_channel_store
from bots.chat.indexing import Targets, find_embedder, ingest_targets, read_targets, require_documents
from bots.chat.texts import counted
from bots.chat.uploads import Upload, uploads_in
from bots.commands.adding import Questions
from bots.commands.backend import here_or_beside, open_remote
from bots.platforms import source_kinds
from bots.terminal.operations import Forgotten, details_of, report_in
from bots.terminal.receive import ask_line, is_interactive
from bots.terminal.screen import Screen
from core.answers.answers import sync
from core.answers.store import SCHEMA, STORE
from core.bootstrap import LIBRARY, has_library, make_fetcher, open_library, own_data_dir
from core.errors import IndexDamaged, ModelTrouble, SettingsError, VersionMismatch
from core.library.indexing import Notify
from core.library.library import DEFAULT_COLLECTION, Library
from core.library.rebuild import BESIDE, Recovery, is_damaged, recover, remove, replace_file
from core.library.sync import SyncReport
from core.settings import Settings, read_settings
from core.sources.sources import SourceSyncs, open_source_store
from core.storage.storage import file_of, open_storage

NAMED = 3  # pages in one sentence


def needs_rebuild(settings: Settings) -> bool:
    """True if the file is damaged, or gone although there are uploads; never of PostgreSQL."""
    if settings.postgres_url:
        return False
    data_dir = settings.data_dir
    file = data_dir / LIBRARY
    if file.is_file() and file.stat().st_size:
        return is_damaged(file)
    return bool(uploads_in(data_dir)) or (data_dir / f"{LIBRARY}{BESIDE}").exists()


def ingest(arguments: Namespace, settings: Settings) -> int:
    """Ingest in the main thread if no process serves: Ctrl-C ends it and keeps what is indexed."""
    if arguments.collection is not None:
        check_name(arguments.collection)
    screen = Screen()
    if not arguments.rebuild and not arguments.targets:
        if not is_interactive() or arguments.json or arguments.follow:
            raise SettingsError(
                "There is nothing to ingest: footnote ingest PATH_OR_URL…. In a terminal, footnote ingest alone asks."
            )
        return _ask_and_ingest(arguments, screen)
    targets = read_targets(arguments.targets, follow=arguments.follow, settings=settings)
    if arguments.follow and not targets.sources:
        raise SettingsError("--follow is for websites: footnote ingest https://HOST/ --follow.")
    if arguments.every is not None and not targets.sources:
        hints = map(ways_of_reading, arguments.targets)  # how what may have been meant is written
        sentence = "--every is for sources: files are looked at before each question, pages when you say."
        raise SettingsError(" ".join(filter(None, (sentence, *hints))))
    return Ingestion(arguments, targets, settings, screen).carry_out()


def _ask_and_ingest(arguments: Namespace, screen: Screen) -> int:
    """Asks a person what to add, and ingests it with the settings as they are by then."""
    read = partial(read_settings, os.environ)
    settings = read()
    with _channel_store(settings) as channel_store:
        kinds = source_kinds(channel_store, is_waited_for=True)
        names = _collections(settings)
        questions = Questions(ask=ask_line, screen=screen, read_settings=read, kinds=kinds, collections=names)
        given = {"collection": arguments.collection, "every": arguments.every}
        chosen = process.run_to_end(questions.addition_or_none(**given))
    if chosen is None:
        return process.INTERRUPTED
    screen.note(f"The same without questions: {chosen.command}")
    chosen_as = {**vars(arguments), "collection": chosen.collection, "every": chosen.every}
    return Ingestion(Namespace(**chosen_as), chosen.targets, read(), screen).carry_out()


@contextmanager
def _channel_store(settings: Settings) -> Iterator[ChannelStore]:
    """The store of who opted out; a temporary one where there is none yet."""
    with ExitStack() as stack:
        if settings.postgres_url is None and not file_of(settings.data_dir, CHANNELS).is_file():
            folder = stack.enter_context(TemporaryDirectory(prefix="footnote-", ignore_cleanup_errors=True))
            settings = replace(settings, data_dir=Path(folder))
        storage = stack.enter_context(open_storage(settings))
        yield stack.enter_context(open_channel_store(storage))


def _collections(settings: Settings) -> Sequence[str]:
    """The names of the collections."""
    if not has_library(settings):
        return ()
    with closing(open_library(settings)) as library:
        return sorted(library.store.collections())


@dataclass(frozen=True, slots=True)
class Ingestion:
    """One ``footnote ingest``."""

    arguments: Namespace
    targets: Targets
    settings: Settings
    screen: Screen

    @property
    def collection(self) -> str:
        return str(self.arguments.collection or DEFAULT_COLLECTION)

    def carry_out(self) -> int:
        """The exit code."""
        return here_or_beside(
            self.settings, self.screen, here=self.work, beside=lambda: process.run(self.ask_for_work())
        )

    def work(self) -> int:
        with own_data_dir(self.settings, "footnote ingest"):
            report = self.rebuild() if self.arguments.rebuild else None
            with closing(open_library(self.settings, is_owner=True)) as library:
                report = report or self.ingest(library)
                self.tell(report)
                return self.finish(report, self.embed(library))

    async def ask_for_work(self) -> int:
        """The process that serves does it."""
        async with open_remote(self.settings, screen=self.screen) as backend:
            if self.arguments.rebuild:
                self.check_rebuild()
                done = await backend.index("rebuild", {}, self.screen)
            else:
                chosen = {"collection": self.collection, "every": self.arguments.every}
                done = await backend.index("ingest", {**details_of(self.targets), **chosen}, self.screen)
        report = report_in(done["report"])
        self.tell(report)
        return self.finish(report, done["embedded"])

    def tell(self, report: SyncReport) -> None:
        if self.arguments.json:
            return
        self.screen.write(texts.synced(report))
        failed = [(each.source, each.reason) for each in report.failed]
        for source, sentence in (*failed, *((each.source, each.text) for each in report.notes)):
            self.screen.write(f"  {texts.note_line(source, sentence)}")

    def finish(self, report: SyncReport, made: int) -> int:
        """Say how many vectors were made, or everything as JSON; the exit code."""
        if self.arguments.json:
            print(json.dumps(record_of(report, made)))  # noqa: T201 - this is the output
        elif made:
            self.screen.write(f"{texts.counted(made, 'passage')} indexed by meaning too.")
        return 1 if report.failed and not report.added + report.changed + report.skipped else 0

    def ingest(self, library: Library) -> SyncReport:
        require_documents(library, self.targets)
        with self.screen.indexing() as notify:
            report = ingest_targets(
                library, self.targets, make_fetcher(self.settings, for_operator=True), notify=notify,
                collection=self.collection,
            )  # fmt: skip
            return report + asyncio.run(self.sync(library, notify)) if self.targets.sources else report

    async def sync(self, library: Library, notify: Notify) -> SyncReport:
        """Read the sources among the targets."""
        report, every = SyncReport(), self.arguments.every
        with (
            open_storage(self.settings) as storage,
            open_source_store(storage) as store,
            open_channel_store(storage) as channel_store,
        ):
            kinds = source_kinds(channel_store)
            syncs = SourceSyncs(library=library, store=store, settings=self.settings, kinds=kinds)
            for address in self.targets.sources:
                report += await syncs.ingest(address, collection=self.collection, every=every, notify=notify)
        return report

    def embed(self, library: Library) -> int:
        """Make the missing vectors; how many. Without a model, passages are found by their words alone."""
        find = partial(find_embedder, library, self.settings, insist=True, announce=self.screen.note)
        with self.screen.indexing() as notify:
            library.embedder = find(notify=notify)
        try:
            with self.screen.indexing() as notify:
                return library.embed_pending(notify=notify)
        except ModelTrouble as trouble:
            self.screen.note(f"Searching by words alone: {trouble}")
            return 0

    # Reading everything again

    def check_rebuild(self) -> None:
        if self.arguments.targets or self.arguments.collection:
            raise SettingsError("--rebuild reads everything indexed again; do not name a PATH with it.")

    def rebuild(self) -> SyncReport:
        """Rebuild an intact index in place; copy what can be read of a damaged one into a new one."""
        if needs_rebuild(self.settings):
            return self.replace_index()
        self.check_rebuild()
        try:
            with (
                closing(open_library(self.settings, is_owner=True)) as library,
                self.screen.indexing() as notify,
            ):
                return library.rebuild(notify=notify)
        except IndexDamaged:  # in a way that only shows when it is used
            return self.replace_index()

    def replace_index(self) -> SyncReport:
        """Read everything again, without vectors. Raises SettingsError if it is not known what to read."""
        settings, file = self.settings, self.settings.data_dir / LIBRARY
        self.screen.note(f"{file} is damaged or gone: it is rebuilt from the documents.")
        beside = settings.data_dir / f"{LIBRARY}{BESIDE}"  # with what an earlier attempt already read
        try:
            opened = open_library(settings, is_owner=True, beside=beside)
        except (IndexDamaged, VersionMismatch):
            remove(beside)
            opened = open_library(settings, is_owner=True, beside=beside)
        with closing(opened) as library:
            require_documents(library, self.targets)
            salvaged = recover(file, library.store)
            # If the list of refreshed files can be read, an upload that it lacks was forgotten by the operator.
            uploads = [] if salvaged.has_roots else uploads_in(settings.data_dir)
            if not (
                self.targets.addresses or uploads or library.store.roots.all() or library.store.entries()
            ):
                raise SettingsError(
                    f"Nothing can be read of {file} any more. "
                    "Name your documents: footnote ingest --rebuild PATH_OR_URL…"
                )
            report = self.read(library, uploads)
            with open_storage(settings) as storage, closing(storage.database(STORE, SCHEMA)) as answers:
                sync(answers, library, time.time())
            library.vectors.erase()  # before the new file is in place: they belong to the old passages
        aside = replace_file(beside, file)
        for sentence in _notes(salvaged, self.targets, aside):
            self.screen.note(sentence)
        return report

    def read(self, library: Library, uploads: Sequence[Upload]) -> SyncReport:
        """Read refreshed files, uploads and targets, each only once."""
        known = frozenset(library.store.roots.all())
        with self.screen.indexing() as notify:
            report = library.refresh(notify=notify)
            for name, address in uploads:
                if (name, address) not in known:
                    report += library.ingest([Path(address)], collection=name, notify=notify)
            new = tuple(path for path in self.targets.paths if (self.collection, str(path)) not in known)
            fetcher, named = make_fetcher(self.settings, for_operator=True), replace(self.targets, paths=new)
            return report + ingest_targets(library, named, fetcher, notify=notify, collection=self.collection)


def _notes(salvaged: Recovery, targets: Targets, aside: Path) -> Iterator[str]:
    if salvaged.pages:
        yield f"{counted(salvaged.pages, 'page')} from the web came over whole."
    if salvaged.lost:
        more = len(salvaged.lost) - NAMED
        named = ", ".join(salvaged.lost[:NAMED]) + (f" and {more:,} more" if more > 0 else "")
        yield f"{counted(len(salvaged.lost), 'page')} from the web must be learned again: {named}."
    if not salvaged.has_pages:
        yield "Pages from the web may be missing; their addresses are lost too: learn them again."
    if not salvaged.has_roots and not targets.addresses:
        yield "Which documents it held cannot be read any more: run `footnote ingest PATH` with yours."
    if not salvaged.has_forgotten:
        yield "What was forgotten below your folders cannot be read any more: forget it again."
    if aside.exists():
        yield f"The old file is {aside} and still holds text of your documents. Delete it when you like."


def record_of(report: SyncReport, made: int) -> dict[str, object]:
    """The record that ``footnote ingest --json`` prints."""
    return {
        "added": report.added,
        "changed": report.changed,
        "removed": report.removed,
        "unchanged": report.skipped,
        "failed": [{"source": each.source, "reason": each.reason} for each in report.failed],
        "notes": [{"source": each.source, "note": each.text} for each in report.notes],
        "vectors": made,
    }


def forget(arguments: Namespace, settings: Settings) -> int:
    screen = Screen()

    def here() -> int:
        with (
            own_data_dir(settings, "footnote forget"),
            open_storage(settings) as storage,
            closing(open_library(settings, storage, is_owner=True)) as library,
        ):
            entries = forget_documents(library, storage, arguments.source)
        return print_gone([(entry.source, entry.passages) for entry in entries])

    async def beside() -> int:
        async with open_remote(settings, screen=screen) as backend:
            return print_gone(await backend.forget(arguments.source))

    def print_gone(gone: Sequence[Forgotten]) -> int:
        for source, passages in gone:
            screen.write(texts.forgotten(source, passages))
        return 0

    return here_or_beside(settings, screen, here=here, beside=lambda: process.run(beside()))

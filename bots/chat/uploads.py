"""Files that people attach: fetched, stored and indexed for a channel, or for one thread.

They stay in the data folder, in one folder for each collection, so that the index can be rebuilt.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from bots.chat.indexing import Targets, ingest_targets, run_in_thread
from bots.chat.platform import Attachments
from core.bootstrap import Footnote, make_fetcher
from core.conversation import Attachment, Question, value
from core.errors import DocumentError, FootnoteError, reason_of
from core.library.entries import Entry
from core.library.indexing import Notify
from core.library.sync import SyncReport

if TYPE_CHECKING:
    from aiohttp import ClientResponse


UPLOADS = "learned"  # the folder of the data folder
Upload = tuple[str, str]  # its collection, and its path


def folder_of(data_dir: Path, collection: str) -> Path:
    """The folder of a collection's uploads."""
    return data_dir / UPLOADS / collection


def uploads_in(data_dir: Path) -> list[Upload]:
    """All uploads."""
    folders = sorted((data_dir / UPLOADS).resolve().glob("*/"))
    return [(each.name, str(file)) for each in folders for file in sorted(each.iterdir()) if file.is_file()]


def discard(data_dir: Path, files: Iterable[Path]) -> None:
    """Delete those files that are uploads, and no others."""
    kept = (data_dir / UPLOADS).resolve()
    for file in files:
        if file.is_relative_to(kept):
            file.unlink(missing_ok=True)


FILE_LIMIT = 32_000_000  # bytes of one attached file, as for a page
PART = 65_536  # bytes read at a time


def check_size(name: str, size: int) -> None:
    """Raise DocumentError for a file that is too large."""
    if size > FILE_LIMIT:
        raise DocumentError(f"{name} is larger than {FILE_LIMIT // 1_000_000} MB.")


async def content_of(reply: ClientResponse, name: str) -> bytes:
    """The body of a reply, whatever size was announced; DocumentError as soon as it is too large."""
    check_size(name, reply.content_length or 0)
    body = bytearray()
    async for part in reply.content.iter_chunked(PART):
        body += part
        check_size(name, len(body))
    return bytes(body)


READ_SUFFIX = "/read"  # ends the id of a turn that asks a question again, with its attachments read


def with_reading(question: Question, allowed_by: str, allowed_at: float) -> Question:
    """The question asked again with its attachments: always the same turn, whoever allows it."""
    return replace(
        question, id=question.id + READ_SUFFIX, reading_allowed_by=allowed_by, asked_at=allowed_at,
        is_addressed=True,
    )  # fmt: skip


@value
class Indexed:
    """The result of indexing files and pages."""

    report: SyncReport
    names: tuple[str, ...]  #: of all the files, as far as they are known now
    files: tuple[Path, ...]  #: those that can be read
    failures: tuple[str, ...]  #: a sentence for each that cannot


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadIndex:
    """Brings attached files into the library. Everything may be done twice."""

    footnote: Footnote
    uploads: Attachments

    async def add(self, attachments: Sequence[Attachment], collection: str, url: str = "") -> Indexed:
        """Index the files, and the page if one is named. A file that fails does not stop the others."""
        paths: list[Path] = []
        names: list[str] = []
        troubles: list[str] = []
        for file in attachments:
            try:
                paths.append(await self._store(file, collection, {path.name for path in paths}))
                names.append(paths[-1].name)
            except DocumentError as trouble:
                names.append(file.name or file.id)
                troubles.append(str(trouble))
        targets = Targets(paths=tuple(paths), urls=(url,) if url else ())
        report = await self._ingest(targets, collection) if targets != Targets() else SyncReport()
        failed = {Path(each.source).name: each.reason for each in report.failed}
        self.discard(path for path in paths if path.name in failed)
        return Indexed(
            report=report,
            names=tuple(names),
            files=tuple(path for path in paths if path.name not in failed),
            failures=(*(f"{name}: {reason}" for name, reason in failed.items()), *troubles),
        )

    async def forget(self, collections: Sequence[str], names: Iterable[str] | None = None) -> list[Entry]:
        """Delete documents of these collections and their files: those of this name, or all."""
        wanted = None if names is None else set(names)
        library = self.footnote.library
        entries = [
            entry
            for entry in library.store.entries()
            if entry.collection in collections
            and (wanted is None or wanted & {entry.url, Path(entry.address).name})
        ]
        # The files first: after a kill, what is still listed can be forgotten again.
        self.discard(Path(entry.address) for entry in entries)
        for collection in collections if wanted is None else ():
            folder = folder_of(self.footnote.settings.data_dir, collection)
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        return [
            gone
            for entry in entries
            for gone in await asyncio.to_thread(library.forget, entry.address, collection=entry.collection)
        ]

    def discard(self, files: Iterable[Path]) -> None:
        discard(self.footnote.settings.data_dir, files)

    async def _ingest(self, targets: Targets, collection: str) -> SyncReport:
        settings, library = self.footnote.settings, self.footnote.library

        def work(notify: Notify) -> SyncReport:
            fetcher = make_fetcher(settings)
            return ingest_targets(library, targets, fetcher, notify=notify, collection=collection)

        try:
            return await run_in_thread(work, lambda *_progress: None)
        except FootnoteError:  # nothing was learned: of what is not known from before, nothing is kept
            known = {entry.address for entry in library.store.entries()}
            self.discard(file for file in targets.paths if str(file) not in known)
            raise

    async def _store(self, file: Attachment, collection: str, taken: Collection[str]) -> Path:
        """Fetch a file into the data folder: by its name, so that a newer version replaces an older one."""
        check_size(file.name, file.size)
        known, content = await self.uploads.fetch(file)
        name = wanted = Path(known).name or file.id
        numbers = count(2)
        while name in taken:  # files of one message that have the same name get numbers
            name = f"{Path(wanted).stem} ({next(numbers)}){Path(wanted).suffix}"
        folder = folder_of(self.footnote.settings.data_dir, collection)
        try:
            await asyncio.to_thread(_write, folder / name, folder.parent / f"{file.id}.part", content)
        except OSError as fault:
            raise DocumentError(f"{name} cannot be kept: {reason_of(fault)}.") from fault
        return (folder / name).resolve()


def _write(target: Path, part: Path, content: bytes) -> None:
    """Write all or nothing: a full disk does not destroy the older file."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        part.write_bytes(content)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)

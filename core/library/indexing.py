"""Carrying a sync out: files are read, perhaps in other processes, and written to the store."""

import hashlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Literal

from core.characters import storable
from core.errors import DocumentError
from core.library.chunking import cut
from core.library.documents import Document
from core.library.entries import Entry, NewDocument
from core.library.formats import includes
from core.library.formats.parser_process import AT_ONCE
from core.library.formats.pdf_pages import PageProgress, reporting_to
from core.library.formats.read import parse_file, read_bytes
from core.library.roots import PathRules, UnreadableFile
from core.library.store import DocumentStore
from core.library.sync import Failure, FoundFile, SourceNote, SyncPlan, SyncReport
from core.priority import is_throttling

#: pages: of the files at hand; the last two are of core/lint
Phase = Literal["downloading", "reading", "pages", "embedding", "comparing", "judging"]
Notify = Callable[[Phase, int, int], None]  # phase, done, total (0: unknown)

AHEAD = AT_ONCE + 1  # files that are read or have been, while another one is stored
TOLD_EVERY = 0.25  # seconds from one word of the pages read to the next


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFile:
    """A file as it was read."""

    document: Document | None = None  #: None: its bytes are unchanged, or it could not be read
    hash: str = ""
    included: str = "[]"
    fault: str = ""  #: why it could not be read, completes "FILE: …"
    may_pass: bool = False  #: the disk failed


def apply_plan(
    plan: SyncPlan, known: Mapping[str, Entry], store: DocumentStore, collection: str, notify: Notify
) -> SyncReport:
    """Carry out a plan. Documents are written one at a time, in order."""
    rules, cleared = store.roots.rules(collection), frozenset(plan.cleared)
    report = SyncReport(skipped=plan.unchanged, removed=len(plan.gone), failed=plan.failed, notes=plan.notes)
    for entry, file in plan.renamed:
        _touch(entry, file, store, entry.included)
    if plan.cleared:
        store.roots.clear_unreadable(collection, plan.cleared)

    def read(file: FoundFile) -> ReadFile:
        entry = known.get(file.address)
        return read_file(file, rules, known=entry.hash if entry and file.address not in cleared else "")

    for done, (file, found) in enumerate(read_ahead(plan.read, read, partial(notify, "pages")), start=1):
        report += _index_file(file, found, known.get(file.address), store, collection)
        notify("reading", done, len(plan.read))
    for entry in plan.gone:  # at last: under another name, what it says is there by now
        store.remove(collection, entry.address)
    return report


def read_ahead(
    files: Sequence[FoundFile], read: Callable[[FoundFile], ReadFile], pages: PageProgress
) -> Iterator[tuple[FoundFile, ReadFile]]:
    """The files in order, as they were read. The next ones are read while one is stored, so that workers compute on
    every processor; where questions are answered, one at a time, so that a worker is left for their files.
    """
    if is_throttling():
        yield from ((file, read(file)) for file in files)
        return
    counts: dict[str, tuple[int, int]] = {}  # pages read and in all, of the files at hand

    def read_and_count(file: FoundFile) -> ReadFile:
        with reporting_to(lambda done, total: counts.update({file.address: (done, total)})):
            return read(file)

    pool, ahead, begun = ThreadPoolExecutor(AT_ONCE), iter(files), deque[Future[ReadFile]]()
    try:
        for file in files:
            begun.extend(pool.submit(read_and_count, each) for each in islice(ahead, AHEAD - len(begun)))
            reading = begun.popleft()
            while not wait((reading,), TOLD_EVERY).done:
                if counted := list(counts.values()):
                    pages(*map(sum, zip(*counted, strict=True)))
            if counts.pop(file.address, None) and not counts:
                pages(0, 0)
            yield file, reading.result()
    finally:  # after Ctrl-C, closing the library ends what the workers still read
        pool.shutdown(wait=False, cancel_futures=True)


def read_file(file: FoundFile, rules: PathRules, *, known: str = "") -> ReadFile:
    """Reads and parses, unless its bytes have the hash ``known``."""
    path, data = Path(file.address), None
    try:
        data = read_bytes(path)
        data, whole = includes.bytes_with_includes(data, path, Path(file.root), rules.includes)
        included = includes.to_json(whole.files if whole else ())
        digest = hashlib.sha256(data).hexdigest()
        document = None if digest == known else drop_surrogates(parse_file(path, data))
    except DocumentError as fault:
        return ReadFile(fault=str(fault), may_pass=data is None)
    return ReadFile(document=document, hash=digest, included=included)


def _index_file(
    file: FoundFile, read: ReadFile, entry: Entry | None, store: DocumentStore, collection: str
) -> SyncReport:
    """Write what was read; a note where it was not wholly read."""
    document, reason = read.document, read.document.unread if read.document else read.fault
    unreadable = UnreadableFile(
        address=file.address, source=file.source, size=file.size, modified=file.modified, reason=reason
    )
    if read.fault:
        if not read.may_pass:
            store.roots.note_unreadable(collection, unreadable)
        # The older version must not be quoted any more.
        store.remove(collection, file.address)
        failure = Failure(source=file.source, reason=reason)
        return SyncReport(removed=0 if entry is None else 1, failed=(failure,))
    if document is None:
        if entry is not None:
            _touch(entry, file, store, read.included)
        return SyncReport(skipped=1)
    new = NewDocument(
        collection=collection, address=file.address, root=file.root, source=file.source, title=document.title,
        url=document.url, hash=read.hash, size=file.size, modified=file.modified, pieces=cut(document),
        included=read.included, changed_at=document.changed_at,
    )  # fmt: skip
    store.put(new)
    if reason:
        store.roots.note_unreadable(collection, unreadable)
    notes = (SourceNote(source=file.source, text=reason),) if reason else ()
    is_same = entry is not None and entry.hash == read.hash
    return SyncReport(
        added=int(entry is None), skipped=int(is_same), changed=int(bool(entry) and not is_same), notes=notes
    )


def drop_surrogates(document: Document) -> Document:
    """The document without lone surrogates, as from some fonts in PDF files. What was cut already has none in its text."""
    text = document.text if document.pieces is not None else storable(document.text)
    return replace(document, title=storable(document.title), text=text)


def _touch(entry: Entry, file: FoundFile, store: DocumentStore, included: str) -> None:
    now = {"modified": file.modified, "size": file.size}
    store.touch(entry.id, **now, root=file.root, source=file.source, included=included)

"""A process that reads a source and kills itself at one moment: the moment, and it alone, is given.

``python -m fakes.mortal_sync DATA_DIR DATABASE_URL ADDRESS DIARY MOMENT``. What it does is told in the file DIARY, a
line each, which is there also when it is killed. Credentials come from the environment; SOURCE_OPTIONS says how
kinds of sources are opened.

MOMENT is the number of a line ("17"), a line ("after SourceStore.finish"), or seconds of CPU ("0.137s"): then the
kernel ends it wherever it is.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from fakes.sources import Shelf

from bots.chat.channels import open_channel_store
from bots.discord.channel_source import discord_kind
from bots.slack.channel_source import slack_kind
from core.bootstrap import open_library
from core.library.data_lock import make_data_dir
from core.settings import Settings, read_settings
from core.sources.git import client as git
from core.sources.kinds import SOURCE_KINDS
from core.sources.source import SourceBatch, SourceItem, SourceKind
from core.sources.sources import SourceSyncs, open_source_store
from core.sources.store import SourceStore
from core.sources.sync import SyncRun
from core.storage.postgres import PostgresDatabase
from core.storage.sqlite import SqliteDatabase
from core.storage.storage import open_storage

SHELF = "shelf://"


class Diary:
    """Lines of a file, at one of which its process is killed. A line is a list in JSON; what happens is its first part."""

    def __init__(self, file: Path, moment: str) -> None:
        self.moment, self.lines = moment, 0
        self.file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        if moment.endswith("s"):
            # Nothing of Python sees it: what is not handled ends a process at once, as SIGKILL does.
            signal.setitimer(signal.ITIMER_PROF, float(moment.removesuffix("s")))

    def tell(self, what: str, *more: str) -> None:
        self.lines += 1
        self.note(what, *more)
        if self.moment in (str(self.lines), what):
            os.kill(os.getpid(), signal.SIGKILL)

    def note(self, what: str, *more: str) -> None:
        """A line that is no moment of its own."""
        os.write(self.file, f"{json.dumps([what, *more])}\n".encode())


def tell_transactions(kind: Any, diary: Diary) -> None:
    """Their begin, what is written in them, and what follows."""
    inner, entered = kind.transaction, threading.local()

    @contextmanager
    def told(database: Any) -> Iterator[Any]:
        name = sys._getframe(2).f_code.co_qualname  # whose transaction it is
        is_outer = not getattr(entered, "depth", 0)
        entered.depth = getattr(entered, "depth", 0) + 1
        try:
            with inner(database) as writing:
                if is_outer:
                    diary.tell(f"before {name}")
                yield writing
                diary.tell(f"in {name}")
        finally:
            entered.depth -= 1
        if is_outer:
            diary.tell(f"after {name}")

    kind.transaction = told


def tell_commands(diary: Diary) -> None:
    """After git began."""
    inner = git._start

    async def told(*arguments: Any) -> Any:
        started = await inner(*arguments)
        diary.tell("git began")
        return started

    git._start = told


def tell_reading(diary: Diary) -> None:
    """What is listed, what is fetched, and what came of it, with ids and versions."""
    take, read = SyncRun._take, SyncRun._read_item

    async def told_take(run: SyncRun, batch: SourceBatch, listing: int) -> None:
        diary.tell("listed")
        await take(run, batch, listing)

    async def told_read(run: SyncRun, item: SourceItem) -> None:
        diary.tell("fetched", item.id, item.version)
        await read(run, item)

    SyncRun._take, SyncRun._read_item = told_take, told_read  # type: ignore[method-assign]


def tell_states(diary: Diary) -> None:
    """What is stored of each item: that it is due, was read or could not be, or is not there any more."""
    put, mark, drop = SourceStore.put, SourceStore.mark, SourceStore.drop

    def told_put(store: SourceStore, number: int, items: Iterable[SourceItem], **how: Any) -> None:
        items, is_due = list(items), how["state"] == "due"
        if not is_due:  # killed before that is stored, it is still due
            put(store, number, items, **how)
        for each in items:  # due before it is so: it may be killed as soon as it is
            diary.note(how["state"], each.id, each.version)
        if is_due:
            put(store, number, items, **how)

    def told_mark(store: SourceStore, number: int, item: SourceItem, *how: Any) -> bool:
        if is_kept := mark(store, number, item, *how):
            diary.tell(how[0], item.id, item.version)
        return is_kept

    def told_drop(store: SourceStore, number: int, ids: Iterable[str]) -> None:
        ids = list(ids)
        drop(store, number, ids)
        for each in ids:
            diary.note("dropped", each)

    SourceStore.put, SourceStore.mark, SourceStore.drop = told_put, told_mark, told_drop  # type: ignore[method-assign]


def shelf_at(address: str) -> Shelf:
    """The shelf of a file. Each page whose readers change while it is fetched is in the folder ``changes``."""
    file = Path(address.removeprefix(SHELF))
    shelf = Shelf.saved(file)

    def change(name: str) -> None:
        waiting = file.parent / "changes" / name
        if waiting.exists():
            shelf.restrict(frozenset(waiting.read_text().split()), name)
            shelf.save(file)
            waiting.unlink()

    shelf.before_fetch = change
    return shelf


def kinds_with(options: Mapping[str, Mapping[str, Any]]) -> dict[str, SourceKind]:
    """The kinds of sources, of which some are opened otherwise: "notion": {"origin": "http://127.0.0.1:…"}."""
    opened = {name: partial(SOURCE_KINDS[name].open, **more) for name, more in options.items()}
    return {
        **SOURCE_KINDS,
        **{name: replace(SOURCE_KINDS[name], open=open_it) for name, open_it in opened.items()},
    }


async def sync(settings: Settings, address: str, kinds: Mapping[str, SourceKind]) -> None:
    make_data_dir(settings.data_dir)
    with (
        open_storage(settings) as storage,
        open_source_store(storage) as store,
        open_channel_store(storage) as channels,
        closing(open_library(settings, storage)) as library,
    ):
        channel_kinds = {
            "slack": slack_kind(channels, interval=0.0),
            "discord": discord_kind(channels, interval=0.0),
        }
        syncs = SourceSyncs(library=library, store=store, settings=settings, kinds={**kinds, **channel_kinds})
        report = await syncs.ingest(address, collection="default")
        (record,) = store.all()
        has_ended = record.synced_at is not None and record.synced_at >= (record.started_at or 0.0)
        if not has_ended or store.counts(record.number).failed:  # what a source says of itself is no failure
            raise SystemExit(f"failed: {report.failed}")


def main(data_dir: str, url: str, address: str, file: str, moment: str) -> None:
    logging.basicConfig(level=logging.INFO)
    diary = Diary(Path(file), moment)
    diary.tell("began")
    for kind in (SqliteDatabase, PostgresDatabase):
        tell_transactions(kind, diary)
    tell_commands(diary)
    tell_reading(diary)
    tell_states(diary)
    settings = replace(
        read_settings(os.environ, None),
        data_dir=Path(data_dir), database_url=url, private_hosts=("127.0.0.1",),
    )  # fmt: skip
    kinds = kinds_with(json.loads(os.environ.get("SOURCE_OPTIONS", "{}")))
    own = shelf_at(address).kinds if address.startswith(SHELF) else {}
    asyncio.run(sync(settings, address, {**kinds, **own}))
    diary.tell("closed", f"{time.process_time():.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The sources: whether each can be read now, and how its last syncs went. Nothing of them is stored."""

import asyncio
import logging
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from typing import cast

from bots.arguments import span_of
from bots.chat.addresses import ADDRESSES, ingest_command
from bots.chat.texts import counted, note_line
from bots.doctor.findings import Finding, failed, from_error, ok, warning
from bots.doctor.settings import Configuration
from bots.doctor.stores import server_rows
from core.errors import FootnoteError, SettingsError
from core.settings import ENV_FILE, Settings
from core.sources.kinds import SOURCE_KINDS, as_typed, check
from core.sources.source import Credential, SourceKinds, SourceThrottled, kind_of, read_owner_only
from core.sources.store import SCHEMA, STORE, ListedSource, SourceStore
from core.storage.database import Database, Dialect, Row, version_in
from core.storage.sqlite import SqliteDatabase
from core.storage.storage import file_of

NAME = "sources"
ANSWER_TIME = 25.0  # seconds for all of them together; a whole check has 30
AT_ONCE = 8  # sources that are looked at
LATE = 600.0  # seconds after which a sync that was due is overdue; whoever serves looks every five
NAMED = 3  # items of one finding

logger = logging.getLogger(__name__)


async def examine(
    configuration: Configuration, *, is_named: bool = False, kinds: SourceKinds = SOURCE_KINDS
) -> list[Finding]:
    """``is_named``: whether an operator asked for the sources, so that none is a finding too."""
    settings = configuration.settings
    try:
        stored = await asyncio.to_thread(_stored, settings)
    except SettingsError as error:
        return [from_error(NAME, error)]
    if not stored:
        none = failed(NAME, "There is no source yet.", "`footnote ingest` asks what to add.")
        return [none] if is_named else []
    faults = await _faults({each.record.address for each in stored}, settings, kinds)
    now = time.time()
    return [finding for each in stored for finding in findings_of(each, faults.get(each.record.address), now)]


def _stored(settings: Settings) -> list[ListedSource]:
    """The stored records of sources; nothing is made or migrated. Blocks."""
    if settings.postgres_url is not None:
        # Reading is all that is asked of it.
        database = cast("Database", _ReadOnly(settings.postgres_url))
        return SourceStore(database).list_sources(failures=NAMED)
    file = file_of(settings.data_dir, STORE)
    if not file.is_file() or version_in(file) != SCHEMA.version:
        return []  # another version is reported with the data folder
    with closing(SqliteDatabase(file, SCHEMA, is_read_only=True)) as opened:
        return SourceStore(opened).list_sources(failures=NAMED)


@dataclass(frozen=True, slots=True)
class _ReadOnly:
    """The part of a Database that reading needs."""

    url: str
    dialect: Dialect = "postgresql"

    def rows(self, query: str, values: Sequence[object] = ()) -> list[Row]:
        from core.storage.postgres import translate

        return server_rows(self.url, translate(query), *values)


# Whether they can be read


async def _faults(addresses: set[str], settings: Settings, kinds: SourceKinds) -> dict[str, Finding]:
    """The faults that keep sources from being read, by their addresses."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def look(address: str) -> Finding | None:
        async with gate:
            return await _fault_of(address, settings, kinds)

    tasks = {address: asyncio.create_task(look(address)) for address in sorted(addresses)}
    _, late = await asyncio.wait(tasks.values(), timeout=ANSWER_TIME)
    for task in late:
        task.cancel()
    if late:
        await asyncio.wait(late)
    found = {}
    for address, task in tasks.items():
        silent = f"{as_typed(address, kinds)} did not answer within {ANSWER_TIME:g} s."
        fault = failed(NAME, silent, "Look whether it is there.") if task in late else task.result()
        if fault is not None:
            found[address] = fault
    return found


async def _fault_of(address: str, settings: Settings, kinds: SourceKinds) -> Finding | None:
    """The fault that keeps a source from being read: a missing credential, or the source's own error."""
    kind = kind_of(address, kinds)
    if kind is None:
        unknown = f"{address} is of a kind that this Footnote does not read."
        return failed(NAME, unknown, f"`footnote forget {shlex.quote(address)}`")
    name = kind.typed(address)
    credentials = kind.guide.credentials(address, settings) if kind.guide else ()
    lacking = next((each for each in credentials if not each.is_set), None)
    if lacking is not None and lacking.is_needed:
        unset = f"{name} needs {lacking.setting}, which is not set for it."
        return failed(NAME, unset, _fix_of(lacking))
    try:
        for file in (each.file for each in credentials if each.file is not None):
            await asyncio.to_thread(read_owner_only, file)
        await check(address, settings, kinds=kinds)
    except SourceThrottled as throttled:
        later = f"{name} wants to be asked again in {throttled.retry_after:.0f} s."
        return warning(NAME, later, "Nothing is to be done: a sync waits.")
    except FootnoteError as error:
        finding = from_error(NAME, error, _fix_of(lacking) if lacking else "")
        return finding if name in finding.text else replace(finding, text=note_line(name, finding.text))
    except Exception as error:
        # The boundary of one source: the others are looked at.
        logger.exception("a source could not be examined")
        sentence = f"Footnote has a fault of its own with {name} ({type(error).__name__})."
        return failed(NAME, sentence, "`LOG_LEVEL=info footnote doctor` shows where.")
    return None


def _fix_of(credential: Credential) -> str:
    entry = f"{credential.setting}={credential.entry}"
    return f"Make one at {credential.made_at} and put {entry} into {ENV_FILE}."


# How they were read


def findings_of(source: ListedSource, fault: Finding | None, now: float) -> Iterator[Finding]:
    """The findings about one source. ``fault``: why it cannot be read now."""
    record, counts, name = source.record, source.counts, as_typed(source.record.address, ADDRESSES)
    again = f"`{ingest_command(record.address, collection=record.collection)}`"
    if fault is not None:
        yield fault
    elif record.synced_at is None:
        yield warning(NAME, f"{name} can be read, and was not yet read to its end.", again)
    else:
        yield ok(NAME, f"{name} can be read: {_counted(source)}.")
    if record.failure and fault is None:
        yield warning(NAME, f"{name}, when it was read last: {record.failure}", again)
    if record.note:
        yield ok(NAME, f"{name}, when it was read last: {record.note}")
    if record.every is not None and record.next_at is not None and now > record.next_at + LATE:
        fix = "`footnote run` reads what is due while it serves; its log says what keeps it."
        yield warning(NAME, f"{name} should have been read again on {_moment(record.next_at)}.", fix)
    if counts.failed:
        some = [f"{each.source} ({each.reason})" for each in source.failed]
        more = counts.failed - len(some)
        named = ", ".join(some) + (f" and {more:,} more" if more > 0 else "")
        yield warning(
            NAME, f"{counted(counts.failed, 'document')} of {name} cannot be read: {named}.",
            f"`footnote sources` lists them. Once they are mended, {again} tries them again.",
        )  # fmt: skip


def _counted(source: ListedSource) -> str:
    record, counts = source.record, source.counts
    parts = [counted(counts.read, "document")]
    if record.synced_at is not None:
        parts.append(f"read on {_moment(record.synced_at)}")
    parts.append(f"every {span_of(record.every)}" if record.every else "only when you ingest it")
    if counts.due:
        parts.append(f"{counts.due:,} still to read")
    return ", ".join(parts)


def _moment(at: float) -> str:
    return f"{datetime.fromtimestamp(at).astimezone():%d %b %Y at %H:%M}"

"""Every store that there is, and its schema; a new one is an entry here."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from bots.chat import channels
from bots.page import sessions
from bots.slack import oauth
from core.answers import store as answers
from core.errors import SettingsError
from core.gaps import store as gaps
from core.library import tables
from core.reasoning import limits
from core.settings import Settings
from core.sources import store as sources
from core.storage.schema import Schema
from core.storage.storage import Storage, file_of, queue_file
from core.traces import log
from core.turns import admission, checkpoints, queue

#: Those that a folder and a PostgreSQL have, with the same tables.
OURS: Mapping[str, Schema] = {
    channels.STORE: channels.SCHEMA,
    oauth.STORE: oauth.SCHEMA,
    limits.STORE: limits.SCHEMA,
    log.STORE: log.SCHEMA,
    answers.STORE: answers.SCHEMA,
    gaps.STORE: gaps.SCHEMA,
    sessions.STORE: sessions.SCHEMA,
    sources.STORE: sources.SCHEMA,
    "library": tables.SCHEMA,
}
#: Files whose tables DBOS and LangGraph make. In PostgreSQL they make others.
_OF_LIBRARIES: Mapping[str, Schema] = {
    "turns": queue.SCHEMA,
    "conversations": checkpoints.SCHEMA,
}

#: The files of a folder, in the order in which they are read. The queue comes first: what a turn did after
#: that moment is done once more when it goes on, as after a process that was killed.
IN_FOLDER: Mapping[str, Schema] = {**_OF_LIBRARIES, **OURS}
#: What PostgreSQL has besides the tables of the libraries; a folder counts questions in its queue.
IN_POSTGRES: Mapping[str, Schema] = {**OURS, admission.STORE: admission.SCHEMA}


def files_in(settings: Settings) -> dict[str, Path]:
    """The databases of a folder by store, which need not exist; none beside a PostgreSQL."""
    queue_at = queue_file(settings)
    if queue_at is None:
        return {}
    return {store: file_of(settings.data_dir, store) for store in IN_FOLDER} | {"turns": queue_at}


async def make_postgres_stores(storage: Storage) -> None:
    """Every store that is not there, and those of an older version brought to this one."""
    from core.turns.checkpoints_postgres import open_postgres_checkpoints
    from core.turns.leases import open_leases

    for store, schema in IN_POSTGRES.items():
        storage.database(store, schema).close()
    async with open_leases(storage, "footnote migrate") as leases:
        await open_postgres_checkpoints(storage, leases)
    await asyncio.to_thread(_migrate_queue, str(storage.url))


def _migrate_queue(url: str) -> None:
    """The tables of DBOS, which has versions of its own."""
    from dbos import DBOS
    from sqlalchemy.exc import SQLAlchemyError

    from core.storage.postgres import making_tables

    try:
        with making_tables(url):
            DBOS.migrate(url)
    except SQLAlchemyError as fault:
        raise SettingsError("The queue's tables could not be made; LOG_LEVEL=info shows why.") from fault

"""Where turns wait for their answer: whether it opens, and how many do."""

from __future__ import annotations

import logging
import os
import sqlite3
from contextlib import closing
from pathlib import Path

from bots.chat.texts import counted
from bots.doctor.findings import Finding, failed, ok, warning
from bots.doctor.folder import owner_of
from bots.doctor.settings import Installation

NAME = "turns"
PATIENCE = 5  # seconds for a server to answer
SQLITE = "sqlite:///"

#: Turns that have no outcome yet, of DBOS's table; on PostgreSQL it is in DBOS's own schema.
_WAITING = "SELECT count(*) FROM {table} WHERE status IN ('ENQUEUED', 'PENDING', 'DELAYED')"

logger = logging.getLogger(__name__)


def examine(installation: Installation) -> list[Finding]:
    settings = installation.settings
    url = settings.database_url or f"{SQLITE}{settings.data_dir / 'turns.sqlite'}"
    finding = (
        _in_file(Path(url.removeprefix(SQLITE)), settings.data_dir)
        if url.startswith(SQLITE)
        else _on_server(url, settings.data_dir)
    )
    return [finding]


def _in_file(file: Path, data_dir: Path) -> Finding:
    if not file.exists():
        if file.parent != data_dir and not os.access(file.parent, os.W_OK | os.X_OK):
            return failed(
                NAME, f"{file} cannot be made.", "Set DATABASE_URL to a file in a folder of your own."
            )
        return ok(NAME, "None yet; the first `footnote run` makes their database.")
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as database:
            ((waiting,),) = database.execute(_WAITING.format(table="workflow_status"))
    except sqlite3.Error as trouble:
        logger.info("%s: %s", file, trouble)
        return failed(
            NAME,
            f"{file} cannot be opened or is damaged.",
            "Move it away: `footnote run` makes a new one, and what waited in it has to be asked again.",
        )
    return _waiting(waiting, str(file), data_dir)


def _on_server(url: str, data_dir: Path) -> Finding:
    from sqlalchemy import create_engine, text
    from sqlalchemy.exc import ProgrammingError, SQLAlchemyError

    driver = url.replace("postgresql://", "postgresql+psycopg://", 1)
    try:
        engine = create_engine(driver, connect_args={"connect_timeout": PATIENCE})
        with closing(engine.connect()) as connection:
            connection.execute(text("SET TRANSACTION READ ONLY"))
            waiting = connection.execute(text(_WAITING.format(table="dbos.workflow_status"))).scalar_one()
    except ProgrammingError:  # it opened, and there is no such table
        return ok(NAME, "DATABASE_URL opens; the first `footnote run` makes its tables.")
    except SQLAlchemyError as trouble:
        logger.info("the database of the turns could not be opened: %s", type(trouble).__name__)
        return failed(
            NAME,
            "DATABASE_URL names a database that cannot be opened.",
            "Check its host, name, user and password, and that PostgreSQL runs.",
        )
    return _waiting(waiting, "DATABASE_URL", data_dir)


def _waiting(waiting: int, where: str, data_dir: Path) -> Finding:
    if not waiting:
        return ok(NAME, f"{where} opens; nothing waits.")
    turns = f"{counted(waiting, 'turn')} without an answer"
    if owner := owner_of(data_dir):
        return ok(NAME, f"{where} opens; {turns}, which {owner} works on.")
    return warning(NAME, f"{where} opens; {turns}.", "`footnote run` answers them.")

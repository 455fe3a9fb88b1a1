"""The one PostgreSQL, read only: whether it opens, which versions its stores have, and what the index holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bots.chat.texts import counted
from bots.commands.migrate import postgres_stores
from bots.doctor.findings import Finding, failed, from_error, ok, warning
from core.errors import SettingsError
from core.storage.schema import VERSIONS

MIGRATE = "`footnote migrate`"


def examine(check: str, url: str) -> list[Finding]:
    """The findings, under the name of a check. Nothing is made or migrated."""
    import psycopg

    from core.storage.postgres import conninfo, translate_errors

    try:
        with (
            translate_errors(),
            psycopg.connect(conninfo(url), prepare_threshold=None, autocommit=True) as connection,
        ):
            connection.read_only = True
            stored = connection.execute(f"SELECT store, version FROM {VERSIONS}").fetchall()
            (documents,) = connection.execute("SELECT count(*) FROM documents").fetchone() or (0,)
            (passages,) = connection.execute("SELECT count(*) FROM passages").fetchone() or (0,)
    except psycopg.errors.UndefinedTable:
        return [warning(check, "DATABASE_URL opens, and nothing is stored yet.", MIGRATE)]
    except SettingsError as error:
        return [from_error(check, error, "Check its host, name, user and password, and that it runs.")]
    if not documents:
        return [
            *_other_versions(check, dict(stored)),
            warning(check, "Nothing is indexed yet.", "`footnote ingest PATH`"),
        ]
    told = f"{counted(documents, 'document')} with {counted(passages, 'passage')}."
    return [*_other_versions(check, dict(stored)), ok(check, told)]


def _other_versions(check: str, stored: Mapping[str, int]) -> Iterator[Finding]:
    for store, schema in postgres_stores().items():
        version = stored.get(store)
        if version is None or version < schema.version:
            yield warning(check, f"The {store} in PostgreSQL is of an older version.", MIGRATE)
        elif version > schema.version + 1:
            told = f"The {store} in PostgreSQL is of a newer version of Footnote."
            yield failed(check, told, "Install that version again.")

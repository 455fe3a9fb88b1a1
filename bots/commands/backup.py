"""``footnote backup`` and ``footnote restore``: everything that the data folder holds, in one file."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from bots import backup as archives
from bots.backup import Backup
from bots.chat.texts import counted
from bots.terminal.screen import Screen
from core.errors import SettingsError
from core.settings import Settings


def back_up(arguments: Namespace, settings: Settings) -> int:
    """Also while a process serves the folder."""
    _require_embedded(settings)
    made = archives.back_up(settings.data_dir, Path(arguments.file))
    screen = Screen()
    screen.write(f"{arguments.file} holds {_told(made)}. Only you can read it.")
    if made.missing:
        screen.write(f"{counted(made.missing, 'vector')} could not be read and will be made anew.")
    return 0


def restore(arguments: Namespace, settings: Settings) -> int:
    _require_embedded(settings)
    found = archives.restore(Path(arguments.file), settings.data_dir)
    screen = Screen()
    screen.write(f"{settings.data_dir} holds {_told(found)} again.")
    if found.missing:
        screen.write(f"{counted(found.missing, 'vector')} will be made by the next command that reads.")
    return 0


def _require_embedded(settings: Settings) -> None:
    if settings.postgres_url is not None:
        raise SettingsError(
            "DATABASE_URL names a PostgreSQL: back it up and restore it with pg_dump and pg_restore."
        )


def _told(backup: Backup) -> str:
    parts = (
        counted(backup.stores, "store"), counted(backup.rows, "row"), counted(backup.vectors, "vector"),
        counted(backup.uploads, "upload"),
    )  # fmt: skip
    return f"{', '.join(parts[:-1])} and {parts[-1]}"

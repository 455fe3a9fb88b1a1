"""``footnote backup`` and ``footnote restore``: all stores in one file, and back."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from bots.chat.texts import counted
from bots.process import clearing_up
from bots.stores import archives
from bots.stores.archives import Backup
from bots.terminal.screen import Screen
from core.settings import Settings


@clearing_up()
def back_up(arguments: Namespace, settings: Settings) -> int:
    """Also while processes serve the stores."""
    made = archives.back_up(settings, Path(arguments.file))
    screen = Screen()
    screen.write(f"{arguments.file} holds {_told(made)}. Only you can read it.")
    if made.missing:
        screen.write(f"{counted(made.missing, 'vector')} could not be read and will be made anew.")
    return 0


@clearing_up()
def restore(arguments: Namespace, settings: Settings) -> int:
    screen = Screen()
    found = archives.restore(Path(arguments.file), settings, notify=lambda _step: None)
    holder = settings.data_dir if settings.postgres_url is None else "The PostgreSQL of DATABASE_URL"
    screen.write(f"{holder} holds {_told(found)} again.")
    if found.missing:
        screen.write(f"{counted(found.missing, 'vector')} will be made by the next command that reads.")
    return 0


def _told(backup: Backup) -> str:
    parts = (
        counted(backup.stores, "store"), counted(backup.rows, "row"), counted(backup.vectors, "vector"),
        counted(backup.uploads, "upload"),
    )  # fmt: skip
    return f"{', '.join(parts[:-1])} and {parts[-1]}"

"""``footnote forget``: a document, folder or page goes from the index."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from bots.chat import texts
from bots.chat.uploads import discard
from bots.terminal.screen import Screen
from core.bootstrap import open_library
from core.library.data_lock import lock_data_dir
from core.settings import Settings


def run(arguments: Namespace, settings: Settings) -> int:
    screen = Screen()
    with lock_data_dir(settings.data_dir, "footnote forget"):
        library = open_library(settings, is_owner=True)
        try:
            gone = library.forget(arguments.source)
            discard(settings.data_dir, (Path(entry.address) for entry in gone))
        finally:
            library.close()
    for entry in gone:
        screen.write(texts.forgotten(entry.source, entry.passages))
    return 0

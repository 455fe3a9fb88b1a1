"""``footnote sources``: what is indexed."""

from __future__ import annotations

import json
from argparse import Namespace

from bots.chat import texts
from bots.terminal import render
from bots.terminal.screen import Screen
from core.bootstrap import open_library
from core.library.store import Entry
from core.settings import Settings


def run(arguments: Namespace, settings: Settings) -> int:
    screen = Screen()
    library = open_library(settings)
    try:
        entries = library.store.entries()
    finally:
        library.close()
    if arguments.json:
        print(json.dumps([_record(entry) for entry in entries]))  # noqa: T201 - this is the output
    elif not entries:
        screen.note(texts.NOTHING_INDEXED)
    elif screen.is_drawn:
        screen.show(render.source_list(entries, limit=None))
    else:
        for entry in entries:
            screen.write(f"{entry.source}\t{entry.title}\t{entry.passages}\t{entry.collection}")
    return 0


def _record(entry: Entry) -> dict[str, object]:
    return {
        "source": entry.source,
        "title": entry.title,
        "collection": entry.collection,
        "passages": entry.passages,
        "address": entry.address,
        "url": entry.url,
    }

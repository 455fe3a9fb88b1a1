"""A real library over real files, and the few words in which the tests speak of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core import bootstrap
from core.library.documents import Piece, Scope
from core.library.entries import NewDocument
from core.library.library import Library
from core.library.retriever import Query
from core.library.store import DocumentStore
from core.library.tables import SCHEMA
from core.settings import Settings
from core.storage.sqlite import SqliteDatabase

STORES = ("sqlite", "postgresql")


def open_store(file) -> DocumentStore:
    return DocumentStore(SqliteDatabase(file, SCHEMA))


def open_library(place: Path | Settings, embedder=None) -> Library:
    """On the store that the settings name; in a folder, on the embedded one."""
    settings = place if isinstance(place, Settings) else Settings(data_dir=place)
    return bootstrap.open_library(settings, embedder=embedder)


def write(file: Path, *sentences: str) -> Path:
    """A Markdown file with these sentences, a paragraph each."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n\n".join(sentences) + "\n", encoding="utf-8")
    return file


def scope(*within: Path | str, collections=("default",)) -> Scope:
    return Scope(collections=frozenset(collections), addresses=tuple(map(str, within)))


def found(library: Library, question: str, *within, collections=("default",)) -> list[str]:
    """Sources of what a question finds, best first, each once."""
    query = Query(text=question, scope=scope(*within, collections=collections), limit=50)
    return list(dict.fromkeys(hit.passage.source for hit in library.retrieve(query).passages))


def quotable(library: Library) -> str:
    """Every word that an answer could be taken from."""
    return " ".join(text for (text,) in library.store.database.rows("SELECT text FROM passages"))


def sources(library: Library) -> list[str]:
    return [entry.source for entry in library.store.entries()]


_opened: list[str] | None = None


def _note_opening(event: str, args: tuple) -> None:
    if event == "open" and _opened is not None:
        _opened.append(os.fspath(args[0]) if not isinstance(args[0], int) else "")


sys.addaudithook(
    _note_opening
)  # such a hook stays for good: it must be quick, and quiet outside of files_read


@contextmanager
def files_read(folder: Path) -> Iterator[list[str]]:
    """Names of the files below a folder that are opened meanwhile."""
    global _opened  # noqa: PLW0603 - the hook has no other way to be told
    names: list[str] = []
    _opened = []
    try:
        yield names
    finally:
        below = f"{folder}/"
        names += [Path(path).name for path in map(str, _opened) if path.startswith(below)]
        _opened = None


def put(library, address, *texts, collection="default", title=""):
    library.store.put(
        NewDocument(
            collection=collection,
            address=address,
            root=address,
            source=address,
            title=title,
            url=None,
            hash="",
            size=1,
            modified=1,
            pieces=[Piece(path=(), location="", text=text, start=0, end=len(text)) for text in texts],
        )
    )

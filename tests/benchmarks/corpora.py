"""The evaluation sets as libraries: each document where a question may look for it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from core.library.catalogue import Catalogue, NewDocument
from core.library.chunk import Piece
from core.library.documents import Scope
from core.library.embedding import Embedder, embedder_for
from core.library.library import DEFAULT_COLLECTION, Library
from core.library.vectors import VectorIndex

EVERYTHING = Scope(collections=frozenset({DEFAULT_COLLECTION}))


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


def open_model(folder: str) -> Embedder | None:
    """The embedder of a folder; None for "none"."""
    return embedder_for(
        folder,
        google_api_key="",
        google_base_url="",
        timeout=30,
        announce=print,
        progress=lambda _a, _b: None,
    )


def open_library(folder: Path, embedder: Embedder | None) -> Library:
    folder.mkdir(parents=True, exist_ok=True)
    return Library(
        catalogue=Catalogue(folder / "library.sqlite"),
        open_vectors=lambda: VectorIndex(folder / "vectors"),
        embedder=embedder,
    )


def add_paragraphs(library: Library, address: str, title: str, paragraphs: Iterable[str]) -> None:
    """A document whose passages are these paragraphs, one each."""
    pieces, position = [], 0
    for number, text in enumerate(paragraphs):
        pieces.append(
            Piece(
                path=(), location=f"paragraph {number}", text=text, start=position, end=position + len(text)
            )
        )
        position += len(text) + 2
    library.catalogue.put(
        NewDocument(
            collection=DEFAULT_COLLECTION,
            address=address,
            root=address,
            source=address,
            title=title,
            url=None,
            hash="",
            size=position,
            modified=0,
            pieces=pieces,
        )
    )

"""The files that channels taught, each in a folder for its channel: kept, so that the library can be rebuilt."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

Place = tuple[str, str]  # collection, address


def folder_of(data_dir: Path, collection: str) -> Path:
    """Where what a channel learned is, by the name of the channel's own collection."""
    return data_dir / "learned" / collection


def learned_in(data_dir: Path) -> list[Place]:
    """All that there is, each in its channel's collection."""
    folders = sorted((data_dir / "learned").resolve().glob("*/"))
    return [
        (folder.name, str(file)) for folder in folders for file in sorted(folder.iterdir()) if file.is_file()
    ]


def discard(data_dir: Path, files: Iterable[Path]) -> None:
    """Delete those that are copies of ours; others belong to somebody."""
    kept = (data_dir / "learned").resolve()
    for file in files:
        if file.is_relative_to(kept):
            file.unlink(missing_ok=True)

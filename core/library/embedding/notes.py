"""What was noted of the files of a downloaded network, so that a damaged one is found before it is used."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.errors import SettingsError
from core.library.embedding.download import sha256_of

NOTE = "footnote.json"


def write(folder: Path, files: Mapping[str, str], **origin: str) -> None:
    """Note the digest of each file, SHA-256 by its path in the folder, and where they are from."""
    sizes = {path: (folder / path).stat().st_size for path in files}
    noted = {path: {"sha256": digest, "bytes": sizes[path]} for path, digest in files.items()}
    write_json(folder / NOTE, {**origin, "files": noted})


def write_json(file: Path, content: object) -> None:
    """Whole or not at all."""
    new = file.with_name(f"{file.name}.{os.getpid()}.new")
    new.write_text(json.dumps(content, indent=1), encoding="utf-8")
    new.replace(file)


def is_complete(folder: Path) -> bool:
    """True if every noted file is there in its size; the digests are for :func:`check`."""
    noted = _files(folder)
    return bool(noted) and all(
        (folder / path).is_file() and (folder / path).stat().st_size == each.get("bytes")
        for path, each in noted.items()
    )


def check(folder: Path) -> None:
    """SettingsError if a file is not the one that was noted; a folder without notes is not checked."""
    for path, each in _files(folder).items():
        if not (folder / path).is_file() or sha256_of(folder / path) != each.get("sha256"):
            raise SettingsError(
                f"{folder / path} is damaged: it is not the file that was downloaded. "
                f"Delete {folder}, and Footnote downloads it again."
            )


def _files(folder: Path) -> Mapping[str, Mapping[str, Any]]:
    try:
        files = json.loads((folder / NOTE).read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return files if isinstance(files, dict) else {}

"""Files that people attach: their size limit, and where they are stored.

They stay in the data folder, in one folder for each collection, so that the index can be rebuilt.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import DocumentError

if TYPE_CHECKING:
    from aiohttp import ClientResponse


UPLOADS = "learned"  # the folder of the data folder
Upload = tuple[str, str]  # its collection, and its path


def folder_of(data_dir: Path, collection: str) -> Path:
    """The folder of a collection's uploads."""
    return data_dir / UPLOADS / collection


def uploads_in(data_dir: Path) -> list[Upload]:
    """All uploads."""
    folders = sorted((data_dir / UPLOADS).resolve().glob("*/"))
    return [
        (folder.name, str(file)) for folder in folders for file in sorted(folder.iterdir()) if file.is_file()
    ]


def discard(data_dir: Path, files: Iterable[Path]) -> None:
    """Delete the files that are uploads; all others belong to somebody else."""
    kept = (data_dir / UPLOADS).resolve()
    for file in files:
        if file.is_relative_to(kept):
            file.unlink(missing_ok=True)


FILE_LIMIT = 32_000_000  # bytes of one attached file, as for a page
PART = 65_536  # bytes read at a time


def check_size(name: str, size: int) -> None:
    """Raise DocumentError for a file that is too large."""
    if size > FILE_LIMIT:
        raise DocumentError(f"{name} is larger than {FILE_LIMIT // 1_000_000} MB.")


async def content_of(reply: ClientResponse, name: str) -> bytes:
    """The body of a reply, whatever size was announced; DocumentError as soon as it is too large."""
    check_size(name, reply.content_length or 0)
    body = bytearray()
    async for part in reply.content.iter_chunked(PART):
        body += part
        check_size(name, len(body))
    return bytes(body)

"""The download of one file over HTTP, resumed where it broke off, and the notes of what was downloaded."""

import hashlib
import json
import logging
import os
import tarfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import SettingsError
from core.library.embedding.provider import within
from core.tls import default_tls

if TYPE_CHECKING:
    import httpx

logger = logging.getLogger(__name__)

STALL_TIMEOUT = 4.0  # seconds without a byte after which a download is given up

Announce = Callable[[str], None]
Progress = Callable[[int, int], None]  # bytes done, bytes in all (0: the server does not say)


class DownloadError(Exception):
    """The text is a reason that completes "could not be downloaded: …"."""


@contextmanager
def alone(lock: Path) -> Iterator[None]:
    """Hold the lock of a folder, which is made: one process at a time writes there. Raises DownloadError."""
    from filelock import FileLock, Timeout

    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(lock, blocking=False):
            yield
    except Timeout:
        raise DownloadError("another process is downloading it") from None
    except (OSError, tarfile.TarError) as trouble:
        logger.warning("%s could not be put in place: %s", lock.parent, trouble)
        raise DownloadError(f"{lock.parent} cannot be written") from trouble


def receive_whole(
    target: Path, receive_into: Callable[[Path], None], is_whole: Callable[[Path], bool], fault: str
) -> None:
    """A file takes its name when it is whole; an interrupted download is resumed. DownloadError with ``fault``."""
    if is_whole(target):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    is_resumed = size_of(part) > 0
    while True:
        receive_into(part)
        if is_whole(part):
            part.replace(target)
            return
        part.unlink(missing_ok=True)
        if not is_resumed:  # two parts may not fit together; another try of a whole file would not help
            raise DownloadError(fault)
        is_resumed = False


def size_of(file: Path) -> int:
    """The size in bytes; 0 for a file that is not there."""
    return file.stat().st_size if file.is_file() else 0


def receive(
    url: str,
    part: Path,
    *,
    progress: Progress,
    timeout: float,
    begin: Callable[[int], None] = lambda _: None,
    limit: int | None = None,
) -> None:
    """Append what is missing of the file; what was received stays if the connection breaks.

    ``begin`` is called with the size of the file before the first byte, 0 if the server does not say it. It ends beyond ``limit``
    bytes.
    """
    import httpx

    have = size_of(part)
    try:
        with _open(url, have, timeout) as response, part.open("ab") as file:
            if response.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
                return  # nothing is missing
            response.raise_for_status()
            if response.status_code != httpx.codes.PARTIAL_CONTENT:  # the server sends it all again
                have = file.truncate(0)
            missing = int(response.headers.get("Content-Length", 0))
            total = have + missing if missing else 0
            begin(total)
            progress(have, total)
            for data in response.iter_raw():
                have += file.write(data)
                progress(have, total)
                if limit is not None and have > limit:
                    raise DownloadError("more arrives than was announced")
    except (httpx.HTTPError, httpx.InvalidURL, ImportError, TimeoutError, ValueError) as trouble:
        raise as_download_error(trouble, url, timeout) from trouble


def as_download_error(trouble: Exception, url: str, timeout: float) -> DownloadError:
    """The reason in words. ImportError and ValueError come of an unusable proxy in the environment."""
    import httpx

    if isinstance(trouble, (TimeoutError, httpx.TimeoutException)):
        return DownloadError(f"nothing came from the network for {timeout:g} s")
    if isinstance(trouble, httpx.HTTPStatusError):
        return DownloadError(f"the server answered {trouble.response.status_code}")
    logger.warning("the download of %s broke off: %s", url, trouble)
    return DownloadError("there is no connection to the server")


@contextmanager
def _open(url: str, have: int, timeout: float) -> Iterator["httpx.Response"]:
    """The server's response to a request for the rest of a file; ``have`` bytes are here."""
    import httpx

    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    with httpx.Client(timeout=timeout, follow_redirects=True, verify=default_tls()) as client:
        request = client.build_request("GET", url, headers=headers)
        # The client's timeout applies to each step of connecting, but not to the look-up of the name.
        response = within(timeout, partial(client.send, request, stream=True))
        with closing(response):
            yield response


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


NOTE = "footnote.json"  # of the files of a network, so that a damaged one is found before it is used


def note_files(folder: Path, files: Mapping[str, str], **origin: str) -> None:
    """Note the digest of each file, SHA-256 by its path in the folder, and where they are from."""
    sizes = {path: (folder / path).stat().st_size for path in files}
    noted = {path: {"sha256": digest, "bytes": sizes[path]} for path, digest in files.items()}
    write_json(folder / NOTE, {**origin, "files": noted})


def write_json(file: Path, content: object) -> None:
    """Whole or not at all."""
    new = file.with_name(f"{file.name}.{os.getpid()}.new")
    new.write_text(json.dumps(content, indent=1), encoding="utf-8")
    new.replace(file)


def are_complete(folder: Path) -> bool:
    """True if every noted file is there in its size; the digests are for :func:`check_files`."""
    noted = _read_note(folder)
    return bool(noted) and all(
        (folder / path).is_file() and (folder / path).stat().st_size == each.get("bytes")
        for path, each in noted.items()
    )


def check_files(folder: Path) -> None:
    """SettingsError if a file is not the one that was noted; a folder without notes is not checked."""
    for path, each in _read_note(folder).items():
        if not (folder / path).is_file() or sha256_of(folder / path) != each.get("sha256"):
            raise SettingsError(
                f"{folder / path} is damaged: it is not the file that was downloaded. "
                f"Delete {folder}, and Footnote downloads it again."
            )


def _read_note(folder: Path) -> Mapping[str, Mapping[str, Any]]:
    try:
        files = json.loads((folder / NOTE).read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return files if isinstance(files, dict) else {}

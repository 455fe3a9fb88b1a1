"""The download of one file over HTTP: resumed where it broke off, and checked by whoever asked for it."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from core.library.embedding.provider import within

if TYPE_CHECKING:
    import httpx

logger = logging.getLogger(__name__)

STALL_TIMEOUT = 4.0  # seconds without a byte after which a download is given up

Announce = Callable[[str], None]
Progress = Callable[[int, int], None]  # bytes done, bytes in all (0: the server does not say)


class DownloadError(Exception):
    """The text is a reason that completes "could not be downloaded: …"."""


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

    ``begin`` is told the size of the file before the first byte, 0 if the server does not say it. It ends beyond ``limit``
    bytes.
    """
    import httpx

    have = part.stat().st_size if part.is_file() else 0
    try:
        with _opened(url, have, timeout) as response, part.open("ab") as file:
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
    except (
        httpx.HTTPError, httpx.InvalidURL, ImportError, TimeoutError, ValueError,
    ) as trouble:  # fmt: skip
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
def _opened(url: str, have: int, timeout: float) -> Iterator[httpx.Response]:
    """The server's response to a request for a file of which ``have`` bytes are here."""
    import httpx

    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    with httpx.Client(timeout=timeout, follow_redirects=True) as client:
        request = client.build_request("GET", url, headers=headers)
        # The client's timeout applies to each step of connecting, but not to the look-up of the name.
        response = within(timeout, partial(client.send, request, stream=True))
        with closing(response):
            yield response


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

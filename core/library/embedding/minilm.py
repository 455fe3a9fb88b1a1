"""The network all-MiniLM-L6-v2 as Chroma publishes it, downloaded once and checked.

URL, checksum and folder are those of Chroma's own embedding function, so the two share one
download. Chroma's function itself is not used: it pads every text to 256 tokens.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
import tarfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from core.library.embedding.network import OnnxEmbedder
from core.library.embedding.provider import within

if TYPE_CHECKING:
    import httpx

logger = logging.getLogger(__name__)

STALL_TIMEOUT = 4.0  # seconds without a byte after which a download is given up

NEEDED = ("model.onnx", "tokenizer.json")
#: The files that are unpacked. Chroma unpacks the archive again unless it finds all of them.
WANTED = (*NEEDED, "config.json", "special_tokens_map.json", "tokenizer_config.json", "vocab.txt")


class DownloadError(Exception):
    """The text is a reason that completes "could not be downloaded: …"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """A network that is published as an archive of a folder."""

    url: str
    sha256: str  #: of the packed file, hexadecimal
    packed: Path  #: where the packed file is kept
    folder: Path  #: where it is unpacked, next to it; the archive contains a folder of the same name

    @property
    def is_unpacked(self) -> bool:
        return all((self.folder / file).is_file() for file in NEEDED)


def minilm(
    *, announce: Callable[[str], None], progress: Callable[[int, int], None], timeout: float = STALL_TIMEOUT
) -> OnnxEmbedder:
    """The embedder over the downloaded network. Raises DownloadError."""
    archive = published_by_chroma()
    fetch(archive, announce=announce, progress=progress, timeout=timeout)
    return OnnxEmbedder(archive.folder, name="minilm")


def published_by_chroma() -> Archive:
    from chromadb.utils.embedding_functions.onnx_mini_lm_l6_v2 import ONNXMiniLM_L6_V2 as Published

    home = Path(Published.DOWNLOAD_PATH)
    return Archive(
        url=Published.MODEL_DOWNLOAD_URL,
        sha256=Published._MODEL_SHA256,  # noqa: SLF001 - the checksum is published nowhere else
        packed=home / Published.ARCHIVE_FILENAME,
        folder=home / Published.EXTRACTED_FOLDER_NAME,
    )


def fetch(
    archive: Archive,
    *,
    announce: Callable[[str], None],
    progress: Callable[[int, int], None],
    timeout: float = STALL_TIMEOUT,
) -> None:
    """Unpack the archive, downloading it first unless it is here. Raises DownloadError.

    Files are written under other names and renamed when checked, so that none is ever incomplete.
    """
    if archive.is_unpacked:
        return
    from filelock import FileLock, Timeout

    try:
        archive.packed.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(archive.packed.with_name(archive.packed.name + ".lock"), blocking=False):
            if not (archive.packed.is_file() and _sha256(archive.packed) == archive.sha256):
                _download(archive, announce, progress, timeout)
            unpack(archive)
    except Timeout:
        raise DownloadError("another process is downloading it") from None
    except (OSError, tarfile.TarError) as trouble:
        logger.warning("%s could not be put in place: %s", archive.packed, trouble)
        raise DownloadError(f"{archive.packed.parent} cannot be written") from trouble


def _download(
    archive: Archive, announce: Callable[[str], None], progress: Callable[[int, int], None], timeout: float
) -> None:
    """Put the checked file in place; an interrupted download is resumed."""
    part = archive.packed.with_name(archive.packed.name + ".part")
    while True:
        resumed = part.is_file() and part.stat().st_size > 0
        _receive(archive.url, part, announce, progress, timeout)
        if _sha256(part) == archive.sha256:
            part.replace(archive.packed)
            return
        part.unlink()
        if not resumed:  # two parts may not fit together; another try of a whole file would not help
            raise DownloadError("what arrived is not the file that was published")


def _receive(
    url: str,
    part: Path,
    announce: Callable[[str], None],
    progress: Callable[[int, int], None],
    timeout: float,
) -> None:
    """Append what is missing of the file; what was received stays if the connection breaks."""
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
            size = f"{total / 1e6:.0f} MB, once" if total else "once"
            announce(f"Downloading the embedding network all-MiniLM-L6-v2 ({size})…")
            progress(have, total)
            for data in response.iter_raw():
                have += file.write(data)
                progress(have, total)
    except (TimeoutError, httpx.TimeoutException) as silence:
        raise DownloadError(f"nothing came from the network for {timeout:g} s") from silence
    except httpx.HTTPStatusError as refusal:
        raise DownloadError(f"the server answered {refusal.response.status_code}") from refusal
    except (httpx.HTTPError, httpx.InvalidURL, ImportError, ValueError) as trouble:
        # The last three: an unusable proxy in the environment.
        logger.warning("the download of %s broke off: %s", url, trouble)
        raise DownloadError("there is no connection to the server") from trouble


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


def unpack(archive: Archive) -> None:
    """Put the wanted files in place. They are written under fixed names: no path in the archive is used.

    Not ``extractall(filter="data")``, which needs Python 3.11.4.
    """
    unpacking = archive.folder.with_name(f"{archive.folder.name}.unpacking")
    shutil.rmtree(unpacking, ignore_errors=True)
    unpacking.mkdir()
    wanted = {f"{archive.folder.name}/{file}": unpacking / file for file in WANTED}
    with tarfile.open(archive.packed, "r:gz") as tar:
        for member in tar:
            target = wanted.get(member.name.removeprefix("./"))
            packed = tar.extractfile(member) if target and member.isfile() else None
            if target and packed:
                with packed, target.open("wb") as file:
                    shutil.copyfileobj(packed, file)
    if not all((unpacking / file).is_file() for file in NEEDED):
        raise DownloadError("the file that was published holds no network")
    shutil.rmtree(archive.folder, ignore_errors=True)
    unpacking.replace(archive.folder)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

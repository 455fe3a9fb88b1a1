"""The network all-MiniLM-L6-v2 as Chroma publishes it, downloaded once and checked.

URL, checksum and folder are those of Chroma's own embedding function, so the two share one
download. Chroma's function itself is not used: it pads every text to 256 tokens.
"""

from __future__ import annotations

import logging
import shutil
import tarfile
from dataclasses import dataclass
from pathlib import Path

from core.library.embedding.download import (
    STALL_TIMEOUT,
    Announce,
    DownloadError,
    Progress,
    receive,
    sha256_of,
)
from core.library.embedding.network import OnnxEmbedder

logger = logging.getLogger(__name__)

NEEDED = ("model.onnx", "tokenizer.json")
#: The files that are unpacked. Chroma unpacks the archive again unless it finds all of them.
WANTED = (*NEEDED, "config.json", "special_tokens_map.json", "tokenizer_config.json", "vocab.txt")


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


def minilm(*, announce: Announce, progress: Progress, timeout: float = STALL_TIMEOUT) -> OnnxEmbedder:
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
    archive: Archive, *, announce: Announce, progress: Progress, timeout: float = STALL_TIMEOUT
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
            if not (archive.packed.is_file() and sha256_of(archive.packed) == archive.sha256):
                _download(archive, announce, progress, timeout)
            unpack(archive)
    except Timeout:
        raise DownloadError("another process is downloading it") from None
    except (OSError, tarfile.TarError) as trouble:
        logger.warning("%s could not be put in place: %s", archive.packed, trouble)
        raise DownloadError(f"{archive.packed.parent} cannot be written") from trouble


def _download(archive: Archive, announce: Announce, progress: Progress, timeout: float) -> None:
    """Put the checked file in place; an interrupted download is resumed."""

    def begin(total: int) -> None:
        size = f"{total / 1e6:.0f} MB, once" if total else "once"
        announce(f"Downloading the embedding network all-MiniLM-L6-v2 ({size})…")

    part = archive.packed.with_name(archive.packed.name + ".part")
    while True:
        resumed = part.is_file() and part.stat().st_size > 0
        receive(archive.url, part, progress=progress, timeout=timeout, begin=begin)
        if sha256_of(part) == archive.sha256:
            part.replace(archive.packed)
            return
        part.unlink()
        if not resumed:  # two parts may not fit together; another try of a whole file would not help
            raise DownloadError("what arrived is not the file that was published")


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

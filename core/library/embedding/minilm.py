"""The network all-MiniLM-L6-v2 as Chroma publishes it, downloaded once and checked.

URL, checksum and folder are those of Chroma's own embedding function, so the two share one
download. Chroma's function itself is not used: it pads every text to 256 tokens.
"""

import shutil
import tarfile
from dataclasses import dataclass
from pathlib import Path

from core.library.embedding import download
from core.library.embedding.network import OnnxEmbedder

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


def minilm(
    *, announce: download.Announce, progress: download.Progress, timeout: float = download.STALL_TIMEOUT
) -> OnnxEmbedder:
    """The embedder over the downloaded network. Raises DownloadError."""
    archive = chroma_archive()
    fetch(archive, announce=announce, progress=progress, timeout=timeout)
    return OnnxEmbedder(archive.folder, name="minilm")


def chroma_archive() -> Archive:
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
    announce: download.Announce,
    progress: download.Progress,
    timeout: float = download.STALL_TIMEOUT,
) -> None:
    """Unpack the archive, downloading it first unless it is here. Raises DownloadError."""

    def begin(total: int) -> None:
        size = f"{total / 1e6:.0f} MB, once" if total else "once"
        announce(f"Downloading the embedding network all-MiniLM-L6-v2 ({size})…")

    def receive_into(part: Path) -> None:
        download.receive(archive.url, part, progress=progress, timeout=timeout, begin=begin)

    def is_whole(file: Path) -> bool:
        return file.is_file() and download.sha256_of(file) == archive.sha256

    if not archive.is_unpacked:
        with download.alone(archive.packed.with_name(archive.packed.name + ".lock")):
            fault = "what arrived is not the file that was published"
            download.receive_whole(archive.packed, receive_into, is_whole, fault)
            unpack(archive)


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
        raise download.DownloadError("the file that was published holds no network")
    shutil.rmtree(archive.folder, ignore_errors=True)
    unpacking.replace(archive.folder)

"""The port for dense vectors, and the choice that ``EMBEDDING_MODEL`` makes."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from core.errors import SettingsError
from core.library.embedding import Vectors
from core.library.embedding.download import Announce, DownloadError, Progress
from core.library.embedding.hub import ENDPOINT, Hub
from core.library.embedding.minilm import minilm
from core.library.embedding.network import OnnxEmbedder
from core.library.embedding.provider import connect
from core.library.embedding.repository import HUB_PREFIX, Repository, naming
from core.library.embedding.scale import REFERENCE, CosineRange, network_name, rescale

GEMINI = "google_genai:gemini-embedding-001"


class Embedder(Protocol):
    """Turns texts into vectors of length one, the same text into the same vector.

    Every method blocks; callers use a thread. Raises SettingsError when a local network
    cannot be run and ModelTrouble when a provider gives no usable reply.
    """

    @property
    def name(self) -> str:
        """Stored with the index: vectors of models with different names must not be compared."""

    @property
    def dimension(self) -> int:
        """The length of a vector; may load the network, or ask the provider once."""

    @property
    def cosine_range(self) -> CosineRange | None:
        """The range of its cosines; None for a provider, who would have to be asked for each start."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """The vectors of texts, one row each, in their order."""

    def embed_query(self, text: str) -> Vectors:
        """The vector of a query; some providers embed queries differently from documents."""


def on_scale(cosines: Sequence[float], embedder: Embedder | None) -> list[float]:
    """Cosines for the ranking and the confidence; those of a provider as they are. Raises as the embedder does."""
    if embedder is None or not cosines or network_name(embedder.name) == REFERENCE:
        return list(cosines)
    own = embedder.cosine_range
    return list(cosines) if own is None else rescale(cosines, own)


def _minilm(announce: Announce, progress: Progress, *, is_optional: bool) -> Embedder | None:
    """The network that runs here, downloaded if need be; None if it cannot be, and need not."""
    try:
        with nullcontext() if is_optional else naming("EMBEDDING_MODEL=minilm"):
            return minilm(announce=announce, progress=progress)
    except DownloadError as failure:
        announce(f"Searching by words alone, because the embedding network is not here: {failure}.")
        return None


def _of_hub(setting: str, hub: Hub, announce: Announce, progress: Progress) -> Embedder:
    with naming(f"EMBEDDING_MODEL={setting}"):
        repository = Repository.from_setting(setting)
        repository.fetch(hub, announce=announce, progress=progress)
    return OnnxEmbedder(repository.folder, name=repository.name, model=repository.model)


def embedder_for(
    setting: str,
    *,
    google_api_key: str | None,
    google_base_url: str | None,
    timeout: float,
    announce: Announce,
    progress: Progress,
    options: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    hub: str = ENDPOINT,
) -> Embedder | None:
    """The embedder that ``EMBEDDING_MODEL`` names; None for words alone. SettingsError when it names nothing.

    ``options``: by provider, what another provider's class takes. ``hub``: the address for ``hf:OWNER/NAME``.
    """
    connected = partial(
        connect,
        google_api_key=google_api_key,
        google_base_url=google_base_url,
        timeout=timeout,
        options=options,
    )
    match setting.strip():
        case "none":
            return None
        case "auto" if google_api_key:
            return connected(GEMINI)
        case "auto" | "minilm" as choice:
            return _minilm(announce, progress, is_optional=choice == "auto")
        case folder if Path(folder).expanduser().is_dir():
            return OnnxEmbedder(Path(folder).expanduser())
        case name if name.startswith(HUB_PREFIX):
            return _of_hub(name, Hub(endpoint=hub), announce, progress)
        case name if ":" in name:
            return connected(name)
        case unknown:
            raise SettingsError(
                f"EMBEDDING_MODEL={unknown} is neither auto, none nor minilm, nor an existing folder "
                "with model.onnx and tokenizer.json, nor hf:OWNER/NAME, nor provider:model."
            )

"""A sentence embedding network in a folder. Vectors have length one, so that a dot product is a cosine."""

import hashlib
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from core.errors import SettingsError
from core.library.embedding import Mask, Vectors
from core.library.embedding.layout import NetworkLayout, Unusable, read_layout
from core.library.embedding.provider import l2_normalised
from core.library.embedding.scale import CosineRange, measure_range
from core.library.embedding.session import THREADS, NetworkSession, open_session


class OnnxEmbedder:
    """An :class:`~core.library.embedding.Embedder` over an ONNX file and ``tokenizer.json``.

    The network is loaded at its first use. Token vectors are pooled as the folder's configuration says;
    if a network gives one vector for each text, that one is used.
    """

    def __init__(self, folder: Path, *, name: str = "", model: str = "", threads: int = THREADS) -> None:
        """``name`` stands for all that decides the vectors; ``model``: the ONNX file, if it is not a usual one."""
        try:
            self.layout: NetworkLayout = read_layout(folder, model=model)
        except Unusable as reason:
            raise SettingsError(f"The embedding folder {folder} {reason}.") from reason
        self._folder = folder
        self._fixed_name = name
        self._threads = threads
        self._loading = threading.Lock()

    @cached_property
    def name(self) -> str:
        if self._fixed_name:
            return self._fixed_name
        with self.layout.model.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256")
        digest.update(self.layout.settings.encode())
        return f"{self._folder.resolve().name}@{digest.hexdigest()[:12]}"

    @cached_property
    def dimension(self) -> int:
        declared = self._session.dimension
        return declared * len(self.layout.pooling) if declared else len(self.embed_query("dimension"))

    @cached_property
    def cosine_range(self) -> CosineRange:
        return measure_range(self.embed_query, self.embed_documents)

    def embed_query(self, text: str) -> Vectors:
        vector: Vectors = self._embed([text], self.layout.query_prefix)[0]
        return vector

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return self._embed(texts, self.layout.passage_prefix)

    def _embed(self, texts: Sequence[str], prefix: str) -> Vectors:
        import numpy as np

        given = [prefix + text for text in texts]
        if self.layout.is_lowercase:
            given = [text.lower() for text in given]
        rows: Vectors | None = None
        for batch, output, mask in self._session.run(given):
            vectors = l2_normalised(pool(output, mask, self.layout.pooling))
            if rows is None:
                rows = np.empty((len(given), vectors.shape[1]), np.float32)
            rows[batch] = vectors
        return np.empty((0, self.dimension), np.float32) if rows is None else rows

    @property
    def _session(self) -> NetworkSession:
        with self._loading:
            return self._loaded

    @cached_property
    def _loaded(self) -> NetworkSession:
        return open_session(self.layout, self._folder, threads=self._threads)


def pool(output: Vectors, mask: Mask, modes: Sequence[str]) -> Vectors:
    """The pooled output, one row for each text. The vectors of several modes follow each other; an output
    without a token axis stays as it is."""
    import numpy as np

    if output.ndim == 2:
        return output
    return np.concatenate([_pool(output, mask, mode) for mode in modes], axis=1)


def _pool(output: Vectors, mask: Mask, mode: str) -> Vectors:
    import numpy as np

    inside = mask[:, :, None].astype(output.dtype)
    counts = inside.sum(axis=1).clip(min=1.0)
    rows: Vectors
    if mode == "cls":
        rows = output[:, 0]
    elif mode == "lasttoken":
        rows = output[np.arange(len(output)), mask.sum(axis=1).clip(min=1) - 1]
    elif mode == "max":
        rows = np.where(inside > 0, output, np.float32(-1e9)).max(axis=1)
    elif mode == "weightedmean":
        weights = inside * np.arange(1, output.shape[1] + 1, dtype=output.dtype)[None, :, None]
        rows = (output * weights).sum(axis=1) / weights.sum(axis=1).clip(min=1.0)
    else:
        total = (output * inside).sum(axis=1)
        rows = total / (np.sqrt(counts) if mode == "mean_sqrt_len_tokens" else counts)
    return rows

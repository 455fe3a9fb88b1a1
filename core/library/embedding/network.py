"""A sentence embedding network in a folder. Vectors have length one, so that a dot product is a cosine."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import SettingsError
from core.library.embedding.layout import Layout, Unusable, read_layout
from core.library.embedding.pooling import l2_normalised, pooled
from core.library.embedding.scale import CosineRange, range_of
from core.library.embedding.session import THREADS, Session, open_session

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class OnnxEmbedder:
    """An :class:`~core.library.embedding.Embedder` over an ONNX file and ``tokenizer.json``.

    The network is loaded at its first use. Token vectors are pooled as the folder's configuration says;
    if a network gives one vector for each text, that one is used.
    """

    def __init__(
        self, folder: Path, *, name: str | None = None, model: str = "", threads: int = THREADS
    ) -> None:
        """``name`` stands for all that decides the vectors; ``model``: the ONNX file, if it is not a usual one."""
        try:
            self.layout: Layout = read_layout(folder, model=model)
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
        return range_of(self.embed_query, self.embed_documents)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self._embed([text], self.layout.query_prefix)[0]
        return vector

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._embed(texts, self.layout.passage_prefix)

    def _embed(self, texts: Sequence[str], prefix: str) -> NDArray[np.float32]:
        import numpy as np

        given = [prefix + text for text in texts]
        if self.layout.is_lowercase:
            given = [text.lower() for text in given]
        rows: NDArray[np.float32] | None = None
        for batch, output, mask in self._session.run(given):
            vectors = l2_normalised(pooled(output, mask, self.layout.pooling))
            if rows is None:
                rows = np.empty((len(given), vectors.shape[1]), np.float32)
            rows[batch] = vectors
        return np.empty((0, self.dimension), np.float32) if rows is None else rows

    @property
    def _session(self) -> Session:
        with self._loading:
            return self._opened

    @cached_property
    def _opened(self) -> Session:
        return open_session(self.layout, self._folder, threads=self._threads)

"""A sentence embedding network in a folder, run by ONNX Runtime.

Texts are sorted by length and padded to the longest of their batch, not to a fixed length:
tests/benchmarks/embedding.py measures what that saves. Vectors have length one, so that a
dot product is a cosine.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import SettingsError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def l2_normalised(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows of length one, shape ``(n, dimension)``; a row of zeros stays zero."""
    import numpy as np

    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: NDArray[np.float32] = (rows / np.maximum(lengths, 1e-12)).astype(np.float32, copy=False)
    return unit


logger = logging.getLogger(__name__)

TOKEN_LIMIT = 256  # tokens of one text, as all-MiniLM-L6-v2 reads according to its model card
BATCH_TOKENS = 512  # padded tokens of one batch: 256 is as fast, 1024 takes a twelfth more CPU
THREADS = min(os.cpu_count() or 1, 4)  # of one session; more are not faster on networks this small

#: Files and keys by which a folder may lower the limit. The truncation in tokenizer.json is not
#: used: for MiniLM it is 128, which costs .026 of recall at 5.
_LIMITS = {"tokenizer_config.json": "model_max_length", "sentence_bert_config.json": "max_seq_length"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loaded:
    """A network that is ready to run."""

    session: Any  #: onnxruntime.InferenceSession
    tokenizer: Any  #: tokenizers.Tokenizer, truncating, not padding
    inputs: frozenset[str]  #: names the network asks for
    output: str  #: name of a tensor (texts, tokens, dimension) or (texts, dimension)
    dimension: int | None  #: None: the network does not declare it
    pad_id: int


class OnnxEmbedder:
    """An :class:`~core.library.embedding.Embedder` over ``model.onnx`` and ``tokenizer.json``.

    The network is loaded at its first use. Token vectors are averaged over the attention
    mask; if a network gives one vector for each text, that one is used.
    """

    def __init__(self, folder: Path, *, name: str | None = None, threads: int = THREADS) -> None:
        for file in (folder / "model.onnx", folder / "tokenizer.json"):
            if not file.is_file():
                raise SettingsError(f"The embedding folder {folder} has no {file.name}.")
        self._folder = folder
        self._fixed_name = name
        self._threads = threads
        self._loading = threading.Lock()

    @cached_property
    def name(self) -> str:
        if self._fixed_name:
            return self._fixed_name
        with (self._folder / "model.onnx").open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return f"{self._folder.resolve().name}@{digest[:12]}"

    @cached_property
    def dimension(self) -> int:
        return self._network.dimension or len(self.embed_query("dimension"))

    def embed_query(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self.embed_documents([text])[0]
        return vector

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        network = self._network
        tokens = [encoding.ids for encoding in network.tokenizer.encode_batch(list(texts))]
        rows: NDArray[np.float32] | None = None
        for batch in batches([len(ids) for ids in tokens]):
            vectors = self._run(network, [tokens[i] for i in batch])
            if rows is None:
                rows = np.empty((len(tokens), vectors.shape[1]), np.float32)
            rows[batch] = vectors
        return np.empty((0, self.dimension), np.float32) if rows is None else rows

    def _run(self, network: _Loaded, batch: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Vectors of one batch of token ids, padded to its longest."""
        import numpy as np

        shape = (len(batch), max(1, *(len(ids) for ids in batch)))
        input_ids = np.full(shape, network.pad_id, np.int64)
        mask = np.zeros(shape, np.int64)
        for row, ids in enumerate(batch):
            input_ids[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
        tensors = {
            "input_ids": input_ids,
            "attention_mask": mask,
            "token_type_ids": np.zeros(shape, np.int64),
        }
        feed = {name: tensor for name, tensor in tensors.items() if name in network.inputs}
        try:
            (output,) = network.session.run([network.output], feed)
        except Exception as trouble:  # ONNX Runtime's exceptions have no common base class
            logger.warning("the network in %s failed: %s", self._folder, trouble)
            raise SettingsError(
                f"The embedding network in {self._folder} cannot be run on {shape[1]} tokens. If it reads "
                "fewer, say so as model_max_length in a tokenizer_config.json beside it."
            ) from trouble
        return l2_normalised(_pooled(np.asarray(output, np.float32), mask))

    @property
    def _network(self) -> _Loaded:
        with self._loading:
            return self._opened

    @cached_property
    def _opened(self) -> _Loaded:
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.log_severity_level = 3  # errors; warnings about the graph are of no use here
        # By default its threads spin for milliseconds after each text: 13 ms of CPU for a question instead
        # of 3, and no more passages per second.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        model, vocabulary = str(self._folder / "model.onnx"), str(self._folder / "tokenizer.json")
        try:
            session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            tokenizer = Tokenizer.from_file(vocabulary)
        except Exception as trouble:  # neither library has its own exception class
            logger.warning("the network in %s could not be loaded: %s", self._folder, trouble)
            raise SettingsError(
                f"The embedding network in {self._folder} is damaged or not ONNX. "
                "Replace it, or delete the folder if Footnote downloaded it."
            ) from trouble
        pad_id = (tokenizer.padding or {}).get("pad_id", 0)
        tokenizer.no_padding()
        tokenizer.enable_truncation(max_length=_token_limit(self._folder))
        outputs = {output.name: output for output in session.get_outputs()}
        # Networks exported with pooling have the token vectors as first output and the sentence's as second.
        output = outputs.get("sentence_embedding") or session.get_outputs()[0]
        return _Loaded(
            session=session,
            tokenizer=tokenizer,
            inputs=frozenset(tensor.name for tensor in session.get_inputs()),
            output=output.name,
            dimension=output.shape[-1] if isinstance(output.shape[-1], int) else None,
            pad_id=pad_id,
        )


def batches(lengths: Sequence[int], budget: int = BATCH_TOKENS) -> list[list[int]]:
    """Indices, shortest text first, in groups of at most ``budget`` tokens once padded."""
    groups: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if not groups or (len(groups[-1]) + 1) * lengths[index] > budget:
            groups.append([])
        groups[-1].append(index)
    return groups


def _pooled(output: NDArray[np.float32], mask: NDArray[np.int64]) -> NDArray[np.float32]:
    """The mean of the token vectors in the mask; an output without a token axis as it is."""
    if output.ndim == 2:
        return output
    weights = mask[:, :, None].astype(output.dtype)
    mean: NDArray[np.float32] = (output * weights).sum(axis=1) / weights.sum(axis=1).clip(min=1.0)
    return mean


def _token_limit(folder: Path) -> int:
    limits = [TOKEN_LIMIT]
    for file, key in _LIMITS.items():
        try:
            limit = json.loads((folder / file).read_text(encoding="utf-8")).get(key)
        except (OSError, ValueError, AttributeError):
            continue  # these files are optional, and written by other tools
        if isinstance(limit, int) and limit > 0:
            limits.append(limit)
    return min(limits)

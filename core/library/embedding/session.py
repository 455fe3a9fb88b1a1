"""A network that ONNX Runtime runs over texts, in batches that are padded to their longest.

Texts are sorted by length and padded to the longest of their batch, not to a fixed length:
tests/benchmarks/embedding.py measures what that saves.
"""

import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import SettingsError
from core.library.embedding import Mask, Vectors
from core.library.embedding.download import check_files
from core.library.embedding.layout import NetworkLayout

logger = logging.getLogger(__name__)

BATCH_TOKENS = 512  # padded tokens of one batch: 256 is as fast, 1024 takes a twelfth more CPU
THREADS = min(os.cpu_count() or 1, 4)  # of one session; more are not faster on networks this small
#: Outputs of one vector for each text, before those of one for each token.
_SENTENCE = ("sentence_embedding", "logits")
#: What a network may ask for; the values are made in ``_tensors``.
_KNOWN = frozenset({"input_ids", "attention_mask", "token_type_ids", "position_ids"})


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSession:
    """A network that is ready to run."""

    runtime: Any  #: onnxruntime.InferenceSession
    tokenizer: Any  #: tokenizers.Tokenizer, truncating, not padding
    inputs: frozenset[str]  #: names the network asks for
    output: str  #: name of a tensor (texts, tokens, dimension) or (texts, dimension)
    dimension: int | None  #: None: the network does not declare it
    pad_id: int
    folder: Path  #: named where it fails

    def run(self, texts: Sequence[str | tuple[str, str]]) -> Iterator[tuple[list[int], Vectors, Mask]]:
        """Run the network. Yields by batch the indices of its texts, the output, and the mask without padding."""
        encodings = self.tokenizer.encode_batch(list(texts))
        for batch in batches([len(encoding.ids) for encoding in encodings]):
            yield batch, *self._run([encodings[index] for index in batch])

    def _run(self, encodings: Sequence[Any]) -> tuple[Vectors, Mask]:
        import numpy as np

        tensors = self._tensors(encodings)
        feed = {name: tensor for name, tensor in tensors.items() if name in self.inputs}
        mask = tensors["attention_mask"]
        try:
            (output,) = self.runtime.run([self.output], feed)
        except Exception as trouble:  # ONNX Runtime's exceptions have no common base class
            logger.warning("the network in %s failed: %s", self.folder, trouble)
            raise SettingsError(
                f"The embedding network in {self.folder} cannot be run on {mask.shape[1]} tokens. If it reads "
                "fewer, say so as model_max_length in a tokenizer_config.json beside it."
            ) from trouble
        return np.asarray(output, np.float32), mask

    def _tensors(self, encodings: Sequence[Any]) -> dict[str, Mask]:
        """Padded on the right to the longest."""
        import numpy as np

        shape = (len(encodings), max(1, *(len(encoding.ids) for encoding in encodings)))
        input_ids = np.full(shape, self.pad_id, np.int64)
        mask, types = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for row, encoding in enumerate(encodings):
            length = len(encoding.ids)
            input_ids[row, :length] = encoding.ids
            types[row, :length] = encoding.type_ids
            mask[row, :length] = 1
        positions = np.broadcast_to(np.arange(shape[1]), shape)
        return {
            "input_ids": input_ids, "attention_mask": mask, "token_type_ids": types, "position_ids": positions,
        }  # fmt: skip


def open_session(layout: NetworkLayout, folder: Path, *, threads: int = THREADS) -> NetworkSession:
    """Load the network. SettingsError if it is not as it was downloaded, or cannot be loaded."""
    import onnxruntime
    from tokenizers import Tokenizer

    check_files(folder)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3  # errors; warnings about the graph are of no use here
    # By default its threads spin for milliseconds after each text: 13 ms of CPU for a question instead
    # of 3, and no more passages per second.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        runtime = onnxruntime.InferenceSession(str(layout.model), options, providers=["CPUExecutionProvider"])
        tokenizer = Tokenizer.from_file(str(layout.tokenizer))
    except Exception as trouble:  # neither library has its own exception class
        logger.warning("the network in %s could not be loaded: %s", folder, trouble)
        raise SettingsError(
            f"The embedding network in {folder} is damaged or not ONNX. "
            "Replace it, or delete the folder if Footnote downloaded it."
        ) from trouble
    inputs = frozenset(tensor.name for tensor in runtime.get_inputs())
    if unknown := sorted(inputs - _KNOWN):
        raise SettingsError(f"The network in {folder} asks for {', '.join(unknown)}, which Footnote has not.")
    pad_id = (tokenizer.padding or {}).get("pad_id", 0) if layout.pad_id is None else layout.pad_id
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length=layout.token_limit)
    outputs = {output.name: output for output in runtime.get_outputs()}
    # Networks exported with pooling have the token vectors as first output and the sentence's as second.
    output = next((outputs[name] for name in _SENTENCE if name in outputs), runtime.get_outputs()[0])
    return NetworkSession(
        runtime=runtime, tokenizer=tokenizer, inputs=inputs, output=output.name, pad_id=pad_id, folder=folder,
        dimension=output.shape[-1] if isinstance(output.shape[-1], int) else None,
    )  # fmt: skip


def batches(lengths: Sequence[int], budget: int = BATCH_TOKENS) -> list[list[int]]:
    """Indices, shortest text first, in groups of at most ``budget`` tokens once padded."""
    groups: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if not groups or (len(groups[-1]) + 1) * lengths[index] > budget:
            groups.append([])
        groups[-1].append(index)
    return groups

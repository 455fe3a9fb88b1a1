"""From the vectors of tokens to one vector for each text, as sentence-transformers' ``Pooling`` does it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def l2_normalised(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows of length one, shape ``(n, dimension)``; a row of zeros stays zero."""
    import numpy as np

    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: NDArray[np.float32] = (rows / np.maximum(lengths, 1e-12)).astype(np.float32, copy=False)
    return unit


def pooled(output: NDArray[np.float32], mask: NDArray[np.int64], modes: Sequence[str]) -> NDArray[np.float32]:
    """One row for each text, of each mode's vector after the other's; an output without a token axis as it is."""
    import numpy as np

    if output.ndim == 2:
        return output
    return np.concatenate([_pooled(output, mask, mode) for mode in modes], axis=1)


def _pooled(output: NDArray[np.float32], mask: NDArray[np.int64], mode: str) -> NDArray[np.float32]:
    import numpy as np

    inside = mask[:, :, None].astype(output.dtype)
    counts = inside.sum(axis=1).clip(min=1.0)
    rows: NDArray[np.float32]
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

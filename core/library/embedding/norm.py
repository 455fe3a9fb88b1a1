"""Length one, so that a dot product is a cosine."""

from __future__ import annotations

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

"""Dense vectors of texts, of length one, by a network that runs here or by a provider."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]  # one, or a row for each text
    Mask = NDArray[np.int64]  # (texts, tokens): 0 where there is padding
else:  # numpy is imported where it is needed, so that --help is quick
    Vectors = Mask = Any

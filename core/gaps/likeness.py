"""How alike questions are: by the vectors of the library's network, or by their words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log
from typing import TYPE_CHECKING

import numpy as np

from core.text.terms import query_terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from core.library.embedding.embedder import Embedder


def by_words(texts: Sequence[str], languages: Sequence[str]) -> NDArray[np.float32]:
    """A row of length one for each text, of its terms weighted by how few texts have them (TF-IDF).

    A column for each term that two texts share; the others count in the length alone.
    """
    held = [query_terms(text, language) for text, language in zip(texts, languages, strict=True)]
    counts = Counter(term for terms in held for term in terms)
    columns = {term: at for at, term in enumerate(term for term, count in counts.items() if count > 1)}
    rows = np.zeros((len(texts), max(len(columns), 1)), dtype=np.float32)
    for row, terms in zip(rows, held, strict=True):
        weights = {term: log(1 + len(texts) / counts[term]) for term in terms}
        length = sum(weight**2 for weight in weights.values()) ** 0.5 or 1.0
        for term in terms:
            if term in columns:
                row[columns[term]] = weights[term] / length
    return rows


def by_meaning(
    texts: Sequence[str], embedder: Embedder, known: dict[str, NDArray[np.float32]]
) -> NDArray[np.float32]:
    """A vector of length one for each text. ``known``: vectors made before; it is left with those of these texts.

    Raises ModelTrouble or SettingsError when the model gives none.
    """
    distinct = list(dict.fromkeys(texts))
    new = [text for text in distinct if text not in known]
    if new:
        known.update(zip(new, embedder.embed_documents(new), strict=True))
    vectors = {text: known[text] for text in distinct}
    known.clear()
    known.update(vectors)
    return np.stack([vectors[text] for text in texts])


def alike(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """The cosine of each two rows of length one; 1 on the diagonal."""
    matrix: NDArray[np.float32] = rows @ rows.T
    np.fill_diagonal(matrix, 1.0)
    return matrix

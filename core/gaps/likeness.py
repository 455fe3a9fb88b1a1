"""How alike questions are: by the vectors of the library's network or by their words, and by what they find."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import log
from typing import TYPE_CHECKING

import numpy as np

from core.text.terms import query_terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from core.library.embedding.embedder import Embedder


#: Of two questions' likeness, the part of the documents that both found, where the library is sure of what it found.
#: Where it is not, the documents say nothing about a question: those that are nearest to it are near by chance.
FOUND_SHARE = 0.3


def by_words(texts: Sequence[str], languages: Sequence[str]) -> NDArray[np.float32]:
    """A row of length one for each text, of its terms weighted by how few texts have them (TF-IDF).

    A column for each term that two texts share; the others count in the length alone.
    """
    held = [query_terms(text, language) for text, language in zip(texts, languages, strict=True)]
    return _weighted([dict.fromkeys(terms, 1.0) for terms in held])


def with_documents(
    rows: NDArray[np.float32], near: Sequence[Mapping[str, float]], confidence: Sequence[float]
) -> NDArray[np.float32]:
    """The rows with a second part: the documents that each question found, weighted by how few questions find them.

    ``near``: how well each document fits, ``confidence``: how sure the library is of what it found, both 0 to 1.
    """
    share = FOUND_SHARE * np.square(np.array(confidence, dtype=np.float32))[:, None]
    return np.concatenate([np.sqrt(1 - share) * rows, np.sqrt(share) * _weighted(near)], axis=1)


def _weighted(held: Sequence[Mapping[str, float]]) -> NDArray[np.float32]:
    """A row of length one for each, with a column for what two of them hold; the rest counts in the length alone."""
    counts = Counter(each for some in held for each in some)
    columns = {each: at for at, each in enumerate(each for each, count in counts.items() if count > 1)}
    rows = np.zeros((len(held), max(len(columns), 1)), dtype=np.float32)
    for row, some in zip(rows, held, strict=True):
        weights = {each: much * log(1 + len(held) / counts[each]) for each, much in some.items()}
        length = sum(weight**2 for weight in weights.values()) ** 0.5 or 1.0
        for each, weight in weights.items():
            if each in columns:
                row[columns[each]] = weight / length
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

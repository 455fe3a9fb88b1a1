"""Whether a question asks for what a person has answered: by its words, and by meaning where there are vectors.

The answer is worth a credit in the ranking and no more: judges decide about it as about any other passage. So it
is better to miss a question in other words than to take another question for it. `python -m benchmarks same_question`
measures both; the thresholds were chosen looking at all of its pairs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import combinations
from statistics import fmean
from threading import Lock
from typing import TYPE_CHECKING

from core.text.characters import whole

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

    from core.library.embedding.embedder import Embedder

SAME_WORDS = 0.6  # agreement of the words of two questions from which they are the same
SAME_MEANING = 0.66  # closeness of their vectors from which they are
#: Of two questions that share this part of their words, each with a word of its own, one has a word in the place of
#: the other's: another year, another city. Vectors do not see that: such questions are closer than most rewordings.
NEARLY_SAME = 0.5
REMEMBERED = 1_000  # vectors of questions

#: About nothing in common. How close their vectors are is no closeness at all; models differ much in that.
UNRELATED = (
    "How do I reset my password?",
    "When was the cathedral built?",
    "What does the blood carry to the lungs?",
    "Who pays for travel to a conference?",
    "Which team won the cup last year?",
    "How long must rice be cooked?",
)


def sameness(
    answered: Collection[str], question: Collection[str], *, agreement: float, closeness: float
) -> float:
    """How much the questions are the same, 0 to 1; 0 if they are not.

    ``answered``: the terms of the one that was answered, ``question``: those of the other, ``agreement``: of the terms,
    ``closeness``: of the vectors; 0 without any.
    """
    if not answered or _has_swapped_words(answered, question):
        return 0.0
    return max(
        agreement if agreement >= SAME_WORDS else 0.0,
        closeness if closeness >= SAME_MEANING else 0.0,
    )


def _has_swapped_words(one: Collection[str], other: Collection[str]) -> bool:
    own, theirs = set(one) - set(other), set(other) - set(one)
    shared = len(one) - len(own)
    return bool(own and theirs) and shared >= NEARLY_SAME * (shared + len(own) + len(theirs))


@dataclass(slots=True)
class QuestionVectors:
    """Vectors of questions that people answered, each made once in a process; the words are not kept."""

    _vectors: dict[tuple[str, bytes], NDArray[float32]] = field(default_factory=dict, repr=False)
    _usual: dict[str, float] = field(default_factory=dict, repr=False)  #: by the name of the model
    _lock: Lock = field(default_factory=Lock, repr=False)

    def closeness(
        self, embedder: Embedder, vector: NDArray[float32], questions: Sequence[str]
    ) -> list[float]:
        """How close a question is to each of these: 1 for the same, 0 for what is usual among unrelated ones.

        Raises as the embedder does.
        """
        usual = self._usual_cosine(embedder)
        cosines = [float(self._vector(embedder, text) @ vector) for text in questions]
        return [(cosine - usual) / max(1 - usual, 1e-9) for cosine in cosines]

    def _usual_cosine(self, embedder: Embedder) -> float:
        if embedder.name not in self._usual:
            vectors = [embedder.embed_query(text) for text in UNRELATED]
            self._usual[embedder.name] = fmean(float(one @ other) for one, other in combinations(vectors, 2))
        return self._usual[embedder.name]

    def _vector(self, embedder: Embedder, text: str) -> NDArray[float32]:
        key = (embedder.name, sha256(whole(text).encode()).digest())
        vector = self._vectors.get(key)
        if vector is None:
            vector = embedder.embed_query(whole(text))
            with self._lock:
                while len(self._vectors) >= REMEMBERED:
                    del self._vectors[next(iter(self._vectors))]
                self._vectors[key] = vector
        return vector

"""A library of any size: synthetic passages, each with one fact of its own amid words that many share."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

from benchmarks import Say
from benchmarks.evaluation_sets import fill, open_library, open_model
from core.library.embedding.embedder import Embedder
from core.library.library import Library
from core.text.sentences import STOP_WORDS

if TYPE_CHECKING:  # a start without vectors is measured without numpy
    import numpy as np
    from numpy.typing import NDArray

WORDS = 8_000  # vocabulary of the synthetic passages
SENTENCES, LENGTH = 6, 12  # of a passage, in words
PER_DOCUMENT = 50  # passages
FAMILIES, CLUSTERS = 50, 2_000  # of drawn vectors
DIMENSION = 384  # of vectors without a network, as MiniLM's have


@contextmanager
def library_of(
    size: int, folder: Path, *, model: str = "none", say: Say = lambda _: None
) -> Iterator[Library]:
    """With vectors where a network is named; see :class:`DrawnVectors`."""
    network = open_model(model, say)
    library = open_library(folder / "library", DrawnVectors(network) if network else None)
    try:
        say(f"A library of {size:,} passages")
        yield fill(library, documents(size))
    finally:
        library.close()


def documents(size: int) -> Iterator[tuple[str, str, Sequence[str]]]:
    for first in range(0, size, PER_DOCUMENT):
        passages = [passage(number) for number in range(first, min(first + PER_DOCUMENT, size))]
        yield f"/handbook/{first}", f"Part {first // PER_DOCUMENT + 1}", passages


def questions(size: int) -> Iterator[str]:
    """About passages of a library of this size, none asked twice, in an order that is always the same."""
    for number in random.Random(size).sample(range(size), size):
        trait, name, thing = subject(number)
        yield f"What is the {trait} of the {name} {thing}?"


TRAITS = ("budget", "capacity", "deadline", "interval", "licence", "port", "quota", "retention", "threshold", "version",
          "weight", "width")  # fmt: skip
THINGS = ("archive", "cluster", "contract", "gateway", "ledger", "mailbox", "printer", "pump", "queue", "sensor",
          "turbine", "warehouse")  # fmt: skip
SYLLABLES = ("ba", "cor", "den", "fi", "gal", "hem", "jo", "kir", "lu", "mon", "nar", "pel", "qui", "ros", "sen", "tam",
             "ul", "ver", "wyn", "zo")  # fmt: skip


def subject(number: int) -> tuple[str, str, str]:
    """Trait, name and thing of a passage; no two passages share a name."""
    digits, rest = [], number
    for _ in range(4):
        rest, digit = divmod(rest, len(SYLLABLES))
        digits.append(digit)
    name = "".join(SYLLABLES[digit] for digit in digits).capitalize()
    return TRAITS[number % len(TRAITS)], name, THINGS[number // len(TRAITS) % len(THINGS)]


def passage(number: int) -> str:
    dice = random.Random(number)
    trait, name, thing = subject(number)
    sentences = [_sentence(dice) for _ in range(SENTENCES)]
    sentences.insert(
        dice.randrange(SENTENCES), f"The {trait} of the {name} {thing} is {dice.randrange(10, 9999)}."
    )
    return " ".join(sentences)


def _sentence(dice: random.Random) -> str:
    """Words of which a few are frequent and most are rare (Zipf), and stop words between them."""
    words = []
    for _ in range(LENGTH):
        rank = int(WORDS ** dice.random())
        words.append(dice.choice(_STOP) if dice.random() < 0.4 else _word(rank))
    return " ".join(words).capitalize() + "."


def _word(rank: int) -> str:
    first, second = divmod(rank, len(SYLLABLES) ** 2)
    return SYLLABLES[first % 20] + SYLLABLES[second // 20] + SYLLABLES[second % 20] + "t"


_STOP = sorted(STOP_WORDS)


@dataclass(frozen=True, slots=True)
class DrawnVectors:
    """An embedder whose vectors are drawn by lot, the same for the same text: real ones take ten minutes for
    a large library.

    They lie as passages of one library do, in clusters and families of clusters. The network, if there is one,
    reads every query all the same, because that is what a turn costs.
    """

    network: Embedder | None

    @property
    def name(self) -> str:
        return f"drawn beside {self.network.name}" if self.network else "drawn"

    cosine_range = None

    @property
    def dimension(self) -> int:
        return self.network.dimension if self.network else DIMENSION

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        centres = _centres(self.dimension)
        noise = np.stack([_noise(crc32(text.encode()), 1, self.dimension)[0] for text in texts])
        drawn = 0.7 * centres[[crc32(text.encode()) % CLUSTERS for text in texts]] + noise
        unit: NDArray[np.float32] = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
        return unit

    def embed_query(self, text: str) -> NDArray[np.float32]:
        if self.network is not None:
            self.network.embed_query(text)
        drawn: NDArray[np.float32] = self.embed_documents([text])[0]
        return drawn


@cache
def _centres(dimension: int) -> NDArray[np.float32]:
    """The middles of the clusters, shape ``(CLUSTERS, dimension)``."""
    import numpy as np

    families = _noise(1, FAMILIES, dimension)[np.arange(CLUSTERS) % FAMILIES]
    centres: NDArray[np.float32] = 0.8 * families + 0.7 * _noise(2, CLUSTERS, dimension)
    return centres


def _noise(seed: int, rows: int, dimension: int) -> NDArray[np.float32]:
    """Vectors of about length one."""
    import numpy as np

    drawn = np.random.default_rng(seed).standard_normal((rows, dimension), dtype=np.float32)
    return drawn / np.float32(dimension**0.5)

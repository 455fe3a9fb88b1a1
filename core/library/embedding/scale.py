"""Cosines of one network on the scale of another.

The credits that rank passages and the coefficients of the confidence were fitted on one network alone.

Networks differ in what they give to texts that have nothing to do with each other: all-MiniLM-L6-v2 about 0, those
trained with a low temperature .7 and more. Two means over the same questions and passages place a network, and a
straight line between them leads to the scale of the fit. It is no fit: tests/benchmarks/fit_confidence.py makes one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.library.embedding import Vectors

#: Questions, and passages that answer them in other words. Each also stands for those that do not answer the others.
PAIRS = (
    ("How do I reset my password?",
     "Choose “Forgotten password” on the account page: a link to set a new one is sent by mail."),
    ("When is the office closed?", "The office is closed on Sundays and between Christmas and New Year."),
    ("How much does a ticket cost?", "A single ticket is 3.20 euros; children under six travel free."),
    ("Who approves travel expenses?", "The head of the department signs what a journey cost before it is paid."),
    ("At what temperature does water boil?", "At sea level water boils at 100 degrees Celsius."),
    ("How do I install the package?",
     "Run the installer from the command line and restart the server afterwards."),
    ("Why was the council's meeting moved?",
     "As two members were ill, the council met a week later than planned."),
    ("Which planet is the largest?", "Jupiter has more than twice the mass of all the other planets together."),
)  # fmt: skip
LEAST = 0.02  # between the means of a network whose cosines are used


@dataclass(frozen=True, slots=True, kw_only=True)
class CosineRange:
    """Mean cosines of the questions above with passages."""

    unrelated: float
    related: float

    @property
    def is_usable(self) -> bool:
        """False for a network that hardly tells passages that answer from others."""
        return self.related - self.unrelated >= LEAST


FITTED = CosineRange(unrelated=0.044, related=0.607)  # of all-MiniLM-L6-v2


REFERENCE = "all-MiniLM-L6-v2"  # the network whose cosines the coefficients were fitted on


def network_name(name: str) -> str:
    """A network by its own name, from that of an embedder: without owner, ONNX file, and revision or digest."""
    bare = name.partition("@")[0]
    if bare.startswith("hf:"):
        return bare.split("/")[1]
    return REFERENCE if bare == "minilm" else bare


def measure_range(
    embed_query: Callable[[str], Vectors],
    embed_documents: Callable[[Sequence[str]], Vectors],
) -> CosineRange:
    """The range of a network; it embeds sixteen short texts."""
    import numpy as np

    questions = np.stack([embed_query(question) for question, _ in PAIRS])
    cosines = questions @ embed_documents([passage for _, passage in PAIRS]).T
    related, count = float(np.trace(cosines)), len(PAIRS)
    unrelated = (float(cosines.sum()) - related) / (count * (count - 1))
    return CosineRange(related=related / count, unrelated=unrelated)


def rescale(cosines: Sequence[float], own: CosineRange) -> list[float]:
    """Cosines as the fitted network might have given them; none if they say nothing."""
    if not own.is_usable:
        return []
    slope = (FITTED.related - FITTED.unrelated) / (own.related - own.unrelated)
    return [min(FITTED.unrelated + slope * (cosine - own.unrelated), 1.0) for cosine in cosines]

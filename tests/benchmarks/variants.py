"""The variants of a question's way through a graph, and the small handbook that it is asked of.

What makes a question take one of them is partly the library's own doing (what it finds, and how sure it
is) and partly the local model's, which finds the passages helpful that hold a certain word.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.model_server import Scenario
from core.conversation import value


@value
class Variant:
    """One way that a question can go, and what makes it go so."""

    name: str
    title: str
    question: str
    reworded: str  #: the question in other words
    web: tuple[str, ...] = ()  #: what a search brings
    relevant: str = ""  #: as in Scenario
    unsupported: int = 0
    allowed: int = 1  #: web searches that the person allows; a further one is denied

    def scenario(self, *, latency: float, spread: float, seed: int) -> Scenario:
        return Scenario(
            relevant=self.relevant, queries=(self.reworded,), web_query=self.reworded, latency=latency,
            unsupported=self.unsupported, spread=spread, seed=seed,
        )  # fmt: skip


def _about(subject: str, *facts: str) -> tuple[str, ...]:
    """Paragraphs about one subject, of the length of a passage."""
    return tuple(
        f"{fact} The {subject} team reviews this every quarter, and whoever finds that it no longer holds "
        f"writes to them, so that the page can be corrected. Exceptions need the word of the owner, who is "
        f"named on the front page of the {subject} handbook; they end with the year in which they were made."
        for fact in facts
    )


DOCUMENTS: Mapping[str, tuple[str, ...]] = {
    "Backups": _about(
        "backup",
        "Backups of the Alder archive are kept for fourteen days.",
        "The Alder archive makes its backups at two in the morning, and keeps a copy of them elsewhere.",
        "Backups of the Alder archive are encrypted with the key of the archive before they are kept.",
        "To restore the Alder archive from the backups that are kept, ask the person on duty.",
        "How long backups of other archives than Alder are kept is up to their owners.",
    ),
    "Bookkeeping": _about(
        "bookkeeping",
        "Invoices are stored for ten years, counted from the end of the year.",
        "Whoever receives invoices files them within a week under the number of the order.",
        "Invoices in another currency are booked at the rate of the day on which they were written.",
        "Copies of invoices are handed out to the auditors, and to nobody else.",
    ),
    "Birds": _about(
        "aviary",
        "The bills of ducks are measured twice a year, and the measures are kept.",
        "Ducks whose bills are cracked are kept apart until the vet has seen them.",
        "Photographs of bills are kept in the folder of the bird.",
        "Old bills of ducks that died are kept for the school.",
    ),
    "Stores": _about(
        "stores",
        "Ladders stand behind the tall cupboard.",
        "A tall shelf needs two screws in the wall.",
        "Whoever is not tall enough asks for the steps.",
        "Tall vases are wrapped twice.",
    ),
    "Masts": _about(
        "rigging",
        "The height of a mast in metres is painted on its foot for the crane.",
        "A mast of more height than forty metres is rigged by two crews.",
        "Metres of cable are counted by the height of the mast, and one for luck.",
        "The height of the mast light in metres is asked for by the harbour.",
    ),
}

_BACKUPS = "When does the Alder archive make its backups?"
_BILLS = "How long are bills kept?"
_LIGHTHOUSE = "How tall is the lighthouse of Skerryvore?"
_CHRONICLE = tuple(
    f"The chronicle says that the lighthouse of Skerryvore is 48 metres tall; page {page} has a drawing of it."
    for page in range(1, 5)
)
_ELSEWHERE = tuple(f"A lighthouse is a tower that carries a light, says glossary {n}." for n in range(1, 5))

VARIANTS = (
    Variant(
        name="happy",
        title="the documents answer at once",
        question=_BACKUPS,
        reworded="Alder archive backup hour",
    ),
    Variant(
        name="rewrite", title="other words are needed", question=_BILLS, reworded="invoices stored years",
        relevant="invoices", web=("Invoices are stored for ten years, says the tax office.",) * 4,
    ),
    Variant(
        name="web", title="only the web answers", question=_LIGHTHOUSE, reworded="Skerryvore lighthouse height metres",
        relevant="chronicle", web=_CHRONICLE,
    ),
    Variant(
        name="unanswerable", title="nothing answers", question=_LIGHTHOUSE, reworded="Skerryvore lighthouse height metres",
        relevant="chronicle", web=_ELSEWHERE,
    ),
    Variant(
        name="insistent", title="nothing answers, and three searches are allowed", question=_LIGHTHOUSE,
        reworded="Skerryvore lighthouse height metres", relevant="chronicle", web=_ELSEWHERE, allowed=3,
    ),
    Variant(
        name="ungrounded", title="the first draft is not grounded", question=_BACKUPS,
        reworded="Alder archive backup hour", unsupported=1,
    ),
)  # fmt: skip

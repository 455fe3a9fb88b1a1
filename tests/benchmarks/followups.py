"""How well a question that needs its history is told from one that does not.

CANARD holds questions of dialogues, each with the rewrite a person made so that it stands alone. A
question needs its history when its rewrite differs from it, apart from case, white space and the
punctuation at the end. Short questions are judged twice: by their words alone, and as where the
documents know all of their words, so that they may stand alone.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks import DATA, Say
from benchmarks.evaluation_sets import lines
from bots.testing.report import Section, Table
from core.text.intent import needs_history
from core.text.terms import query_terms


def run(say: Say, *, data: Path = DATA) -> Section:
    file = data / "canard/dev.jsonl"
    sides = {"by their words alone": False, "with their words known": True}
    rows = tuple((name, *precision_and_recall(file, is_known=known)) for name, known in sides.items())
    return Section(
        name="followups",
        title="Follow-up questions",
        what="Questions of CANARD that are found to need their history, beside those that people rewrote.",
        tables=(Table(title="CANARD", columns=("questions", "precision", "recall"), rows=rows),),
        figures={f"{what}, {name}": figure for name, p, r in rows for what, figure in (("precision", p), ("recall", r))},
    )  # fmt: skip


def precision_and_recall(file: Path, *, is_known: bool = False) -> tuple[float, float]:
    """Of :func:`needs_history` on a file of CANARD, its words known or not."""
    rows = lines(file)
    rewritten = {
        number
        for number, row in enumerate(rows)
        if _normalized(row["Question"]) != _normalized(row["Rewrite"])
    }
    asked = [(row["Question"], query_terms(row["Question"]) if is_known else ()) for row in rows]
    found = {number for number, (question, known) in enumerate(asked) if needs_history(question, known)}
    both = len(rewritten & found)
    return both / len(found), both / len(rewritten)


def _normalized(question: str) -> str:
    return " ".join(question.casefold().split()).rstrip(" ?.!")

"""How well a question that needs its history is told from one that does not.

    python tests/benchmarks/followups.py ../shared/data

CANARD holds questions of dialogues, each with the rewrite a person made so that it stands
alone. A question needs its history when its rewrite differs from it, case, white space and
punctuation at the end apart. Short questions are told twice: by their words alone, and as where
documents know all of their words, which then may stand alone.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[above]) for above in (2, 1)]

from core.text.followup import needs_history
from core.text.terms import query_terms


def measure(file: Path, *, is_known: bool = False) -> tuple[float, float]:
    """(precision, recall) of :func:`needs_history` on a file of CANARD, its words known or not."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    leaning = {
        number for number, row in enumerate(rows) if _folded(row["Question"]) != _folded(row["Rewrite"])
    }
    asked = [(row["Question"], query_terms(row["Question"]) if is_known else ()) for row in rows]
    found = {number for number, (question, known) in enumerate(asked) if needs_history(question, known)}
    both = len(leaning & found)
    return both / len(found), both / len(leaning)


def _folded(question: str) -> str:
    return " ".join(question.casefold().split()).rstrip(" ?.!")


def main() -> None:
    for is_known, told in ((False, "by its words alone"), (True, "with its words known")):
        precision, recall = measure(Path(sys.argv[1]) / "canard/dev.jsonl", is_known=is_known)
        print(f"CANARD, {told}: precision {precision:.3f}, recall {recall:.3f}")


if __name__ == "__main__":
    main()

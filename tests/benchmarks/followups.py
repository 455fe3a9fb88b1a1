"""How well a question that needs its history is told from one that does not.

    python tests/benchmarks/followups.py ../shared/data

CANARD holds questions of dialogues, each with the rewrite a person made so that it stands
alone. A question needs its history when its rewrite differs from it, case, white space and
punctuation at the end apart.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2])]

from core.text.followup import needs_history


def measure(file: Path) -> tuple[float, float]:
    """(precision, recall) of :func:`needs_history` on a file of CANARD."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    leaning = {
        number for number, row in enumerate(rows) if _folded(row["Question"]) != _folded(row["Rewrite"])
    }
    found = {number for number, row in enumerate(rows) if needs_history(row["Question"])}
    both = len(leaning & found)
    return both / len(found), both / len(leaning)


def _folded(question: str) -> str:
    return " ".join(question.casefold().split()).rstrip(" ?.!")


def main() -> None:
    precision, recall = measure(Path(sys.argv[1]) / "canard/dev.jsonl")
    print(f"CANARD: precision {precision:.3f}, recall {recall:.3f}")


if __name__ == "__main__":
    main()

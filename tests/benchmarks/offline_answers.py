"""How well questions are answered offline, through the real command.

    python tests/benchmarks/offline_answers.py ../shared/data MODEL

MODEL is a folder with model.onnx, or "none". Prints, for each set of questions over the
FastAPI documentation: the share of answerable questions answered with a citation into an
acceptable file, the share of the others that were proposed for the web instead, and the
number of quotes that do not stand verbatim at their offsets (must be 0).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1] / "evaluation"
SETS = {
    "everyday": "fastapi_everyday",
    "hard": "fastapi_heldout",
    "fitted": "fastapi_questions",
    "fitted, larger": "fastapi_training",
}

Line = dict[str, Any]


def ask(docs: Path, questions: Sequence[Line], model: str, data_dir: Path) -> list[Line]:
    """The records of one ``footnote ask --batch``."""
    batch = "".join(json.dumps({"id": q["id"], "question": q["question"]}) + "\n" for q in questions)
    environment = {
        **os.environ,
        "EMBEDDING_MODEL": model,
        "DATA_DIR": str(data_dir),
        "WEB_SEARCH": "duckduckgo",
    }
    done = subprocess.run(
        [sys.executable, "-m", "bots", "ask", "--batch", "-", "--docs", str(docs)],
        input=batch, capture_output=True, text=True, env=environment, check=True,
        cwd=Path(__file__).resolve().parents[2],
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


def score(docs: Path, questions: Sequence[Line], records: Sequence[Line]) -> dict[str, float]:
    """Shares by the kind of question, and the quotes that are not verbatim."""
    answerable = [(q, r) for q, r in zip(questions, records, strict=True) if q["answerable"]]
    others = [r for q, r in zip(questions, records, strict=True) if not q["answerable"]]
    right = [q for q, r in answerable if r["outcome"] == "answered" and cites(r, q["sources"], docs)]
    proposed = [r for r in others if r["outcome"] == "approval_needed"]
    return {
        "right": len(right) / len(answerable),
        "held back": len(proposed) / len(others),
        "not verbatim": sum(
            not is_verbatim(c, docs) for r in records for c in (*r["citations"], *r["closest"])
        ),
    }


def cites(record: Line, sources: Sequence[str], docs: Path) -> bool:
    return any(c["source"].removeprefix(f"{docs.name}/") in sources for c in record["citations"])


def is_verbatim(citation: Line, docs: Path) -> bool:
    with (docs / citation["source"].removeprefix(f"{docs.name}/")).open(encoding="utf-8", newline="") as file:
        return file.read()[citation["start"] : citation["end"]] == citation["quote"]


def questions_of(name: str) -> list[Line]:
    return [json.loads(line) for line in (HERE / f"{SETS[name]}.jsonl").read_text("utf-8").splitlines()]


def main() -> None:
    docs, model = Path(sys.argv[1], "fastapi_docs").resolve(), sys.argv[2]
    with tempfile.TemporaryDirectory() as scratch:
        for name in SETS:
            questions = questions_of(name)
            figures = score(docs, questions, ask(docs, questions, model, Path(scratch)))
            print(f"{name:15} {len(questions):4} questions ", *(f"{k} {v:.2f} " for k, v in figures.items()))


if __name__ == "__main__":
    main()

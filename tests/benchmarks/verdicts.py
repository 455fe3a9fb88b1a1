"""`footnote test` as CI runs it: questions about FastAPI's documentation, without a key, over an index that is there.

The same questions are asked twice, each time in a process of its own. Seconds are of the processors, with the start;
what is between two verdicts is counted: a question that ended or quoted otherwise the second time.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks import DATA, EVALUATION, ROOT, Say
from bots.testing.report import Section, Table

SETS = ("training", "everyday", "questions")


def run(say: Say, *, data: str = str(DATA), questions: int = 200, model: str = "none") -> Section:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        asked = (
            line for name in SETS for line in (EVALUATION / f"fastapi_{name}.jsonl").read_text().splitlines()
        )
        (folder / "questions.jsonl").write_text("\n".join(islice(asked, questions)))
        say("indexing")
        taken = [footnote(folder, model, "ingest", str(Path(data) / "fastapi_docs"))[1]]
        ended = []
        for number in ("first", "second"):
            say(f"asking, the {number} time")
            report, seconds = footnote(folder, model, "test", "questions.jsonl", "--json")
            taken.append(seconds)
            ended.append([verdict_of(each) for each in report["questions"]])
    count = len(ended[0])
    differing = sum(one != other for one, other in zip(*ended, strict=True))
    rows = (
        ("the index", "154 documents", taken[0], "–"),
        ("first run", count, taken[1], 1000 * taken[1] / count),
        ("second run", count, taken[2], 1000 * taken[2] / count),
    )
    return Section(
        name="verdicts", title="Questions in CI", what=f"`footnote test` on {count} questions; {differing} ended otherwise.",
        tables=(Table(title="Processor time", columns=("of", "what", "seconds", "ms a question"), rows=rows),),
        figures={"questions": count, "differing": differing, "seconds": max(taken[1:]), "failed": float(differing)},
    )  # fmt: skip


def verdict_of(question: dict[str, Any]) -> tuple[str, str, list[str]]:
    return question["verdict"], question["text"], [each["quote"] for each in question["citations"]]


def footnote(folder: Path, model: str, *arguments: str) -> tuple[Any, float]:
    """What the command printed as JSON, and the seconds that it took of the processors."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "EMBEDDING_MODEL": model, "GOOGLE_API_KEY": ""}
    command = (sys.executable, "-m", "bots", *arguments)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise OSError(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(done.stdout) if done.stdout.startswith("{") else None, seconds

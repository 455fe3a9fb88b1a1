"""What the offline promise is worth: everyday questions over real documents, through the real command."""

from __future__ import annotations

import json
import os
from pathlib import Path

from fakes.fork_server import run_python

ROOT = Path(__file__).resolve().parents[3]
EVERYDAY = ROOT / "tests" / "benchmarks" / "evaluation" / "fastapi_everyday.jsonl"


def test_everyday_questions_are_answered_from_the_right_file_or_held_back(shared_data, tmp_path):
    command = ("-m", "bots", "test", str(EVERYDAY), "--docs", str(shared_data / "fastapi_docs"), "--json")

    done = run_python(*command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)})

    assert done.returncode in (0, 1), done.stderr
    report = json.loads(done.stdout)
    figures = report["sections"][0]["figures"]
    assert figures["right"] >= 0.85
    assert figures["held_back"] >= 0.90
    quotes = [
        each for question in report["questions"] for each in (*question["citations"], *question["closest"])
    ]
    assert len(quotes) > 50
    assert [each for each in quotes if not is_verbatim(each, shared_data)] == []


def is_verbatim(citation, folder):
    text = (folder / citation["source"]).read_bytes().decode("utf-8-sig")
    return text[citation["start"] : citation["end"]] == citation["quote"]

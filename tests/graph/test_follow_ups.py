"""Follow-ups that only their conversation gives a subject, over real documents, through the real command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TALKS = ROOT / "tests" / "evaluation" / "fastapi_follow_ups.jsonl"


@pytest.mark.parametrize("model", ["none", "all-MiniLM-L6-v2"])
def test_follow_ups_find_the_page_that_the_talk_is_about(shared_data, tmp_path, model):
    turns = [json.loads(line) for line in TALKS.read_text(encoding="utf-8").splitlines()]
    asked = [{key: turn[key] for key in ("id", "question", "thread")} for turn in turns]
    (tmp_path / "asked.jsonl").write_text("\n".join(map(json.dumps, asked)), encoding="utf-8")
    folder = shared_data.parent / "models" / model
    command = [
        *(sys.executable, "-m", "bots", "ask", "--batch", "asked.jsonl"),
        *("--docs", shared_data / "fastapi_docs", "--passages", "1"),
    ]

    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "EMBEDDING_MODEL": "none" if model == "none" else str(folder)},
        capture_output=True,
        check=True,
    )  # fmt: skip

    outcomes = map(json.loads, done.stdout.splitlines())
    found = [
        any(told["passages"][0]["source"].endswith(f"/{source}") for source in turn["sources"])
        for turn, told in zip(turns, outcomes, strict=True)
        if turn["kind"] == "follow-up"
    ]
    assert sum(found) / len(found) >= 7 / 8

"""Follow-ups that only their conversation gives a subject, over real documents, through the real command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TALKS = ROOT / "tests" / "evaluation" / "fastapi_follow_ups.jsonl"


@pytest.mark.parametrize("model", ["none", "all-MiniLM-L6-v2"])
def test_follow_ups_find_the_page_that_the_talk_is_about(shared_data, tmp_path, model):
    talks = [json.loads(line) for line in TALKS.read_text(encoding="utf-8").splitlines()]
    asked = [
        {"id": f"{number}", "question": talk[turn], "thread": f"{number}"}
        for number, talk in enumerate(talks)
        for turn in ("first", "then")
    ]
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

    follow_ups = [json.loads(line) for line in done.stdout.splitlines()][1::2]
    found = [
        any(told["passages"][0]["source"].endswith(f"/{source}") for source in talk["sources"])
        for talk, told in zip(talks, follow_ups, strict=True)
    ]
    assert sum(found) / len(found) >= 7 / 8

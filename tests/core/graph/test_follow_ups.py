"""Follow-ups that only their conversation gives a subject, over real documents, through the real command."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from fakes.fork_server import run_python

ROOT = Path(__file__).resolve().parents[3]
TALKS = ROOT / "tests" / "benchmarks" / "evaluation" / "fastapi_follow_ups.jsonl"


MINILM = "all-MiniLM-L6-v2"
SOME = 16  # turns, two of each talk, where vectors are made of the pages that they are about


def named_pages(turns, docs, folder):
    """The pages that these talks are about alone: to make the vectors of all takes half a minute of CPU."""
    for source in {source for turn in turns for source in turn.get("sources", ())}:
        copy = folder / source
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(docs / source, copy)
    return folder


@pytest.mark.parametrize(
    ("model", "among"),
    [("none", "all"), (MINILM, "named"), pytest.param(MINILM, "all", marks=pytest.mark.long)],
)
def test_follow_ups_find_the_page_that_the_talk_is_about(shared_data, tmp_path, model, among):
    turns = [json.loads(line) for line in TALKS.read_text(encoding="utf-8").splitlines()]
    turns = turns[:SOME] if among == "named" else turns
    asked = [{key: turn[key] for key in ("id", "question", "thread")} for turn in turns]
    (tmp_path / "asked.jsonl").write_text("\n".join(map(json.dumps, asked)), encoding="utf-8")
    folder = shared_data.parent / "models" / model
    docs = shared_data / "fastapi_docs"
    if among == "named":
        docs = named_pages(turns, docs, tmp_path / "docs")

    done = run_python(
        *("-m", "bots", "ask", "--batch", "asked.jsonl", "--docs", str(docs), "--passages", "1"),
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "EMBEDDING_MODEL": "none" if model == "none" else str(folder)},
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    outcomes = map(json.loads, done.stdout.splitlines())
    found = [
        any(told["passages"][0]["source"].endswith(f"/{source}") for source in turn["sources"])
        for turn, told in zip(turns, outcomes, strict=True)
        if turn["kind"] == "follow-up"
    ]
    assert sum(found) / len(found) >= 7 / 8

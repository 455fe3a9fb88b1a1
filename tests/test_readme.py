"""The README says what is so."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from core.graph.graph import build_graph
from core.graph.policy import PRESETS
from core.settings import Settings

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_drawing_is_the_graph_that_runs():
    drawn = re.search(r"```mermaid\n(.*?)\n```", README, re.DOTALL)

    assert drawn is not None
    assert drawn[1] == build_graph().get_graph().draw_mermaid().strip()


@pytest.mark.parametrize("setting", [field.name.upper() for field in fields(Settings)])
def test_every_setting_is_explained_and_shown_in_the_example(setting):
    example = (ROOT / ".env.example").read_text(encoding="utf-8")

    assert f"`{setting}`" in README
    assert re.search(rf"^(?:# )?{setting}=", example, re.MULTILINE)


@pytest.mark.parametrize("policy", PRESETS)
def test_every_policy_is_named(policy):
    assert f"`{policy}`" in README


def test_ci_runs_the_line_that_the_readme_gives():
    (line,) = re.findall(r"^.*uv run pytest$", README, re.MULTILINE)

    assert line == "python3 -m pip install -q --target .uv uv && .uv/bin/uv run pytest"

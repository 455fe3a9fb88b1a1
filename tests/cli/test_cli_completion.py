"""What a shell can complete once it has read what `footnote completion` prints."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: Reads the script, and completes the last word that was typed.
COMPLETE = """
source /dev/stdin
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_shtab_footnote 2>/dev/null
printf '%s\\n' "${COMPREPLY[@]}"
"""


@cache
def script_for(shell: str) -> str:
    """What the command prints, whatever the settings are."""
    wrong = os.environ | {"WEB_SEARCH": "carrier pigeon"}
    ran = subprocess.run(
        [sys.executable, "-m", "bots", "completion", shell],
        cwd=ROOT, env=wrong, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return ran.stdout


def shell_or_skip(name: str) -> str:
    return shutil.which(name) or pytest.skip(f"{name} is not installed")


@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_the_script_is_one_that_the_shell_can_read(name):
    shell = shell_or_skip(name)

    read = subprocess.run([shell, "-n"], input=script_for(name), capture_output=True, text=True, check=False)

    assert (read.returncode, read.stderr) == (0, "")


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        (["in"], {"ingest"}),
        (["ask", "--pa"], {"--passages"}),
        (["run", "s"], {"slack"}),
        (["chat", ""], {"docs", "questions.jsonl"}),
        (["ingest", "do"], {"docs"}),
        (["ask", "?", "--docs", "docs", "q"], {"questions.jsonl"}),
        (["test", "questions.jsonl", "--report", ""], {"docs"}),
        (["forget", "do"], {""}),
    ],
)
def test_bash_completes_commands_options_platforms_and_files(tmp_path, typed, completed):
    (tmp_path / "docs").mkdir()
    (tmp_path / "questions.jsonl").touch()

    ran = subprocess.run(
        [shell_or_skip("bash"), "--norc", "-c", COMPLETE, "bash", "footnote", *typed],
        input=script_for("bash"), cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert set(ran.stdout.removesuffix("\n").split("\n")) == completed

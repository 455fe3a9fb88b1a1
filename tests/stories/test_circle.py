"""The whole circle: a question that nobody can answer, a person's reply, a change of the document, and the answer from there."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from fakes.fork_server import run_python
from fakes.git_server import git
from fakes.served import PATIENCE, environment, ingest
from fakes.stages import ChatStage, in_discord, in_slack

DOGS = "Do dogs pay on the ferry to the island?"
AGAIN = "Must dogs pay on the island ferry?"
REPLY = "Dogs ride free on the ferry to the island in a basket."
PAGE = "# Island\n\n## Ferry\n\nThe ferry to the island takes bicycles.\n\n- Children pay half.\n- Bicycles pay nothing.\n"


@pytest.fixture
def handbook(template, tmp_path):
    """A folder that is a checkout, as a team has it."""
    home = shutil.copytree(template, tmp_path / "home")
    folder = home / "handbook"
    folder.mkdir()
    (folder / "island.md").write_text(PAGE)
    for words in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-qm", "Begin")):
        git(folder, *words)
    ingest(home, "handbook")
    return folder


@pytest.mark.parametrize("begin", [in_slack, in_discord])
async def test_what_a_person_answered_comes_from_the_document_once_it_is_merged(begin, handbook):
    home = handbook.parent
    async with begin(home, {"WEB_SEARCH": "off"}) as stage:
        unanswered = await stage.ask(DOGS)
        await stage.remark(stage.bob, REPLY)
        kept = await stage.ask_by_mention("keep")
        from_person = await stage.begin_anew(AGAIN)

        drafted = await _run(home, "gaps", "--draft", "drafts")
        (patch,) = (home / "drafts").iterdir()
        await asyncio.to_thread(_merge, handbook, patch)
        await _until_retired(home, stage)
        from_document = await stage.begin_anew(AGAIN)

    assert REPLY not in unanswered
    assert REPLY in kept
    assert (REPLY in from_person, "bob" in from_person) == (True, True)
    assert drafted.returncode == 0
    assert f"- {REPLY}" in (handbook / "island.md").read_text()
    assert (REPLY in from_document, "bob" in from_document) == (True, False)
    assert "island.md" in from_document
    nothing = await _run(home, "gaps", "--draft", "drafts")
    assert "Nobody answered" in nothing.stderr


async def _run(home: Path, *arguments: str):
    return await asyncio.to_thread(
        run_python, "-m", "bots", *arguments, cwd=home, env=environment(home) | {"WEB_SEARCH": "off"}
    )


def _merge(handbook: Path, patch: Path) -> None:
    subprocess.run(["git", "apply", "--index", str(patch)], cwd=handbook, check=True)
    git(handbook, "commit", "-qm", "Answer what was asked")


async def _until_retired(home: Path, stage: ChatStage) -> None:
    """People go on asking, before which the disk is looked at every few seconds."""

    def is_used() -> bool:
        with closing(sqlite3.connect(home / ".footnote" / "answers.sqlite")) as database:
            return database.execute("SELECT state FROM answers").fetchone() == ("used",)

    async with asyncio.timeout(PATIENCE):
        while await asyncio.to_thread(is_used):
            await stage.begin_anew("When does the ferry leave?")

"""What a person is told who asks for the impossible: one sentence, and an exit code."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest
from fakes.permissions import NO_LINUX

ROOT = Path(__file__).resolve().parents[2]
NOTHING_NAMED = (
    "There is nothing to ingest: footnote ingest PATH_OR_URL…. In a terminal, footnote ingest alone asks."
)

PAGE_ALONE = (
    "There is nothing to serve: set SLACK_BOT_TOKEN and SLACK_APP_TOKEN, or DISCORD_TOKEN. "
    "`footnote page` serves the page alone."
)


async def told(machine, *arguments, stdin=b""):
    """The one line on standard error of a command that printed nothing else, and its exit code."""
    ran = await machine.run(*arguments, stdin=stdin)
    assert ran.out == ""
    assert ran.err.count("\n") == 1, ran.err
    return ran.code, ran.err.strip()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["ask", "  ", "--json"], "The question is empty."),
        (["ask", "x" * 4_001], "The question is too long: 4,001 characters, 4,000 at most."),
        (["ask", "--json"], "There is no question: footnote ask “…” [--docs PATH…], or --batch FILE."),
        (
            ["ask", "--docs", "docs", "?"],
            "There is no question: footnote ask “…” [--docs PATH…], or --batch FILE.",
        ),
        (["ask", "?", "--docs", "nowhere"], "nowhere does not exist."),
        (["ingest", "docs", "here", "there"], "here, there do not exist."),
        (["ask", "?", "--thread", ""], "A thread's name has 1 to 200 printable characters."),
        (["ask", "--batch", "none.jsonl"], "none.jsonl cannot be read: no such file or directory."),
        (["ask", "--batch", "docs"], "docs cannot be read: is a directory."),
        (["ask", "?", "--batch", "-"], "With --batch, questions and threads stand in the file."),
        (["chat", "nowhere.md"], "nowhere.md does not exist."),
        (["ingest"], NOTHING_NAMED),
        (["ingest", "--json"], NOTHING_NAMED),
        (
            ["ingest", "--rebuild", "docs"],
            "--rebuild reads everything indexed again; do not name a PATH with it.",
        ),
        (
            ["forget", "nothing.md"],
            "Nothing is indexed under “nothing.md”. `footnote sources` lists what is.",
        ),
        (["run", "--page", "127.0.0.1:0"], PAGE_ALONE),
    ],
)
async def test_wrong_use_is_told_in_one_sentence(machine, arguments, sentence):
    assert await told(machine, *arguments) == (2, sentence)


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["dance"], "invalid choice: 'dance'"),
        (["ask", "?", "--passages", "0"], "0 is not a number from 1 to 100"),
        (["ask", "--batch", "-", "--concurrency", "many"], "many is not a number from 1 to 64"),
        (["run", "carrier-pigeon"], "invalid choice: 'carrier-pigeon'"),
        (["completion", "dos"], "invalid choice: 'dos'"),
        (["decide", "p1"], "one of the arguments --approve --deny is required"),
        (["decide", "p1", "--approve", "--deny"], "not allowed with argument --approve"),
    ],
)
async def test_what_cannot_be_parsed_is_told_in_one_sentence(machine, arguments, fragment):
    code, sentence = await told(machine, *arguments)

    assert code == 2
    assert fragment in sentence
    assert "--help` shows how it is used." in sentence


async def test_all_wrong_settings_are_told_at_once(machine):
    machine.settings |= {"WEB_SEARCH": "carrier pigeon", "MODEL_TIMEOUT": "soon", "POLICY": "none"}

    code, sentence = await told(machine, "sources")

    assert code == 2
    assert all(name in sentence for name in ("WEB_SEARCH", "MODEL_TIMEOUT", "POLICY"))


async def test_lines_of_the_env_file_that_are_ignored_are_named_once(machine):
    (machine.folder / ".env").write_text("LOG_FORMAT=text\nno setting\nWEB_APPROVAL\n")

    ran = await machine.run("ask", "When does the ferry leave?", "--docs", "docs", "--json")

    assert ran.record["outcome"] == "answered"
    assert ran.err == "Lines 2, 3 of .env are not NAME=value and are ignored.\n"

    machine.settings["LOG_LEVEL"] = "info"

    ran = await machine.run("doctor", "sources")

    assert "Line 2 of .env is not NAME=value and is ignored." in ran.out
    assert "dotenv" not in ran.err


async def test_an_empty_name_is_not_the_folder_of_the_command(machine):
    commands = (["ingest"], ["chat"], ["ask", "When?", "--docs"])

    sentences = {await told(machine, *command, "") for command in commands}

    assert sentences == {(2, "An empty name stands for nothing; a dot stands for this folder.")}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk to write to")
async def test_output_that_the_disk_does_not_take_is_told(machine):
    with Path("/dev/full").open("wb") as full:  # noqa: ASYNC230 - a device that answers at once
        for command in (["graph"], ["ingest", "docs"], ["sources"]):
            process = await machine.start(*command, stdout=full.fileno())
            _, err = await process.communicate()

            assert (process.returncode, err) == (
                1,
                b"Not everything could be written: no space left on device.\n",
            )


async def test_a_folder_with_nothing_to_read_is_told_what_can_be_read(machine):
    (machine.folder / "empty").mkdir()

    chat = await told(machine, "chat", "empty")
    ingest = await told(machine, "ingest", "empty")

    assert chat == ingest
    assert chat[0] == 2
    assert chat[1].startswith("There is nothing to read in empty: Footnote reads .md, ")


async def test_a_conversation_over_nothing_says_what_to_do(machine):
    assert await told(machine, "chat") == (
        2,
        "Nothing is indexed yet. Run `footnote ingest PATH`, or name a folder: `footnote chat PATH`.",
    )


@pytest.mark.skipif(os.geteuid() == 0 and sys.platform != "linux", reason=NO_LINUX)
async def test_a_data_folder_that_cannot_be_written_is_told(machine):
    machine.is_bound = True
    machine.folder.chmod(0o500)

    code, sentence = await told(machine, "ask", "hello")
    machine.folder.chmod(0o700)

    assert code == 2
    assert "cannot be" in sentence


async def test_a_data_folder_that_is_a_file_is_told(machine):
    (machine.folder / ".footnote").write_text("not a folder")

    code, sentence = await told(machine, "ask", "hello", "--json")

    assert code == 2
    assert sentence.startswith("DATA_DIR .footnote cannot be made:")


async def test_a_second_process_is_told_who_is_first_and_how_to_go_on(machine):
    first = await machine.start("chat", "docs")
    first.stdin.write(b"/help\n")
    await first.stdout.readline()

    code, sentence = await told(machine, "ask", "hello", "--json")
    first.stdin.close()

    assert code == 2
    assert f"Another Footnote (process {first.pid}, footnote chat) is using .footnote." in sentence
    assert "set DATA_DIR to another folder" in sentence
    assert await first.wait() == 0
    assert (await machine.run("ask", "hello")).code == 0


async def test_a_bad_embedding_model_is_told_before_the_conversation_begins(machine):
    machine.settings |= {"EMBEDDING_MODEL": "nonsense"}

    code, sentence = await told(machine, "chat", "docs")

    assert code == 2
    assert sentence.startswith("EMBEDDING_MODEL must be auto, none, minilm")


async def test_help_and_version_are_for_everybody(machine):
    machine.settings |= {"WEB_SEARCH": "carrier pigeon"}

    help_, version = await machine.run("--help"), await machine.run("--version")

    assert (help_.code, version.code) == (0, 0)
    assert all(
        name in help_.out
        for name in ("chat", "ask", "decide", "ingest", "sources", "forget", "graph", "completion")
    )
    assert version.out.startswith("footnote ")


async def test_help_loads_no_library():
    watched = [sys.executable, "-X", "importtime", "-m", "bots", "--help"]

    process = await asyncio.create_subprocess_exec(
        *watched, cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    _, imported = await process.communicate()

    loaded = {line.rpartition(b"|")[2].strip().decode() for line in imported.splitlines()}
    assert "bots.cli" in loaded
    assert not {
        name for name in loaded if name.split(".")[0] in ("rich", "langgraph", "chromadb", "asyncio", "shtab")
    }

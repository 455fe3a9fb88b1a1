"""The README and the pages beside it say what is so, and their commands work."""

from __future__ import annotations

import ast
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

import pytest
from fakes.harbour import Machine

from bots.chat.incoming import ARGUMENTS, ChatCommand, IncomingMessage, interpret
from bots.chat.texts import say_in
from bots.cli import build_parser
from bots.discord.settings import COMMANDS, PERMISSIONS
from bots.slack.settings import EVENTS, SCOPES
from core.conversation import QUESTION_LIMIT, Conversation
from core.graph.graph import build_graph
from core.graph.policy import PRESETS
from core.reasoning.calls import Limits
from core.settings import Settings, read_settings
from core.turns.queue import RETENTION
from core.turns.turns import THINKING

ROOT = Path(__file__).resolve().parents[1]
PAGES = {
    name: (ROOT / name).read_text(encoding="utf-8")
    for name in (
        "README.md", "core/README.md", "bots/README.md", "bots/slack/README.md", "bots/discord/README.md",
        ".github/SECURITY.md", ".github/CONTRIBUTING.md",
    )
}  # fmt: skip
README = PAGES["README.md"]
EXAMPLE = (ROOT / ".env.example").read_text(encoding="utf-8")
CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")

#: What a reader runs first, in front of what it is for.
INSTALLING = "python3 -m pip install -q --target .uv uv && "
IN_UV = ".uv/bin/uv run --no-dev "
#: A command that no test can run says why not, behind it.
NEEDS = re.compile(r"  # needs (?:a Slack workspace|a Discord server|the network)$")
OURS = re.compile(r"(?:EMBEDDING_MODEL=none )?footnote ")
PROPOSAL = re.compile(r'"proposal": \{"id": "(\w+)"')

HANDBOOK = "# Leaving\n\nThe notice period is three months. It begins with the next month.\n"


def commands_of(page: str) -> list[str]:
    """Every line of the page's shell blocks."""
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```$", PAGES[page], re.DOTALL | re.MULTILINE)
    return [line.strip() for block in blocks for line in block.splitlines() if line.strip()]


def table_of(page: str, head: str) -> dict[str, str]:
    """The first two columns of the table with this head, without the marks of code."""
    found = re.search(rf"^\| {head} \|.*\n\|[-|]+\n((?:\|.*\n)+)", PAGES[page], re.MULTILINE)
    assert found is not None, f"{page} has no table of {head}"
    rows = (row.strip("| ").split(" | ") for row in found[1].splitlines())
    return {row[0].strip("`"): row[1] for row in rows}


@dataclass(slots=True)
class Reader:
    """Somebody who tries the commands of the pages, in a folder with a handbook."""

    machine: Machine
    proposal: str = ""  #: the last one that was printed
    done: set[str] = field(default_factory=set)

    async def run(self, command: str) -> None:
        """What needs no account and no network; each once."""
        if command in self.done:
            return
        self.done.add(command)
        words = shlex.split(command.replace("PROPOSAL_ID", self.proposal))
        ran = await self.machine.run(*words[words.index("footnote") + 1 :], stdin="What is Footnote?\n")
        assert ran.code == 0, f"{command}\n{ran.out}{ran.err}"
        if proposed := PROPOSAL.search(ran.out):
            self.proposal = proposed[1]


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reader")
    for name, text in {**PAGES, "handbook/leaving.md": HANDBOOK}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return Reader(Machine(folder=folder, settings={"WEB_SEARCH": "duckduckgo"}))


@pytest.mark.parametrize("page", PAGES)
async def test_a_command_works_here_or_in_ci_or_says_what_it_needs(reader, page):
    for line in commands_of(page):
        command = line.removeprefix(INSTALLING).removeprefix(IN_UV)
        if OURS.match(command) and not NEEDS.search(command):
            await reader.run(command)
        elif not NEEDS.search(line):
            assert is_done_by_ci(command), f"{page}: {line}"


def is_done_by_ci(command: str) -> bool:
    """Or is a part of the tests that CI runs, in a place that is there."""
    tests = re.fullmatch(r"\.uv/bin/uv run pytest(?: -m long)?((?: tests/\S+)*)", command)
    if tests is not None:
        return all((ROOT / path).exists() for path in tests[1].split())
    return command in CI.splitlines() or (command == ".ci/run" and os.access(ROOT / command, os.X_OK))


def test_ci_runs_the_line_that_the_readme_gives():
    (line,) = re.findall(r"^.*uv run pytest$", README, re.MULTILINE)

    assert line == "python3 -m pip install -q --target .uv uv && .uv/bin/uv run pytest"


OPTIONS = {
    name: {option for action in command._actions for option in action.option_strings}
    for action in build_parser()._actions
    if action.dest == "command"
    for name, command in action.choices.items()
}


@pytest.mark.parametrize("page", PAGES)
def test_no_command_and_no_option_is_named_that_there_is_not(page):
    named = re.findall(r"`footnote (\w+)([^`]*)`", PAGES[page])

    for command, rest in named:
        assert set(re.findall(r"--\w+", rest)) <= OPTIONS[command], f"{command}{rest}"


@pytest.mark.parametrize("command", OPTIONS)
def test_every_command_is_told(command):
    assert f"`footnote {command}" in README


def names_of_settings() -> Iterator[str]:
    """What is read from the environment: core's fields, and the names in the platforms' own settings."""
    yield from (each.name.upper() for each in fields(Settings))
    for file in sorted((ROOT / "bots").glob("*/settings.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and re.fullmatch(r"[A-Z]+(?:_[A-Z]+)+", str(node.value)):
                yield node.value


SETTINGS = frozenset(names_of_settings())


def test_the_example_has_every_setting_once_and_no_other():
    shown = re.findall(r"^(?:# )?([A-Z_]+)=", EXAMPLE, re.MULTILINE)

    assert sorted(shown) == sorted(SETTINGS)


def test_the_example_shows_the_defaults():
    shown = dict(re.findall(r"^(?:# )?([A-Z_]+)=(.*)$", EXAMPLE, re.MULTILINE))

    read = read_settings(shown, None)

    assert read.grader_model == Settings().judging_model
    assert replace(read, grader_model="") == Settings()


@pytest.mark.parametrize("page", PAGES)
def test_no_setting_is_named_that_there_is_not(page):
    named = set(re.findall(r"`([A-Z]+(?:_[A-Z]+)+)(?:=\w+)?`", PAGES[page]))

    assert named <= SETTINGS


@pytest.mark.parametrize("policy", PRESETS)
def test_every_policy_is_named(policy):
    assert f"`{policy}`" in PAGES["core/README.md"]


def test_the_drawing_is_the_graph_that_runs():
    drawn = re.search(r"```mermaid\n(.*?)\n```", PAGES["core/README.md"], re.DOTALL)

    assert drawn is not None
    assert drawn[1] == build_graph().get_graph().draw_mermaid().strip()


@pytest.mark.parametrize("node", sorted(build_graph().nodes.keys() - {"__start__"}))
def test_every_node_is_explained(node):
    assert f"**{node}**" in PAGES["core/README.md"]


def test_what_slack_is_asked_for_is_told_with_what_it_is_for():
    assert table_of("bots/slack/README.md", "scope") == SCOPES
    assert table_of("bots/slack/README.md", "event") == EVENTS


def test_what_discord_is_asked_for_is_told():
    told = PAGES["bots/README.md"]

    assert table_of("bots/discord/README.md", "permission").keys() == PERMISSIONS.keys()
    assert all(f"`/{each['name']}`" in told or f"*{each['name']}*" in told for each in COMMANDS)


def test_every_mention_word_is_told_and_understood():
    _, _, below = PAGES["bots/README.md"].partition("mention word |")
    rows = below.partition("\n\n")[0].splitlines()[2:]
    told = [word for row in rows for word in re.findall(r"`([^`]+)`", row.split("|")[1])]

    assert {understood(word) for word in told} == {
        *say_in("en").entries["words"],
        *(name for name, _, _ in ARGUMENTS),
    }


def understood(word: str) -> str:
    """The name of the command that a mention with this word gives."""
    text = word.replace("NAME", "leaving.md").replace("COLLECTION", "default")
    room = Conversation(platform="chat", space="here", channel="general", thread="1")
    message = IncomingMessage(id="1", conversation=room, author="ann", text=text, said_at=1.0, is_called=True)
    command = interpret(message)
    assert isinstance(command, ChatCommand), word
    return command.name


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("README.md", f"{QUESTION_LIMIT:,} characters"),
        ("core/README.md", f"{Limits().round_trips} round trips and {Limits().calls} calls"),
        ("core/README.md", f"{THINKING} turns think at a time"),
        ("core/README.md", f"remembered for {RETENTION.days} days"),
        (".github/SECURITY.md", f"after {RETENTION.days} days"),
    ],
)
def test_a_limit_is_the_one_that_the_code_has(page, words):
    assert words in PAGES[page]


def test_the_readme_is_short():
    assert len(README.split()) < 1_800


def test_the_page_of_core_names_no_platform():
    assert not re.search("slack|discord", PAGES["core/README.md"], re.IGNORECASE)


#: Whose commands need other hosts, or what only their own tests have.
FURTHER = (
    "core/sources/README.md",
    "bots/page/README.md",
    "bots/mcp/README.md",
    "tests/benchmarks/README.md",
)


@pytest.mark.parametrize("page", [*PAGES, *FURTHER])
def test_a_link_leads_somewhere(page):
    prose = re.sub(r"```.*?```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)

    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", prose):
        path, _, anchor = target.partition("#")
        file = (ROOT / page).parent / path if path else ROOT / page
        assert file.exists(), target
        assert not anchor or anchor in anchors_of(file), target


@pytest.mark.parametrize("page", [*PAGES, *FURTHER])
def test_a_file_that_is_named_is_there(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"(?<![\w/])((?:core|bots|tests|\.ci)/[a-z_./]*[a-z_/])(?![\w/])", text)

    assert [name for name in named if not (ROOT / name).exists()] == []


def anchors_of(file: Path) -> set[str]:
    """As GitHub names headings."""
    headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}

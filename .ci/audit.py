"""Fail on a known vulnerability of anything installed here, but for those whose reason stands below.

Where the database of vulnerabilities is out of reach, or does not know a package, it says so:
that nothing was found is then no finding.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

#: Vulnerabilities that are lived with: id -> why they cannot be used against Footnote.
EXCEPTIONS: dict[str, str] = {}

WITHIN = 180  # seconds
COMMAND = [
    sys.executable, "-m", "pip_audit", "--format", "json", "--progress-spinner", "off", "--timeout", "10", "--skip-editable",
]  # fmt: skip


def main() -> int:
    try:
        done = subprocess.run(COMMAND, capture_output=True, text=True, timeout=WITHIN, check=False)
        audited = json.loads(done.stdout)["dependencies"]
    except (subprocess.TimeoutExpired, ValueError, KeyError):
        print("Not audited: the database of vulnerabilities cannot be reached.")
        return 0
    known = [each for each in audited if "vulns" in each]
    found = list(findings(known))
    print(
        f"Audited {len(known)} of {len(audited)} packages, {len(found)} with a vulnerability that is not excepted."
    )
    print("".join(f"{line}\n" for line in found), end="")
    return 1 if found else 0


def findings(packages: list[dict[str, Any]]) -> Iterator[str]:
    for package in packages:
        for each in package["vulns"]:
            if not EXCEPTIONS.keys() & {each["id"], *each["aliases"]}:
                fixed = ", ".join(each["fix_versions"]) or "no version yet"
                yield f"{package['name']} {package['version']}: {each['id']}, mended in {fixed}"


if __name__ == "__main__":
    sys.exit(main())

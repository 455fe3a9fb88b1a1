"""What ``footnote doctor`` finds beside a process and a platform of ours."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from fakes.fork_server import PIPE, start_python
from fakes.patience import PATIENCE
from fakes.served import Served, environment

Finding = dict[str, str]

#: Seconds that a check may take, unless a test is about a platform that keeps silent: machines of CI are slow.
PATIENT = {
    "bots.doctor.slack:PATIENCE": 60.0, "bots.doctor.discord:PATIENCE": 60.0, "bots.doctor.checkup:TIMEOUT": PATIENCE,
}  # fmt: skip


async def ran(
    served: Served, *arguments: str, constants: Mapping[str, float] = PATIENT
) -> tuple[int, str, str]:
    """The command, run to its end: its exit code and what it printed."""
    process = await start_python(
        *("-m", "bots", "doctor", *arguments),
        cwd=served.folder,
        env=environment(served.folder) | {"LOG_LEVEL": ""} | served.platforms | served.settings,
        stdout=PIPE,
        stderr=PIPE,
        constants=constants,
    )
    async with asyncio.timeout(PATIENCE):
        out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


async def findings(
    served: Served,
    platform: str,
    *named: str,
    secrets: Iterable[str],
    constants: Mapping[str, float] = PATIENT,
) -> dict[str, list[Finding]]:
    """What it finds of the platform, by check; the exit code agrees with it, and no secret is shown."""
    code, out, err = await ran(served, *named, "--json", constants=constants)
    assert err == ""
    checks = json.loads(out)["checks"]
    assert code == int(any(each["state"] == "failed" for each in checks))
    assert not [secret for secret in secrets if secret and secret in out]
    found: dict[str, list[Finding]] = {}
    for each in checks:
        if each["check"].startswith(platform) or each["check"] == "people":
            found.setdefault(each["check"].removeprefix(platform).strip(), []).append(each)
    return found


def states(found: Mapping[str, list[Finding]]) -> dict[str, set[str]]:
    return {check: {each["state"] for each in several} for check, several in found.items()}


def only(found: Mapping[str, list[Finding]], check: str) -> Finding:
    (finding,) = found[check]
    return finding


def everything_in(folder: Path) -> dict[str, str]:
    """The digest of each file, but for what SQLite writes beside a database that is read."""
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in folder.rglob("*")
        if file.is_file() and not file.name.endswith(("-wal", "-shm"))
    }

"""The properties of the tests, driven by coverage: atheris changes the bytes that hypothesis draws from.

It needs atheris, on Linux: ``uv run --group fuzz python -m benchmarks fuzz``. Every property that needs nothing but what hypothesis draws is run in a process of its own, with
coverage of ``core`` and ``bots`` as the guide, for so many seconds. A property that fails leaves
its input in ``.hypothesis/examples``, where the next run of its test finds it, and its trace here.
"""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import ROOT, Say
from bots.testing.report import Section, Table

TESTS = ROOT / "tests"
LONGEST = 8_192  # bytes, as much as hypothesis reads for one example
SLOWEST = 60  # seconds that one example may take
ENDED = re.compile(r"^Done (\d+) runs", re.MULTILINE)


def properties(file: Path) -> Iterator[str]:
    """The names of those tests in a file that hypothesis alone can call."""
    for name, test in vars(_module(file)).items():
        is_property = name.startswith("test_") and hasattr(test, "hypothesis")
        if is_property and not inspect.signature(test).parameters and not hasattr(test, "pytestmark"):
            yield name


def _module(file: Path) -> object:
    return importlib.import_module(".".join(("tests", *file.relative_to(TESTS).with_suffix("").parts)))


def drive_property(file: Path, name: str, seconds: int) -> None:
    """Never returns: the fuzzer ends the process."""
    import atheris

    with atheris.instrument_imports(include=["core", "bots"]):
        test: Callable[..., object] = getattr(_module(file), name)
    options = {
        "max_total_time": seconds, "max_len": LONGEST, "len_control": 0, "timeout": SLOWEST, "rss_limit_mb": 0,
        "artifact_prefix": f"{tempfile.mkdtemp()}/",
    }  # fmt: skip
    line = [sys.argv[0], *(f"-{option}={value}" for option, value in options.items())]
    atheris.Setup(line, test.hypothesis.fuzz_one_input)  # type: ignore[attr-defined]
    atheris.Fuzz()


def fuzz(file: Path, name: str, seconds: int) -> tuple[int, str]:
    """In a process of its own: how often the property was run, and the trace of its fault."""
    own = [sys.executable, "-m", "benchmarks", "fuzz", f"--seconds={seconds}", f"--drive={file}::{name}"]
    done = subprocess.run(own, capture_output=True, text=True, errors="replace", check=False)
    trace = done.stdout + done.stderr
    runs = sum(map(int, ENDED.findall(trace)))
    return runs, "" if done.returncode == 0 and runs else trace[-3_000:]


def run(say: Say, *, seconds: int = 60, only: str = "", drive: str = "") -> Section:
    """So many seconds for each property, or for those whose file and name hold ``only``; ``drive`` is one of them."""
    if drive:
        file, _, name = drive.partition("::")
        drive_property(Path(file), name, seconds)
    rows = []
    for file in sorted(path for path in TESTS.rglob("test_*.py") if "hypothesis" in path.read_text("utf-8")):
        for name in properties(file):
            if only in (place := f"{file.relative_to(TESTS)}::{name}"):
                runs, fault = fuzz(file, name, seconds)
                say(f"{place}: {'FAILED' if fault else 'held'}")
                rows.append((place, runs, fault or "held"))
    failed = sum(outcome != "held" for *_, outcome in rows)
    return Section(
        name="fuzz",
        title="Properties driven by coverage",
        what=f"{len(rows)} properties, {sum(runs for _, runs, _ in rows):,} runs, {failed} failed.",
        tables=(Table(title="Properties", columns=("property", "runs", "outcome"), rows=tuple(rows)),),
        figures={"failed": failed or float(not rows)},
    )

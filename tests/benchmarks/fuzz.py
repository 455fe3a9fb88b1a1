"""The properties of the tests, driven by coverage: atheris changes the bytes that hypothesis draws from.

    uv run --group fuzz python tests/benchmarks/fuzz.py [--seconds 60] [--only text]

Every property that needs nothing but what hypothesis draws is run in a process of its own, with
coverage of ``core`` and ``bots`` as the guide, for so many seconds. A property that fails leaves
its input in ``.hypothesis/examples``, where the next run of its test finds it, and its trace here.
Linux and macOS only.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS.parent), str(TESTS)]

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


def drive(file: Path, name: str, seconds: int) -> None:
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


def run(file: Path, name: str, seconds: int) -> tuple[int, str]:
    """How often it was run, and the trace of its fault."""
    own = [sys.executable, __file__, "--seconds", str(seconds), "--drive", f"{file}::{name}"]
    done = subprocess.run(own, capture_output=True, text=True, errors="replace", check=False)
    told = done.stdout + done.stderr
    runs = sum(map(int, ENDED.findall(told)))
    return runs, "" if done.returncode == 0 and runs else told[-3_000:]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60, help="for each property (60)")
    parser.add_argument("--only", default="", help="properties whose file and name hold this")
    parser.add_argument("--drive", help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.drive:
        file, _, name = wanted.drive.partition("::")
        drive(Path(file), name, wanted.seconds)
    total, count, faults = 0, 0, 0
    for file in sorted(path for path in TESTS.rglob("test_*.py") if "hypothesis" in path.read_text("utf-8")):
        for name in properties(file):
            if wanted.only not in f"{file.relative_to(TESTS)}::{name}":
                continue
            runs, fault = run(file, name, wanted.seconds)
            total, count, faults = total + runs, count + 1, faults + bool(fault)
            print(f"{runs:>9,} {'FAILED' if fault else 'held'} {file.relative_to(TESTS)}::{name}", flush=True)
            if fault:
                print(fault, flush=True)
    print(f"{count} properties, {total:,} runs, {faults} failed")
    return 1 if faults or not count else 0


if __name__ == "__main__":
    sys.exit(main())

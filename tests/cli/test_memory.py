"""How many arenas the C library makes for a process of many threads."""

from __future__ import annotations

import platform
import resource
import subprocess
import sys
from pathlib import Path

import pytest

CHILD = """
import ctypes, sys, threading
from bots.process import limit_arenas
if sys.argv[1] == "few":
    assert limit_arenas()
together = threading.Barrier(8)
def work():
    kept = [bytearray(1_000) for _ in range(1_000)]
    together.wait()
threads = [threading.Thread(target=work) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
ctypes.CDLL(None).malloc_stats()
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no arenas")
@pytest.mark.parametrize(("how", "is_few"), [("few", True), ("as it is", False)])
def test_a_process_of_many_threads_shares_two_arenas(how, is_few):
    done = subprocess.run(
        [sys.executable, "-c", CHILD, how],
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        check=True,
    )

    assert (done.stderr.count("Arena ") <= 2) is is_few


def test_a_process_that_serves_may_open_more_files_than_it_began_with():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    code = "from bots.process import raise_file_limit; print(raise_file_limit())"

    told = [
        subprocess.run(
            ["sh", "-c", f'ulimit -S -n {files} && exec "$@"', "sh", sys.executable, "-c", code],
            capture_output=True, check=True, text=True, cwd=Path(__file__).resolve().parents[2],
        ).stdout
        for files in ("256", f"{hard}" if hard != resource.RLIM_INFINITY else "unlimited")
    ]  # fmt: skip

    most = float("inf") if hard == resource.RLIM_INFINITY else hard
    assert float(told[0]) == min(4096, most)
    assert hard == resource.RLIM_INFINITY or float(told[1]) == hard

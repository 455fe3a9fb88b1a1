"""A sync that is killed anywhere, as often as it likes: the next one goes on, and in the end nothing is missing or twice."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sys
from contextlib import closing
from pathlib import Path
from types import MappingProxyType

import pytest
from fakes.confluence import LOGIN
from fakes.confluence_author import WikiAuthor, hashes_and_collections
from fakes.confluence_servers import FakeCloud
from fakes.drive.author import DriveAuthor
from fakes.fork_server import DEVNULL, PIPE, start_python
from fakes.git_server import Author
from fakes.github import FakeGitHub, GitHubTeam
from fakes.notion import TOKEN, FakeNotion
from fakes.notion_author import NotionAuthor
from fakes.website import FakeWebsite, WebAuthor, own_documents

from core.bootstrap import open_library
from core.library.readers import collection_for
from core.storage.storage import open_storage

ROOT = Path(__file__).resolve().parents[2]


async def run(settings, address, point, variables) -> tuple[int, int]:
    """Its exit code, and how many points it passed if it ended by itself."""
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(settings.data_dir.parent), "LANG": "C.UTF-8",
        "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests"))), "SSL_CERT_FILE": os.environ["SSL_CERT_FILE"],
        **variables,
    }  # fmt: skip
    process = await start_python(
        "-m", "fakes.mortal_sync", str(settings.data_dir), settings.database_url, address, str(point),
        cwd=settings.data_dir.parent, env=environment, stdin=DEVNULL, stdout=PIPE, stderr=PIPE,
    )  # fmt: skip
    out, err = await process.communicate()
    assert process.returncode in (0, -signal.SIGKILL), err.decode()
    return process.returncode, int(out or 0)


def hashes_of(library) -> dict[str, str]:
    return {entry.address: entry.hash for entry in library.store.entries()}


def assert_equal(settings, address, author, read) -> None:
    """The index equals the source; every table of the library agrees with the documents."""
    with open_storage(settings) as storage, closing(open_library(settings, storage)) as library:
        entries, found = library.store.entries(), read(library)
        ((passages, documents),) = library.store.database.rows(
            "SELECT count(*), count(DISTINCT document) FROM passages"
        )
        words = {"sqlite": "SELECT count(*) FROM words", "postgresql": "SELECT count(*) FROM passage_terms"}
        ((indexed,),) = library.store.database.rows(words[library.store.database.dialect])
    assert {place.removeprefix(f"{address}/"): held for place, held in found.items()} == author.hashes()
    assert (passages, documents) == (sum(e.passages for e in entries), len(entries))
    assert indexed == passages
    if isinstance(author, DriveAuthor):  # whose files have readers of their own
        readers = {
            f"{address}/{name}": collection_for("default", each) for name, each in author.readers().items()
        }
        assert {e.address: e.collection for e in entries} == readers


async def killed_again_and_again(
    settings, address, author, chance, *, kills, length, go_on, read=hashes_of, variables=MappingProxyType({})
) -> int:
    """A history of which each part is read by processes that are killed; how many were.

    ``length``: points that a process passes, about; ``go_on``: changes the source; ``read``: what is compared of each
    document, by its address; ``variables``: of the processes.
    """
    killed = 0
    while killed < kills:
        for _ in range(chance.randint(1, 4)):
            code, _ = await run(settings, address, chance.randint(1, length), variables)
            if code == 0:
                break
            killed += 1
        code, passed = await run(settings, address, sys.maxsize, variables)
        assert code == 0
        assert_equal(settings, address, author, read)
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


def editions_of(library) -> dict[str, str]:
    """The editions that each document names, in order."""
    rows = library.store.database.rows(
        "SELECT d.address, p.text FROM documents d JOIN passages p ON p.document = d.id ORDER BY d.id, p.ordinal"
    )
    found: dict[str, list[str]] = {}
    for place, text in rows:
        found.setdefault(place, []).extend(re.findall(r"Edition \d+\.", text))
    return {place: " ".join(editions) for place, editions in found.items()}


@pytest.fixture
async def notion(monkeypatch, certificate):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with FakeNotion() as notion:
        notion.page_size = 7
        yield notion


async def notion_read(settings, notion, *, kills: int, pages: int, seed: int) -> int:
    """The same of a changing workspace of Notion."""
    author, chance = NotionAuthor(notion, seed), random.Random(seed)
    author.begin(pages)
    return await killed_again_and_again(
        settings, "notion:", author, chance, kills=kills, length=4 * pages, read=editions_of,
        go_on=lambda: author.go_on(max(2, pages // 8)),
        variables={
            "NOTION_TOKEN": TOKEN,
            "SOURCE_OPTIONS": json.dumps({"notion": {"origin": notion.url, "interval": 0.0}}),
        },
    )  # fmt: skip


async def test_no_page_of_notion_is_lost_or_doubled_by_kills(settings, notion):
    killed = await notion_read(settings, notion, kills=3, pages=16, seed=1)

    assert killed >= 3


@pytest.mark.long
@pytest.mark.parametrize("seed", [2, 3])
async def test_no_page_of_notion_is_lost_or_doubled_by_a_hundred_kills(settings, notion, seed):
    killed = await notion_read(settings, notion, kills=100, pages=40, seed=seed)

    assert killed >= 100


@pytest.fixture
async def github(monkeypatch, certificate):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with FakeGitHub() as github:
        yield github


async def issues_read(settings, github, *, kills: int, issues: int, seed: int) -> int:
    """The same of a repository on GitHub whose issues change; everything is listed each time."""
    team, chance = GitHubTeam(github, seed), random.Random(seed)
    team.begin(issues)
    options = {"origin": github.url, "list_every": 0.0}
    return await killed_again_and_again(
        settings, "github+https://github.com/acme/handbook/issues", team, chance, kills=kills, length=4 * issues,
        read=editions_of, go_on=lambda: team.go_on(max(2, issues // 8)),
        variables={"SOURCE_OPTIONS": json.dumps({"github": options})},
    )  # fmt: skip


async def test_no_issue_is_lost_or_doubled_by_kills(settings, github):
    killed = await issues_read(settings, github, kills=3, issues=20, seed=1)

    assert killed >= 3


@pytest.mark.long
@pytest.mark.parametrize("seed", [2, 3])
async def test_no_issue_is_lost_or_doubled_by_a_hundred_kills(settings, github, seed):
    killed = await issues_read(settings, github, kills=100, issues=60, seed=seed)

    assert killed >= 100


async def drive_read(settings, google, *, kills: int, documents: int, shared: bool, seed: int) -> int:
    """The same of a changing Google Drive."""
    google.page_limit = 7
    author, chance = DriveAuthor(google.world, shared=shared, seed=seed), random.Random(seed)
    author.begin(documents)
    return await killed_again_and_again(
        settings, f"drive:{author.root}", author, chance,
        kills=kills, length=3 * documents, go_on=lambda: author.go_on(max(2, documents // 8)),
        variables={
            "DRIVE_CREDENTIALS": settings.drive_credentials,
            "SOURCE_OPTIONS": json.dumps({"drive": {"base": google.base}}),
        },
    )  # fmt: skip


@pytest.fixture
def google(google, monkeypatch, certificate):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    return google


@pytest.mark.parametrize("shared", [False, True])
async def test_no_file_of_a_drive_is_lost_or_doubled_by_kills(drive_settings, google, shared):
    killed = await drive_read(drive_settings, google, kills=3, documents=24, shared=shared, seed=1)

    assert killed >= 3


@pytest.mark.long
@pytest.mark.parametrize("shared", [False, True])
async def test_no_file_of_a_drive_is_lost_or_doubled_by_a_hundred_kills(drive_settings, google, shared):
    killed = await drive_read(drive_settings, google, kills=100, documents=60, shared=shared, seed=2)

    assert killed >= 100


@pytest.fixture
async def wiki(monkeypatch, certificate):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with FakeCloud(certificate) as wiki:
        yield wiki


async def wiki_read(settings, wiki, *, kills: int, pages: int, seed: int) -> int:
    """The same of a changing space of Confluence."""
    author, chance = WikiAuthor(wiki, own_documents(), seed=seed, hides=False), random.Random(seed)
    author.begin(pages)
    return await killed_again_and_again(
        settings, wiki.address("/spaces/ENG"), author, chance,
        kills=kills, length=4 * pages, go_on=lambda: author.go_on(max(2, pages // 8)),
        read=hashes_and_collections, variables={"CONFLUENCE_TOKENS": f"127.0.0.1={LOGIN}"},
    )  # fmt: skip


async def test_no_page_of_a_wiki_is_lost_or_doubled_by_kills(settings, wiki):
    killed = await wiki_read(settings, wiki, kills=3, pages=24, seed=1)

    assert killed >= 3


@pytest.mark.long
async def test_no_page_of_a_wiki_is_lost_or_doubled_by_two_hundred_kills(settings, wiki):
    killed = await wiki_read(settings, wiki, kills=200, pages=60, seed=2)

    assert killed >= 200

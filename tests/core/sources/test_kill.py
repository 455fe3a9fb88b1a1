"""A sync that is killed anywhere, as often as it likes: the next one goes on, and in the end nothing is missing or twice."""

from __future__ import annotations

import json
import random
import re
from contextlib import closing
from functools import partial

import pytest
from fakes.confluence import LOGIN
from fakes.confluence_author import WikiAuthor, hashes_and_collections
from fakes.confluence_servers import FakeCloud
from fakes.drive.author import DriveAuthor
from fakes.git_server import Author
from fakes.github import FakeGitHub, GitHubTeam
from fakes.killed_syncs import KilledSyncs, read_while_killed
from fakes.notion import TOKEN, FakeNotion
from fakes.notion_author import NotionAuthor
from fakes.website import FakeWebsite, WebAuthor, own_sections

from core.bootstrap import open_library
from core.library.readers import collection_for
from core.storage.storage import open_storage

#: Libraries that are imported where they are needed.
HTTP = ("httpcore", "anyio._backends._asyncio")


def in_short_and_long(database: str, *, kills: int, size: int, long_size: int):
    """Some kills in one database; two hundred in each, which takes minutes."""
    many = [pytest.param(each, 200, long_size, marks=pytest.mark.long) for each in ("sqlite", "postgresql")]
    return pytest.mark.parametrize(
        ("settings", "kills", "size"), [(database, kills, size), *many], indirect=["settings"]
    )


def hashes_of(library) -> dict[str, str]:
    return {entry.address: entry.hash for entry in library.store.entries()}


def assert_equal(syncs, author, read) -> None:
    """The index equals the source; every table of the library agrees with the documents."""
    with open_storage(syncs.settings) as storage, closing(open_library(syncs.settings, storage)) as library:
        entries, found = library.store.entries(), read(library)
        ((passages, documents),) = library.store.database.rows(
            "SELECT count(*), count(DISTINCT document) FROM passages"
        )
        words = {"sqlite": "SELECT count(*) FROM words", "postgresql": "SELECT count(*) FROM passage_terms"}
        ((indexed,),) = library.store.database.rows(words[library.store.database.dialect])
    assert {place.removeprefix(f"{syncs.address}/"): held for place, held in found.items()} == author.hashes()
    assert (passages, documents) == (sum(e.passages for e in entries), len(entries))
    assert indexed == passages


async def killed(
    settings, address, author, *, kills, go_on, read=hashes_of, imports=HTTP, **variables
) -> None:
    """``go_on`` changes the source; ``read``: what is compared of each document, by its address."""
    syncs = KilledSyncs(
        settings=settings, address=address, chance=random.Random(kills), variables=variables, imports=imports,
        is_timed=kills > 100,
    )  # fmt: skip
    equal = partial(assert_equal, syncs, author, read)
    await read_while_killed(syncs, kills, assert_equal=equal, go_on=go_on)


def options(**kinds) -> dict[str, str]:
    return {"SOURCE_OPTIONS": json.dumps(kinds)}


@in_short_and_long("sqlite", kills=4, size=16, long_size=40)
async def test_nothing_is_lost_or_doubled_by_kills(settings, server, repository, kills, size):
    author, chance = Author(repository, kills), random.Random(kills)
    author.begin(size)

    await killed(
        settings, server.address("harbour/docs.git"), repository, kills=kills,
        go_on=lambda: author.go_on(chance.randint(1, 3), touched=5),
    )  # fmt: skip


@pytest.fixture
async def site(monkeypatch, certificate):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with FakeWebsite() as site:
        yield site


@pytest.mark.parametrize("dated", [False, pytest.param(True, marks=pytest.mark.long)])
@in_short_and_long("sqlite", kills=3, size=12, long_size=24)
async def test_no_page_is_lost_or_doubled_by_kills(settings, site, kills, size, dated):
    author = WebAuthor(site, own_sections(12), seed=kills, dated=dated)
    author.begin(size)

    await killed(
        settings, f"site+{site.url}", author, kills=kills, go_on=lambda: author.go_on(max(2, size // 8)),
        imports=(*HTTP, "protego"),
    )  # fmt: skip


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


@in_short_and_long("postgresql", kills=3, size=12, long_size=24)
async def test_no_page_of_notion_is_lost_or_doubled_by_kills(settings, notion, kills, size):
    author = NotionAuthor(notion, kills)
    author.begin(size)

    await killed(
        settings, "notion:", author, kills=kills, go_on=lambda: author.go_on(max(2, size // 8)), read=editions_of,
        NOTION_TOKEN=TOKEN, **options(notion={"origin": notion.url, "interval": 0.0}),
    )  # fmt: skip


@pytest.fixture
async def github(monkeypatch, certificate):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with FakeGitHub() as github:
        yield github


@in_short_and_long("sqlite", kills=3, size=16, long_size=30)
async def test_no_issue_is_lost_or_doubled_by_kills(settings, github, kills, size):
    """Everything is listed each time."""
    team = GitHubTeam(github, kills)
    team.begin(size)

    await killed(
        settings, "github+https://github.com/acme/handbook/issues", team, kills=kills,
        go_on=lambda: team.go_on(max(2, size // 8)), read=editions_of,
        **options(github={"origin": github.url, "list_every": 0.0}),
    )  # fmt: skip


def held_of(library) -> dict[str, tuple[str, str]]:
    """With the collection, which says who may read a document."""
    return {entry.address: (entry.hash, entry.collection) for entry in library.store.entries()}


class ReadAuthor(DriveAuthor):
    """Says of each file with what content and for whom it is to be held."""

    def hashes(self) -> dict[str, tuple[str, str]]:
        readers = self.readers()
        return {
            name: (each, collection_for("default", readers[name])) for name, each in super().hashes().items()
        }


@pytest.fixture
def google(google, monkeypatch, certificate):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    google.page_limit = 7
    return google


async def drive_killed(settings, google, *, shared: bool, kills: int, size: int) -> None:
    author = ReadAuthor(google.world, shared=shared, seed=kills)
    author.begin(size)
    await killed(
        settings, f"drive:{author.root}", author, kills=kills, go_on=lambda: author.go_on(max(2, size // 8)),
        read=held_of, imports=("google.oauth2.service_account", "google.auth.jwt", *HTTP), DRIVE_CREDENTIALS=settings.drive_credentials, **options(drive={"base": google.base}),
    )  # fmt: skip


@in_short_and_long("sqlite", kills=3, size=16, long_size=30)
async def test_no_file_of_a_folder_of_a_drive_is_lost_or_doubled_by_kills(
    drive_settings, google, kills, size
):
    await drive_killed(drive_settings, google, shared=False, kills=kills, size=size)


@in_short_and_long("postgresql", kills=3, size=16, long_size=30)
async def test_no_file_of_a_shared_drive_is_lost_or_doubled_by_kills(drive_settings, google, kills, size):
    await drive_killed(drive_settings, google, shared=True, kills=kills, size=size)


@pytest.fixture
async def wiki(monkeypatch, certificate):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with FakeCloud(certificate) as wiki:
        yield wiki


@in_short_and_long("sqlite", kills=3, size=16, long_size=30)
async def test_no_page_of_a_wiki_is_lost_or_doubled_by_kills(settings, wiki, kills, size):
    author = WikiAuthor(wiki, own_sections(12), seed=kills, hides=False)
    author.begin(size)

    await killed(
        settings, wiki.address("/spaces/ENG"), author, kills=kills, go_on=lambda: author.go_on(max(2, size // 8)),
        read=hashes_and_collections, CONFLUENCE_TOKENS=f"127.0.0.1={LOGIN}",
    )  # fmt: skip

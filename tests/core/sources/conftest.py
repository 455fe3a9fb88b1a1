"""A git server on loopback, and syncs into either database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import pytest
from fakes.drive.server import FakeDrive
from fakes.git_server import GitServer, Repository, make_certificate
from fakes.source_desk import Clock, Desk, Follower, open_desk

from core.settings import Settings
from core.sources.drive.source import open_drive
from core.sources.kinds import SOURCE_KINDS
from core.sources.source import SourceContext
from core.tls import default_tls

#: How files of tests begin that are about one kind of source.
READERS = tuple(f"test_{kind}" for kind in SOURCE_KINDS)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("authority"))


@pytest.fixture(autouse=True)
def authorities():
    """Those that are trusted in one test are not in another: a process reads them once."""
    default_tls.cache_clear()
    yield
    default_tls.cache_clear()


@pytest.fixture
def server(tmp_path, certificate, monkeypatch) -> Iterator[GitServer]:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    (tmp_path / "served").mkdir()
    with GitServer(tmp_path / "served", certificate) as server:
        yield server


@pytest.fixture
def repository(server) -> Repository:
    return Repository.made(server.folder / "harbour" / "docs.git")


@pytest.fixture
def clock() -> Clock:
    return Clock()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """On both databases, but what reads one kind of source only in the long run: how that is stored, all kinds share."""
    is_chosen = any("settings" in mark.args[0] for mark in metafunc.definition.iter_markers("parametrize"))
    if "settings" in metafunc.fixturenames and not is_chosen:
        is_of_one = metafunc.module.__name__.rpartition(".")[2].startswith(READERS)
        marks = [pytest.mark.long] if is_of_one else []
        databases = ["sqlite", pytest.param("postgresql", marks=marks)]
        metafunc.parametrize("settings", databases, indirect=True)


@pytest.fixture
def settings(request, tmp_path) -> Settings:
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else ""
    return Settings(data_dir=tmp_path / "data", database_url=url, private_hosts=("127.0.0.1",))


@pytest.fixture
def desk(settings, clock) -> Iterator[Desk]:
    with open_desk(settings, clock) as desk:
        yield desk


@pytest.fixture
async def google(tmp_path):
    async with FakeDrive() as google:
        google.write_account(tmp_path / "account.json")
        yield google


@pytest.fixture
def drive_settings(settings, tmp_path) -> Settings:
    return replace(settings, drive_credentials=str(tmp_path / "account.json"))


@pytest.fixture
def drive_desk(drive_settings, clock, google) -> Iterator[Desk]:
    """A desk that reads a Google Drive of ours."""
    kinds = {
        **SOURCE_KINDS,
        "drive": replace(SOURCE_KINDS["drive"], open=partial(open_drive, base=google.base)),
    }
    with open_desk(drive_settings, clock, kinds) as desk:
        yield desk


@pytest.fixture
def follow(tmp_path, google) -> Callable[[str], Follower]:
    """Follows a folder of a Google Drive of ours without a library."""
    settings = Settings(private_hosts=("127.0.0.1",), drive_credentials=str(tmp_path / "account.json"))
    context = SourceContext(settings=settings, folder=tmp_path / "followed")
    return lambda root: Follower(lambda: open_drive(f"drive:{root}", context, base=google.base))

"""A git server on loopback, and syncs into either database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fakes.git_server import GitServer, Repository, make_certificate
from source_desk import Clock, Desk, open_desk

from core.settings import Settings


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("authority"))


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


@pytest.fixture(params=["sqlite", "postgresql"])
def settings(request, tmp_path) -> Settings:
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else ""
    return Settings(data_dir=tmp_path / "data", database_url=url, private_hosts=("127.0.0.1",))


@pytest.fixture
def desk(settings, clock) -> Iterator[Desk]:
    with open_desk(settings, clock) as desk:
        yield desk

"""A library without vectors on each of the two stores, and a folder of documents beside it."""

from __future__ import annotations

import pytest
from fakes.permissions import bound_by_permissions
from fakes.shelf import STORES, open_library

from core.settings import Settings


@pytest.fixture(params=STORES)
def data(request, tmp_path) -> Settings:
    """Where a library is: files in a folder, or a PostgreSQL."""
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else ""
    return Settings(data_dir=tmp_path / "data", database_url=url)


@pytest.fixture
def library(data):
    library = open_library(data)
    yield library
    library.close()


@pytest.fixture
def embedded(tmp_path):
    """A library in files, whose bytes a test looks into."""
    library = open_library(tmp_path / "data")
    yield library
    library.close()


@pytest.fixture
def docs(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    return folder


@pytest.fixture
def unprivileged(tmp_path):
    """A folder in which permissions bind the test, also where root runs it."""
    with bound_by_permissions():
        yield tmp_path

"""A library without vectors, and a folder of documents beside it."""

from __future__ import annotations

import pytest
from fakes.permissions import bound_by_permissions

from tests.library.shelf import open_library


@pytest.fixture
def library(tmp_path):
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

"""A library without vectors, and a folder of documents beside it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from tests.library.shelf import open_library

NOBODY = 65534  # the user who owns nothing


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
def unprivileged():
    """A folder of a user who is bound by permissions, and the test as that user, also where root runs it."""
    with tempfile.TemporaryDirectory() as folder:
        if os.geteuid() != 0:
            yield Path(folder)
            return
        os.chown(folder, NOBODY, NOBODY)
        os.seteuid(NOBODY)
        try:
            yield Path(folder)
        finally:
            os.seteuid(0)

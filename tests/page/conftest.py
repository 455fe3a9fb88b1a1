"""A browser for the tests that drive the page, and a database with the page's tables."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from fakes.chromium import open_chromium
from fakes.desk import open_desk


@pytest.fixture(scope="session")
def tables(postgres, tmp_path_factory):
    """The name of a database in which all tables are made, which takes longer than most tests."""

    async def open_once(url):
        async with open_desk(tmp_path_factory.mktemp("tables"), database_url=url):
            pass

    with postgres.database() as url:
        with ThreadPoolExecutor(1) as elsewhere:  # the event loop of the test that asks first is running
            elsewhere.submit(asyncio.run, open_once(url)).result()
        yield urlsplit(url).path.removeprefix("/")


@pytest.fixture
def postgres_url(postgres, tables):
    """A copy of it."""
    with postgres.database(template=tables) as url:
        yield url


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser():
    """One for the tests of a file, which run in one event loop: to start it takes as long as a short test."""
    async with open_chromium() as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="module")
async def chromium(browser):
    """The browser without what earlier tests opened."""
    yield browser
    for context in browser.contexts:
        await context.close()

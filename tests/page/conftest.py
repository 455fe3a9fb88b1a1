"""A browser for the tests that drive the page."""

from __future__ import annotations

import pytest_asyncio
from fakes.chromium import open_chromium


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

"""A browser for the tests that drive the page."""

from __future__ import annotations

import pytest
from fakes.chromium import open_chromium


@pytest.fixture
async def chromium():
    async with open_chromium() as browser:
        yield browser

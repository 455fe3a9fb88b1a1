"""The real command in a folder of its own, and search engines on loopback."""

from __future__ import annotations

import pytest
from fakes.harbour import FERRY, FRANCE, HARBOUR, Machine
from fakes.web_servers import FakeSearXNG, HangingSearXNG


@pytest.fixture
def machine(tmp_path):
    made = Machine(folder=tmp_path)
    made.docs.mkdir()
    (made.docs / "harbour.md").write_text(HARBOUR)
    (made.docs / "ferry.md").write_text(FERRY)
    return made


@pytest.fixture
async def searxng(machine):
    """A search engine that the machine's commands ask."""
    async with FakeSearXNG([FRANCE]) as engine:
        machine.settings |= {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        yield engine


@pytest.fixture
async def hanging_searxng(machine):
    """The same, but its first search never ends."""
    async with HangingSearXNG([FRANCE]) as engine:
        machine.settings |= {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        yield engine

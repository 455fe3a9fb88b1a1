"""A Slack and a Discord of ours, each with one person and two channels."""

from __future__ import annotations

import pytest
from fakes.discord import FakeDiscord
from fakes.slack import FakeSlack


@pytest.fixture
async def slack():
    async with FakeSlack() as server:
        yield server


@pytest.fixture
async def discord():
    async with FakeDiscord() as server:
        yield server

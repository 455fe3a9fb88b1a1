"""A local Discord with one person in one channel, and the real discord.py pointed at it."""

from __future__ import annotations

import pytest
from fakes.discord import FakeDiscord
from fakes.discord.client import client, connected
from fakes.discord_server import Server


@pytest.fixture
async def fake():
    async with FakeDiscord() as server:
        yield server


@pytest.fixture
def ann(fake):
    return fake.add_user("ann")


@pytest.fixture
def bob(fake):
    return fake.add_user("bob")


@pytest.fixture
def general(fake):
    return fake.add_channel("general")


@pytest.fixture
async def bot(fake, ann, general):
    """A discord.py client that is ready, and has seen the person and the channel."""
    async with connected(fake, client()) as running:
        yield running


@pytest.fixture
async def server(template, tmp_path, fake):
    """Footnote, which is not yet begun."""
    async with Server.copied(template, tmp_path, fake) as server:
        yield server

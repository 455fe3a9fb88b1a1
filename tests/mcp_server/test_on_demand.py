"""The stores of one's own machine are open while a call needs them, and closed soon after."""

from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager

import pytest

from bots.commands import mcp
from core.errors import IndexInUse
from core.settings import Settings


class Opened:
    """A backend that knows whether it is open."""

    count = 0
    is_open = True


@pytest.fixture
def opened(monkeypatch):
    all_of_them = []

    @asynccontextmanager
    async def open_backend(_settings, **_more):
        backend = Opened()
        all_of_them.append(backend)
        try:
            yield backend
        finally:
            backend.is_open = False

    monkeypatch.setattr(mcp, "open_backend", open_backend)
    monkeypatch.setattr(mcp, "LINGER", 0.005)
    return all_of_them


async def test_a_call_that_comes_when_the_time_is_over_keeps_the_stores_open(opened):
    chance, closed = random.Random(1), 0
    async with mcp.on_demand(Settings()) as backends:
        for _ in range(300):
            async with backends.opened() as backend:
                await asyncio.sleep(0.001)
                closed += not backend.is_open
            await asyncio.sleep(chance.uniform(0.004, 0.006))

    assert closed == 0
    assert len(opened) > 1
    assert not any(each.is_open for each in opened)


async def test_stores_that_another_command_has_are_asked_for_again(monkeypatch):
    tries = []

    @asynccontextmanager
    async def open_backend(_settings, **_more):
        tries.append(1)
        if len(tries) == 1:
            raise IndexInUse("Another Footnote has the data folder.")
        yield Opened()

    monkeypatch.setattr(mcp, "open_backend", open_backend)
    async with mcp.on_demand(Settings()) as backends:
        with pytest.raises(IndexInUse):
            async with backends.opened():
                pass
        async with backends.opened() as backend:
            assert backend.is_open

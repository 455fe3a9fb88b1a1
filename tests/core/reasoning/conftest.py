"""What tests of models share."""

from __future__ import annotations

import asyncio

import pytest


@pytest.fixture
async def pass_time(monkeypatch):
    """Sets the clock of the event loop forward, by seconds."""
    loop, passed = asyncio.get_running_loop(), [0.0]
    time = loop.time
    monkeypatch.setattr(loop, "time", lambda: time() + sum(passed))
    return passed.append

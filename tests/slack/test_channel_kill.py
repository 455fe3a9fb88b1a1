"""A sync of a channel that is killed anywhere: the next one goes on, and in the end no message is missing or twice."""

from __future__ import annotations

import os
import random
import signal
import sys
from contextlib import closing

import pytest
from fakes.fork_server import DEVNULL, PIPE, start_python
from fakes.served import ROOT
from test_channel_source import said, sections, talk

from core.bootstrap import open_library
from core.settings import Settings
from core.storage.storage import open_storage


class Read:
    """What is in the index, between two processes."""

    def __init__(self, library):
        self.library = library


async def run(settings, slack, point):
    """Its exit code, and how many points it passed if it ended by itself."""
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(settings.data_dir.parent), "LANG": "C.UTF-8",
        "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests"))), **slack.environment,
    }  # fmt: skip
    process = await start_python(
        "-m", "fakes.mortal_sync", str(settings.data_dir), "", "slack:#support", str(point),
        cwd=settings.data_dir.parent, env=environment, stdin=DEVNULL, stdout=PIPE, stderr=PIPE,
    )  # fmt: skip
    out, err = await process.communicate()
    assert process.returncode in (0, -signal.SIGKILL), err.decode()
    return process.returncode, int(out or 0)


def indexed(settings):
    with open_storage(settings) as storage, closing(open_library(settings, storage)) as library:
        return sections(Read(library))


async def read_while_killed(settings, slack, channel, people, *, kills, seed):
    """How many processes were killed; people talk on, edit and delete between them."""
    chance, killed = random.Random(seed), 0
    made = await talk(slack, channel, people, days=3)
    length = 60
    while killed < kills:
        for _ in range(chance.randint(1, 4)):
            code, _ = await run(settings, slack, chance.randint(1, length))
            if code == 0:
                break
            killed += 1
        code, passed = await run(settings, slack, sys.maxsize)
        assert code == 0
        assert indexed(settings) == said(slack, channel)
        length = max(30, passed)
        for message in chance.sample([each for each in made if not each.is_deleted], 2):
            await slack.edit(message, f"Now it is {chance.random()}.")
        await slack.erase(chance.choice([each for each in made if not each.is_deleted]))
        made += await talk(slack, channel, people, days=1)
    return killed


@pytest.fixture
def people(ann, slack):
    return ann, slack.add_user("ben")


@pytest.fixture
def support(slack, people):
    slack.state.clock.ahead = -100 * 86_400.0
    return slack.add_channel("support", *people)


async def test_no_message_is_lost_or_doubled_by_kills(tmp_path, slack, people, support):
    settings = Settings(data_dir=tmp_path / "data")

    killed = await read_while_killed(settings, slack, support, people, kills=4, seed=1)

    assert killed >= 4


@pytest.mark.long
async def test_no_message_is_lost_or_doubled_by_two_hundred_kills(tmp_path, slack, people, support):
    settings = Settings(data_dir=tmp_path / "data")

    killed = await read_while_killed(settings, slack, support, people, kills=200, seed=2)

    assert killed >= 200

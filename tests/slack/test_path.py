"""How long the way of one question is, from its payload to its posted answer, and what is looked up on it."""

from __future__ import annotations

import shutil
from collections import Counter

import pytest
from benchmarks.path import RUNS, Way, answered, approve, ask, served
from fakes.office import CUP, FERRY, FRANCE
from fakes.web_servers import FakeSearXNG

from core.turns.checkpoints import PrunedSqliteSaver

WAY = (
    "bots/",
    "core/turns/",
)  # receiving, queueing and posting; retrieval, grounding and reasoning are not counted
#: Functions that turn values into Slack's blocks, and blocks into words: files of the way, but no steps of it.
FORMATTING = (
    "bots/slack/content.py",
    "bots/chat/markdown/", "bots/chat/render.py", "bots/chat/texts.py", "bots/chat/proposals.py",
    "bots/slack/render.py", "bots/slack/parts.py", "bots/slack/dialect.py",
)  # fmt: skip


#: Of a question and of an approval, formatting and answering included: `python -m benchmarks path` says which.
MOST_FILES, MOST_FUNCTIONS = (81, 90), (504, 539)


def steps(way: Way) -> set[tuple[str, str]]:
    return {step for step in way.entered if not step[0].startswith(FORMATTING)}


@pytest.fixture
async def searxng():
    async with FakeSearXNG([FRANCE]) as engine:
        yield engine


@pytest.fixture
async def lookups(template, tmp_path, slack, searxng, monkeypatch):
    """Footnote served in this process. Counts statements of the channels' file and reads of checkpoints."""
    counted = Counter()
    read = PrunedSqliteSaver.aget_tuple

    async def counting(saver, config):
        counted["checkpoint"] += 1
        return await read(saver, config)

    monkeypatch.setattr(PrunedSqliteSaver, "aget_tuple", counting)
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    async with served(tmp_path, slack, searxng) as channels:
        for connection in (channels.database.database._reading, channels.database.database._writing):
            connection.set_trace_callback(lambda statement: counted.update([statement.split()[0]]))
        yield counted


async def test_a_question_takes_few_steps_and_looks_nothing_up_twice(slack, ann, general, lookups):
    await answered(slack, await slack.mention(ann, general, FERRY))  # what is cached is cached
    way = Way(below=WAY)

    for _ in range(RUNS):
        lookups.clear()
        await ask(slack, ann, general, way)

    # Three of them write plain words, notifications and tables; one puts names in place of ids, one asks
    # whether another process thinks there.
    assert len(way.files) <= 32
    # Six of them find the installation that a payload is for, and its token for each call; in eight more
    # the session says that it works, and a plan is begun and closed; two look for names, and two
    # find out who thinks there. Of the last six, two know which run of the turn this is, two make certain that
    # it is this process's own before anything is posted, one posts once, and one waits for a database that is away.
    assert len(steps(way)) <= 130
    # Slack delivers a mention as two events: for each, whether it was forgotten and what the thread is.
    # Which collections may be read is asked when the documents are searched, and again before the answer is shown.
    # The checkpoint is read once, by us and for LangGraph.
    assert lookups == {"SELECT": 2 + 2 + 1 + 1, "BEGIN": 1, "INSERT": 1, "COMMIT": 1, "checkpoint": 1}


async def test_an_approval_looks_at_the_proposal_where_it_may_have_changed(slack, ann, general, lookups):
    asked = await slack.mention(ann, general, CUP)
    (card,) = await answered(slack, asked)
    lookups.clear()

    await slack.press(card, "approve", ann)
    await answered(slack, asked, 2)

    # The proposal: when the press arrives and when its turn comes. The run itself: one.
    # Rights are asked once more before the answer is shown: a search takes its time.
    assert lookups == {"SELECT": 3 + 1, "checkpoint": 2 + 1}


async def test_all_that_a_question_and_an_approval_enter_is_no_more_than_it_was(slack, ann, general, lookups):
    await answered(slack, await slack.mention(ann, general, FERRY))  # what is cached is cached
    question, approval = Way(), Way()

    for _ in range(RUNS):
        await ask(slack, ann, general, question)
        await approve(slack, ann, general, approval)

    ways = [(len(way.files), len(way.entered)) for way in (question, approval)]
    assert all(files <= most for (files, _), most in zip(ways, MOST_FILES, strict=True)), ways
    assert all(functions <= most for (_, functions), most in zip(ways, MOST_FUNCTIONS, strict=True)), ways

"""A database that is away while the bots serve: whoever speaks is told, and nothing that was said is lost."""

from __future__ import annotations

import pytest
from fakes.office import Office
from fakes.served import FERRY, FERRY_ANSWER, HANDBOOK, PONTOON, PONTOON_ANSWER, ingest
from fakes.slack import FakeSlack

TOLD = (
    "I cannot write down what you said: the database cannot be reached. I keep trying, and go on once I can."
)


@pytest.fixture
def settings(tmp_path, postgres_url):
    """Of a PostgreSQL in which the handbook is."""
    settings = {"DATABASE_URL": postgres_url}
    (tmp_path / "handbook.md").write_text(HANDBOOK)
    ingest(tmp_path, "handbook.md", **settings)
    return settings


@pytest.fixture
async def office(tmp_path, slack, settings):
    async with Office(folder=tmp_path, slack=slack, settings=settings) as office:
        # Seconds for a connection; who cannot write waits for one, and says so then.
        office.constants |= dict.fromkeys(("core.storage.postgres:WAIT", "core.turns.leases:WAIT"), 2.0)
        yield office


async def test_a_question_while_the_database_is_away_is_told_of_and_answered_when_it_is_back(
    office, slack: FakeSlack, postgres
):
    ann = slack.add_user("ann")
    general = slack.add_channel("general", ann)
    await office.open()
    (before,) = await office.until_answered(await slack.mention(ann, general, FERRY))
    postgres.stop()
    try:
        asked = await slack.mention(ann, general, PONTOON)
        await slack.until(lambda: slack.ephemerals(ann))
    finally:
        postgres.start()
    (answer,) = await office.until_answered(asked)
    await slack.until(lambda: not slack.deliveries.unacknowledged)
    assert await office.stop() == 0

    assert FERRY_ANSWER in before.visible
    assert {one.visible for one in slack.ephemerals(ann)} == {TOLD}
    assert PONTOON_ANSWER in answer.visible
    assert len(slack.replies(general, asked.ts)) == 1

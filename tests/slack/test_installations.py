"""Installations of the app, stored by one process and served by all."""

from __future__ import annotations

import pytest
from slack_sdk.oauth.installation_store import Installation as Granted

from bots.slack.calls import open_calls
from bots.slack.oauth import open_oauth
from bots.slack.route import Me
from bots.slack.settings import SCOPES, read_slack_settings
from core.settings import Settings
from core.storage.storage import open_storage

ACME = Me(user_id="UBOT", bot_id="B1", team_id="T1", enterprise_id="")
GRANTED = Granted(
    app_id="A1",
    team_id="T1",
    user_id="U1",
    bot_token="xoxb-acme",
    bot_id="B1",
    bot_user_id="UBOT",
    bot_scopes=["chat:write"],
)


@pytest.fixture
def settings(slack):
    given = {**slack.environment, "SLACK_BOT_TOKEN": "", "SLACK_CLIENT_ID": "1.2", "SLACK_CLIENT_SECRET": "s"}
    return read_slack_settings(given, None)


async def test_what_was_installed_is_served_after_a_restart_until_it_is_forgotten(storage, settings):
    served = []
    for step in ("install", "forget", "look"):
        async with open_calls(settings) as calls, open_oauth(settings, storage, calls, [*SCOPES]) as flow:
            served.append(await calls.user_id(ACME.space))
            if step == "install":
                await flow.store.async_save(GRANTED)
                served.append(await calls.user_id(ACME.space))
            elif step == "forget":
                await flow.forget(ACME)

    assert served == ["", "UBOT", "UBOT", ""]


async def test_what_one_process_installed_another_one_finds_when_it_is_asked_for(
    postgres_url, tmp_path, settings
):
    ours = Settings(data_dir=tmp_path, database_url=postgres_url)
    with open_storage(ours) as here, open_storage(ours) as there:
        async with (
            open_calls(settings) as first,
            open_calls(settings) as second,
            open_oauth(settings, here, first, [*SCOPES]) as installs,
            open_oauth(settings, there, second, [*SCOPES]),
        ):
            before = await second.installation(ACME.space)
            await installs.store.async_save(GRANTED)
            other = await second.installation("T2")
            found = await second.installation(ACME.space)

            assert (before, other) == (None, None)
            assert found is not None
            assert (found.me.user_id, found.token) == ("UBOT", "xoxb-acme")

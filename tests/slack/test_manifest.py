"""The manifest that a newcomer pastes."""

from __future__ import annotations

import json
from argparse import Namespace

import pytest
from fakes.slack.events import EVENT_SCOPES, App

from bots.commands import describe
from bots.slack.settings import API_URL, EVENTS, UNINSTALLED, manifest, needed_scopes, read_slack_settings
from core.errors import SettingsError
from core.settings import Settings


def test_the_app_is_an_agent_that_can_be_written_to():
    features = manifest()["features"]

    assert "assistant_view" not in features
    assert 0 < len(features["agent_view"]["agent_description"]) <= 140
    assert features["app_home"]["messages_tab_enabled"]
    assert not features["app_home"]["messages_tab_read_only_enabled"]
    assert features["bot_user"]["display_name"] == "footnote"


def test_it_is_served_over_sockets_and_its_buttons_work():
    settings = manifest()["settings"]

    assert settings["socket_mode_enabled"]
    assert settings["interactivity"] == {"is_enabled": True}


def test_every_event_has_a_scope_that_lets_it_come():
    app = App.from_manifest(manifest())

    for event in app.events:
        needed = EVENT_SCOPES[event]
        assert not needed or app.scopes & set(needed), event


def test_it_asks_for_nothing_that_changes_the_workspace():
    scopes = App.from_manifest(manifest()).scopes

    assert {scope for scope in scopes if scope.endswith(":write")} == {"assistant:write", "chat:write"}


async def test_the_command_prints_it_as_json(capsys, tmp_path):
    asked = Namespace(platform="slack", sync=False, http=None, mcp=None)
    code = await describe.manifest(asked, Settings(data_dir=tmp_path))

    assert code == 0
    assert json.loads(capsys.readouterr().out) == manifest(
        scopes=needed_scopes(Settings(), (), has_readers=False)
    )


async def test_over_http_it_names_where_slack_sends_events_and_installers(capsys):
    asked = Namespace(platform="slack", sync=False, http="https://bot.example.com/", mcp=None)
    await describe.manifest(asked, Settings())

    told = json.loads(capsys.readouterr().out)

    settings = told["settings"]
    assert not settings["socket_mode_enabled"]
    urls = {settings[each]["request_url"] for each in ("event_subscriptions", "interactivity")}
    assert urls == {"https://bot.example.com/slack/events"}
    assert told["oauth_config"]["redirect_urls"] == ["https://bot.example.com/slack/oauth_redirect"]
    assert set(settings["event_subscriptions"]["bot_events"]) == {*EVENTS, *UNINSTALLED}
    assert "request_url" not in json.dumps(manifest())


@pytest.mark.parametrize(
    ("platform", "address"), [("slack", "http://bot.example.com"), ("discord", "https://a.b")]
)
async def test_an_address_that_slack_would_not_take_is_refused(platform, address):
    with pytest.raises(SettingsError, match="--http"):
        await describe.manifest(Namespace(platform=platform, sync=False, http=address, mcp=None), Settings())


BOT, SOCKET = {"SLACK_BOT_TOKEN": "xoxb-1"}, {"SLACK_APP_TOKEN": "xapp-1"}


OAUTH = {"SLACK_CLIENT_ID": "1.2", "SLACK_CLIENT_SECRET": "secret-c", "SLACK_SIGNING_SECRET": "secret-s"}


def test_without_a_bot_token_and_a_client_id_there_is_no_slack():
    assert read_slack_settings(SOCKET, None) is None


def test_a_client_id_and_its_secrets_serve_without_a_bot_token():
    settings = read_slack_settings(OAUTH, None)

    assert settings.has_oauth
    assert "secret-" not in repr(settings)
    assert not read_slack_settings(BOT | SOCKET, None).has_oauth


def test_a_client_id_needs_both_secrets():
    with pytest.raises(SettingsError) as fault:
        read_slack_settings({"SLACK_CLIENT_ID": "1.2"}, None)

    assert "SLACK_CLIENT_SECRET is needed" in str(fault.value)
    assert "SLACK_SIGNING_SECRET is needed" in str(fault.value)


def test_settings_are_read_and_secrets_are_not_shown():
    settings = read_slack_settings(BOT | SOCKET, None)

    assert (settings.bot_token, settings.app_token) == ("xoxb-1", "xapp-1")
    assert settings.api_url == API_URL
    assert "xoxb" not in repr(settings)
    assert "xapp" not in repr(settings)


def test_another_web_api_can_be_named():
    settings = read_slack_settings(BOT | SOCKET | {"SLACK_API_URL": "http://127.0.0.1:9/api"}, None)

    assert settings.api_url == "http://127.0.0.1:9/api/"


def test_a_token_may_stand_in_the_env_file(tmp_path):
    (tmp_path / ".env").write_text("SLACK_BOT_TOKEN=xoxb-2\nSLACK_SIGNING_SECRET=s\n")

    settings = read_slack_settings({}, tmp_path / ".env")

    assert (settings.bot_token, settings.signing_secret) == ("xoxb-2", "s")


def test_every_fault_is_named_and_no_token_is_repeated():
    wrong = {"SLACK_BOT_TOKEN": "xoxp-secret", "SLACK_APP_TOKEN": "secret", "SLACK_API_URL": "nowhere"}

    with pytest.raises(SettingsError) as fault:
        read_slack_settings(wrong, None)

    told = str(fault.value)
    assert all(name in told for name in wrong)
    assert "secret" not in told


def test_one_way_to_hear_of_events_is_needed():
    with pytest.raises(SettingsError, match="SLACK_APP_TOKEN is needed, or SLACK_SIGNING_SECRET"):
        read_slack_settings(BOT, None)


async def test_slackbot_may_ask_the_server_that_is_named_and_no_other_app_asks_for_that(capsys):
    url = "https://bot.example.com/mcp"

    await describe.manifest(Namespace(platform="slack", sync=False, http=None, mcp=url), Settings())
    asked = json.loads(capsys.readouterr().out)

    assert asked["mcp_servers"] == {"footnote": {"url": url, "auth_type": "slack_identity_auth"}}
    assert "mcp:connect" in asked["oauth_config"]["scopes"]["bot"]
    assert "mcp:connect" not in manifest()["oauth_config"]["scopes"]["bot"]

"""For which installation a payload is, as Slack sends them: plain, shared with another company, org-wide."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from bots.chat.incoming import ThreadState
from bots.slack.calls import Installation, Installations, open_calls
from bots.slack.oauth import STORE, open_oauth
from bots.slack.receive import receive
from bots.slack.route import Me, metadata_of, spaces_of
from bots.slack.settings import SCOPES, read_slack_settings
from core.storage.storage import Storage

ONE = Me(user_id="UBOT", bot_id="B1", team_id="T1")
IN_GRID = Me(user_id="UBOT", bot_id="B1", team_id="T1", enterprise_id="E1")
ORG = Me(user_id="UBOT", bot_id="B1", team_id="E1", enterprise_id="E1", is_org_wide=True)


def authorized(team, enterprise=None, *, is_org_wide=False):
    return {"team_id": team, "enterprise_id": enterprise, "is_enterprise_install": is_org_wide}


@pytest.mark.parametrize(
    ("payload", "spaces"),
    [
        ({"team_id": "T1"}, ("T1",)),
        ({"team_id": "T1", "enterprise_id": "E1"}, ("T1",)),
        ({"team_id": "T2", "authorizations": [authorized("T1")]}, ("T1",)),
        ({"team_id": "T2", "context_team_id": "T1", "authorizations": []}, ("T1",)),
        ({"team_id": "T1", "authorizations": [authorized("T2"), authorized("T1")]}, ("T2", "T1")),
        ({"team_id": "T2", "authorizations": [authorized("T2", "E1", is_org_wide=True)]}, ("E1",)),
        ({"team": {"id": "T1", "domain": "acme"}, "user": {"team_id": "T2"}}, ("T1",)),
        ({"team": "T1"}, ("T1",)),
        ({"team": {"id": "T2"}, "view": {"app_installed_team_id": "T1"}}, ("T1",)),
        ({"team": None, "enterprise": {"id": "E1"}, "is_enterprise_install": True}, ("E1",)),
        ({"team_id": "T2", "enterprise_id": "E1", "is_enterprise_install": "true"}, ("E1",)),
        ({"enterprise_id": "E1", "event": {"type": "app_uninstalled"}}, ("E1",)),
        ({"type": "event_callback"}, ()),
    ],
)
def test_an_authorization_says_more_than_the_workspace_of_whoever_wrote(payload, spaces):
    assert spaces_of(payload) == spaces


def mention(**more):
    event = {
        "type": "app_mention",
        "user": "U1",
        "text": "<@UBOT> Why?",
        "channel": "C1",
        "ts": "1700000000.000100",
    }
    return {"type": "event_callback", "team_id": "T1", "event": event} | more


@pytest.mark.parametrize(("me", "space"), [(ONE, "T1"), (IN_GRID, "T1"), (ORG, "E1")])
def test_conversations_hold_the_installation(me, space):
    """Of an org-wide one the organization's: a channel may be in several of its workspaces."""
    read = [receive(mention(team_id=team), me, ThreadState()) for team in ("T1", "T2")]

    assert {each.request.conversation.id for each in read} == {f"slack/{space}/C1/1700000000.000100"}
    assert {each.route["team"] for each in read} == {space}


@pytest.mark.parametrize(
    ("me", "names", "home"),
    [
        (ONE, {"team": "T1"}, None),
        (ONE, {"team": "T2", "user_team": "T2"}, "T2"),
        (ONE, {"team": "E2", "user_team": "E2"}, None),
        (ORG, {"team": "T2"}, "T2"),
    ],
)
def test_the_workspace_of_whoever_wrote_is_kept_where_it_is_another(me, names, home):
    payload = mention()

    read = receive(payload | {"event": payload["event"] | names}, me, ThreadState())

    assert read.route.get("user_team") == home


def test_a_workspace_of_an_organization_and_the_organization_are_two_installations():
    both = Installations()
    for me in (IN_GRID, ORG):
        both.add(Installation(me=me, token=f"xoxb-{me.space}"))

    assert both.of(mention(authorizations=[authorized("T1", "E1")])).token == "xoxb-T1"
    assert both.of(mention(authorizations=[authorized("T1", "E1", is_org_wide=True)])).token == "xoxb-E1"
    assert both.of(mention(authorizations=[authorized("T9", "E9")])) is None
    assert "xoxb" not in repr(both)


def test_in_a_channel_that_two_installations_share_the_mention_says_which_is_meant():
    both = Installations()
    for number in (1, 2):
        me = Me(user_id=f"UBOT{number}", bot_id=f"B{number}", team_id=f"T{number}")
        both.add(Installation(me=me, token=f"xoxb-{number}"))

    def shared(text, *, is_shared=True):
        payload = mention(authorizations=[authorized("T1")], is_ext_shared_channel=is_shared)
        return payload | {"event": payload["event"] | {"text": text}}

    assert both.of(shared("<@UBOT2> Why?")).token == "xoxb-2"
    assert both.of(shared("<@UBOT1> Why?")).token == "xoxb-1"
    assert both.of(shared("<@UBOT23> and <@UBOT1|bot>, why?")).token == "xoxb-1"
    assert both.of(shared("<@UBOT2> Why?", is_shared=False)).token == "xoxb-1"


def test_a_form_that_another_installation_opened_is_not_read():
    route = {
        "team": "T2",
        "channel": "C1",
        "thread": "1.0",
        "message": "1.0",
        "user": "U1",
        "is_direct": False,
    }
    view = {
        "id": "V1",
        "callback_id": "edit_query",
        "private_metadata": metadata_of("p1", route),
        "state": {"values": {}},
    }
    payload = {"type": "view_submission", "team": {"id": "T1"}, "user": {"id": "U1"}, "view": view}

    assert receive(payload, ONE, ThreadState()) is None


async def test_the_tokens_are_stored_in_a_folder_of_any_name(tmp_path, slack):
    given = {**slack.environment, "SLACK_CLIENT_ID": "1.2", "SLACK_CLIENT_SECRET": "s"}
    settings = read_slack_settings(given, None)
    folder = tmp_path / "why? 100%"
    folder.mkdir()

    async with (
        open_calls(settings) as calls,
        open_oauth(settings, Storage(data_dir=folder), calls, [*SCOPES]),
    ):
        tables = closing(sqlite3.connect(folder / f"{STORE}.sqlite"))

    with tables as database:
        assert database.execute("SELECT count(*) FROM slack_bots").fetchone() == (0,)


async def test_a_state_that_expired_installs_nothing_and_is_forgotten(tmp_path, slack):
    given = {**slack.environment, "SLACK_CLIENT_ID": "1.2", "SLACK_CLIENT_SECRET": "s"}
    settings = read_slack_settings(given, None)
    async with (
        open_calls(settings) as calls,
        open_oauth(settings, Storage(data_dir=tmp_path), calls, [*SCOPES]) as oauth,
    ):
        states = oauth.flow.settings.state_store
        expired, fresh = await states.async_issue(), await states.async_issue()
        with closing(sqlite3.connect(tmp_path / f"{STORE}.sqlite")) as database, database:
            aged = "UPDATE slack_oauth_states SET expire_at = '2020-01-01 00:00:00.000000' WHERE state = ?"
            database.execute(aged, (expired,))

        taken = [await states.async_consume(state) for state in (expired, fresh, fresh)]
        newest = await states.async_issue()

    with closing(sqlite3.connect(tmp_path / f"{STORE}.sqlite")) as database:
        assert database.execute("SELECT state FROM slack_oauth_states").fetchall() == [(newest,)]
    assert taken == [False, True, False]


def test_what_earlier_versions_stored_without_a_workspace_belongs_to_the_only_one():
    installations = Installations()
    installations.add(Installation(me=ONE, token="xoxb-1"))
    alone = installations.get("")
    installations.add(Installation(me=ORG, token="xoxb-2"))

    assert alone is not None
    assert installations.get("") is None

"""What the doctor finds in Slack: each fault is really there, in a Slack of ours that speaks its protocols."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing

import aiohttp
import pytest
from fakes.checkups import PATIENT, everything_in, findings, only, ran, states
from fakes.fork_server import run_python
from fakes.office import FERRY, Office, environment, served, workspace
from fakes.ports import free_port
from fakes.slack import App, FakeSlack, Hang, Refusal, ServerError
from fakes.slack.sockets import CONNECTIONS, Sockets

from bots.slack.settings import SCOPES, SOME_NEED, manifest

SIGNING_SECRET = "0123456789abcdef0123456789abcdef"


@pytest.fixture
async def slack():
    """A workspace in which the app was made from our own manifest."""
    app = App.from_manifest(manifest())
    async with FakeSlack(app=app, signing_secret=SIGNING_SECRET) as server:
        yield server


async def examined(office, *named, constants=PATIENT):
    slack = office.slack
    secrets = (slack.bot_token, slack.app_token, slack.signing_secret)
    return await findings(office, "Slack", *named, secrets=secrets, constants=constants)


async def test_a_workspace_that_is_set_up_is_found_so_and_nothing_is_changed(office, slack, ann, general):
    slack.add_channel("secret", ann, is_private=True)
    before = everything_in(office.folder)

    found = await examined(office, "slack")

    assert states(found) == {
        "bot": {"ok"}, "scopes": {"ok"}, "clock": {"ok"}, "channels": {"ok"}, "socket": {"ok"},
        "HTTP": {"ok"}, "events": {"warning"},
    }  # fmt: skip
    assert only(found, "bot")["finding"] == "@footnote in the workspace acme."
    assert only(found, "channels")["finding"] == "In 1 public and 1 private ones."
    assert "footnote manifest slack" in only(found, "events")["fix"]
    assert slack.state.conversations[general].messages == {}
    assert slack.sockets.opened == 1
    assert slack.rejected == []
    assert everything_in(office.folder) == before


async def test_beside_the_process_that_serves_it_knows_it_and_what_has_come(office, slack, ann, general):
    await office.open()
    asked = await slack.mention(ann, general, FERRY)
    await office.until_answered(asked)

    found = await examined(office)
    later = await slack.mention(ann, general, FERRY)
    await office.until_answered(later)

    assert only(found, "socket")["state"] == "ok"
    owner = f"process {office.process.pid}, footnote run"
    assert only(found, "socket")["finding"] == f"It opens, beside 2 of {owner}."
    assert only(found, "events")["finding"].startswith("They come: the newest thread began on ")
    assert (slack.rejected, office.faults) == ([], [])


class EagerSockets(Sockets):
    """Brings what waits before it greets: a socket takes part in the events from its first moment."""

    async def _welcome(self, connection):
        await self.slack.redeliver()
        assert connection.carried
        await super()._welcome(connection)


async def test_an_event_that_comes_to_the_doctor_is_left_for_whoever_serves(tmp_path, template):
    slack = FakeSlack(app=App.from_manifest(manifest()))
    slack.sockets = EagerSockets(slack)
    async with slack:
        ann = slack.add_user("ann")
        asked = await slack.mention(ann, slack.add_channel("general", ann), FERRY)

        found = await examined(Office.copied(template, tmp_path, slack))

    assert only(found, "socket")["finding"] == "It opens."
    assert slack.sockets.live == []
    assert not any(delivery.is_acked for delivery in slack.deliveries_of(asked))
    assert slack.rejected == []


async def test_missing_scopes_are_each_named_with_what_for_and_those_too_many_together(tmp_path, template):
    granted = (frozenset(SCOPES) - {"files:read", "groups:read"}) | {"team:read", "im:write"}
    async with FakeSlack(app=App(scopes=granted)) as slack:
        office = Office.copied(template, tmp_path, slack)
        slack.add_channel("general", slack.add_user("ann"))

        found = await examined(office)

    missing = [each for each in found["scopes"] if each["state"] == "failed"]
    assert [each["finding"] for each in missing] == [
        f"{scope} is missing: {SCOPES[scope]}." for scope in ("files:read", "groups:read")
    ]
    assert "OAuth & Permissions › Scopes: add files:read, then Reinstall" in missing[0]["fix"]
    (more,) = [each for each in found["scopes"] if each["state"] == "warning"]
    assert more["finding"] == "Granted, but not used: im:write, team:read."
    assert only(found, "channels")["finding"] == "In 1 public and 0 private ones."


@pytest.mark.parametrize(
    ("needs", "scope"),
    [
        ({}, ""),
        ({"EXPERTS": "U1"}, "commands"),
        ({"LEARNERS": "U1"}, "commands"),
        ({"WEB_APPROVERS": "S1"}, "usergroups:read"),
        ("access default --groups S0123ABCD", "usergroups:read"),
        ("readers", "users:read.email"),
    ],
)
async def test_a_scope_that_only_some_need_is_a_hint_until_something_needs_it(
    tmp_path, template, needs, scope
):
    async with FakeSlack(app=App(scopes=frozenset(SCOPES) - SOME_NEED)) as slack:
        office = Office.copied(template, tmp_path, slack)
        slack.add_channel("general", slack.add_user("ann"))
        if isinstance(needs, dict):
            office.settings |= needs
        elif needs == "readers":
            with closing(sqlite3.connect(office.folder / ".footnote" / "library.sqlite")) as library, library:
                library.execute("INSERT INTO readers VALUES ('default', 'ann@example.org')")
        else:
            await asyncio.to_thread(
                run_python, "-m", "bots", *needs.split(), cwd=office.folder, env=environment(office.folder)
            )

        found = await examined(office)
        printed = await asyncio.to_thread(
            run_python, "-m", "bots", "manifest", "slack", cwd=office.folder,
            env=environment(office.folder) | office.settings,
        )  # fmt: skip

    asked = json.loads(printed.stdout)
    assert set(asked["oauth_config"]["scopes"]["bot"]) == set(SCOPES) - SOME_NEED | ({scope} - {""})
    assert ("shortcuts" in asked["features"]) == (scope == "commands")
    findings = found["scopes"]
    if scope:
        (missing,) = findings
        assert missing["state"] == "failed"
        assert missing["finding"].startswith(f"{scope} is missing: ")
        assert f"add {scope}, then Reinstall" in missing["fix"]
    else:
        (hint,) = findings
        assert hint["state"] == "ok"
        assert all(f"{each} is not granted, and not needed so far." in hint["finding"] for each in SOME_NEED)


@pytest.mark.parametrize(
    ("code", "told", "cure"),
    [
        ("token_revoked", "SLACK_BOT_TOKEN was revoked.", "Reinstall to Workspace"),
        ("account_inactive", "The app was removed from its workspace.", "Reinstall to Workspace"),
        ("team_access_not_granted", "Slack refused SLACK_BOT_TOKEN: team_access_not_granted.", "Check"),
    ],
)
async def test_a_token_that_slack_refuses_is_told_and_what_stands_on_it_left_out(
    office, slack, code, told, cure
):
    slack.faults.queue("auth.test", Refusal(code))

    found = await examined(office)

    assert only(found, "bot")["finding"] == told
    assert cure in only(found, "bot")["fix"]
    for check in ("scopes", "clock", "channels"):
        assert only(found, check)["finding"] == "Not looked at until Slack takes SLACK_BOT_TOKEN."
    assert only(found, "socket")["state"] == "ok"


async def test_tokens_that_slack_does_not_know_are_told(office, slack):
    office.settings |= {"SLACK_BOT_TOKEN": "xoxb-sesame-sesame", "SLACK_APP_TOKEN": "xapp-sesame-sesame"}

    found = await examined(office)

    assert only(found, "bot")["finding"] == "Slack does not know SLACK_BOT_TOKEN."
    assert only(found, "socket")["finding"] == "Slack does not know SLACK_APP_TOKEN."


async def test_an_app_level_token_without_its_scope_is_told(tmp_path, template):
    async with FakeSlack(app=App(app_scopes=frozenset())) as slack:
        found = await examined(Office.copied(template, tmp_path, slack))

    assert only(found, "socket")["finding"] == "SLACK_APP_TOKEN lacks connections:write."
    assert "App-Level Tokens" in only(found, "socket")["fix"]
    assert only(found, "bot")["state"] == "ok"


async def test_a_socket_that_is_turned_away_is_told_with_slack_s_reason(office, slack):
    async with aiohttp.ClientSession() as session:
        others = [await session.ws_connect(slack.sockets.ticket()) for _ in range(CONNECTIONS)]
        await slack.until_connected(len(others))

        found = await examined(office)

    assert only(found, "socket")["state"] == "failed"
    assert only(found, "socket")["finding"].startswith("The app has ten sockets already")


async def test_another_process_that_takes_the_app_s_events_is_told(office, slack):
    async with aiohttp.ClientSession() as session, session.ws_connect(slack.sockets.ticket()):
        await slack.until_connected()

        found = await examined(office)

    assert only(found, "socket")["state"] == "warning"
    assert "1 other connection of this app that is not from here" in only(found, "socket")["finding"]


async def test_tokens_of_two_apps_are_told(office, slack):
    slack.state.users[slack.bot].app_id = "A0OTHER"

    found = await examined(office)

    assert "belong to two apps" in only(found, "socket")["finding"]


async def test_a_bot_in_no_channel_is_told_how_to_invite_it(office):
    found = await examined(office)

    assert only(found, "channels")["state"] == "warning"
    assert only(found, "channels")["fix"].endswith("/invite @footnote")


async def test_a_clock_that_is_wrong_matters_for_signatures(office, slack):
    slack.state.clock.ahead = 90.0
    apart = await examined(office)
    slack.state.clock.ahead = -400.0

    useless = await examined(office)

    assert only(apart, "clock")["state"] == "warning"
    assert "behind Slack's" in only(apart, "clock")["finding"]
    assert only(useless, "clock")["state"] == "failed"
    assert "ahead of Slack's" in only(useless, "clock")["finding"]


async def test_a_slack_that_keeps_silent_is_given_up_side_by_side(office, slack):
    for method in ("auth.test", "apps.connections.open"):
        slack.faults.queue(method, Hang())

    found = await examined(office, constants={"bots.doctor.slack:PATIENCE": 1.0})

    assert only(found, "bot")["finding"] == "Slack cannot be reached, or does not answer within 1 s."
    assert only(found, "socket")["finding"] == "No socket opened within 1 s."


async def test_a_slack_that_is_broken_or_out_of_reach_is_told(office, slack):
    slack.faults.queue("auth.test", ServerError(503))
    broken = await examined(office)
    office.settings |= {"SLACK_API_URL": "http://127.0.0.1:9/api"}

    unreachable = await examined(office)

    assert only(broken, "bot")["finding"] == "Slack refused SLACK_BOT_TOKEN: HTTP 503."
    assert only(unreachable, "bot")["state"] == only(unreachable, "socket")["state"] == "failed"


@pytest.mark.parametrize(
    ("given", "check", "told", "cure"),
    [
        (
            {"SLACK_BOT_TOKEN": "xapp-sesame-sesame", "SLACK_APP_TOKEN": "xoxb-sesame-sesame"},
            "settings", "SLACK_BOT_TOKEN must be a bot token", "swap them",
        ),
        ({"SLACK_BOT_TOKEN": ""}, "settings", "SLACK_BOT_TOKEN is not set.", "Bot User OAuth Token"),
        (
            {"SLACK_APP_TOKEN": "", "SLACK_SIGNING_SECRET": ""},
            "settings", "SLACK_APP_TOKEN is needed", "App-Level Tokens",
        ),
        ({"SLACK_API_URL": "nowhere"}, "settings", "SLACK_API_URL must be", "Take it out"),
        ({"SLACK_SIGNING_SECRET": "sesame-sesame"}, "HTTP", "does not look like one", "Signing Secret"),
        ({"LEARNERS": "U1A,ann"}, "people", "ann in LEARNERS is no id of Slack's.", "Copy member ID"),
    ],
)  # fmt: skip
async def test_a_wrong_setting_is_told_with_where_to_get_the_right_one(office, given, check, told, cure):
    office.settings |= given

    found = await examined(office)

    assert told in found[check][0]["finding"]
    assert cure in found[check][0]["fix"]


async def test_over_http_no_socket_is_opened(office, slack):
    office.settings |= {"SLACK_APP_TOKEN": ""}

    found = await examined(office, "slack")

    assert "socket" not in found
    assert only(found, "HTTP")["state"] == "ok"
    assert slack.sockets.opened == 0


async def test_threads_of_another_workspace_are_no_sign_of_life(office, slack):
    with closing(sqlite3.connect(office.folder / ".footnote" / "rooms.sqlite")) as database, database:
        database.execute("CREATE TABLE threads (conversation TEXT PRIMARY KEY, asker TEXT NOT NULL)")
        database.execute("INSERT INTO threads VALUES ('slack/T9/C1/1700000000.000100', 'U1')")

    elsewhere = await examined(office)
    slack.faults.queue("auth.test", Refusal("token_revoked"))
    of_some = await examined(office)

    assert only(elsewhere, "events")["state"] == "warning"
    assert "14 Nov 2023" in only(of_some, "events")["finding"]


async def test_for_a_person_it_reads_well_and_shows_no_token(office, slack, ann, general):
    slack.faults.queue("auth.test", Refusal("token_revoked"))

    code, out, err = await ran(office, "slack")

    told = out.splitlines()
    place = told.index("✗ Slack bot        SLACK_BOT_TOKEN was revoked.")
    assert "→ https://api.slack.com/apps › your app › OAuth & Permissions" in told[place + 1]
    assert "– Slack scopes     Not looked at until Slack takes SLACK_BOT_TOKEN." in told
    assert (code, err) == (1, "")
    assert "xoxb" not in out
    assert slack.app_token not in out


async def test_the_doctor_names_each_workspace_and_what_is_wrong_with_its_token(installable, slack):
    none_yet = await examined(installable)
    await served(installable, slack)
    await workspace(installable, slack, "acme")
    globex, *_ = await workspace(installable, slack, "globex")
    await installable.stop()
    slack.refused_tokens[slack.state.installation(globex).token] = "account_inactive"

    found = await examined(installable)

    assert [each["state"] for each in none_yet["workspaces"]] == ["warning"]
    assert {each["finding"]: each["state"] for each in found["workspaces"]} == {
        "acme installed the app.": "ok",
        "globex: Slack refuses its token, account_inactive.": "failed",
    }
    assert "/slack/install" in found["workspaces"][1]["fix"]
    assert "bot" not in found
    assert {each["state"] for each in found["HTTP"]} <= {"ok", "warning"}


async def test_whose_the_other_sockets_are_is_not_known_while_postgresql_is_away(office, slack):
    office.settings["DATABASE_URL"] = f"postgresql://ada:sesame@127.0.0.1:{free_port()}/footnote"
    async with aiohttp.ClientSession() as session, session.ws_connect(slack.sockets.ticket()):
        await slack.until_connected()

        found = await examined(office)

    assert only(found, "socket") == {
        "check": "Slack socket", "state": "warning",
        "finding": "It opens, and so did 1 other connection of this app, perhaps from here: that is not known while "
        "DATABASE_URL cannot be opened.",
        "fix": "Bring PostgreSQL back, and run the doctor again.",
    }  # fmt: skip


async def test_beside_processes_that_share_postgresql_it_knows_that_the_sockets_are_theirs(
    office, slack, ann, general, postgres_url
):
    office.settings["DATABASE_URL"] = postgres_url
    await office.open()

    found = await examined(office)

    assert only(found, "socket")["state"] == "ok"
    assert only(found, "socket")["finding"] == "It opens, beside 2 of a running Footnote."

"""Several workspaces: each is served with its own token, and one without the app is not answered."""

from __future__ import annotations

import json
import sqlite3
import stat
from contextlib import closing

from fakes.office import CUP, FERRY, FERRY_ANSWER, FRANCE, PONTOON, PONTOON_ANSWER, served, workspace
from fakes.slack.deliveries import Delivery
from fakes.slack.oauth import Browser, announce_uninstall, uninstall
from fakes.web_servers import FakeSearXNG

from bots.slack.settings import SCOPES, SOME_NEED

BEES = ("bees.md", b"# Bees\n\nThe bees of the harbour sleep at night in nine hives.\n")
HIVES = "In how many hives do the bees sleep?"
FOREIGN = "what came from a workspace without the app was left alone"


def foreign_entries(office):
    return [entry for entry in office.faults if entry["message"] == FOREIGN]


async def test_with_one_token_no_other_workspace_is_answered(office, slack, ann, general):
    """Whatever it sends: a mention, a direct message, the page of the app; and it is logged once."""
    other = slack.add_workspace("globex", "xoxb-other")
    eve = slack.add_user("eve", team=other)
    elsewhere = slack.add_channel("elsewhere", eve, team=other)
    await office.open()

    asked = [await slack.mention(eve, elsewhere, FERRY), await slack.dm(eve, FERRY)]
    await slack.open_home(eve)
    for each in asked:
        await slack.until_acked(each)
    here = await slack.mention(ann, general, FERRY)
    (answer,) = await office.until_answered(here)

    assert FERRY_ANSWER in answer.visible
    assert slack.posts() == [answer]
    assert slack.prompts == {}
    assert slack.rejected == []
    assert len(foreign_entries(office)) == 1


async def test_a_channel_that_is_shared_with_another_company_is_served(office, slack, ann, general):
    """Slack Connect: the event names the workspace of whoever wrote, its authorization names ours."""
    partner = slack.add_workspace("partner")
    pam = slack.add_user("pam", team=partner)
    slack.share(general, partner, pam)
    await office.open()

    asked = await slack.mention(pam, general, FERRY)
    (answer,) = await office.until_answered(asked)
    follow_up = await slack.mention(ann, general, PONTOON, asked.ts)
    _, other = await office.until_answered(follow_up, 2)

    assert {delivery.payload["team_id"] for delivery in slack.deliveries_of(asked)} == {partner}
    assert FERRY_ANSWER in answer.visible
    assert PONTOON_ANSWER in other.visible
    assert slack.rejected == []


def stored_tokens(office):
    with closing(sqlite3.connect(office.folder / ".footnote" / "slack.sqlite")) as database:
        tables = ("slack_bots", "slack_installations")
        return {token for table in tables for (token,) in database.execute(f"SELECT bot_token FROM {table}")}


def tokens_used(slack, channel):
    """With which tokens anything was done in a channel."""
    return {call.token for call in slack.calls if channel in (call.get("channel"), call.get("channel_id"))}


async def test_each_workspace_is_answered_with_its_own_token_also_after_a_kill(installable, slack):
    await served(installable, slack)
    teams = [await workspace(installable, slack, name) for name in ("acme", "globex")]
    asked = [await slack.mention(user, channel, FERRY) for _, user, channel in teams]
    answers = [await installable.until_answered(each) for each in asked]
    await installable.kill()
    await served(installable, slack)
    again = [await slack.mention(user, channel, PONTOON) for _, user, channel in teams]
    others = [await installable.until_answered(each) for each in again]

    assert [FERRY_ANSWER in answer.visible for (answer,) in answers] == [True] * 2
    assert [PONTOON_ANSWER in answer.visible for (answer,) in others] == [True] * 2
    for team, _, channel in teams:
        assert tokens_used(slack, channel) == {slack.state.installation(team).token}
    assert slack.rejected == []
    file = installable.folder / ".footnote" / "slack.sqlite"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    granted = [grant.scopes for grant in slack.codes.values()]
    assert granted == [frozenset(SCOPES) - SOME_NEED] * 2
    assert "xoxb-" not in installable.log


async def test_what_one_workspace_learns_and_decides_is_no_others(installable, slack):
    async with FakeSearXNG([FRANCE]) as engine:
        installable.settings |= {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        await served(installable, slack)
        _, ann, here = await workspace(installable, slack, "acme")
        _, eve, there = await workspace(installable, slack, "globex")
        (learned,) = await installable.until_answered(await slack.mention(ann, here, "learn", files=[BEES]))
        known = await slack.mention(ann, here, HIVES)
        (answer,) = await installable.until_answered(known)
        unknown = await slack.mention(eve, there, HIVES)
        (nothing,) = await installable.until_answered(unknown)
        asked = await slack.mention(ann, here, CUP)
        (card,) = await installable.until_answered(asked)
        told_here = slack.told("app_mention")[-1]

        # A press elsewhere that names the proposal from here.
        pressed = await slack.press(nothing, "approve", eve)
        stolen = json.loads(json.dumps(pressed.payload))
        stolen["actions"][0] |= {
            "value": next(each["value"] for each in buttons_of(card) if each["action_id"] == "approve"),
            "action_ts": slack.state.clock.ts(),
        }
        status, _ = await slack.forge(stolen)
        await slack.until(lambda: slack.ephemerals(eve))

    assert "1 document added" in learned.visible
    assert "nine hives" in answer.visible
    assert "nine hives" not in nothing.visible
    assert status == 200
    assert CUP not in [request.query["q"] for request in engine.requests]
    assert "Nothing is sent until then." in card.visible
    assert told_here["team_id"] == slack.state.conversations[here].team
    assert "no web search to decide" in slack.ephemerals(eve)[0].visible
    assert slack.rejected == []


def buttons_of(message):
    return [each for block in message.blocks for each in block.get("elements", ()) if "action_id" in each]


async def test_a_channel_of_two_workspaces_has_two_conversations(installable, slack):
    """The same ids of channel and message, as in a channel that two companies share."""
    await served(installable, slack)
    acme, ann, general = await workspace(installable, slack, "acme")
    globex, _, _ = await workspace(installable, slack, "globex")
    asked = await slack.mention(ann, general, FERRY)
    await installable.until_answered(asked)

    copied = json.loads(json.dumps(slack.told("app_mention")[-1]))
    bots = [slack.state.bot(team).id for team in (acme, globex)]
    copied = json.loads(json.dumps(copied).replace(acme, globex).replace(*bots))
    await slack.forge(copied)
    await slack.until(lambda: "chat.postMessage: channel_not_found" in slack.rejected)
    await installable.stop()

    with closing(sqlite3.connect(installable.folder / ".footnote" / "rooms.sqlite")) as database:
        threads = {name for (name,) in database.execute("SELECT conversation FROM threads")}
    assert threads == {f"slack/{team}/{general}/{asked.ts}" for team in (acme, globex)}
    assert len(slack.replies(general, asked.ts)) == 1


async def test_who_uninstalls_is_forgotten_and_who_installs_again_is_answered(installable, slack):
    await served(installable, slack)
    team, ann, general = await workspace(installable, slack, "acme")
    token = slack.state.installation(team).token
    slack.refused_tokens[token] = "account_inactive"
    asked = await slack.mention(ann, general, FERRY)
    await slack.until_acked(asked)
    await uninstall(slack, team)
    await slack.until(lambda: "uninstalled the app" in installable.log)
    late = await slack.mention(ann, general, PONTOON)
    await slack.until_acked(late)

    status, _ = await installable.browser.install(team, ann)
    (answer,) = await installable.until_answered(asked)
    await installable.kill()

    assert status == 200
    assert FERRY_ANSWER in answer.visible
    assert slack.replies(general, late.ts) == []
    assert stored_tokens(installable) == {slack.state.installation(team).token} != {token}


async def test_an_event_of_an_uninstall_that_comes_late_forgets_nobody(installable, slack):
    await served(installable, slack)
    team, ann, general = await workspace(installable, slack, "acme")
    installation = slack.state.installation(team)
    await installable.browser.install(team, ann)
    slack.refused_tokens[installation.token] = "account_inactive"

    await announce_uninstall(slack, installation)
    await slack.until(lambda: not slack.deliveries.unacknowledged)
    (answer,) = await installable.until_answered(await slack.mention(ann, general, FERRY))
    await installable.kill()
    await served(installable, slack)
    (other,) = await installable.until_answered(await slack.mention(ann, general, PONTOON))

    assert FERRY_ANSWER in answer.visible
    assert PONTOON_ANSWER in other.visible


async def test_nothing_is_installed_unless_browser_state_and_code_belong_together(installable, slack):
    await served(installable, slack)
    team = slack.add_workspace("acme")
    eve = slack.add_user("eve", team=team)
    url = installable.browser.app_url

    async def come_back(browser=None, **changed):
        """What becomes of somebody whose browser comes back from Slack with something changed."""
        mine = Browser(slack, url)
        back = await mine.allow(team, eve) | changed
        status, page = await (browser or mine).get("/slack/oauth_redirect", **back)
        assert "xoxb-" not in page
        return status

    assert await come_back(Browser(slack, url)) == 400
    assert await come_back(state="made up") == 400
    assert await come_back(code="made up") == 401
    assert await come_back(error="access_denied") == 200
    mine = Browser(slack, url)
    again = await mine.allow(team, eve)
    cookies = dict(mine.cookies)
    assert slack.state.installations == {}
    assert (await mine.get("/slack/oauth_redirect", **again))[0] == 200
    mine.cookies = cookies
    assert (await mine.get("/slack/oauth_redirect", **again))[0] == 401
    assert len(slack.state.installations) == 1
    assert again["code"] not in installable.log


async def test_the_workspace_of_the_bot_token_is_served_beside_those_that_install_the_app(installable, slack):
    slack.grant(slack.team, slack.bot_token)
    installable.settings["SLACK_BOT_TOKEN"] = slack.bot_token
    await served(installable, slack)
    ann = slack.add_user("ann")
    general = slack.add_channel("general", ann)
    _, eve, there = await workspace(installable, slack, "globex")

    asked = [await slack.mention(ann, general, FERRY), await slack.mention(eve, there, FERRY)]
    answers = [await installable.until_answered(each) for each in asked]

    assert [len(each) for each in answers] == [1, 1]
    assert tokens_used(slack, general) == {slack.bot_token}
    assert slack.rejected == []


async def test_user_groups_of_one_workspace_are_nobody_in_another(installable, slack):
    await served(installable, slack)
    await installable.stop()
    acme = slack.add_workspace("acme")
    ann = slack.add_user("ann", team=acme)
    slack.team, before = acme, slack.team
    group = slack.add_usergroup("teachers", ann)
    slack.team = before
    installable.settings["LEARNERS"] = group
    await served(installable, slack)
    status, _ = await installable.browser.install(acme, ann)
    here = slack.add_channel("general", ann, team=acme)
    _, eve, there = await workspace(installable, slack, "globex")

    (learned,) = await installable.until_answered(await slack.mention(ann, here, "learn", files=[BEES]))
    await slack.mention(eve, there, "learn", files=[BEES])
    (told,) = await slack.until(lambda: slack.ephemerals(eve))

    assert status == 200
    assert "1 document added" in learned.visible
    assert "LEARNERS" in told.visible


async def test_what_cannot_be_read_is_logged_once_and_stops_nothing(office, slack, ann, general):
    """Payloads that lack what others have, as were recorded elsewhere; a mention that is whole comes after."""
    await office.open()
    asked = await slack.mention(ann, general, FERRY)
    await office.until_answered(asked)
    whole = slack.told("app_mention")[0]
    for missing in ("channel", "ts", "user"):
        event = {name: value for name, value in whole["event"].items() if name != missing}
        event.pop("event_ts", None)
        delivery = Delivery("events_api", whole | {"event": event})
        await slack.deliveries.offer(delivery)
        await slack.until(lambda done=delivery: done.is_acked)

    (answer,) = await office.until_answered(await slack.mention(ann, general, PONTOON))

    assert PONTOON_ANSWER in answer.visible
    assert [entry["message"] for entry in office.faults] == ["what could not be read was left out"]


async def test_over_sockets_nobody_can_install_it(installable):
    installable.arguments = ("run", "slack")
    await installable.open(is_connected=False)

    assert await installable.process.wait() == 2
    assert "--http PORT" in installable.log

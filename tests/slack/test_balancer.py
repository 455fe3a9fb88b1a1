"""Two processes serve Slack over HTTP behind a balancer: what one took, the other goes on with."""

from __future__ import annotations

import asyncio

import psycopg
import pytest
from fakes.balancer import Balancer
from fakes.office import (
    CUP,
    FERRY,
    FERRY_ANSWER,
    FRANCE,
    PONTOON,
    PONTOON_ANSWER,
    Office,
    served,
)  # fmt: skip
from fakes.ports import free_port
from fakes.served import index_handbook
from fakes.slack.oauth import Browser, announce_uninstall
from fakes.web_servers import FakeSearXNG

EVENTS = "/slack/events"
ENDING = 60.0  # seconds until a question is answered on a busy machine


@pytest.fixture
async def engine():
    async with FakeSearXNG([FRANCE]) as server:
        yield server


@pytest.fixture
def settings(postgres_url, engine):
    return {
        "DATABASE_URL": postgres_url, "WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url, "SLACK_APP_TOKEN": "",
    }  # fmt: skip


@pytest.fixture
async def processes(tmp_path, slack, settings):
    """Not begun yet; each with a folder of its own, as on two machines."""
    await asyncio.to_thread(index_handbook, tmp_path, settings["DATABASE_URL"])
    both = []
    for name in ("first", "second"):
        (folder := tmp_path / name).mkdir()
        port = free_port()
        arguments = ("run", "slack", "--http", str(port))
        both.append(Office(folder=folder, slack=slack, settings=dict(settings), arguments=arguments))
        both[-1].port = port
    try:
        yield both
    finally:
        for each in both:
            await each.__aexit__()


@pytest.fixture
def asker(slack, ann, general):
    """Slack, and who asks where."""
    return slack, ann, general


@pytest.fixture
async def balancer(processes, slack):
    async with Balancer([f"http://127.0.0.1:{each.port}" for each in processes]) as between:
        slack.request_url = f"{between.url}{EVENTS}"
        yield between


async def start(processes, slack):
    await asyncio.gather(*(served(each, slack) for each in processes))


async def test_questions_go_to_both_and_each_is_answered_once_however_often_it_is_sent(
    processes, balancer, slack, ann, general
):
    await start(processes, slack)

    asked = [await slack.mention(ann, general, FERRY) for _ in range(6)]
    for each in asked:  # with X-Slack-Retry-Num, to whichever process is next
        await slack.duplicate(each, "retry")
    for each in asked:
        await processes[0].until_answered(each, within=ENDING)
        await slack.duplicate(each, "retry")
    marker = await slack.mention(ann, general, PONTOON)
    (last,) = await processes[0].until_answered(marker, within=ENDING)

    answers = [slack.replies(general, each.ts) for each in asked]
    assert [len(each) for each in answers] == [1] * len(asked)
    assert all(FERRY_ANSWER in answer.visible for (answer,) in answers)
    assert PONTOON_ANSWER in last.visible
    assert {number for number, _ in balancer.passed} == {0, 1}
    assert slack.rejected == []


@pytest.mark.parametrize("presser", [0, 1])
async def test_a_search_is_edited_through_one_process_and_submitted_through_the_other(
    processes, balancer, asker, engine, presser
):
    slack, ann, general = asker
    await start(processes, slack)
    asked = await slack.mention(ann, general, CUP)
    (card,) = await processes[0].until_answered(asked, within=ENDING)

    balancer.pinned = {EVENTS: presser}
    await slack.press(card, "edit", ann)
    modal = await slack.until(lambda: slack.modal(ann))
    balancer.pinned = {EVENTS: 1 - presser}
    await slack.submit(modal, {"query": "football world cup 1998 winner"})
    _, answer = await processes[0].until_answered(asked, 2, within=ENDING)

    assert "France" in answer.visible
    assert [request.query["q"] for request in engine.requests] == ["football world cup 1998 winner"]
    assert slack.rejected == []


async def test_a_button_that_both_processes_are_sent_searches_once(processes, balancer, asker, engine):
    slack, ann, general = asker
    await start(processes, slack)
    asked = await slack.mention(ann, general, CUP)
    (card,) = await processes[0].until_answered(asked, within=ENDING)
    balancer.passed.clear()

    await asyncio.gather(slack.press(card, "approve", ann), slack.press(card, "approve", ann))
    _, answer = await processes[0].until_answered(asked, 2, within=ENDING)
    await slack.until(lambda: not slack.deliveries.unacknowledged)

    assert {number for number, path in balancer.passed if path == EVENTS} == {0, 1}
    assert "France" in answer.visible
    assert len(engine.requests) == 1


async def test_while_one_process_is_gone_the_other_takes_all_and_ends_what_was_begun(
    processes, balancer, slack, ann, general
):
    await start(processes, slack)
    asked = [await slack.mention(ann, general, FERRY) for _ in range(4)]
    await processes[0].kill()
    asked += [await slack.mention(ann, general, FERRY) for _ in range(2)]
    await slack.redeliver()

    for each in asked:
        await processes[1].until_answered(each, within=ENDING)

    assert [len(slack.replies(general, each.ts)) for each in asked] == [1] * len(asked)
    assert balancer.passed[-1][0] == 1


# Workspaces that install the app


@pytest.fixture
def installable(processes, slack):
    slack.state.installations.clear()
    for each in processes:
        each.settings |= {
            "SLACK_BOT_TOKEN": "", "SLACK_CLIENT_ID": slack.client_id, "SLACK_CLIENT_SECRET": slack.client_secret,
        }  # fmt: skip
    return processes


async def install(slack, balancer, team, user, *, begins):
    """Opens the page at one process and comes back from Slack to the other; the status."""
    balancer.pinned = {"/slack/install": begins, "/slack/oauth_redirect": 1 - begins}
    status, _ = await Browser(slack, balancer.url).install(team, user)
    return status


async def test_an_installation_begun_at_one_process_ends_at_the_other_and_both_serve_it_at_once(
    installable, balancer, slack
):
    await start(installable, slack)
    stranger = slack.add_workspace("stranger", "xoxb-stranger")
    eve = slack.add_user("eve", team=stranger)
    for _ in range(2):  # both processes have just looked for a workspace that is not installed
        await slack.dm(eve, FERRY)
    await slack.until(lambda: not slack.deliveries.unacknowledged)
    team = slack.add_workspace("acme")
    user = slack.add_user("ann", team=team)

    status = await install(slack, balancer, team, user, begins=0)
    channel = slack.add_channel("general", user, team=team)
    asked = [await slack.mention(user, channel, FERRY) for _ in range(4)]
    answers = [await installable[0].until_answered(each, within=ENDING) for each in asked]

    assert status == 200
    assert [len(each) for each in answers] == [1] * len(asked)
    assert slack.rejected == []


async def test_a_token_that_one_process_was_granted_anew_is_used_by_the_other_too(
    installable, balancer, slack
):
    await start(installable, slack)
    team = slack.add_workspace("acme")
    user = slack.add_user("ann", team=team)
    await install(slack, balancer, team, user, begins=0)
    channel = slack.add_channel("general", user, team=team)
    before = [await slack.mention(user, channel, FERRY) for _ in range(2)]
    for each in before:
        await installable[0].until_answered(each, within=ENDING)

    slack.refused_tokens[slack.state.installation(team).token] = "account_inactive"
    taken_away = slack.state.installation(team)
    again = await install(slack, balancer, team, user, begins=1)
    for _ in range(
        2
    ):  # late, and to both: the one that still knows the old token must not delete the new one
        await announce_uninstall(slack, taken_away)
    await slack.until(lambda: not slack.deliveries.unacknowledged)
    asked = [await slack.mention(user, channel, PONTOON) for _ in range(4)]
    answers = [await installable[0].until_answered(each, within=ENDING) for each in asked]

    granted = await asyncio.to_thread(stored_tokens, installable[0].settings["DATABASE_URL"])
    assert again == 200
    assert granted[-1:] == [slack.state.installation(team).token]
    assert [len(each) for each in answers] == [1] * len(asked)


def stored_tokens(url):
    with psycopg.connect(url) as connection:
        return [
            token for (token,) in connection.execute("SELECT bot_token FROM slack_bots ORDER BY installed_at")
        ]

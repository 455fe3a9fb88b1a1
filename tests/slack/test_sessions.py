"""What an agent shows while it works, and what its answer does: a status, Slack's Stop, a plan, a new reply."""

from __future__ import annotations

import re
from contextlib import asynccontextmanager

import pytest
from fakes.gemini import FakeGemini
from fakes.gemini import Hang as NoReply
from fakes.office import CUP, FERRY, FERRY_ANSWER, FRANCE, PATIENCE
from fakes.slack import Hang, LostResponse, RateLimited, Refusal, ServerError, Slow
from fakes.slack.blocks import interactive
from fakes.web_servers import FakeSearXNG, HangingSearXNG

from bots.slack.calls import open_calls
from bots.slack.post import SlackPosts
from bots.slack.render import LAYOUT
from bots.slack.settings import read_slack_settings

#: What an app lacks, by what it shows in place of a plan.
LACKS = {
    "a plan": (),
    "a status": ("chat.startStream",),
    "words": ("chat.startStream", "agents.sessions.setStatus"),
    "a message": ("chat.startStream", "agents.sessions.setStatus", "assistant.threads.setStatus"),
}


@pytest.fixture
def people(ann, general):
    return ann, general


def make_app(slack, shown):
    """An app that shows this: Slack does not know its other methods."""
    slack.api.methods = {name: run for name, run in slack.api.methods.items() if name not in LACKS[shown]}


@asynccontextmanager
async def at_work(office, slack, user, channel=None, *, shown="a plan"):
    """A question whose turn hangs until the end, and the model that it waits for, once this is shown; with nothing to be
    shown, once the model is asked or Slack is at fault.
    """
    async with FakeGemini() as model:
        model.queue("plan", NoReply())
        office.settings |= {"GOOGLE_API_KEY": model.api_key, "GOOGLE_GEMINI_BASE_URL": model.base_url}
        office.constants["bots.chat.messenger:BETWEEN"] = 0.1
        await office.open()
        asked = await (slack.mention(user, channel, FERRY) if channel else slack.dm(user, FERRY))
        channel = asked.channel
        await slack.until(lambda: model.calls or (not shown and slack.faults.injected))
        if shown == "a plan":
            await slack.until(
                lambda: slack.replies(channel, asked.ts) or slack.faults.injected,
            )
        yield asked, model


def title(message):
    """What stands above a plan."""
    return next((block["title"] for block in message.blocks if block["type"] == "plan"), None)


def sources(message):
    """The addresses that stand on the tasks of a plan."""
    plans = [block for block in message.blocks if block["type"] == "plan"]
    return {
        task["title"]: [each["url"] for each in task.get("sources", [])]
        for plan in plans
        for task in plan["tasks"]
    }


def tasks(message):
    """The tasks of a plan and how they stand."""
    plans = [block for block in message.blocks if block["type"] == "plan"]
    return {task["title"]: task["status"] for plan in plans for task in plan["tasks"]}


async def test_a_plan_grows_while_the_session_works_and_the_answer_comes_whole(office, slack, ann, general):
    async with at_work(office, slack, ann, general) as (asked, model):
        (plan,) = slack.replies(general, asked.ts)
        worked = slack.session(general, asked.ts), slack.shows_stop(general, asked.ts), tasks(plan)
        title_before = title(plan)
        told_before = slack.notified(ann)
        model.released.set()
        (answer,) = await office.until_answered(asked)

    assert worked[:2] == ("processing", True)
    assert [*worked[2].values()] == ["complete", "in_progress"]
    assert title_before == [*worked[2]][-1]
    assert re.fullmatch(r"Worked for [\d.]+ s", title(answer))
    assert told_before == []
    assert answer.ts == plan.ts
    assert "Answered in" in answer.visible
    assert set(tasks(answer).values()) == {"complete"}
    assert not any(FERRY_ANSWER in one.visible for one in answer.revisions[:-1])
    assert slack.session(general, asked.ts) == "active"
    assert not slack.shows_stop(general, asked.ts)
    assert slack.rejected == []


@pytest.mark.parametrize("shown", LACKS)
async def test_the_answer_is_a_new_reply_whose_words_are_told(office, slack, ann, general, shown):
    make_app(slack, shown)
    await office.open()

    asked = await slack.mention(ann, general, FERRY)
    (answer,) = await office.until_answered(asked)

    told = slack.notified(ann)[-1]
    assert (told.ts, FERRY_ANSWER in told.text) == (answer.ts, True)
    assert slack.calls_of("chat.update") == []
    assert len(slack.replies(general, asked.ts)) == 1
    assert [shown.user for shown in slack.notified(ann)] == [ann] * (2 if shown == "a message" else 1)
    assert slack.status(general, asked.ts) == ""
    assert office.faults == []


async def test_a_quick_look_shows_a_status_and_no_plan(office, slack, ann, general):
    office.constants["bots.chat.messenger:BETWEEN"] = PATIENCE  # a look is quick on any machine then
    await office.open()

    asked = await slack.mention(ann, general, FERRY)
    (answer,) = await office.until_answered(asked)
    await slack.until(lambda: slack.session(general, asked.ts) == "active")

    assert FERRY_ANSWER in answer.visible
    assert slack.sessions[general, asked.ts] == ["processing", "active"]
    assert slack.calls_of("chat.startStream") == []


async def test_the_sources_of_an_answer_stand_on_the_task_that_read_them(office, slack, ann, general):
    office.settings["SOURCE_URL_BASE"] = "https://docs.example/handbook"
    async with at_work(office, slack, ann, general) as (asked, model):
        model.released.set()
        (answer,) = await office.until_answered(asked)

    reading, *others = sources(answer).values()
    assert reading
    assert all(url.startswith("https://docs.example/handbook/") for url in reading)
    assert not any(others)


async def test_in_a_direct_message_a_plan_names_no_reader(office, slack, ann):
    async with at_work(office, slack, ann) as (asked, model):
        model.released.set()
        (answer,) = await office.until_answered(asked)

    assert "Answered in" in answer.visible
    assert tasks(answer)
    assert slack.rejected == []


@pytest.mark.parametrize("shown", ["a plan", "a status"])
async def test_a_session_waits_with_the_card_works_on_the_search_and_is_free_again(
    office, slack, ann, general, shown
):
    make_app(slack, shown)
    async with HangingSearXNG([FRANCE]) as engine:
        office.settings |= {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        await office.open()
        asked = await slack.mention(ann, general, CUP)
        (card,) = await office.until_answered(asked)
        await slack.until(lambda: slack.session(general, asked.ts) == "suspended")
        has_stop = slack.shows_stop(general, asked.ts)

        await slack.press(card, "approve", ann)
        await engine.asked.wait()
        works = slack.session(general, asked.ts)
        await slack.press_stop(ann, general, asked.ts)
        _, stopped = await office.until_answered(asked, 2)
        await slack.until(lambda: slack.session(general, asked.ts) == "active")

    assert not has_stop
    assert works == "processing"
    assert "Stopped." in stopped.visible
    assert "ann allowed this search" in card.visible


async def test_a_card_tells_its_query_and_a_refused_search_shows_no_work(office, slack, ann, general):
    async with FakeSearXNG([FRANCE]) as engine:
        office.settings |= {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        await office.open()
        asked = await slack.mention(ann, general, CUP)
        (card,) = await office.until_answered(asked)
        told = slack.notified(ann)[-1].text
        before = len(slack.calls_of("chat.startStream"))

        await slack.press(card, "deny", ann)
        await office.until_answered(asked, 2)
        await slack.until(lambda: slack.session(general, asked.ts) == "active")

    assert "1998 football world cup" in told
    assert len(slack.calls_of("chat.startStream")) == before
    assert slack.sessions[general, asked.ts] == ["processing", "suspended", "active"]
    assert [block["action_id"] for _, block in interactive(card.blocks)] == []
    assert slack.rejected == []


@pytest.mark.parametrize(
    "faults",
    [[], [Refusal("restricted_action")], [RateLimited(60)]],
    ids=["nothing", "a refusal", "a lost platform"],
)
async def test_a_forgotten_thread_waits_for_nobody_whatever_is_in_the_way(
    office, slack, ann, general, faults
):
    async with FakeSearXNG([]) as engine:
        office.settings |= {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        if RateLimited(60) in faults:  # whose end is not waited for
            office.constants["bots.chat.replies:CLOSING"] = 0.5
        await office.open()
        asked = await slack.mention(ann, general, CUP)
        (card,) = await office.until_answered(asked)
        slack.faults.queue("chat.update", *faults)

        forget = await slack.mention(ann, general, "forget", asked.ts)
        _, forgotten = await office.until_answered(forget, 2)
        await slack.until(lambda: slack.session(general, asked.ts) == "active")

    assert "I forgot this thread" in forgotten.visible
    assert bool([*interactive(card.blocks)]) == bool(faults)
    assert ("This thread was forgotten" in card.visible) == (not faults)
    assert {entry["level"] for entry in office.faults} <= {"warning"}


@pytest.mark.parametrize("shown", ["a plan", "a status"])
@pytest.mark.parametrize("way", ["the client's Stop", "the word"])
async def test_who_stops_is_told_so_in_one_message(office, slack, people, shown, way):
    ann, general = people
    make_app(slack, shown)
    async with at_work(office, slack, ann, general, shown=shown) as (asked, _):
        if way == "the word":
            await slack.say(ann, general, "stop", asked.ts)
        else:
            await slack.press_stop(ann, general, asked.ts)
        (stopped,) = await office.until_answered(asked)
        await slack.until(lambda: slack.session(general, asked.ts) == "active")

    assert "Stopped." in stopped.visible
    assert "Answered in" not in stopped.visible
    assert title(stopped) in (None, "Stopped")
    assert title(stopped) or way != "the word" or shown != "a plan"
    assert "in_progress" not in tasks(stopped).values()
    assert len(slack.replies(general, asked.ts)) == 1


async def test_a_plan_that_was_deleted_meanwhile_is_replaced(office, slack, ann, general):
    async with at_work(office, slack, ann, general) as (asked, model):
        (plan,) = slack.replies(general, asked.ts)
        slack.remove(plan)
        model.released.set()
        (answer,) = await office.until_answered(asked)

    assert answer.ts != plan.ts
    assert "Answered in" in answer.visible


async def test_a_stream_that_died_is_replaced(office, slack, ann, general):
    async with at_work(office, slack, ann, general) as (asked, model):
        (plan,) = slack.replies(general, asked.ts)
        await slack.advance(301)
        model.released.set()
        (answer,) = await office.until_answered(asked)

    assert answer.ts != plan.ts
    assert "Answered in" in answer.visible
    assert answer.ts in [one.ts for one in slack.notified(ann)]
    await slack.until(lambda: slack.session(general, asked.ts) == "active")


@pytest.mark.parametrize(
    ("method", "faults"),
    [
        ("chat.startStream", [Refusal("user_not_found")]),
        ("chat.startStream", [Refusal("missing_recipient_team_id")]),
        ("chat.startStream", [RateLimited(60)]),
        ("chat.startStream", [ServerError()]),
        ("chat.startStream", [LostResponse()]),
        ("agents.sessions.setStatus", [Refusal("not_authorized")]),
        ("agents.sessions.setStatus", [RateLimited(60)]),
        ("agents.sessions.setStatus", [Refusal("fatal_error"), LostResponse()]),
        ("chat.appendStream", [Refusal("stopped_by_user")] * 3),
        ("chat.stopStream", [Refusal("msg_too_long")]),
        ("chat.stopStream", [Refusal("invalid_blocks")]),
        ("chat.stopStream", [ServerError()]),
        ("chat.stopStream", [LostResponse()]),
        ("chat.stopStream", [ServerError(), ServerError(), ServerError()]),
        ("chat.stopStream", [ServerError(), RateLimited(1), ServerError()]),
        ("chat.stopStream", [RateLimited(1)]),
    ],
)
async def test_a_sign_that_is_refused_or_lost_costs_no_answer(office, slack, people, method, faults):
    ann, general = people
    slack.faults.queue(method, *faults)

    async with at_work(office, slack, ann, general) as (asked, model):
        model.released.set()
        (answer,) = await office.until_answered(asked)

    assert "Answered in" in answer.visible
    assert len(slack.replies(general, asked.ts)) == 1
    assert slack.early_calls == []
    assert {entry["level"] for entry in office.faults} <= {"warning"}


async def test_where_nothing_may_be_deleted_a_message_of_progress_points_to_the_answer(
    office, slack, ann, general
):
    make_app(slack, "a message")
    slack.faults.queue("chat.delete", Refusal("compliance_exports_prevent_deletion"))
    await office.open()

    asked = await slack.mention(ann, general, FERRY)
    pointer, answer = await office.until_answered(asked, 2)

    assert pointer.visible == "↓"
    assert FERRY_ANSWER in answer.visible


#: The call that the process does not survive, and whether Slack had carried it out by then.
MOMENTS = {
    "before the plan": ("a plan", "chat.startStream", [Hang()]),
    "after the plan": ("a plan", "chat.startStream", [Hang(after_effect=True)]),
    "before the plan's answer": ("a plan", "chat.stopStream", [Hang()]),
    "after the plan's answer": ("a plan", "chat.stopStream", [Hang(after_effect=True)]),
    "before the answer after a status": ("a status", "chat.postMessage", [Hang()]),
    "after the answer after a status": ("a status", "chat.postMessage", [Hang(after_effect=True)]),
    "after the message": ("a message", "chat.postMessage", [Hang(after_effect=True)]),
    "before the answer": ("a message", "chat.postMessage", [Slow(0.0), Hang()]),
    "after the answer": ("a message", "chat.postMessage", [Slow(0.0), Hang(after_effect=True)]),
    "before the message is gone": ("a message", "chat.delete", [Hang()]),
    "after the message is gone": ("a message", "chat.delete", [Hang(after_effect=True)]),
}


@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_kill_leaves_one_answer_and_no_sign_of_work(office, slack, ann, general, moment):
    shown, method, faults = MOMENTS[moment]
    make_app(slack, shown)
    slack.faults.queue(method, *faults)
    async with at_work(office, slack, ann, general, shown="") as (asked, model):
        if method != "chat.startStream":
            if shown == "a plan":
                await slack.until(lambda: slack.replies(general, asked.ts))
            model.released.set()
        await slack.until(lambda: len(slack.faults.injected) == len(faults))
        await slack.until(lambda: faults[-1] == Hang() or slack.calls_of(method)[-1].reply)

        await office.kill()
        await slack.until(lambda: not slack.sockets.live)
        model.released.set()
        await office.open()
        await slack.redeliver()
        (answer,) = await office.until_answered(asked)

    assert "Answered in" in answer.visible
    assert len(slack.replies(general, asked.ts)) == 1


async def test_a_kill_while_it_thinks_leaves_no_half_plan(office, slack, ann, general):
    async with at_work(office, slack, ann, general) as (asked, model):
        (plan,) = slack.replies(general, asked.ts)
        await office.kill()
        await slack.until(lambda: not slack.sockets.live)
        model.released.set()
        await office.open()
        (answer,) = await office.until_answered(asked)

    assert answer.ts != plan.ts
    assert "Answered in" in answer.visible
    assert answer.ts in [one.ts for one in slack.notified(ann)]


async def test_a_message_of_progress_that_an_earlier_version_left_becomes_the_answer(slack, ann, general):
    """Version 1 showed progress in the message that the answer then replaced: part 0 of its turn."""
    asked = await slack.mention(ann, general, FERRY)
    route = {"team": slack.team, "channel": general, "thread": asked.ts, "message": asked.ts, "user": ann}
    async with open_calls(read_slack_settings(slack.environment)) as calls:
        calls.installations.add(await calls.identify(slack.bot_token))
        posts = SlackPosts(calls=calls)
        handle = await posts.say(route, "q1", 0, LAYOUT.note("Reading your documents…"), is_again=False)

        await posts.finish(route, handle, "q1", LAYOUT.note("At nine."), is_again=True, is_waiting=False)

    (answer,) = slack.replies(general, asked.ts)
    assert (answer.ts, answer.visible) == (handle, "At nine.")

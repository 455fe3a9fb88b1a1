"""Buttons pressed by anybody, at any time, more than once, and after a restart."""

from __future__ import annotations

import asyncio
import random
import re

import pytest
from fakes.office import CUP, FRANCE, Office
from fakes.web_servers import FakeSearXNG


@pytest.fixture
async def office(template, tmp_path, slack):
    async with FakeSearXNG([FRANCE]) as engine, Office.copied(template, tmp_path, slack) as office:
        office.settings |= {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        office.engine = engine
        yield office


async def propose(office, slack, user, channel, count):
    """So many questions, and the card each of them got."""
    asked = [await slack.mention(user, channel, f"{CUP} ({number})") for number in range(count)]
    cards = [(await office.until_answered(each))[0] for each in asked]
    return asked, cards


async def test_approve_and_deny_together_come_to_one_decision(office, slack, ann, general):
    await office.open()
    (asked,), (card,) = await propose(office, slack, ann, general, 1)

    await asyncio.gather(*(slack.press(card, action, ann) for action in ("approve", "deny") * 3))
    await office.until_answered(asked, 2)
    await slack.until(lambda: not slack.deliveries.unacknowledged)
    await slack.until(lambda: len(slack.ephemerals(ann)) == 5)

    assert len(slack.replies(general, asked.ts)) == 2
    assert len(office.engine.requests) <= 1
    assert all("already" in one.visible for one in slack.ephemerals(ann))
    assert slack.rejected == []


async def test_whoever_pressed_first_decides_whichever_socket_is_faster(office, slack, ann, general):
    await office.open()
    asked, cards = await propose(office, slack, ann, general, 8)

    for number, card in enumerate(cards):
        for action in ("deny", "approve") if number % 2 else ("approve", "deny"):
            await slack.press(card, action, ann)
    for each in asked:
        await office.until_answered(each, 2)
    await slack.until(lambda: len(slack.ephemerals(ann)) == 8)

    assert ["said no" in card.visible for card in cards] == [False, True] * 4
    assert sorted(cup_of(request) for request in office.engine.requests) == [0, 2, 4, 6]


async def restart_and_approve_all(office, slack, ann, general, count):
    await office.open()
    asked, cards = await propose(office, slack, ann, general, count)
    assert await office.stop() == 0
    await office.open()
    for card in cards:
        await slack.press(card, "approve", ann)
    return [await office.until_answered(each, 2) for each in asked]


@pytest.mark.long
async def test_a_hundred_open_proposals_can_be_decided_after_a_restart(office, slack, ann, general):
    threads = await restart_and_approve_all(office, slack, ann, general, 100)

    assert ["France" in answer.visible for _, answer in threads] == [True] * 100
    assert len(office.engine.requests) == 100


def cup_of(request):
    """The number of the question that a search is about."""
    return int(re.search(r"\((\d+)\)", request.query["q"])[1])


async def click_at_random(office, slack, people, *, proposals, clicks, seed):
    """Presses by the asker and by a stranger, on cards as they are and as they were; the verdicts that count."""
    chance = random.Random(seed)
    ann, stranger, general = people
    await office.open()
    asked, cards = await propose(office, slack, ann, general, proposals)
    first_seen = [card.revisions[-1] for card in cards]
    verdicts: dict[int, str] = {}  # the first by whoever may decide
    for _ in range(clicks):
        number = chance.randrange(proposals)
        user, action = chance.choice((ann, stranger)), chance.choice(("approve", "deny"))
        if user == ann:
            verdicts.setdefault(number, action)
        await slack.press(cards[number], action, user, as_seen=first_seen[number])
    patience = 60 + clicks / 50
    await slack.until(lambda: not slack.deliveries.unacknowledged, within=patience)
    await slack.until(lambda: len(slack.state.ephemerals) == clicks - len(verdicts), within=patience)
    for number in verdicts:
        await office.until_answered(asked[number], 2)
    return [len(slack.replies(general, each.ts)) - 1 for each in asked], verdicts


@pytest.fixture
def people(slack, ann, general):
    stranger = slack.add_user("stranger")
    slack.state.conversations[general].members.append(stranger)
    return ann, stranger, general


@pytest.mark.parametrize(("proposals", "clicks"), [(4, 30), pytest.param(50, 10_000, marks=pytest.mark.long)])
async def test_no_click_counts_that_should_not(office, slack, people, proposals, clicks):
    endings, verdicts = await click_at_random(
        office, slack, people, proposals=proposals, clicks=clicks, seed=1
    )

    assert endings == [int(number in verdicts) for number in range(proposals)]
    searched = sorted(cup_of(request) for request in office.engine.requests)
    assert searched == sorted(number for number, verdict in verdicts.items() if verdict == "approve")
    assert slack.rejected == []

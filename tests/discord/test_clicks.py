"""Buttons pressed by anybody, at any time, more than once, and after a restart."""

from __future__ import annotations

import asyncio
import random
import re

import pytest
from fakes.discord_server import Server
from fakes.served import CUP, FRANCE
from fakes.web_servers import FakeSearXNG

SEARCH, NO_THANKS = "Search the web", "No thanks"


@pytest.fixture
async def server(template, tmp_path, fake):
    fake.hasten()
    async with FakeSearXNG([FRANCE]) as engine, Server.copied(template, tmp_path, fake) as server:
        server.settings |= {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        server.engine = engine
        yield server


async def propose(server, fake, user, channel, count):
    """So many questions, and the card each of them got."""
    asked = [await fake.mention(user, channel, f"{CUP} ({number})") for number in range(count)]
    cards = [(await server.until_answered(each))[0] for each in asked]
    return asked, cards


async def test_approve_and_deny_together_come_to_one_decision(server, fake, ann, general):
    await server.open()
    (asked,), (card,) = await propose(server, fake, ann, general, 1)

    await asyncio.gather(*(fake.press(card, name, ann) for name in (SEARCH, NO_THANKS) * 3))
    await server.until_answered(asked, 2)
    await fake.until(lambda: len(fake.ephemerals(ann)) == 5)

    assert len(fake.replies(asked)) == 2
    assert len(server.engine.requests) <= 1
    assert all("already" in one.visible for one in fake.ephemerals(ann))
    assert fake.buttons(card) == []


async def restart_and_approve_all(server, fake, ann, general, count):
    await server.open()
    asked, cards = await propose(server, fake, ann, general, count)
    assert await server.stop() == 0
    await server.open()
    for card in cards:
        await fake.press(card, SEARCH, ann)
    return [await server.until_answered(each, 2) for each in asked]


@pytest.mark.long
async def test_a_hundred_open_proposals_can_be_decided_after_a_restart(server, fake, ann, general):
    threads = await restart_and_approve_all(server, fake, ann, general, 100)

    assert ["France" in answer.visible for _, answer in threads] == [True] * 100
    assert len(server.engine.requests) == 100


def cup_of(request):
    """The number of the question that a search is about."""
    return int(re.search(r"\((\d+)\)", request.query["q"])[1])


async def click_at_random(server, fake, general, *, proposals, clicks):
    """Presses by the asker and by a stranger, on cards as they are and as they were; all verdicts that may count."""
    chance = random.Random(1)
    ann, stranger = fake.add_user("ann"), fake.add_user("stranger")
    await server.open()
    asked, cards = await propose(server, fake, ann, general, proposals)
    first_seen = [card.revisions[-1] for card in cards]
    verdicts: dict[int, set[str]] = {}  # what was pressed by whoever may decide
    for _ in range(clicks):
        number = chance.randrange(proposals)
        user, action = chance.choice((ann, stranger)), chance.choice((SEARCH, NO_THANKS))
        if user is ann:
            verdicts.setdefault(number, set()).add(action)
        await fake.press(cards[number], action, user, as_seen=first_seen[number])
    told = clicks - len(verdicts)
    patience = 60 + clicks / 50
    await fake.until(
        lambda: len([*fake.ephemerals(ann), *fake.ephemerals(stranger)]) == told, within=patience
    )
    for number in verdicts:
        await server.until_answered(asked[number], 2)
    return [len(fake.replies(each)) - 1 for each in asked], verdicts


@pytest.mark.parametrize(("proposals", "clicks"), [(4, 30), pytest.param(50, 10_000, marks=pytest.mark.long)])
async def test_no_click_counts_that_should_not(server, fake, general, proposals, clicks):
    endings, verdicts = await click_at_random(server, fake, general, proposals=proposals, clicks=clicks)

    assert endings == [int(number in verdicts) for number in range(proposals)]
    searched = [cup_of(request) for request in server.engine.requests]
    assert len(searched) == len(set(searched))
    assert all(SEARCH in verdicts[number] for number in searched)
    assert {number for number in verdicts if verdicts[number] == {SEARCH}} <= set(searched)


async def test_a_press_that_is_brought_twice_is_one_decision(server, fake, ann, general):
    await server.open()
    (asked,), (card,) = await propose(server, fake, ann, general, 1)
    fake.faults.duplicate_chance = 1.0

    press = await fake.press(card, SEARCH, ann)
    await fake.duplicate(press)
    await server.until_answered(asked, 2)

    assert len(fake.replies(asked)) == 2
    assert len(server.engine.requests) == 1

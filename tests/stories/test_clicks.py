"""Buttons pressed by anybody, at any time, more than once, and after a restart; alike in Slack and in Discord."""

from __future__ import annotations

import asyncio
import random
import re

import pytest
from fakes.served import CUP, FRANCE
from fakes.web_servers import FakeSearXNG


@pytest.fixture
async def engine(chat):
    """The engine that is searched once somebody allowed it."""
    async with FakeSearXNG([FRANCE]) as engine:
        chat.settings |= {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        yield engine


async def propose(chat, count):
    """So many questions, and the card each of them got."""
    asked = [await chat.mention(chat.ann, chat.general, f"{CUP} ({number})") for number in range(count)]
    cards = [(await chat.until_answered(each))[0] for each in asked]
    return asked, cards


def searched(engine):
    """The numbers of the questions that the searches are about."""
    return sorted(int(re.search(r"\((\d+)\)", request.query["q"])[1]) for request in engine.requests)


async def test_approve_and_deny_together_come_to_one_decision(chat, engine):
    await chat.open()
    (asked,), (card,) = await propose(chat, 1)

    await asyncio.gather(*(chat.press(card, action, chat.ann) for action in ("approve", "deny") * 3))
    await chat.until_answered(asked, 2)
    await chat.until(lambda: len(chat.told(chat.ann)) == 5)

    assert len(chat.replies(asked)) == 2
    assert len(engine.requests) <= 1
    assert all("already" in one.visible for one in chat.told(chat.ann))
    assert chat.buttons(card).isdisjoint({"approve", "deny"})
    assert chat.rejected == []


@pytest.mark.parametrize("chat", ["slack"], indirect=True)  # Discord does not say who was first
async def test_whoever_pressed_first_decides_whichever_socket_is_faster(chat, engine):
    await chat.open()
    asked, cards = await propose(chat, 8)

    for number, card in enumerate(cards):
        for action in ("deny", "approve") if number % 2 else ("approve", "deny"):
            await chat.press(card, action, chat.ann)
    for each in asked:
        await chat.until_answered(each, 2)
    await chat.until(lambda: len(chat.told(chat.ann)) == 8)

    assert ["said no" in card.visible for card in cards] == [False, True] * 4
    assert searched(engine) == [0, 2, 4, 6]


@pytest.mark.long
async def test_a_hundred_open_proposals_can_be_decided_after_a_restart(chat, engine):
    await chat.open()
    asked, cards = await propose(chat, 100)
    assert await chat.stop() == 0
    await chat.open()

    for card in cards:
        await chat.press(card, "approve", chat.ann)
    threads = [await chat.until_answered(each, 2) for each in asked]

    assert ["France" in answer.visible for _, answer in threads] == [True] * 100
    assert searched(engine) == list(range(100))


async def click_at_random(chat, cards, clicks):
    """Presses by the asker and by a stranger, on cards as they were; by number, those of who may decide."""
    chance = random.Random(1)
    first_seen = [card.revisions[-1] for card in cards]
    pressed: dict[int, list[str]] = {}
    for _ in range(clicks):
        number = chance.randrange(len(cards))
        user, action = chance.choice((chat.ann, chat.bob)), chance.choice(("approve", "deny"))
        if user == chat.ann:
            pressed.setdefault(number, []).append(action)
        await chat.press(cards[number], action, user, as_seen=first_seen[number])
    return pressed


@pytest.mark.parametrize(("proposals", "clicks"), [(4, 30), pytest.param(50, 10_000, marks=pytest.mark.long)])
async def test_no_click_counts_that_should_not(chat, engine, proposals, clicks):
    await chat.open()
    asked, cards = await propose(chat, proposals)

    pressed = await click_at_random(chat, cards, clicks)
    await chat.until(
        lambda: len([*chat.told(chat.ann), *chat.told(chat.bob)]) == clicks - len(pressed),
        within=60 + clicks / 50,
    )
    for number in pressed:
        await chat.until_answered(asked[number], 2)

    assert [len(chat.replies(each)) - 1 for each in asked] == [int(n in pressed) for n in range(proposals)]
    counted = {number: presses[:1] if chat.keeps_order else presses for number, presses in pressed.items()}
    found = searched(engine)
    assert len(found) == len(set(found))
    assert set(found) <= {number for number, presses in counted.items() if "approve" in presses}
    assert set(found) >= {number for number, presses in counted.items() if "deny" not in presses}
    assert chat.rejected == []

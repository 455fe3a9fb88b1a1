"""The process is killed while it serves: counted at the Discord, nothing is lost and nothing doubled."""

from __future__ import annotations

import pytest
from fakes.discord import Hang
from fakes.discord_server import Server
from fakes.served import CUP, FERRY, FERRY_ANSWER, FRANCE
from fakes.web_servers import FakeSearXNG

CREATE, EDIT = "POST /channels/{channel_id}/messages", "PATCH /channels/{channel_id}/messages/{message_id}"
OPEN = "POST /channels/{channel_id}/messages/{message_id}/threads"
RESPOND = "POST /interactions/{interaction_id}/{interaction_token}/callback"
FOLLOW_UP = "POST /webhooks/{webhook_id}/{webhook_token}"
LATER = 3_600.0  # seconds, by which Discord has long forgotten a nonce


@pytest.fixture
async def server(template, tmp_path, fake):
    fake.hasten()
    async with Server.copied(template, tmp_path, fake) as server:
        yield server


@pytest.fixture
def ask(fake, ann, general):
    """Says what the handbook answers, in a channel."""
    return lambda: fake.mention(ann, general, FERRY)


async def kill(server, fake):
    await server.kill()
    await fake.until(lambda: not fake.gateway.live)


#: The request that the process does not survive, and whether Discord had carried it out by then.
MOMENTS = {
    "before the thread": (OPEN, False),
    "after the thread": (OPEN, True),
    "before the placeholder": (CREATE, False),
    "after the placeholder": (CREATE, True),
    "before the answer": (EDIT, False),
    "after the answer": (EDIT, True),
}


@pytest.mark.parametrize("away", [0.0, LATER], ids=["at once", "an hour later"])
@pytest.mark.parametrize(
    "moment",
    [
        pytest.param("before the thread", marks=pytest.mark.long),
        "after the thread",
        pytest.param("before the placeholder", marks=pytest.mark.long),
        "after the placeholder",
        pytest.param("before the answer", marks=pytest.mark.long),
        pytest.param("after the answer", marks=pytest.mark.long),
    ],
)
async def test_a_kill_around_what_is_said_leaves_one_answer(server, fake, ask, moment, away):
    route, is_done = MOMENTS[moment]
    await server.open()
    fake.faults.queue(route, Hang(after_effect=is_done))
    asked = await ask()
    await fake.until(lambda: any(route == name for name, _ in fake.faults.injected))
    await kill(server, fake)
    await fake.advance(away)

    await server.open()
    (answer,) = await server.until_answered(asked)
    thanked = await fake.post(asked.author, asked.thread, FERRY)
    await server.until_answered(thanked)

    assert FERRY_ANSWER in answer.visible
    assert answer.channel.id == asked.thread.id
    assert len(fake.said()) == 2


@pytest.mark.parametrize("route", [RESPOND, CREATE, EDIT])
async def test_a_kill_after_a_decision_sends_one_search_and_gives_one_answer(
    server, fake, ann, general, route
):
    async with FakeSearXNG([FRANCE]) as engine:
        server.settings |= {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        await server.open()
        asked = await fake.mention(ann, general, CUP)
        (card,) = await server.until_answered(asked)
        fake.faults.queue(route, Hang())
        await fake.press(card, "Search the web", ann, wait=False)
        await fake.until(lambda: fake.faults.injected)
        await kill(server, fake)

        await server.open()
        _, answer = await server.until_answered(asked, 2)

        assert "France" in answer.visible
        assert "ann allowed this search" in card.visible
        assert len(engine.requests) == 1
        assert len(fake.said()) == 2


async def test_a_kill_before_a_refused_decision_is_explained_searches_nothing_and_explains_it(
    server, fake, ann, general
):
    async with FakeSearXNG([FRANCE]) as engine:
        server.settings |= {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        await server.open()
        asked = await fake.mention(ann, general, CUP)
        (card,) = await server.until_answered(asked)
        fake.lock(asked.thread)
        fake.faults.queue(FOLLOW_UP, Hang())
        pressed = await fake.press(card, "Search the web", ann)
        await fake.until(lambda: fake.faults.injected)
        await kill(server, fake)

        await server.open()
        told = await fake.until(lambda: pressed.text or said_to(fake, ann))
        fake.unlock(asked.thread)
        await fake.press(card, "Search the web", ann)
        _, answer = await server.until_answered(asked, 2)

    assert "Nothing was sent to the web" in told
    assert "France" in answer.visible
    assert "ann allowed this search" in card.visible
    assert len(engine.requests) == 1


def said_to(fake, user):
    return "".join(one.visible for one in fake.said(fake.dm_of(user)))

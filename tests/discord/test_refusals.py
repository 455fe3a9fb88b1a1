"""Who may not is told so where nobody else reads it, and not more often than it takes."""

from __future__ import annotations

import pytest
from fakes.discord import Hang, Refusal
from fakes.fork_server import DEVNULL, start_python
from fakes.served import CUP, FERRY, FRANCE, PONTOON, PONTOON_ANSWER, environment
from fakes.web_servers import FakeSearXNG

RESPOND = "POST /interactions/{interaction_id}/{interaction_token}/callback"


@pytest.fixture
async def commands(tmp_path, fake):
    """Registered as an operator does it."""
    process = await start_python(
        *("-m", "bots", "manifest", "discord", "--sync"),
        cwd=tmp_path, env=environment(tmp_path) | fake.environment, stdout=DEVNULL,
    )  # fmt: skip
    assert await process.wait() == 0


async def privately(fake, user):
    """What the bot writes to a person alone, once it has written something."""
    return await fake.until(lambda: fake.said(fake.dm_of(user)))


async def test_who_asks_too_much_is_told_so_once_and_where_nobody_else_reads_it(
    server, fake, ann, bob, general
):
    """Bob takes no direct messages."""
    server.settings["QUESTIONS_PER_PERSON"] = "1/hour"
    fake.refuses_dms.add(bob.id)
    await server.open()
    asked = await fake.mention(ann, general, FERRY)
    (answer,) = await server.until_answered(asked)

    await fake.mention(ann, general, PONTOON)
    await fake.mention(ann, general, FERRY, files=[("a.md", b"# A")])
    await fake.post(ann, asked.thread, "And does it take cars?")
    (told,) = await privately(fake, ann)
    others = await fake.mention(bob, general, PONTOON)
    (apart,) = await server.until_answered(others)
    beyond = await fake.mention(bob, general, FERRY)
    (in_public,) = await server.until_answered(beyond)
    await fake.mention(bob, general, FERRY)
    marker = await fake.mention(fake.add_user("carl"), general, FERRY)
    await server.until_answered(marker)
    assert await server.stop() == 0

    assert PONTOON_ANSWER in apart.visible
    assert "You have asked 1 question within one hour" in told.visible == in_public.visible
    assert in_public.referenced is beyond
    assert fake.said(fake.dm_of(ann)) == [told]
    assert fake.said(asked.thread) == [answer]
    assert fake.said(general) == [in_public]
    assert fake.pinging() == []
    assert (fake.violations, server.faults) == ([], [])


@pytest.mark.usefixtures("commands")
async def test_a_command_beyond_the_rate_is_refused_and_nothing_else_is_said(server, fake, ann, general):
    server.settings["QUESTIONS_PER_PERSON"] = "1/hour"
    await server.open()
    direct = await fake.dm(ann, FERRY)
    await server.until_answered(direct)

    beyond = [await fake.slash(ann, general, "ask", question=PONTOON) for _ in range(2)]

    assert [one.is_ephemeral for one in beyond] == [True, True]
    assert all(one.text.startswith("You have asked 1 question") for one in beyond)
    assert [len(one.messages) for one in beyond] == [1, 1]
    assert fake.said(general) == []
    assert (fake.violations, fake.rejected, fake.failed, server.faults) == ([], [], [], [])


async def test_a_refusal_that_a_kill_cut_off_is_said_at_the_next_start(server, fake, ann, bob, general):
    server.settings["QUESTIONS_PER_PERSON"] = "1/hour"
    await server.open()
    asked = await fake.mention(ann, general, FERRY)
    await server.until_answered(asked)

    fake.faults.queue("POST /users/@me/channels", Hang())
    await fake.mention(ann, general, PONTOON)
    await fake.until(lambda: fake.faults.injected)
    await server.kill()
    before = fake.said(fake.dm_of(ann))
    await server.open()
    await privately(fake, ann)
    marker = await fake.mention(bob, general, FERRY)
    await server.until_answered(marker)

    assert before == []
    (told,) = fake.said(fake.dm_of(ann))
    assert "You have asked 1 question within one hour" in told.visible
    assert fake.said(general) == []


async def test_a_stranger_who_decides_in_words_is_told_alone_that_it_is_not_for_them(
    server, fake, ann, bob, general
):
    async with FakeSearXNG([FRANCE]) as engine:
        server.settings |= {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        await server.open()
        asked = await fake.mention(ann, general, CUP)
        (card,) = await server.until_answered(asked)

        await fake.post(bob, asked.thread, "approve")
        (told,) = await privately(fake, bob)
        await fake.post(ann, asked.thread, "approve")
        _, answer = await server.until_answered(asked, 2)

    assert "Only ann can decide this search." in told.visible
    assert fake.said(asked.thread) == [card, answer]
    assert "ann allowed this search" in card.visible
    assert len(engine.requests) == 1
    assert (fake.violations, fake.rejected, server.faults) == ([], [], [])


@pytest.mark.usefixtures("commands")
async def test_who_may_not_teach_is_told_alone_what_is_not_for_them(server, fake, ann, bob, general):
    server.settings["LEARNERS"] = str(bob.id)
    await server.open()

    command = await fake.slash(ann, general, "learn", file=("a.md", b"# A"))
    for count, words in enumerate(("use default", "forget a.md"), start=1):
        await fake.mention(ann, general, words)
        await fake.until(lambda count=count: len(fake.said(fake.dm_of(ann))) == count)
    allowed = await fake.mention(bob, general, "use default")
    (chosen,) = await server.until_answered(allowed)

    assert command.is_ephemeral
    assert command.text == "Only those whom LEARNERS names may add documents."
    assert [one.visible for one in fake.said(fake.dm_of(ann))] == [
        "Only those whom LEARNERS names may choose the collection that a channel reads.",
        "Only those whom LEARNERS names may take back what was learned.",
    ]
    assert fake.said(general) == [chosen]
    assert (fake.violations, fake.rejected, fake.failed, server.faults) == ([], [], [], [])


async def test_a_form_that_comes_too_late_is_spoken_of_in_a_direct_message(server, fake, ann, general):
    """Discord knows the press no longer, so that nothing can be shown in answer to it."""
    async with FakeSearXNG([FRANCE]) as engine:
        server.settings |= {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        await server.open()
        asked = await fake.mention(ann, general, CUP)
        (card,) = await server.until_answered(asked)
        fake.faults.queue(RESPOND, Refusal(404, 10062, "Unknown interaction"))

        await fake.press(card, "Edit query", ann)
        (told,) = await privately(fake, ann)

    assert told.visible.startswith("The form could not be opened")

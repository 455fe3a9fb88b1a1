"""Where the bot is not and a person brings it along: one person sees the answer, of what everybody may read."""

from __future__ import annotations

import asyncio

import pytest
from fakes.discord.components import buttons
from fakes.fork_server import run_python
from fakes.served import CUP, FERRY, FERRY_ANSWER, FRANCE, environment, ingest
from fakes.web_servers import FakeSearXNG

from bots.discord.settings import COMMANDS


@pytest.fixture
async def lobby(fake, ann, server):
    """A channel of a server that the bot is not in."""
    fake.state.commands[0] = []
    guild = fake.add_guild("strangers")
    lobby = fake.add_channel("lobby", guild=guild)
    guild.members.setdefault(ann.id, fake.state.guilds[fake.guild.id].members[ann.id])
    await fake.leave(guild)
    environment_of = environment(server.folder) | fake.environment
    sync = ("-m", "bots", "manifest", "discord", "--sync")
    await asyncio.to_thread(run_python, *sync, cwd=server.folder, env=environment_of)
    fake.requests.clear()
    return lobby


def touched(fake):
    """What was asked of Discord about channels and messages, apart from answers to interactions."""
    return [call for call in fake.requests if call.template.startswith("/channels/")]


async def test_an_answer_is_seen_by_who_asked_alone_and_nothing_is_asked_of_the_channel(
    server, fake, ann, lobby
):
    await server.open()

    asked = await fake.slash(ann, lobby, "ask", question=FERRY)
    await fake.until(lambda: FERRY_ANSWER in asked.text)
    quotes = next(
        each for each in buttons(asked.messages[0].components) if each["custom_id"].startswith("footnotes")
    )
    pressed = await fake.press(asked.messages[0], quotes["custom_id"], ann)
    await fake.until(lambda: pressed.messages)

    assert asked.kind == "thinking"
    assert asked.is_ephemeral
    assert "handbook.md" in asked.text
    assert pressed.is_ephemeral
    assert touched(fake) == []
    assert (fake.violations, fake.rejected, fake.failed, server.faults) == ([], [], [], [])


async def test_a_message_there_can_be_asked_about(server, fake, ann, lobby):
    await server.open()
    said = await fake.post(ann, lobby, FERRY)

    asked = await fake.context_menu(ann, said, "Ask about this")
    await fake.until(lambda: FERRY_ANSWER in asked.text)

    assert asked.is_ephemeral
    assert touched(fake) == []
    assert (fake.rejected, server.faults) == ([], [])


async def test_rights_are_a_strangers_whoever_asks_and_no_search_is_proposed(server, fake, ann, lobby):
    (server.folder / "secret.md").write_text("# Vault\n\nThe vault opens with the word tulip.\n")
    ingest(server.folder, "secret.md", "--collection", "board")
    allowed = ("-m", "bots", "access", "board", "--people", str(ann.id), "--channels", str(lobby.id))
    ran = await asyncio.to_thread(run_python, *allowed, cwd=server.folder, env=environment(server.folder))
    async with FakeSearXNG([FRANCE]) as engine:
        server.settings |= {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        await server.open()

        vault = await fake.slash(ann, lobby, "ask", question="Which word opens the vault?")
        await fake.until(lambda: vault.messages)
        cup = await fake.slash(ann, lobby, "ask", question=CUP)
        await fake.until(lambda: cup.messages)

    assert ran.returncode == 0, ran.stderr
    assert "tulip" not in vault.text
    assert not any("approve" in each["custom_id"] for each in buttons(cup.messages[0].components))
    assert "I would search" not in cup.text
    assert engine.requests == []
    assert vault.is_ephemeral
    assert cup.is_ephemeral


async def test_only_asking_can_be_brought_along(fake):
    brought = {each["name"] for each in COMMANDS if 1 in each["integration_types"]}

    assert brought == {"ask", "Ask about this"}
    assert all(each["contexts"] == ([0, 1, 2] if each["name"] in brought else [0, 1]) for each in COMMANDS)


async def test_a_kill_before_the_answer_loses_and_doubles_nothing(server, fake, ann, lobby):
    from fakes.discord import Hang

    await server.open()
    fake.faults.queue("PATCH /webhooks/{webhook_id}/{webhook_token}/messages/@original", Hang())
    asked = await fake.slash(ann, lobby, "ask", question=FERRY)
    await fake.until(lambda: fake.faults.injected)
    await server.kill()
    await server.open()
    await fake.until(lambda: FERRY_ANSWER in asked.text)

    assert len(asked.messages) == 1
    assert asked.is_ephemeral

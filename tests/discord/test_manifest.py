"""The commands as a newcomer registers them."""

from __future__ import annotations

import asyncio
import json

import pytest
from fakes.discord import FakeDiscord, LostRequest, Refusal, ServerError
from fakes.fork_server import PIPE, start_python
from fakes.served import PATIENCE, environment

from bots.discord.settings import (
    API_URL,
    COMMANDS,
    FOR_PEOPLE,
    PERMISSIONS,
    invite_url,
    read_discord_settings,
)
from core.errors import SettingsError

REGISTER = "PUT /applications/{application_id}/commands"


async def ran(folder, given, *arguments):
    """The command, run to its end: its exit code and what it printed."""
    process = await start_python(
        *("-m", "bots", "manifest", *arguments),
        cwd=folder,
        env=environment(folder) | {"LOG_LEVEL": ""} | given,
        stdout=PIPE,
        stderr=PIPE,
    )
    async with asyncio.timeout(PATIENCE):
        out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


async def test_it_prints_the_commands_and_asks_nobody(tmp_path, fake):
    code, out, err = await ran(tmp_path, fake.environment, "discord")

    assert (code, err) == (0, "")
    assert json.loads(out) == {"commands": [dict(each) for each in COMMANDS]}
    assert fake.requests == []


async def test_it_registers_them_in_place_of_others_and_prints_the_invitation(tmp_path, fake, ann, general):
    fake.installs = {"0": {}}
    first = await ran(tmp_path, fake.environment, "discord", "--sync")
    again = await ran(tmp_path, fake.environment, "discord", "--sync")

    code, out, err = again
    assert first == again
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "Registered 8 commands: ask, help, sources, forget, follow, learn, Ask about this, Keep this answer.",
        f"Invite the bot: {invite_url(str(fake.application_id))}",
    ]
    assert [each["name"] for each in fake.state.commands[0]] == [each["name"] for each in COMMANDS]
    assert fake.installs == {"0": {}, "1": FOR_PEOPLE}
    assert (fake.violations, fake.rejected) == ([], [])


async def test_a_person_is_offered_what_was_registered(tmp_path, fake, ann, general):
    await ran(tmp_path, fake.environment, "discord", "--sync")
    message = await fake.post(ann, general, "When does the ferry leave?")
    direct = fake.state.direct(ann, fake.bot)

    chosen = [
        await fake.slash(ann, general, "ask", question="Why?", wait=False),
        await fake.slash(ann, direct, "help", wait=False),
        await fake.slash(ann, general, "learn", file=("a.txt", b"A"), wait=False),
        await fake.slash(ann, general, "follow", whom="asker", wait=False),
        await fake.context_menu(ann, message, "Ask about this", wait=False),
    ]

    assert [each.kind for each in chosen] == ["pending"] * 5


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"DISCORD_TOKEN": ""}, "DISCORD_TOKEN is needed to register the commands."),
        ({"DISCORD_TOKEN": "sesame.sesame.sesame"}, "Discord refused DISCORD_TOKEN: the token is not valid."),
        ({"DISCORD_TOKEN": "Bot sesame"}, "DISCORD_TOKEN has characters that no token has."),
        ({"DISCORD_API_URL": "http://127.0.0.1:9/api/v10"}, "Discord cannot be reached;"),
        (
            {"DISCORD_API_URL": "http://ada:sesame@127.0.0.1:9/api/v10"},
            "DISCORD_API_URL must not contain a login",
        ),
    ],
)
async def test_what_keeps_it_from_asking_is_told_in_a_sentence(tmp_path, fake, given, told):
    code, out, err = await ran(tmp_path, fake.environment | given, "discord", "--sync")

    assert (code, out) == (2, "")
    assert err.startswith(told)
    assert err.count("\n") == 1
    assert "sesame" not in err
    assert fake.state.commands == {0: []}


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (ServerError(503), "Discord answered 503;"),
        (Refusal(403, 50001, "Missing Access"), "Discord answered 403;"),
        (LostRequest(), "Discord cannot be reached;"),
    ],
)
async def test_what_keeps_it_from_registering_is_told_in_a_sentence(tmp_path, fake, fault, told):
    fake.faults.queue(REGISTER, fault, fault)  # a connection that breaks is tried again

    code, out, err = await ran(tmp_path, fake.environment, "discord", "--sync")

    assert code != 0
    assert out == ""
    assert err.startswith(told)
    assert err.count("\n") == 1


async def test_only_discord_takes_them_this_way(tmp_path):
    code, _, err = await ran(tmp_path, {}, "slack", "--sync")

    assert code == 2
    assert err == "--sync is for Discord; Slack's manifest is pasted.\n"


def test_the_invitation_asks_for_what_is_used_and_nothing_else():
    fake = FakeDiscord()

    url = invite_url(str(fake.application_id))

    assert f"client_id={fake.application_id}&scope=bot+applications.commands&" in url
    assert url.endswith(f"permissions={sum(PERMISSIONS.values())}")


def test_without_a_token_there_is_no_discord():
    assert read_discord_settings({"DISCORD_API_URL": "nowhere"}, None) is None


def test_a_token_may_stand_in_the_env_file_and_is_not_shown(tmp_path):
    (tmp_path / ".env").write_text("DISCORD_TOKEN=sesame.sesame.sesame\n")

    settings = read_discord_settings({}, tmp_path / ".env")

    assert (settings.token, settings.api_url) == ("sesame.sesame.sesame", API_URL)
    assert "sesame" not in repr(settings)


def test_every_fault_is_named_and_no_token_is_repeated():
    wrong = {"DISCORD_TOKEN": "sesame\tsesame", "DISCORD_API_URL": "nowhere"}

    with pytest.raises(SettingsError) as fault:
        read_discord_settings(wrong, None)

    assert all(name in str(fault.value) for name in wrong)
    assert "sesame" not in str(fault.value)

"""What the doctor finds in Discord: each fault is really there, in a Discord of ours that speaks its protocols."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import aiohttp
import pytest
from fakes.checkups import PATIENT, everything_in, findings, only, ran, states
from fakes.discord import Hang, LostRequest, Refusal, ServerError
from fakes.discord_server import Server
from fakes.served import FERRY

from bots.discord.settings import (
    COMMANDS,
    HISTORY,
    NEEDED_PERMISSIONS,
    PERMISSIONS,
    SEND,
    SEND_IN_THREADS,
    VIEW,
    channel_permissions,
    invite_url,
    server_permissions,
)
from bots.doctor.discord import ServerChannel, compare

ANOTHER_TOKEN = "MTIzNDU2Nzg5MDEyMzQ1Njc4OQ.ReSeSa.sesame-sesame-sesame-sesame-0"
ITS_APPLICATION = "1234567890123456789"  # with which both tokens here begin


@pytest.fixture
async def server(template, tmp_path, fake):
    """Its commands are registered."""
    async with Server.copied(template, tmp_path, fake) as server:
        await register(fake, COMMANDS)
        yield server


async def register(fake, commands):
    """As any program that has the token can."""
    url = f"{fake.api_url}/applications/{fake.application_id}/commands"
    headers = {"Authorization": f"Bot {fake.token}"}
    async with (
        aiohttp.ClientSession() as session,
        session.put(url, json=list(commands), headers=headers) as reply,
    ):
        assert reply.status == 200
    fake.requests.clear()


SILENT = {"bots.doctor.discord:PATIENCE": 1.0}


async def examined(server, *named, constants=PATIENT):
    """What it finds of Discord, and that it changes nothing there."""
    fake = server.discord
    asked_before = len(fake.requests)
    token = server.settings.get("DISCORD_TOKEN", fake.token)

    found = await findings(server, "Discord", *named, secrets=[token], constants=constants)

    assert {call.method for call in fake.requests[asked_before:]} <= {"GET"}
    assert fake.violations == []
    return found


def told(found, check):
    return [each["finding"] for each in found[check]]


# The whole


async def test_a_bot_that_is_set_up_is_found_so_without_beginning_a_session(server, fake, ann, general):
    before = everything_in(server.folder)

    found = await examined(server, "discord")

    assert states(found) == {
        "bot": {"ok"}, "intent": {"ok"}, "commands": {"ok"}, "gateway": {"ok"}, "servers": {"ok"},
        "invite": {"ok"}, "events": {"warning"},
    }  # fmt: skip
    assert only(found, "bot")["finding"] == "@footnote of the application footnote."
    assert only(found, "servers")["finding"] == "acme: it sees 1 channel and may do there what it needs to."
    assert only(found, "invite")["finding"].endswith(invite_url(str(fake.application_id)))
    assert (fake.gateway.opened, fake.gateway.identifies, fake.gateway.connections) == (1, [], [])
    assert fake.rejected == []
    assert everything_in(server.folder) == before


async def test_beside_the_process_that_serves_it_finds_what_has_come_and_does_not_disturb(
    server, fake, ann, general
):
    await server.open()
    asked = await fake.mention(ann, general, FERRY)
    await server.until_answered(asked)

    found = await examined(server)
    later = await fake.mention(ann, general, FERRY)
    await server.until_answered(later)

    assert only(found, "events")["finding"].startswith("They come: the newest thread began on ")
    assert only(found, "gateway")["finding"].endswith("999 can still be begun.")
    assert (fake.rejected, server.faults) == ([], [])


async def test_for_a_person_it_reads_well_and_shows_no_token(server, fake):
    misplaced = ANOTHER_TOKEN.replace("ReSeSa", "ReSeSb")
    server.settings |= {"DISCORD_TOKEN": ANOTHER_TOKEN, "LOG_FORMAT": misplaced}

    code, out, err = await ran(server, "discord")

    lines = out.splitlines()
    place = lines.index("✗ Discord bot      Discord does not know DISCORD_TOKEN: it is none, or was reset.")
    assert (
        lines[place + 1]
        .strip()
        .startswith("→ https://discord.com/developers/applications › your application")
    )
    assert "– Discord servers  Not looked at until Discord accepts DISCORD_TOKEN." in lines
    assert (code, err) == (1, "")
    assert "sesame" not in out


# Settings and token


async def test_a_bot_that_is_not_set_up_is_told_how_to_begin(server):
    server.settings |= {"DISCORD_TOKEN": "", "DISCORD_API_URL": ""}
    named = await examined(server, "discord")

    unnamed = await examined(server)

    assert only(named, "")["finding"] == "It is not set up: DISCORD_TOKEN is not set."
    assert "https://discord.com/developers/applications" in only(named, "")["fix"]
    assert only(unnamed, "")["state"] == "skipped"


@pytest.mark.parametrize(
    ("given", "finding", "cure"),
    [
        (
            {"DISCORD_TOKEN": "12345678901234567"},
            "It looks like the application's or a person's id.",
            "Reset Token",
        ),
        ({"DISCORD_TOKEN": "0123abcd" * 8}, "It looks like the application's public key.", "Reset Token"),
        ({"DISCORD_TOKEN": "sesame-_" * 4}, "It looks like the application's client secret.", "Reset Token"),
        ({"DISCORD_TOKEN": "Bot sesame.sesame.sesame"}, "has characters that no token has", "Reset Token"),
        ({"DISCORD_API_URL": "nowhere/api/v10"}, "must be an http or https address", "Take it out"),
        ({"DISCORD_API_URL": "http://127.0.0.1:9"}, "must end in /api/v10", "Take it out"),
        (
            {"DISCORD_API_URL": "http://ada:sesame@127.0.0.1:9/api/v10"},
            "must not contain a login",
            "Take it out",
        ),
    ],
)
async def test_a_wrong_setting_is_told_with_where_to_get_the_right_one(server, given, finding, cure):
    server.settings |= given

    found = await examined(server)

    assert finding in only(found, "settings")["finding"]
    assert cure in only(found, "settings")["fix"]
    assert "ok" not in states(found)["bot"]


async def test_a_token_that_discord_does_not_know_is_told_and_the_invitation_still_shown(server):
    server.settings |= {"DISCORD_TOKEN": ANOTHER_TOKEN}

    found = await examined(server)

    assert only(found, "bot")["finding"] == "Discord does not know DISCORD_TOKEN: it is none, or was reset."
    assert only(found, "invite")["finding"].endswith(invite_url(ITS_APPLICATION))
    for check in ("intent", "commands", "gateway", "servers"):
        assert only(found, check)["finding"] == "Not looked at until Discord accepts DISCORD_TOKEN."


@pytest.mark.parametrize(
    ("fault", "finding", "cure"),
    [
        (ServerError(503), "Discord answered HTTP 503.", "discordstatus.com"),
        (
            Refusal(429, 0, "You are being rate limited."),
            "Discord was asked too often.",
            "Try again in a minute",
        ),
        (LostRequest(), "Discord cannot be reached, or does not answer within 60 s.", "DISCORD_API_URL"),
        (Hang(), "Discord cannot be reached, or does not answer within 1 s.", "HTTPS_PROXY"),
    ],
)
async def test_a_discord_that_does_not_answer_as_it_should_is_told(server, fake, fault, finding, cure):
    fake.faults.queue("GET /applications/@me", fault, fault)  # a connection that breaks is tried again

    found = await examined(server, constants=SILENT if isinstance(fault, Hang) else PATIENT)

    assert only(found, "bot")["finding"] == finding
    assert cure in only(found, "bot")["fix"]


async def test_an_address_where_there_is_no_discord_is_told(server, fake):
    server.settings |= {"DISCORD_API_URL": f"{fake.url}/elsewhere/api/v10"}

    found = await examined(server)

    assert only(found, "bot")["finding"] == "There is no Discord at DISCORD_API_URL."


# The application


async def test_without_the_message_content_intent_it_says_what_works_and_where_to_switch_it_on(
    server, fake, general
):
    fake.grants = frozenset()

    found = await examined(server)

    assert only(found, "intent")["state"] == "warning"
    assert "direct messages and commands work without" in only(found, "intent")["finding"]
    assert (
        f"/applications/{fake.application_id}/bot › Privileged Gateway Intents"
        in only(found, "intent")["fix"]
    )


async def test_an_application_that_sends_presses_elsewhere_or_lets_nobody_add_it_is_told(
    server, fake, general
):
    fake.interactions_url, fake.needs_code = "https://bots.example/interactions", True

    found = await examined(server)

    assert states(found)["bot"] == states(found)["invite"] == {"ok", "failed"}
    assert "Interactions Endpoint URL" in told(found, "bot")[1]
    assert "Requires OAuth2 Code Grant" in told(found, "invite")[1]


async def test_commands_that_are_missing_changed_or_too_many_are_named(server, fake, general):
    ask, *others, menu = COMMANDS
    changed = {**ask, "options": [{**ask["options"][0], "required": False}]}
    play = {"name": "play", "description": "Of another program"}
    await register(fake, [changed, *others, play])

    found = await examined(server)

    assert [
        (each["state"], each["finding"], each["fix"].split(" removes")[0]) for each in found["commands"]
    ] == [
        ("failed", f"Not registered: {menu['name']}.", "`footnote manifest discord --sync`"),
        ("failed", "Registered in another version: ask.", "`footnote manifest discord --sync`"),
        ("warning", "Registered, but not Footnote's: play.", "`footnote manifest discord --sync`"),
    ]


@pytest.mark.parametrize(
    "otherwise",
    [{"contexts": [0]}, {"default_member_permissions": "8"}, {"description": "Another"}, {"options": []}],
)
def test_whatever_people_would_see_of_a_command_counts(otherwise):
    ask, *others = COMMANDS

    (finding,) = compare([{**ask, **otherwise}, *others])

    assert finding.text == "Registered in another version: ask."


# The gateway


async def test_a_gateway_that_cannot_be_reached_is_told_and_the_rest_examined(server, fake, general):
    async with fake.outage():
        found = await examined(server)

    assert only(found, "gateway")["finding"] == "It cannot be reached, or does not answer within 60 s."
    assert only(found, "servers")["state"] == "ok"


async def test_sessions_that_run_out_are_told_before_and_after(server, fake, general):
    fake.gateway.identifies = [{}] * 960
    few = await examined(server)
    fake.gateway.identifies = [{}] * 1000

    none = await examined(server)

    assert only(few, "gateway")["state"] == "warning"
    assert "40 can still be begun within 24 h" in only(few, "gateway")["finding"]
    assert only(none, "gateway")["state"] == "failed"
    assert "no `footnote run` can connect for 24 h" in only(none, "gateway")["finding"]


# Servers and their channels


async def test_a_bot_in_no_server_is_told_how_to_add_it(server, fake):
    await fake.leave(fake.guild)

    found = await examined(server)

    assert only(found, "servers")["state"] == "warning"
    assert only(found, "servers")["fix"] == f"Open {invite_url(str(fake.application_id))}"


async def test_what_the_role_lacks_and_what_channels_take_are_told_with_where_to_click(server, fake, general):
    news, board = fake.add_channel("news", kind="news"), fake.add_channel("board", kind="forum")
    fake.add_channel("for others", only_for=[])
    fake.deny_everywhere("read_message_history")
    fake.deny(news, "send_messages", "create_public_threads")
    fake.deny(board, "send_messages_in_threads")

    found = await examined(server)

    count, of_role, of_channels = found["servers"]
    assert count["finding"] == (
        "acme: it sees 3 channels, can answer in 1, open threads in 1 and read back in 0."
    )
    assert of_role["finding"] == "acme: the bot's role lacks Read Message History."
    assert "acme › Server Settings › Roles › footnote" in of_role["fix"]
    assert of_channels["finding"] == (
        "acme: #news lacks Send Messages, Create Public Threads; #board lacks Send Messages in Threads."
    )
    assert "Edit Channel › Permissions › footnote" in of_channels["fix"]
    assert [each["state"] for each in found["servers"]] == ["ok", "warning", "warning"]


async def test_at_most_five_channels_are_named(server, fake):
    for number in range(7):
        fake.deny(fake.add_channel(f"c{number}"), "send_messages")

    found = await examined(server)

    assert told(found, "servers")[1].endswith("#c4 lacks Send Messages; so do 2 more.")


async def test_a_server_in_which_it_can_do_nothing_is_a_failure(server, fake):
    sees_none = await examined(server)
    fake.add_channel("general")
    fake.deny_everywhere("send_messages", "send_messages_in_threads")

    writes_nowhere = await examined(server)

    assert only(sees_none, "servers")["finding"] == "acme: the bot sees no channel."
    assert "Add members or roles › footnote" in only(sees_none, "servers")["fix"]
    assert [each["state"] for each in writes_nowhere["servers"]] == ["ok", "failed"]
    assert "can answer in 0" in told(writes_nowhere, "servers")[0]


async def test_ten_servers_are_looked_into_and_one_that_does_not_tell_hides_no_other(server, fake):
    for number in range(11):
        fake.add_channel("general", guild=fake.add_guild(f"s{number}"))
    fake.faults.queue("GET /guilds/{guild_id}", Refusal(403, 50001, "Missing Access"))

    found = await examined(server)

    seen = [each["state"] for each in found["servers"]]
    assert (seen.count("ok") + seen.count("failed"), seen.count("skipped")) == (9, 2)
    assert told(found, "servers")[-1] == "2 other servers were not examined."


ROLES = ({"id": "1", "permissions": "0"}, {"id": "2", "permissions": str(PERMISSIONS[VIEW])})


def powers_in(overwrites, *, mine=("2",), roles=ROLES):
    server = {"id": "1", "roles": roles}
    member = {"roles": list(mine)}
    channel = {"guild_id": "1", "permission_overwrites": [
        {"id": id_, "allow": str(allow), "deny": str(deny)} for id_, allow, deny in overwrites
    ]}  # fmt: skip
    return channel_permissions(channel, member, "9", server_permissions(server, member))


@pytest.mark.parametrize(
    ("overwrites", "sees"),
    [
        ([], True),
        ([("1", 0, PERMISSIONS[VIEW])], False),
        ([("1", 0, PERMISSIONS[VIEW]), ("2", PERMISSIONS[VIEW], 0)], True),
        ([("9", 0, PERMISSIONS[VIEW]), ("2", PERMISSIONS[VIEW], 0)], False),
        ([("3", 0, PERMISSIONS[VIEW])], True),
    ],
)
def test_what_is_said_of_everybody_yields_to_the_roles_and_those_to_the_bot(overwrites, sees):
    assert bool(powers_in(overwrites) & PERMISSIONS[VIEW]) is sees


def test_an_administrator_may_do_everything_everywhere():
    roles = (*ROLES, {"id": "3", "permissions": "8"})

    powers = powers_in([("1", 0, sum(PERMISSIONS.values()))], mine=("3",), roles=roles)

    assert all(powers & bit for bit in PERMISSIONS.values())


TEXT, VOICE, FORUM = 0, 2, 15


@pytest.mark.parametrize(
    ("kind", "may", "is_answered"),
    [
        (TEXT, {VIEW, SEND}, True),
        (TEXT, {VIEW, SEND_IN_THREADS}, False),
        (TEXT, {*NEEDED_PERMISSIONS[TEXT]} - {SEND}, True),
        (VOICE, {VIEW, SEND_IN_THREADS}, False),
        (FORUM, {VIEW, SEND}, False),
        (FORUM, {VIEW, SEND_IN_THREADS, HISTORY}, True),
    ],
)
def test_an_answer_finds_its_way_into_the_channel_or_a_thread_of_it(kind, may, is_answered):
    channel = ServerChannel(name="#here", needs=NEEDED_PERMISSIONS[kind], may=frozenset(may))

    assert channel.is_answered_in is is_answered


# What has come


def remember(server, *conversations):
    with closing(sqlite3.connect(server.folder / ".footnote" / "rooms.sqlite")) as database, database:
        database.execute("CREATE TABLE threads (conversation TEXT PRIMARY KEY, asker TEXT NOT NULL)")
        database.executemany("INSERT INTO threads VALUES (?, '1')", [(each,) for each in conversations])


async def test_threads_of_a_server_that_the_bot_has_left_are_no_sign_of_life(server, fake, general):
    remember(server, "discord/1/2/1173972480000000000")
    elsewhere = await examined(server)
    server.settings |= {"DISCORD_TOKEN": ANOTHER_TOKEN}

    of_some = await examined(server)

    assert only(elsewhere, "events")["state"] == "warning"
    assert "14 Nov 2023" in only(of_some, "events")["finding"]


async def test_direct_messages_are_a_sign_of_life(server, general):
    remember(server, "discord/@me/5/talk")

    found = await examined(server)

    assert only(found, "events")["finding"] == "They come: there were direct messages."


# People


async def test_ids_of_every_platform_that_is_set_up_are_known_and_of_others_not(server, general):
    server.settings |= {"WEB_APPROVERS": "U1ABC,123456789012345678,ann", "LEARNERS": "S1ABC,12"}
    of_discord = await examined(server)
    server.settings |= {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_API_URL": "http://127.0.0.1:9/api"}
    of_both = await examined(server)
    server.settings |= {"DISCORD_TOKEN": ""}

    of_slack = await examined(server)

    assert told(of_discord, "people") == [
        "U1ABC, ann in WEB_APPROVERS are no ids of Discord's.", "S1ABC, 12 in LEARNERS are no ids of Discord's.",
    ]  # fmt: skip
    assert "Developer Mode" in of_discord["people"][0]["fix"]
    assert told(of_both, "people") == [
        "ann in WEB_APPROVERS is no id of Slack's or Discord's.", "12 in LEARNERS is no id of Slack's or Discord's.",
    ]  # fmt: skip
    assert "Copy member ID" in of_both["people"][0]["fix"]
    assert "Developer Mode" in of_both["people"][0]["fix"]
    assert told(of_slack, "people")[0] == "123456789012345678, ann in WEB_APPROVERS are no ids of Slack's."


async def test_what_discord_reviews_as_the_bot_grows_is_told_before_it_is_in_the_way(server, fake):
    (small,) = fake.state.guilds.values()
    small.crowd = 7_999
    little = await examined(server)
    for number in range(74):
        fake.add_guild(f"s{number}").crowd = 30

    grown = await examined(server)

    assert "review" not in little
    assert told(grown, "review") == [
        "In 75 servers: from 100 on nobody can add it until Discord has verified it.",
        (
            "About 10,219 people can see it: from 10,000 on Discord reviews Message Content, and each year again. "
            "Meanwhile it goes on."
        ),
    ]
    assert states(grown)["review"] == {"warning"}
    assert f"{fake.application_id}/verification" in grown["review"][0]["fix"]

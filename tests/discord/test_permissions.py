"""A server where the bot lacks rights: it says so to somebody, and goes on."""

from __future__ import annotations

from itertools import combinations

import pytest
from fakes.discord_server import Server
from fakes.fork_server import DEVNULL, start_python
from fakes.served import FERRY, FERRY_ANSWER, environment

RIGHTS = (
    "view_channel", "send_messages", "create_public_threads", "send_messages_in_threads",
    "read_message_history", "embed_links", "attach_files", "add_reactions",
)  # fmt: skip
LACKING = [frozenset(lacking) for count in (1, 2) for lacking in combinations(RIGHTS, count)]


@pytest.fixture
async def server(template, tmp_path, fake):
    fake.faults.told = (5_000, 1.0)
    async with Server.copied(template, tmp_path, fake) as server:
        yield server


def can_answer(lacking):
    """In a thread of its own, or in the channel."""
    may_use_threads = not lacking & {"create_public_threads", "send_messages_in_threads"}
    return "view_channel" not in lacking and (may_use_threads or "send_messages" not in lacking)


def heard(fake, user, channel):
    """Everything that the bot has told a person, in the channel, in a thread or privately."""
    places = [channel, *fake.threads(channel), fake.dm_of(user)]
    return [*(one for place in places for one in fake.said(place)), *fake.ephemerals(user)]


async def ask_by_command(fake, user, channel):
    """Where the bot sees nothing, a command still reaches it."""
    return await fake.slash(user, channel, "ask", question=FERRY)


async def test_whatever_right_is_lacking_somebody_gets_a_clear_word(server, fake, tmp_path):
    await register_commands(tmp_path, fake)
    await server.open()
    channel_store = {lacking: fake.add_channel("-".join(sorted(lacking))) for lacking in LACKING}
    people = {lacking: fake.add_user("-".join(sorted(lacking))) for lacking in LACKING}
    for lacking, context in channel_store.items():
        fake.deny(context, *lacking)

    for lacking, context in channel_store.items():
        ask = ask_by_command if "view_channel" in lacking else lambda _, *where: fake.mention(*where, FERRY)
        await ask(fake, people[lacking], context)
    words = {lacking: FERRY_ANSWER if can_answer(lacking) else "may not write" for lacking in LACKING}
    for lacking, context in channel_store.items():
        await fake.until(
            lambda lacking=lacking, context=context: (
                [one for one in heard(fake, people[lacking], context) if words[lacking] in one.visible]
            ),
        )
    code = await server.stop()

    assert len(LACKING) == 36
    assert {entry["level"] for entry in server.faults} == {"warning"}
    assert (fake.violations, code) == ([], 0)


async def register_commands(folder, fake):
    process = await start_python(
        *("-m", "bots", "manifest", "discord", "--sync"),
        cwd=folder, env=environment(folder) | fake.environment, stdout=DEVNULL,
    )  # fmt: skip
    assert await process.wait() == 0


async def test_who_takes_no_messages_either_is_named_in_the_log(server, fake, ann, general):
    fake.deny(general, "send_messages", "create_public_threads")
    fake.refuses_dms.add(ann.id)
    other = fake.add_channel("other")
    await server.open()

    await fake.mention(ann, general, FERRY)
    await fake.until(lambda: "no place to explain a refusal" in server.log)
    asked = await fake.mention(ann, other, FERRY)
    (answer,) = await server.until_answered(asked)

    assert FERRY_ANSWER in answer.visible
    assert {entry["level"] for entry in server.faults} == {"warning"}


async def test_rights_that_are_given_later_are_used_at_once(server, fake, ann, general):
    fake.deny(general, "create_public_threads")
    await server.open()
    beside = await fake.mention(ann, general, FERRY)
    (first,) = await server.until_answered(beside)

    fake.allow(general, "create_public_threads")
    asked = await fake.mention(ann, general, FERRY)
    (second,) = await server.until_answered(asked)

    assert (first.channel.id, first.referenced.id) == (general.id, beside.id)
    assert second.channel.id == asked.thread.id

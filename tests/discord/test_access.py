"""Who may read what in a Discord, where a private thread is a place of its own in its channel."""

from __future__ import annotations

import pytest
from fakes.shell import Shell

WAGES = "# Wages\n\n## Harbour master\n\nThe wages of the harbour master are 3100 euros a month.\n"
ASKED = "What are the wages of the harbour master?"
ANSWER = "3100 euros"


@pytest.fixture
async def shell(server):
    """Of a server with a collection beside the default one; the bot does not run yet."""
    shell = Shell(server)
    (server.folder / "wages.md").write_text(WAGES)
    assert (await shell.run("ingest", "wages.md", "--collection", "hr")).code == 0
    return shell


def private_thread(fake, ann, channel):
    thread = fake.open_thread(channel, "psst", ann, kind=12)
    fake.add_to_thread(fake.bot, thread)
    return thread


async def said_to(server, asked):
    (answer,) = await server.until_answered(asked)
    return answer.visible


async def test_the_members_of_a_private_thread_read_what_their_channel_may(server, fake, ann, general, shell):
    await shell.run("access", "hr", "--channels", str(general.id))
    await server.open()
    threads = [private_thread(fake, ann, each) for each in (general, fake.add_channel("other"))]

    inside, outside = [await said_to(server, await fake.mention(ann, each, ASKED)) for each in threads]
    await shell.run("access", "hr", "--nobody")
    later = await said_to(server, await fake.mention(ann, threads[0], ASKED))

    assert [ANSWER in each for each in (inside, outside, later)] == [True, False, False]
    assert (fake.violations, fake.rejected, server.faults) == ([], [], [])


async def test_a_command_in_a_private_thread_reads_it_too(server, fake, ann, general, shell):
    await shell.run("access", "hr", "--channels", str(general.id))
    await shell.run("manifest", "discord", "--sync")
    await server.open()
    thread = private_thread(fake, ann, general)

    await fake.slash(ann, thread, "ask", question=ASKED)
    (answer,) = await fake.until(lambda: [each for each in fake.said(thread) if ANSWER in each.visible])

    assert answer.channel is thread
    assert (fake.violations, fake.rejected, server.faults) == ([], [], [])


async def test_in_direct_messages_a_role_counts_until_it_is_taken_away(server, fake, ann, bob, shell):
    board = fake.add_role("board")
    fake.guild.members[ann.id].roles.append(board)
    await shell.run("access", "hr", "--groups", f"{fake.guild.id}/{board.id}")
    await server.open()

    seen = [await said_to(server, await fake.dm(each, ASKED)) for each in (ann, bob)]
    fake.guild.members[ann.id].roles.remove(board)
    seen.append(await said_to(server, await fake.dm(ann, ASKED)))

    assert [ANSWER in each for each in seen] == [True, False, False]
    assert (fake.violations, fake.rejected, server.faults) == ([], [], [])

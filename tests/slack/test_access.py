"""Who may read what, changed beside a bot that runs: in channels, in old threads, in direct messages."""

from __future__ import annotations

import pytest
from fakes.shell import Shell

WAGES = "# Wages\n\n## Harbour master\n\nThe wages of the harbour master are 3100 euros a month.\n"
ASKED = "What are the wages of the harbour master?"
ANSWER = "3100 euros"


@pytest.fixture
async def shell(office):
    """Of an office with a collection beside the default one; the bot runs."""
    shell = Shell(office)
    (office.folder / "wages.md").write_text(WAGES)
    ran = await shell.run("ingest", "wages.md", "--collection", "hr")
    assert ran.code == 0, ran.err
    await office.open()
    return shell


async def access(shell, *arguments):
    ran = await shell.run("access", "hr", *arguments)
    assert (ran.code, ran.err) == (0, "")
    return ran.out


async def said_to(office, asked, count=1):
    return (await office.until_answered(asked, count))[-1].visible


async def test_a_channel_reads_a_collection_from_the_next_question_on_and_not_once_it_is_closed(
    office, slack, shell, ann, general
):
    closed = await said_to(office, await slack.mention(ann, general, ASKED))
    told = await access(shell, "--channels", general)
    asked = await slack.mention(ann, general, ASKED)
    opened = await said_to(office, asked)
    await access(shell, "--nobody")
    follow_up = await slack.say(ann, general, "And what are they in a year?", asked.ts)
    in_thread = await said_to(office, follow_up, 2)
    (first, _) = slack.replies(general, asked.ts)
    await slack.press(first, "footnotes", ann)
    (quotes,) = await slack.until(lambda: slack.ephemerals(ann))

    assert told == f"hr\tchannel {general}\n"
    assert [ANSWER in each for each in (closed, opened, in_thread)] == [False, True, False]
    assert "may not be read here any more" in quotes.visible
    assert ANSWER not in quotes.visible
    assert (slack.rejected, office.faults) == ([], [])


async def test_in_direct_messages_a_group_counts_until_it_is_left(office, slack, shell, ann, general):
    bob = slack.add_user("bob")
    group = slack.add_usergroup("board", ann)
    await access(shell, "--groups", group)

    seen = [await said_to(office, await slack.dm(each, ASKED)) for each in (ann, bob)]
    in_channel = await said_to(office, await slack.mention(ann, general, ASKED))
    calls = [call for call in slack.api.calls if call.method == "usergroups.users.list"]
    await slack.dm(bob, "use hr")
    (refused,) = await slack.until(lambda: slack.ephemerals(bob))

    assert [ANSWER in each for each in (*seen, in_channel)] == [True, False, False]
    assert calls
    assert "footnote access NAME" in refused.visible
    assert (slack.rejected, office.faults) == ([], [])


async def test_a_channel_that_becomes_public_and_private_again_reads_what_was_opened_to_it(
    office, slack, shell, ann, general
):
    """A rule names the channel, whoever is in it. What another channel reads does not change with it."""
    private = slack.add_channel("board", ann, is_private=True)
    await access(shell, "--channels", private)

    inside, outside = [], []
    for kind in ("group", "channel", "group"):
        slack.state.conversations[private].kind = kind
        inside.append(await said_to(office, await slack.mention(ann, private, ASKED)))
        outside.append(await said_to(office, await slack.mention(ann, general, ASKED)))

    assert [ANSWER in each for each in inside] == [True] * 3
    assert [ANSWER in each for each in outside] == [False] * 3
    assert (slack.rejected, office.faults) == ([], [])

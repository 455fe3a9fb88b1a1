"""Everything that is said is read: in blocks, in what is forwarded, by an edit, and where only the bot is named."""

from __future__ import annotations

import pytest
from fakes.office import FERRY, FERRY_ANSWER, PONTOON, PONTOON_ANSWER
from fakes.slack import DUPLICATES

SARK = "Does anybody know when the ferry to Sark leaves?"
TICKET = {"title": "Ticket 7", "text": SARK, "fields": [{"title": "From", "value": "a visitor"}]}


@pytest.fixture
def bob(slack, general):
    bob = slack.add_user("bob")
    slack.state.conversations[general].members.append(bob)
    return bob


def rich(*elements):
    return [
        {
            "type": "rich_text",
            "block_id": "b",
            "elements": [{"type": "rich_text_section", "elements": elements}],
        }
    ]


async def heard(office, slack, ann, general):
    """What was said before this is answered by now, if it is answered at all."""
    marker = await slack.mention(ann, general, PONTOON)
    await office.until_answered(marker)


async def test_a_question_whose_words_stand_in_blocks_alone_is_answered(office, slack, ann, general):
    await office.open()
    bot = slack.state.bot(slack.state.conversations[general].team)

    blocks = rich({"type": "user", "user_id": bot.id}, {"type": "text", "text": f" {FERRY}"})
    asked = await slack.say(ann, general, "", blocks=blocks)
    (answer,) = await office.until_answered(asked)

    assert FERRY_ANSWER in answer.visible
    assert (slack.rejected, office.faults) == ([], [])


@pytest.mark.parametrize("words", ["", "can you answer this?"])
async def test_a_mention_with_a_forwarded_message_asks_about_that(office, slack, ann, general, words):
    harbour = slack.add_channel("harbour", ann)
    await office.open()
    said = await slack.say(ann, harbour, SARK)

    bot = slack.state.bot(slack.state.conversations[general].team)
    asked = await slack.forward(ann, said, general, f"<@{bot.id}> {words}".strip())
    (answer,) = await office.until_answered(asked)

    assert FERRY_ANSWER in answer.visible
    assert (slack.rejected, office.faults) == ([], [])


async def test_a_message_that_is_forwarded_to_the_bot_is_a_question_and_never_a_command(
    office, slack, ann, general
):
    await office.open()
    first = await slack.dm(ann, FERRY)
    await office.until_answered(first)
    for words in ("forget", "approve", SARK):
        said = await slack.say(ann, general, words)
        asked = await slack.forward(ann, said, first.channel, "", first.ts)
        await slack.until_acked(asked)
    answers = await office.until_answered(first, 4)

    assert FERRY_ANSWER in answers[-1].visible
    assert not [each for each in answers if "I forgot" in each.visible]
    assert slack.ephemerals(ann) == []


async def test_a_mention_in_what_is_forwarded_calls_nobody(office, slack, ann, general):
    harbour = slack.add_channel("harbour", ann)
    await office.open()
    asked = await slack.mention(ann, general, FERRY)
    await office.until_answered(asked)

    forwarded = await slack.forward(ann, asked, harbour, "look at this")
    await slack.until_acked(forwarded)
    await heard(office, slack, ann, general)

    assert slack.replies(harbour, forwarded.ts) == []


async def test_called_below_a_ticket_it_knows_what_stands_in_it(office, slack, ann, general):
    tickets = slack.add_bot("tickets")
    await office.open()
    root = await slack.bot_says(general, "", bot=tickets, attachments=[TICKET])

    called = await slack.mention(ann, general, "can you answer this?", root.ts)
    (answer,) = await office.until_answered(called)

    assert FERRY_ANSWER in answer.visible


async def test_a_mention_that_an_edit_adds_is_answered_once(office, slack, ann, general):
    await office.open()
    bot = slack.state.bot(slack.state.conversations[general].team)
    said = await slack.say(ann, general, FERRY)
    await heard(office, slack, ann, general)
    before = slack.replies(general, said.ts)

    await slack.edit(said, f"<@{bot.id}> {FERRY}")
    (answer,) = await office.until_answered(said)
    await slack.edit(said, f"<@{bot.id}> {PONTOON}")
    await slack.unfurl(said)
    for kind in DUPLICATES:
        await slack.duplicate(said, kind)
    await heard(office, slack, ann, general)

    assert before == []
    assert FERRY_ANSWER in answer.visible
    assert slack.replies(general, said.ts) == [answer]
    assert (slack.rejected, office.faults) == ([], [])


async def test_a_mention_that_an_edit_adds_at_once_to_a_remark_is_answered(office, slack, ann, general):
    await office.open()
    bot = slack.state.bot(slack.state.conversations[general].team)
    root = await slack.mention(ann, general, FERRY)
    await office.until_answered(root)

    said = await slack.say(ann, general, "I am off, bye", root.ts)
    await slack.edit(said, f"<@{bot.id}> {PONTOON}")
    _, answer = await office.until_answered(root, 2)

    assert PONTOON_ANSWER in answer.visible
    assert (slack.rejected, office.faults) == ([], [])


async def test_an_edit_of_what_was_asked_changes_nothing(office, slack, ann, general):
    await office.open()
    bot = slack.state.bot(slack.state.conversations[general].team)
    asked = await slack.mention(ann, general, FERRY)
    await slack.edit(asked, f"<@{bot.id}> {PONTOON}")
    (answer,) = await office.until_answered(asked)

    await slack.edit(asked, f"<@{bot.id}> approve")
    await heard(office, slack, ann, general)

    assert FERRY_ANSWER in answer.visible or PONTOON_ANSWER in answer.visible  # whichever came first
    assert slack.replies(general, asked.ts) == [answer]
    assert slack.ephemerals(ann) == []


async def test_a_mention_without_words_answers_the_question_of_its_thread_once(
    office, slack, ann, bob, general
):
    await office.open()
    root = await slack.say(ann, general, SARK)
    await slack.say(bob, general, "No idea, sorry.", root.ts)

    called = await slack.mention(bob, general, "", root.ts)
    (answer,) = await office.until_answered(called)
    await slack.duplicate(called, DUPLICATES[0])
    again = await slack.mention(bob, general, "", root.ts)
    _, told = await office.until_answered(again, 2)

    assert FERRY_ANSWER in answer.visible
    assert "Mention me with a question" in told.visible
    assert (slack.rejected, office.faults) == ([], [])


@pytest.mark.parametrize("said", ["", ":wave:"])
async def test_where_the_thread_begins_without_words_a_mention_alone_gets_help(
    office, slack, ann, general, said
):
    await office.open()
    root = await slack.say(ann, general, said, files=[("a.png", b"\x89PNG")])

    called = await slack.mention(ann, general, "", root.ts)
    (told,) = await office.until_answered(called)

    assert "Mention me with a question" in told.visible


async def test_a_thread_whose_question_was_answered_after_a_kill_is_answered_once(
    office, slack, ann, bob, general
):
    await office.open()
    root = await slack.say(ann, general, SARK)
    called = await slack.mention(bob, general, "", root.ts)
    await office.until_answered(called)

    await office.kill()
    await slack.until(lambda: not slack.sockets.live)
    await office.open()
    await slack.duplicate(called, "retry")
    await heard(office, slack, ann, general)

    assert len(slack.replies(general, root.ts)) == 1

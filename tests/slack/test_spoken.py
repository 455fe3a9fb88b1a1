"""Everything that is said is read: in blocks, in what is forwarded, by an edit at once, and where only the bot is named."""

from __future__ import annotations

import pytest
from fakes.office import FERRY, FERRY_ANSWER, PONTOON, PONTOON_ANSWER

SARK = "Does anybody know when the ferry to Sark leaves?"


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

"""A word that a kill cut off, and how a talk with the bot begins."""

from __future__ import annotations

from fakes.slack import Hang as NoReply


async def test_a_word_is_carried_out_though_the_process_was_killed_meanwhile(office, slack, ann, general):
    await office.open()
    slack.faults.queue("chat.postMessage", NoReply(after_effect=True))
    said = await slack.mention(ann, general, "learn", files=[("b.md", b"# Bees\n\nBees sleep at night.\n")])
    await slack.until(lambda: slack.faults.injected)

    await office.kill()
    await slack.until(lambda: not slack.sockets.live)
    await office.open()
    (learned,) = await office.until_answered(said)
    asked = await slack.mention(ann, general, "When do bees sleep?")
    (answer,) = await office.until_answered(asked)

    assert "1 document" in learned.visible
    assert "at night" in answer.visible


async def test_who_opens_a_talk_with_the_bot_is_told_how_to_begin(office, slack, ann):
    await office.open()

    await slack.open_home(ann)
    await slack.until(lambda: slack.prompts)

    assert slack.rejected == []

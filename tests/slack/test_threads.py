"""Threads that were there before the bot, that are forgotten, and that are begun anew."""

from __future__ import annotations

from fakes.gemini import FakeGemini, Hang
from fakes.office import FERRY, FERRY_ANSWER, PONTOON
from fakes.slack import DUPLICATES
from fakes.slack import Hang as NoReply

SARK = "Does anybody know when the ferry to Sark leaves?"


async def test_called_into_a_running_thread_it_knows_what_was_asked_there(office, slack, ann, general):
    await office.open()
    root = await slack.say(ann, general, SARK)
    await slack.say(ann, general, "No idea, sorry.", root.ts)

    called = await slack.mention(ann, general, "can you answer this?", root.ts)
    (answer,) = await office.until_answered(called)

    assert FERRY_ANSWER in answer.visible
    assert (slack.rejected, office.faults) == ([], [])


async def test_what_was_said_before_reaches_the_model_as_talk_and_not_as_a_rule(office, slack, ann, general):
    async with FakeGemini() as model:
        office.settings |= {"GOOGLE_API_KEY": model.api_key, "GOOGLE_GEMINI_BASE_URL": model.base_url}
        await office.open()
        root = await slack.say(ann, general, SARK)
        for number in range(30):
            await slack.say(ann, general, f"Remark {number} <!channel>", root.ts)
        called = await slack.mention(ann, general, "can you answer this?", root.ts)
        await office.until_answered(called)
        follow_up = await slack.say(ann, general, PONTOON, root.ts)
        await office.until_answered(follow_up, 2)

    (first, second) = [call for call in model.calls if call.step == "plan"]
    for call in (first, second):
        assert f"thread message>>\nann: {SARK}\n<<" in call.prompt
        assert "Remark 29" in call.prompt
        assert "Remark 10" not in call.prompt
        assert "Thread messages are what people wrote" in call.system


async def test_a_thread_that_is_forgotten_is_gone_from_every_file(office, slack, ann, general):
    await office.open()
    asked = await slack.mention(ann, general, FERRY)
    await office.until_answered(asked)
    kept = await slack.mention(ann, general, PONTOON)
    await office.until_answered(kept)

    forget = await slack.mention(ann, general, "forget", asked.ts)
    await office.until_answered(forget, 2)
    await slack.duplicate(asked, DUPLICATES[0])
    again = await slack.mention(ann, general, PONTOON)
    await office.until_answered(again)
    assert await office.stop() == 0

    assert len(slack.replies(general, asked.ts)) == 2
    files = [file for file in (office.folder / ".footnote").iterdir() if file.is_file()]
    assert any(PONTOON.encode() in file.read_bytes() for file in files)
    assert [file.name for file in files if FERRY.encode() in file.read_bytes()] == []


async def test_a_turn_that_failed_is_begun_anew_once_however_often_the_button_is_pressed(
    office, slack, ann, general
):
    async with FakeGemini() as model:
        model.queue("plan", Hang())
        office.settings |= {"GOOGLE_API_KEY": model.api_key, "GOOGLE_GEMINI_BASE_URL": model.base_url}
        await office.open()
        asked = await slack.mention(ann, general, FERRY)
        await slack.until(lambda: model.calls)
        await slack.say(ann, general, "stop", asked.ts)
        (stopped,) = await office.until_answered(asked)

        await slack.press(stopped, "again", ann)
        await slack.press(stopped, "again", ann)
        _, answer = await office.until_answered(asked, 2)
        marker = await slack.mention(ann, general, PONTOON)
        await office.until_answered(marker)

    assert "Stopped." in stopped.visible
    assert "Answered in" in answer.visible
    assert len(slack.replies(general, asked.ts)) == 2
    assert slack.rejected == []


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

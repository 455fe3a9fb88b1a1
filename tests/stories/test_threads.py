"""Threads that were there before the bot, that are forgotten, and that are begun anew; alike in Slack and in Discord."""

from __future__ import annotations

import pytest
from fakes.gemini import FakeGemini, Hang
from fakes.served import FERRY, FERRY_ANSWER, PONTOON, PONTOON_ANSWER

SARK = "Does anybody know when the ferry to Sark leaves?"
ASKED = "can you answer this?"


@pytest.fixture
async def model(chat):
    async with FakeGemini() as gemini:
        chat.settings |= {"GOOGLE_API_KEY": gemini.api_key, "GOOGLE_GEMINI_BASE_URL": gemini.base_url}
        yield gemini


async def test_called_into_a_running_thread_it_knows_what_was_asked_there(chat):
    root = await chat.say(chat.ann, chat.general, SARK)
    await chat.say(chat.bob, chat.general, "No idea, sorry.", root)
    await chat.open()

    called = await chat.mention(chat.bob, chat.general, ASKED, root)
    (answer,) = await chat.until_answered(called)
    await chat.say(chat.bob, chat.general, PONTOON, root)
    _, second = await chat.until_answered(called, 2)

    assert FERRY_ANSWER in answer.visible
    assert PONTOON_ANSWER in second.visible
    assert chat.is_below(answer, root)
    assert chat.replies(root) == [answer, second]
    assert (chat.rejected, chat.faults) == ([], [])


async def test_what_was_said_before_reaches_the_model_as_talk_and_not_as_a_rule(chat, model):
    await chat.open()
    root = await chat.say(chat.ann, chat.general, SARK)
    for number in range(30):
        await chat.say(chat.ann, chat.general, f"Remark {number} {chat.everyone}", root)
    called = await chat.mention(chat.ann, chat.general, ASKED, root)
    await chat.until_answered(called)
    await chat.say(chat.ann, chat.general, PONTOON, root)
    await chat.until_answered(called, 2)

    plans = [call for call in model.calls if call.step == "plan"]
    assert len(plans) == 2
    for call in plans:
        assert f"thread message>>\nann: {SARK}\n<<" in call.prompt or not chat.keeps_root
        assert "ann: Remark 29" in call.prompt
        assert f"Remark {10 if chat.keeps_root else 9} " not in call.prompt
        assert "Thread messages are what people wrote" in call.system
    assert (chat.rejected, chat.faults) == ([], [])


async def test_a_thread_that_is_forgotten_is_gone_from_every_file(chat):
    await chat.open()
    asked = await chat.mention(chat.ann, chat.general, FERRY)
    await chat.until_answered(asked)
    await chat.until_answered(await chat.mention(chat.ann, chat.general, PONTOON))

    await chat.mention(chat.ann, chat.general, "forget", asked)
    _, forgotten = await chat.until_answered(asked, 2)
    await chat.bring_again(asked)
    await chat.say(chat.ann, chat.general, PONTOON, asked)
    await chat.until_answered(await chat.mention(chat.ann, chat.general, PONTOON))
    assert await chat.stop() == 0

    assert "I forgot this thread" in forgotten.visible
    assert len(chat.replies(asked)) == 2
    files = [file for file in (chat.folder / ".footnote").iterdir() if file.is_file()]
    assert any(PONTOON.encode() in file.read_bytes() for file in files)
    assert [file.name for file in files if FERRY.encode() in file.read_bytes()] == []
    assert (chat.rejected, chat.faults) == ([], [])


async def test_a_turn_that_failed_is_begun_anew_once_however_often_the_button_is_pressed(chat, model):
    model.queue("plan", Hang())
    await chat.open()
    asked = await chat.mention(chat.ann, chat.general, FERRY)
    await chat.until(lambda: model.calls)
    await chat.say(chat.ann, chat.general, "stop", asked)
    (stopped,) = await chat.until_answered(asked)

    for user in (chat.ann, chat.bob, chat.ann):
        await chat.press(stopped, "again", user)
    _, answer = await chat.until_answered(asked, 2)
    await chat.until_answered(await chat.mention(chat.ann, chat.general, PONTOON))

    assert "Stopped." in stopped.visible
    assert "Answered in" in answer.visible
    assert len(chat.replies(asked)) == 2
    assert chat.told(chat.ann) + chat.told(chat.bob) == []
    assert chat.rejected == []


async def test_thanks_in_a_thread_are_answered_in_the_thread(chat):
    await chat.open()
    asked = await chat.mention(chat.ann, chat.general, FERRY)
    await chat.until_answered(asked)

    await chat.mention(chat.ann, chat.general, "thank you!", asked)
    _, thanked = await chat.until_answered(asked, 2)

    assert thanked.visible == "You are welcome."
    assert chat.is_below(thanked, asked)


@pytest.mark.parametrize("count", [5, pytest.param(100, marks=pytest.mark.long)])
async def test_many_messages_at_once_in_one_thread_are_answered_in_order(chat, count):
    await chat.open()
    root = await chat.mention(chat.ann, chat.general, FERRY)
    await chat.until_answered(root)

    asked = [
        await chat.say(chat.ann, chat.general, (FERRY, PONTOON)[number % 2], root) for number in range(count)
    ]
    answers = await chat.until_answered(root, count + 1)

    expected = [(FERRY_ANSWER, PONTOON_ANSWER)[number % 2] for number in range(count)]
    assert [words in one.visible for words, one in zip(expected, answers[1:], strict=True)] == [True] * count
    assert all(chat.refers_to(answer, each) for answer, each in zip(answers[1:], asked, strict=True))

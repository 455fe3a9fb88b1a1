"""Everything that is said is read, on both platforms: in boxes, in what is forwarded, by an edit, and without words."""

from __future__ import annotations

from fakes.served import FERRY, FERRY_ANSWER, PONTOON, PONTOON_ANSWER

SARK = "Does anybody know when the ferry to Sark leaves?"
LINK = "https://a.test/x"


async def heard(chat):
    """What was said before this is answered by now, if it is answered at all."""
    await chat.until_answered(await chat.mention(chat.ann, chat.general, PONTOON))


async def test_what_is_forwarded_to_the_bot_is_a_question_and_never_a_command(chat):
    await chat.open()
    first = await chat.dm(chat.ann, FERRY)
    await chat.until_answered(first)
    for words in ("forget", "approve", SARK):
        said = await chat.say(chat.ann, chat.general, words)
        await chat.forward(chat.ann, said, first.channel, first)
    answers = await chat.until_answered(first, 4)

    assert FERRY_ANSWER in answers[-1].visible
    assert not [each for each in answers if "I forgot" in each.visible or "no open" in each.visible]
    assert [each for each in chat.told(chat.ann) if each not in answers] == []
    assert chat.rejected == []


async def test_a_mention_in_what_is_forwarded_calls_nobody(chat):
    harbour = chat.add_channel("harbour", chat.ann)
    await chat.open()
    asked = await chat.mention(chat.ann, chat.general, FERRY)
    await chat.until_answered(asked)

    forwarded = await chat.forward(chat.ann, asked, harbour)
    await heard(chat)

    assert chat.replies(forwarded) == []


async def test_called_below_a_ticket_it_knows_what_stands_in_it(chat):
    await chat.open()
    root = await chat.post_ticket(chat.general, SARK)

    called = await chat.mention(chat.ann, chat.general, "can you answer this?", root)
    (answer,) = await chat.until_answered(called)

    assert FERRY_ANSWER in answer.visible
    assert (chat.rejected, chat.faults) == ([], [])


async def test_a_mention_that_an_edit_adds_is_answered_once(chat):
    await chat.open()
    said = await chat.say(chat.ann, chat.general, f"{FERRY} {LINK}")
    await heard(chat)
    before = chat.replies(said)

    await chat.edit(said, f"{chat.me} {FERRY} {LINK}")
    (answer,) = await chat.until_answered(said)
    await chat.edit(said, f"{chat.me} {PONTOON} {LINK}")
    await chat.unfurl(said)
    await chat.bring_again(said)
    await heard(chat)

    assert before == []
    assert FERRY_ANSWER in answer.visible
    assert chat.replies(said) == [answer]
    assert chat.is_below(answer, said)
    assert (chat.rejected, chat.faults) == ([], [])


async def test_an_edit_of_what_was_asked_changes_nothing(chat):
    await chat.open()
    asked = await chat.mention(chat.ann, chat.general, FERRY)
    await chat.edit(asked, f"{chat.me} {PONTOON}")
    (answer,) = await chat.until_answered(asked)

    for words in (PONTOON, "forget", "approve"):
        await chat.edit(asked, f"{chat.me} {words}")
    await heard(chat)

    assert FERRY_ANSWER in answer.visible or PONTOON_ANSWER in answer.visible  # whichever came first
    assert chat.replies(asked) == [answer]
    assert chat.told(chat.ann) == []


async def test_a_mention_without_words_answers_the_question_of_its_thread_once(chat):
    await chat.open()
    root = await chat.say(chat.ann, chat.general, SARK)
    await chat.say(chat.bob, chat.general, "No idea, sorry.", root)

    called = await chat.mention(chat.bob, chat.general, "", root)
    (answer,) = await chat.until_answered(called)
    await chat.bring_again(called)
    await chat.mention(chat.bob, chat.general, "", root)
    _, told = await chat.until_answered(called, 2)

    assert FERRY_ANSWER in answer.visible
    assert "Mention me with a question" in told.visible
    assert chat.replies(root) == [answer, told]
    assert chat.is_below(told, root)
    assert (chat.rejected, chat.faults) == ([], [])

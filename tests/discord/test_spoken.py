"""Everything that is said is read: in embeds, in what is forwarded, by an edit, and where only the bot is named."""

from __future__ import annotations

import pytest
from fakes.served import FERRY, FERRY_ANSWER, PONTOON, PONTOON_ANSWER

SARK = "Does anybody know when the ferry to Sark leaves?"
TICKET = {"type": "rich", "title": "Ferry", "fields": [{"name": "Asks", "value": SARK, "inline": True}]}
PANEL = {"type": 17, "components": [{"type": 10, "content": SARK}]}
POLL = {
    "question": {"text": SARK}, "answers": [{"answer_id": 1, "poll_media": {"text": "No"}}], "expiry": "2027-01-01T00:00:00+00:00",
    "allow_multiselect": False, "layout_type": 1,
}  # fmt: skip


async def heard(server, fake, ann, general):
    """What was said before this is answered by now, if it is answered at all."""
    marker = await fake.mention(ann, general, PONTOON)
    await server.until_answered(marker)


@pytest.mark.parametrize(
    "said",
    [{"embeds": [TICKET]}, {"components": [PANEL]}, {"poll": POLL}],
    ids=["embed", "components", "poll"],
)
async def test_a_mention_alone_in_a_reply_asks_what_the_other_message_says(server, fake, ann, general, said):
    tickets = fake.add_user("tickets", is_bot=True)
    fake.resolves_replies = "poll" not in said
    await server.open()
    ticket = await fake.post(tickets, general, "", **said)

    called = await fake.reply(ann, ticket, fake.bot.mention)
    (answer,) = await server.until_answered(called)

    assert FERRY_ANSWER in answer.visible
    assert answer.channel is called.thread
    assert called.thread.name.endswith(SARK)
    assert (fake.violations, fake.rejected, server.faults) == ([], [], [])


async def test_what_is_forwarded_to_the_bot_is_a_question_and_never_a_command(server, fake, ann, general):
    await server.open()
    first = await fake.dm(ann, FERRY)
    await server.until_answered(first)
    for words in ("forget", "approve", SARK):
        said = await fake.post(ann, general, words)
        await fake.forward(ann, said, first.channel)
    answers = await server.until_answered(first, 4)

    assert FERRY_ANSWER in answers[-1].visible
    assert not [each for each in answers if "I forgot" in each.visible or "no open" in each.visible]
    assert (fake.violations, fake.rejected) == ([], [])


async def test_a_mention_in_what_is_forwarded_calls_nobody(server, fake, ann, general):
    harbour = fake.add_channel("harbour")
    await server.open()
    asked = await fake.mention(ann, general, FERRY)
    await server.until_answered(asked)

    forwarded = await fake.forward(ann, asked, harbour)
    await heard(server, fake, ann, general)

    assert fake.replies(forwarded) == []


async def test_called_below_a_ticket_it_knows_what_stands_in_it(server, fake, ann, general):
    tickets = fake.add_user("tickets", is_bot=True)
    await server.open()
    root = await fake.post(tickets, general, "", embeds=[TICKET])
    thread = fake.open_thread(general, "Ticket 7", tickets, starter=root)

    called = await fake.mention(ann, thread, "can you answer this?")
    (answer,) = await server.until_answered(called)

    assert FERRY_ANSWER in answer.visible
    assert (fake.violations, fake.rejected, server.faults) == ([], [], [])


async def test_a_mention_that_an_edit_adds_is_answered_once(server, fake, ann, general):
    await server.open()
    said = await fake.post(ann, general, f"{FERRY} https://a.test/x")
    await heard(server, fake, ann, general)
    before = fake.replies(said)

    await fake.edit(said, f"{fake.bot.mention} {FERRY} https://a.test/x")
    await fake.until(lambda: said.thread)
    (answer,) = await server.until_answered(said)
    await fake.edit(said, f"{fake.bot.mention} {PONTOON} https://a.test/x")
    await fake.unfurl(said)
    await fake.duplicate(said)
    await heard(server, fake, ann, general)

    assert [each for each in before if each.channel is not general] == []
    assert FERRY_ANSWER in answer.visible
    assert fake.said(said.thread) == [answer]
    assert (fake.violations, fake.rejected, server.faults) == ([], [], [])


async def test_an_edit_of_what_was_asked_changes_nothing(server, fake, ann, general):
    await server.open()
    asked = await fake.mention(ann, general, FERRY)
    (answer,) = await server.until_answered(asked)

    for words in (PONTOON, "forget", "approve"):
        await fake.edit(asked, f"{fake.bot.mention} {words}")
    await heard(server, fake, ann, general)

    assert fake.said(asked.thread) == [answer]
    assert fake.ephemerals(ann) == []


async def test_a_mention_without_words_answers_the_question_of_its_thread_once(
    server, fake, ann, bob, general
):
    await server.open()
    root = await fake.post(ann, general, SARK)
    thread = fake.open_thread(general, "ferry", ann, starter=root)
    await fake.post(bob, thread, "No idea, sorry.")

    called = await fake.mention(bob, thread, "")
    (answer,) = await server.until_answered(called)
    await fake.duplicate(called)
    again = await fake.mention(bob, thread, "")
    (told,) = await server.until_answered(again)

    assert FERRY_ANSWER in answer.visible
    assert "Mention me with a question" in told.visible
    assert fake.said(thread) == [answer, told]
    assert (fake.violations, fake.rejected, server.faults) == ([], [], [])


@pytest.mark.parametrize(("title", "text"), [("Ferry", SARK), (SARK, "Please help."), (SARK, "")])
async def test_a_mention_without_words_answers_a_forum_post_with_its_title(server, fake, ann, title, text):
    forum = fake.add_channel("questions", kind="forum")
    await server.open()
    post = await fake.post_in_forum(ann, forum, title, text, files=[("a.png", b"\x89PNG")])

    called = await fake.mention(ann, post.channel, "")
    (answer,) = await server.until_answered(called)

    assert FERRY_ANSWER in answer.visible
    assert (fake.violations, fake.rejected) == ([], [])


async def test_where_the_thread_begins_with_the_bot_or_nothing_a_mention_alone_gets_help(
    server, fake, ann, general
):
    await server.open()
    asked = await fake.mention(ann, general, PONTOON)
    (answer,) = await server.until_answered(asked)
    root = await fake.post(ann, general, "", files=[("a.png", b"\x89PNG")])
    thread = fake.open_thread(general, "picture", ann, starter=root)

    for place in (asked.thread, thread):
        called = await fake.mention(ann, place, "")
        (told,) = await server.until_answered(called)
        assert "Mention me with a question" in told.visible

    assert PONTOON_ANSWER in answer.visible

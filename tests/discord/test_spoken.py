"""Everything that is said is read: in embeds, in panels, in polls, and where only the bot is named."""

from __future__ import annotations

import pytest
from fakes.served import FERRY_ANSWER, PONTOON, PONTOON_ANSWER

SARK = "Does anybody know when the ferry to Sark leaves?"
TICKET = {"type": "rich", "title": "Ferry", "fields": [{"name": "Asks", "value": SARK, "inline": True}]}
PANEL = {"type": 17, "components": [{"type": 10, "content": SARK}]}
POLL = {
    "question": {"text": SARK}, "answers": [{"answer_id": 1, "poll_media": {"text": "No"}}], "expiry": "2027-01-01T00:00:00+00:00",
    "allow_multiselect": False, "layout_type": 1,
}  # fmt: skip


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

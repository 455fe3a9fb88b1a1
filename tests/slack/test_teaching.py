"""Teaching by answering in Slack: experts are asked, a reply is kept, cited and forgotten."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

SLIP = "Who may use the slipway in winter?"  # the handbook does not say
ANSWER = "In winter the slipway may be used by the rescue boat only; ask Marta for the chain's key."


@pytest.fixture
def people(slack, ann, general):
    """Who asks, who knows, and another; and the channel they are in."""
    bob, carl = slack.add_user("bob"), slack.add_user("carl")
    slack.state.conversations[general].members += [bob, carl]
    return ann, bob, carl, general


async def asked_and_consulted(office, slack, ann, general):
    asked = await slack.mention(ann, general, SLIP)
    (answer,) = await office.until_answered(asked)
    await slack.press(answer, "consult", ann)
    _, request = await office.until_answered(asked, 2)
    return asked, request


def rows(office, store, query):
    with closing(sqlite3.connect(office.folder / ".footnote" / f"{store}.sqlite")) as database:
        return database.execute(query).fetchall()


async def test_an_expert_is_asked_once_and_the_reply_is_kept_and_cited(office, slack, people):
    ann, bob, carl, general = people
    group = slack.add_usergroup("harbour-team", carl)
    office.settings |= {"EXPERTS": f"{bob},{group}"}
    await office.open()
    asked, request = await asked_and_consulted(office, slack, ann, general)
    (first,) = slack.replies(general, asked.ts)[:1]
    await slack.press(first, "consult", carl)
    (again,) = await slack.until(lambda: slack.ephemerals(carl))
    reply = await slack.say(bob, general, ANSWER, asked.ts)

    await slack.press(request, "keep", bob)
    _, _, kept = await office.until_answered(asked, 3)
    other = await slack.mention(ann, general, "Is the slipway used in winter, and who may use it?")
    (cited,) = await office.until_answered(other)

    assert f"<@{bob}>" in request.text
    assert f"<!subteam^{group}>" in request.text
    assert SLIP in request.visible
    assert "asked already" in again.visible
    assert (ANSWER in kept.visible, "bob, in #general" in kept.visible) == (True, True)
    assert "rescue boat" in cited.visible
    assert "bob, in #general" in cited.visible
    assert any(reply.ts.replace(".", "") in str(entity.target) for entity in cited.entities)
    assert rows(office, "answers", "SELECT count(*) FROM answer_uses") == [(1,)]
    assert (slack.rejected, office.faults) == ([], [])


async def test_a_request_that_was_cut_off_asks_once_after_a_kill(office, slack, people):
    ann, bob, _, general = people
    office.settings |= {"EXPERTS": bob}
    await office.open()
    asked = await slack.mention(ann, general, SLIP)
    (answer,) = await office.until_answered(asked)

    pressed = await slack.press(answer, "consult", ann)
    await slack.until(lambda: pressed.is_acked)
    await office.kill()
    await office.open()
    await office.until_answered(asked, 2)
    await slack.press(answer, "consult", bob)
    await slack.until(lambda: slack.ephemerals(bob))

    assert len(slack.replies(general, asked.ts)) == 2


async def test_who_is_not_trusted_cannot_teach_and_is_told_so_alone(office, slack, people):
    ann, bob, carl, general = people
    office.settings |= {"EXPERTS": bob}
    await office.open()
    asked, request = await asked_and_consulted(office, slack, ann, general)
    gossip = await slack.say(carl, general, "Anybody may, I think.", asked.ts)

    await slack.press(request, "keep", carl)
    (refusal,) = await slack.until(lambda: slack.ephemerals(carl))
    await slack.press(request, "keep", bob)
    (nothing,) = await slack.until(lambda: slack.ephemerals(bob))
    await slack.shortcut(gossip, "keep_answer", bob)
    _, not_his = await slack.until(lambda: len(found := slack.ephemerals(bob)) > 1 and found)

    assert "EXPERTS" in refusal.visible
    assert "no reply yet" in nothing.visible
    assert "only what those say" in not_his.visible
    assert rows(office, "answers", "SELECT * FROM answers") == []
    assert len(slack.replies(general, asked.ts)) == 2


async def test_the_word_and_the_menu_keep_a_reply_and_it_is_forgotten_with_a_press_or_its_message(
    office, slack, people
):
    ann, bob, _, general = people
    office.settings |= {"EXPERTS": bob}
    await office.open()
    root = await slack.say(ann, general, SLIP)
    reply = await slack.say(bob, general, ANSWER, root.ts)

    await slack.shortcut(reply, "keep_answer", bob)
    (kept,) = await office.until_answered(root)
    await slack.press(kept, "unkeep", bob)
    await slack.until(lambda: "forgot" in kept.visible)
    await slack.until(lambda: rows(office, "answers", "SELECT * FROM answers") == [])
    await slack.mention(bob, general, "keep", root.ts)
    await slack.until(lambda: rows(office, "answers", "SELECT state FROM answers") == [("used",)])
    ((question,),) = rows(office, "answers", "SELECT question FROM answers")
    await slack.erase(reply)
    await slack.until(lambda: rows(office, "answers", "SELECT * FROM answers") == [])

    left = "SELECT * FROM documents WHERE address LIKE 'answer:%'"
    await slack.until(lambda: rows(office, "library", left) == [])

    assert question == SLIP
    assert (slack.rejected, office.faults) == ([], [])


async def test_what_is_kept_in_a_private_channel_is_read_there_only(office, slack, people):
    ann, bob, _, general = people
    secret = slack.add_channel("board", ann, is_private=True)
    slack.state.conversations[secret].members.append(bob)
    office.settings |= {"EXPERTS": bob}
    await office.open()
    canary = "The slipway is sold to Kestrel Holdings in winter."
    root = await slack.say(ann, secret, SLIP)
    await slack.say(bob, secret, canary, root.ts)
    await slack.mention(bob, secret, "keep", root.ts)
    await office.until_answered(root)

    outside = await slack.mention(ann, general, SLIP)
    (there,) = await office.until_answered(outside)
    direct = await slack.dm(ann, SLIP)
    (alone,) = await office.until_answered(direct)
    inside = await slack.mention(ann, secret, SLIP)
    (here,) = await office.until_answered(inside)

    assert "Kestrel" not in there.visible + alone.visible + str(there.blocks) + str(alone.blocks)
    assert "Kestrel" in here.visible


async def test_a_forgotten_thread_takes_its_answers_along_if_who_says_so_may_teach(office, slack, people):
    ann, bob, _, general = people
    office.settings |= {"EXPERTS": bob}
    await office.open()
    root = await slack.mention(ann, general, SLIP)
    await office.until_answered(root)
    await slack.say(bob, general, ANSWER, root.ts)
    await slack.mention(bob, general, "keep", root.ts)
    await office.until_answered(root, 2)

    await slack.mention(ann, general, "forget", root.ts)
    *_, stays = await office.until_answered(root, 3)
    await slack.mention(bob, general, "forget", root.ts)
    await office.until_answered(root, 4)

    assert "1 kept answer from here stays" in stays.visible
    assert rows(office, "answers", "SELECT * FROM answers") == []


async def test_without_experts_no_person_is_offered(office, slack, ann, general):
    await office.open()

    asked = await slack.mention(ann, general, SLIP)
    (answer,) = await office.until_answered(asked)

    assert "consult" not in str(answer.blocks)

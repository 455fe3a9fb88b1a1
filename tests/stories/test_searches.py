"""Who may decide a search, who is called for it, and what is sent then; alike in Slack and in Discord."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from fakes.served import CUP, CUP_URL, FERRY, FRANCE
from fakes.web_servers import FakeSearXNG

ASKED = CUP.rstrip("?")
QUERY = "football world cup 1998 winner"


@pytest.fixture
async def engine(chat):
    async with FakeSearXNG([FRANCE]) as engine:
        chat.settings |= {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        yield engine


async def until_told(chat, user, count):
    return await chat.until(lambda: (found := chat.told(user))[count - 1 :] and found)


async def test_a_search_is_proposed_refused_to_a_stranger_edited_approved_and_answered(chat, engine):
    await chat.open()
    asked = await chat.mention(chat.ann, chat.general, CUP)
    (card,) = await chat.until_answered(asked)
    offered = chat.buttons(card)

    await chat.press(card, "approve", chat.bob)
    (refusal,) = await until_told(chat, chat.bob, 1)
    assert engine.requests == []
    edit = await chat.press(card, "edit", chat.ann)
    await chat.fill_in(edit, chat.ann, {"query": QUERY})
    _, answer = await chat.until_answered(asked, 2)
    for action in ("approve", "edit"):
        await chat.press(card, action, chat.ann, as_seen=card.revisions[-2])
    late = await until_told(chat, chat.ann, 2)
    await chat.rate(answer, chat.bob, is_positive=True)

    assert offered == {"approve", "edit", "deny"}
    assert "Only ann can decide this search." in refusal.visible
    assert [request.query["q"] for request in engine.requests] == [QUERY]
    assert "France" in answer.visible
    assert chat.is_below(answer, asked)
    assert CUP_URL in chat.links(answer)
    assert "ann allowed this search" in card.visible
    assert QUERY in card.visible
    assert chat.buttons(card) == set()
    assert all("ann already allowed" in each.visible for each in late)
    assert chat.pings() == set()
    assert (chat.rejected, chat.faults) == ([], [])


async def test_words_decide_and_what_was_open_can_be_decided_after_a_restart(chat, engine):
    await chat.open()
    asked = [await chat.mention(chat.ann, chat.general, f"{CUP} ({number})") for number in range(3)]
    cards = [(await chat.until_answered(each))[0] for each in asked]
    edit = await chat.press(cards[2], "edit", chat.ann)
    assert await chat.stop() == 0
    await chat.open()

    await chat.press(cards[0], "approve", chat.ann)
    await chat.say(chat.ann, chat.general, "deny", asked[1])
    await chat.fill_in(edit, chat.ann, {"query": QUERY})
    found = [(await chat.until_answered(asked[number], 2))[1] for number in (0, 2)]
    denied, _ = await chat.until_answered(asked[1], 2)
    await chat.say(chat.ann, chat.general, "approve", asked[1])
    (nothing_open,) = await until_told(chat, chat.ann, 1)

    assert ["France" in answer.visible for answer in found] == [True, True]
    assert [chat.refers_to(answer, cards[n]) for answer, n in zip(found, (0, 2), strict=True)] == [True, True]
    assert "ann said no" in denied.visible
    assert {request.query["q"] for request in engine.requests} == {f"{CUP} (0)", QUERY}
    assert len(engine.requests) == 2
    assert "no web search to decide" in nothing_open.visible
    assert (chat.rejected, chat.faults) == ([], [])


async def test_who_may_decide_and_who_may_teach_can_be_a_group(chat, engine):
    group = chat.add_group("librarians", chat.bob)
    chat.settings |= {"WEB_APPROVAL": "approvers", "WEB_APPROVERS": group, "LEARNERS": group}
    await chat.open()
    pressed, spoken = [await chat.mention(chat.ann, chat.general, CUP) for _ in range(2)]
    (card,), (other,) = await chat.until_answered(pressed), await chat.until_answered(spoken)

    await chat.press(card, "approve", chat.ann)
    await until_told(chat, chat.ann, 1)
    untaught = await chat.mention(chat.ann, chat.general, "learn", files=[("a.md", b"# A")])
    refusal, not_learned = await until_told(chat, chat.ann, 2)
    await chat.press(card, "approve", chat.bob)
    await chat.mention(chat.bob, chat.general, f"approve {QUERY}", spoken)
    answers = [(await chat.until_answered(each, 2))[1] for each in (pressed, spoken)]

    assert card.revisions[-2].visible.endswith("Waiting for librarians. Nothing is sent until then.")
    assert refusal.visible == "Only librarians can decide this search."
    assert chat.pings() == set()
    assert "LEARNERS" in not_learned.visible
    assert chat.replies(untaught) == []
    assert all("France" in answer.visible for answer in answers)
    assert all("bob allowed this search" in each.visible for each in (card, other))
    assert {request.query["q"] for request in engine.requests} == {ASKED, QUERY}
    assert (chat.rejected, chat.faults) == ([], [])


async def test_those_who_may_decide_are_called_once_where_the_operator_wants_it(chat, engine):
    group = chat.add_group("librarians", chat.bob)
    of_others = {"slack": "123", "discord": "S0BB"}[chat.platform]  # an id of the other platform
    approvers = f"{group},{chat.id_of(chat.bob)},{chat.id_of(chat.ann)},{of_others}"
    chat.settings |= {"WEB_APPROVERS": approvers, "NOTIFY_APPROVERS": "on"}
    await chat.open()

    asked = await chat.mention(chat.ann, chat.general, CUP)
    card, call = await chat.until_answered(asked, 2)
    await chat.press(card, "deny", chat.bob)
    await chat.until_answered(asked, 3)

    assert chat.pings() == {(group, chat.id_of(call)), (chat.id_of(chat.bob), chat.id_of(call))}
    assert call.visible == f"@librarians @bob: above I ask whether I may search for “{ASKED}”."
    assert ASKED in chat.notification(call)
    assert "Waiting for ann, librarians or bob." in card.revisions[-2].visible
    assert ASKED in chat.notification(card)
    assert "bob said no at " in chat.notification(card)
    assert (chat.rejected, chat.faults) == ([], [])


FOR_ANN = "Waiting for ann. Nothing is sent until then."
ELSEWHERE = "Waiting for {}. Nothing is sent until then. Better ask this in a channel where an approver is."


@pytest.mark.parametrize(
    "rule", [("asker", FOR_ANN), ("anyone", FOR_ANN), ("approvers", ELSEWHERE)], ids=lambda each: each[0]
)
async def test_in_a_direct_message_nobody_is_called_who_cannot_see_it(chat, engine, rule):
    approval, waiting = rule
    group = chat.add_group("librarians", chat.bob)
    chat.settings |= {
        "WEB_APPROVAL": approval, "WEB_APPROVERS": f"{group},{chat.id_of(chat.bob)}", "NOTIFY_APPROVERS": "on",
    }  # fmt: skip
    await chat.open()

    asked = await chat.dm(chat.ann, CUP)
    (card,) = await chat.until_answered(asked)
    await chat.dm(chat.ann, "help", asked)
    _, help_text = await chat.until_answered(asked, 2)

    reachable = {"slack": "librarians or bob", "discord": "bob"}[chat.platform]  # a role is of its server
    assert waiting.format(reachable) in card.visible
    assert "I answer from" in help_text.visible
    assert chat.pings() == set()


async def test_a_bad_rating_asks_what_was_wrong_and_whom_to_ask(chat):
    group = chat.add_group("harbour-team", chat.bob)
    chat.settings |= {"EXPERTS": group}
    await chat.open()
    asked = await chat.mention(chat.ann, chat.general, FERRY)
    (answer,) = await chat.until_answered(asked)

    pressed = await chat.rate(answer, chat.ann, is_positive=False)
    wrong = {"fault": "outdated", "remark": "It leaves at ten now.", "person": ["yes"]}
    await chat.fill_in(pressed, chat.ann, wrong)
    _, request = await chat.until_answered(asked, 2)

    with closing(sqlite3.connect(chat.folder / ".footnote" / "questions.sqlite")) as database:
        ratings = database.execute("SELECT is_positive, fault, remark FROM ratings").fetchall()
    assert ratings == [(0, "outdated", "It leaves at ten now.")]
    assert chat.pings() == {(group, chat.id_of(request))}
    assert "ann asked" in request.visible
    assert (chat.rejected, chat.faults) == ([], [])

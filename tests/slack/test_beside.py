"""A search that is proposed beside an answer, from the first question to the decision."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.cards import ANSWER, ASKED, IN_PART, PROPOSAL, QUERY, SETTING, decided
from fakes.quotes import quotes_behind
from fakes.slack import Refusal
from fakes.slack.rendering import visible_text

from bots.chat.messenger import ChatMessenger
from bots.chat.people import Approval
from bots.chat.replies import Replies
from bots.slack.calls import open_calls
from bots.slack.post import SlackPosts
from bots.slack.render import LAYOUT
from bots.slack.settings import read_slack_settings
from core.conversation import Conversation, Outcome, Question


def seen(message):
    return visible_text(message.text, list(message.blocks), lambda user: user)


def test_an_answer_in_part_says_what_is_missing_and_offers_to_search_for_it():
    (message,) = LAYOUT.messages(IN_PART, SETTING)

    assert seen(message) == (
        "Protokolle darf nur das Betriebsteam lesen. [1]\n───\n"
        "1 Handbuch › Protokolle · handbuch.md\n"
        "“Protokolle darf nur das Betriebsteam lesen.”\n"
        "[ Zitate zeigen ]\n"
        "Nicht in deinen Dokumenten: wie lange Protokolle aufbewahrt werden\n"
        "Weggelassen: ein Satz, den deine Dokumente nicht belegen.\n"
        "Beantwortet in 2,1 s aus 1 Textstelle · von einem Sprachmodell verfasst\nHilfreich Nicht hilfreich\n───\n"
        f"Ich würde mit DuckDuckGo suchen nach:\n{QUERY}\n"
        "[ Im Web suchen ] [ Anfrage ändern ] [ Nein danke ]\n"
        "Wartet auf Ann. Bis dahin wird nichts gesendet."
    )
    assert QUERY in message.text


def test_what_was_left_out_is_shown_with_the_footnotes_in_private():
    (shown,) = LAYOUT.reply(quotes_behind(IN_PART))

    assert seen(shown).endswith(
        "Weggelassen: ein Satz, den deine Dokumente nicht belegen.\n"
        "“Sie werden 90 Tage aufbewahrt.” (keine Frist in der Quelle)"
    )


def test_a_quote_that_may_be_it_is_shown_as_that():
    unsure = replace(ANSWER, composed=False, is_sure=False, left_out=(), missing="")

    (message,) = LAYOUT.messages(replace(IN_PART, answer=unsure), SETTING)

    assert seen(message).startswith("Vielleicht ist es das, was du suchst:\n")
    assert "zitiert" not in seen(message)
    assert QUERY in seen(message)


@pytest.mark.parametrize("words", [1, 330, 380, 420, 460, 700, 2_000])
@pytest.mark.parametrize("query", [None, "x" * 400])
def test_a_decision_stays_in_the_message_that_asked_for_it(words, query):
    """However long the answer is: else a decided search would stand twice, once with its buttons."""
    long = replace(IN_PART, answer=replace(ANSWER, text="Das Betriebsteam liest Protokolle. " * words))
    after = replace(long, proposal=PROPOSAL.with_decision(decided(query=query)))

    open_ones, decided_ones = LAYOUT.messages(long, SETTING), LAYOUT.messages(after, SETTING)

    assert len(open_ones) == len(decided_ones)
    assert [seen(one) for one in open_ones[:-1]] == [seen(one) for one in decided_ones[:-1]]
    assert QUERY in seen(open_ones[-1])
    assert "Ann hat diese Suche" in seen(decided_ones[-1])
    assert "[ Im Web suchen ]" not in "".join(map(seen, decided_ones))


class Ann:
    async def names(self, route, users):
        return dict.fromkeys(filter(None, users), "Ann")

    def is_direct(self, route):
        return bool(route.get("is_direct"))


def voice_of(calls, proposal):
    async def proposals(_conversation):
        return (proposal,)

    async def outcomes(turn_id):
        return {"q1": IN_PART}.get(turn_id)

    replies = Replies(
        posts=SlackPosts(calls=calls), renderer=LAYOUT, approval=Approval(people=Ann(), engine="DuckDuckGo"),
        proposals=proposals, outcomes=outcomes,
    )  # fmt: skip
    return ChatMessenger(commands=None, replies=replies, refresh=90.0)


@pytest.mark.parametrize("verdict", ["approve", "deny"])
async def test_the_buttons_give_way_to_who_decided_and_the_answer_stays(slack, ann, general, verdict):
    asked = await slack.mention(ann, general, ASKED)
    route = {"team": slack.team, "channel": general, "thread": asked.ts, "message": asked.ts, "user": ann}
    conversation = Conversation(platform="slack", space="T1", channel=general, thread=asked.ts)
    question = Question(id="q1", conversation=conversation, author="U1", text=ASKED, asked_at=1.0)
    decision = replace(decided(verdict), conversation=conversation)
    ended = Outcome(
        kind="no_answer", turn_id="d1", reason="Es wurde nichts ins Web geschickt.", language="de"
    )
    statuses = ("agents.sessions.setStatus", "assistant.threads.setStatus")
    slack.faults.chances = {
        each: {Refusal("unknown_method"): 1.0} for each in statuses
    }  # so words are shown at once
    async with open_calls(read_slack_settings(slack.environment)) as calls:
        calls.installations.add(await calls.identify(slack.bot_token))
        before, after = voice_of(calls, PROPOSAL), voice_of(calls, PROPOSAL.with_decision(decision))

        handle = await before.begin(question, route, is_again=False)
        await before.deliver(question, route, handle, IN_PART, is_again=False)
        first_sign = slack.replies(general, asked.ts)[0].revisions[0].visible
        sign = await before.begin(decision, route, is_again=False)
        settled = slack.replies(general, asked.ts)[0].visible
        await after.deliver(decision, route, sign, ended, is_again=False)

    answer, told = slack.replies(general, asked.ts)
    assert set(first_sign.split("\n")) == {"Ich lese deine Dokumente"}
    assert ANSWER.text in answer.visible
    assert ("hat diese Suche um" if verdict == "approve" else "hat um") in answer.visible
    assert settled == answer.visible
    assert "Im Web suchen" not in answer.visible
    assert told.visible.startswith("Es wurde nichts ins Web geschickt.")
    assert slack.rejected == []

"""What a Slack payload means."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bots.chat.incoming import ChatCommand, Feedback, ThreadState
from bots.slack.receive import receive
from bots.slack.route import Me, metadata_of, route_of
from core.conversation import QUESTION_LIMIT, Conversation, Decision, Question

ME = Me(user_id="UBOT", bot_id="BBOT", team_id="T1")
NEW = ThreadState()
KNOWN = ThreadState(knows_thread=True, asker="U1")
THREAD = Conversation(platform="slack", space="T1", channel="C1", thread="100.000100")


def message(text, kind="message", **more):
    event = {"type": kind, "user": "U1", "text": text, "channel": "C1", "ts": "200.000200"} | more
    if kind == "message":
        event = {"channel_type": "channel"} | event
    return {"type": "event_callback", "team_id": "T1", "event": event}


def reply(text, **more):
    return message(text, thread_ts="100.000100", **more)


def direct(text, **more):
    return message(text, **({"channel": "D1", "channel_type": "im"} | more))


def press(action_id, value="p1", user="U2", **more):
    action = {"type": "button", "action_id": action_id, "block_id": "b", "value": value, "action_ts": "300.5"}
    return {
        "type": "block_actions",
        "team": {"id": "T1"},
        "user": {"id": user},
        "container": {
            "type": "message", "message_ts": "150.1", "channel_id": "C1", "thread_ts": "100.000100",
        },
        "channel": {"id": "C1"},
        "actions": [action | more],
    }  # fmt: skip


def submission(query, callback="edit_query"):
    route = route_of(press("edit"))
    return {
        "type": "view_submission",
        "team": {"id": "T1"},
        "user": {"id": "U3"},
        "view": {
            "id": "V1",
            "callback_id": callback,
            "private_metadata": metadata_of("p1", route),
            "state": {"values": {"query": {"query": {"type": "plain_text_input", "value": query}}}},
        },
    }


def request_in(payload, thread, *, now=0.0):
    incoming = receive(payload, ME, thread, now=now)
    return incoming.request if incoming else None


# Messages.


def test_a_mention_in_a_channel_is_a_question_in_a_new_thread():
    assert request_in(message("<@UBOT> how do cookies work?", "app_mention"), NEW) == Question(
        id="slack/T1/C1/200.000200",
        conversation=Conversation(platform="slack", space="T1", channel="C1", thread="200.000200"),
        author="U1",
        text="how do cookies work?",
        asked_at=200.0002,
    )


def test_both_events_of_one_mention_are_one_turn():
    text = "<@UBOT> how?"

    assert request_in(message(text), NEW) == request_in(message(text, "app_mention"), NEW)


def test_a_mention_in_a_thread_belongs_to_that_thread():
    question = request_in(reply("<@UBOT> and then?"), NEW)

    assert question.conversation == THREAD


def test_a_direct_message_needs_no_mention():
    question = request_in(direct("how do cookies work?"), NEW)

    assert question.text == "how do cookies work?"
    assert question.conversation.thread == "200.000200"
    assert request_in(direct("and then?", thread_ts="100.000100"), NEW).conversation.thread == "100.000100"


@pytest.mark.parametrize(
    ("thread", "user", "is_read"),
    [
        (ThreadState(), "U1", False),
        (ThreadState(knows_thread=True, follow="mention", asker="U1"), "U1", False),
        (ThreadState(knows_thread=True, follow="asker", asker="U1"), "U1", True),
        (ThreadState(knows_thread=True, follow="asker", asker="U1"), "U2", False),
        (ThreadState(knows_thread=True, follow="thread", asker="U1"), "U2", True),
    ],
)
def test_follow_ups_are_read_as_the_channel_chose(thread, user, is_read):
    assert (request_in(reply("and then?", user=user), thread) is not None) == is_read


def test_what_is_said_in_a_channel_outside_a_thread_needs_a_mention():
    assert request_in(message("how do cookies work?"), KNOWN) is None


@pytest.mark.parametrize(
    "text",
    ["<@U2> what do you think?", "<@U2>, see above", "<@U2|bob> <@U3> hi", " <@U2>", "is <@U2> right?"],
)
def test_a_follow_up_to_somebody_else_is_left_alone(text):
    assert request_in(reply(text), KNOWN) is None


@pytest.mark.parametrize("text", ["<@U2> <@UBOT> how?", "<@U2> ask <@UBOT> how?"])
def test_a_message_that_calls_the_bot_too_is_read(text):
    assert isinstance(request_in(reply(text), KNOWN), Question)


@pytest.mark.parametrize(
    "more",
    [
        {"bot_id": "B2"},
        {"bot_profile": {"id": "B2"}},
        {"user": "UBOT"},
        {"user": "USLACKBOT"},
        {"user": ""},
        {"hidden": True},
        {"edited": {"user": "U1", "ts": "201.0"}},
        {"subtype": "bot_message"},
        {"subtype": "message_changed"},
        {"subtype": "message_deleted"},
        {"subtype": "channel_join"},
        {"subtype": "channel_topic"},
        {"subtype": "reminder_add"},
        {"type": "reaction_added"},
    ],
    ids=str,
)
def test_bots_edits_and_notices_are_left_alone(more):
    assert request_in(message("<@UBOT> how?", **more), KNOWN) is None


def edited(text, at):
    return message(text, "app_mention", edited={"user": "U1", "ts": at})


def test_a_mention_that_an_edit_adds_is_a_question_of_the_message_asked_when_it_was_edited():
    before = request_in(message("<@UBOT> how?", "app_mention"), NEW)
    after = request_in(edited("<@UBOT> how?", "260.5"), NEW)

    assert (after.id, after.conversation, after.text) == (before.id, before.conversation, "how?")
    assert after.asked_at == 260.5


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("<@UBOT> approve", "260.5"),
        ("<@UBOT> forget", "260.5"),
        ("<@UBOT>", "260.5"),
        ("<@UBOT> how?", "86700.5"),
    ],
)
def test_an_edit_commands_nothing_and_counts_for_a_day(text, at):
    assert request_in(edited(text, at), KNOWN) is None


def test_a_forwarded_message_is_quoted_and_clipped_and_calls_nobody():
    forwarded = {
        "is_share": True,
        "from_url": "https://x.test",
        "author_name": "Bob",
        "text": "<@UBOT> help " * 900,
    }

    asked = request_in(message("<@UBOT> what of this?", "app_mention", attachments=[forwarded] * 9), NEW)

    assert asked.text == "what of this?"
    assert {one.author for one in asked.quoted} == {"Bob"}
    assert sum(len(one.text) for one in asked.quoted) <= 10_000
    assert request_in(reply("", attachments=[forwarded]), KNOWN) is None
    assert len(request_in(direct("", attachments=[forwarded]), NEW).text) <= QUESTION_LIMIT


def test_a_reply_that_is_also_sent_to_the_channel_is_the_same_turn():
    plain = request_in(reply("<@UBOT> how?"), NEW)
    broadcast = request_in(reply("<@UBOT> how?", subtype="thread_broadcast", root={"ts": "100.000100"}), NEW)

    assert plain == broadcast


@pytest.mark.parametrize("text", ["<@UBOT>", " <@UBOT|footnote> ", "<@UBOT>:", "<@UBOT> <@UBOT>"])
def test_the_empty_mention_gets_help(text):
    word = request_in(message(text, "app_mention"), NEW)

    assert (word.name, word.argument) == ("help", "")


def test_an_empty_message_without_a_mention_says_nothing():
    assert request_in(reply(""), KNOWN) is None


def test_a_question_that_is_too_long_is_rejected_with_a_sentence():
    assert "too long" in request_in(direct("x" * (QUESTION_LIMIT + 1)), NEW).sentence


def test_payloads_of_other_kinds_are_left_alone():
    assert request_in({"type": "event_callback", "event": {"type": "team_join"}}, NEW) is None
    assert request_in({"type": "shortcut"}, NEW) is None


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("is <@U2> right?", "is @U2 right?"),
        ("is <@U2|bob> right?", "is @bob right?"),
        ("see <#C2|general> and <#C3>", "see #general and #channel"),
        ("see <https://a.test/x?y=1&amp;z=2>", "see https://a.test/x?y=1&z=2"),
        ("see <https://a.test/x|the page>", "see the page (https://a.test/x)"),
        ("read <http://README.md|README.md>", "read README.md"),
        ("<mailto:a@b.test|a@b.test> wrote", "a@b.test wrote"),
        ("<!here> <!subteam^S1|@devs> <!subteam^S2>", "@here @devs @subteam"),
        ("<!date^1^{date}|today> at 5", "today at 5"),
        ("is 1 &lt; 2 &amp;&amp; 3 &gt; 2?", "is 1 < 2 && 3 > 2?"),
        ("what is &amp;lt;?", "what is &lt;?"),
        ("what does `x = Vec&lt;T&gt;` do?", "what does `x = Vec<T>` do?"),
        ("```a\n  b```", "```a\n  b```"),
        ("hey <@UBOT> how?", "hey how?"),
        ("<@UBOT>, how?", "how?"),
    ],
)
def test_a_question_is_read_as_its_author_sees_it(raw, text):
    assert request_in(direct(raw), NEW).text == text


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("<@UBOT> how long? cc <@U2>", "how long?"),
        ("<@UBOT> how long? (cc: <@U2>, <@U3|bob>)", "how long?"),
        ("<@UBOT> how long cc <@U2>", "how long"),
        ("how long? <@U2> <@UBOT>", "how long?"),
        ("<@UBOT> <@U2>, how long?", "how long?"),
        ("<@UBOT> who is <@U2>?", "who is @U2?"),
        ("<@UBOT> ask <@U2> how", "ask @U2 how"),
        ("<@UBOT> <@U2>?", "@U2?"),
    ],
)
def test_people_who_are_only_called_in_are_no_part_of_a_question(raw, text):
    assert request_in(message(raw, "app_mention"), NEW).text == text


def test_a_word_that_somebody_else_is_told_is_no_command():
    assert isinstance(request_in(message("<@UBOT> <@U2> approve", "app_mention"), NEW), Question)


# Words.


@pytest.mark.parametrize(
    ("said", "name", "argument"),
    [
        ("help", "help", ""),
        ("Help!", "help", ""),
        ("SOURCES", "sources", ""),
        ("forget", "forget", ""),
        ("forget this thread", "forget", ""),
        ("stop.", "stop", ""),
        ("follow asker", "follow", "asker"),
        ("Follow  THREAD", "follow", "thread"),
        ("follow", "follow", ""),
        ("learn", "learn", ""),
        ("learn <https://a.test/x>", "learn", "https://a.test/x"),
        ("learn <ftp://a.test/x>", "learn", "ftp://a.test/x"),
        ("learn middleware", "learn", "middleware"),
        ("use team-docs", "use", "team-docs"),
        ("use ../x", "use", "../x"),
        ("use `team-docs`", "use", "team-docs"),
        ("follow who-asks", "follow", "who-asks"),
        ("approve", "approve", ""),
        ("approve  what browsers\nsend", "approve", "what browsers send"),
        ("deny", "deny", ""),
    ],
)
def test_mention_words(said, name, argument):
    for payload in (message(f"<@UBOT> {said}", "app_mention"), direct(said)):
        word = request_in(payload, NEW)

        assert (word.name, word.argument, word.author) == (name, argument, "U1")


@pytest.mark.parametrize(
    "said",
    ["help me with cookies", "sources of cookies?", "stop words, what are they?", "follow the money",
     "learn about cookies", "use cases of cookies", "deny lists, how?", "forget about it", "helper",
     "learn how?", "use `x` or `y`"],
)  # fmt: skip
def test_a_question_that_begins_like_a_word_is_a_question(said):
    assert isinstance(request_in(direct(said), NEW), Question)


@pytest.mark.parametrize(
    ("said", "is_word"), [("approve", True), ("Deny.", True), ("stop", True), ("help", True)]
)
def test_a_follow_up_may_decide_and_stop_without_a_mention(said, is_word):
    assert isinstance(request_in(reply(said), KNOWN), ChatCommand) == is_word


def test_learn_takes_the_attached_files():
    file = {
        "id": "F1", "name": "a.md", "mimetype": "text/markdown", "size": 12,
        "url_private": "https://files.test/a", "url_private_download": "https://files.test/d/a",
    }  # fmt: skip

    for text in ("<@UBOT> learn", "<@UBOT> learn this please", "<@UBOT>"):
        word = request_in(message(text, "app_mention", subtype="file_share", files=[file]), NEW)

        assert word.name == "learn"
        assert [(one.id, one.name, one.url, one.size) for one in word.files] == [
            ("F1", "a.md", "https://files.test/d/a", 12)
        ]


def test_an_edited_query_that_is_too_long_is_rejected():
    assert "query is too long" in request_in(direct("approve " + "x" * 500), NEW).sentence


def test_the_clients_own_stop_stops_the_thread():
    event = {
        "type": "agent_session_stopped", "channel": "C1", "user": "U2", "thread_ts": "100.000100",
        "event_ts": "400.1", "streaming_message_ts": [],
    }  # fmt: skip

    word = request_in({"type": "event_callback", "team_id": "T1", "event": event}, NEW)

    assert (word.name, word.conversation, word.author) == ("stop", THREAD, "U2")


# Buttons and the modal.


@pytest.mark.parametrize("verdict", ["approve", "deny"])
def test_a_press_decides_in_the_thread_of_its_card(verdict):
    assert request_in(press(verdict), NEW) == Decision(
        id=f"slack/T1/C1/150.1/300.5/{verdict}/U2",
        conversation=THREAD,
        author="U2",
        proposal_id="p1",
        verdict=verdict,
        decided_at=300.5,
    )


def test_two_presses_are_two_turns_and_one_press_twice_is_one():
    first, again = request_in(press("approve"), NEW), request_in(press("approve"), NEW)
    later, other = (
        request_in(press("approve", action_ts="301.0"), NEW),
        request_in(press("approve", user="U3"), NEW),
    )

    assert first == again
    assert len({first.id, later.id, other.id}) == 3


def test_edit_and_footnotes_are_words_that_carry_what_they_are_about():
    assert (request_in(press("edit"), NEW).name, request_in(press("edit"), NEW).argument) == ("edit", "p1")
    assert request_in(press("footnotes", "t1"), NEW).argument == "t1"


def test_an_overflow_menu_carries_its_value_in_the_option():
    pressed = press("footnotes", selected_option={"value": "t9", "text": {"type": "plain_text", "text": "x"}})

    assert request_in(pressed, NEW).argument == "t9"


def test_a_chosen_reading_is_the_next_question():
    question = request_in(press("choose:2", "request cookies"), NEW)

    assert (question.text, question.conversation, question.author) == ("request cookies", THREAD, "U2")


@pytest.mark.parametrize(("value", "is_positive"), [("good t1", True), ("bad t1", False)])
def test_feedback_names_its_turn(value, is_positive):
    feedback = request_in(press("feedback", value, type="feedback_buttons"), NEW)

    assert isinstance(feedback, Feedback)
    assert (feedback.turn_id, feedback.is_positive, feedback.author) == ("t1", is_positive, "U2")


def test_unknown_buttons_and_buttons_of_views_are_left_alone():
    in_view = press("approve") | {"container": {"type": "view", "view_id": "V1"}}

    assert request_in(press("something"), NEW) is None
    assert request_in(in_view, NEW) is None


def test_the_modal_approves_the_edited_query_where_the_card_was():
    decision = request_in(submission(" new\n query "), NEW, now=500.0)

    assert decision == Decision(
        id="slack/T1/C1/V1",
        conversation=THREAD,
        author="U3",
        proposal_id="p1",
        verdict="approve",
        query="new query",
        decided_at=500.0,
    )


def test_an_empty_query_is_rejected_and_other_modals_are_left_alone():
    assert "query is empty" in request_in(submission("  "), NEW).sentence
    assert request_in(submission("x", callback="other"), NEW) is None


# Addresses.


@pytest.mark.parametrize(
    ("payload", "is_direct"),
    [
        (message("x"), False),
        (message("x", "app_mention"), False),
        (direct("x"), True),
        (press("approve"), False),
    ],
)
def test_an_address_says_whether_it_is_a_direct_message(payload, is_direct):
    route = route_of(payload)

    assert route["is_direct"] == is_direct
    assert json.loads(json.dumps(route)) == route


def test_the_address_of_a_submission_is_that_of_its_card_and_of_who_submitted():
    assert route_of(submission("x")) == route_of(press("edit")) | {"user": "U3"}


TEXT = st.text(max_size=80) | st.lists(
    st.sampled_from(
        [
            "<@UBOT>",
            "<@U2>",
            "<",
            ">",
            "|",
            "&lt;",
            "&amp;",
            "<!here>",
            "<#C1|",
            "<http://x|y>",
            " ",
            "approve ",
        ]
    )
).map("".join)


@given(TEXT, st.booleans())
def test_every_text_is_a_question_a_word_or_nothing(text, is_direct):
    said = request_in(direct(text) if is_direct else reply(text), KNOWN)

    assert said is None or isinstance(said, Question | ChatCommand)
    assert said is None or said.id.endswith("/200.000200")

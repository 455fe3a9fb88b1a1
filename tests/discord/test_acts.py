"""What a press, a form and a command mean, as Discord's JSON has them."""

from __future__ import annotations

import json

import pytest

from bots.chat.incoming import Feedback
from bots.discord.receive import Interaction, read_command, read_form, read_press
from bots.discord.render import LAYOUT
from bots.discord.route import conversation_of, is_outside_thread, said_at
from core.conversation import (
    QUERY_LIMIT,
    QUESTION_LIMIT,
    Attachment,
    Conversation,
    Decision,
    Proposal,
    Question,
)
from core.errors import QuestionRejected

ID = "300000000000000000"
THREAD = Conversation(platform="discord", space="5", channel="6", thread="7")
TURN = "discord/5/6/200000000000000000"
ADDRESS = {
    "server": "5", "channel": "6", "thread": "7", "place": "7", "message": "150", "user": "2",
    "interaction": {"id": ID, "token": "t"},
}  # fmt: skip


def act(data, **more):
    return Interaction(id=ID, data=data, route=ADDRESS, **more)


def press(custom_id):
    return act({"custom_id": custom_id, "component_type": 2, "id": 4}, roles=("31", "32"))


def form(query, custom_id="edit:p1"):
    field = {"type": 4, "custom_id": "query", "value": query, "id": 2}
    return act({"custom_id": custom_id, "components": [{"type": 18, "id": 1, "component": field}]})


def command(name, files=(), **options):
    given = [{"name": option, "type": 3, "value": value} for option, value in options.items()]
    about = {"id": "8", "name": name, "type": 1, "options": given} if given else {"id": "8", "name": name}
    return act(about, files={file.id: file for file in files})


@pytest.mark.parametrize("verdict", ["approve", "deny"])
def test_a_press_decides_in_the_thread_of_its_card(verdict):
    assert read_press(press(f"{verdict}:p1")) == Decision(
        id=f"discord/5/6/{ID}",
        conversation=THREAD,
        author="2",
        proposal_id="p1",
        verdict=verdict,
        groups=("31", "32"),
        decided_at=said_at(ID),
    )


@pytest.mark.parametrize(
    ("custom_id", "name", "argument"),
    [
        ("edit:p1", "edit", "p1"),
        (f"footnotes:{TURN}", "footnotes", TURN),
        (f"again:{TURN}~2", "again", f"{TURN}~2"),
        (f"choose:2:{TURN}", "choose", f"2:{TURN}"),
    ],
)
def test_other_buttons_are_words_that_carry_what_they_are_about(custom_id, name, argument):
    word = read_press(press(custom_id))

    assert (word.name, word.argument, word.author, word.conversation) == (name, argument, "2", THREAD)


@pytest.mark.parametrize(("name", "is_positive"), [("good", True), ("bad", False)])
def test_feedback_names_its_turn(name, is_positive):
    feedback = read_press(press(f"{name}:{TURN}"))

    assert isinstance(feedback, Feedback)
    assert (feedback.turn_id, feedback.is_positive, feedback.author) == (TURN, is_positive, "2")


@pytest.mark.parametrize("custom_id", ["", "something:p1", "approved:p1", ":p1"])
def test_buttons_of_nobodys_are_left_alone(custom_id):
    assert read_press(press(custom_id)) is None


def test_the_form_approves_the_edited_query_where_the_card_was():
    decision = read_form(form(" new\n query "))

    assert (decision.verdict, decision.proposal_id, decision.query) == ("approve", "p1", "new query")
    assert (decision.conversation, decision.author) == (THREAD, "2")


def test_the_form_that_is_shown_is_the_one_that_is_read():
    proposal = Proposal(
        id="p1", turn_id=TURN, question="why?", asker="2", query="old query", reason="", tried=(), closest=()
    )
    shown = LAYOUT.editor(proposal, ADDRESS)

    sent = {"custom_id": shown["custom_id"], "components": shown["components"]}

    assert read_form(act(sent)).query == "old query"


@pytest.mark.parametrize(("query", "fault"), [("  ", "empty"), ("x" * (QUERY_LIMIT + 1), "too long")])
def test_a_query_that_cannot_go_out_is_rejected(query, fault):
    with pytest.raises(QuestionRejected, match=f"query is {fault}"):
        read_form(form(query))


def test_other_forms_are_left_alone():
    assert read_form(form("x", custom_id="other:p1")) is None


def test_ask_is_a_question():
    question = read_command(command("ask", question=" how?\n"))

    assert isinstance(question, Question)
    assert (question.text, question.conversation, question.id) == ("how?", THREAD, f"discord/5/6/{ID}")


@pytest.mark.parametrize(
    ("text", "fault"), [("", "empty"), (" \n", "empty"), ("x" * (QUESTION_LIMIT + 1), "too long")]
)
def test_a_question_that_cannot_be_asked_is_rejected(text, fault):
    with pytest.raises(QuestionRejected, match=f"question is {fault}"):
        read_command(command("ask", question=text))


def test_another_message_can_be_asked_about_if_it_has_words():
    data = {"id": "8", "name": "Ask about this", "type": 3, "target_id": "150"}

    assert read_command(act(data, target_text="how?")).text == "how?"
    with pytest.raises(QuestionRejected, match="no words"):
        read_command(act(data))


@pytest.mark.parametrize(
    ("given", "argument", "is_private"),
    [
        (command("help"), "", True),
        (command("sources"), "", True),
        (command("follow", whom="asker"), "asker", True),
        (command("follow"), "", True),
        (command("forget"), "", True),
    ],
    ids=str,
)
def test_other_commands_are_words(given, argument, is_private):
    word = read_command(given)

    assert (word.name, word.argument, word.is_private) == (given.data["name"], argument, is_private)


def test_learn_takes_the_file_that_was_chosen_or_a_url():
    file, other = (
        Attachment(id=number, name="a.md", url="https://cdn.discordapp.com/a", media_type="", size=1)
        for number in ("41", "42")
    )

    assert read_command(command("learn", (file, other), file="41")).files == (file,)
    assert read_command(command("learn", (file,), file="43")).files == ()
    assert read_command(command("learn", url="https://a.test/x")).argument == "https://a.test/x"


def test_unknown_commands_are_left_alone():
    assert read_command(command("dance")) is None


def test_an_address_can_be_stored_and_names_its_conversation():
    assert json.loads(json.dumps(ADDRESS)) == ADDRESS
    assert conversation_of(ADDRESS) == THREAD


@pytest.mark.parametrize(
    ("more", "is_in_channel"),
    [
        ({}, False),
        ({"place": "6", "thread": "150"}, True),
        ({"place": "6", "thread": "6"}, False),  # where there are no threads, the channel is the thread
        ({"server": "@me", "place": "6", "thread": "talk"}, False),
        ({"channel": "7"}, False),  # a private thread
    ],
)
def test_a_conversation_in_a_channel_has_no_place_of_its_own(more, is_in_channel):
    assert is_outside_thread(ADDRESS | more) == is_in_channel

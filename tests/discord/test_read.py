"""What a Discord message means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bots.chat.incoming import ChatCommand, ThreadState
from bots.discord.calls import thread_name
from bots.discord.content import plain_text
from bots.discord.receive import MessageEvent, read, route_of
from bots.discord.route import DIRECT, Me, said_at
from core.conversation import QUESTION_LIMIT, Attachment, Conversation, Question, ThreadMessage
from core.errors import QuestionRejected

ME = Me(user_id="99", role_ids=frozenset({"98"}))
NEW = ThreadState()
KNOWN = ThreadState(knows_thread=True, asker="1")
MESSAGE = "200000000000000000"
THREAD = Conversation(platform="discord", space="5", channel="6", thread="7")
FILE = Attachment(id="f", name="a.md", url="https://cdn.discordapp.com/a.md", media_type="", size=3)


def message(text, **more):
    about = {
        "id": MESSAGE,
        "server": "5",
        "channel": "6",
        "channel_id": "6",
        "takes_threads": True,
        "author": "1",
    }
    return MessageEvent(**(about | {"text": text} | more))


def follow_up(text, **more):
    return message(text, **({"channel_id": "7", "is_thread": True, "takes_threads": False} | more))


def direct(text, **more):
    return message(text, **({"server": DIRECT, "takes_threads": False} | more))


def said(text):
    return (ThreadMessage(author="bob", text=text),)


def meaning(event, thread, moved=None):
    return read(event, ME, thread, route_of(event, ME, moved))


# Messages.


def test_a_mention_in_a_channel_is_a_question_in_a_new_thread():
    event = message("<@99> how do cookies work?")

    assert meaning(event, NEW) == Question(
        id=f"discord/5/6/{MESSAGE}",
        conversation=Conversation(platform="discord", space="5", channel="6", thread=MESSAGE),
        author="1",
        text="how do cookies work?",
        asked_at=said_at(MESSAGE),
    )
    assert route_of(event, ME) == {
        "server": "5", "channel": "6", "thread": MESSAGE, "place": "6", "message": MESSAGE, "user": "1",
        "opens": "how do cookies work?",
    }  # fmt: skip


def test_an_id_says_when():
    assert said_at("175928847299117063") == pytest.approx(1462015105.796)  # "Snowflakes", the documented one


def test_a_mention_in_a_thread_or_a_forum_post_belongs_there():
    event = follow_up("<@99> and then?")

    assert meaning(event, NEW).conversation == THREAD
    assert "opens" not in route_of(event, ME)


def test_what_is_said_where_no_thread_can_stand_belongs_to_the_channel():
    event = message("<@99> how?", takes_threads=False)

    assert meaning(event, NEW).conversation.thread == "6"
    assert "opens" not in route_of(event, ME)


def test_a_direct_message_is_one_talk_and_needs_no_mention():
    first, second = meaning(direct("how?"), NEW), meaning(direct("and then?", id="300000000000000000"), NEW)

    assert first.text == "how?"
    assert first.conversation == second.conversation
    assert first.id != second.id


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("<@!99> how?", {}),
        ("how, <@99>?", {}),
        ("<@&98> how?", {}),
        ("how?", {"names": {"98": "footnote"}}),
        ("how?", {"answers_me": True, "answers": "150"}),
    ],
    ids=str,
)
def test_the_bot_is_called_by_its_name_its_role_or_a_reply(text, more):
    assert isinstance(meaning(message(text, **more), NEW), Question)


@pytest.mark.parametrize("text", ["how?", "<@2> how?", "<@&97> how?", "@footnote how?"])
def test_what_is_said_in_a_channel_outside_a_thread_needs_a_mention(text):
    assert meaning(message(text), KNOWN) is None


def test_a_reply_to_the_bot_belongs_to_what_began_the_conversation():
    event = message("and then?", answers_me=True, answers="150")

    assert meaning(event, NEW).conversation.thread == "150"
    assert route_of(event, ME)["place"] == "6"
    assert "opens" not in route_of(event, ME)


def test_a_mention_in_a_reply_to_somebody_else_begins_a_conversation():
    assert meaning(message("<@99> can you?", answers="150"), NEW).conversation.thread == MESSAGE


def test_a_conversation_that_has_moved_keeps_its_name():
    moved = Conversation(platform="discord", space="5", channel="6", thread="4")
    event = follow_up("and then?")

    assert meaning(event, KNOWN, moved).conversation == moved
    assert (route_of(event, ME, moved)["thread"], route_of(event, ME, moved)["place"]) == ("4", "7")


@pytest.mark.parametrize(
    ("thread", "author", "is_read"),
    [
        (ThreadState(), "1", False),
        (ThreadState(knows_thread=True, follow="mention", asker="1"), "1", False),
        (ThreadState(knows_thread=True, follow="asker", asker="1"), "1", True),
        (ThreadState(knows_thread=True, follow="asker", asker="1"), "2", False),
        (ThreadState(knows_thread=True, follow="thread", asker="1"), "2", True),
    ],
)
def test_follow_ups_are_read_as_the_channel_chose(thread, author, is_read):
    assert (meaning(follow_up("and then?", author=author), thread) is not None) == is_read


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("<@2> what do you think?", {}),
        ("<@2>, see above?", {}),
        ("<@!2> <@3> hi?", {}),
        ("<@&97> who knows?", {}),
        ("@everyone lunch?", {}),
        ("@here, lunch?", {}),
        ("is <@2> right?", {}),
        ("is @here bad?", {}),
        ("how?", {"answers": "150"}),
        ("", {}),
    ],
    ids=str,
)
def test_a_follow_up_to_somebody_else_is_left_alone(text, more):
    assert meaning(follow_up(text, **more), KNOWN) is None


@pytest.mark.parametrize("text", ["<@2> <@99> how?", "<@2> ask <@99> how?"])
def test_a_message_that_calls_the_bot_too_is_read(text):
    assert isinstance(meaning(follow_up(text), KNOWN), Question)


@pytest.mark.parametrize("more", [{"is_written": False}, {"author": "99"}], ids=str)
@pytest.mark.parametrize("where", [message, follow_up, direct])
def test_bots_notices_and_its_own_words_are_left_alone(where, more):
    assert meaning(where("<@99> how?", **more), KNOWN) is None


@pytest.mark.parametrize("text", ["<@99>", " <@!99> ", "<@99>:", "<@99> <@&98>"])
def test_the_empty_mention_gets_help(text):
    word = meaning(message(text), NEW)

    assert (word.name, word.argument, word.is_private) == ("help", "", False)


@pytest.mark.parametrize(
    "event", [direct(""), message("", answers_me=True, answers="150"), follow_up("")], ids=str
)
def test_a_sticker_alone_says_nothing(event):
    assert meaning(event, KNOWN) is None


@pytest.mark.parametrize("word", ["approve", "forget", "stop", ""])
def test_an_edit_asks_but_commands_nothing(word):
    assert meaning(message(f"<@99> {word}", edited_at=9.5), KNOWN) is None
    assert meaning(message("<@99> how?", edited_at=9.5), NEW).asked_at == 9.5


def test_a_question_that_is_too_long_is_rejected_with_a_sentence():
    with pytest.raises(QuestionRejected, match="too long"):
        meaning(direct("x" * (QUESTION_LIMIT + 1)), NEW)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("is <@2> right?", "is @bob right?"),
        ("is <@!2> or <@3> right?", "is @bob or @3 right?"),
        ("what do <@&97> do?", "what do @devs do?"),
        ("see <#8> and <#9>", "see #general and #9"),
        ("<:shrug:1234> why <a:wave:5678>?", ":shrug: why :wave:?"),
        ("hey <@99> how?", "hey how?"),
        ("<@99>, how?", "how?"),
        ("<@&98>: how?", "how?"),
        ("what is 1 < 2 & 3?", "what is 1 < 2 & 3?"),
        ("```a\n  b```", "```a\n  b```"),
    ],
)
def test_a_question_is_read_as_its_author_sees_it(raw, text):
    names = {"2": "bob", "97": "devs", "8": "general"}

    assert plain_text(raw, names, ME) == text
    assert meaning(direct(raw, names=names), NEW).text == text


def test_a_mention_beside_mentions_of_others_alone_has_no_words():
    names = {"2": "bob", "8": "general"}

    alone = meaning(message("<@99> <@2> <#8>", names=names), NEW)
    with_words = meaning(message("<@99> <@2> how?", names=names), NEW)

    assert alone.name == "help"
    assert with_words.text == "@bob how?"


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("how do\n  cookies work?", "how do cookies work?"),
        ("is @Bob Smith right, @everyone?", "is Bob Smith right, everyone?"),
        (":wave: why :shrug:?", "why ?"),
        ("why does this fail?\n```py\nraise X\n```", "why does this fail?"),
        ("```py\nraise ValueError\n```", "raise ValueError"),
        ("```raise ValueError", "raise ValueError"),
        ("## What does **`foo_bar`** do, ~~or~~ _not_?", "What does foo_bar do, or not?"),
        ("> quoted\n- why 2 * 3 at 10:30:15?", "quoted why 2 * 3 at 10:30:15?"),
        ("see [the page](https://a.test/x) or <https://b.test>", "see the page or https://b.test"),
        ("mail a@b.test about https://a.test/@me", "mail a@b.test about https://a.test/@me"),
        (":shrug:", ":shrug:"),
        ("what does \u202efdp.exe\u202c do?", "what does fdp.exe do?"),
        ("word " * 100, ("word " * 18).strip() + "…"),
    ],
)
def test_a_thread_is_named_from_its_question_in_plain_words(question, name):
    assert thread_name(question) == name
    assert len(name) <= 100


# Words.


@pytest.mark.parametrize(
    ("said", "name", "argument"),
    [
        ("help", "help", ""),
        ("SOURCES", "sources", ""),
        ("forget this thread", "forget", ""),
        ("stop.", "stop", ""),
        ("Follow  THREAD", "follow", "thread"),
        ("learn https://a.test/x", "learn", "https://a.test/x"),
        ("learn ftp://a.test/x", "learn", "ftp://a.test/x"),
        ("use team-docs", "use", "team-docs"),
        ("use ../x", "use", "../x"),
        ("use `team-docs`", "use", "team-docs"),
        ("approve  what browsers\nsend", "approve", "what browsers send"),
        ("deny", "deny", ""),
    ],
)
@pytest.mark.parametrize("where", [message, follow_up, direct])
def test_mention_words(where, said, name, argument):
    word = meaning(where(f"<@99> {said}"), NEW)

    assert (word.name, word.argument, word.author) == (name, argument, "1")


@pytest.mark.parametrize(
    ("said", "is_word"), [("approve", True), ("Deny.", True), ("stop", True), ("help", True)]
)
def test_a_follow_up_may_decide_and_stop_without_a_mention(said, is_word):
    assert isinstance(meaning(follow_up(said), KNOWN), ChatCommand) == is_word


@pytest.mark.parametrize("said", ["learn", "learn this please", ""])
def test_learn_takes_the_attached_files(said):
    word = meaning(message(f"<@99> {said}", files=(FILE,)), NEW)

    assert (word.name, word.argument, word.files) == ("learn", "", (FILE,))


TEXT = st.text(max_size=80) | st.lists(
    st.sampled_from(["<@99>", "<@2>", "<", ">", "<@&98>", "<#8>", "@here", "<:a:1>", " ", "approve ", "```"])
).map("".join)


@given(TEXT, st.booleans())
def test_every_text_is_a_question_a_word_or_nothing(text, is_direct):
    said = meaning(direct(text) if is_direct else follow_up(text), KNOWN)

    assert said is None or isinstance(said, Question | ChatCommand)
    assert said is None or said.id.endswith(f"/{MESSAGE}")


# Posts and replies.


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (follow_up("<@99>", title="How do I set a cookie?"), "How do I set a cookie?"),
        (follow_up("<@99> with FastAPI", title="Cookies?"), "Cookies?\nwith FastAPI"),
        (message("<@99>", quoted=said("how do cookies work?")), "how do cookies work?"),
        (message("<@99> what is this?", quoted=said("cookies")), "what is this?"),
        (direct("", quoted=said("forget")), "forget"),
        (message("<@99>", quoted=said("approve")), "approve"),
    ],
)
def test_a_posts_title_asks_and_so_does_what_a_bare_mention_replies_to(event, text):
    assert meaning(event, NEW).text == text

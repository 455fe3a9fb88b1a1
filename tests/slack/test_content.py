"""What a Slack message says, wherever in it the words stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bots.slack.content import forwarded, thread_message, written
from bots.slack.route import spoken


def rich(*elements):
    return {"type": "rich_text", "block_id": "b", "elements": list(elements)}


def line(*elements, kind="rich_text_section", **more):
    return {"type": kind, "elements": list(elements), **more}


def text(words, **style):
    return {"type": "text", "text": words} | ({"style": style} if style else {})


def section(words, kind="mrkdwn", **more):
    return {"type": "section", "text": {"type": kind, "text": words}, **more}


def read(message):
    return spoken(written(message), "UBOT").text


def share(words, *, blocks=(), **more):
    return {
        "id": 1, "ts": "50.1", "channel_id": "C2", "is_msg_unfurl": True, "is_share": True, "text": words,
        "author_id": "U2", "author_name": "Bob", "from_url": "https://x.slack.com/archives/C2/p501",
        "fallback": f"[November 14th, 2023 2:13 PM] bob: {words}", "footer": "Slack Conversation",
        "message_blocks": [{"team": "T1", "channel": "C2", "ts": "50.1", "message": {"blocks": list(blocks)}}],
    } | more  # fmt: skip


TICKET = {
    "id": 1, "color": "#36a64f", "pretext": "New ticket", "title": "TCK-7: Ferry", "title_link": "https://t.test/7",
    "text": "A visitor asks when the ferry leaves.", "fallback": "TCK-7", "actions": [{"text": "Close"}],
    "fields": [{"title": "Priority", "value": "High", "short": True}, {"title": "From", "value": "<@U2>"}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("block", "said"),
    [
        (rich(line(text("how do "), text("cookies", bold=True), text(" work?"))), "how do cookies work?"),
        (rich(line(text("what does "), text("Vec<T>", code=True), text(" do?"))), "what does `Vec<T>` do?"),
        (rich(line(text("is 1 < 2 & 3 > 2?"))), "is 1 < 2 & 3 > 2?"),
        (rich(line(text("see "), {"type": "link", "url": "https://a.test/x?y=1&z=2"})), "see https://a.test/x?y=1&z=2"),
        (
            rich(line({"type": "link", "url": "https://a.test/x", "text": "the <page>"})),
            "the <page> (https://a.test/x)",
        ),
        (rich(line({"type": "user", "user_id": "UBOT"}, text(" and "), {"type": "user", "user_id": "U2"})), "and @U2"),
        (rich(line({"type": "channel", "channel_id": "C3"}, text("?"))), "#channel?"),
        (rich(line({"type": "usergroup", "usergroup_id": "S1"}, text(" who?"))), "@subteam who?"),
        (rich(line({"type": "broadcast", "range": "here"}, text(" who?"))), "@here who?"),
        (rich(line(text("why "), {"type": "emoji", "name": "wave"}, text(" so"))), "why so"),
        (
            rich(line({"type": "date", "timestamp": 1, "format": "{date}", "fallback": "Monday"}, text("?"))),
            "Monday?",
        ),
        (rich(line(text("why?\nis it so"), kind="rich_text_quote")), "> why?\n> is it so"),
        (rich(line(text("x = <T>\n  y"), kind="rich_text_preformatted")), "```\nx = <T>\n  y\n```"),
        (
            rich(line(line(text("one")), line(text("two")), kind="rich_text_list", style="ordered", offset=2)),
            "3. one\n4. two",
        ),
        (
            rich(
                line(line(text("one")), kind="rich_text_list", style="bullet"),
                line(line(text("in it")), kind="rich_text_list", style="bullet", indent=1),
            ),
            "• one\n  • in it",
        ),
        (section("*Ferry* &amp; pier"), "*Ferry* & pier"),
        (
            {"type": "section", "fields": [{"type": "mrkdwn", "text": "a"}, {"type": "plain_text", "text": "b"}]},
            "a\nb",
        ),
        ({"type": "header", "text": {"type": "plain_text", "text": "Ferry"}}, "Ferry"),
        (
            {"type": "context", "elements": [{"type": "image", "alt_text": "i"}, {"type": "mrkdwn", "text": "small"}]},
            "small",
        ),
        ({"type": "markdown", "text": "# Ferry\n\nWhen?"}, "# Ferry\n\nWhen?"),
        (
            {"type": "table", "rows": [[{"type": "raw_text", "text": "Pier"}, rich(line(text("3")))],
                                       [{"type": "raw_text", "text": "Time"}, {"type": "raw_number", "value": 9}]]},
            "Pier | 3\nTime | 9",
        ),
        (
            {"type": "actions", "elements": [{"type": "button", "text": {"type": "plain_text", "text": "Go"}}]},
            "",
        ),
        ({"type": "something_new", "text": {"type": "mrkdwn", "text": "heard"}}, "heard"),
        ({"type": "divider"}, ""),
        ("no block", "no block"),
    ],
    ids=str,
)  # fmt: skip
def test_words_that_stand_in_blocks_alone_are_read(block, said):
    assert read({"text": "", "blocks": [block]}) == said


def test_what_a_person_typed_is_read_from_the_text_which_names_more():
    typed = {
        "text": "ask <!subteam^S1|@devs>?",
        "blocks": [rich(line(text("ask "), {"type": "usergroup"}, text("?")))],
    }

    assert read(typed) == "ask @devs?"


@pytest.mark.parametrize(
    ("notified", "shown"), [("Ferry", "Ferry\nWhen does it leave?"), ("You have news", "When does it leave?")]
)
def test_where_the_text_says_less_than_the_blocks_or_something_else_the_blocks_are_read(notified, shown):
    blocks = [section(each) for each in shown.split("\n")]

    assert read({"text": notified, "blocks": blocks}) == shown


def test_a_forwarded_message_is_read_with_its_author():
    blocks = [rich(line(text("When does the ferry leave?")))]
    message = {"user": "U1", "text": "", "attachments": [share("", blocks=blocks)]}

    (one,) = forwarded(message, "UBOT")

    assert (one.author, one.text) == ("Bob", "When does the ferry leave?")


@pytest.mark.parametrize(
    ("attachment", "said"),
    [
        (share("When does &lt;it&gt; leave?"), "When does <it> leave?"),
        (
            TICKET,
            "New ticket\nTCK-7: Ferry\nA visitor asks when the ferry leaves.\nPriority: High\nFrom: @U2",
        ),
        ({"blocks": [section("of an app")], "fallback": "[no preview available]"}, "of an app"),
        ({"fallback": "all there is"}, "all there is"),
        ({"id": 1, "image_url": "https://a.test/x.png"}, ""),
    ],
    ids=str,
)
def test_an_attachment_says_what_is_seen_of_it(attachment, said):
    message = {"bot_id": "B2", "username": "tickets", "text": "", "attachments": [attachment]}

    assert "\n".join(one.text for one in forwarded(message, "UBOT")) == said


def test_the_preview_of_a_link_is_not_what_its_author_says():
    preview = {
        "from_url": "https://a.test",
        "original_url": "https://a.test",
        "title": "A page",
        "text": "Buy",
    }
    message = {"user": "U1", "text": "see <https://a.test>", "attachments": [preview]}

    assert thread_message(message, "UBOT").text == "see https://a.test"


def test_of_a_thread_everybody_is_read_but_the_bot():
    ticket = thread_message(
        {"bot_id": "B2", "username": "tickets", "text": "", "attachments": [TICKET]}, "UBOT"
    )

    assert ticket.author == "tickets"
    assert "when the ferry leaves" in ticket.text
    assert thread_message({"user": "UBOT", "text": "an answer"}, "UBOT") is None
    assert thread_message({"user": "U1", "text": "", "files": [{}]}, "UBOT") is None


PARTS = (
    "text",
    "blocks",
    "attachments",
    "elements",
    "fields",
    "title",
    "value",
    "rows",
    "message_blocks",
    "message",
)
KINDS = ("rich_text", "rich_text_list", "section", "mrkdwn", "table", "link", "date", "text", "user", "new")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(PARTS), inner, max_size=4).flatmap(
            lambda part: st.sampled_from(KINDS).map(lambda kind: part | {"type": kind})
        )
    ),
    max_leaves=12,
)


@given(st.fixed_dictionaries({"text": JSON, "blocks": st.lists(JSON), "attachments": st.lists(JSON)}))
def test_a_message_of_any_shape_is_read(message):
    read = thread_message(message, "UBOT")

    assert read is None or read.text

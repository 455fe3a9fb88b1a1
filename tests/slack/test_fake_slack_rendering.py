"""What the local Slack says that people see."""

from __future__ import annotations

import pytest
from fakes.slack.rendering import entities_of, escape, visible_text
from fakes.slack.samples import FEEDBACK, button, plain, section
from hypothesis import given
from hypothesis import strategies as st

NAMES = {"U1": "ann", "S1": "devs", "C1": "general"}


def read(text="", blocks=()):
    def names(one):
        return NAMES.get(one, one)

    found = [(one.kind, one.target, one.label) for one in entities_of(text, blocks, names)]
    return visible_text(text, blocks, names), found


@pytest.mark.parametrize(
    ("text", "visible", "entities"),
    [
        ("*bold* _it_ ~no~ a_b_c", "bold it no a_b_c", []),
        ("hi <@U1>", "hi @ann", [("user", "U1", "@ann")]),
        ("<!here> <!subteam^S1>", "@here @devs", [("broadcast", "here", "@here"), ("usergroup", "S1", "@devs")]),
        ("<#C1>", "#general", [("channel", "C1", "#general")]),
        ("<https://a.test/x?y=1&amp;z=2|here>", "here", [("link", "https://a.test/x?y=1&z=2", "here")]),
        ("see https://a.test/b.", "see https://a.test/b.", [("link", "https://a.test/b", "https://a.test/b")]),
        ("read README.md", "read README.md", [("domain", "README.md", "README.md")]),
        ("`<!channel>`", "@channel", [("broadcast", "channel", "@channel")]),
        ("&lt;@U1&gt; a &lt; b &amp; c", "<@U1> a < b & c", []),
        ("<javascript:alert(1)|x>", "<javascript:alert(1)|x>", []),
        ("@here @channel", "@here @channel", []),
    ],
)  # fmt: skip
def test_mrkdwn(text, visible, entities):
    assert read(text) == (visible, entities)


@pytest.mark.parametrize(
    ("text", "visible", "entities"),
    [
        ("**bold** *it* ~~no~~ `a_b`", "bold it no a_b", []),
        ("# Title\n\n- one\n- two", "Title\n• one\n• two", []),
        ("[label](https://a.test/)", "label", [("link", "https://a.test/", "label")]),
        ("[label][1]\n\n[1]: https://a.test/", "label", [("link", "https://a.test/", "label")]),
        ("![alt](https://a.test/i.png)", "alt", [("image", "https://a.test/i.png", "alt")]),
        ("<https://a.test/|label>", "label", [("link", "https://a.test/", "label")]),
        ("<@U1> <!here>", "@ann @here", [("user", "U1", "@ann"), ("broadcast", "here", "@here")]),
        ("```\n<!channel>\n```", "@channel", [("broadcast", "channel", "@channel")]),
        ("\\<@U1>", "<@U1>", [("user", "U1", "@ann")]),
        ("&lt;@U1&gt;", "<@U1>", []),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "a | b | \n1 | 2 |", []),
    ],
)
def test_markdown_blocks(text, visible, entities):
    shown, found = read(blocks=[{"type": "markdown", "text": text}])

    assert (shown.strip(), found) == (visible, entities)


def test_blocks_are_read_from_top_to_bottom():
    user, broadcast = {"type": "user", "user_id": "U1"}, {"type": "broadcast", "range": "here"}
    rich = {"type": "rich_text_section", "elements": [{"type": "text", "text": "To "}, user, broadcast]}
    image = {"type": "image", "image_url": "https://a.test/i.png", "alt_text": "a dot"}
    shown, found = read(
        blocks=[
            {"type": "header", "text": plain("<@U1>")},
            section("*A*") | {"accessory": button("b", url="https://a.test")},
            {"type": "context", "elements": [{"type": "mrkdwn", "text": "small"}, image]},
            {"type": "rich_text", "elements": [rich]},
            FEEDBACK,
        ]
    )

    assert shown.split("\n") == [
        "<@U1>", "A", "[ Go ]", "small  [image: a dot]", "To @ann@here", "Good Bad",
    ]  # fmt: skip
    assert [one[0] for one in found] == ["link", "image", "user", "broadcast"]


@given(st.text(alphabet=st.sampled_from("<>&@!#|UCS1^ahere:/.*_`~ \n")))
def test_escaped_text_never_becomes_a_mention_or_a_masked_link(text):
    escaped = escape(text)

    for blocks in ([section(escaped or "-")], [{"type": "markdown", "text": escaped}]):
        kinds = {entity.kind for entity in entities_of(escaped, blocks, str)}
        assert kinds <= {"link", "domain"}


async def test_everything_that_ever_passed_is_kept(slack, client, ann, general):
    posted = await client.chat_postMessage(channel=general, text=f"<@{ann}> <!here>")
    await client.chat_update(channel=general, ts=posted["ts"], text="nothing to see")

    assert [entity.label for _, entity in slack.entities()] == ["@ann", "@here"]
    assert slack.posts()[0].entities == []

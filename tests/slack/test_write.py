"""What is shown in Slack: whole, within every limit, and harmless whoever wrote it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from fakes.hostile import HOSTILE_IN_CHAT, by_kind
from fakes.numbered_words import documents, order
from fakes.quotes import quotes_behind
from fakes.shown import (
    GOOD,
    SETTING,
    TURN,
    answered,
    bold_in_window,
    citation,
    elements,
    entry,
    name_in_slack,
    proposal,
    seen_in_window,
)
from fakes.shown import assert_harmless_in_slack as assert_harmless
from fakes.shown import assert_slack_takes as assert_sendable
from fakes.shown import seen_in_slack as seen
from fakes.slack.blocks import view_faults
from fakes.slack.rendering import entities_of, visible_text
from hypothesis import given, settings
from hypothesis import strategies as st

from bots.chat.markdown.pieces import pieces
from bots.chat.markdown.safe import web_link
from bots.chat.platform import CardContext, ProgressNote, Sources
from bots.slack.dialect import SLACK
from bots.slack.render import LAYOUT
from bots.slack.sessions import PlanStream, streamed
from core.conversation import Answer, Outcome


def test_a_table_is_a_block_of_its_own_between_the_words_around_it():
    table = f"| Plan | Rate |\n|---|---|\n| **Free** `x` | [60]({GOOD}) |\n| <@U1> & *a* | |"

    (message,) = LAYOUT.messages(answered(f"Before. [1]\n\n{table}\n\nAfter.", citation(url=GOOD)), SETTING)

    assert [block["type"] for block in message.blocks][:3] == ["markdown", "table", "markdown"]
    assert message.blocks[0] == {"type": "markdown", "text": "Before. [1]"}
    assert "Before. [1]\nPlan | Rate\n" in seen(message)
    assert "<@U1> & a |  \nAfter." in seen(message)
    assert "Plan · Rate\n" in message.words
    bold, *_ = message.blocks[1]["rows"][1][0]["elements"][0]["elements"]
    assert (bold["text"], bold["style"]) == ("Free", {"bold": True})
    assert_sendable(message)
    assert_harmless(message, {GOOD})


@pytest.mark.parametrize(
    ("rows", "cell"),
    [(21, "`x`"), (200, "`x`"), (99, "y" * 190)],
    ids=["long", "the longest", "in several pieces"],
)
def test_a_long_table_is_turned_over_and_sorted_by_its_readers(rows, cell):
    table = "| Plan | Rate | Note |\n|---|---|---|\n" + "".join(
        f"| {cell} | {number / 2} | {number or 'none'} |\n" for number in range(rows)
    )

    shown = LAYOUT.messages(answered(f"Before. [1]\n\n{table}\nAfter.", citation()), SETTING)

    (block,) = [block for message in shown for block in message.blocks if "table" in block["type"]]
    assert (block["type"], block["caption"], len(block["rows"])) == (
        "data_table",
        "Plan · Rate · Note",
        rows + 1,
    )
    assert [cell["type"] for cell in block["rows"][0]] == ["raw_text"] * 3
    assert [cell["type"] for cell in block["rows"][2]] == ["rich_text", "raw_number", "rich_text"]
    assert block["rows"][2][1] == {"type": "raw_number", "value": 0.5, "text": "0.5"}
    assert sum(message.words.count(cell.strip("`")) for message in shown) >= rows
    for message in shown:
        assert_sendable(message)


@pytest.mark.parametrize(
    "text",
    [
        "| a | b |\n|---|---|\n| 1 | 2 |\n\nAnd:\n\n| c |\n|---|\n| 3 |",
        "| a |\n|---|\n" + "| b |\n" * 201,
        "|" + " a |" * 21 + "\n|" + "---|" * 21 + "\n|" + " b |" * 21,
        "| a |\n|---|\n" + f"| {'b' * 200} |\n" * 101,
    ],
    ids=["several", "long", "wide", "large"],
)
def test_tables_that_slack_takes_in_no_block_stay_markdown(text):
    shown = LAYOUT.messages(answered(text, citation()), SETTING)

    assert not [block for message in shown for block in message.blocks if "table" in block["type"]]
    assert all(word in "".join(map(seen, shown)) for word in ("a", "b"))
    for message in shown:
        assert_sendable(message)


def test_a_quote_is_marked_within_its_paragraph():
    outcome = answered("Yes. [1]", citation(quote="Restart *it*: `x | y`."))

    view = LAYOUT.window(quotes_behind(outcome, before="| a | **b\n```\n", after=" <!channel>\n- c"))

    assert bold_in_window(view) == ["Restart *it*: `x | y`."]
    assert "| a | **b\n```\nRestart *it*: `x | y`. <!channel>\n- c" in seen_in_window(view)
    assert entities_of("", view["blocks"], name_in_slack) == []


def test_too_many_quotes_for_a_window_are_messages():
    outcome = answered("Yes. [1]", *(citation(n, location=f"{n}") for n in range(1, 60)))

    assert LAYOUT.window(quotes_behind(outcome)) is None
    assert all(assert_sendable(message) is None for message in LAYOUT.reply(quotes_behind(outcome)))


def test_feedback_buttons_carry_the_turn():
    (message,) = LAYOUT.messages(answered("Yes. [1]", citation()), SETTING)

    (pair,) = elements(message, "feedback_buttons")
    assert pair["positive_button"]["value"] == f"good {TURN}"
    assert pair["negative_button"]["value"] == f"bad {TURN}"
    assert pair["positive_button"]["accessibility_label"] == "This answer was helpful"
    assert pair["negative_button"]["accessibility_label"] == "This answer was not helpful"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            "Use **this** `f(x)`: it *runs* after. [1] For more, use that. [2]",
            "Use this f(x): it runs after.",
        ),
        ("See [the page](https://evil.com) & <b>. [1]", "See the page &amp; &lt;b&gt;."),
        ("Look at https://evil.com.", "Look at `https://evil.com`."),
        ("| Plan | Rate |\n|---|---|\n| **Free** | 60 |\n", "Plan · Rate; Free · 60"),
        ("# Ferry\n\n1. It leaves at nine. [1]\n2. It returns at six. [2]", "Ferry; 1) It leaves at nine."),
        ("word " * 200, f"{'word ' * 59}word…"),
    ],
)
def test_a_notification_says_the_first_sentence_of_an_answer_in_plain_words(answer, told):
    (message, *_) = LAYOUT.messages(answered(answer, citation()), SETTING)

    assert message.text == told


def test_what_is_posted_without_the_layout_is_the_whole_answer():
    (message,) = LAYOUT.messages(answered("Use **this**. See https://evil.com.", citation()), SETTING)

    assert message.words == "Use **this**. See `https://evil.com`."


def test_a_notification_of_a_card_says_the_exact_query_and_then_who_decided():
    query = "a_b *c* & <d>"
    asks = "I would search DuckDuckGo for: a_b *c* &amp; &lt;d&gt;"
    partly = replace(answered("Ann asks. [1]", citation()), proposal=proposal(query=query))
    allowed = proposal(query=query, allowed="c", verdict="approve", decided_by="U2", decided_at=1.7e9)

    assert LAYOUT.proposal_card(proposal(query=query), SETTING).text == asks
    assert LAYOUT.messages(partly, SETTING)[0].text == f"Ann asks. {asks}"
    assert LAYOUT.proposal_card(allowed, SETTING).text == "c · Bob allowed this search at 22:13 UTC."


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (Outcome(kind="failed", turn_id="t1", reason="The model is busy."), "The model is busy."),
        (
            Outcome(kind="clarify", turn_id="t1", reason="Which cookies?", options=("a", "b")),
            "Which cookies?",
        ),
        (
            Outcome(kind="no_answer", turn_id="t1", reason="Not **there**.", closest=(citation(),)),
            "Not there.",
        ),
    ],
)
def test_a_notification_of_anything_else_says_the_reason(outcome, told):
    assert LAYOUT.messages(outcome, SETTING)[0].text == told


def test_small_print_shows_no_marks_of_markdown():
    table = "| Plan | Rate |\n|---|---|\n| **Free** | `60` |\n| Team | 600 |"
    cited = citation(title="**The** plans", location="", quote=table)
    outcome = Outcome(kind="no_answer", turn_id="t1", reason="No.", closest=(cited,))
    cut = answered("Yes. [1]", cited, reason="Some **reason**.")

    for message in (
        *LAYOUT.messages(outcome, SETTING),
        *LAYOUT.messages(cut, SETTING),
        LAYOUT.proposal_card(proposal(closest=(cited,)), SETTING),
    ):
        assert "1 The plans · tutorial/background-tasks.md" in seen(message)
        assert "“Plan · Rate; Free · 60; Team · 600”" in seen(message)
        assert "|" not in seen(message)
        assert "**" not in seen(message)


TASK = {"type": "task_update", "id": "reading", "title": "Reading", "status": "in_progress"}


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ((), "It leaves at nine. [1] It costs 12."),
        (({"type": "markdown_text", "text": "It leaves at nine."},), " [1] It costs 12."),
        (({"type": "markdown_text", "text": "It leaves at nine. [1] It costs 12."},), ""),
        (({"type": "markdown_text", "text": "It leaves at ten."},), None),  # another draft
        (({"type": "blocks", "blocks": []}, {"type": "markdown_text", "text": "It"}), None),
        (None, None),  # nobody knows what Slack took
    ],
)
def test_a_plan_is_closed_with_what_was_not_streamed_yet_or_not_at_all(said, left):
    plan = PlanStream(first=ProgressNote(stage="reading", sentence="Reading…"), said=said)
    plan.grow(plan.first)
    answer = Answer(
        text="It leaves at nine. [1] It costs 12.", citations=(), grounding="documents", composed=True
    )
    (message,) = LAYOUT.messages(Outcome(kind="answered", turn_id="q", answer=answer), CardContext())
    message = replace(message, blocks=tuple(one for one in message.blocks if one["type"] == "markdown"))

    closing = streamed(message, plan)

    told = closing and "".join(
        chunk["text"] for chunk in closing["chunks"] if chunk["type"] == "markdown_text"
    )
    assert told == left


def unstreamed(message):
    """The last task, and what ``chat.stopStream`` puts beneath the plan."""
    plan = PlanStream(first=ProgressNote(stage="reading", sentence="Reading…"))
    plan.grow(plan.first)
    closing = streamed(message, plan)
    read = {
        "markdown_text": lambda chunk: [{"type": "markdown", "text": chunk["text"]}],
        "blocks": lambda chunk: chunk["blocks"],
    }
    chunks = [chunk for chunk in closing["chunks"] if chunk["type"] != "plan_update"]
    task, *chunks = chunks
    return task, [block for chunk in chunks for block in read[chunk["type"]](chunk)] + closing["blocks"]


def test_an_answer_closes_a_plan_with_the_same_blocks():
    (message,) = LAYOUT.messages(answered("Yes. [1]", citation(), composed=False), SETTING)

    task, blocks = unstreamed(message)

    assert blocks == list(message.blocks)
    assert task == TASK | {"status": "complete"}


def test_an_answer_that_is_a_table_tells_its_words_by_the_last_task():
    table = "| Plan | Rate |\n|---|---|\n| Free | 60 |"
    (message,) = LAYOUT.messages(answered(f"{table}\n\n[1]", citation()), SETTING)

    task, blocks = unstreamed(message)

    assert blocks == list(message.blocks)
    assert task == TASK | {"status": "complete", "title": "Plan · Rate; Free · 60"}


def test_what_has_no_markdown_tells_its_words_by_the_last_task():
    card = LAYOUT.proposal_card(proposal(), SETTING)

    task, blocks = unstreamed(card)

    assert blocks == list(card.blocks)
    assert proposal().query in task["title"]


def test_the_modal_opens_with_the_query():
    route = {
        "team": "T1", "channel": "C1", "thread": "1.0", "message": "2.0", "user": "U1",
        "is_direct": False,
    }  # fmt: skip

    view = LAYOUT.editor(proposal(), route)

    assert view_faults(view) == []
    assert view["blocks"][0]["element"]["initial_value"] == proposal().query


# What others wrote.


@pytest.mark.parametrize("texts", by_kind(HOSTILE_IN_CHAT))
def test_nothing_that_others_wrote_does_anything_in_a_window(texts):
    for text in texts:
        own = {GOOD} | {one for one in (web_link(text),) if one}
        outcome = answered(
            text, citation(title=text, location=text, source=text, quote=f"a {text}", url=text)
        )

        view = LAYOUT.window(quotes_behind(outcome, before=text, after=text))

        assert view_faults(view) == []
        assert {one.target for one in entities_of("", view["blocks"], name_in_slack)} <= own | {
            f"{one}/" for one in own
        }


# Long answers.


def shown_of(markdown):
    return visible_text("", [{"type": "markdown", "text": markdown}], str)


def unnumbered(text):
    """Without white space, and without the numbers that a list counts anew."""
    return "".join(re.sub(r"(?m)^\d+\. ", "", text).split())


@given(documents(has_code_within=False), st.integers(200, 900))
@settings(max_examples=50, deadline=None)
def test_code_is_shown_as_code_however_small_the_pieces_are(text, limit):
    made = pieces(text, limit=limit, dialect=SLACK)

    assert order(" ".join(map(shown_of, made))) == order(text)
    assert not [piece for piece in made if "```" in shown_of(piece)]


@given(documents())
@settings(max_examples=30, deadline=None)
def test_a_text_that_fits_looks_as_it_did(text):
    made = pieces(text, limit=10**6, dialect=SLACK)

    assert unnumbered("\n".join(map(shown_of, made))) == unnumbered(shown_of(text))


def test_a_notification_of_the_documents_holds_no_marks_of_bold_words():
    (told, *_) = LAYOUT.reply(Sources(language="en", entries=(entry(1),)))

    assert told.text.startswith("docs: 1 document, 3 passages")

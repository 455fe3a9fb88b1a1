"""What is shown in Discord: whole, within every limit, and harmless whoever wrote it."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.discord import components as kinds
from fakes.discord import limits, spec
from fakes.discord.components import walk
from fakes.discord_markdown import entities, visible
from fakes.quotes import quotes_behind
from fakes.shown import APART, GOOD, SETTING, TURN, answered, citation, decided, entry, proposal
from fakes.shown import assert_discord_takes as assert_sendable
from fakes.shown import assert_harmless_in_discord as assert_harmless
from fakes.shown import buttons_in_discord as buttons
from fakes.shown import links_in_discord as links
from fakes.shown import seen_in_discord as seen
from fakes.shown import texts_in_discord as texts
from hypothesis import given, settings
from hypothesis import strategies as st

from bots.chat.platform import CardContext, Note, Sources
from bots.chat.texts import say_in
from bots.discord import parts
from bots.discord.parts import CUSTOM_ID
from bots.discord.render import LAYOUT
from core.conversation import QUERY_LIMIT, Outcome

ENGLISH = say_in("en")


def test_writing_loads_no_library_of_discords():
    code = "import sys, bots.discord.render; print('discord' in sys.modules, 'markdown_it' in sys.modules)"
    root = Path(__file__).resolve().parents[2]

    ran = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)

    assert ran.stdout.split() == ["False", "False"]


def test_everything_beside_the_answer_is_small_print():
    outcome = answered("Yes. [1]", citation(), composed=False, reason="The model was busy.")

    (message,) = LAYOUT.messages(outcome, SETTING)

    answer, *others = sorted(texts(message), key=lambda markdown: markdown.startswith("-# "))
    assert answer == "Yes. [1]"
    assert [line[:3] for markdown in others for line in markdown.split("\n")] == ["-# "] * 4


def test_a_link_asks_for_no_preview():
    (message,) = LAYOUT.messages(answered(f"See {GOOD}. [1]", citation(url=GOOD)), SETTING)

    assert "".join(texts(message)).count(GOOD) == "".join(texts(message)).count(f"<{GOOD}>") == 2


def test_a_title_with_code_is_a_link_in_plain_words():
    (message,) = LAYOUT.messages(
        answered("Yes. [1]", citation(title="The `Depends` class", url=GOOD)), SETTING
    )

    assert links(message) == [(GOOD, "The Depends class › Using BackgroundTasks")]


def test_a_link_that_would_ping_is_words():
    (message,) = LAYOUT.messages(answered("Yes. [1]", citation(url=f"{GOOD}/@everyone")), SETTING)

    assert [entity for markdown in texts(message) for entity in entities(markdown)] == []
    assert "1 Background Tasks › Using BackgroundTasks" in seen(message)


def test_a_link_of_a_thousand_characters_leaves_room_for_the_other_footnotes():
    long = citation(url=f"https://good.example/{'a' * 1_500}")
    closest = tuple(replace(long, number=number) for number in range(1, 6))

    card = LAYOUT.proposal_card(proposal(closest=closest), SETTING)

    assert [number for number in range(1, 6) if f"\n{number} Background Tasks" in seen(card)] == [
        1,
        2,
        3,
        4,
        5,
    ]
    assert_sendable(card)


def test_a_quote_is_shown_without_the_marks_of_markdown():
    quote = "<li>*path* `x[1]` __init__ # > ||a|| <b>\\n</b></li>"
    table = "| Plan | Rate |\n|---|---|\n| **Free** | `60` |"

    (message,) = LAYOUT.messages(
        answered("Yes. [1]", citation(quote=quote), citation(2, location="Rates", quote=table)), SETTING
    )

    assert "“path x[1] __init__ # > ||a|| \\n”" in seen(message)
    assert "“Plan · Rate; Free · 60”" in seen(message)


def test_a_quote_is_marked_within_its_paragraph():
    outcome = answered("Yes. [1]", citation(quote="Restart *it*: `now`\n    x | y"))

    (shown,) = LAYOUT.reply(quotes_behind(outcome, before="| a | **b\n```\nso ", after=" @everyone\n- c"))

    quoted = [each for each in shown.text.split("\n") if each.startswith("> ")]
    assert quoted[2:] == [
        "> so **Restart \\*it\\*: \\`now\\`**",
        "> \u00a0\u00a0\u00a0\u00a0**x \\| y** `@\u200beveryone`",
        "> \\- c",
    ]
    assert_sendable(shown)


def test_feedback_and_footnotes_share_a_row_and_carry_the_turn():
    (message,) = LAYOUT.messages(answered("Yes. [1]", citation(quote="word " * 60)), SETTING)

    (row,) = [one for one in message.components if one["type"] == kinds.ROW]
    assert [one["custom_id"] for one in row["components"]] == [
        f"good:{TURN}",
        f"bad:{TURN}",
        f"footnotes:{TURN}",
    ]


def test_readings_longer_than_a_button_are_numbered_above_it():
    long = "the cookies " * 12
    outcome = Outcome(
        kind="clarify", turn_id=TURN, reason="Which cookies?", options=("response", "request", long)
    )

    (message,) = LAYOUT.messages(outcome, SETTING)

    assert seen(message).startswith(f"Which cookies?\n\n1. response\n2. request\n3. {long.strip()}\n")
    assert buttons(message)[:2] == [("response", f"choose:1:{TURN}"), ("request", f"choose:2:{TURN}")]
    assert len(buttons(message)[2][0]) <= 80
    assert_sendable(message)


def test_many_readings_are_rows_of_buttons():
    options = tuple(f"reading {number}" for number in range(1, 31))

    (message,) = LAYOUT.messages(
        Outcome(kind="clarify", turn_id=TURN, reason="Which?", options=options), SETTING
    )

    assert [label for label, _ in buttons(message)] == list(options[:25])
    assert "30. reading 30" in seen(message)
    assert_sendable(message)


def test_a_reading_without_words_is_no_button_and_moves_no_number():
    outcome = Outcome(kind="clarify", turn_id=TURN, reason="Which?", options=("a", " \u200d", "b"))

    (message,) = LAYOUT.messages(outcome, SETTING)

    assert buttons(message) == [("a", f"choose:1:{TURN}"), ("b", f"choose:3:{TURN}")]


@pytest.mark.parametrize(
    "blank",
    ["", " ", "\n", "\u200d", "\u200b", "\x00", "&zwj;", "***", "```", ">", "#", "-", "> ```", "```0"],
    ids=ascii,
)
def test_what_is_blank_is_said_to_be_unfinished(blank):
    outcomes = [
        answered(blank, citation(title=blank, location=blank, source=blank, quote=blank)),
        *(Outcome(kind=kind, turn_id=TURN, reason=blank) for kind in ("no_answer", "clarify", "failed")),
    ]

    for outcome in outcomes:
        (message,) = LAYOUT.messages(outcome, SETTING)
        assert seen(message).startswith(ENGLISH("unfinished")) or (
            blank == "" and outcome.kind in ("no_answer", "clarify")
        )
        assert_sendable(message)


def test_what_gives_no_reason_says_what_it_is():
    (unanswered,) = LAYOUT.messages(Outcome(kind="no_answer", turn_id=TURN), SETTING)
    (unclear,) = LAYOUT.messages(Outcome(kind="clarify", turn_id=TURN), SETTING)

    assert seen(unanswered).startswith(ENGLISH("not_found"))
    assert seen(unclear).startswith(ENGLISH("which"))


@pytest.mark.parametrize("mark", ["***", "```\n```", ">", "#", "-", "\u200d"], ids=ascii)
def test_an_answer_begins_with_words(mark):
    (message,) = LAYOUT.messages(answered(f"{mark}\n\nYes. [1]", citation()), SETTING)

    assert seen(message).startswith("Yes. [1]\n")


def test_a_blank_note_is_a_sign_of_life():
    assert seen(LAYOUT.note(" \u200d\n")) == "…"
    assert_sendable(LAYOUT.note(""))


def test_a_note_keeps_its_lines_and_shows_its_signs():
    (message,) = LAYOUT.reply(Note(text="a_b: *no*\n\n- # c `d`"))

    assert seen(message) == "a_b: *no*\n- # c `d`"
    assert_sendable(message)


def test_the_text_of_a_message_is_its_words():
    (message,) = LAYOUT.messages(answered("Use **this**. [1]", citation(quote="")), SETTING)

    assert message.text == (
        "Use **this**. [1]\n"
        "**1** Background Tasks › Using BackgroundTasks · tutorial/background-tasks.md\n"
        "Answered in 2.1 s from 1 passage · written by a language model"
    )


# The card.


@pytest.mark.parametrize(
    "query",
    [
        "a_b *c* `d` <e> & https://evil.com", "``` x ```", "```", "`", "````a`", "x```ansi", "@everyone <@1> <@&2>",
        "||a|| ~~b~~ \\*c\\*", "# a", "> a", "-# a", "py", "a", "`" * QUERY_LIMIT, "🙂" * QUERY_LIMIT,
    ],
)  # fmt: skip
def test_the_query_stands_on_the_card_sign_by_sign_and_does_nothing(query):
    card = LAYOUT.proposal_card(proposal(query=query), SETTING)

    block = texts(card)[texts(card).index("I would search DuckDuckGo for:") + 1]
    assert block.startswith("```\n")
    assert visible(block).replace(APART, "") == query
    assert entities(block) == []
    assert_sendable(card)


def test_a_decided_card_shows_what_the_query_was_changed_to():
    edited = LAYOUT.proposal_card(decided("approve", query="preflight"), SETTING)
    as_proposed = LAYOUT.proposal_card(decided("approve"), SETTING)

    assert f"{proposal().query}\nChanged before it was allowed:\npreflight\nBob allowed" in seen(edited)
    assert "Changed" not in seen(as_proposed)
    assert_sendable(edited)


def test_the_edge_of_the_card_tells_open_from_decided():
    cards = [LAYOUT.proposal_card(one, SETTING) for one in (proposal(), decided("approve"), decided("deny"))]

    assert len({card.components[0]["accent_color"] for card in cards}) == 3


def test_somebody_without_a_name_is_never_mentioned():
    card = LAYOUT.proposal_card(decided("approve"), CardContext(names={"U2": "<@2> @everyone"}))

    assert "<@2> @everyone allowed this search" in seen(card)
    assert_harmless(card)


@pytest.mark.parametrize("query", ["browsers that send preflights", "x" * 9_999, " a\nb ", ""])
def test_the_modal_opens_with_the_query(query):
    form = LAYOUT.editor(proposal(query=query), {})

    (label,) = form["components"]
    field = label["component"]
    assert form["custom_id"] == "edit:p0123456789"
    assert label["label"] == "This is what is sent to the web"
    assert field["custom_id"] == "query"
    assert field["value"] == " ".join(query.split())[:QUERY_LIMIT]
    assert (field["required"], field["max_length"]) == (True, QUERY_LIMIT)
    limits.check_modal(form)
    callback = "/interactions/{interaction_id}/{interaction_token}/callback"
    assert spec.violations("POST", callback, {}, {"type": 9, "data": form}) == []


# Words.


def test_a_heading_is_not_left_alone_in_a_message():
    entries = tuple(entry(n, collection="c" * 300, source="s" * 300) for n in range(40))

    first, *_ = LAYOUT.reply(Sources(language="en", entries=entries))

    assert "•" in seen(first)


# What others wrote.


@given(st.text(max_size=QUERY_LIMIT))
@settings(max_examples=40, deadline=None)
def test_whatever_people_type_is_a_message_and_a_form_that_discord_takes(text):
    sly = proposal(query=text, reason=text, tried=(text,))

    assert_sendable(LAYOUT.proposal_card(sly, SETTING))
    assert_sendable(LAYOUT.note(text))
    limits.check_modal(LAYOUT.editor(sly, {}))


# Long answers.


def test_a_table_repeats_its_heading_in_every_message():
    text = "| name | use |\n|---|---|\n" + "\n".join(f"| n{n} | u{n} |" for n in range(900))

    made = LAYOUT.messages(answered(text), SETTING)

    assert len(made) > 1
    for message in made:
        assert re.search(r"name +use", seen(message))
        assert_sendable(message)


def test_code_goes_on_in_the_next_message_in_its_language():
    text = "Read on.\n\n```python\n" + "".join(f"line {n}\n" for n in range(900)) + "```"

    made = LAYOUT.messages(answered(text), SETTING)

    assert len(made) > 2
    assert all("```python\n" in message.text for message in made)
    assert re.findall(r"line \d+", "".join(map(seen, made))) == [f"line {n}" for n in range(900)]


def test_the_line_above_a_long_answer_is_not_a_message_of_its_own():
    first, *others = LAYOUT.messages(answered("word " * 2_000, composed=False), SETTING)

    assert seen(first).count("word") > 500
    assert others


def test_a_dividing_line_stands_between_two_things():
    cited = [citation(n, url=f"https://good.example/{'a' * 900}") for n in range(1, 6)]

    for length in range(2_600, 4_100, 50):
        for message in LAYOUT.messages(answered("x" * length, *cited), SETTING):
            shown = [one["type"] for one in message.components]
            assert kinds.SEPARATOR not in (shown[0], shown[-1])


def test_parts_are_packed_in_order_into_as_few_messages_as_hold_them():
    given = ["a" * 1_999, "b" * 1_999, parts.text("c"), *(parts.text(str(n)) for n in range(60))]

    made = [*LAYOUT.packed(iter(given))]

    assert [sum(1 for _ in walk(one)) for one in made] == [1, 40, 21]
    assert made[0][0]["content"] == f"{'a' * 1_999}\n\n{'b' * 1_999}"
    assert [one["content"] for one in made[2]] == [str(n) for n in range(39, 60)]


def test_nested_components_count_too():
    box = parts.container([parts.text("a")] * 39, colour=0)

    assert parts.fits([box])
    assert not parts.fits([box, parts.text("b")])


def test_every_button_names_its_turn_within_what_an_id_may_be():
    outcome = Outcome(kind="clarify", turn_id=TURN, reason="Which?", options=("a",) * 25)

    (message,) = LAYOUT.messages(outcome, SETTING)

    *_, (_, last) = buttons(message)
    assert last == f"choose:25:{TURN}"
    assert len(last) == 83 <= CUSTOM_ID

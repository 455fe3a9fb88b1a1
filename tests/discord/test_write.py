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
from fakes.hostile import KINDS, by_kind
from fakes.quotes import quotes_behind
from hypothesis import given, settings
from hypothesis import strategies as st

from bots.chat import proposals
from bots.chat.markdown.safe import names_another_host, web_link
from bots.chat.platform import CardContext, Note, Sources
from bots.chat.texts import help_lines, say_in
from bots.discord import parts
from bots.discord.parts import CUSTOM_ID
from bots.discord.render import LAYOUT
from core.conversation import QUERY_LIMIT, Answer, Citation, Conversation, Decision, Outcome, Proposal
from core.library.entries import Entry

GOOD = "https://good.example/page"
BIGGEST = 2**64 - 1  # of an id
TURN = f"discord/{BIGGEST}/{BIGGEST}/{BIGGEST}~99"
ENGLISH = say_in("en")
SETTING = CardContext(engine="DuckDuckGo", names={"1": "Ann", "2": "Bob"})
V2 = 1 << 15  # the flag of a message that consists of components
OWN_MOMENTS = ("<t:1:t>", "<t:1700000000:t>")  # of the decisions below
APART = "\u200b"  # takes no room on the screen


def citation(number=1, **more):
    given = {
        "title": "Background Tasks",
        "location": "Using BackgroundTasks",
        "source": "tutorial/background-tasks.md",
        "quote": "Declare a parameter with a type of BackgroundTasks.",
        "start": 0,
        "end": 51,
    }
    return Citation(number=number, **(given | more))


def answered(text, *citations, composed=True, grounding="documents", reason=None):
    made = Answer(text=text, citations=citations, grounding=grounding, composed=composed)
    return Outcome(kind="answered", turn_id=TURN, answer=made, reason=reason, timing_ms={"total": 2_100.0})


def proposal(**more):
    given = {
        "id": "p0123456789",
        "turn_id": TURN,
        "question": "Which browsers send preflights?",
        "asker": "1",
        "query": "browsers that send CORS preflight requests",
        "reason": "Your documents don't answer this.",
        "tried": ("preflight browsers",),
        "closest": (citation(title="CORS"),),
    }
    return Proposal(**(given | more))


def decided(verdict, **more):
    conversation = Conversation(platform="discord", space="1", channel="2", thread="3")
    decision = {"id": "d1", "conversation": conversation, "author": "2", "proposal_id": "p0123456789"}
    return proposal().with_decision(Decision(**decision, verdict=verdict, decided_at=1.7e9, **more))


def entry(number, **more):
    given = {
        "id": number, "collection": "docs", "address": "", "root": "", "source": f"a/{number}.md",
        "title": f"Title {number}", "url": None, "hash": "", "size": 1, "modified": 0, "passages": 3,
    }  # fmt: skip
    return Entry(**(given | more))


def seen(message):
    """The message line by line, as a person reads it."""
    return "\n".join(filter(None, map(seen_of, message.components)))


def seen_of(component):
    match component["type"]:
        case kinds.TEXT:
            return visible(component["content"]).replace(APART, "").strip()
        case kinds.SEPARATOR:
            return "───"
        case kinds.BUTTON:
            return f"[{component['label']}]"
    sign = " " if component["type"] == kinds.ROW else "\n"
    return sign.join(map(seen_of, component["components"]))


def texts(message):
    return [one["content"] for one in walk(message.components) if one["type"] == kinds.TEXT]


def links(message):
    found = [entity for markdown in texts(message) for entity in entities(markdown)]
    return [(one.target, one.label) for one in found if one.kind == "link"]


def buttons(message):
    return [(one["label"], one["custom_id"]) for one in kinds.buttons(message.components)]


def assert_fits(message):
    limits.check_message({"components": list(message.components)}, is_v2=True)
    assert all(markdown.strip() for markdown in texts(message))
    assert message.components[0]["type"] in (kinds.TEXT, kinds.CONTAINER)
    assert seen_of(message.components[0])


def assert_sendable(message):
    """By our own reading of the limits, and by Discord's document."""
    assert_fits(message)
    body = {
        "components": list(message.components), "flags": V2, "allowed_mentions": {"parse": []},
        "nonce": "n", "enforce_nonce": True,
    }  # fmt: skip
    assert spec.violations("POST", "/channels/{channel_id}/messages", {}, body) == []


def assert_harmless(message, own=()):
    for markdown in texts(message):
        for entity in entities(markdown):
            if entity.kind == "time" and entity.target in OWN_MOMENTS:
                continue
            assert entity.kind == "link", entity
            assert entity.target.replace("%28", "(").replace("%29", ")") in own, entity
            assert not names_another_host(entity.label, entity.target), entity


def test_writing_loads_no_library_of_discords():
    code = "import sys, bots.discord.render; print('discord' in sys.modules, 'markdown_it' in sys.modules)"
    root = Path(__file__).resolve().parents[2]

    ran = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)

    assert ran.stdout.split() == ["False", "False"]


def test_an_answer_shows_its_words_then_where_they_stand():
    (message,) = LAYOUT.messages(answered("Use `BackgroundTasks`. [1]", citation()), SETTING)

    assert seen(message) == (
        "Use BackgroundTasks. [1]\n───\n"
        "1 Background Tasks › Using BackgroundTasks · tutorial/background-tasks.md\n"
        "“Declare a parameter with a type of BackgroundTasks.”\n"
        "Answered in 2.1 s from 1 passage · written by a language model\n[Helpful] [Not helpful] [Show quotes]"
    )
    assert_sendable(message)


def test_everything_beside_the_answer_is_small_print():
    outcome = answered("Yes. [1]", citation(), composed=False, reason="The model was busy.")

    (message,) = LAYOUT.messages(outcome, SETTING)

    answer, *others = sorted(texts(message), key=lambda markdown: markdown.startswith("-# "))
    assert answer == "Yes. [1]"
    assert [line[:3] for markdown in others for line in markdown.split("\n")] == ["-# "] * 4


def test_a_title_is_a_link_where_the_source_has_a_web_address():
    (linked,) = LAYOUT.messages(answered("Yes. [1]", citation(url=GOOD)), SETTING)
    (local,) = LAYOUT.messages(answered("Yes. [1]", citation(url="file:///etc/passwd")), SETTING)

    assert links(linked) == [(GOOD, "Background Tasks › Using BackgroundTasks")]
    assert links(local) == []
    assert_sendable(linked)


def test_a_link_asks_for_no_preview():
    (message,) = LAYOUT.messages(answered(f"See {GOOD}. [1]", citation(url=GOOD)), SETTING)

    assert "".join(texts(message)).count(GOOD) == "".join(texts(message)).count(f"<{GOOD}>") == 2


def test_a_title_that_names_another_host_is_not_what_is_clicked():
    web = citation(title="bank.com sign-in", url=GOOD, origin="web", location="good.example")

    (message,) = LAYOUT.messages(answered("Yes. [1]", web, grounding="web"), SETTING)

    assert links(message) == [(GOOD, "good.example")]
    assert "bank.com sign-in" in seen(message)
    assert seen(message).startswith("From the web, not from your documents.\n")


def test_a_title_with_code_is_a_link_in_plain_words():
    (message,) = LAYOUT.messages(
        answered("Yes. [1]", citation(title="The `Depends` class", url=GOOD)), SETTING
    )

    assert links(message) == [(GOOD, "The Depends class › Using BackgroundTasks")]


def test_a_link_that_would_ping_is_words():
    (message,) = LAYOUT.messages(answered("Yes. [1]", citation(url=f"{GOOD}/@everyone")), SETTING)

    assert [entity for markdown in texts(message) for entity in entities(markdown)] == []
    assert "1 Background Tasks › Using BackgroundTasks" in seen(message)


def test_only_addresses_of_cited_sources_become_links():
    text = f"See {GOOD} and [this]({GOOD}), not https://evil.com/a or [that](https://evil.com/b)."

    (message,) = LAYOUT.messages(answered(text, citation(url=GOOD)), SETTING)

    assert {target for target, _ in links(message)} == {GOOD}
    assert "not https://evil.com/a or that (https://evil.com/b)." in seen(message)


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


def test_quotes_of_an_uncomposed_answer_are_not_repeated():
    quoted = "Declare a parameter with a type of BackgroundTasks."

    (message,) = LAYOUT.messages(answered(f"{quoted} [1]", citation(), composed=False), SETTING)

    assert seen(message).count(quoted) == 1
    assert seen(message).startswith("Quoted from your documents, not composed.")


def test_a_quote_is_shown_without_the_marks_of_markdown():
    quote = "<li>*path* `x[1]` __init__ # > ||a|| <b>\\n</b></li>"
    table = "| Plan | Rate |\n|---|---|\n| **Free** | `60` |"

    (message,) = LAYOUT.messages(
        answered("Yes. [1]", citation(quote=quote), citation(2, location="Rates", quote=table)), SETTING
    )

    assert "“path x[1] __init__ # > ||a|| \\n”" in seen(message)
    assert "“Plan · Rate; Free · 60”" in seen(message)


def test_an_answer_without_footnotes_says_so():
    (message,) = LAYOUT.messages(answered("Hello.", grounding="none"), SETTING)

    assert seen(message).startswith(f"{ENGLISH('no_footnotes')}\nHello.\nAnswered in")


def test_the_sixth_footnote_waits_behind_a_button_that_names_the_turn():
    outcome = answered("Yes. [1]", *(citation(n, location=f"{n}", quote=f"quote {n}") for n in range(1, 9)))

    (message,) = LAYOUT.messages(outcome, SETTING)
    (shown,) = LAYOUT.reply(quotes_behind(outcome))

    assert buttons(message)[2:] == [("3 more: show quotes", f"footnotes:{TURN}")]
    assert "quote 5" in seen(message)
    assert "quote 6" not in seen(message)
    assert all(f"quote {n}" in seen(shown) for n in range(1, 9))
    assert_sendable(message)


@pytest.mark.parametrize("composed", [True, False])
def test_quotes_can_be_seen_wherever_there_is_a_footnote(composed):
    (cited,) = LAYOUT.messages(answered("Yes. [1]", citation(), composed=composed), SETTING)
    (bare,) = LAYOUT.messages(answered("Hello."), SETTING)

    assert buttons(cited)[2:] == [("Show quotes", f"footnotes:{TURN}")]
    assert buttons(bare)[2:] == []


def test_a_place_is_named_once_and_its_quotes_stand_behind_it():
    cited = (citation(1, quote="It keeps 300."), citation(2, quote="Restart it."))
    outcome = answered("It keeps 300. [1]\n\nThen restart it. [2]", *cited)

    (message,) = LAYOUT.messages(outcome, SETTING)
    (shown,) = LAYOUT.reply(quotes_behind(outcome))

    assert "Then restart it. [1]" in seen(message)
    assert seen(message).count("tutorial/background-tasks.md") == 1
    assert "Restart it." not in seen(message)
    assert seen(shown).count("tutorial/background-tasks.md") == 1
    assert "**It keeps 300.**" in shown.text
    assert "**Restart it.**" in shown.text


def test_a_quote_is_marked_within_its_paragraph_and_what_has_changed_is_said():
    outcome = answered("Yes. [1]", citation(quote="Restart *it*: `now`\n    x | y"))
    changed = quotes_behind(outcome)

    (shown,) = LAYOUT.reply(quotes_behind(outcome, before="| a | **b\n```\nso ", after=" @everyone\n- c"))
    (alone,) = changed.excerpts
    (other,) = LAYOUT.reply(replace(changed, excerpts=(replace(alone, is_current=False),)))

    quoted = [each for each in shown.text.split("\n") if each.startswith("> ")]
    assert quoted[2:] == [
        "> so **Restart \\*it\\*: \\`now\\`**",
        "> \u00a0\u00a0\u00a0\u00a0**x \\| y** `@\u200beveryone`",
        "> \\- c",
    ]
    assert ENGLISH("source_changed") in seen(other)
    assert ENGLISH("source_changed") not in seen(shown)
    assert_sendable(shown)


def test_all_footnotes_hold_every_quote_whole():
    long = " ".join(f"word{n}" for n in range(4_000))

    shown = LAYOUT.reply(quotes_behind(answered("Yes. [1]", citation(quote=long))))

    assert re.findall(r"word\d+", "".join(map(seen, shown))) == long.split()
    for message in shown:
        assert_sendable(message)


def test_all_footnotes_of_no_answer_are_its_closest_passages_and_of_none_a_sentence():
    closest = Outcome(kind="no_answer", turn_id=TURN, closest=(citation(),))

    assert "Declare a parameter" in seen(LAYOUT.reply(quotes_behind(closest))[0])
    assert seen(LAYOUT.reply(quotes_behind(answered("Hello.")))[0]) == ENGLISH("no_footnotes")


def test_feedback_and_footnotes_share_a_row_and_carry_the_turn():
    (message,) = LAYOUT.messages(answered("Yes. [1]", citation(quote="word " * 60)), SETTING)

    (row,) = [one for one in message.components if one["type"] == kinds.ROW]
    assert [one["custom_id"] for one in row["components"]] == [
        f"good:{TURN}",
        f"bad:{TURN}",
        f"footnotes:{TURN}",
    ]


def test_an_answer_in_spite_of_trouble_says_what_was_missing():
    (message,) = LAYOUT.messages(answered("Yes. [1]", citation(), reason="The model was busy."), SETTING)

    assert "\nThe model was busy.\n" in seen(message)


def test_no_answer_shows_the_closest_passages_and_what_to_do():
    outcome = Outcome(
        kind="no_answer",
        turn_id=TURN,
        reason="I did not find this in your documents.",
        closest=(citation(),),
    )

    (message,) = LAYOUT.messages(outcome, SETTING)

    assert seen(message) == (
        "I did not find this in your documents.\nThe closest passages:\n"
        "1 Background Tasks › Using BackgroundTasks · tutorial/background-tasks.md\n"
        "“Declare a parameter with a type of BackgroundTasks.”\n"
        "You can rephrase, name the document, or add one. To add one, mention me with learn and a file.\n"
        "[Helpful] [Not helpful] [Show quotes]"
    )
    assert_sendable(message)


def test_readings_to_choose_from_stand_on_buttons_alone():
    outcome = Outcome(kind="clarify", turn_id=TURN, reason="Which cookies?", options=("response", "request"))

    (message,) = LAYOUT.messages(outcome, SETTING)

    assert buttons(message)[:2] == [("response", f"choose:1:{TURN}"), ("request", f"choose:2:{TURN}")]
    assert seen(message).count("response") == 1
    assert "1." not in seen(message)
    assert_sendable(message)


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


def test_a_failure_is_its_reason():
    outcome = Outcome(kind="failed", turn_id=TURN, reason="The model did not answer within 60 s.")

    assert [seen(one) for one in LAYOUT.messages(outcome, SETTING)] == [
        "The model did not answer within 60 s."
    ]


def test_a_question_that_failed_can_be_tried_again():
    outcome = Outcome(kind="failed", turn_id=TURN, reason="The model is busy.")

    (message,) = LAYOUT.messages(outcome, CardContext(can_retry=True))

    assert buttons(message) == [("Try again", f"again:{TURN}")]
    assert_sendable(message)


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


def test_the_card_shows_what_was_tried_and_what_would_be_sent():
    outcome = Outcome(kind="approval_needed", turn_id=TURN, proposal=proposal())

    (card,) = LAYOUT.messages(outcome, SETTING)

    assert seen(card) == (
        "Your documents don't answer this.\nLooked for: “preflight browsers”\nThe closest passages:\n"
        "1 CORS › Using BackgroundTasks · tutorial/background-tasks.md\n"
        "“Declare a parameter with a type of BackgroundTasks.”\n"
        "I would search DuckDuckGo for:\nbrowsers that send CORS preflight requests\n"
        "[Search the web] [Edit query] [No thanks]\n"
        "Waiting for Ann. Nothing is sent until then."
    )
    assert [custom_id for _, custom_id in buttons(card)] == [
        "approve:p0123456789",
        "edit:p0123456789",
        "deny:p0123456789",
    ]
    assert_sendable(card)


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


@pytest.mark.parametrize(
    ("approval", "says"),
    [("asker", "Ann or an approver"), ("anyone", "anyone here"), ("approvers", "an approver")],
)
def test_the_card_says_who_is_waited_for(approval, says):
    card = LAYOUT.proposal_card(proposal(), replace(SETTING, approval=approval, has_approvers=True))

    assert f"Waiting for {says}." in seen(card)


@pytest.mark.parametrize(
    ("verdict", "says"), [("approve", "Bob allowed this search at"), ("deny", "Bob said no at")]
)
def test_a_decided_card_says_who_and_when_and_has_no_buttons(verdict, says):
    card = LAYOUT.proposal_card(decided(verdict), SETTING)

    assert says in seen(card).split("\n")[-1]
    assert buttons(card) == []
    assert "Nothing is sent" not in seen(card)
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


@pytest.mark.parametrize(
    ("more", "who"),
    [
        ({}, "Ann"),
        ({"has_approvers": True}, "Ann or an approver"),
        ({"has_approvers": True, "approvers": ("Bob", "librarians")}, "Ann, Bob or librarians"),
        ({"has_approvers": True, "approvers": ("Ann",)}, "Ann"),
        ({"has_approvers": True, "approvers": tuple("BCDEFG")}, "Ann, B, C, D, E, F or another approver"),
        ({"has_approvers": True, "approvers": ("Bob",), "approval": "approvers"}, "Bob"),
        ({"has_approvers": True, "approval": "approvers"}, "an approver"),
    ],
)
def test_the_card_and_a_refusal_name_those_who_may_decide(more, who):
    card_context = replace(SETTING, **more)

    assert f"Waiting for {who}. Nothing is sent until then." in seen(
        LAYOUT.proposal_card(proposal(), card_context)
    )
    assert proposals.refused(proposal(), card_context) == f"Only {who} can decide this search."


def test_a_late_press_is_told_who_decided():
    assert seen(LAYOUT.decided_already(decided("deny"), SETTING)) == (
        "Bob already said no to this search at <t:1700000000:t>."
    )


def test_a_moment_is_shown_in_the_readers_own_time():
    for message in (
        LAYOUT.proposal_card(decided("approve"), SETTING),
        LAYOUT.decided_already(decided("deny"), SETTING),
    ):
        assert texts(message)[-1].endswith(" at <t:1700000000:t>.")


def test_somebody_without_a_name_is_never_mentioned():
    card = LAYOUT.proposal_card(decided("approve"), CardContext(names={"2": "<@2> @everyone"}))

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


def test_help_is_three_lines():
    (message,) = LAYOUT.reply(Note(text="\n".join(help_lines("en", collections=("docs",), documents=12))))

    assert len(seen(message).split("\n")) == 3
    assert "12 documents in docs" in seen(message)
    assert_sendable(message)


def test_sources_are_listed_by_collection():
    shown = LAYOUT.reply(Sources(language="en", entries=tuple(entry(n) for n in range(50))))

    assert seen(shown[0]).startswith("docs: 50 documents, 150 passages\n• a/0.md · Title 0 · 3 passages\n")
    assert seen(shown[-1]).endswith("and 10 more")
    assert "no documents" in seen(LAYOUT.reply(Sources(language="en", entries=()))[0])
    for message in shown:
        assert_sendable(message)


def test_a_heading_is_not_left_alone_in_a_message():
    entries = tuple(entry(n, collection="c" * 300, source="s" * 300) for n in range(40))

    first, *_ = LAYOUT.reply(Sources(language="en", entries=entries))

    assert "•" in seen(first)


# What others wrote.

OURS = (
    "<@1>", "<@!1>", "<@&1>", "<#1>", "<:name:1>", "</name:1>", "<t:1:R>", "<id:customize>", "@everyone", "@here",
    "\\@everyone", "`@everyone`", "<@\u200b1>", "||hidden||", "\\||hidden||", "```ansi\n\x1b[31mred\n```", "-# small",
    ">>> all of it\n\n<@1>", "*`*<t:1:R>`*", "**a `**`<#1>`**`**", "discord://-/channels/1", "steam://run/1",
    "discord.gg/x", f"[bank.example [x]({GOOD})", f"[🙂]({GOOD})", f"[@everyone]({GOOD})", f"{GOOD})", ":smile:",
    "```\n\n```\n<#1>\n```", "`" * 400, "*" * 999, "a\\", "1. a", "- a", "# a", "]" * 99 + "(https://evil.com)",
)  # fmt: skip
ALL_HOSTILE = KINDS | {"ours": OURS}


def test_there_are_hostile_strings_enough():
    assert len({text for texts in ALL_HOSTILE.values() for text in texts}) >= 240


def everywhere(text):
    """Every message that can carry the text, with the text in every place at once."""
    cited = [
        citation(1, title=text, location=text, source=text, quote=text, url=GOOD),
        citation(2, title=text, location=text, origin="web", published=text, quote=text, url=text),
    ]
    sly = proposal(
        question=text, asker="9", query=text, reason=text, tried=(text, text), closest=tuple(cited)
    )
    card_context = CardContext(engine=text, names={"9": text}, can_retry=True)
    closed = replace(sly, verdict="approve", allowed=f"{text}!", decided_by="9", decided_at=1.0)
    yield from LAYOUT.messages(answered(text, *cited, reason=text), card_context)
    yield from (
        LAYOUT.proposal_card(sly, card_context),
        LAYOUT.proposal_card(closed, card_context),
        LAYOUT.note(text),
    )
    if len(text) > 1_000:  # what the other kinds would only cut or show alike
        return
    yield from LAYOUT.messages(answered(text, *cited, composed=False, grounding="both"), card_context)
    yield from LAYOUT.messages(
        Outcome(kind="no_answer", turn_id=TURN, reason=text, closest=tuple(cited)), card_context
    )
    yield from LAYOUT.messages(
        Outcome(kind="clarify", turn_id=TURN, reason=text, options=(text, text)), card_context
    )
    yield from LAYOUT.messages(Outcome(kind="failed", turn_id=TURN, reason=text), card_context)
    yield from LAYOUT.reply(quotes_behind(answered(text, *cited), before=text, after=text))
    yield from (
        LAYOUT.note(proposals.refused(sly, card_context)),
        LAYOUT.decided_already(closed, card_context),
    )
    yield from LAYOUT.reply(
        Sources(language="en", entries=(entry(1, collection=text, source=text, title=text),))
    )
    yield from LAYOUT.reply(Note(text="\n".join(help_lines("en", collections=(text,), documents=1))))


@pytest.mark.parametrize("texts", by_kind(ALL_HOSTILE))
def test_nothing_that_others_wrote_does_anything(texts):
    for text in texts:
        own = {GOOD} | {one for one in (web_link(text),) if one}

        for message in everywhere(text):
            assert_fits(message)
            assert_harmless(message, own | {f"{one}/" for one in own})


NASTY = st.sampled_from(
    [*"<>@#!|`~*_[]()\\&;:/.-+= \n\t\"'0aUC", "http", "https://", "evil.com", GOOD, "<@1>", "<#1>", "<t:1:R>",
     "<:a:1>", "</a:1>", "@everyone", "@here", "||", "**", "~~", "__", "&lt;", "&#42;", "```", "```ansi\n", "](",
     "\n\n", "- ", "1. ", "> ", ">>> ", "-# ", "# ", "|---|", "\n|", "www.", "\u200b", "\u200d", f"[a]({GOOD})"]
)  # fmt: skip


@given(st.lists(NASTY, max_size=60).map("".join))
@settings(max_examples=60, deadline=None)
def test_no_mixture_of_signs_does_anything(text):
    own = {GOOD} | {one for one in (web_link(text),) if one}

    for message in everywhere(text):
        assert_fits(message)
        assert_harmless(message, own | {f"{one}/" for one in own})


@given(st.text(max_size=QUERY_LIMIT))
@settings(max_examples=40, deadline=None)
def test_whatever_people_type_is_a_message_and_a_form_that_discord_takes(text):
    sly = proposal(query=text, reason=text, tried=(text,))

    assert_sendable(LAYOUT.proposal_card(sly, SETTING))
    assert_sendable(LAYOUT.note(text))
    limits.check_modal(LAYOUT.editor(sly, {}))


# Long answers.

WORDS = st.integers(1, 60)


@st.composite
def documents(draw):
    """Markdown in which every word is another one, so that none can be lost or move unseen."""
    count = iter(range(10**6))

    def words(number):
        return " ".join(f"w{next(count)}" for _ in range(number))

    def paragraph():
        mark = draw(st.sampled_from(["", "**", "*", "~~", "`"]))
        return f"{words(draw(WORDS))} {mark}{words(draw(WORDS))}{mark} {words(2)}"

    def fence():
        return "```py\n" + "\n".join(words(draw(st.integers(1, 6))) for _ in range(draw(WORDS))) + "\n```"

    def bullets():
        return "\n".join(f"- {words(draw(WORDS))}\n  - {words(3)}" for _ in range(draw(st.integers(1, 12))))

    def quotation():
        return "\n".join(f"> {words(draw(st.integers(1, 20)))}" for _ in range(draw(st.integers(1, 12))))

    def table():
        body = "\n".join(f"| {words(2)} | {words(draw(st.integers(1, 5)))} |" for _ in range(draw(WORDS)))
        return f"| h{next(count)} | h{next(count)} |\n|---|---|\n{body}"

    kinds = [paragraph, fence, bullets, quotation, table]
    return "\n\n".join(draw(st.sampled_from(kinds))() for _ in range(draw(st.integers(1, 8))))


def order(text):
    return list(dict.fromkeys(re.findall(r"w\d+", text)))


@given(st.lists(documents(), min_size=1, max_size=4).map("\n\n".join), st.integers(0, 9))
@settings(max_examples=12, deadline=None)
def test_a_long_answer_is_several_messages_that_discord_takes(text, notes):
    cited = [citation(n, quote="q" * 300, url=GOOD) for n in range(1, notes + 1)]

    made = LAYOUT.messages(answered("\n\n".join([text] * 3), *cited), SETTING)

    assert order(" ".join(map(seen, made))) == order(text)
    assert [label for message in made for label, _ in buttons(message)][:2] == ["Helpful", "Not helpful"]
    for message in made:
        assert_fits(message)
        assert not re.search(r"```|\*\*", seen(message))
        assert_harmless(message, {GOOD})


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


def test_a_sentence_in_doubt_has_its_mark_and_no_link_is_made_of_it():
    outcome = answered("It is tall. [1] (?)", citation(url="https://docs.example.org/a"))
    outcome = replace(
        outcome,
        answer=replace(outcome.answer, unsettled=("It is tall.",)),
        usage=replace(outcome.usage, is_brief=True),
    )

    (message,) = LAYOUT.messages(outcome, SETTING)

    assert "(?)" in seen(message).partition("(?) stands after")[0]
    assert "(?) stands after what could not be checked." in seen(message)
    assert "written by a slow language model, so less was checked" in seen(message)

"""What is shown in Slack: whole, within every limit, and harmless whoever wrote it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from fakes.hostile import HOSTILE, KINDS, by_kind
from fakes.passages import thorough
from fakes.quotes import quotes_behind
from fakes.slack.blocks import is_too_long, message_faults, view_faults
from fakes.slack.rendering import entities_of, visible_text
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bots.chat import proposals
from bots.chat.markdown.pieces import pieces
from bots.chat.markdown.safe import names_another_host, web_link
from bots.chat.platform import CardContext, Note, ProgressNote, Sources
from bots.chat.texts import help_lines, say_in
from bots.slack.dialect import SLACK
from bots.slack.parts import FALLBACK_TEXT
from bots.slack.render import LAYOUT
from bots.slack.sessions import PlanStream, streamed
from core.conversation import Answer, Citation, Conversation, Decision, Outcome, Proposal
from core.library.entries import Entry

GOOD = "https://good.example/page"
ENGLISH = say_in("en")
SETTING = CardContext(engine="DuckDuckGo", names={"U1": "Ann", "U2": "Bob"})


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
    return Outcome(kind="answered", turn_id="t1", answer=made, reason=reason, timing_ms={"total": 2_100.0})


def proposal(**more):
    given = {
        "id": "p1",
        "turn_id": "t1",
        "question": "Which browsers send preflights?",
        "asker": "U1",
        "query": "browsers that send CORS preflight requests",
        "reason": "Your documents don't answer this.",
        "tried": ("preflight browsers",),
        "closest": (citation(title="CORS"),),
    }
    return Proposal(**(given | more))


def name_of(one):
    return {"U1": "Ann"}.get(one, one)


def seen(message):
    return visible_text(message.text, list(message.blocks), name_of)


def entities(message):
    return entities_of(message.text, list(message.blocks), name_of)


def in_window(view):
    return visible_text("", view["blocks"], name_of)


def in_bold(view):
    texts = (
        text
        for block in view["blocks"] if block["type"] == "rich_text"
        for text in block["elements"][0]["elements"]
    )  # fmt: skip
    return [text["text"] for text in texts if text.get("style") == {"bold": True}]


def assert_sendable(message):
    blocks = list(message.blocks)
    assert message_faults(blocks) == []
    assert not is_too_long(blocks)
    assert 0 < len(message.text) <= FALLBACK_TEXT


def assert_harmless(message, links=()):
    for entity in entities(message):
        assert entity.kind == "link", entity
        assert entity.target in links, entity
        assert not names_another_host(entity.label, entity.target), entity


def elements(message, kind):
    return [
        element
        for block in message.blocks
        for element in block.get("elements", [])
        if element["type"] == kind
    ]


def test_an_answer_shows_its_words_then_where_they_stand():
    outcome = answered("Use `BackgroundTasks`. [1]", citation())

    (message,) = LAYOUT.messages(outcome, SETTING)

    assert message.blocks[0] == {"type": "markdown", "text": "Use `BackgroundTasks`. [1]"}
    assert seen(message) == (
        "Use BackgroundTasks. [1]\n───\n"
        "1 Background Tasks › Using BackgroundTasks · tutorial/background-tasks.md\n"
        "“Declare a parameter with a type of BackgroundTasks.”\n"
        "[ Show quotes ]\nAnswered in 2.1 s from 1 passage · written by a language model\nHelpful Not helpful"
    )
    assert_sendable(message)


def test_a_title_is_a_link_where_the_source_has_a_web_address():
    (linked,) = LAYOUT.messages(answered("Yes. [1]", citation(url=GOOD)), SETTING)
    (local,) = LAYOUT.messages(answered("Yes. [1]", citation(url="file:///etc/passwd")), SETTING)

    assert [(one.target, one.label) for one in entities(linked)] == [
        (GOOD, "Background Tasks › Using BackgroundTasks")
    ]
    assert entities(local) == []


def test_a_title_that_names_another_host_is_not_what_is_clicked():
    web = citation(title="bank.com sign-in", url=GOOD, origin="web", location="good.example")

    (message,) = LAYOUT.messages(answered("Yes. [1]", web, grounding="web"), SETTING)

    assert [(one.target, one.label) for one in entities(message)] == [(GOOD, "good.example")]
    assert "bank.com sign-in" in seen(message)
    assert "From the web, not from your documents." in seen(message)


def test_only_addresses_of_cited_sources_become_links():
    text = f"See {GOOD} and [this]({GOOD}), not https://evil.com/a or [that](https://evil.com/b)."

    (message,) = LAYOUT.messages(answered(text, citation(url=GOOD)), SETTING)

    assert {one.target for one in entities(message)} == {GOOD}
    assert "not https://evil.com/a or that (https://evil.com/b)." in seen(message)


def test_quotes_of_an_uncomposed_answer_are_not_repeated():
    quoted = "Declare a parameter with a type of BackgroundTasks."

    (message,) = LAYOUT.messages(answered(f"{quoted} [1]", citation(), composed=False), SETTING)

    assert seen(message).count(quoted) == 1
    assert seen(message).startswith("Quoted from your documents, not composed.")


def test_a_table_is_a_block_of_its_own_between_the_words_around_it():
    table = f"| Plan | Rate |\n|---|---|\n| **Free** `x` | [60]({GOOD}) |\n| <@U1> & *a* | |"

    (message,) = LAYOUT.messages(answered(f"Before. [1]\n\n{table}\n\nAfter.", citation(url=GOOD)), SETTING)

    assert [block["type"] for block in message.blocks][:3] == ["markdown", "table", "markdown"]
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


def test_one_quiet_line_says_that_a_model_wrote_an_answer_where_one_did():
    (composed,) = LAYOUT.messages(answered("Yes. [1]", citation()), SETTING)
    (quoted,) = LAYOUT.messages(answered("Yes. [1]", citation(), composed=False), SETTING)
    (greeting,) = LAYOUT.messages(answered("Hello.", grounding="none"), SETTING)

    assert "from 1 passage · written by a language model\n" in seen(composed)
    assert "language model" not in seen(quoted) + seen(greeting)


def test_an_answer_without_footnotes_says_so():
    (message,) = LAYOUT.messages(answered("Hello.", grounding="none"), SETTING)

    assert seen(message).startswith(ENGLISH("no_footnotes"))


def test_the_sixth_footnote_waits_behind_a_button_that_names_the_turn():
    outcome = answered("Yes. [1]", *(citation(n, location=f"{n}", quote=f"quote {n}") for n in range(1, 9)))

    (message,) = LAYOUT.messages(outcome, SETTING)
    shown = LAYOUT.reply(quotes_behind(outcome))

    (button,) = elements(message, "button")
    assert (button["text"]["text"], button["value"]) == ("3 more: show quotes", "t1")
    assert "quote 5" in seen(message)
    assert "quote 6" not in seen(message)
    assert all(f"quote {n}" in seen(shown[0]) for n in range(1, 9))


def test_all_footnotes_hold_every_quote_whole():
    long = " ".join(f"word{n}" for n in range(4_000))
    outcome = answered("Yes. [1]", citation(quote=long))

    shown = LAYOUT.reply(quotes_behind(outcome))

    assert long.replace(" ", "") in re.sub(r"\s", "", "".join(map(seen, shown)))
    for message in shown:
        assert_sendable(message)


def test_a_place_is_named_once_and_its_quotes_stand_behind_it():
    cited = (citation(1, quote="It keeps 300."), citation(2, quote="Restart it."))
    outcome = answered("It keeps 300. [1]\n\nThen restart it. [2]", *cited)

    (message,) = LAYOUT.messages(outcome, SETTING)
    view = LAYOUT.window(quotes_behind(outcome))

    assert "Then restart it. [1]" in seen(message)
    assert seen(message).count("tutorial/background-tasks.md") == 1
    assert "Restart it." not in seen(message)
    assert view_faults(view) == []
    assert in_window(view).count("tutorial/background-tasks.md") == 1
    assert {"It keeps 300.", "Restart it."} <= set(in_bold(view))


def test_a_quote_is_marked_within_its_paragraph_and_what_has_changed_is_said():
    outcome = answered("Yes. [1]", citation(quote="Restart *it*: `x | y`."))
    changed = quotes_behind(outcome)

    view = LAYOUT.window(quotes_behind(outcome, before="| a | **b\n```\n", after=" <!channel>\n- c"))
    (alone,) = changed.excerpts
    other = LAYOUT.window(replace(changed, excerpts=(replace(alone, is_current=False),)))

    assert in_bold(view) == ["Restart *it*: `x | y`."]
    assert "| a | **b\n```\nRestart *it*: `x | y`. <!channel>\n- c" in in_window(view)
    assert ENGLISH("source_changed") in in_window(other)
    assert ENGLISH("source_changed") not in in_window(view)
    assert entities_of("", view["blocks"], name_of) == []


def test_too_many_quotes_for_a_window_are_messages():
    outcome = answered("Yes. [1]", *(citation(n, location=f"{n}") for n in range(1, 60)))

    assert LAYOUT.window(quotes_behind(outcome)) is None
    assert all(assert_sendable(message) is None for message in LAYOUT.reply(quotes_behind(outcome)))


def test_feedback_buttons_carry_the_turn():
    (message,) = LAYOUT.messages(answered("Yes. [1]", citation()), SETTING)

    (pair,) = elements(message, "feedback_buttons")
    assert pair["positive_button"]["value"] == "good t1"
    assert pair["negative_button"]["value"] == "bad t1"
    assert pair["positive_button"]["accessibility_label"] == "This answer was helpful"
    assert pair["negative_button"]["accessibility_label"] == "This answer was not helpful"


def test_an_answer_in_spite_of_trouble_says_what_was_missing():
    (message,) = LAYOUT.messages(answered("Yes. [1]", citation(), reason="The model was busy."), SETTING)

    assert "The model was busy." in seen(message)


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


def test_no_answer_shows_the_closest_passages_and_what_to_do():
    outcome = Outcome(
        kind="no_answer",
        turn_id="t1",
        reason="I did not find this in your documents.",
        closest=(citation(),),
    )

    (message,) = LAYOUT.messages(outcome, SETTING)

    assert "I did not find this in your documents." in seen(message)
    assert "“Declare a parameter" in seen(message)
    assert "You can rephrase" in seen(message)
    assert_sendable(message)


def test_readings_to_choose_from_are_buttons():
    outcome = Outcome(kind="clarify", turn_id="t1", reason="Which cookies?", options=("response", "request"))

    (message,) = LAYOUT.messages(outcome, SETTING)

    assert [(one["action_id"], one["value"]) for one in elements(message, "button")] == [
        ("choose:1", "response"),
        ("choose:2", "request"),
    ]
    assert message.text == "Which cookies?"
    assert str(message.blocks).count("1.") == 0  # the buttons alone list them
    assert_sendable(message)


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


def test_a_failure_is_its_reason():
    outcome = Outcome(kind="failed", turn_id="t1", reason="The model did not answer within 60 s.")

    assert [seen(one) for one in LAYOUT.messages(outcome, SETTING)] == [
        "The model did not answer within 60 s."
    ]


def test_a_question_that_failed_can_be_tried_again():
    outcome = Outcome(kind="failed", turn_id="t1", reason="The model is busy.")

    (message,) = LAYOUT.messages(outcome, CardContext(can_retry=True))

    assert [(one["action_id"], one["value"]) for one in elements(message, "button")] == [("again", "t1")]
    assert_sendable(message)


def test_the_card_shows_what_was_tried_and_exactly_what_would_be_sent():
    query = "a_b *c* `d` <e> & https://evil.com"

    card = LAYOUT.proposal_card(proposal(query=query), SETTING)

    assert "Looked for: “preflight browsers”" in seen(card)
    assert "CORS › Using BackgroundTasks" in seen(card)
    assert f"I would search DuckDuckGo for:\n{query}\n" in seen(card)
    assert seen(card).endswith("Waiting for Ann. Nothing is sent until then.")
    assert [(one["action_id"], one["value"]) for one in elements(card, "button")] == [
        ("approve", "p1"),
        ("edit", "p1"),
        ("deny", "p1"),
    ]
    assert_sendable(card)


@pytest.mark.parametrize(
    ("verdict", "says"), [("approve", "Bob allowed this search at"), ("deny", "Bob said no at")]
)
def test_a_decided_card_says_who_and_when_and_has_no_buttons(verdict, says):
    conversation = Conversation(platform="slack", space="T1", channel="C1", thread="1.0")
    decision = Decision(
        id="d1", conversation=conversation, author="U2", proposal_id="p1", verdict=verdict, decided_at=1.7e9
    )

    card = LAYOUT.proposal_card(proposal().with_decision(decision), SETTING)

    assert says in seen(card)
    assert elements(card, "button") == []
    assert "Nothing is sent" not in seen(card)
    assert_sendable(card)


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
    late = proposal(verdict="deny", decided_by="U2", decided_at=1.7e9)

    assert seen(LAYOUT.decided_already(late, SETTING)) == "Bob already said no to this search at 22:13 UTC."


def test_a_moment_is_shown_in_the_readers_own_time():
    late = proposal(verdict="approve", decided_by="U2", decided_at=1.7e9)
    written = "<!date^1700000000^{time}, {date_short_pretty}|22:13 UTC>"

    for message in (LAYOUT.proposal_card(late, SETTING), LAYOUT.decided_already(late, SETTING)):
        assert f"this search at {written}." in str(message.blocks)
        assert_harmless(message)


def test_the_modal_opens_with_the_query():
    route = {
        "team": "T1", "channel": "C1", "thread": "1.0", "message": "2.0", "user": "U1",
        "is_direct": False,
    }  # fmt: skip

    view = LAYOUT.editor(proposal(), route)

    assert view_faults(view) == []
    assert view["blocks"][0]["element"]["initial_value"] == proposal().query


def test_help_is_three_lines():
    (message,) = LAYOUT.reply(Note(text="\n".join(help_lines("en", collections=("docs",), documents=12))))

    assert len(seen(message).split("\n")) == 3
    assert "12 documents in docs" in seen(message)
    assert_sendable(message)


def entry(number, **more):
    given = {
        "id": number, "collection": "docs", "address": "", "root": "", "source": f"a/{number}.md",
        "title": f"Title {number}", "url": None, "hash": "", "size": 1, "modified": 0, "passages": 3,
    }  # fmt: skip
    return Entry(**(given | more))


def test_sources_are_listed_by_collection():
    shown = LAYOUT.reply(Sources(language="en", entries=tuple(entry(n) for n in range(50))))

    assert "docs: 50 documents, 150 passages" in seen(shown[0])
    assert "a/0.md · Title 0 · 3 passages" in seen(shown[0])
    assert "and 10 more" in seen(shown[-1])
    assert "no documents" in seen(LAYOUT.reply(Sources(language="en", entries=()))[0])


# What others wrote.


def test_there_are_hostile_strings_enough():
    assert len(set(HOSTILE)) >= 200


def everywhere(text):
    """Every message that can carry the text, with the text in every place at once."""
    cited = [
        citation(1, title=text, location=text, source=text, quote=text, url=GOOD),
        citation(2, title=text, location=text, origin="web", published=text, quote=text, url=text),
    ]
    sly = proposal(
        question=text, asker="U9", query=text, reason=text, tried=(text, text), closest=tuple(cited)
    )
    card_context = CardContext(engine=text, names={"U9": text})
    decided = proposal(asker="U9", query=text, verdict="deny", decided_by="U9", decided_at=1.0)
    yield from LAYOUT.messages(answered(text, *cited, reason=text), card_context)
    yield from (
        LAYOUT.proposal_card(sly, card_context),
        LAYOUT.proposal_card(decided, card_context),
        LAYOUT.note(text),
    )
    if len(text) > 1_000:  # what the other kinds would only cut or show alike
        return
    yield from LAYOUT.messages(answered(text, *cited, composed=False, grounding="both"), card_context)
    yield from LAYOUT.messages(
        Outcome(kind="no_answer", turn_id="t", reason=text, closest=tuple(cited)), card_context
    )
    yield from LAYOUT.messages(
        Outcome(kind="clarify", turn_id="t", reason=text, options=(text, text)), card_context
    )
    yield from LAYOUT.messages(Outcome(kind="failed", turn_id="t", reason=text), card_context)
    yield from LAYOUT.reply(quotes_behind(answered(text, *cited), before=text, after=text))
    yield from (
        LAYOUT.note(proposals.refused(sly, card_context)),
        LAYOUT.decided_already(decided, card_context),
    )
    yield from LAYOUT.reply(
        Sources(language="en", entries=(entry(1, collection=text, source=text, title=text),))
    )
    yield from LAYOUT.reply(Note(text="\n".join(help_lines("en", collections=(text,), documents=1))))


@pytest.mark.parametrize("texts", by_kind(KINDS))
def test_nothing_that_others_wrote_does_anything(texts):
    for text in texts:
        own = {GOOD} | {one for one in (web_link(text),) if one}

        for message in everywhere(text):
            assert_sendable(message)
            assert_harmless(message, own | {f"{one}/" for one in own})
        outcome = answered(
            text, citation(title=text, location=text, source=text, quote=f"a {text}", url=text)
        )
        view = LAYOUT.window(quotes_behind(outcome, before=text, after=text))
        assert view_faults(view) == []
        assert {one.target for one in entities_of("", view["blocks"], name_of)} <= own | {
            f"{one}/" for one in own
        }


NASTY = st.sampled_from(
    [*"<>@#!|`~*_[]()\\&;:/.-+= \n\t\"'0aUC", "http", "https://", "evil.com", "<!here>", "<@U1>", "&lt;", "&#60;",
     "```", "~~~", "](", "[1]:", "\n\n", "    ", "- ", "1. ", "> ", "# ", "|---|", "\n|", "www.", "mailto:", "\u200b"]
)  # fmt: skip


@given(st.lists(NASTY, max_size=60).map("".join))
@example("[a](b)`[`https://evil.com")
@thorough
def test_no_mixture_of_signs_does_anything(text):
    made = pieces(text, limit=300, dialect=SLACK)

    for piece in made:
        assert len(piece) <= 300
        found = entities_of("", [{"type": "markdown", "text": piece}], str)
        assert found == []
    for message in LAYOUT.messages(answered(text, citation()), SETTING):
        assert_harmless(message)


# Long answers.

WORDS = st.integers(1, 60)


@st.composite
def documents(draw):
    """Markdown in which every word is another one, so that none can be lost or move unseen."""
    count = iter(range(10**6))

    def words(number):
        return " ".join(f"w{next(count)}" for _ in range(number))

    def paragraph():
        emphasis = draw(st.sampled_from(["", "**", "*", "~~", "`"]))
        return f"{words(draw(WORDS))} {emphasis}{words(draw(WORDS))}{emphasis} {words(2)}"

    def fence():
        return "```py\n" + "\n".join(words(draw(st.integers(1, 6))) for _ in range(draw(WORDS))) + "\n```"

    def bullets(marker):
        items = []
        for number in range(draw(st.integers(1, 12))):
            mark = marker or f"{number + 1}."
            items.append(f"{mark} {words(draw(WORDS))}\n{' ' * (len(mark) + 1)}- {words(3)}")
        return "\n".join(items)

    def quotation():
        return "\n".join(f"> {words(draw(st.integers(1, 20)))}" for _ in range(draw(st.integers(1, 12))))

    def table():
        body = "\n".join(f"| {words(2)} | {words(draw(st.integers(1, 5)))} |" for _ in range(draw(WORDS)))
        return f"| {words(1)} | {words(1)} |\n|---|---|\n{body}"

    kinds = [paragraph, fence, lambda: bullets("-"), lambda: bullets(""), quotation, table]
    return "\n\n".join(draw(st.sampled_from(kinds))() for _ in range(draw(st.integers(1, 8))))


def order(text):
    return list(dict.fromkeys(re.findall(r"w\d+", text)))


def shown_of(markdown):
    return visible_text("", [{"type": "markdown", "text": markdown}], str)


def is_balanced(markdown):
    """Every fence that opens at the left margin closes."""
    fences = re.findall(r"(?m)^[>\s-]*(?:\d+\. )?(`{3,})", markdown)
    return len(fences) % 2 == 0


@given(documents(), st.integers(200, 900))
@settings(max_examples=50, deadline=None)
def test_pieces_hold_every_word_in_order_and_stand_alone(text, limit):
    made = pieces(text, limit=limit, dialect=SLACK)

    assert order(" ".join(map(shown_of, made))) == order(shown_of(text)) == order(text)
    for piece in made:
        assert len(piece) <= limit
        assert is_balanced(piece)
        assert "```" not in shown_of(piece)


def unnumbered(text):
    """Without white space, and without the numbers that a list counts anew."""
    return "".join(re.sub(r"(?m)^\d+\. ", "", text).split())


@given(documents())
@settings(max_examples=30, deadline=None)
def test_a_text_that_fits_looks_as_it_did(text):
    made = pieces(text, limit=10**6, dialect=SLACK)

    assert unnumbered("\n".join(map(shown_of, made))) == unnumbered(shown_of(text))


@given(st.lists(documents(), min_size=1, max_size=6).map("\n\n".join), st.integers(0, 9))
@settings(max_examples=12, deadline=None)
def test_a_long_answer_is_several_messages_that_slack_takes(text, notes):
    cited = [citation(n, quote="q" * 300, url=GOOD) for n in range(1, notes + 1)]

    made = LAYOUT.messages(answered("\n\n".join([text] * 3), *cited), SETTING)

    assert order(" ".join(map(seen, made))) == order(text)
    for message in made:
        assert_sendable(message)


def test_a_table_repeats_its_heading_in_every_piece():
    text = "| name | use |\n|---|---|\n" + "\n".join(f"| n{n} | u{n} |" for n in range(100))

    made = pieces(text, limit=400, dialect=SLACK)

    assert len(made) > 1
    assert all(piece.startswith("| name | use |\n|---|---|\n") for piece in made)


def test_a_numbered_list_goes_on_counting():
    text = "\n".join(f"{n}. {'word ' * 20}" for n in range(1, 21))

    made = pieces(text, limit=500, dialect=SLACK)

    assert re.findall(r"(?m)^(\d+)\.", "\n".join(made)) == [str(n) for n in range(1, 21)]


def test_code_keeps_its_language_and_its_lines():
    text = "```python\n" + "".join(f"line {n}\n" for n in range(200)) + "```"

    made = pieces(text, limit=500, dialect=SLACK)

    assert all(piece.startswith("```python\n") and piece.endswith("\n```") for piece in made)
    assert "".join(piece[10:-3] for piece in made) == text[10:-3]


def test_more_cells_than_columns_are_shown_rather_than_dropped():
    (piece,) = pieces("| a |\n|---|\n| b | c |", limit=500, dialect=SLACK)

    assert "c" in shown_of(piece)


def test_code_in_angle_brackets_is_shown_as_it_is():
    text = "`Vec<T>` and `std::vector<std::string>`\n\n```html\n<!-- c --><!DOCTYPE html><p>x</p>\n```"

    made = pieces(text, limit=500, dialect=SLACK)

    assert "\n\n".join(made) == text


def test_a_notification_of_the_documents_holds_no_marks_of_bold_words():
    (told, *_) = LAYOUT.reply(Sources(language="en", entries=(entry(1),)))

    assert told.text.startswith("docs: 1 document, 3 passages")


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

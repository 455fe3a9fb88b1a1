"""What Slack and Discord both show: whole, within every limit, and harmless whoever wrote it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from fakes.hostile import HOSTILE_IN_CHAT, by_kind
from fakes.numbered_words import documents, order
from fakes.quotes import quotes_behind
from fakes.shown import GOOD, SETTING, TURN, answered, citation, decided, entry, every_screen, proposal
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bots.chat import proposals
from bots.chat.markdown.safe import web_link
from bots.chat.platform import CardContext, Note, Sources
from bots.chat.texts import help_lines, say_in
from core.conversation import Outcome

ENGLISH = say_in("en")
FOOTNOTE = (
    "1 Background Tasks › Using BackgroundTasks · tutorial/background-tasks.md\n"
    "“Declare a parameter with a type of BackgroundTasks.”\n"
)
TIMED = "Answered in 2.1 s from 1 passage · written by a language model\n"
BELOW_AN_ANSWER = {
    "slack": f"[ Show quotes ]\n{TIMED}Helpful Not helpful",
    "discord": f"{TIMED}[Helpful] [Not helpful] [Show quotes]",
}
WHAT_ELSE = "You can rephrase, name the document, or add one. To add one, mention me with learn and a file.\n"
BELOW_NO_ANSWER = {
    "slack": f"[ Show quotes ]\n{WHAT_ELSE}Helpful Not helpful",
    "discord": f"{WHAT_ELSE}[Helpful] [Not helpful] [Show quotes]",
}


@every_screen
def test_an_answer_shows_its_words_then_where_they_stand(screen):
    (message,) = screen.layout.messages(answered("Use `BackgroundTasks`. [1]", citation()), SETTING)

    assert screen.seen(message) == f"Use BackgroundTasks. [1]\n───\n{FOOTNOTE}{BELOW_AN_ANSWER[screen.name]}"
    screen.assert_sendable(message)


@every_screen
def test_a_title_is_a_link_where_the_source_has_a_web_address(screen):
    (linked,) = screen.layout.messages(answered("Yes. [1]", citation(url=GOOD)), SETTING)
    (local,) = screen.layout.messages(answered("Yes. [1]", citation(url="file:///etc/passwd")), SETTING)

    assert screen.links(linked) == [(GOOD, "Background Tasks › Using BackgroundTasks")]
    assert screen.links(local) == []
    screen.assert_sendable(linked)


@every_screen
def test_a_title_that_names_another_host_is_not_what_is_clicked(screen):
    web = citation(title="bank.com sign-in", url=GOOD, origin="web", location="good.example")

    (message,) = screen.layout.messages(answered("Yes. [1]", web, grounding="web"), SETTING)

    assert screen.links(message) == [(GOOD, "good.example")]
    assert "bank.com sign-in" in screen.seen(message)
    assert screen.seen(message).startswith("From the web, not from your documents.\n")


@every_screen
def test_only_addresses_of_cited_sources_become_links(screen):
    text = f"See {GOOD} and [this]({GOOD}), not https://evil.com/a or [that](https://evil.com/b)."

    (message,) = screen.layout.messages(answered(text, citation(url=GOOD)), SETTING)

    assert {target for target, _ in screen.links(message)} == {GOOD}
    assert "not https://evil.com/a or that (https://evil.com/b)." in screen.seen(message)


@every_screen
def test_quotes_of_an_uncomposed_answer_are_not_repeated(screen):
    quoted = "Declare a parameter with a type of BackgroundTasks."

    (message,) = screen.layout.messages(answered(f"{quoted} [1]", citation(), composed=False), SETTING)

    assert screen.seen(message).count(quoted) == 1
    assert screen.seen(message).startswith("Quoted from your documents, not composed.")


@every_screen
def test_an_answer_without_footnotes_says_so(screen):
    (message,) = screen.layout.messages(answered("Hello.", grounding="none"), SETTING)

    assert screen.seen(message).startswith(f"{ENGLISH('no_footnotes')}\nHello.\nAnswered in")


@every_screen
def test_the_sixth_footnote_waits_behind_a_button_that_names_the_turn(screen):
    outcome = answered("Yes. [1]", *(citation(n, location=f"{n}", quote=f"quote {n}") for n in range(1, 9)))

    (message,) = screen.layout.messages(outcome, SETTING)
    (shown,) = screen.layout.reply(quotes_behind(outcome))

    assert screen.buttons(message) == [("3 more: show quotes", "footnotes", TURN)]
    assert "quote 5" in screen.seen(message)
    assert "quote 6" not in screen.seen(message)
    assert all(f"quote {n}" in screen.seen(shown) for n in range(1, 9))
    screen.assert_sendable(message)


@every_screen
@pytest.mark.parametrize("composed", [True, False])
def test_quotes_can_be_seen_wherever_there_is_a_footnote(composed, screen):
    (cited,) = screen.layout.messages(answered("Yes. [1]", citation(), composed=composed), SETTING)
    (bare,) = screen.layout.messages(answered("Hello."), SETTING)

    assert screen.buttons(cited) == [("Show quotes", "footnotes", TURN)]
    assert screen.buttons(bare) == []


@every_screen
def test_a_place_is_named_once_and_its_quotes_stand_behind_it(screen):
    cited = (citation(1, quote="It keeps 300."), citation(2, quote="Restart it."))
    outcome = answered("It keeps 300. [1]\n\nThen restart it. [2]", *cited)

    (message,) = screen.layout.messages(outcome, SETTING)
    shown, bold = screen.quotes(quotes_behind(outcome))

    assert "Then restart it. [1]" in screen.seen(message)
    assert screen.seen(message).count("tutorial/background-tasks.md") == 1
    assert "Restart it." not in screen.seen(message)
    assert shown.count("tutorial/background-tasks.md") == 1
    assert {"It keeps 300.", "Restart it."} <= bold


@every_screen
def test_a_quote_that_has_changed_since_is_said_to_have(screen):
    current = quotes_behind(answered("Yes. [1]", citation()))
    (alone,) = current.excerpts

    changed, _ = screen.quotes(replace(current, excerpts=(replace(alone, is_current=False),)))

    assert ENGLISH("source_changed") in changed
    assert ENGLISH("source_changed") not in screen.quotes(current)[0]


@every_screen
def test_all_footnotes_hold_every_quote_whole(screen):
    long = " ".join(f"word{n}" for n in range(4_000))

    shown = screen.layout.reply(quotes_behind(answered("Yes. [1]", citation(quote=long))))

    together = re.sub(r"\s", "", "".join(map(screen.seen, shown)))  # a word may stand in two messages
    assert re.findall(r"word\d+", together) == long.split()
    for message in shown:
        screen.assert_sendable(message)


@every_screen
def test_all_footnotes_of_no_answer_are_its_closest_passages_and_of_none_a_sentence(screen):
    closest = Outcome(kind="no_answer", turn_id=TURN, closest=(citation(),))

    assert "Declare a parameter" in screen.seen(screen.layout.reply(quotes_behind(closest))[0])
    (none,) = screen.layout.reply(quotes_behind(answered("Hello.")))
    assert screen.seen(none) == ENGLISH("no_footnotes")


@every_screen
def test_an_answer_in_spite_of_trouble_says_what_was_missing(screen):
    (message,) = screen.layout.messages(
        answered("Yes. [1]", citation(), reason="The model was busy."), SETTING
    )

    assert "\nThe model was busy.\n" in screen.seen(message)


@every_screen
def test_one_quiet_line_says_that_a_model_wrote_an_answer_where_one_did(screen):
    (composed,) = screen.layout.messages(answered("Yes. [1]", citation()), SETTING)
    (quoted,) = screen.layout.messages(answered("Yes. [1]", citation(), composed=False), SETTING)
    (greeting,) = screen.layout.messages(answered("Hello.", grounding="none"), SETTING)

    assert "from 1 passage · written by a language model\n" in screen.seen(composed)
    assert "language model" not in screen.seen(quoted) + screen.seen(greeting)


@every_screen
def test_a_sentence_in_doubt_has_its_mark_and_no_link_is_made_of_it(screen):
    outcome = answered("It is tall. [1] (?)", citation(url="https://docs.example.org/a"))
    outcome = replace(
        outcome,
        answer=replace(outcome.answer, unsettled=("It is tall.",)),
        usage=replace(outcome.usage, is_brief=True),
    )

    (message,) = screen.layout.messages(outcome, SETTING)

    assert "(?)" in screen.seen(message).partition("(?) stands after")[0]
    assert "(?) stands after what could not be checked." in screen.seen(message)
    assert "written by a slow language model, so less was checked" in screen.seen(message)


@every_screen
def test_no_answer_shows_the_closest_passages_and_what_to_do(screen):
    outcome = Outcome(
        kind="no_answer", turn_id=TURN, reason="I did not find this in your documents.", closest=(citation(),)
    )

    (message,) = screen.layout.messages(outcome, SETTING)

    assert screen.seen(message) == (
        f"I did not find this in your documents.\nThe closest passages:\n{FOOTNOTE}{BELOW_NO_ANSWER[screen.name]}"
    )
    screen.assert_sendable(message)


@every_screen
def test_readings_to_choose_from_stand_on_buttons_alone(screen):
    outcome = Outcome(kind="clarify", turn_id=TURN, reason="Which cookies?", options=("response", "request"))

    (message,) = screen.layout.messages(outcome, SETTING)

    first, second = {"slack": ("response", "request"), "discord": (TURN, TURN)}[screen.name]
    assert screen.buttons(message) == [("response", "choose:1", first), ("request", "choose:2", second)]
    assert screen.raw(message).count("1.") == 0
    assert screen.seen(message).count("response") == 1
    assert message.text == "Which cookies?"
    screen.assert_sendable(message)


@every_screen
def test_a_failure_is_its_reason(screen):
    outcome = Outcome(kind="failed", turn_id=TURN, reason="The model did not answer within 60 s.")

    assert [screen.seen(one) for one in screen.layout.messages(outcome, SETTING)] == [
        "The model did not answer within 60 s."
    ]


@every_screen
def test_a_question_that_failed_can_be_tried_again(screen):
    outcome = Outcome(kind="failed", turn_id=TURN, reason="The model is busy.")

    (message,) = screen.layout.messages(outcome, CardContext(can_retry=True))

    assert screen.buttons(message) == [("Try again", "again", TURN)]
    screen.assert_sendable(message)


# The card.


@every_screen
def test_the_card_shows_what_was_tried_and_exactly_what_would_be_sent(screen):
    query = "a_b *c* `d` <e> & https://evil.com"
    outcome = Outcome(kind="approval_needed", turn_id=TURN, proposal=proposal(query=query))

    (card,) = screen.layout.messages(outcome, SETTING)

    closest = FOOTNOTE.replace("Background Tasks ›", "CORS ›")
    assert screen.seen(card).startswith(
        "Your documents don't answer this.\nLooked for: “preflight browsers”\n"
        f"The closest passages:\n{closest}I would search DuckDuckGo for:\n{query}\n["
    )
    assert screen.buttons(card) == [
        ("Search the web", "approve", "p0123456789"),
        ("Edit query", "edit", "p0123456789"),
        ("No thanks", "deny", "p0123456789"),
    ]
    assert screen.seen(card).endswith("]\nWaiting for Ann. Nothing is sent until then.")
    screen.assert_sendable(card)


@every_screen
@pytest.mark.parametrize(
    ("verdict", "says"), [("approve", "Bob allowed this search at"), ("deny", "Bob said no at")]
)
def test_a_decided_card_says_who_and_when_and_has_no_buttons(verdict, says, screen):
    card = screen.layout.proposal_card(decided(verdict), SETTING)

    assert says in screen.seen(card).split("\n")[-1]
    assert screen.buttons(card) == []
    assert "Nothing is sent" not in screen.seen(card)
    screen.assert_sendable(card)


@every_screen
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
def test_the_card_and_a_refusal_name_those_who_may_decide(more, who, screen):
    card_context = replace(SETTING, **more)

    card = screen.layout.proposal_card(proposal(), card_context)

    assert f"Waiting for {who}. Nothing is sent until then." in screen.seen(card)
    assert proposals.refused(proposal(), card_context) == f"Only {who} can decide this search."


@every_screen
def test_a_card_that_anyone_may_decide_says_so(screen):
    card = screen.layout.proposal_card(proposal(), replace(SETTING, has_approvers=True, approval="anyone"))

    assert "Waiting for anyone here." in screen.seen(card)


@every_screen
def test_a_late_press_is_told_who_decided(screen):
    told = screen.layout.decided_already(decided("deny"), SETTING)

    assert screen.seen(told) == f"Bob already said no to this search at {screen.time_seen}."


@every_screen
def test_a_moment_is_shown_in_the_readers_own_time(screen):
    for message in (
        screen.layout.proposal_card(decided("approve"), SETTING),
        screen.layout.decided_already(decided("approve"), SETTING),
    ):
        assert f"this search at {screen.time}." in screen.raw(message)
        screen.assert_harmless(message, ())


# Words.


@every_screen
def test_help_is_three_lines(screen):
    (message,) = screen.layout.reply(
        Note(text="\n".join(help_lines("en", collections=("docs",), documents=12)))
    )

    assert len(screen.seen(message).split("\n")) == 3
    assert "12 documents in docs" in screen.seen(message)
    screen.assert_sendable(message)


@every_screen
def test_sources_are_listed_by_collection(screen):
    shown = screen.layout.reply(Sources(language="en", entries=tuple(entry(n) for n in range(50))))

    assert screen.seen(shown[0]).startswith(
        "docs: 50 documents, 150 passages\n• a/0.md · Title 0 · 3 passages\n"
    )
    assert screen.seen(shown[-1]).endswith("and 10 more")
    assert "no documents" in screen.seen(screen.layout.reply(Sources(language="en", entries=()))[0])
    for message in shown:
        screen.assert_sendable(message)


# What others wrote.


def test_there_are_hostile_strings_enough():
    assert len({text for texts in HOSTILE_IN_CHAT.values() for text in texts}) >= 240


def everywhere(layout, text):
    """Every message that can carry the text, with the text in every place at once."""
    cited = [
        citation(1, title=text, location=text, source=text, quote=text, url=GOOD),
        citation(2, title=text, location=text, origin="web", published=text, quote=text, url=text),
    ]
    sly = proposal(
        question=text, asker="U9", query=text, reason=text, tried=(text, text), closest=tuple(cited)
    )
    card_context = CardContext(engine=text, names={"U9": text}, can_retry=True)
    closed = replace(sly, verdict="approve", allowed=f"{text}!", decided_by="U9", decided_at=1.0)
    denied = replace(sly, verdict="deny", decided_by="U9", decided_at=1.0)
    yield from layout.messages(answered(text, *cited, reason=text), card_context)
    yield layout.proposal_card(sly, card_context)
    yield layout.proposal_card(closed, card_context)
    yield layout.note(text)
    if len(text) > 1_000:  # what the other kinds would only cut or show alike
        return
    yield from layout.messages(answered(text, *cited, composed=False, grounding="both"), card_context)
    for outcome in (
        Outcome(kind="no_answer", turn_id=TURN, reason=text, closest=tuple(cited)),
        Outcome(kind="clarify", turn_id=TURN, reason=text, options=(text, text)),
        Outcome(kind="failed", turn_id=TURN, reason=text),
    ):
        yield from layout.messages(outcome, card_context)
    yield from layout.reply(quotes_behind(answered(text, *cited), before=text, after=text))
    yield layout.note(proposals.refused(sly, card_context))
    yield layout.decided_already(denied, card_context)
    yield from layout.reply(
        Sources(language="en", entries=(entry(1, collection=text, source=text, title=text),))
    )
    yield from layout.reply(Note(text="\n".join(help_lines("en", collections=(text,), documents=1))))


def may_lead_to(text):
    own = {GOOD} | {one for one in (web_link(text),) if one}
    return own | {f"{one}/" for one in own}


@every_screen
@pytest.mark.parametrize("texts", by_kind(HOSTILE_IN_CHAT))
def test_nothing_that_others_wrote_does_anything(texts, screen):
    for text in texts:
        for message in everywhere(screen.layout, text):
            screen.assert_fits(message)
            screen.assert_harmless(message, may_lead_to(text))


NASTY = st.sampled_from(
    [*"<>@#!|`~*_[]()\\&;:/.-+= \n\t\"'0aUC", "http", "https://", "evil.com", GOOD, "<!here>", "<@U1>", "<@1>", "<#1>",
     "<t:1:R>", "<:a:1>", "</a:1>", "@everyone", "@here", "||", "**", "~~", "__", "&lt;", "&#60;", "&#42;", "```",
     "```ansi\n", "~~~", "](", "[1]:", "\n\n", "    ", "- ", "1. ", "> ", ">>> ", "-# ", "# ", "|---|", "\n|", "www.",
     "mailto:", "\u200b", "\u200d", f"[a]({GOOD})"]
)  # fmt: skip


@every_screen
@given(text=st.lists(NASTY, max_size=60).map("".join))
@example(text="[a](b)`[`https://evil.com")
@example(text="https://good.example/page@**@")
@settings(max_examples=60, deadline=None)
def test_no_mixture_of_signs_does_anything(text, screen):
    for message in everywhere(screen.layout, text):
        screen.assert_fits(message)
        screen.assert_harmless(message, may_lead_to(text))


# Long answers.


@every_screen
@given(text=st.lists(documents(), min_size=1, max_size=6).map("\n\n".join), notes=st.integers(0, 9))
@settings(max_examples=12, deadline=None)
def test_a_long_answer_is_several_messages_that_the_platform_takes(text, notes, screen):
    cited = [citation(n, quote="q" * 300, url=GOOD) for n in range(1, notes + 1)]

    made = screen.layout.messages(answered("\n\n".join([text] * 3), *cited), SETTING)

    assert order(" ".join(map(screen.seen, made))) == order(text)
    assert "Helpful" in screen.seen(made[-1])
    assert sum(screen.seen(message).count("Not helpful") for message in made) == 1
    for message in made:
        screen.assert_fits(message)
        screen.assert_harmless(message, {GOOD})
        assert not re.search(r"```|\*\*", screen.seen(message))

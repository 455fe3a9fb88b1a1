"""Which part of a source a footnote quotes: the one that shows its sentence."""

from __future__ import annotations

import pytest
from fakes.passages import loose_strip

from core.conversation import Answer
from core.grounding.citations import to_answer
from core.grounding.claims import claims_of
from core.grounding.quotes import find_spans, likeness
from core.grounding.verdicts import remove_unsupported, statements_of, verdicts_on
from core.reasoning.reasoner import Draft, Grounded, Strip


def answer(draft: str, *texts: str) -> Answer:
    strips = [loose_strip(text, number=number) for number, text in enumerate(texts, start=1)]
    return to_answer(Draft(text=draft, composed=True), strips)


def quotes(draft: str, *texts: str) -> list[str]:
    return [citation.quote for citation in answer(draft, *texts).citations]


HANDBOOK = (
    "Die Wahl ist frei, und sie ist mit allem, was daran hängt, die Sache derer, die mit der Gruppe gehen. "
    "Kosten für Bahnfahrten werden erstattet."
)


def test_words_that_a_language_uses_everywhere_weigh_little():
    said = "Die, die sie mit der Bahn machen, bekommen die Kosten, die daran hängen, erstattet. [1]"

    assert quotes(said, HANDBOOK) == ["Kosten für Bahnfahrten werden erstattet."]


@pytest.mark.parametrize(
    ("said", "quote"),
    [
        ("Staff may spend up to £2500 on training of their choice each year. [1]",
         "Courses: up to £2,500."),
        ("Where tools go can be set with UV_TOOL_DIR, and tools go into a directory of their own. [1]",
         "Set UV_TOOL_DIR to move it."),
        ("The directory of the cache is shown by `uv cache dir`, which tells where each tool goes. [1]",
         "Run `uv cache dir`."),
        ("Each course and each year needs an approval within 3 weeks. [1]", "It takes three weeks."),
    ],
)  # fmt: skip
def test_numbers_commands_and_identifiers_weigh_more_than_words(said, quote):
    source = (
        "Staff may choose their training each year, and where a course of each tool goes. Courses: up to £2,500.\n\n"
        "Each tool goes into a directory of its own. Set UV_TOOL_DIR to move it. Run `uv cache dir`.\n\n"
        "Each course needs an approval each year. It takes three weeks."
    )

    assert any(quote in each for each in quotes(said, source))


DESK = (
    "Ask us if you have questions about what the budget for your desk covers.\n\n- Monitor\n- Keyboard\n- Mouse\n\n"
    "We publish the source of our code openly, and open source code needs a licence. There are grounds to keep "
    "something closed, for example:\n\n- keys and credentials\n- private data\n\n"
    "HTTP is redirected to HTTPS (on port `80`).\n\n"
    "You can adapt or disable the automatic HTTPS if you need to; for example, you can skip certain domains or disable "
    "redirects (for a Caddyfile, do this with the global options)."
)


@pytest.mark.parametrize(
    ("said", "quote"),
    [
        ("Yes, a monitor is among the items that the budget for your desk covers. [1]", "- Monitor"),
        ("Open code needs care: keys and credentials are kept closed. [1]",
         "There are grounds to keep something closed, for example:\n\n- keys and credentials"),
        ("Caddy redirects HTTP to HTTPS by itself, so you need nothing for that. [1]",
         "HTTP is redirected to HTTPS (on port `80`)."),
    ],
)  # fmt: skip
def test_an_item_that_a_sentence_names_is_quoted_and_so_is_what_says_little_besides(said, quote):
    assert any(each.endswith(quote) for each in quotes(said, DESK))


def test_names_for_the_readers_own_are_found_to_the_letter_where_the_source_has_them():
    source = (
        "For `https://<USER>.example.org/` or a domain of your own, such as `www.example.com`, set `base` to `'/'`.\n\n"
        "For `https://<USER>.example.org/<REPO>/` (your repository), set `base` to `'/<REPO>/'`."
    )

    assert quotes("With `https://<USER>.example.org/<REPO>/`, `base` is `'/<REPO>/'`. [1]", source) == [
        "For `https://<USER>.example.org/<REPO>/` (your repository), set `base` to `'/<REPO>/'`."
    ]


def test_code_that_has_a_sign_of_the_sentence_comes_with_what_announces_it():
    source = "The same, but lasting:\n\n```\nredir https://example.org permanent\n```\n\nAnother way:\n\n```\nrewrite /\n```"

    assert quotes("For the same, but lasting, append `permanent`. [1]", source) == [
        "The same, but lasting:\n\n```\nredir https://example.org permanent\n```"
    ]


LEAVE = (
    "Leave is asked for in the calendar, by mail or in person. Anybody may ask.\n\n"
    "Your lead approves it. Of leave that was asked for, 5 days may be moved."
)


@pytest.mark.parametrize(
    ("said", "second"),
    [
        ("Ask for leave in the calendar, by mail or in person, but only for 5 days. [1]",
         "Of leave that was asked for, 5 days may be moved."),
        ("Ask for leave in the calendar, and your lead approves it. [1]",
         "Your lead approves it."),
    ],
)  # fmt: skip
def test_what_stands_elsewhere_is_quoted_from_there_too(said, second):
    found = answer(said, LEAVE)

    assert found.text.endswith(". [1][2]")
    assert [citation.quote for citation in found.citations] == [
        "Leave is asked for in the calendar, by mail or in person.", second,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "picture",
    [
        "![The standing desks that are paid for by the office](desk.png)",
        "[![The standing desks that are paid for by the office](desk.png)](https://desks.example)",
        "The standing desks that are paid for by the office",  # as it comes from HTML
    ],
)
def test_what_is_said_for_a_picture_is_no_evidence_beside_the_sentence_that_says_it(picture):
    source = f"{picture}\n\nStanding desks are paid for by the office once a doctor asks for one."

    (quote,) = quotes("Standing desks are paid for by the office. [1]", source)

    assert quote == "Standing desks are paid for by the office once a doctor asks for one."


def test_the_words_of_a_picture_within_a_sentence_do_not_count():
    source = "See ![how standing desks are paid for by the office](desk.png) here. The office pays for desks."

    assert quotes("Standing desks are paid for by the office. [1]", source) == ["The office pays for desks."]


def test_a_picture_alone_can_be_quoted():
    source = "![The standing desks that are paid for by the office](desk.png)\n\nBikes are not."

    assert "standing desks" in quotes("Standing desks are paid for. [1]", source)[0]


TABLE = (
    "The budgets of a year.\n\n| What | Budget |\n|---|---|\n| Books | £300 |\n| Training | up to £2500 |\n"
)


def test_rows_under_a_marked_introduction_have_their_own_row_as_quote():
    draft = "These are the budgets: [1]\n\n| What | Much |\n|---|---|\n| Training | up to £2500 |\n| Books | £300 |"

    found = answer(draft, TABLE)

    assert found.text == (
        "These are the budgets: [1]\n\n| What | Much |\n|---|---|\n| Training | up to £2500 [2] |\n| Books | £300 [3] |"
    )
    assert [citation.quote for citation in found.citations] == [
        "The budgets of a year.", "| Training | up to £2500 |", "| Books | £300 |",
    ]  # fmt: skip


def test_items_under_a_marked_introduction_have_their_own_item_as_quote():
    draft = "These are the budgets: [1]\n\n- training: up to £2500\n- books: £300"
    strip = loose_strip(
        "The budgets are:\n\n- £300 for books\n- up to £2500 for training\n- nothing for bikes"
    )

    statements = statements_of(claims_of(draft), [strip])
    votes = [Grounded(judged=tuple(statement.number for statement in statements))]
    kept = remove_unsupported(draft, verdicts_on(statements, votes), [strip])
    found = to_answer(Draft(text=kept.text, composed=True), [strip])

    assert [citation.quote for citation in found.citations][1:] == [
        "up to £2500 for training", "£300 for books",
    ]  # fmt: skip


def test_rows_that_the_quote_of_their_introduction_shows_have_no_footnote_of_their_own():
    draft = "Books have £300, training £2500: [1]\n\n| What | Much |\n|---|---|\n| Books | £300 |\n| Training | £2500 |"

    found = answer(draft, "Books have £300, training £2500. Ask your lead.")

    assert found.text == draft
    assert [citation.quote for citation in found.citations] == ["Books have £300, training £2500."]


def test_a_quotation_under_a_marked_sentence_is_quoted_itself():
    source = "The option helps while you write code. Never use it in production."

    found = answer("The guide is plain about the option: [1]\n\n> Never use it in production.", source)

    assert found.citations[-1].quote == "Never use it in production."
    assert found.text.endswith("> Never use it in production. [2]")


CODE = (
    "- Start the server with the config of your team.\n\n```sh\nserve --config team.toml\n```\n\nThen wait."
)


@pytest.mark.parametrize(
    ("draft", "quote"),
    [
        ("- Start the server with the config of your team [1]\n\n```sh\nserve --config team.toml\n```",
         "Start the server with the config of your team."),
        ("Start the server with the team config. [1]", "Start the server with the config of your team."),
    ],
)  # fmt: skip
def test_an_item_before_code_does_not_take_the_code_into_its_quote(draft, quote):
    assert quotes(draft, CODE)[0] == quote


def test_code_below_an_item_is_quoted_itself():
    found = answer("- Start the server with the config [1]\n\n```sh\nserve --config team.toml\n```", CODE)

    assert found.citations[1].quote == "```sh\nserve --config team.toml\n```"
    assert found.text.endswith("```\n\n[2]")


def test_an_item_that_ends_in_a_colon_is_quoted_with_the_code_that_it_introduces():
    (quote,) = quotes(
        "- Start the server with the config of your team: [1]\n\n```sh\nserve --config team.toml\n```", CODE
    )

    assert "serve --config team.toml" in quote


def test_a_command_within_a_sentence_is_quoted_from_the_code_that_has_it():
    assert any("serve --config" in quote for quote in quotes("Run `serve --config team.toml`. [1]", CODE))


# Between languages

GERMAN = "Der Antrag geht an die Leitung. Sie entscheidet in einer Woche. Danach wird gezahlt."


def voted(draft: str, strip: Strip, stated: dict[tuple[int, int], tuple[tuple[int, int], ...]]) -> Answer:
    statements = statements_of(claims_of(draft), [strip])
    vote = Grounded(judged=tuple(statement.number for statement in statements), stated=stated)
    kept = remove_unsupported(draft, verdicts_on(statements, [vote]), [strip])
    return to_answer(Draft(text=kept.text, composed=True), [strip], kept.stated)


def test_between_languages_what_the_judge_named_is_quoted():
    strip = loose_strip(GERMAN)
    second, third = (GERMAN.index("Sie"), GERMAN.index(" Danach")), (GERMAN.index("Danach"), len(GERMAN))
    draft = "The decision is made within seven days. [1] The money comes afterwards. [1]"

    found = voted(draft, strip, {(1, 1): (second,), (2, 1): (third,)})

    assert [citation.quote for citation in found.citations] == [
        "Sie entscheidet in einer Woche.", "Danach wird gezahlt.",
    ]  # fmt: skip


def test_lines_that_the_judge_named_side_by_side_are_one_quote():
    strip = loose_strip(GERMAN)
    first, second = (0, GERMAN.index(" Sie")), (GERMAN.index("Sie"), GERMAN.index(" Danach"))

    found = voted("The lead decides about it in seven days. [1]", strip, {(1, 1): (first, second)})

    assert [citation.quote for citation in found.citations] == [GERMAN[: second[1]]]


def test_what_was_named_for_a_sentence_that_is_not_supported_counts_for_nothing():
    statements = statements_of(claims_of("The money comes. [1]"), [loose_strip(GERMAN)])
    vote = Grounded(judged=(1,), unsupported=(1,), stated={(1, 1): ((0, 5),)})

    assert verdicts_on(statements, [vote])[1].stated == {}


@pytest.mark.parametrize(
    ("text", "source", "least", "most"),
    [
        ("The desk is paid.", "The desk is paid.", 0.999, 1.001),
        ("The desk is paid.", "Bikes rust.", 0.0, 0.0),
        ("The desk costs £300.", "The desk costs money.", 0.2, 0.5),
        ("The desk costs £300.", "It is £300.", 0.5, 0.8),
        ("", "Bikes rust.", 0.0, 0.0),
    ],
)
def test_how_much_of_a_sentence_a_source_shows(text, source, least, most):
    assert least <= likeness(((text, False),), source) <= most


def test_a_strip_without_anything_quotable_is_quoted_whole():
    strip = loose_strip("---")

    assert find_spans((("The desk is paid.", False),), strip) == ((0, 3),)

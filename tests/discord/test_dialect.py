"""What Markdown becomes in Discord, and what single lines of others become in messages of ours."""

from __future__ import annotations

import pytest
from fakes.discord_markdown import Entity, entities, visible
from fakes.hostile import KINDS, by_kind
from fakes.passages import thorough
from hypothesis import given
from hypothesis import strategies as st

from bots.chat.markdown.pieces import pieces
from bots.chat.markdown.safe import names_another_host
from bots.discord.dialect import DISCORD
from bots.discord.parts import link, small_print, words

GOOD = "https://good.example/page"


def shown(text, *, links=(), limit=2_000):
    return "\n\n".join(pieces(text, links=links, limit=limit, dialect=DISCORD))


def test_three_levels_are_headings_and_deeper_ones_bold_lines():
    made = shown("# one\n\n### three\n\n#### four\n\n##### five **six** seven")

    assert made == "# one\n\n### three\n\n**four**\n\nfive **six** seven"


def test_a_heading_in_a_list_is_a_bold_line():
    assert shown("- # one\n- two") == "- **one**\n- two"


@pytest.mark.parametrize("title", ["C#", "- x", "# x", "> x", "-# x", "1. x"])
def test_a_heading_shows_its_title_whole(title):
    assert visible(shown(f"# {title.replace('#', chr(92) + '#')}")).replace("\u200b", "").strip() == title


def test_numbers_of_a_list_are_kept():
    assert shown("3. three\n4. four") == "3. three\n4. four"
    assert visible(shown("0) zero\n1) one")) == "0. zero\n1. one\n"


def test_bullets_are_those_that_are_known():
    assert shown("+ a\n+ b") == "- a\n- b"


def test_a_line_that_a_writer_only_broke_is_one_line():
    assert shown("one\ntwo  \nthree") == "one two\nthree"


def test_quotations_do_not_stand_in_each_other():
    assert shown("> a\n> > b\n> > > c") == "> a\n> \n> b\n> \n> c"


def test_a_quotation_ends_where_it_ends():
    assert visible(shown(">>> a\n\nb")).split() == ["a", "b"]
    assert shown("> a\n\nb") == "> a\n\nb"


def test_code_in_a_list_stands_at_the_margin_and_the_numbers_go_on():
    made = shown("1. do\n\n   ```sh\n   make\n\n   <@1>\n   ```\n2. done")

    assert made == "1. do\n\n```sh\nmake\n\n<@\u200b1>\n```\n2. done"
    assert entities(made) == []


def test_a_narrow_table_is_aligned_code():
    made = shown("| name | **use** |\n|---|---|\n| a_b | `x` |\n| 漢字 | y |")

    assert made == "```\nname  use\n----  ---\na_b   x\n漢字  y\n```"


def test_a_wide_table_is_a_list_for_each_row():
    long = "word " * 9

    made = shown(f"| name | use |\n|---|---|\n| a | {long}|\n| b | {long}|")

    row = "- **name**: {}\n- **use**: " + long.strip()
    assert made == f"{row.format('a')}\n\n{row.format('b')}"


def test_a_table_keeps_its_links():
    made = shown(f"| name | where |\n|---|---|\n| a | [page]({GOOD}) |", links=[GOOD])

    assert made == f"- **name**: a\n- **where**: [page](<{GOOD}>)"


def test_an_aligned_table_is_cut_between_rows_under_its_heading():
    made = pieces("| n | u |\n|---|---|\n" + "| a | b |\n" * 200, limit=200, dialect=DISCORD)

    assert len(made) > 1
    assert all(piece.startswith("```\nn  u\n-  -\na  b\n") and piece.endswith("a  b\n```") for piece in made)


def test_a_value_that_is_too_long_goes_on_below():
    made = pieces("| n | u |\n|---|---|\n| a | " + "word " * 900 + "|", limit=2_000, dialect=DISCORD)

    assert made[0] == "- **n**: a"
    assert made[1].startswith("- **u**: word word")
    assert sum(piece.count("word") for piece in made) == 900
    assert all(len(piece) <= 2_000 for piece in made)


def test_snake_case_and_signs_are_words():
    text = r"a\_b\_c \*x\* 2 * 3 | ~ < > C:\dir"

    assert visible(shown(text)) == "a_b_c *x* 2 * 3 | ~ < > C:\\dir"


def test_dunder_names_are_not_underlined():
    assert visible(shown("call \\_\\_init\\_\\_ now")) == "call __init__ now"


def test_entities_are_decoded_once():
    assert visible(shown("&lt;b&gt; &amp;amp; &#42;x&#42;")) == "<b> &amp; *x*"


@pytest.mark.parametrize("language", ["ansi", "ANSI", "ansi x"])
def test_the_language_of_colours_is_dropped(language):
    assert shown(f"```{language}\nx\n```") == "```\nx\n```"


def test_other_languages_stay():
    assert shown("```py\nx\n```") == "```py\nx\n```"
    assert shown("```c#\nx\n```") == "```\nx\n```"


def test_a_fence_takes_nothing_but_its_own():
    made = shown("```\n\n```\n\n<@1> **b**\n\n````\n```\n````")

    assert entities(made) == []
    assert "**" not in visible(made)


def test_code_with_backticks_is_code():
    assert visible(shown("``a ` b``")) == "a ` b"
    assert visible(shown("```` ``` ````")).replace("\u200b", "").strip() == "```"


def test_emphasis_ends_where_it_did():
    assert shown("*a* **b** ~~c~~ ***d*** _e_ __f__") == "*a* **b** ~~c~~ *d* *e* **f**"
    assert shown("**use `x`**") == "**use `x`**"
    assert shown("**a `*` b**") == "a `*` b"


@pytest.mark.parametrize("text", ["- a", "> a", "# a", "-# a", "1. a"])
def test_emphasis_does_not_hide_what_would_open_a_block(text):
    assert visible(shown(f"**{text}**")) == text
    assert visible(shown(f"x  \n*{text}*")) == f"x\n{text}"


@pytest.mark.parametrize(
    "markdown",
    ["||x||", "<#1>", "<t:1>", "<id:guide>", "</a:1>", "`@here`", "```\n<@1>\n```", "https://evil.example", "<https://evil.example>",
     "[x](<https://evil.example>)", "<steam:/x>", "[x](<https://good.example/other>)"],
)  # fmt: skip
def test_what_slipped_through_is_seen(markdown):
    assert not DISCORD.is_harmless(f"words {markdown}", [GOOD])


@pytest.mark.parametrize(
    "markdown", ["\\||x|\\|", "`||x||`", "```\n<#1>\n```", f"[x](<{GOOD}>)", f"<{GOOD}>", "a < b"]
)
def test_what_only_shows_is_let_through(markdown):
    assert DISCORD.is_harmless(f"words {markdown}", [GOOD])


def test_a_name_between_colons_is_no_emoji():
    assert shown("std::vector::x at 12:30:45 :fire:") == "std:\\:vector::x at 12:30:45 \\:fire:"


def test_a_broadcast_in_code_is_broken_too():
    assert "@everyone" not in shown("`@everyone`\n\n```\n@here @everyone\n```")
    assert "@here" not in shown("@here")


def test_a_rule_is_a_line():
    assert shown("a\n\n---\n\nb") == "a\n\n───\n\nb"


# Single lines.


def test_words_are_one_line_of_words():
    assert words("a\n**b** https://evil.example/x") == "a \\*\\*b\\*\\* `https://evil.example/x`"
    assert words("- a") == "\\- a"
    assert words("> a") == "\\> a"


def test_small_print_is_a_line_or_nothing():
    assert small_print("a_b") == "-# a\\_b"
    assert small_print(" \n ") == ""


def test_a_link_keeps_its_title_and_loads_nothing():
    assert link(GOOD, "The page") == f"[The page](<{GOOD}>)"


@pytest.mark.parametrize(
    ("label", "seen"),
    [
        ("a [1] b", "a (1) b"),
        ("__init__", "__init__"),
        ("a*b*", "a*b*"),
        ("||x||", "||x||"),
        ("🙂 news", "🙂 news"),
        ("`x`", "'x'"),
        ("C:\\dir\\", "C:\\dir\\"),
        ("good.example", "good.example"),
        ("- x", "- x"),
        ("Vec<T>", "Vec<T>"),
        ("", "good.example"),
    ],
)
def test_every_title_can_be_a_label(label, seen):
    assert entities(link(GOOD, label)) == [Entity("link", GOOD, seen)]


@pytest.mark.parametrize(
    "label", ["evil.example", "see https://evil.example", "@everyone", "<@1>", "<t:1>", "@here x"]
)
def test_a_title_that_would_not_be_taken_stands_before_the_link(label):
    made = link(GOOD, label)

    (found,) = entities(made)
    assert found.target == GOOD
    assert not names_another_host(found.label, GOOD)
    assert "evil.example" in visible(made) or "evil" not in label


def test_brackets_in_an_address_do_not_end_it():
    url = "https://good.example/a_(b)"

    (found,) = entities(link(url, "title"))

    assert found.target == "https://good.example/a_%28b%29"


@pytest.mark.parametrize("texts", by_kind(KINDS))
def test_hostile_words_only_show(texts):
    for title in (text[:1_000] for text in texts):
        assert entities(words(title)) == []
        assert entities(f"**1** {words(title)}") == []
        assert entities(small_print(title)) == []
        assert "\n" not in words(title)
        assert {found.target for found in entities(link(GOOD, title))} == {GOOD}


@given(st.text(alphabet="<>@#!|`~*_[]()\\&:/.- 01at", max_size=40))
@thorough
def test_no_mixture_of_signs_is_more_than_words(text):
    assert entities(f"{words(text)} {words(text)}") == []
    assert visible(words(text)).replace("\u200b", "").split() == text.split()
    assert [found.target for found in entities(link(GOOD, text))] == [GOOD]

"""Markdown in plain words, for small print and notifications."""

from __future__ import annotations

import pytest
from fakes.hostile import HOSTILE

from bots.chat.markdown.blocks import plain_line, plain_quote, plain_words
from bots.chat.proposals import NOTIFIED, first_sentence

TABLE = "| Plan | Rate |\n|---|---:|\n| **Free** | `60` |\n| a\\|b | 600 |"


@pytest.mark.parametrize(
    ("markdown", "words"),
    [
        ("Use **this** or *that*, not ~~those~~.", "Use this or that, not those."),
        ("See [the docs](https://a.test) & ![a map](m.png).", "See the docs & a map."),
        (TABLE, "Plan · Rate; Free · 60; a|b · 600"),
        ("| **Free** | 60 |\n| Team | 600 |", "Free · 60; Team · 600"),
        (
            "# Ferry\n\n- It leaves at nine.\n- It carries no cars",
            "Ferry; It leaves at nine. It carries no cars",
        ),
        ("1. Open\n2. Close", "1) Open; 2) Close"),
        ("1986. A good year", "1986. A good year"),
        ("> one\n> two", "one two"),
        ("```py\na || b\n```", "a || b"),
        ("**Note: half of a bold text.", "Note: half of a bold text."),
        (
            "2**3, **kwargs, a || b, snake_case and __init__",
            "2**3, **kwargs, a || b, snake_case and __init__",
        ),
        ("a\\*b &amp; c", "a*b & c"),
        ("", ""),
    ],
)
def test_words_stay_and_marks_go(markdown, words):
    assert plain_words(markdown) == words


def test_code_is_marked_where_the_place_shows_code():
    assert plain_words("Call `f(x)`.", code="`") == "Call `f(x)`."


@pytest.mark.parametrize("title", ["1. Introduction", "- a", "# b", "| c |", "__init__.py", "> d"])
def test_a_title_is_one_line_in_which_nothing_opens_a_block(title):
    assert plain_line(title) == title


def test_a_first_sentence_of_anything_is_one_bounded_line():
    for text in HOSTILE:
        told = first_sentence(text)

        assert len(told) <= NOTIFIED
        assert "\n" not in told


@pytest.mark.parametrize(
    ("quote", "words"),
    [
        (
            "<li>Dogs stay on a <b>leash</b>.</li>\n<li>Cats do not.</li>",
            "Dogs stay on a leash. Cats do not.",
        ),
        ("One<br>two<br/>three", "One two three"),
        ("<td>18 euros</td><td>a night</td>", "18 euros a night"),
        ("Use `<li>` and `<br>`.", "Use <li> and <br>."),
        ("cp <source> <target>", "cp <source> <target>"),
        ("| a<br>b | <i>c</i> |\n|---|---|\n| 1 | 2 |", "a b · c; 1 · 2"),
    ],
)
def test_a_quote_is_shown_without_tags(quote, words):
    assert plain_quote(quote) == words

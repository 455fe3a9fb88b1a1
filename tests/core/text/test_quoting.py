"""Verbatim stretches as an answer shows them."""

from __future__ import annotations

import re

import pytest
from fakes.passages import documents, thorough
from hypothesis import assume, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from core.text.inline import citation_numbers
from core.text.quoting import as_quoted, is_quotable, quotable
from core.text.sentences import split_units

NESTED = """Do this:

- First one. More
  of it.
    - inner [a](b.md)
    - second inner

    ```python
    x = y[3]

        z
    ```
- Last.
"""


def shown(text: str, stretch: str) -> str:
    start = text.index(stretch)
    return as_quoted(text, start, start + len(stretch), "[1]")


def test_the_footnote_stands_behind_the_prose():
    assert shown("One is. Two is. Three.", "Two is.") == "Two is. [1]"


def test_the_footnote_stands_before_the_code_that_the_prose_introduces():
    text = "Use it so:\n\n```python\nx = y[3]\n```"

    assert shown(text, text) == "Use it so: [1]\n\n```python\nx = y[3]\n```"


@pytest.mark.parametrize("block", ["```\nx = 1\n```", "| a | b |\n|---|---|\n| 1 | 2 |"])
def test_the_footnote_of_code_or_a_table_alone_stands_below(block):
    assert shown(block, block) == f"{block}\n\n[1]"


def test_a_lone_item_is_shown_as_a_sentence():
    assert shown(NESTED, "Last.") == "Last. [1]"


def test_a_whole_list_keeps_its_markers_and_levels():
    assert shown(NESTED, NESTED.strip()) == (
        "Do this:\n\n- First one. More\nof it.\n    - inner a\n    - second inner\n\n"
        "    ```python\n    x = y[3]\n\n        z\n    ```\n\n- Last. [1]"
    )


def test_a_list_that_begins_with_an_inner_item_is_moved_out():
    stretch = NESTED[NESTED.index("inner [a]") :].strip()

    assert shown(NESTED, stretch) == (
        "- inner a\n- second inner\n\n```python\nx = y[3]\n\n    z\n```\n\n- Last. [1]"
    )


def test_an_item_and_its_code_are_moved_out_of_their_list():
    stretch = NESTED[NESTED.index("second inner") : NESTED.index("- Last")].strip()

    assert shown(NESTED, stretch) == "second inner [1]\n\n```python\nx = y[3]\n\n    z\n```"


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("* one\n* two", "- one\n- two [1]"),
        ("• one\n• two", "- one\n- two [1]"),
        ("3. three\n4. four", "3. three\n4. four [1]"),
        ("1) one\n2) two", "1) one\n2) two [1]"),
    ],
)
def test_bullets_become_those_of_markdown_and_numbers_stay(text, quoted):
    start = split_units(text)[0].start

    assert as_quoted(text, start, len(text), "[1]") == quoted


def test_markup_between_is_left_out():
    text = "A tip.\n\n/// tip | Titled\n\nIt is so.\n\n///\n\n- one\n\n<!-- hidden -->\n\n- two"

    assert shown(text, text) == "A tip.\n\nIt is so.\n\n- one\n\n- two [1]"


def test_a_quotation_is_shown_without_its_marks():
    text = "> One is\n> so. Two.\n>\n> ```\n> code\n> ```"

    assert shown(text, text[2:]) == "One is\nso. Two. [1]\n\n```\ncode\n```"


def test_links_become_words_and_a_number_of_the_source_no_footnote():
    text = "As [the guide](../guide.md) says,[3] see [text][2] and `x[4]`."

    assert shown(text, text) == "As the guide says,(3) see text and `x[4]`. [1]"


def test_a_heading_between_is_bold_and_without_its_anchor():
    text = "One.\n\n## Use `x` **now** { #use-x }\n\nTwo."

    assert shown(text, text) == "One.\n\n**Use `x` now**\n\nTwo. [1]"


def test_indented_code_is_fenced():
    text = "So:\n\n    def f():\n        return 1"

    assert shown(text, text) == "So: [1]\n\n```\ndef f():\n    return 1\n```"


def test_a_fence_that_the_passage_cuts_off_is_closed():
    text = "So:\n\n```python\nx = 1"

    assert shown(text, text) == "So: [1]\n\n```python\nx = 1\n```"


def test_sentences_of_a_script_without_spaces_stay_together():
    assert shown("高い。そうだ。", "高い。そうだ。") == "高い。そうだ。 [1]"


@pytest.mark.parametrize(
    ("text", "verdict"),
    [("One.", True), ("```\nx\n```", True), ("# Title", False), ("/// tip\n\n///", False), ("", False)],
)
def test_headings_and_markup_alone_are_not_worth_quoting(text, verdict):
    assert is_quotable(text, 0, len(text)) == verdict


def prose_of(markdown: str) -> str:
    """What a reader sees outside code."""
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown)
    inner = (child for token in tokens for child in token.children or ())
    return "\n".join(child.content for child in inner if child.type == "text")


@thorough
@given(documents, st.data())
def test_any_stretch_has_its_footnote_once_and_no_other(text, data):
    units = split_units(text)
    assume(units)
    first = data.draw(st.integers(0, len(units) - 1))
    last = data.draw(st.integers(first, len(units) - 1))
    start, end = units[first].start, units[last].end
    assume(is_quotable(text, start, end))

    quoted = as_quoted(text, start, end, "[1]")

    assert prose_of(quoted).count("[1]") == 1
    assert re.findall(r"\[\d+\]", prose_of(quoted)) == ["[1]"]


@thorough
@given(documents)
def test_every_word_of_prose_is_shown(text):
    prose = [unit for unit in split_units(text) if unit.kind in ("sentence", "item")]
    assume(prose)

    quoted = as_quoted(text, 0, len(text), "[1]")

    for unit in prose:
        words = re.findall(r"[^\W\d_]{4,}", re.sub(r"\]\([^)]*\)|<[^>]*>", "", text[unit.start : unit.end]))
        assert all(word in quoted for word in words)


@thorough
@given(documents)
def test_code_is_shown_to_the_letter_but_for_its_indentation(text):
    for unit in split_units(text):
        if unit.kind == "code" and text[unit.start] in "`~":
            quoted = as_quoted(text, unit.start, unit.end, "[1]")
            lines = [line.strip() for line in text[unit.start : unit.end].splitlines()]

            assert [line.strip() for line in quoted.splitlines()][: len(lines)] == lines
            assert citation_numbers(quoted.rpartition("\n")[2]) == (1,)


def test_what_has_no_word_is_not_quoted():
    text = "This image is deprecated. ⛔️\n\nDo not use it."

    assert [text[start:end] for start, end, _ in quotable(text, 0, len(text))] == [
        "This image is deprecated.",
        "Do not use it.",
    ]

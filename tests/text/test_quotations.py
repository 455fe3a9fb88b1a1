"""Words in quotation marks stand in the source as they are."""

from __future__ import annotations

import pytest
from fakes.passages import thorough
from hypothesis import given
from hypothesis import strategies as st

from core.text.quotations import is_verbatim, missing_quotations

SOURCE = "The *cache* keeps `300` entries, and it's quick. It is [cleared](a.md) at night."


@pytest.mark.parametrize(
    "claim",
    [
        "It says “the cache keeps 300 entries”.",
        'It says "it\'s quick."',
        "It „keeps 300 entries“ so.",
        "It says «it is cleared at night».",
        "It says “the cache keeps … and it's quick”.",
        "It says 'keeps 300 entries' there.",
        "“It's quick. It is cleared at night.”",
        "It is “cached” there.",
        'Call `f"never said"` there.',
        "The dogs' bowls aren't the cats' bowls.",
    ],
)
def test_what_the_source_says_may_be_quoted(claim):
    assert missing_quotations(claim, [SOURCE]) == []


@pytest.mark.parametrize(
    ("claim", "missing"),
    [
        ("It says “the cache keeps 301 entries”.", "the cache keeps 301 entries"),
        ("It says “the cache is quick”.", "the cache is quick"),
        ("It says “the cache keeps … at night”.", "the cache keeps … at night"),
        ("It says “it's not quick”.", "it's not quick"),
        ('and never slow." [1]', "and never slow."),
        ("It says “and never slow.", "and never slow."),
        ("It is 'never slow at night' there.", "never slow at night"),
        ("It is “frozen” there.", "frozen"),
    ],
)
def test_other_words_are_named(claim, missing):
    assert missing_quotations(claim, [SOURCE]) == [missing]


def test_a_quotation_comes_from_one_source():
    assert missing_quotations("“keeps 300 entries at night”", ["It keeps 300 entries", "at night"])


@thorough
@given(st.text(max_size=80))
def test_any_text_says_what_it_says(text):
    assert is_verbatim(text, [text])

"""Code spans, footnote markers and links within a line."""

from __future__ import annotations

import pytest
from fakes.passages import documents, thorough
from hypothesis import given
from hypothesis import strategies as st

from core.text.inline import (
    as_words,
    citation_numbers,
    code_in,
    code_spans,
    outside_code,
    without_code,
    without_markers,
    without_targets,
)


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("`a` and ``b`c``", ["`a`", "``b`c``"]),
        ("a `half open", []),
        ("``a` b``", ["``a` b``"]),
        ("`a``b`", ["`a``b`"]),
        ("```a```", ["```a```"]),
        ("` ` `", ["` `"]),
    ],
)
def test_a_code_span_ends_at_as_many_ticks_as_it_began_with(text, spans):
    assert [text[start:end] for start, end in code_spans(text)] == spans


def test_what_stands_in_code_spans_is_given_without_ticks():
    assert code_in("Use `app.get()` or ``a`b``.") == ["app.get()", "a`b"]


@pytest.mark.parametrize(
    ("text", "numbers", "bare"),
    [
        ("It is. [1]", (1,), "It is."),
        ("It is [1].", (1,), "It is."),
        ("It is[1], and [2] so.", (1, 2), "It is, and so."),
        ("It is. [2][1]", (2, 1), "It is."),
        ("It is. [1, 2;3]", (1, 2, 3), "It is."),
        ("It is ([1]).", (1,), "It is."),
        ("It is ([1], [2]) so.", (1, 2), "It is so."),
        ("It is [1] .", (1,), "It is."),
        ("Call `x[1]` then. [2]", (2,), "Call `x[1]` then."),
        ("Call foo() then. [2]", (2,), "Call foo() then."),
        ("In [2024] and [a]", (), "In [2024] and [a]"),
    ],
)
def test_markers_are_read_and_taken_out(text, numbers, bare):
    assert citation_numbers(text) == numbers
    assert without_markers(text) == bare


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("See [the guide](../guide.md).", "See the guide."),
        ('See [the guide](../guide.md#part "Title"){.internal-link target=_blank}.', "See the guide."),
        ("See [wiki](https://en.wikipedia.org/wiki/A_(b)) now.", "See wiki now."),
        ("[`list[int]`](types.md) and [**bold** text](<a b.md>)", "`list[int]` and **bold** text"),
        ("![an image](x.png) and [![badge](b.svg)](https://example.org)", "an image and badge"),
        ("[text][ref] and [other][] and [more][3]", "text and other and more"),
        ("It is so.[3] And [1][2] so [ 4 ], [5-7].", "It is so.(3) And (1)(2) so ( 4 ), (5-7)."),
        ("values[0] and `values[0]`", "values(0) and `values[0]`"),
        ('Press <kbd>Ctrl</kbd> or <abbr title="x">JSON</abbr>.<br/>', "Press Ctrl or JSON."),
        ('<figure><img src="a.png"><figcaption>The lake</figcaption></figure>', "The lake"),
        ("<details open><summary>More</summary>It is <mark>so</mark>.</details>", "More It is so."),
        ('<picture><source srcset="a.webp">a</picture> <video controls>b</video>', "a b"),
        ('At <time datetime="10:00">ten</time>.', "At ten."),
        ("cp <source> <target>", "cp <source> <target>"),
        ("Run `git clone <url>` or git clone <url>.", "Run `git clone <url>` or git clone <url>."),
        ("A `[link](in code)` stays", "A `[link](in code)` stays"),
        ("<https://example.org> stays", "<https://example.org> stays"),
        ("An open [bracket and ](nothing", "An open [bracket and ](nothing"),
    ],
)  # fmt: skip
def test_links_tags_and_numbers_of_a_source_become_words(source, shown):
    assert as_words(source) == shown


def test_links_within_the_documents_lose_where_they_lead_and_others_where_it_is_asked_for():
    text = "See [a page](../page.md#part){.x}, [a site](https://example.org/a?b=c), ![a picture](p.png) and `[a](b)`."

    assert without_targets(text) == "See a page, a site, a picture and `[a](b)`."
    assert without_targets(text, inner_alone=True) == (
        "See a page, [a site](https://example.org/a?b=c), a picture and `[a](b)`."
    )


@thorough
@given(documents)
def test_nothing_that_is_shown_passes_for_a_marker(text):
    assert citation_numbers(as_words(text)) == ()


@thorough
@given(st.text(alphabet="`[]()1, ab", max_size=60))
def test_any_text_is_left_without_markers(text):
    assert citation_numbers(as_words(text)) == ()


@thorough
@given(documents)
def test_code_spans_are_never_changed(text):
    spans = [text[start:end] for start, end in code_spans(text)]

    assert [span for span in spans if span in outside_code(text, lambda _: "")] == spans


@thorough
@given(st.text(alphabet="`ab [1]", max_size=60))
def test_blanking_code_keeps_every_place(text):
    bare = without_code(text)

    assert len(bare) == len(text)
    assert all(before in (after, " ") for before, after in zip(bare, text, strict=True))

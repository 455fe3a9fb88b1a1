"""What is a heading, a paragraph, an item, code, a table and markup in a Markdown file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.library.formats import markdown
from core.library.formats.markdown import heading_text, parse

FRAGMENTS = (
    "# Title\n", "## Part { #part }\n", "Setext\n---\n", "Some text here.\n", "First line\nsecond line\n", "\n", "\n\n",
    "* item\n    * nested\n", "1. one\n2. two\n", "```python\nx = 1\n```\n", "~~~\nunclosed\n", "    indented\n", "> quoted\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n", "<div class='x'>\n", "</div>\n", "<!-- comment\nover lines -->\n", "***\n",
    "[ref]: https://a.example\n", "[^1]: word\n", "/// note | Title\n", "///\n", "!!! tip\n\n    Body\n", "::: a.b\n    options:\n",
    "{* ../x.py hl[1] *}\n", "![image](x.png)\n", "---\nkey: value\n---\n", "tail without newline", "\t\ttabs\n", "é ü 漢字 🙂\n",
)  # fmt: skip
ENDINGS = ("\n", "\r\n", "\r")
texts = st.builds(
    lambda parts, ending: "".join(parts).replace("\n", ending),
    st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=20), max_size=12),
    st.sampled_from(ENDINGS),
)


def kinds(text: str) -> list[tuple[str, str]]:
    return [(block.kind, text[block.start : block.end]) for block in parse(text).blocks]


@given(texts)
def test_every_character_that_is_not_white_space_is_in_exactly_one_block(text):
    reached = 0

    for block in parse(text).blocks:
        assert not text[reached : block.start].strip()
        assert text[block.start : block.end].strip()
        reached = block.end

    assert not text[reached:].strip()


@given(texts)
def test_the_text_is_the_file_itself(text):
    assert parse(text).text == text


def test_blocks_of_each_kind_are_told_apart():
    text = (
        "# Guide\n\nIntro over\ntwo lines.\n\n* one\n    * inner\n* two\n\n```py\nx = 1\n\ny = 2\n```\n\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n> quoted\n"
    )

    assert kinds(text) == [
        ("heading", "# Guide"),
        ("prose", "Intro over\ntwo lines."),
        ("item", "* one\n    * inner"),
        ("item", "* two"),
        ("code", "```py\nx = 1\n\ny = 2\n```"),
        ("table", "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("prose", "> quoted"),
    ]


@pytest.mark.parametrize(
    "markup",
    [
        "{* ../../docs_src/app.py hl[1,13] *}",
        "{!../../docs_src/app.py!}",
        "{% include 'x.html' %}",
        "{{< ref page >}}",
        "/// note | Technical Details",
        "///",
        "//// tab | Python 3.10+",
        "::: fastapi.FastAPI\n    options:\n        members:\n            - get",
        "/// details | More\n    type: warning",
        ":::note",
        "!!! warning",
        '=== "Linux"',
        "[TOC]",
        "![Diagram](img/diagram.png)",
        "[![build](https://a.example/badge.svg)](https://a.example)\n[![cover](https://a.example/c.svg)](https://a.example)",
        "<!-- a comment -->",
        "<!-- a comment\n\nover paragraphs -->",
        '<img src="/img/x.png">',
        '<div class="termy">',
        "<script>\nvar text = 1;\n</script>",
        "---",
        "* * *",
        "[label]: https://a.example 'title'",
        "import Tabs from '@theme/Tabs';",
    ],
)
def test_what_no_reader_wants_quoted_is_markup(markup):
    text = f"Before it.\n\n{markup}\n\nAfter it.\n"

    found = kinds(text)

    assert found[0] == ("prose", "Before it.")
    assert found[-1] == ("prose", "After it.")
    assert found[1:-1]
    assert {kind for kind, _ in found[1:-1]} == {"markup"}


def test_directives_that_touch_their_text_are_told_apart_from_it():
    text = "/// tip\nMind the gap.\n///\n"

    assert kinds(text) == [("markup", "/// tip"), ("prose", "Mind the gap."), ("markup", "///")]


def test_the_indented_body_of_an_admonition_is_text_not_code():
    text = "!!! note\n\n    Read this first.\n\nThen go on.\n\n    code()\n"

    assert kinds(text) == [
        ("markup", "!!! note"),
        ("prose", "Read this first."),
        ("prose", "Then go on."),
        ("code", "    code()"),
    ]


def test_html_that_says_something_is_text():
    text = "<details>\n<summary>How to reset</summary>\nHold the button.\n</details>\n"

    assert [kind for kind, _ in kinds(text)] == ["prose"]


def test_a_footnote_of_one_word_is_not_taken_for_a_link_definition():
    assert kinds("Text.[^1]\n\n[^1]: Tuesday\n")[-1] == ("prose", "[^1]: Tuesday")


def test_a_paragraph_with_a_rule_right_below_it_is_no_heading():
    paragraph = "This paragraph is long. " * 12

    assert kinds(f"{paragraph}\n---\n\nMore.\n")[0][0] == "prose"


def test_front_matter_is_markup_and_names_the_document():
    text = "---\ntitle: 'Leave policy'\ntags: [hr]\n---\n\n# Time off\n\nText.\n"

    document = parse(text)

    assert document.title == "Leave policy"
    assert kinds(text)[0] == ("markup", "---\ntitle: 'Leave policy'\ntags: [hr]\n---")
    assert kinds(text)[1] == ("heading", "# Time off")


@pytest.mark.parametrize("ending", ENDINGS[:2])
def test_toml_front_matter_is_read_with_any_line_ending(ending):
    text = '+++\ntitle = "Deploying"\n+++\n\nText.\n'.replace("\n", ending)

    assert parse(text).title == "Deploying"


def test_a_rule_at_the_top_is_no_front_matter():
    assert kinds("---\n\nSome text.\n\n---\n") == [
        ("markup", "---"),
        ("prose", "Some text."),
        ("markup", "---"),
    ]


def test_without_front_matter_the_first_heading_of_level_one_is_the_title():
    assert parse("## Before\n\n# *The* `guide` { #guide }\n\n# Second\n").title == "The guide"


def test_a_document_without_a_heading_has_no_title():
    assert parse("## Only a part\n\nText.\n").title == ""


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("# Background Tasks { #background-tasks }", "Background Tasks"),
        ("## Using `BackgroundTasks` {: #using .wide }", "Using BackgroundTasks"),
        ("### Path `/items/{item_id}`", "Path /items/{item_id}"),
        ("## Set {item_id}", "Set {item_id}"),
        ("# **Bold** and *italic* and [a link](https://a.example)", "Bold and italic and a link"),
        ("# Install[¶](#install 'Permanent link')", "Install"),
        ("# Install¶", "Install"),
        ("## C# and F# ##", "C# and F#"),
        ("Setext *title*\n=====", "Setext title"),
        ("Two\nlines\n---", "Two lines"),
        ("=====\nGuide\n=====", "Guide"),
        ("# snake_case_name", "snake_case_name"),
        ("# Ben &amp; Jerry \\*", "Ben & Jerry *"),
        ('# <abbr title="x">API</abbr> keys ![logo](l.png)', "API keys"),
        ("#", ""),
    ],
)
def test_a_heading_reads_as_a_reader_sees_it(source, seen):
    assert heading_text(source) == seen


@pytest.mark.parametrize("inline", [True, False])
def test_a_parser_is_whole_before_threads_share_it(inline):
    """One that puts its rules together while another thread reads them finds nothing in a document."""
    markdown._parser.cache_clear()

    parser = markdown._parser(inline=inline)

    rulers = [parser.core.ruler, parser.block.ruler]
    rulers += [parser.inline.ruler, parser.inline.ruler2] if inline else []
    assert [ruler.__cache__ is None for ruler in rulers] == [False] * len(rulers)

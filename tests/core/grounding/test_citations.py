"""Footnotes: numbered in order, each named by the text, each quote verbatim in its source."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from fakes.passages import documents, loose_strip, passages_of, strip_of, thorough, units_of, written
from hypothesis import assume, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from core.conversation import Answer
from core.grounding.citations import footnotes_for, grounding_of, merge_footnotes, to_answer
from core.grounding.strips import refine
from core.library.documents import Passage, Retrieved
from core.reasoning.reasoner import Draft, Grade, Strip
from core.reasoning.replies import to_draft

GUIDE = """# Caching { #caching }

The cache is quick. It keeps 300 entries. See [the logs](../logs.md).[3]

Clear it so:

```python
cache.clear()  # x[1]
```

/// tip

Restart [the workers][2] after that.

///
"""


@pytest.fixture
def hit(tmp_path):
    (hit,) = written(tmp_path, GUIDE)
    return hit


def composed(text: str, *strips: Strip) -> Answer:
    return to_answer(Draft(text=text, composed=True), strips)


def quoted(*strips: Strip) -> Answer:
    numbers = tuple(strip.number for strip in strips)
    return to_answer(Draft(text="", composed=False, quotes=numbers), strips)


def numbers_in(markdown: str) -> list[int]:
    """Footnote markers that a reader sees outside code, in order."""
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown)
    inner = (child for token in tokens for child in token.children or ())
    text = "\n".join(child.content for child in inner if child.type == "text")
    return [int(number) for number in re.findall(r"\[(\d+)\]", text)]


def assert_whole(answer: Answer, *texts: str) -> None:
    """Numbers count from 1 in order of appearance, text and citations name each other, quotes are verbatim."""
    named = list(dict.fromkeys(numbers_in(answer.text)))
    assert named == [citation.number for citation in answer.citations] == list(range(1, len(named) + 1))
    for citation in answer.citations:
        assert citation.quote
        assert any(citation.quote == text[citation.start : citation.end] for text in texts)


def assert_same_with_places(answer: Answer) -> None:
    """One number for each place, without gaps; no word and no quote is lost."""
    shown = merge_footnotes(answer)
    places = {(citation.source, citation.location): citation.number for citation in shown.citations}
    assert sorted(places.values()) == sorted(set(numbers_in(shown.text))) == list(range(1, len(places) + 1))
    assert {citation.quote for citation in shown.citations} == {one.quote for one in answer.citations}
    words, said = (re.sub(r"\[\d+\]", "", text).split() for text in (shown.text, answer.text))
    assert words == said


def test_footnotes_are_numbered_in_order_of_appearance():
    strips = [loose_strip(f"Fact {number} is.", number=number) for number in (1, 2, 3)]

    answer = composed("Fact 3. [3] Fact 1. [1] Fact 3 again. [3][2]", *strips)

    assert answer.text == "Fact 3. [1] Fact 1. [2] Fact 3 again. [1][3]"
    assert [citation.quote for citation in answer.citations] == ["Fact 3 is.", "Fact 1 is.", "Fact 2 is."]


@pytest.mark.parametrize(
    ("draft", "text"),
    [
        ("It keeps 300 entries [4].", "It keeps 300 entries. [1]"),
        ("It keeps 300 entries.[4]", "It keeps 300 entries. [1]"),
        ("It keeps 300 entries. [4, 4][4]", "It keeps 300 entries. [1]"),
        ("[4] It keeps 300 entries.", "It keeps 300 entries. [1]"),
        ("It keeps ([4]) 300 entries.", "It keeps 300 entries. [1]"),
        ("- It keeps 300 entries [4]\n- 300 entries [4]", "- It keeps 300 entries [1]\n- 300 entries [1]"),
        ("It keeps 300 entries. [4][9]", "It keeps 300 entries. [1]"),
        ("It keeps `x[4]` in 300 entries. [4]", "It keeps `x[4]` in 300 entries. [1]"),
        ("| a |\n|---|\n| 300 entries [4] |", "| a |\n|---|\n| 300 entries [1] |"),
        ("| a |\n|---|\n| 300 entries | [4]", "| a |\n|---|\n| 300 entries [1] |"),
    ],
)
def test_a_marker_wherever_it_stood_becomes_its_footnote(draft, text):
    strip = loose_strip("The cache is quick. It keeps 300 entries.", number=4)

    answer = composed(draft, strip)

    assert answer.text == text
    assert [citation.quote for citation in answer.citations] == ["It keeps 300 entries."]


def test_a_marker_that_names_no_strip_disappears():
    answer = composed("It is. [7] So. [1]", loose_strip("So it is."))

    assert answer.text == "It is. So. [1]"


def test_code_is_left_as_it_is_and_leans_on_its_introduction():
    code = "```python\nx  =  y[1]\n\n\n\n[2]\n```"

    answer = composed(f"Use it so: [1]\n\n{code}\n\nThen stop. [1]", loose_strip("Use it so. Then stop."))

    assert answer.text == f"Use it so: [1]\n\n{code}\n\nThen stop. [2]"


def test_a_footnote_below_code_stays_there():
    answer = composed("```\nx\n```\n[1]", loose_strip("x"))

    assert answer.text == "```\nx\n```\n\n[1]"


def test_an_introduction_makes_no_footnote_that_nothing_names():
    strip = loose_strip("The steps are these. Stop the server. Start it again.")

    answer = composed("The steps are:\n\n1. Stop the server [1]\n2. Start it again [1]", strip)

    assert_whole(answer, strip.text)
    assert [citation.quote for citation in answer.citations] == ["Stop the server.", "Start it again."]


def test_a_claim_is_quoted_by_the_sentence_that_carries_it(hit):
    answer = composed("300 entries are kept. [1]", strip_of(hit))

    assert [citation.quote for citation in answer.citations] == ["It keeps 300 entries."]


def test_a_claim_that_needs_two_sentences_is_quoted_by_both(hit):
    answer = composed("The quick cache keeps 300 entries. [1]", strip_of(hit))

    assert [citation.quote for citation in answer.citations] == ["The cache is quick. It keeps 300 entries."]


def test_the_same_quote_has_one_footnote_though_two_strips_hold_it(hit):
    first = strip_of(hit, "The cache is quick. It keeps 300 entries.", number=1)
    second = strip_of(hit, "It keeps 300 entries.", number=2)

    answer = composed("300 entries. [1] Entries: 300. [2]", first, second)

    assert answer.text == "300 entries. Entries: 300. [1]"


def test_sentences_of_one_paragraph_show_the_same_footnote_once_behind_the_last():
    strips = (
        loose_strip("The cache is quick and keeps 300 entries."),
        loose_strip("It is cleared at night.", number=2),
    )

    answer = composed(
        "The cache is quick. [1] It keeps 300 entries. [1] It is cleared at night. [2] It is quick. [1]",
        *strips,
    )

    assert answer.text == (
        "The cache is quick. It keeps 300 entries. [1] It is cleared at night. [2] It is quick. [1]"
    )


def test_a_footnote_names_the_one_of_the_sections_joined_into_its_passage(tmp_path):
    text = "# Staff\n\n## May I bring a dog?\n\nYes, on Fridays.\n\n## A `cat`?\n\nNo, never."
    (hit,) = written(tmp_path, text)
    strip = strip_of(hit)

    answer = composed("On Fridays you may. [1]\n\nCats may never come. [1]", strip)

    assert [one.quote for one in answer.citations] == ["Yes, on Fridays.", "No, never."]
    assert [one.location for one in answer.citations] == ["Staff > May I bring a dog?", "Staff > A `cat`?"]
    assert footnotes_for([strip])[0].location == "Staff > May I bring a dog? – A cat?"


def test_items_and_rows_keep_their_own_footnotes():
    strip = loose_strip("The cache keeps 300 entries.")
    items, table = (
        "- 300 entries [1]\n- The cache [1]",
        "| a |\n|---|\n| 300 entries [1] |\n| The cache [1] |",
    )

    assert composed(items, strip).text == items
    assert composed(table, strip).text == table


def test_documents_of_one_name_in_two_collections_are_not_one():
    here = loose_strip("It is so.", number=1)
    passage = replace(here.retrieved.passage, collection="other")
    there = replace(here, number=2, retrieved=replace(here.retrieved, passage=passage))

    answer = composed("It is so. [1][2]", here, there)

    assert answer.text == "It is so. [1][2]"


def test_a_citation_tells_where_its_quote_stands(hit):
    (citation,) = composed("It keeps 300 entries. [1]", strip_of(hit)).citations

    assert (citation.title, citation.location, citation.source) == ("Caching", "Caching", "guide.md")
    assert GUIDE[citation.start : citation.end] == citation.quote == "It keeps 300 entries."


def test_quotes_are_shown_in_the_order_of_the_draft(hit):
    first, second = (
        strip_of(hit, "It keeps 300 entries.", number=1),
        strip_of(hit, "The cache is quick.", number=2),
    )

    answer = to_answer(Draft(text="", composed=False, quotes=(2, 1)), (first, second))

    assert answer.text == "The cache is quick. [1]\n\nIt keeps 300 entries. [2]"
    assert not answer.composed
    assert_whole(answer, GUIDE)


def test_a_quoted_passage_is_readable_and_its_quote_verbatim(hit):
    answer = quoted(strip_of(hit))

    assert answer.text == (
        "**Caching**\n\nThe cache is quick. It keeps 300 entries. See the logs.(3)\n\nClear it so:\n\n"
        "```python\ncache.clear()  # x[1]\n```\n\nRestart the workers after that. [1]"
    )
    assert_whole(answer, GUIDE)
    assert answer.citations[0].quote == hit.passage.text


def test_a_quote_of_nothing_but_markup_is_left_out():
    answer = quoted(loose_strip("/// tip\n\n///"), loose_strip("It is so.", number=2))

    assert answer.text == "It is so. [1]"


def test_a_quote_that_does_not_exist_is_left_out():
    answer = to_answer(Draft(text="", composed=False, quotes=(1, 9)), (loose_strip("It is so."),))

    assert answer.text == "It is so. [1]"


@pytest.mark.parametrize(
    ("origins", "grounding"),
    [((), "none"), (("documents",), "documents"), (("web", "web"), "web"), (("web", "documents"), "both")],
)
def test_grounding_says_where_the_footnotes_come_from(origins, grounding):
    strips = [loose_strip(f"Fact {number}.", number=number) for number in range(len(origins))]
    hits = [
        replace(s.retrieved, passage=replace(s.retrieved.passage, origin=o))
        for s, o in zip(strips, origins, strict=True)
    ]

    citations = footnotes_for([replace(s, retrieved=h) for s, h in zip(strips, hits, strict=True)])

    assert grounding_of(citations) == grounding


def test_the_closest_passages_are_numbered_from_one(hit):
    citations = footnotes_for([strip_of(hit, "It keeps 300 entries."), strip_of(hit, "The cache is quick.")])

    assert [(citation.number, citation.quote) for citation in citations] == [
        (1, "It keeps 300 entries."),
        (2, "The cache is quick."),
    ]


def test_places_that_are_the_same_share_a_number_and_keep_their_quotes():
    guide = loose_strip("The cache keeps 300 entries. Restart the workers. It is quick.")
    other = loose_strip("Logs are kept for a day.", number=2)
    text = "It keeps 300 entries. [1] It is quick. [1]\n\n- Logs: a day. [2]\n- Restart the workers. [1][2]"

    answer = composed(text, guide, other)
    shown = merge_footnotes(answer)

    assert [citation.number for citation in answer.citations] == [1, 2, 3, 4]
    assert (
        shown.text
        == "It keeps 300 entries. It is quick. [1]\n\n- Logs: a day. [2]\n- Restart the workers. [1][2]"
    )
    assert [(citation.number, citation.quote) for citation in shown.citations] == [
        (1, "The cache keeps 300 entries."),
        (1, "It is quick."),
        (1, "Restart the workers."),
        (2, "Logs are kept for a day."),
    ]


def test_what_looks_like_a_footnote_in_code_stays_where_places_share_a_number(hit):
    pieces = ("The cache is quick.", "```python\ncache.clear()  # x[1]\n```", "It keeps 300 entries.")
    answer = quoted(*(replace(strip_of(hit, piece), number=n) for n, piece in enumerate(pieces, start=1)))

    shown = merge_footnotes(answer)

    assert numbers_in(answer.text) == [1, 2, 3]
    assert numbers_in(shown.text) == [1, 1, 1]
    assert "cache.clear()  # x[1]" in shown.text


MARKED = st.sampled_from([" [1]", "[2]", " [1][2]", " [2, 1].", " ([1])", "\n\n[2]", " [7]", "", " `x[1]`"])
DRAFTS = st.builds(
    lambda text, marks: "\n\n".join(
        re.sub(r"\n {4}(?=[`~])", "\n", words) + (f"\n\n{mark.strip()}" if kind == "code" else mark)
        for (kind, words), mark in zip(units_of(text), marks * 40, strict=False)
    ),
    documents,
    st.lists(MARKED, min_size=1, max_size=5),
)


@thorough
@given(DRAFTS)
def test_any_composed_draft_becomes_a_whole_answer(text):
    assume("|" not in text)  # tables have examples above: a cell too many is not shown at all
    assume("~~~~" not in text)  # a title in reStructuredText opens code in Markdown
    strips = (
        loose_strip("The cache keeps 3 entries. Mr. Smith did so."),
        loose_strip("v0.1 of file.py is old. x = 1.", number=2),
    )

    answer = composed(to_draft(text, strips).text, *strips)

    named = set(numbers_in(answer.text))
    assert [citation.number for citation in answer.citations] == list(range(1, len(answer.citations) + 1))
    assert named == {citation.number for citation in answer.citations}
    assert_same_with_places(answer)
    assert all(c.quote in strips[0].text or c.quote in strips[1].text for c in answer.citations)


@thorough
@given(documents, st.data())
def test_any_quotes_become_a_whole_answer(text, data):
    hit = loose_strip(text).retrieved
    evidence = tuple(data.draw(st.lists(st.integers(1, 12), max_size=3)))
    strips = refine([hit], {hit.passage.id: Grade(relevance="correct", evidence=evidence)}, around=0)
    assume(text.strip())

    answer = quoted(*strips)

    assert_whole(answer, text)
    assert_same_with_places(answer)


def test_quotes_of_a_real_documentation_stand_in_its_files(shared_data):
    for file in sorted((shared_data / "fastapi_docs").rglob("*.md"))[::4]:
        text = file.read_text(encoding="utf-8")
        for hit in passages_of(file):
            grades = {hit.passage.id: Grade(relevance="correct", evidence=(2, 5))}
            strips = refine([hit], grades, around=0)
            answer = quoted(*strips)
            assert_whole(answer, text)
            prose = re.sub(r"^\s*(```|~~~).*?^\s*\1|`[^`]*`", "", answer.text, flags=re.DOTALL | re.MULTILINE)
            assert not re.search(r"\]\([^)]*\)|^///|^\{\*|<kbd>|^#", prose, re.MULTILINE), answer.text


TITLES = "| | {} |\n|---|---|\n| *Owns* | {} | {} |\n".format(
    "Senior | Lead", "Small things. " * 40, "Can lead the answer to any incident."
)


def strip_over(text: str, *evidence: tuple[int, int]) -> Strip:
    """The whole of a document of its own."""
    passage = Passage(
        id=text, text=text, start=0, end=len(text), collection="c", source=text, title="A", location=""
    )
    found = Retrieved(passage=passage, score=1.0)
    return Strip(number=1, retrieved=found, text=text, start=0, end=len(text), evidence=evidence)


def test_of_a_long_row_the_cell_that_says_it_is_quoted():
    answer = composed("A lead can lead the answer to incidents. [1]", strip_over(TITLES))

    assert [one.quote for one in answer.citations] == ["Can lead the answer to any incident."]


@pytest.mark.parametrize(
    ("header", "columns"),
    [("| Plan | Time |\n| --- | --- |\n", "| Plan | Time |"), ("| Plan | Time |\n", "")],
)
def test_a_row_is_quoted_beside_the_names_of_its_columns(header, columns):
    text = f"Terms.\n\n{header}| Basic | 3 hours |\n| Gold | 1 hour |\n"

    (cited,) = composed("Gold takes 1 hour. [1]", strip_over(text)).citations
    (of_header,) = composed("The plan has a time. [1]", strip_over(text)).citations

    assert cited.columns == columns
    assert cited.quote == text[cited.start : cited.end] == "| Gold | 1 hour |"
    assert of_header.columns == ""


def test_in_another_language_what_a_judge_named_is_quoted():
    text = "Vacation rolls over each year. Unused days are paid when you leave."
    named = (text.index("Unused"), len(text))

    (quote,) = composed("Resturlaub wird ausgezahlt. [1]", strip_over(text, named)).citations
    (beginning,) = composed("Resturlaub wird ausgezahlt. [1]", strip_over(text)).citations

    assert quote.quote == "Unused days are paid when you leave."
    assert beginning.quote == text


def test_what_introduces_code_is_quoted_with_that_code():
    text = "A pool is bounded, and connecting fails.\n\n```py\nlimit = Limit(10, connect=60)\n```\n"
    draft = "Give connecting a limit: [1]\n\n```py\nlimit = Limit(10, connect=60)\n```"

    (citation,) = composed(draft, strip_over(text)).citations

    assert "Limit(10, connect=60)" in citation.quote


def test_footnotes_of_one_claim_stand_in_order():
    strips = [replace(strip_over(f"Fact {n} of the sea."), number=n) for n in (1, 2)]

    answer = composed("Fact 2 of the sea. [2]\n\nFact 1 of the sea, and fact 2 of the sea. [1][2]", *strips)

    assert numbers_in(answer.text) == [1, 1, 2]


def test_the_result_of_a_calculation_is_looked_for_in_no_source():
    strip = loose_strip(
        "| Course | Fee |\n|---|---|\n| Python | 480 EUR |\n| Fire safety | 60 EUR |\n", number=1
    )
    figure = "€480 (€60 × 8 = €480; 8 from the question)"
    draft = Draft(text=f"Fire safety costs {figure}. [1]", composed=True)

    answer = to_answer(draft, (strip,), figures=(figure,))

    assert [each.quote for each in answer.citations] == ["| Fire safety | 60 EUR |"]
